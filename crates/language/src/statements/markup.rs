//! Removes HTML elements, character references and Markdown.

use std::borrow::Cow;

use crate::patterns::Pattern;

/// No text; a truncated post may lack the end of a script.
static NO_TEXT: Pattern = Pattern::of(
    r"(?isx)<!--.*?--> | <!doctype[^<>]*> | <\?xml[^<>]*>
        | <script(?:\s[^<>]*)?>.*?</script\s*> | <style(?:\s[^<>]*)?>.*?</style\s*>
        | <template(?:\s[^<>]*)?>.*?</template\s*> | <iframe(?:\s[^<>]*)?>.*?</iframe\s*>
        | <svg(?:\s[^<>]*)?>.*?</svg\s*> | <noscript(?:\s[^<>]*)?>.*?</noscript\s*>
        | <(?:script|style)(?:\s[^<>]*)?>.*\z",
);

/// Elements that begin a line.
static LINE: Pattern = Pattern::of(
    r"(?i)</?(?:br|p|div|ul|ol|h[1-6]|tr|table|tbody|thead|section|article|blockquote|header|footer|main|aside|nav|hr|dl|dt|dd|figure|figcaption)(?:\s[^<>]*)?\s?/?>|</li>",
);

static ITEM: Pattern = Pattern::of(r"(?i)<li(?:\s[^<>]*)?>");

/// Inline elements of HTML and Telegram only: `Vec<String>` stays.
static INLINE: Pattern = Pattern::of(
    r"(?i)</?(?:a|abbr|b|big|body|button|center|cite|code|del|em|font|form|head|html|i|img|input|ins|label|link|mark|meta|picture|pre|q|s|script|small|source|span|strike|strong|style|sub|sup|td|th|time|tg-spoiler|tg-emoji|tt|u|video|wbr)(?:\s[^<>]*)?\s?/?>",
);

/// `![picture](address)`, `[words](address)`, `<address>`.
static PICTURE: Pattern = Pattern::of(r"!\[[^\]\[\n]*\]\([^()\s]+[^()\n]*\)");
static LINK: Pattern = Pattern::of(r"\[([^\]\[\n]+)\]\((?:https?://|tg://|mailto:|/|www\.)[^()\s]*(?:\s[^()\n]*)?\)");
/// A line with only a short link: "[Full story](address)".
static LONE_LINK: Pattern =
    Pattern::of(r"(?m)^[^\w\n\[]*\[[^\]\[\s]+(?:[ \t][^\]\[\s]+)?\]\((?:https?://|tg://|/|www\.)[^()\s]*\)\W*$");
static AUTOLINK: Pattern = Pattern::of(r"(?i)<(?:https?://|mailto:)[^<>\s]*>");

/// Headings, quotes, code fences.
static LINE_MARK: Pattern = Pattern::of(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|```\w*[ \t]*$)");
/// "*bold*", "_slanted_" between spaces or punctuation.
static EMPHASIS: Pattern = Pattern::of(r#"(^|[\s(«"“])(?:\*([^\s*][^*\n]*?)\*|_([^\s_][^_\n]*?)_)($|[\s).,!?:;»"”…])"#);

/// Returns plain text with line breaks; list items begin with "• ".
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let text = if text.contains(['<', '&']) { Cow::Owned(without_html(text)) } else { Cow::Borrowed(text) };
    if text.contains(['[', '#', '>', '*', '_', '~', '|', '`']) { Cow::Owned(without_markdown(&text)) } else { text }
}

fn without_html(text: &str) -> String {
    let stripped = |text: &str| {
        let text = NO_TEXT.replace_all(text, " ");
        let text = AUTOLINK.replace_all(&text, " ");
        let text = LINE.replace_all(&text, "\n");
        let text = ITEM.replace_all(&text, "\n• ");
        INLINE.replace_all(&text, "").into_owned()
    };
    let text = stripped(text);
    if !text.contains('&') {
        return text;
    }
    // Feeds escape markup: "&lt;p&gt;".
    let decoded = html_escape::decode_html_entities(&text).replace('\u{a0}', " ");
    if decoded.contains('<') { stripped(&decoded) } else { decoded }
}

fn without_markdown(text: &str) -> String {
    let text = PICTURE.replace_all(text, " ");
    let text = LONE_LINK.replace_all(&text, "");
    let text = LINK.replace_all(&text, "$1");
    let text = LINE_MARK.replace_all(&text, "");
    let text = text.replace("**", "").replace("__", "").replace("~~", "").replace("||", "");
    // Twice, because neighbours share a space.
    let text = EMPHASIS.replace_all(&text, "$1$2$3$4");
    EMPHASIS.replace_all(&text, "$1$2$3$4").into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_goes_and_its_text_stays() {
        for (marked, expected) in [
            ("<script>alert('5 died')</script>Kyiv", " Kyiv"),
            ("<style>p{color:red}</style><!-- 5 --><b>Kyiv</b>", "  Kyiv"),
            ("<SCRIPT type='a'>x</SCRIPT >Kyiv", " Kyiv"),
            ("Kyiv <script>alert('5 died'); if (a < b) {", "Kyiv  "),
            ("<ul><li>One</li><li class=\"x\">Two</li></ul>", "\n\n• One\n\n• Two\n\n"),
            ("&lt;p&gt;Kyiv &amp;amp; Lviv&lt;/p&gt;", "\nKyiv &amp; Lviv\n"),
            ("Kyiv&nbsp;&laquo;today&raquo;", "Kyiv «today»"),
            (
                "[Kyiv was hit](https://a.example/x_(1)) and ![pic](https://b.example/a.png)",
                "[Kyiv was hit](https://a.example/x_(1)) and  ",
            ),
            ("[Kyiv was hit](https://a.example/x) today", "Kyiv was hit today"),
            ("## Kyiv *was* _hit_", "Kyiv was hit"),
            ("> Kyiv ~~was~~ ||is|| hit", "Kyiv was is hit"),
            (
                "5 < 6 & 7 > 2, snake_case_name, 5*3*2, Vec<String>",
                "5 < 6 & 7 > 2, snake_case_name, 5*3*2, Vec<String>",
            ),
        ] {
            assert_eq!(plain(marked), expected, "{marked}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[<>/a-z!&;#*_\\[\\]() \n-]{0,200}") {
            let _read = plain(&text).len();
        }
    }
}
