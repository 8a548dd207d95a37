//! People, places and organisations in Russian and Ukrainian text, by a network that learnt them from news.
//!
//! It is `slovnet`'s: word vectors and word shapes, three convolutions that look one word to each side, and a table of which tag may
//! follow which. `training/names.py` writes its file, `models/slovnet-names/ORIGIN.md` says from what.

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

/// Part of a sentence that names something, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: EntityKind,
}

/// Words and marks that the network sees at once: each takes some kilobytes. A longer sentence, as a page without full stops is one,
/// is read in windows of so many.
const WINDOW: usize = 256;
/// What two windows share: a word is tagged by its window with at least half of this on either side of it. The network looks three
/// words to each side, and which tag follows which reaches little further.
const OVERLAP: usize = 32;
/// Words and marks of one sentence that are looked at, ten pages of print; what comes behind names nothing. Each takes the network a
/// tenth of a millisecond, and a text without full stops must not take seconds.
const LONGEST: usize = 4_096;
/// Sentences whose names are kept in each of two generations: one text is asked for its names by several readers.
const KEPT: usize = 4096;
/// Bytes of a sentence that is kept: a page without full stops is one sentence, and thousands of those would be the memory.
const KEPT_BYTES: usize = 2_000;

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

/// What sentences were found to name: the newer generation, and the one before it.
#[derive(Default)]
struct Found {
    newer: HashMap<String, Arc<[Span]>>,
    older: HashMap<String, Arc<[Span]>>,
}

/// Those read as Russian, and those read as Ukrainian: a sentence in whose letters both agree may be asked for as either.
static FOUND: LazyLock<[Mutex<Found>; 2]> = LazyLock::new(Default::default);

/// The names of a sentence, in order; none overlaps another.
pub(super) fn tagged(sentence: &str, is_ukrainian: bool) -> Arc<[Span]> {
    let [russian, ukrainian] = &*FOUND;
    let kept = if is_ukrainian { ukrainian } else { russian };
    let found = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(spans) = found.newer.get(sentence).or_else(|| found.older.get(sentence)) {
        return Arc::clone(spans);
    }
    drop(found);
    let spans: Arc<[Span]> =
        TAGGER.as_ref().map(|tagger| tagger.spans(sentence, is_ukrainian)).unwrap_or_default().into();
    if sentence.len() > KEPT_BYTES {
        return spans;
    }
    let mut found = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if found.newer.len() >= KEPT {
        found.older = std::mem::take(&mut found.newer);
    }
    found.newer.insert(sentence.to_owned(), Arc::clone(&spans));
    spans
}

/// Whether the network has a vector of the word, so that more than its capitals speaks for what it says of it.
pub(super) fn knows(word: &str, is_ukrainian: bool) -> bool {
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
            // The window before has tagged the first half of what both see.
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

    /// The tag of each of these pieces, which the network sees and no others.
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

/// Byte ranges of words and marks. Words with a hyphen between them are one: "Нью-Йорк".
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
    pieces.truncate(LONGEST);
    pieces
}

/// The marks of what stands between two words: each is one, repeated ones are one together ("...").
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

/// Tags of pieces as spans: one begins where the tag says so or where the kind changes.
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
