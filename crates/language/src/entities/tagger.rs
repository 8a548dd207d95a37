//! Finds people, places and organisations in Russian and Ukrainian text with a network trained on news.
//!
//! It is `slovnet`: word vectors and shapes, three convolutions of one word to each side, and tag transitions.
//! `models/slovnet-names/ORIGIN.md` lists its sources and names the script that wrote its file.

mod bytes;
mod network;
mod shape;
mod vectors;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use self::network::{Network, TAGS};
use self::vectors::Vectors;
use super::kind::EntityKind;
use crate::{cut, tokens};

/// Byte range of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: EntityKind,
}

/// Pieces (words and marks) per call, each some kilobytes. Longer sentences take several windows.
const WINDOW: usize = 256;
/// Each piece is tagged by a window with half of this on both sides. The network sees three words to each side.
const OVERLAP: usize = 32;
/// Pieces per sentence, about ten pages; at 0.1 ms each, a text without full stops must not take seconds.
const MAX_PIECES: usize = 4_096;
/// Cached sentences per generation; one text is read several times.
const MAX_CACHED: usize = 4096;
/// Bytes; thousands of pages without full stops would fill the memory.
const MAX_CACHED_BYTES: usize = 2_000;

struct Tagger {
    vectors: Vectors,
    network: Network,
}

static TAGGER: LazyLock<Option<Tagger>> = LazyLock::new(|| {
    let mut bytes: &'static [u8] = include_bytes!("../../../../models/slovnet-names/model.bin");
    let vectors = Vectors::read(&mut bytes)?;
    let network = Network::read(&mut bytes)?;
    bytes.is_empty().then_some(Tagger { vectors, network })
});

/// Two generations of cached names.
#[derive(Default)]
struct TagCache {
    newer: HashMap<String, Arc<[Span]>>,
    older: HashMap<String, Arc<[Span]>>,
}

/// Russian and Ukrainian; some sentences may be either.
static CACHES: LazyLock<[Mutex<TagCache>; 2]> = LazyLock::new(Default::default);

/// Returns the names in order, without overlaps.
pub(super) fn tagged(sentence: &str, is_ukrainian: bool) -> Arc<[Span]> {
    let [russian, ukrainian] = &*CACHES;
    let cache = if is_ukrainian { ukrainian } else { russian };
    let generations = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(spans) = generations.newer.get(sentence).or_else(|| generations.older.get(sentence)) {
        return Arc::clone(spans);
    }
    drop(generations);
    let spans: Arc<[Span]> =
        TAGGER.as_ref().map(|tagger| tagger.spans(sentence, is_ukrainian)).unwrap_or_default().into();
    if sentence.len() > MAX_CACHED_BYTES {
        return spans;
    }
    let mut generations = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if generations.newer.len() >= MAX_CACHED {
        generations.older = std::mem::take(&mut generations.newer);
    }
    generations.newer.insert(sentence.to_owned(), Arc::clone(&spans));
    spans
}

/// Whether the word has a vector, so that more than capitals decides.
pub(super) fn has_vector(word: &str, is_ukrainian: bool) -> bool {
    TAGGER.as_ref().is_some_and(|tagger| tagger.vectors.place(&shape::small(word), is_ukrainian).is_some())
}

impl Tagger {
    fn spans(&self, sentence: &str, is_ukrainian: bool) -> Vec<Span> {
        let pieces = pieces(sentence);
        let mut tags = Vec::with_capacity(pieces.len());
        let mut begin = 0;
        loop {
            let end = (begin + WINDOW).min(pieces.len());
            let own = self.tags(pieces.get(begin..end).unwrap_or_default(), sentence, is_ukrainian);
            // The previous window tagged the first half of the overlap.
            let known = tags.len() - begin;
            let is_last = end == pieces.len();
            let kept = if is_last { own.len() } else { own.len() - OVERLAP / 2 };
            tags.extend(own.into_iter().take(kept).skip(known));
            if is_last {
                return joined(&pieces, &tags);
            }
            begin += WINDOW - OVERLAP;
        }
    }

    fn tags(&self, pieces: &[(usize, usize)], sentence: &str, is_ukrainian: bool) -> Vec<usize> {
        let mut input = Vec::with_capacity(pieces.len() * network::INPUT);
        for (start, end) in pieces {
            let piece = cut(sentence, *start, *end);
            self.vectors.push(self.vectors.place(&shape::small(piece), is_ukrainian), &mut input);
            self.network.push_shape(shape::of(piece), &mut input);
        }
        self.network.tags(input)
    }
}

/// Words and marks in bytes; "Нью-Йорк" is one.
fn pieces(sentence: &str) -> Vec<(usize, usize)> {
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for (start, end) in tokens::spans(sentence) {
        let between = cut(sentence, at, start);
        match pieces.last_mut() {
            Some(last) if last.1 == at && matches!(between, "-" | "‑") => last.1 = end,
            _ => {
                marks(between, at, &mut pieces);
                pieces.push((start, end));
            }
        }
        at = end;
    }
    marks(cut(sentence, at, sentence.len()), at, &mut pieces);
    pieces.truncate(MAX_PIECES);
    pieces
}

/// Adds marks; a repeated one is one piece ("...").
fn marks(between: &str, offset: usize, pieces: &mut Vec<(usize, usize)>) {
    let mut last: Option<char> = None;
    for (index, mark) in between.char_indices() {
        let end = offset + index + mark.len_utf8();
        match pieces.last_mut() {
            Some(piece) if last == Some(mark) && !mark.is_whitespace() => piece.1 = end,
            _ if !mark.is_whitespace() => pieces.push((offset + index, end)),
            _ => {}
        }
        last = Some(mark);
    }
}

/// Joins tags to ranges; a begin tag or another kind begins a new one.
fn joined(pieces: &[(usize, usize)], tags: &[usize]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open = false;
    for (&(start, end), &tag) in pieces.iter().zip(tags) {
        let Some((begins, kind)) = TAGS.get(tag).copied().flatten() else {
            open = false;
            continue;
        };
        match spans.last_mut() {
            Some(span) if open && !begins && span.kind == kind => span.end = end,
            _ => spans.push(Span { start, end, kind }),
        }
        open = true;
    }
    spans
}

#[cfg(test)]
mod tests;
