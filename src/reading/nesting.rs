//! A guard in front of the HTML parser. Parsers are built for pages people write; a hostile or broken one can nest so
//! deep, repeat formatting tags so often or carry so many attributes that time and memory grow with the square of its
//! size. One pass over the tags finds such pages, and only those are rewritten: text is never lost, only tags are.

use std::borrow::Cow;

/// Browsers stop at 512 levels; written pages stay under 100.
const MAX_DEPTH: usize = 256;
/// Formatting tags left open in a closed block are opened again by the parser in every later block.
const MAX_DANGLING: usize = 24;
/// Old pages leave `<font>` and `<b>` open by the hundred; their blocks must not pay for it.
const MAX_FORMATTING: usize = 64;
/// The parser compares every attribute of a tag with every other.
const MAX_ATTRIBUTES: usize = 200;

/// Returns `html` as it is, or without the tags that go beyond the limits.
pub(super) fn limit(html: &str) -> Cow<'_, str> {
    let mut scan = Scan::default();
    let mut out: Option<String> = None;
    let mut rest = html;
    let mut kept = 0;
    while let Some(at) = rest.find('<') {
        let tag_start = html.len() - rest.len() + at;
        let Some(from_tag) = html.get(tag_start..) else { break };
        let tag = tag_at(from_tag);
        let (length, keep) = match &tag {
            Tag::Text => (1, true),
            Tag::Skip(length) => (*length, true),
            Tag::Element(element) => (element.length, scan.keep(element)),
        };
        if !keep {
            let text = out.get_or_insert_with(String::new);
            text.push_str(html.get(kept..tag_start).unwrap_or_default());
            kept = tag_start + length;
        }
        rest = from_tag.get(length..).unwrap_or_default();
    }
    match out {
        Some(mut text) => {
            text.push_str(html.get(kept..).unwrap_or_default());
            Cow::Owned(text)
        }
        None => Cow::Borrowed(html),
    }
}

enum Tag<'a> {
    Text,
    /// Comments, declarations, and elements whose content is not markup; the length in bytes.
    Skip(usize),
    Element(Element<'a>),
}

struct Element<'a> {
    name: &'a str,
    closes: bool,
    self_closing: bool,
    attributes: usize,
    length: usize,
}

/// Reads what begins at a `<`.
fn tag_at(text: &str) -> Tag<'_> {
    if text.starts_with("<!--") {
        return Tag::Skip(text.find("-->").map_or(text.len(), |end| end + 3));
    }
    if text.starts_with("<!") || text.starts_with("<?") {
        return Tag::Skip(text.find('>').map_or(text.len(), |end| end + 1));
    }
    let bytes = text.as_bytes();
    let closes = bytes.get(1) == Some(&b'/');
    let name_start = if closes { 2 } else { 1 };
    if !bytes.get(name_start).is_some_and(u8::is_ascii_alphabetic) {
        return Tag::Text;
    }
    let is_name_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let name_end = bytes.iter().skip(name_start).position(is_name_end).map_or(bytes.len(), |at| name_start + at);
    let (length, attributes, self_closing) = tag_end(bytes, name_end);
    let name = text.get(name_start..name_end).unwrap_or_default();
    let is_raw = ["script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"]
        .iter()
        .any(|raw| raw.eq_ignore_ascii_case(name));
    if is_raw && !closes && attributes <= MAX_ATTRIBUTES {
        return Tag::Skip(raw_end(bytes, length, name));
    }
    Tag::Element(Element { name, closes, self_closing, attributes, length })
}

