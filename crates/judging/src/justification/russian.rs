//! In Russian. Counts stand in brackets, so that no word bends to them.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "Это мнение или слишком расплывчатое утверждение, поэтому с источниками оно не сверялось.".into(),
        Saying::RelatedListed => "Приведена опубликованная проверка близкого утверждения; вердикта по этому утверждению она не определяет.".into(),
        Saying::SocialOnly => "Об этом говорят только посты в соцсетях: они служат контекстом, но не подтверждением.".into(),
        Saying::NotDecisive { one_source: true } => "Вывод опирается на один источник, поэтому он предварительный.".into(),
        Saying::NotDecisive { one_source: false } => "Данных мало, поэтому вывод предварительный.".into(),
        Saying::Degraded => "Часть источников не удалось опросить или прочитать, поэтому могут быть и другие сообщения об этом.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let what = if opposite { "противоположного утверждения" } else { "этого утверждения" };
            let who = if who.is_empty() { "проверка фактов" } else { who };
            format!("Оценка {what}: «{rating}» — {who} ({url}).")
        }
        Saying::CheckersDisagree => "Фактчекеры расходятся в оценке.".into(),
        Saying::PassagesSupport(sources) => format!("Фрагменты в подтверждение: {sources}."),
        Saying::PassagesContradict(sources) => format!("Фрагменты, которые противоречат: {sources}."),
        Saying::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Saying::Uncontradicted => "Источников, которые противоречили бы утверждению, не найдено.".into(),
        Saying::WeaklyContradicted => "Найдено и слабое противоречие.".into(),
        Saying::OutOfContext { groups, sources } => {
            format!("По независимым источникам ({groups}) это было, но в другое время или в другом месте: {sources}.")
        }
        Saying::Refuted(sources) => {
            let contradict = if sources.matches('[').count() == 1 { "противоречит" } else { "противоречат" };
            format!("Утверждению {contradict}: {sources}.")
        },
        Saying::FigureDisagrees => "Число или дата в утверждении расходится с источником.".into(),
        Saying::NobodySupports => "Источников, которые подтверждали бы утверждение, не найдено.".into(),
        Saying::SupportedLess { groups } => format!("Есть и менее уверенное подтверждение (независимых источников: {groups})."),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Раньше об этом так и сообщалось ({older}); в более новых сообщениях иначе: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("В более новых сообщениях другое число, чем в утверждении: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "Один источник говорит и то и другое" } else { "Источники расходятся" };
            format!("{who}: подтверждение — {supporting}, противоречие — {contradicting}.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            format!("За утверждение — {supporting}, против — {contradicting}; ни одна сторона не однозначна.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("Подтверждение — {supporting}; возможное противоречие — {doubting}.")
        }
        Saying::BothAtOnce(sources) => format!("Одни и те же фрагменты говорят и за, и против: {sources}."),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), но возможно противоречие: {doubting}.", supports(groups))
        }
        Saying::MayContradict(sources) => {
            format!("Найденные фрагменты не подтверждают утверждения; возможно противоречие, но не явное: {sources}.")
        }
        Saying::LeansTowards(sources) => format!("Прямо этого никто не говорит, но найденное скорее подтверждает утверждение: {sources}."),
        Saying::LeansAgainst(sources) => format!("Прямо этого никто не отрицает, но найденное скорее противоречит утверждению: {sources}."),
        Saying::SingleSource(sources) => {
            format!("Утверждение подтверждает один источник: {sources}. Второго, независимого, не найдено.")
        }
        Saying::SupportUnclear(sources) => format!("Подтверждение найдено, но недостаточно однозначное: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("Против утверждения — {sources}, но недостаточно однозначно, чтобы его опровергнуть.")
        }
        Saying::NotSearched => {
            "Искались только опубликованные проверки фактов, если они были доступны; источники по этому утверждению не искались.".into()
        }
        Saying::NobodyCouldBeAsked => {
            "Не все источники удалось опросить или прочитать, а остальные ничего не дали. Это не значит, что об этом никто не сообщает.".into()
        }
        Saying::NothingFound => "Источников, которые говорят об этом, не найдено.".into(),
        Saying::OffSubject(count) => format!("Найдены фрагменты ({count}), но ни один не относится к этой теме."),
        Saying::NeitherSide => "Найденные фрагменты не подтверждают утверждения и не противоречат ему.".into(),
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
