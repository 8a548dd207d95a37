//! Distinguishes the languages in Cyrillic letters by groups of one to four letters.
//!
//! The model is a multinomial logistic regression. `cyrillic.bin` has a scale (`f32`, little-endian), then one row per
//! hashed group with one weight (`i8`) for each of [`LANGUAGES`]. `training/languages.py` learns it from runs of one to
//! eight words, more of them Russian and Ukrainian, which most items are in.
//!
//! To add a language: its code at the same place here and in `training/languages.py`, and sentences for the training.

/// In the order of the columns.
pub(super) const LANGUAGES: [&str; 12] = ["ru", "uk", "be", "bg", "mk", "sr", "kk", "mn", "tg", "ky", "tt", "uz"];

static TABLE: &[u8] = include_bytes!("cyrillic.bin");
const SCALE_BYTES: usize = size_of::<f32>();
const ROWS: usize = (TABLE.len() - SCALE_BYTES) / LANGUAGES.len();

const MAX_GROUP: usize = 4;

/// Nats for Russian and Ukrainian, which most items are in. It decides single names.
const FREQUENT_PRIOR: f64 = 0.5;
/// Nats for the stated language. It decides if two languages are about equally likely.
const STATED_PRIOR: f64 = 2.0;

/// Returns the likeliest language of normalised words and its probability.
pub(super) fn likeliest(words: &[String], stated: Option<&str>) -> (&'static str, f64) {
    let mut sums = [0_i32; LANGUAGES.len()];
    let parts = words.iter().flat_map(|word| word.split(|letter: char| !crate::is_cyrillic(letter) && letter != '\''));
    for part in parts.map(|part| part.trim_matches('\'')).filter(|part| !part.is_empty()) {
        add_groups(part, &mut sums);
    }
    let scale = TABLE.first_chunk().map_or(0.0, |bytes| f64::from(f32::from_le_bytes(*bytes)));
    let score = |(sum, code): (&i32, &'static str)| {
        let frequent = if matches!(code, "ru" | "uk") { FREQUENT_PRIOR } else { 0.0 };
        let stated = if stated == Some(code) { STATED_PRIOR } else { 0.0 };
        (f64::from(*sum) * scale + frequent + stated, code)
    };
    let scores: Vec<(f64, &'static str)> = sums.iter().zip(LANGUAGES).map(score).collect();
    // The first of equals, Russian.
    let (best, code) = scores.iter().copied().rev().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, "ru"));
    (code, 1.0 / scores.iter().map(|(score, _)| (score - best).exp()).sum::<f64>())
}

/// Adds the weights of a word's groups, with its edges as spaces.
fn add_groups(word: &str, sums: &mut [i32]) {
    let letters: Vec<u32> = [' '].into_iter().chain(word.chars()).chain([' ']).map(u32::from).collect();
    for start in 0..letters.len() {
        // FNV-1a over code points.
        let mut hash = 0x811C_9DC5_u32;
        for letter in letters.iter().skip(start).take(MAX_GROUP) {
            hash = (hash ^ letter).wrapping_mul(0x0100_0193);
            let row = (hash ^ (hash >> 15)) as usize % ROWS;
            let weights = TABLE.iter().skip(SCALE_BYTES + row * LANGUAGES.len());
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += i32::from(weight.cast_signed());
            }
        }
    }
}
