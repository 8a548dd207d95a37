//! An embedder without a model: signed feature hashing of stems, word pairs and letter groups.
//!
//! Common words, or names in two alphabets, give similar vectors. Paraphrases do not.

use crate::{tokens, transliterate};

/// The dimension of common small sentence models, so that both fit one column.
pub const DEFAULT_DIMENSION: usize = 384;

/// Weights of a word, a pair of neighbours and a letter group, which matches inflections and transliterations.
const WORD: f32 = 1.0;
const PAIR: f32 = 0.45;
const LETTERS: f32 = 0.22;

/// Weight of a number, often the only difference between claims.
const NUMBER: f32 = 1.3;

/// Positions per feature, for a smooth cosine of short texts.
const SPREAD_WORD: u32 = 6;
const SPREAD_LETTERS: u32 = 2;

const GROUP: usize = 4;

/// Words read; more cost time and hardly change the direction.
const MAX_WORDS: usize = 400;

/// Hashes texts to unit vectors, equal on every machine.
#[derive(Debug, Clone)]
pub struct HashedEmbedder {
    dimension: usize,
}

impl Default for HashedEmbedder {
    fn default() -> Self {
        Self::new(DEFAULT_DIMENSION)
    }
}

impl HashedEmbedder {
    /// Uses at least 16 dimensions.
    pub fn new(dimension: usize) -> Self {
        Self { dimension: dimension.max(16) }
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns a unit vector; zeros without words.
    pub fn embed_one(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0f32; self.dimension];
        let mut previous: Option<u64> = None;
        let mut groups: Vec<u64> = Vec::with_capacity(64);
        for token in tokens::tokens(text, None).iter().take(MAX_WORDS) {
            if token.stop {
                continue;
            }
            let latin;
            let stem = if token.stem.is_ascii() {
                token.stem.as_str()
            } else {
                latin = transliterate::to_latin(&token.stem).to_lowercase();
                latin.as_str()
            };
            let word = hash(stem.bytes(), 1);
            let weight = if token.number { NUMBER } else { WORD * length_weight(stem) };
            self.add(&mut vector, word, weight, SPREAD_WORD);
            if let Some(before) = previous {
                self.add(&mut vector, mix(before.rotate_left(17) ^ word), PAIR, SPREAD_WORD);
            }
            previous = Some(word);
            if !token.number {
                letter_groups(stem, &mut groups);
                for group in groups.drain(..) {
                    self.add(&mut vector, group, LETTERS, SPREAD_LETTERS);
                }
            }
        }
        normalise(&mut vector);
        vector
    }

    /// Adds a feature at its hashed positions and signs.
    fn add(&self, vector: &mut [f32], feature: u64, weight: f32, spread: u32) {
        let share = weight / (spread as f32).sqrt();
        let mut state = feature;
        for _ in 0..spread {
            state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            let position = (state >> 1) as usize % self.dimension;
            if let Some(slot) = vector.get_mut(position) {
                *slot += if state & 1 == 0 { share } else { -share };
            }
        }
    }
}

/// Returns 0.6–1: length replaces rarity.
fn length_weight(word: &str) -> f32 {
    0.6 + 0.4 * (word.len().min(8) as f32 / 8.0)
}

/// Collects letter groups with marked edges.
fn letter_groups(word: &str, groups: &mut Vec<u64>) {
    let bytes = word.as_bytes();
    if bytes.len() < GROUP {
        return;
    }
    groups.extend(bytes.windows(GROUP).map(|window| hash(window.iter().copied(), 2)));
    // Inflection keeps the beginning.
    groups.push(hash(bytes.iter().copied().take(GROUP), 3));
}

/// Computes FNV-1a; `kind` separates words and groups.
fn hash(bytes: impl Iterator<Item = u8>, kind: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The finaliser of splitmix64.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in vector {
            *value /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let embedder = HashedEmbedder::default();
        embedder.embed_one(a).iter().zip(embedder.embed_one(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn nearer_texts_have_the_larger_cosine() {
        let claim = "The bridge over the Dnipro in Kyiv reopened on Monday.";
        let same = cosine(claim, "On Monday the Kyiv bridge over the Dnipro was reopened.");
        let near = cosine(claim, "The bridge in Kyiv will stay closed, the mayor said.");
        let far = cosine(claim, "Shares of the chip maker fell after weak quarterly results.");
        assert!(same > 0.6, "{same}");
        assert!(same > near + 0.15 && near > far + 0.05, "{same} {near} {far}");
        assert!(far.abs() < 0.2, "{far}");
    }

    #[test]
    fn a_name_in_another_alphabet_is_near() {
        let across = cosine("Владимир Зеленский", "Vladimir Zelenskiy");
        let apart = cosine("Владимир Зеленский", "Emmanuel Macron");
        assert!(across > apart + 0.3, "{across} {apart}");
    }

    #[test]
    fn a_text_without_words_is_all_zeros() {
        assert!(HashedEmbedder::default().embed_one(" … !").iter().all(|value| *value == 0.0));
    }

    #[test]
    fn short_texts_are_dense_enough() {
        let filled = HashedEmbedder::default().embed_one("Kyiv bridge").iter().filter(|value| **value != 0.0).count();
        assert!(filled >= 20, "{filled}");
    }

    proptest! {
        #[test]
        fn vectors_have_the_dimension_and_unit_length(text in "\\PC{0,200}", dimension in 16usize..512) {
            let vector = HashedEmbedder::new(dimension).embed_one(&text);
            prop_assert_eq!(vector.len(), dimension);
            let length: f32 = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            prop_assert!(length.abs() < 1e-6 || (length - 1.0).abs() < 1e-4);
        }
    }
}
