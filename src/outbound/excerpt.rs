//! Makes untrusted text fit for an error or a log line.

/// Maximum characters: enough for a provider's sentence, too short for a page.
const EXCERPT_CHARS: usize = 200;

/// Returns one line without control characters, of limited length.
pub fn excerpt(text: &str) -> String {
    let mut line = String::new();
    let mut taken = 0;
    for word in text.split(|character: char| character.is_whitespace() || character.is_control()) {
        if word.is_empty() {
            continue;
        }
        if taken > 0 {
            line.push(' ');
            taken += 1;
        }
        for character in word.chars() {
            if taken >= EXCERPT_CHARS {
                line.push('…');
                return line;
            }
            line.push(character);
            taken += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_bounded_line() {
        assert_eq!(excerpt("  a\n\tb\u{0}c "), "a b c");
        let long = excerpt(&"ж".repeat(5000));
        assert_eq!(long.chars().count(), EXCERPT_CHARS + 1);
    }
}
