//! Converts the page to a flat list of text lines and elements, so that finding the article needs only ranges and sums.

use std::collections::HashMap;
use std::ops::Range;

use dom_query::{Document, Element, NodeData, NodeId, NodeRef};

use super::naming::{ContainerKind, Names, Noise};
use super::text;

/// Longer text in an inline element belongs to the article, whatever the element's name.
const MAX_INLINE_NOISE: usize = 250;

/// A table cell with more characters is a paragraph, because old pages use tables for layout.
const MAX_CELL: usize = 100;

/// Lines and elements beyond these limits are dropped.
const MAX_BLOCKS: usize = 20_000;
const MAX_PARTS: usize = 60_000;

/// Adjacent parts that form a list of teasers.
const MIN_TEASERS: usize = 3;
/// Characters and lines of a teaser, and minimum characters of its linked line.
const MAX_TEASER: usize = 450;
const MAX_TEASER_LINES: usize = 6;
const MIN_TEASER_LINK: usize = 20;

/// A separate line of text: a paragraph, heading, list item or table row.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) text: String,
    pub(super) chars: usize,
    pub(super) linked: usize,
    pub(super) kind: Kind,
    pub(super) dropped: Noise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Other,
    Paragraph,
    Title,
    Heading,
    List,
    Table,
    Row,
    Division,
}

/// An element that begins a line, with its blocks.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) id: NodeId,
    pub(super) kind: Kind,
    pub(super) blocks: Range<usize>,
    pub(super) names: Names,
    is_cell: bool,
    /// Index of the enclosing part.
    parent: Option<usize>,
}

/// Parts and blocks in page order: an element precedes its content.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) parts: Vec<Part>,
    pub(super) blocks: Vec<Block>,
    current: Block,
    in_links: usize,
    inmost: Option<usize>,
    breaks: usize,
}

enum End {
    Nothing,
    Part(usize),
    Link,
    /// Removes the block's text from here on, if it is short.
    Noise {
        from: usize,
        block: usize,
    },
}

