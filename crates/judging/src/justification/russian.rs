//! Russian sentences. Counts are in brackets, so that no word must agree with them.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "Это мнение или слишком расплывчатое утверждение, поэтому с источниками оно не сверялось.".into(),
        Saying::RelatedListed => "Приведена опубликованная проверка близкого по теме утверждения; вердикт по этому утверждению она не определяет.".into(),
        Saying::SocialOnly => "Об этом пишут только в соцсетях: такие посты дают контекст, но не служат подтверждением.".into(),
        Saying::NotDecisive { one_source: true } => "Вывод опирается на один источник, поэтому он предварительный.".into(),
        Saying::NotDecisive { one_source: false } => "Данные недостаточно убедительны, поэтому вывод предварительный.".into(),
        Saying::Degraded => "Часть источников не удалось опросить или прочитать, поэтому могут быть и другие сообщения об этом.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let what = if opposite { "противоположное утверждение" } else { "это утверждение" };
            let who = if who.is_empty() { "Один из фактчекеров" } else { who };
            format!("{who} оценивает {what} как «{rating}» ({url}).")
        }
        Saying::CheckersDisagree => "Фактчекеры расходятся в оценке.".into(),
        Saying::PassagesSupport(sources) => format!("Фрагменты в пользу утверждения: {sources}."),
        Saying::PassagesContradict(sources) => format!("Фрагменты против утверждения: {sources}."),
        Saying::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Saying::Uncontradicted => "Источников, которые противоречили бы утверждению, не найдено.".into(),
        Saying::WeaklyContradicted => "Найдено и слабое противоречие.".into(),
        Saying::OutOfContext { groups, sources } => {
            format!("По данным независимых источников ({groups}), это было, но в другое время или в другом месте: {sources}.")
        }
        Saying::Refuted(sources) => {
            let contradict = if sources.matches('[').count() == 1 { "противоречит источник" } else { "противоречат источники" };
            format!("Утверждению {contradict} {sources}.")
        },
        Saying::FigureDisagrees => "Число или дата в утверждении расходится с источником.".into(),
        Saying::NobodySupports => "Источников, которые подтверждали бы утверждение, не найдено.".into(),
        Saying::SupportedLess { groups } => format!("Есть и менее уверенное подтверждение (независимых источников: {groups})."),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Раньше сообщалось именно так ({older}), но в более новых сообщениях говорится иное: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("В более новых сообщениях указано не то число, что в утверждении: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "Один источник говорит и то и другое" } else { "Источники расходятся" };
            format!("{who}: в пользу утверждения — {supporting}, против — {contradicting}.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            format!("В пользу утверждения — {supporting}, против — {contradicting}, но однозначности нет ни с одной стороны.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("В пользу утверждения — {supporting}; возможно, против — {doubting}.")
        }
        Saying::BothAtOnce(sources) => format!("Одни и те же фрагменты говорят и в пользу утверждения, и против него: {sources}."),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), но есть возможное противоречие: {doubting}.", supports(groups))
        }
        Saying::MayContradict(sources) => {
            format!("Найденные фрагменты не подтверждают утверждение; есть возможное, но не явное противоречие: {sources}.")
        }
        Saying::LeansTowards(sources) => format!("Ни один источник прямо этого не говорит, но найденные фрагменты скорее подтверждают утверждение: {sources}."),
        Saying::LeansAgainst(sources) => format!("Ни один источник прямо этого не отрицает, но найденные фрагменты скорее противоречат утверждению: {sources}."),
        Saying::SingleSource(sources) => {
            format!("Утверждение подтверждает один источник: {sources}. Второго независимого источника не найдено.")
        }
        Saying::SupportUnclear(sources) => format!("Подтверждение найдено, но оно недостаточно однозначно: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("Есть данные против утверждения, но недостаточно однозначные, чтобы его опровергнуть: {sources}.")
        }
        Saying::NotSearched => {
            "Искались только опубликованные проверки фактов, если они были доступны; источники по этому утверждению не искались.".into()
        }
        Saying::NobodyCouldBeAsked => {
            "Не все источники удалось опросить или прочитать, а остальные ничего не дали. Это не значит, что об этом никто не сообщает.".into()
        }
        Saying::NothingFound => "Источников, которые говорят об этом, не найдено.".into(),
        Saying::OffSubject(count) => format!("Найдены фрагменты ({count}), но ни один не относится к этой теме."),
        Saying::NeitherSide => "Найденные фрагменты не подтверждают утверждение и не противоречат ему.".into(),
        Saying::Follows(Some(sources)) => format!("Основание: {sources}."),
        Saying::Follows(None) => "Основание — найденные фрагменты.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Утверждение подтверждает один источник".into()
    } else {
        format!("Утверждение подтверждают независимые источники ({groups})")
    }
}
