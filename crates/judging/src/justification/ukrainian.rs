//! Ukrainian sentences. Counts are in brackets, so no word must agree with them.

use super::sentence::Sentence;

pub(super) fn render(sentence: Sentence<'_>) -> String {
    match sentence {
        Sentence::Opinion => "Це думка або надто нечітке твердження, тому з джерелами його не звіряли.".into(),
        Sentence::RelatedListed => "Наведено опубліковану перевірку близького за темою твердження; вердикту щодо цього твердження вона не визначає.".into(),
        Sentence::SocialOnly => "Про це пишуть лише в соцмережах: такі дописи дають контекст, але не є підтвердженням.".into(),
        Sentence::NotDecisive { one_source: true } => "Висновок спирається на одне джерело, тому він попередній.".into(),
        Sentence::NotDecisive { one_source: false } => "Дані недостатньо переконливі, тому висновок попередній.".into(),
        Sentence::Degraded => "Частину джерел не вдалося опитати або прочитати, тож можуть бути й інші повідомлення про це.".into(),
        Sentence::Rated { publisher, rating, url, opposite } => {
            let what = if opposite { "протилежне твердження" } else { "це твердження" };
            let publisher = if publisher.is_empty() { "Один із фактчекерів" } else { publisher };
            format!("{publisher} оцінює {what} як «{rating}» ({url}).")
        }
        Sentence::CheckersDisagree => "Фактчекери розходяться в оцінці.".into(),
        Sentence::PassagesSupport(sources) => format!("Уривки на користь твердження: {sources}."),
        Sentence::PassagesContradict(sources) => format!("Уривки проти твердження: {sources}."),
        Sentence::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Sentence::Uncontradicted => "Джерел, які б суперечили твердженню, не знайдено.".into(),
        Sentence::WeaklyContradicted => "Знайдено й слабку суперечність.".into(),
        Sentence::OutOfContext { groups, sources } => {
            format!("За даними незалежних джерел ({groups}), це було, але в інший час або в іншому місці: {sources}.")
        }
        Sentence::Refuted(sources) => {
            let contradict = if sources.matches('[').count() == 1 { "суперечить джерело" } else { "суперечать джерела" };
            format!("Твердженню {contradict} {sources}.")
        },
        Sentence::FigureDisagrees => "Число або дата у твердженні розходиться з джерелом.".into(),
        Sentence::NoSupport => "Джерел, які підтверджували б твердження, не знайдено.".into(),
        Sentence::SupportedLess { groups } => format!("Є й менш певне підтвердження (незалежних джерел: {groups})."),
        Sentence::NewerReportsDiffer { older, newer } => {
            format!("Раніше повідомляли саме так ({older}), але в новіших повідомленнях сказано інше: {newer}.")
        }
        Sentence::NewerFigure(newer) => format!("У новіших повідомленнях наведено не те число, що у твердженні: {newer}."),
        Sentence::Contested { one_source, supporting, contradicting } => {
            let opening = if one_source { "Одне джерело каже і те, й інше" } else { "Джерела розходяться" };
            format!("{opening}: на користь твердження — {supporting}, проти — {contradicting}.")
        }
        Sentence::NeitherClear { supporting, contradicting } => {
            format!("На користь твердження — {supporting}, проти — {contradicting}, але однозначності немає з жодного боку.")
        }
        Sentence::ContestedByDoubt { supporting, doubting } => {
            format!("На користь твердження — {supporting}; можливо, проти — {doubting}.")
        }
        Sentence::BothAtOnce(sources) => format!("Одні й ті самі уривки свідчать і на користь твердження, і проти нього: {sources}."),
        Sentence::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), але є можлива суперечність: {doubting}.", supports(groups))
        }
        Sentence::MayContradict(sources) => {
            format!("Знайдені уривки не підтверджують твердження; є можлива, але не явна суперечність: {sources}.")
        }
        Sentence::LeansTowards(sources) => format!("Жодне джерело прямо цього не каже, але знайдені уривки радше підтверджують твердження: {sources}."),
        Sentence::LeansAgainst(sources) => format!("Жодне джерело прямо цього не заперечує, але знайдені уривки радше суперечать твердженню: {sources}."),
        Sentence::SingleSource(sources) => {
            format!("Твердження підтверджує одне джерело: {sources}. Другого незалежного джерела не знайдено.")
        }
        Sentence::SupportUnclear(sources) => format!("Підтвердження знайдено, але воно недостатньо однозначне: {sources}."),
        Sentence::AgainstUnclear(sources) => {
            format!("Є дані проти твердження, але недостатньо однозначні, щоб його спростувати: {sources}.")
        }
        Sentence::NotSearched => {
            "Шукали лише опубліковані перевірки фактів, якщо вони були доступні; джерел щодо цього твердження не шукали.".into()
        }
        Sentence::SourcesUnavailable => {
            "Не всі джерела вдалося опитати або прочитати, а решта нічого не дала. Це не означає, що про це ніхто не повідомляє.".into()
        }
        Sentence::NothingFound => "Джерел, які про це кажуть, не знайдено.".into(),
        Sentence::OffSubject(count) => format!("Знайдено уривки ({count}), але жоден не стосується цієї теми."),
        Sentence::NeitherSide => "Знайдені уривки не підтверджують твердження і не суперечать йому.".into(),
        Sentence::Follows(Some(sources)) => format!("Підстава: {sources}."),
        Sentence::Follows(None) => "Підстава — знайдені уривки.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Твердження підтверджує одне джерело".into()
    } else {
        format!("Твердження підтверджують незалежні джерела ({groups})")
    }
}
