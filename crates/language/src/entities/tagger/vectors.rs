//! Quantised `navec` vectors of the most frequent words: 100 codes each, a code is an index of three numbers.

use super::bytes::{count, floats, take};
use crate::lemmas;

const CODES: usize = 100;
/// Numbers per code.
const CHUNK: usize = 3;
/// Numbers per word vector.
pub(super) const WIDTH: usize = CODES * CHUNK;
/// Values of a code, which is one byte.
const CENTROIDS: usize = 256;

pub(super) struct Vectors {
    /// Sorted hashes, four bytes each.
    hashes: &'static [[u8; 4]],
    /// [`CODES`] per word; last the unknown word.
    codes: &'static [u8],
    /// Sorted hashes, and the index of the Russian word.
    ukrainian: &'static [[u8; 4]],
    meant: &'static [[u8; 4]],
    /// [`CODES`] × [`CENTROIDS`] × [`CHUNK`].
    table: Vec<f32>,
}

impl Vectors {
    pub(super) fn read(bytes: &mut &'static [u8]) -> Option<Self> {
        let words = count(bytes)?;
        let hashes = take(bytes, words * 4)?.as_chunks().0;
        let codes = take(bytes, (words + 1) * CODES)?;
        let words = count(bytes)?;
        let ukrainian = take(bytes, words * 4)?.as_chunks().0;
        let meant = take(bytes, words * 4)?.as_chunks().0;
        Some(Self { hashes, codes, ukrainian, meant, table: floats(bytes, CODES * CENTROIDS * CHUNK)? })
    }

    /// Returns the index of a lower-case word. Ukrainian words use the Russian equivalent of themselves or their
    /// dictionary form, or their Russian spelling.
    pub(super) fn place(&self, word: &str, is_ukrainian: bool) -> Option<usize> {
        if !is_ukrainian {
            return place(self.hashes, word);
        }
        self.place_of_ukrainian(word)
            .or_else(|| place(self.hashes, &as_russian(word)))
            .or_else(|| self.place_of_ukrainian(&lemmas::lemma(word, true)?))
    }

    /// Appends the vector, else the unknown word's.
    pub(super) fn push(&self, place: Option<usize>, input: &mut Vec<f32>) {
        let from = place.unwrap_or(self.hashes.len()) * CODES;
        for (at, code) in self.codes.iter().skip(from).take(CODES).enumerate() {
            let begin = (at * CENTROIDS + usize::from(*code)) * CHUNK;
            input.extend(self.table.iter().skip(begin).take(CHUNK));
        }
    }

    fn place_of_ukrainian(&self, word: &str) -> Option<usize> {
        let found = place(self.ukrainian, word)?;
        usize::try_from(u32::from_le_bytes(*self.meant.get(found)?)).ok()
    }
}

fn place(hashes: &[[u8; 4]], word: &str) -> Option<usize> {
    let hash = hashed(word);
    hashes.binary_search_by_key(&hash, |bytes| u32::from_le_bytes(*bytes)).ok()
}

/// Spells a word in Russian letters; many differ only in those.
fn as_russian(word: &str) -> String {
    let letters: String = word
        .chars()
        .map(|letter| match letter {
            'і' | 'ї' => 'и',
            'є' => 'е',
            'ґ' => 'г',
            '\'' => 'ъ',
            other => other,
        })
        .collect();
    ["с", "з", "ц"].iter().fold(letters, |word, letter| word.replace(&format!("{letter}ьк"), &format!("{letter}к")))
}

/// The upper half of FNV-1a 64 of the word in UTF-8: its hash in the file.
fn hashed(word: &str) -> u32 {
    let value = word
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |value, byte| (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    u32::try_from(value >> 32).unwrap_or_default()
}
