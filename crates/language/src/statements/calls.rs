//! Finds lines for the reader that state nothing: calls to subscribe, share, read on or send material, and channel
//! signatures.
//!
//! To add a language: its `statements.tsv`.

use crate::lexicon::{Parts, Words};
use crate::patterns::Pattern;
use crate::{has_cyrillic, is_emoji};

/// Calls by themselves, and source labels.
static CALL: Pattern = Pattern::of(r"^(?:{statements.calls.please}\s+)?{statements.calls.heads}(?:[\s.,:;!?()|…-]|$)");

/// Calls with an object: "Share this", not "Share prices fell".
static ENGLISH: Pattern = Pattern::of(
    r"(?x)^(?:{statements.calls.please}\ |{statements.calls.now}\ )?{statements.calls.verbs}
        (?:[!.,]|$
            |\ {statements.calls.it}(?:[!.,]|$|\ {statements.calls.behind_it})
            |\ {statements.calls.objects}(?:[\s.,:;!?]|$))",
);

/// "Like this video", not "Like us, chimpanzees use tools"; "Help us", not "Help now arrives in Gaza".
static ENGLISH_NEARER: Pattern = Pattern::of(
    r"(?x)^(?:{statements.calls.please}\ )?
        (?:{statements.calls.like}
            (?:!|$|\ {statements.calls.this}(?:[!.]|$)|\ {statements.calls.liked}(?:[\s.,:;!?]|$))
        |{statements.calls.help}\ {statements.calls.helped}(?:[\s.,:;!?]|$))",
);

/// Sources and own links, with at most a name.
static LABEL: Pattern =
    Pattern::of(r"^(?:{statements.calls.source}\s*:(?:\s*\S+){0,3}|{statements.calls.own_place}(?:\s*[:@—–-].*)?)$");

/// Singular imperatives, or with an ambiguous ending.
static COMMANDS: Words = Words::of("statements.calls.commands");

/// Politeness and negation.
static LEADING_WORDS: Words = Words::of("statements.calls.before");

/// Labels of a channel's links, lower case.
static LABELS: Words = Words::of("statements.calls.labels");

/// Words; longer sentences also state something.
const MAX_WORDS: usize = 20;

/// Whether it is only a call or source label.
pub(super) fn is_call(sentence: &str) -> bool {
    let bare = sentence.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '@');
    let words = bare.split_whitespace().count();
    (1..=MAX_WORDS).contains(&words)
        && (CALL.is_match(bare)
            || ENGLISH.is_match(bare)
            || ENGLISH_NEARER.is_match(bare)
            || LABEL.is_match(bare)
            || commands(bare))
}

/// Whether the first relevant word is an imperative and no "that" follows.
fn commands(sentence: &str) -> bool {
    static ENDINGS: Words = Words::of("statements.calls.ending");
    static REPORTING_PARTS: Parts = Parts::of("statements.calls.telling");
    if !has_cyrillic(sentence) || REPORTING_PARTS.occurs_in(sentence) {
        return false;
    }
    let mut words =
        sentence.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
    let Some(first) = words.by_ref().take(4).find(|word| !LEADING_WORDS.has(word)) else { return false };
    COMMANDS.has(&first) || first.chars().count() >= 5 && ENDINGS.has_ending_of(&first)
}

/// Whether a raw line is a row of the channel's links.
pub(super) fn is_signature(line: &str) -> bool {
    let divides = |c: char| is_emoji(c) || matches!(c, '|' | '•' | '·' | '⋅' | '║');
    let parts: Vec<&str> = line
        .split(divides)
        .flat_map(|part| part.split(" / "))
        .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric() && c != '@'))
        .filter(|part| !part.is_empty())
        .collect();
    let short = |most: usize| parts.iter().all(|part| part.split_whitespace().count() <= most);
    let label = |part: &&str| is_call(part) || part.starts_with('@') || LABELS.has(&part.to_lowercase());
    let figure = line.contains(|c: char| c.is_ascii_digit());
    short(4) && parts.iter().any(label) && parts.iter().all(|part| label(part) || is_name(part))
        || parts.len() >= 3 && line.contains('|') && short(3) && !figure
}