/// Where the tag ends (behind its `>`), how many attributes it may have, and whether it closes itself.
fn tag_end(bytes: &[u8], name_end: usize) -> (usize, usize, bool) {
    let (mut quote, mut attributes, mut previous) = (None, 0, b' ');
    for (at, byte) in bytes.iter().copied().enumerate().skip(name_end) {
        match quote {
            Some(open) if byte == open => quote = None,
            None if matches!(byte, b'"' | b'\'') && previous == b'=' => quote = Some(byte),
            None if byte == b'>' => return (at + 1, attributes, previous == b'/'),
            None if (previous.is_ascii_whitespace() || previous == b'/') && !byte.is_ascii_whitespace() => {
                attributes += 1;
            }
            Some(_) | None => {}
        }
        if quote.is_none() && !(byte.is_ascii_whitespace() && previous == b'=') {
            previous = byte;
        }
    }
    (bytes.len(), attributes, false)
}

/// Where a script or another element without markup inside ends: before its closing tag.
fn raw_end(bytes: &[u8], from: usize, name: &str) -> usize {
    let mut at = from;
    while let Some(next) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'<')) {
        at += next;
        let closing = bytes.get(at + 1) == Some(&b'/')
            && bytes.get(at + 2..at + 2 + name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()));
        if closing {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// The open elements, roughly as the parser will hold them.
#[derive(Default)]
struct Scan {
    open: Vec<Open>,
    /// Formatting tags whose block closed before they did.
    dangling: usize,
    /// Formatting tags now open.
    formatting: usize,
    foreign: usize,
}

struct Open {
    hash: u64,
    rank: u8,
    kind: Kind,
    kept: bool,
}

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Formatting,
    /// Opening one closes the one before.
    Alone,
    Foreign,
    Other,
}

impl Scan {
    /// Takes note of one tag; false when it must go.
    fn keep(&mut self, element: &Element<'_>) -> bool {
        let mut name = [0_u8; 12];
        let lower = lower_name(element.name, &mut name);
        if element.closes {
            return self.close(name_hash(element.name), lower);
        }
        if element.attributes > MAX_ATTRIBUTES {
            return false;
        }
        if is_void(lower) || (element.self_closing && self.foreign > 0) {
            return true;
        }
        let rank = if self.foreign > 0 { 0 } else { rank(lower) };
        // The parser closes these by itself: a paragraph in a paragraph, a cell in a cell.
        while rank > 0 && self.open.last().is_some_and(|top| top.rank >= rank) {
            self.open.pop();
        }
        let kind = kind(lower);
        if kind == Kind::Formatting && (self.dangling >= MAX_DANGLING || self.formatting >= MAX_FORMATTING) {
            return false;
        }
        let hash = name_hash(element.name);
        if kind == Kind::Alone
            && let Some(position) = self.open.iter().rposition(|open| open.hash == hash)
        {
            self.open.remove(position);
        }
        let keep = self.open.len() < MAX_DEPTH;
        self.formatting += usize::from(keep && kind == Kind::Formatting);
        if keep && kind == Kind::Foreign {
            self.foreign += 1;
        }
        // Beyond the limit only as many are remembered as a closing tag looks back.
        if self.open.len() < MAX_DEPTH * 2 {
            self.open.push(Open { hash, rank, kind, kept: keep });
        }
        keep
    }

    fn close(&mut self, hash: u64, lower: &str) -> bool {
        let Some(position) = self.open.iter().rposition(|open| open.hash == hash) else {
            if kind(lower) == Kind::Formatting {
                self.dangling = self.dangling.saturating_sub(1);
            }
            // Without its opening tag a closing one does nothing, but for these two, which then open one.
            return !matches!(lower, "p" | "br") || self.open.len() < MAX_DEPTH;
        };
        if self.open.get(position).is_some_and(|open| matches!(open.kind, Kind::Formatting | Kind::Alone)) {
            // Misnested formatting closes alone.
            let closed = self.open.remove(position);
            self.formatting -= usize::from(closed.kept && closed.kind == Kind::Formatting).min(self.formatting);
            return closed.kept;
        }
        let mut kept = true;
        for (nth, open) in self.open.drain(position..).enumerate() {
            if nth == 0 {
                kept = open.kept;
            } else if open.kept && open.kind == Kind::Formatting {
                self.dangling += 1;
                self.formatting = self.formatting.saturating_sub(1);
            }
            if open.kept && open.kind == Kind::Foreign {
                self.foreign = self.foreign.saturating_sub(1);
            }
        }
        kept
    }
}

