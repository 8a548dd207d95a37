//! Takes off what posts carry and claims do not: emoji, links, mentions, tags, calls to subscribe.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::language::{is_emoji, stopwords, tokens};

static URL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:https?://|www\.|t\.me/|pic\.twitter\.com/|bit\.ly/)\S+"));

/// A line or a tail that asks something of the reader.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:please\s+)?(?:subscribe|follow us|follow our|join (?:us|our)|sign up|read more|click here|share this|like and share|watch (?:now|more|the full)|source:|via:|подпи(?:шись|шитесь|саться|сывай)|читать (?:далее|полностью|дальше)|читайте (?:также|нас)|подробнее|смотреть|источник:|присылайте|прислать новость|наш (?:канал|телеграм)|поделись|поделиться|ставьте лайк|підпи(?:шись|шіться|сатися|суйт)|читати (?:далі|повністю)|читайте (?:також|нас)|детальніше|джерело:|надіслати новину|наш(?:і)? канал)",
    )
});

/// A call after a sign that sets it off, to the end of the line: "… | Подписаться на канал".
static TAIL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\s*(?:[|•]|—|–)\s*(?:subscribe|follow us|join (?:us|our)|read more|подпи(?:шись|шитесь|саться|сывай)\S*|підпи(?:шись|шіться|сатися|суйт)\S*|читать далее|читати далі).*$",
    )
});

/// How a copied post names its author: " — Name (@name) January 5, 2016".
static SIGNATURE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\s[—–-]{1,2}\s[^—–]{0,60}\(@\w+\)(?:\s*[\w.]+ \d{1,2}, \d{4})?"?\s*$"#));

/// How a repeated post names whom it repeats: "RT @name: ".
static REPEATED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*RT @\w+:?\s+"));

/// Tags within a line, and those that end one.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)</?(?:a|b|i|u|s|em|strong|span|code|pre|tg-spoiler|tg-emoji|blockquote|small|mark)(?:\s[^<>]{0,300})?>",
    )
});
static BREAK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)<(?:br\s?/?|/?p|/?div|/?li|/?ul|/?h[1-6])(?:\s[^<>]{0,300})?>"));

/// A pattern of this file: it is right or the first test fails.
pub(super) fn pattern(pattern: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "a literal pattern, compiled by every test of this module")]
    Regex::new(pattern).expect("the pattern is a literal of this file")
}

/// The text without emoji, links, mentions, hashtags and calls to subscribe, white space tidied; line breaks stay where
/// something stands on both sides. A tag or mention that carries the sentence ("in #Kyiv today") keeps its word.
pub fn clean(text: &str) -> String {
    let plain = without_markup(text);
    let without_urls = URL.replace_all(&plain, " ");
    let lines: Vec<String> = without_urls
        .lines()
        .filter_map(|line| {
            let calls = has_call_sign(line);
            let line = REPEATED.replace(line, "");
            let line = SIGNATURE.replace(&line, "");
            let plain = without_emoji(&line);
            if CALL.is_match(plain.trim().trim_start_matches(['-', '|', '•', '—', ' ']))
                && (calls || plain.split_whitespace().count() <= 12)
            {
                return None;
            }
            let plain = TAIL.replace(&plain, "");
            let tidy = tidy(&without_tags(&plain));
            tidy.chars().any(char::is_alphanumeric).then_some(tidy)
        })
        .collect();
    lines.join("\n")
}

/// The text that HTML marks up, as some feeds and bots send it: the tags of running text and the commonest references.
fn without_markup(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let plain = TAG.replace_all(text, "");
    let mut plain = BREAK.replace_all(&plain, "\n").into_owned();
    for (reference, letter) in [
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(reference, letter);
    }
    Cow::Owned(plain)
}

/// Pointing emoji stand before calls.
fn has_call_sign(line: &str) -> bool {
    line.contains(['👉', '➡', '👇', '🔔', '✅'])
}

fn without_emoji(line: &str) -> String {
    line.chars()
        .filter(|c| !matches!(c, '\u{200B}' | '\u{200C}' | '\u{2060}' | '\u{FEFF}' | '\u{00AD}' | '\u{200D}'))
        // Markdown stars and a degree sign are no emoji; arrows and check marks are.
        .map(|c| if is_emoji(c) { ' ' } else { c })
        .collect::<String>()
        .replace("**", "")
        .replace("__", "")
}

/// Drops tags and mentions, but keeps the word of one that stands in a sentence's grammar: a small word, a preposition or a
/// verb beside it on the same line.
fn without_tags(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let opening = word.trim_start_matches(['(', '"', '«', '.', '“']);
        if !opening.starts_with(['#', '@']) || opening.chars().count() < 2 {
            kept.push((*word).to_owned());
            continue;
        }
        let previous = index.checked_sub(1).and_then(|before| words.get(before)).copied();
        let next = words.get(index + 1).copied();
        // ".@Name says": the dot is there so that the mention can be the subject.
        if word.starts_with(".@") || in_grammar(previous, next) {
            let name = opening.trim_start_matches(['#', '@']);
            kept.push(if opening.starts_with('#') { name.replace('_', " ") } else { name.to_owned() });
        }
    }
    kept.join(" ")
}

fn in_grammar(previous: Option<&str>, next: Option<&str>) -> bool {
    let small = |word: &str| word.chars().next().is_some_and(char::is_lowercase);
    let leads = previous.is_some_and(|word| {
        !word.ends_with(['.', '!', '?', '…', ':'])
            && stopwords::is_stop_word(&tokens::normalise_word(word), None)
            && !matches!(word.to_lowercase().as_str(), "via" | "по")
    });
    leads || next.is_some_and(|word| small(word) && !word.contains("://"))
}

/// One space between words, none before punctuation, none at the ends.
fn tidy(line: &str) -> String {
    let mut tidy = line.split_whitespace().collect::<Vec<_>>().join(" ");
    for sign in [",", ".", "!", "?", ";", ":", ")", "»"] {
        // "Kyiv ." after something was cut out; " — " and " .5" are left alone.
        if tidy.contains(&format!(" {sign}")) {
            tidy = tidy.replace(&format!(" {sign} "), &format!("{sign} "));
            if let Some(head) = tidy.strip_suffix(&format!(" {sign}")) {
                tidy = format!("{head}{sign}");
            }
        }
    }
    tidy.trim_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '•')).to_owned()
}