/// Words in channel names, lower case.
static CHANNEL_WORDS: Words = Words::of("statements.calls.naming");

/// Whether it is a channel's name: "Milbrook LIVE", not "Trump Wins Ohio".
pub(super) fn is_sign_off(line: &str) -> bool {
    let naming = |word: &str| CHANNEL_WORDS.has(&word.to_lowercase());
    is_name(line) && (line.starts_with(|c: char| !c.is_alphanumeric()) || line.split_whitespace().any(naming))
}

/// Whether it is one to three capitalised words.
fn is_name(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
    (1..=3).contains(&words.len())
        && !line.ends_with(['.', '!', '?', '…'])
        && words
            .iter()
            .all(|word| word.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_separated_from_claims() {
        for call in [
            "SHARE before they DELETE this!!!",
            "Please share this with your friends!",
            "Share the video!",
            "Don't forget to like and subscribe",
            "Follow us on Telegram",
            "Join our chat: @milbrook",
            "Support us on Patreon",
            "Подписывайтесь на наш канал",
            "Поделитесь с друзьями!",
            "Не забывайте ставить лайки",
            "Присылайте новости в наш бот",
            "Оставайтесь с нами",
            "Жми на колокольчик",
            "Максимальный репост!",
            "Друзья, поддержите нас лайком",
            "Підписуйтесь на канал",
            "Поширюйте цю інформацію",
            "Діліться з друзями",
            "Надішліть нам новину",
            "Source: Reuters",
            "Like and subscribe!",
            "Like this video!",
            "Источник: РБК",
            "Наш чат: @milbrook",
        ] {
            assert!(is_call(call), "{call}");
        }
        for claim in [
            "Share prices fell by 5 percent.",
            "Subscribers of Netflix fell by 200,000 in 2022.",
            "Support for Ukraine fell in Germany.",
            "Like Germany, France raised its budget.",
            "Watch maker Rolex cuts 300 jobs.",
            "Join forces or lose, says NATO chief Mark Rutte.",
            "Help arrived in Gaza on Monday.",
            "Read receipts are stored by WhatsApp for 30 days.",
            "Подписан закон о бюджете.",
            "Элите Кремля запретили выезд.",
            "Знайте, что Россия потеряла 700 тысяч солдат.",
            "Шість людей загинули в Харкові.",
            "Читатели газеты собрали миллион рублей.",
            "Источник в МВД сообщил о взрыве.",
            "Репостнул запись министр обороны.",
            "Наш корабль затонул у берегов Турции.",
            "Наш сайт атаковали хакеры.",
            "Источник: при взрыве в Белгороде погибли трое",
            "Like us, chimpanzees use tools.",
            "Support now stands at 40 percent.",
            "Help now arrives in Gaza.",
        ] {
            assert!(!is_call(claim), "{claim}");
        }
    }

    #[test]
    fn signatures_are_separated_from_news() {
        for line in [
            "Подписаться | Чат | Прислать новость",
            "📲 Милбрук LIVE | Підписатися",
            "Milbrook News • Chat • Boost",
            "Instagram | YouTube | X",
            "@milbrook",
        ] {
            assert!(is_signature(line), "{line}");
        }
        for line in [
            "Взрыв в Киеве",
            "Киев | Взрыв в центре города, погибли 5 человек",
            "Россия — Украина: 5 дней переговоров",
            "🔥 Взрыв в Киеве 🔥",
            "Доллар 100,5 | Евро 110 | Юань 13",
            "Telegram / WhatsApp заблокированы",
        ] {
            assert!(!is_signature(line), "{line}");
        }
        assert!(is_sign_off("Милбрук LIVE") && is_sign_off("© Kyiv Independent"));
        for news in ["Взрыв в Киеве", "Путин умер.", "Five people died", "Trump Wins Ohio", "Kyiv Under Attack"]
        {
            assert!(!is_sign_off(news), "{news}");
        }
    }
}
