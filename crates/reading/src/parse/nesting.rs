//! What nests too deep or is never closed is left out before the parser builds it: text is never lost, only tags are. Old
//! pages leave `<font>` and `<b>` open by the hundred, and the parser opens them again in every later block.
//!
//! This is a guess at what the parser holds, made for pages that are broken and not for those that deceive: these end
//! with their steps ([`super::sink`]).

use html5ever::tokenizer::{Tag, TagKind};

use crate::work::Work;

/// Browsers stop at 512 levels; written pages stay under 100.
const MAX_DEPTH: usize = 256;
/// Formatting tags left open in a closed block are opened again by the parser in every later block.
const MAX_DANGLING: usize = 24;
/// Old pages leave `<font>` and `<b>` open by the hundred; their blocks must not pay for it.
const MAX_FORMATTING: usize = 64;

/// The open elements, roughly as the parser will hold them.
#[derive(Default)]
pub(super) struct Scan {
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
    pub(super) fn keep(&mut self, tag: &Tag, work: &Work) -> bool {
        let name = &*tag.name;
        // Looking for a name among the open ones is about as long as there are open ones.
        work.spend(1 + self.open.len() / 8);
        if tag.kind == TagKind::EndTag {
            return self.close(name_hash(name), name);
        }
        if is_void(name) || (is_raw(name) && self.foreign == 0) || (tag.self_closing && self.foreign > 0) {
            return true;
        }
        let rank = if self.foreign > 0 { 0 } else { rank(name) };
        // The parser closes these by itself: a paragraph in a paragraph, a cell in a cell.
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
        // Beyond the limit only as many are remembered as a closing tag looks back.
        if self.open.len() < MAX_DEPTH * 2 {
            self.open.push(Open { hash, rank, kind, kept: keep });
        }
        keep
    }

    fn close(&mut self, hash: u64, name: &str) -> bool {
        let Some(position) = self.open.iter().rposition(|open| open.hash == hash) else {
            if kind(name) == Kind::Formatting {
                self.dangling = self.dangling.saturating_sub(1);
            }
            // Without its opening tag a closing one does nothing, but for these two, which then open one.
            return !matches!(name, "p" | "br") || self.open.len() < MAX_DEPTH;
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

/// FNV-1a over the name: cheaper to keep and compare than the name itself.
pub(super) fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Elements whose content is no markup, outside of drawings and formulas: nothing nests in them.
fn is_raw(name: &str) -> bool {
    matches!(name, "script" | "style" | "textarea" | "title" | "iframe" | "noembed" | "noframes" | "xmp")
}

/// Elements that the parser opens again where their block was closed before them.
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
