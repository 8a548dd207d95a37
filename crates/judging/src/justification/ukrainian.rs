//! In Ukrainian. Counts stand in brackets, so that no word bends to them.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "Це думка або надто розмите твердження, тому з джерелами його не звіряли.".into(),
        Saying::RelatedListed => "Наведено опубліковану перевірку близького твердження; вердикту щодо цього твердження вона не визначає.".into(),
        Saying::SocialOnly => "Про це говорять лише дописи в соцмережах: вони є контекстом, але не підтвердженням.".into(),
        Saying::NotDecisive { one_source: true } => "Висновок спирається на одне джерело, тому він попередній.".into(),
        Saying::NotDecisive { one_source: false } => "Даних замало, тому висновок попередній.".into(),
        Saying::Degraded => "Частину джерел не вдалося опитати або прочитати, тож можуть бути й інші повідомлення про це.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let what = if opposite { "протилежного твердження" } else { "цього твердження" };
            let who = if who.is_empty() { "перевірка фактів" } else { who };
            format!("Оцінка {what}: «{rating}» — {who} ({url}).")
        }
        Saying::CheckersDisagree => "Фактчекери розходяться в оцінці.".into(),
        Saying::PassagesSupport(sources) => format!("Уривки на підтвердження: {sources}."),
        Saying::PassagesContradict(sources) => format!("Уривки, що суперечать: {sources}."),
        Saying::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Saying::Uncontradicted => "Джерел, які б суперечили твердженню, не знайдено.".into(),
        Saying::WeaklyContradicted => "Знайдено й слабке заперечення.".into(),
        Saying::OutOfContext { groups, sources } => {
            format!("За незалежними джерелами ({groups}) це було, але в інший час або в іншому місці: {sources}.")
        }
        Saying::Refuted(sources) => {
            let contradict = if sources.matches('[').count() == 1 { "суперечить" } else { "суперечать" };
            format!("Твердженню {contradict}: {sources}.")
        },
        Saying::FigureDisagrees => "Число або дата у твердженні розходиться з джерелом.".into(),
        Saying::NobodySupports => "Джерел, які підтверджували б твердження, не знайдено.".into(),
        Saying::SupportedLess { groups } => format!("Є й менш певне підтвердження (незалежних джерел: {groups})."),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Раніше про це так і повідомляли ({older}); у новіших повідомленнях інакше: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("У новіших повідомленнях інше число, ніж у твердженні: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "Одне джерело говорить і те, і те" } else { "Джерела розходяться" };
            format!("{who}: підтвердження — {supporting}, заперечення — {contradicting}.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            format!("За твердження — {supporting}, проти — {contradicting}; жодна сторона не є однозначною.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("Підтвердження — {supporting}; можлива суперечність — {doubting}.")
        }
        Saying::BothAtOnce(sources) => format!("Ті самі уривки говорять і за, і проти: {sources}."),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), але можлива суперечність: {doubting}.", supports(groups))
        }
        Saying::MayContradict(sources) => {
            format!("Знайдені уривки не підтверджують твердження; можлива суперечність, але не явна: {sources}.")
        }
        Saying::LeansTowards(sources) => format!("Прямо цього ніхто не каже, але знайдене радше підтверджує твердження: {sources}."),
        Saying::LeansAgainst(sources) => format!("Прямо цього ніхто не заперечує, але знайдене радше суперечить твердженню: {sources}."),
        Saying::SingleSource(sources) => {
            format!("Твердження підтверджує одне джерело: {sources}. Другого, незалежного, не знайдено.")
        }
        Saying::SupportUnclear(sources) => format!("Підтвердження знайдено, але недостатньо однозначне: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("Проти твердження — {sources}, але недостатньо однозначно, щоб його спростувати.")
        }
        Saying::NotSearched => {
            "Шукали лише опубліковані перевірки фактів, якщо вони були доступні; джерел щодо цього твердження не шукали.".into()
        }
        Saying::NobodyCouldBeAsked => {
            "Не всі джерела вдалося опитати або прочитати, а решта нічого не дала. Це не означає, що про це ніхто не повідомляє.".into()
        }
        Saying::NothingFound => "Джерел, які говорять про це, не знайдено.".into(),
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