fn lower_name<'b>(name: &str, buffer: &'b mut [u8; 12]) -> &'b str {
    if name.len() > buffer.len() {
        return "";
    }
    for (target, byte) in buffer.iter_mut().zip(name.bytes()) {
        *target = byte.to_ascii_lowercase();
    }
    buffer.get(..name.len()).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

/// FNV-1a over the lower-cased name: cheaper to keep and compare than the name itself.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements that close their kind when they open; a higher rank sits inside a lower one.
fn rank(name: &str) -> u8 {
    match name {
        "tbody" | "thead" | "tfoot" => 1,
        "tr" => 2,
        "td" | "th" => 3,
        "li" | "dd" | "dt" => 4,
        "p" => 5,
        "option" => 6,
        _ => 0,
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "a" | "button" | "nobr" | "select" => Kind::Alone,
        "b" | "big" | "code" | "em" | "font" | "i" | "s" | "small" | "strike" | "strong" | "tt" | "u" => {
            Kind::Formatting
        }
        "svg" | "math" => Kind::Foreign,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn written_pages_pass_untouched() {
        let page = "<!doctype html><html><head><title>a < b</title><script>var a = '<div><div>';</script></head><body>\
            <div class=\"a>b\"><p>One<p>Two <b>bold</b><ul><li>1<li>2</ul><table><tr><td>1<td>2<tr><td>3</table></div>\
            <!-- <div> --><svg><path d='M0'/><g><rect/></g></svg></body></html>";
        assert!(matches!(limit(page), Cow::Borrowed(_)));
        let list = format!("<ul>{}</ul>", "<li>x".repeat(5_000));
        assert!(matches!(limit(&list), Cow::Borrowed(_)), "items close each other");
        let flow = "<p>x<p>".repeat(5_000);
        assert!(matches!(limit(&flow), Cow::Borrowed(_)));
    }

    #[test]
    fn unclosed_anchors_and_fonts_cost_no_block() {
        let page = format!("{}<div><p>text</p></div>", "<a name=x>y<p>z</p>".repeat(1_000));
        assert!(matches!(limit(&page), Cow::Borrowed(_)), "an anchor closes the one before");
        let page = format!("{}<div><p>text</p></div>", "<font size=1>y<p>z</p>".repeat(1_000));
        assert!(limit(&page).ends_with("<p>z</p><div><p>text</p></div>"));
    }

    #[test]
    fn deep_nesting_is_cut_and_the_text_stays() {
        let page = format!("{}deep text{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
        let limited = limit(&page);
        assert_eq!(limited.matches("<div>").count(), MAX_DEPTH);
        assert_eq!(limited.matches("deep text").count(), 1);
    }

    #[test]
    fn dangling_formatting_is_cut() {
        let page = format!("{}{}", "<div><b id=1><i id=2></div>".repeat(500), "<div>x</div>".repeat(100));
        let limited = limit(&page);
        assert!(limited.matches("<b").count() + limited.matches("<i").count() <= MAX_DANGLING + 2);
        assert_eq!(limited.matches("<div>x</div>").count(), 100);
    }

    #[test]
    fn tags_with_absurd_attributes_go() {
        let attributes: String = (0..1_000).map(|n| format!(" a{n}=1")).collect::<Vec<_>>().concat();
        assert_eq!(limit(&format!("<p>a<div{attributes}>b</p>")), "<p>ab</p>");
    }

    proptest! {
        #[test]
        fn limiting_never_panics_and_never_grows(html in "(<[/!a-zA-Z]{0,4}[ a-z=\"'<>/-]{0,8}|\\PC{0,4}){0,60}") {
            prop_assert!(limit(&html).len() <= html.len());
        }
    }
}
