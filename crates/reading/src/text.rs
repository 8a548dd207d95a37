//! Text cleaning: white space, entities, tags.

/// Collapses white space, including no-break spaces, and trims. Removes invisible characters (zero-width marks, soft
/// hyphens, byte-order marks), because they split words.
pub(super) fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_collapsed(&mut out, text);
    if out.ends_with(' ') {
        out.pop();
    }
    out
}

/// Appends `text` with collapsed white space. `out` may then end with one space.
pub(super) fn push_collapsed(out: &mut String, text: &str) {
    for character in text.chars() {
        if character.is_whitespace() || character == '\u{2060}' {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_invisible(character) {
            out.push(character);
        }
    }
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{FEFF}')
        || (character.is_control() && !character.is_whitespace())
}

/// Plain text of a markup value. Entities are decoded once more, because publishers escape twice.
pub(super) fn plain(value: &str) -> String {
    let decoded = html_escape::decode_html_entities(value);
    if decoded.contains('<') { collapse(&strip_tags(&decoded)) } else { collapse(&decoded) }
}

/// Paragraphs of plain text with line breaks or of escaped HTML.
pub(super) fn plain_paragraphs(value: &str) -> Vec<String> {
    let decoded = html_escape::decode_html_entities(value);
    let stripped = if decoded.contains('<') { strip_tags(&decoded) } else { decoded.into_owned() };
    stripped.lines().map(collapse).filter(|line| !line.is_empty()).collect()
}

/// Removes tags and comments. Block tags become line breaks; a `<` that opens no tag ("3 < 4") stays.
fn strip_tags(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let opens = after.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        if !opens {
            out.push('<');
            rest = after;
            continue;
        }
        let Some((tag, tail)) = after.split_once('>') else { return out };
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if is_block(&name.to_ascii_lowercase()) {
            out.push('\n');
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// True if the element starts its own line.
pub(super) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "br"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hr"
            | "li"
            | "main"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "tr"
            | "ul"
    )
}

/// Cuts to at most `max` bytes without splitting a character.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The letters and digits of a text in lower case, for comparisons.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_invisible_characters_collapse() {
        assert_eq!(collapse("  a\u{a0}\n\tb\u{200b}c\u{ad}d  "), "a bcd");
    }

    #[test]
    fn markup_values_become_plain_text_once() {
        assert_eq!(plain("The Earth isn&#39;t <b>flat</b>"), "The Earth isn't flat");
        assert_eq!(plain("&lt;p&gt;One&lt;/p&gt;&lt;p&gt;Two"), "One Two");
        assert_eq!(plain("3 < 4 and 5 > 2"), "3 < 4 and 5 > 2");
        assert_eq!(plain("&amp;amp;"), "&amp;", "decoded once, not until nothing is left");
    }

    #[test]
    fn paragraphs_of_escaped_html() {
        assert_eq!(plain_paragraphs("<p>One <i>two</i></p><p>Three</p>"), ["One two", "Three"]);
        assert_eq!(plain_paragraphs("One\n\n two \r\nthree"), ["One", "two", "three"]);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut("дом", 3), "д");
        assert_eq!(cut("дом", 100), "дом");
    }
}
