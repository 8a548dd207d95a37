//! Removes emoji, links, mentions, tags and calls to subscribe from a line.

use super::calls;
use crate::patterns::Pattern;
use crate::{is_emoji, stopwords, tokens};

static URL: Pattern = Pattern::of(r"(?i)(?-u:\b)(?:https?://|www\.|t\.me/|pic\.twitter\.com/|bit\.ly/)\S+");

/// "… | Подписаться на канал"
static TAIL: Pattern = Pattern::of(r"\s*(?:[|•]|—|–)\s*{statements.clean.tail}.*$");

/// " — Name (@name) January 5, 2016"
static SIGNATURE: Pattern = Pattern::of(r#"\s[—–-]{1,2}\s[^—–]{0,60}\(@\w+\)(?:\s*[\w.]+ \d{1,2}, \d{4})?"?\s*$"#);

/// "RT @name: "
static RETWEET: Pattern = Pattern::of(r"^\s*RT @\w+:?\s+");

/// Words of a label before a link: "Full story:".
const MAX_LABEL_WORDS: usize = 4;

/// Returns the cleaned line, or `None` if nothing is stated.
pub(super) fn clean_line(line: &str) -> Option<String> {
    let calls = has_call_sign(line);
    let bare = URL.replace_all(line, " ");
    let labelled = bare.trim_end().ends_with([':', '-', '—', '–', '👉', '👇', '➡', '>', '\u{fe0f}']);
    if bare != line && labelled && bare.split_whitespace().count() <= MAX_LABEL_WORDS {
        return None;
    }
    let line = RETWEET.replace(&bare, "");
    let line = SIGNATURE.replace(&line, "");
    let plain = without_emoji(&line);
    if calls::is_call(&plain) && (calls || plain.split_whitespace().count() <= MAX_CALL_WORDS) {
        return None;
    }
    let plain = TAIL.replace(&plain, "");
    let tidy = tidy(&without_tags(&plain));
    tidy.chars().any(char::is_alphanumeric).then_some(tidy)
}

/// Words; a longer line states something, unless an emoji points at the call.
const MAX_CALL_WORDS: usize = 12;

/// Whether an emoji points at a call.
fn has_call_sign(line: &str) -> bool {
    line.contains(['👉', '➡', '👇', '🔔', '✅'])
}

fn without_emoji(line: &str) -> String {
    line.chars()
        .filter(|c| !matches!(c, '\u{200B}' | '\u{200C}' | '\u{2060}' | '\u{FEFF}' | '\u{00AD}' | '\u{200D}'))
        // Arrows are emoji; a degree sign is not.
        .map(|c| if is_emoji(c) { ' ' } else { c })
        .collect::<String>()
}

/// Removes tags and mentions, except next to a small word, preposition or verb, where they are part of the sentence.
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
        // The dot makes the mention a subject: ".@Name says".
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

/// Normalises spaces, none before punctuation.
fn tidy(line: &str) -> String {
    let mut tidy = line.split_whitespace().collect::<Vec<_>>().join(" ");
    for sign in [",", ".", "!", "?", ";", ":", ")", "»"] {
        // "Kyiv ." after a removal; " — " and " .5" stay.
        if tidy.contains(&format!(" {sign}")) {
            tidy = tidy.replace(&format!(" {sign} "), &format!("{sign} "));
            if let Some(head) = tidy.strip_suffix(&format!(" {sign}")) {
                tidy = format!("{head}{sign}");
            }
        }
    }
    tidy.trim_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '•')).to_owned()
}
