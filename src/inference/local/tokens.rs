//! Converts texts and pairs to token ids.
//!
//! Cuts them to the manifest's length.

use std::fmt;

use tokenizers::{Encoding, Tokenizer, TruncationDirection};

use crate::inference::folder::{ModelError, ModelFolder};
use crate::language::tokens::unstressed;

/// Characters read per token of the limit. Real words are shorter, so the rest would be cut anyway, and megabytes are
/// not tokenised.
const CHARS_PER_TOKEN: usize = 32;

/// Tokenizers' names of the unknown token.
const UNKNOWN: [&str; 3] = ["[UNK]", "<unk>", "<|unknown|>"];

/// One row. Both vectors have the same length, at least 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) ids: Vec<u32>,
    /// 0 for the first text and its special tokens, 1 for the second.
    pub(super) types: Vec<u32>,
}

/// A tokenizer with the model's limit.
pub(super) struct Texts {
    tokenizer: Tokenizer,
    max_length: usize,
    unknown: Option<u32>,
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts").field("max_length", &self.max_length).finish_non_exhaustive()
    }
}

impl Texts {
    /// Loads the tokenizer of a folder.
    ///
    /// # Errors
    /// [`ModelError::Tokenizer`] for an invalid file, [`ModelError::File`] and [`ModelError::Checksum`].
    pub(super) fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let file = folder.manifest.tokenizer.as_str();
        let refused =
            |detail: String| ModelError::Tokenizer { location: folder.location(), file: file.to_owned(), detail };
        let mut tokenizer = Tokenizer::from_bytes(folder.content(file)?).map_err(|error| refused(error.to_string()))?;
        // The manifest has the limits, and pairs are cut by our own rule, so the file's are removed.
        tokenizer.with_truncation(None).map_err(|error| refused(error.to_string()))?;
        tokenizer.with_padding(None);
        let unknown = UNKNOWN.iter().find_map(|piece| tokenizer.token_to_id(piece));
        Ok(Self { tokenizer, max_length: folder.manifest.max_length, unknown })
    }

    /// Returns a text as a row; `None` without a known token.
    pub(super) fn single(&self, text: &str) -> Result<Option<Tokens>, String> {
        let mut encoding = self.pieces(text)?;
        if self.is_unknown(&encoding) {
            return Ok(None);
        }
        shorten(&mut encoding, self.room(false));
        self.row(encoding, None).map(Some)
    }

    /// Returns the ids of a text's pieces, without special ones; none if it cannot be read.
    pub(super) fn piece_ids(&self, text: &str) -> Vec<u32> {
        self.pieces(text).map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
    }

    /// Number of word pieces.
    pub(super) fn vocabulary(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// Returns a claim and a passage as a row; `None` if one has no known token.
    ///
    /// The passage is cut at its end first: the claim keeps up to half of the length.
    pub(super) fn pair(&self, claim: &str, passage: &str, claim_first: bool) -> Result<Option<Tokens>, String> {
        let (mut claim, mut passage) = (self.pieces(claim)?, self.pieces(passage)?);
        if self.is_unknown(&claim) || self.is_unknown(&passage) {
            return Ok(None);
        }
        let room = self.room(true);
        let for_claim = (room / 2).max(room.saturating_sub(passage.len())).min(claim.len());
        shorten(&mut claim, for_claim);
        shorten(&mut passage, room - for_claim);
        let row = if claim_first { self.row(claim, Some(passage)) } else { self.row(passage, Some(claim)) };
        row.map(Some)
    }

    /// Returns a row of `length` tokens with the highest id.
    pub(super) fn extreme(&self, length: usize) -> Result<Tokens, String> {
        let highest = u32::try_from(self.tokenizer.get_vocab_size(true).saturating_sub(1)).unwrap_or(u32::MAX);
        let mut ids = self.row(self.pieces("")?, None)?.ids;
        ids.resize(length, highest);
        Ok(Tokens { types: vec![0; ids.len()], ids })
    }

    /// Returns the text's tokens without special ones. Stress marks are removed, because most vocabularies lack them.
    fn pieces(&self, text: &str) -> Result<Encoding, String> {
        let most = self.max_length.saturating_mul(CHARS_PER_TOKEN);
        let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
        // The offsets are not used, so the text may change.
        let plain = unstressed(text.get(..end).unwrap_or(text));
        self.tokenizer.encode_fast(plain.as_ref(), false).map_err(|error| error.to_string())
    }

    /// Whether every token is unknown.
    fn is_unknown(&self, encoding: &Encoding) -> bool {
        encoding.get_ids().iter().all(|id| Some(*id) == self.unknown)
    }

    /// Returns the tokens left after the special ones.
    fn room(&self, pair: bool) -> usize {
        let marks = self.tokenizer.get_post_processor().map_or(0, |marks| {
            use tokenizers::PostProcessor as _;
            marks.added_tokens(pair)
        });
        self.max_length.saturating_sub(marks)
    }

    fn row(&self, first: Encoding, second: Option<Encoding>) -> Result<Tokens, String> {
        let row = self.tokenizer.post_process(first, second, true).map_err(|error| error.to_string())?;
        if row.is_empty() {
            return Err("the tokenizer made nothing of it".to_owned());
        }
        Ok(Tokens { ids: row.get_ids().to_vec(), types: row.get_type_ids().to_vec() })
    }
}

fn shorten(encoding: &mut Encoding, length: usize) {
    if encoding.len() > length {
        encoding.truncate(length, 0, TruncationDirection::Right);
        // The tokenizer keeps the cut part for question answering and would add special tokens to it.
        drop(encoding.take_overflowing());
    }
}
