//! Ukrainian sentences. Counts are in brackets, so no word must agree with them.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "Це думка або надто нечітке твердження, тому з джерелами його не звіряли.".into(),
        Saying::RelatedListed => "Наведено опубліковану перевірку близького за темою твердження; вердикту щодо цього твердження вона не визначає.".into(),
        Saying::SocialOnly => "Про це пишуть лише в соцмережах: такі дописи дають контекст, але не є підтвердженням.".into(),
        Saying::NotDecisive { one_source: true } => "Висновок спирається на одне джерело, тому він попередній.".into(),
        Saying::NotDecisive { one_source: false } => "Дані недостатньо переконливі, тому висновок попередній.".into(),
        Saying::Degraded => "Частину джерел не вдалося опитати або прочитати, тож можуть бути й інші повідомлення про це.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let what = if opposite { "протилежне твердження" } else { "це твердження" };
            let who = if who.is_empty() { "Один із фактчекерів" } else { who };
            format!("{who} оцінює {what} як «{rating}» ({url}).")
        }
        Saying::CheckersDisagree => "Фактчекери розходяться в оцінці.".into(),
        Saying::PassagesSupport(sources) => format!("Уривки на користь твердження: {sources}."),
        Saying::PassagesContradict(sources) => format!("Уривки проти твердження: {sources}."),
        Saying::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Saying::Uncontradicted => "Джерел, які б суперечили твердженню, не знайдено.".into(),
        Saying::WeaklyContradicted => "Знайдено й слабку суперечність.".into(),
        Saying::OutOfContext { groups, sources } => {
            format!("За даними незалежних джерел ({groups}), це було, але в інший час або в іншому місці: {sources}.")
        }
        Saying::Refuted(sources) => {
            let contradict = if sources.matches('[').count() == 1 { "суперечить джерело" } else { "суперечать джерела" };
            format!("Твердженню {contradict} {sources}.")
        },
        Saying::FigureDisagrees => "Число або дата у твердженні розходиться з джерелом.".into(),
        Saying::NobodySupports => "Джерел, які підтверджували б твердження, не знайдено.".into(),
        Saying::SupportedLess { groups } => format!("Є й менш певне підтвердження (незалежних джерел: {groups})."),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Раніше повідомляли саме так ({older}), але в новіших повідомленнях сказано інше: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("У новіших повідомленнях наведено не те число, що у твердженні: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "Одне джерело каже і те, й інше" } else { "Джерела розходяться" };
            format!("{who}: на користь твердження — {supporting}, проти — {contradicting}.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            format!("На користь твердження — {supporting}, проти — {contradicting}, але однозначності немає з жодного боку.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("На користь твердження — {supporting}; можливо, проти — {doubting}.")
        }
        Saying::BothAtOnce(sources) => format!("Одні й ті самі уривки свідчать і на користь твердження, і проти нього: {sources}."),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), але є можлива суперечність: {doubting}.", supports(groups))
        }
        Saying::MayContradict(sources) => {
            format!("Знайдені уривки не підтверджують твердження; є можлива, але не явна суперечність: {sources}.")
        }
        Saying::LeansTowards(sources) => format!("Жодне джерело прямо цього не каже, але знайдені уривки радше підтверджують твердження: {sources}."),
        Saying::LeansAgainst(sources) => format!("Жодне джерело прямо цього не заперечує, але знайдені уривки радше суперечать твердженню: {sources}."),
        Saying::SingleSource(sources) => {
            format!("Твердження підтверджує одне джерело: {sources}. Другого незалежного джерела не знайдено.")
        }
        Saying::SupportUnclear(sources) => format!("Підтвердження знайдено, але воно недостатньо однозначне: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("Є дані проти твердження, але недостатньо однозначні, щоб його спростувати: {sources}.")
        }
        Saying::NotSearched => {
            "Шукали лише опубліковані перевірки фактів, якщо вони були доступні; джерел щодо цього твердження не шукали.".into()
        }
        Saying::NobodyCouldBeAsked => {
            "Не всі джерела вдалося опитати або прочитати, а решта нічого не дала. Це не означає, що про це ніхто не повідомляє.".into()
        }
        Saying::NothingFound => "Джерел, які про це кажуть, не знайдено.".into(),
        Saying::OffSubject(count) => format!("Знайдено уривки ({count}), але жоден не стосується цієї теми."),
        Saying::NeitherSide => "Знайдені уривки не підтверджують твердження і не суперечать йому.".into(),
        Saying::Follows(Some(sources)) => format!("Підстава: {sources}."),
        Saying::Follows(None) => "Підстава — знайдені уривки.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Твердження підтверджує одне джерело".into()
    } else {
        format!("Твердження підтверджують незалежні джерела ({groups})")
    }
}
