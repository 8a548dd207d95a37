//! Makes external text safe for one line of a terminal, page or message.

use std::borrow::Cow;

/// Returns external text as one line. Breaks become spaces, direction characters are removed, and other control
/// characters become a mark.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_break = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(|c: char| c.is_control() || is_break(c) || turns(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for character in text.chars().filter(|c| !turns(*c)) {
        safe.push(match character {
            c if is_break(c) => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        });
    }
    Cow::Owned(safe)
}
