//! Static vectors: sums of word-piece vectors, without running a network.
//!
//! They take microseconds a text. The pipeline ranks all passages of a page by them, and the embedder reads only the best.

use std::borrow::Cow;
use std::fmt;

use crate::inference::folder::{ModelError, ModelFolder};

/// Bytes of a row's scale.
const SCALE: usize = size_of::<f32>();

/// A row for each word piece: a little-endian scale, then values from −8 to 7 plus 8, two in a byte, the first in the
/// lower half (`training/reader/embedder.py`).
#[derive(Clone)]
pub(super) struct StaticVectors {
    table: Cow<'static, [u8]>,
    row: usize,
}

impl fmt::Debug for StaticVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticVectors").field("row", &self.row).finish_non_exhaustive()
    }
}

impl StaticVectors {
    /// Loads the folder's file; `None` if the manifest names none.
    ///
    /// # Errors
    /// [`ModelError::File`], [`ModelError::Checksum`], or [`ModelError::Vocabulary`] if the file does not have a row for
    /// each of the tokenizer's `pieces`.
    pub(super) fn load(folder: &ModelFolder, pieces: usize) -> Result<Option<Self>, ModelError> {
        let Some(file) = folder.manifest.static_vectors.as_deref() else { return Ok(None) };
        let table = folder.content(file)?;
        let row = table.len() / pieces.max(1);
        if row <= SCALE || row * pieces != table.len() {
            let detail = format!("{file} has {} bytes, which are no equal rows for {pieces} word pieces", table.len());
            return Err(ModelError::Vocabulary { location: folder.location(), detail });
        }
        Ok(Some(Self { table, row }))
    }

    /// Returns the unit-length sum of the pieces' rows; zeros without a known piece.
    pub(super) fn vector(&self, pieces: &[u32]) -> Vec<f32> {
        let mut sum = vec![0.0_f32; (self.row - SCALE) * 2];
        for piece in pieces {
            let start = usize::try_from(*piece).unwrap_or(usize::MAX).saturating_mul(self.row);
            let Some((scale, values)) =
                self.table.get(start..).and_then(|rest| rest.get(..self.row)?.split_first_chunk())
            else {
                continue;
            };
            let scale = f32::from_le_bytes(*scale);
            for (pair, byte) in sum.chunks_exact_mut(2).zip(values) {
                for (value, half) in pair.iter_mut().zip([byte & 15, byte >> 4]) {
                    *value += scale * (f32::from(half) - 8.0);
                }
            }
        }
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            for value in &mut sum {
                *value /= length;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_scaled_and_summed() {
        let row = |scale: f32, values: [u8; 2]| [scale.to_le_bytes().as_slice(), &values].concat();
        // Values 1, 0 | 0, 2 and 0, 0 | 3, 0.
        let table = [row(0.5, [0x89, 0xA8]), row(2.0, [0x88, 0x8B])].concat();
        let vectors = StaticVectors { table: Cow::Owned(table), row: 6 };
        // (0.5, 0, 6, 1), an unknown piece adds nothing.
        let length = (0.25_f32 + 36.0 + 1.0).sqrt();
        let expected = [0.5, 0.0, 6.0, 1.0].map(|value| value / length);
        assert!(vectors.vector(&[0, 1, 7]).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
        assert!(vectors.vector(&[]).iter().all(|value| *value == 0.0));
    }
}
