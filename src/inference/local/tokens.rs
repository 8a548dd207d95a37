//! Texts to token ids, singly and in pairs.

use std::fmt;

use tokenizers::{Encoding, Tokenizer, TruncationDirection};

use crate::inference::folder::{ModelError, ModelFolder};
use crate::language::tokens::unstressed;

/// Characters of a text that are looked at per token of the longest input. Words of real languages have fewer; what lies
/// behind would be cut off anyway, and a text of megabytes must not be tokenised for its first line.
const CHARS_PER_TOKEN: usize = 32;

/// What tokenizers call a piece they do not know.
const UNKNOWN: [&str; 3] = ["[UNK]", "<unk>", "<|unknown|>"];

/// One row for a model. Both vectors are of one length, at least 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) ids: Vec<u32>,
    /// 0 for the first text and its marks, 1 for the second, as the tokenizer says.
    pub(super) types: Vec<u32>,
}

/// A model's tokenizer with the model's limit.
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
    /// # Errors
    /// [`ModelError::Tokenizer`] for a file that is none, [`ModelError::File`] and [`ModelError::Checksum`].
    pub(super) fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let file = folder.manifest.tokenizer.as_str();
        let refused =
            |detail: String| ModelError::Tokenizer { location: folder.location(), file: file.to_owned(), detail };
        let mut tokenizer = Tokenizer::from_bytes(folder.content(file)?).map_err(|error| refused(error.to_string()))?;
        // Limits and padding of the file are its trainer's; ours are the manifest's, and a pair is cut by our own rule.
        tokenizer.with_truncation(None).map_err(|error| refused(error.to_string()))?;
        tokenizer.with_padding(None);
        let unknown = UNKNOWN.iter().find_map(|piece| tokenizer.token_to_id(piece));
        Ok(Self { tokenizer, max_length: folder.manifest.max_length, unknown })
    }

    /// A text as one row; `None` when the tokenizer knows nothing of it.
    pub(super) fn single(&self, text: &str) -> Result<Option<Tokens>, String> {
        let mut encoding = self.pieces(text)?;
        if self.is_unknown(&encoding) {
            return Ok(None);
        }
        shorten(&mut encoding, self.room(false));
        self.row(encoding, None).map(Some)
    }

    /// A claim and a passage as one row, in the order the model wants; `None` when the tokenizer knows nothing of one of
    /// them. What is too long is cut from the passage's end: the claim stays whole up to half of the room.
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

    /// A row of that many tokens, the last of them the highest of the vocabulary: the longest input and the largest id
    /// that can come.
    pub(super) fn extreme(&self, length: usize) -> Result<Tokens, String> {
        let highest = u32::try_from(self.tokenizer.get_vocab_size(true).saturating_sub(1)).unwrap_or(u32::MAX);
        let mut ids = self.row(self.pieces("")?, None)?.ids;
        ids.resize(length, highest);
        Ok(Tokens { types: vec![0; ids.len()], ids })
    }

    /// The text's own tokens, without marks. A vocabulary that was made of unstressed text knows no word with a stress mark.
    fn pieces(&self, text: &str) -> Result<Encoding, String> {
        let most = self.max_length.saturating_mul(CHARS_PER_TOKEN);
        let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
        // No offsets are asked of an encoding, so that its text may be another than the one handed in.
        let plain = unstressed(text.get(..end).unwrap_or(text));
        self.tokenizer.encode_fast(plain.as_ref(), false).map_err(|error| error.to_string())
    }

    /// Whether there is no token in it that means anything.
    fn is_unknown(&self, encoding: &Encoding) -> bool {
        encoding.get_ids().iter().all(|id| Some(*id) == self.unknown)
    }

    /// Tokens that are left beside the marks.
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
        // What was cut off is kept by the tokenizer for question answering; marks would be put around it as well.
        drop(encoding.take_overflowing());
    }
}
