//! Russian sentences. Counts are in brackets, so that no word must agree with them.

use super::sentence::Sentence;

pub(super) fn render(sentence: Sentence<'_>) -> String {
    match sentence {
        Sentence::Opinion => "Это мнение или слишком расплывчатое утверждение, поэтому с источниками оно не сверялось.".into(),
        Sentence::RelatedListed => "Приведена опубликованная проверка близкого по теме утверждения; вердикт по этому утверждению она не определяет.".into(),
        Sentence::SocialOnly => "Об этом пишут только в соцсетях: такие посты дают контекст, но не служат подтверждением.".into(),
        Sentence::NotDecisive { one_source: true } => "Вывод опирается на один источник, поэтому он предварительный.".into(),
        Sentence::NotDecisive { one_source: false } => "Данные недостаточно убедительны, поэтому вывод предварительный.".into(),
        Sentence::Degraded => "Часть источников не удалось опросить или прочитать, поэтому могут быть и другие сообщения об этом.".into(),
        Sentence::Rated { publisher, rating, url, opposite } => {
            let what = if opposite { "противоположное утверждение" } else { "это утверждение" };
            let publisher = if publisher.is_empty() { "Один из фактчекеров" } else { publisher };
            format!("{publisher} оценивает {what} как «{rating}» ({url}).")
        }
        Sentence::CheckersDisagree => "Фактчекеры расходятся в оценке.".into(),
        Sentence::PassagesSupport(sources) => format!("Фрагменты в пользу утверждения: {sources}."),
        Sentence::PassagesContradict(sources) => format!("Фрагменты против утверждения: {sources}."),
        Sentence::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Sentence::Uncontradicted => "Источников, которые противоречили бы утверждению, не найдено.".into(),
        Sentence::WeaklyContradicted => "Найдено и слабое противоречие.".into(),
        Sentence::OutOfContext { groups, sources } => {
            format!("По данным независимых источников ({groups}), это было, но в другое время или в другом месте: {sources}.")
        }
        Sentence::Refuted(sources) => {
            let contradict = if sources.matches('[').count() == 1 { "противоречит источник" } else { "противоречат источники" };
            format!("Утверждению {contradict} {sources}.")
        },
        Sentence::FigureDisagrees => "Число или дата в утверждении расходится с источником.".into(),
        Sentence::NoSupport => "Источников, которые подтверждали бы утверждение, не найдено.".into(),
        Sentence::SupportedLess { groups } => format!("Есть и менее уверенное подтверждение (независимых источников: {groups})."),
        Sentence::NewerReportsDiffer { older, newer } => {
            format!("Раньше сообщалось именно так ({older}), но в более новых сообщениях говорится иное: {newer}.")
        }
        Sentence::NewerFigure(newer) => format!("В более новых сообщениях указано не то число, что в утверждении: {newer}."),
        Sentence::Contested { one_source, supporting, contradicting } => {
            let opening = if one_source { "Один источник говорит и то и другое" } else { "Источники расходятся" };
            format!("{opening}: в пользу утверждения — {supporting}, против — {contradicting}.")
        }
        Sentence::NeitherClear { supporting, contradicting } => {
            format!("В пользу утверждения — {supporting}, против — {contradicting}, но однозначности нет ни с одной стороны.")
        }
        Sentence::ContestedByDoubt { supporting, doubting } => {
            format!("В пользу утверждения — {supporting}; возможно, против — {doubting}.")
        }
        Sentence::BothAtOnce(sources) => format!("Одни и те же фрагменты говорят и в пользу утверждения, и против него: {sources}."),
        Sentence::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), но есть возможное противоречие: {doubting}.", supports(groups))
        }
        Sentence::MayContradict(sources) => {
            format!("Найденные фрагменты не подтверждают утверждение; есть возможное, но не явное противоречие: {sources}.")
        }
        Sentence::LeansTowards(sources) => format!("Ни один источник прямо этого не говорит, но найденные фрагменты скорее подтверждают утверждение: {sources}."),
        Sentence::LeansAgainst(sources) => format!("Ни один источник прямо этого не отрицает, но найденные фрагменты скорее противоречат утверждению: {sources}."),
        Sentence::SingleSource(sources) => {
            format!("Утверждение подтверждает один источник: {sources}. Второго независимого источника не найдено.")
        }
        Sentence::SupportUnclear(sources) => format!("Подтверждение найдено, но оно недостаточно однозначно: {sources}."),
        Sentence::AgainstUnclear(sources) => {
            format!("Есть данные против утверждения, но недостаточно однозначные, чтобы его опровергнуть: {sources}.")
        }
        Sentence::NotSearched => {
            "Искались только опубликованные проверки фактов, если они были доступны; источники по этому утверждению не искались.".into()
        }
        Sentence::SourcesUnavailable => {
            "Не все источники удалось опросить или прочитать, а остальные ничего не дали. Это не значит, что об этом никто не сообщает.".into()
        }
        Sentence::NothingFound => "Источников, которые говорят об этом, не найдено.".into(),
        Sentence::OffSubject(count) => format!("Найдены фрагменты ({count}), но ни один не относится к этой теме."),
        Sentence::NeitherSide => "Найденные фрагменты не подтверждают утверждение и не противоречат ему.".into(),
        Sentence::Follows(Some(sources)) => format!("Основание: {sources}."),
        Sentence::Follows(None) => "Основание — найденные фрагменты.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Утверждение подтверждает один источник".into()
    } else {
        format!("Утверждение подтверждают независимые источники ({groups})")
    }
}