pub(super) fn read(document: &Document) -> Outline {
    let mut outline = Outline::default();
    let mut open: Vec<(NodeRef<'_>, End)> = Vec::new();
    let mut next = document.root().first_child();
    loop {
        if let Some(node) = next {
            let entered = node.query_or(None, |inner| outline.enter(node.id, &inner.data));
            next = match entered {
                None => node.next_sibling(),
                Some(end) => {
                    let child = node.first_child();
                    open.push((node, end));
                    child
                }
            };
        } else {
            let Some((node, end)) = open.pop() else { break };
            outline.leave(&end);
            next = node.next_sibling();
        }
    }
    outline.flush();
    outline.mark_teasers();
    outline
}

impl Outline {
    /// Marks lists of teasers: most of their text is in adjacent parts with a linked line and a few words.
    fn mark_teasers(&mut self) {
        let mut lists: HashMap<usize, (usize, usize)> = HashMap::new();
        for part in self.parts.iter().filter(|part| self.is_teaser(part)) {
            let chars = self.chars(part);
            if let Some(parent) = part.parent {
                let (count, sum) = lists.entry(parent).or_default();
                *count += 1;
                *sum += chars;
            }
        }
        for (at, (count, sum)) in lists {
            let is_most = self.parts.get(at).is_some_and(|list| sum * 10 >= self.chars(list) * 7);
            if let Some(list) = self.parts.get_mut(at).filter(|_| is_most && count >= MIN_TEASERS) {
                list.names.noise = list.names.noise.max(Noise::Teasers);
            }
        }
    }

    fn is_teaser(&self, part: &Part) -> bool {
        let blocks = self.blocks.get(part.blocks.clone()).unwrap_or_default();
        (2..=MAX_TEASER_LINES).contains(&blocks.len())
            && matches!(part.kind, Kind::Other | Kind::Division)
            && blocks.iter().map(|block| block.chars).sum::<usize>() <= MAX_TEASER
            && blocks.iter().any(|block| block.linked * 10 > block.chars * 8 && block.chars >= MIN_TEASER_LINK)
    }

    fn chars(&self, part: &Part) -> usize {
        self.blocks.get(part.blocks.clone()).unwrap_or_default().iter().map(|block| block.chars).sum()
    }

    /// Enters a node; `None` if its content is skipped.
    fn enter(&mut self, id: NodeId, data: &NodeData) -> Option<End> {
        if self.blocks.len() >= MAX_BLOCKS || self.parts.len() >= MAX_PARTS {
            return None;
        }
        match data {
            NodeData::Text { contents } => {
                let before = self.current.text.len();
                text::push_collapsed(&mut self.current.text, contents);
                let added = self.current.text.get(before..).map_or(0, |added| added.chars().count());
                self.current.chars += added;
                if added > 1 {
                    self.breaks = 0;
                }
                if self.in_links > 0 {
                    self.current.linked += added;
                }
                None
            }
            NodeData::Element(element) => self.enter_element(id, element),
            NodeData::Document | NodeData::Fragment => Some(End::Nothing),
            _ => None,
        }
    }

    fn enter_element(&mut self, id: NodeId, element: &Element) -> Option<End> {
        let name = &*element.name.local;
        if is_silent(name) {
            return None;
        }
        let noise = End::Noise { from: self.current.text.len(), block: self.blocks.len() };
        match name {
            "br" => {
                self.end_line();
                return None;
            }
            "td" | "th" => self.space(),
            "a" => {
                self.in_links += 1;
                return Some(End::Link);
            }
            // A time at the start of a line is a date.
            "time" if self.current.text.is_empty() => return Some(noise),
            _ => {}
        }
        let mut names = Names::of(element);
        let is_cell = matches!(name, "td" | "th");
        if !is_cell && !text::is_block(name) && name != "noscript" {
            return Some(if names.noise > Noise::None { noise } else { End::Nothing });
        }
        names.noise = match name {
            "aside" | "footer" | "nav" | "menu" | "dialog" => names.noise.max(Noise::Certain),
            "form" | "noscript" | "fieldset" | "figure" | "figcaption" => names.noise.max(Noise::Likely),
            "article" | "main" | "body" | "html" => names.noise.min(Noise::Likely),
            _ => names.noise,
        };
        names.container = match name {
            "article" => names.container.min(ContainerKind::Article),
            "main" => names.container.min(ContainerKind::Main),
            "div" | "section" | "td" => names.container,
            _ => ContainerKind::Elsewhere,
        };
        let kind = kind(name);
        if !is_cell {
            self.flush();
            self.current.kind = kind;
        }
        let blocks = self.blocks.len()..self.blocks.len();
        self.parts.push(Part { id, kind, blocks, names, is_cell, parent: self.inmost });
        self.inmost = Some(self.parts.len() - 1);
        Some(End::Part(self.parts.len() - 1))
    }

    fn leave(&mut self, end: &End) {
        match *end {
            End::Nothing => {}
            End::Link => self.in_links = self.in_links.saturating_sub(1),
            End::Part(at) => {
                // Short cells share one line per row.
                let part = self.parts.get(at);
                let is_short_cell = |part: &Part| part.is_cell && part.blocks.start == self.blocks.len();
                if !(part.is_some_and(is_short_cell) && self.current.chars <= MAX_CELL) {
                    self.flush();
                }
                let end = self.blocks.len();
                if let Some(part) = self.parts.get_mut(at) {
                    part.blocks.end = end;
                    self.inmost = part.parent;
                }
            }
            End::Noise { from, block } => {
                let tail = self.current.text.get(from..).filter(|tail| tail.len() < MAX_INLINE_NOISE);
                if let Some(chars) = tail.filter(|_| block == self.blocks.len()).map(|tail| tail.chars().count()) {
                    self.current.text.truncate(from);
                    self.current.chars = self.current.chars.saturating_sub(chars);
                    self.current.linked = self.current.linked.min(self.current.chars);
                }
            }
        }
    }

    /// One line break is a space; two separate paragraphs.
    fn end_line(&mut self) {
        self.breaks += 1;
        if self.breaks > 1 {
            let kind = self.current.kind;
            self.flush();
            self.current.kind = kind;
        }
        self.space();
    }

    fn space(&mut self) {
        if !self.current.text.is_empty() && !self.current.text.ends_with(' ') {
            self.current.text.push(' ');
            self.current.chars += 1;
        }
    }

    fn flush(&mut self) {
        let mut block = std::mem::take(&mut self.current);
        if block.text.ends_with(' ') {
            block.text.pop();
            block.chars = block.chars.saturating_sub(1);
        }
        if !block.text.is_empty() {
            self.blocks.push(block);
        }
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "p" | "blockquote" | "pre" | "dd" => Kind::Paragraph,
        "h1" => Kind::Title,
        "h2" | "h3" | "h4" | "h5" | "h6" => Kind::Heading,
        "ul" | "ol" | "dl" => Kind::List,
        "table" => Kind::Table,
        "tr" => Kind::Row,
        "div" | "section" | "main" | "td" => Kind::Division,
        _ => Kind::Other,
    }
}

fn is_silent(name: &str) -> bool {
    matches!(
        name,
        "head"
            | "script"
            | "style"
            | "template"
            | "svg"
            | "button"
            | "select"
            | "textarea"
            | "label"
            | "iframe"
            | "object"
            | "audio"
            | "video"
            | "canvas"
            | "map"
            | "math"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(inner: &str) -> Vec<String> {
        let outline = read(&Document::from(format!("<html><head><title>x</title></head><body>{inner}</body></html>")));
        outline.blocks.into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn text_is_parted_into_its_lines() {
        for (html, expected) in [
            ("<p>One <b>two</b><br>three</p>four<div>five</div>", vec!["One two three", "four", "five"]),
            ("<div>One.<br><br>Two.<br> <br>Three.</div>", vec!["One.", "Two.", "Three."]),
            ("<table><tr><td>a<td>b<tr><td>c</table>", vec!["a b", "c"]),
            ("<table><tr><td><p>a</p><p>b</p></td></tr></table>", vec!["a", "b"]),
            ("<ul><li>a<li>b</ul><script>x</script><svg><text>y</text></svg>", vec!["a", "b"]),
            ("<p><time>10 May</time></p><p>It began on <time>10 May</time>.</p>", vec!["It began on 10 May."]),
            ("<p>It fell.<span class=share-count>12</span></p>", vec!["It fell."]),
        ] {
            assert_eq!(lines(html), expected, "{html}");
        }
    }
}
