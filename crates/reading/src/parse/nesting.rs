//! Drops tags that nest too deep or are never closed, but no text. Old pages leave hundreds of `<font>` and `<b>` open,
//! and the parser reopens them in every later block.
//!
//! The estimate of open elements is made for broken pages. Pages that deceive it exceed their steps ([`super::sink`]).

use html5ever::tokenizer::{Tag, TagKind};

use crate::work::Work;

/// Browsers allow 512 levels; normal pages have fewer than 100.
const MAX_DEPTH: usize = 256;
/// The parser reopens formatting tags of closed blocks in every later block.
const MAX_DANGLING: usize = 24;
const MAX_FORMATTING: usize = 64;

/// Estimate of the parser's open elements.
#[derive(Default)]
pub(super) struct Scan {
    open: Vec<OpenElement>,
    /// Formatting tags whose block was closed first.
    dangling: usize,
    formatting: usize,
    foreign: usize,
}

struct OpenElement {
    hash: u64,
    rank: u8,
    kind: Kind,
    kept: bool,
}

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Formatting,
    /// A new one closes the previous one.
    Alone,
    Foreign,
    Other,
}

impl Scan {
    /// Records a tag; false if it must be dropped.
    pub(super) fn keep(&mut self, tag: &Tag, work: &Work) -> bool {
        let name = &*tag.name;
        // The search takes time proportional to the open elements.
        work.spend(1 + self.open.len() / 8);
        if tag.kind == TagKind::EndTag {
            return self.close(name_hash(name), name);
        }
        if is_void(name) || (is_raw(name) && self.foreign == 0) || (tag.self_closing && self.foreign > 0) {
            return true;
        }
        let rank = if self.foreign > 0 { 0 } else { rank(name) };
        // The parser closes these itself: a paragraph in a paragraph, a cell in a cell.
        while rank > 0 && self.open.last().is_some_and(|top| top.rank >= rank) {
            self.open.pop();
        }
        let kind = kind(name);
        if kind == Kind::Formatting && (self.dangling >= MAX_DANGLING || self.formatting >= MAX_FORMATTING) {
            return false;
        }
        let hash = name_hash(name);
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
        // Closing tags look back no further.
        if self.open.len() < MAX_DEPTH * 2 {
            self.open.push(OpenElement { hash, rank, kind, kept: keep });
        }
        keep
    }

    fn close(&mut self, hash: u64, name: &str) -> bool {
        let Some(position) = self.open.iter().rposition(|open| open.hash == hash) else {
            if kind(name) == Kind::Formatting {
                self.dangling = self.dangling.saturating_sub(1);
            }
            // A closing tag without an opening one does nothing, except that these two open one.
            return !matches!(name, "p" | "br") || self.open.len() < MAX_DEPTH;
        };
        if self.open.get(position).is_some_and(|open| matches!(open.kind, Kind::Formatting | Kind::Alone)) {
            // Misnested formatting closes only itself.
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

/// FNV-1a hash, which is cheaper to store and compare than the name.
pub(super) fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Elements without markup inside, except in drawings and formulas.
fn is_raw(name: &str) -> bool {
    matches!(name, "script" | "style" | "textarea" | "title" | "iframe" | "noembed" | "noframes" | "xmp")
}

/// True for elements that the parser reopens if their block was closed first.
pub(super) fn is_formatting(name: &str) -> bool {
    matches!(name, "a" | "nobr") || kind(name) == Kind::Formatting
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

/// Elements that close their own kind when they open. Higher ranks are inside lower ones.
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
