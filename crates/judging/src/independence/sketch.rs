//! Finds near-identical texts: searches a sample of the shorter text's word shingles in the longer one, in a few
//! thousand steps.

/// Words. Five are rarely equal by accident and survive a changed headline.
const SHINGLE_WORDS: usize = 5;

/// Number of sampled shingles: an error of about 4 % on the shared share.
const SAMPLE_SIZE: usize = 128;

/// Minimum for a copy.
const MIN_SHINGLES: usize = 6;

/// Minimum words, because fewer may be equal by chance ("Rain in Kyiv").
const MIN_WORDS: usize = 4;

/// Minimum for an item, whose sentence others may write too. Shorter items need all words in order, and at least eight
/// shingles (a dozen words).
const MIN_ITEM_SHINGLES: usize = 20;
const MIN_SHORT_ITEM_SHINGLES: usize = 8;

/// Minimum share for a copy. An edited reprint in `tests/data/reports.tsv` keeps slightly more; reports of one event
/// share at most a seventh.
const MIN_COPIED_SHARE: f64 = 0.5;

/// In a shorter text half is one phrase, so the larger share applies.
const MIN_LONG_TEXT_SHINGLES: usize = 24;
const MIN_COPIED_SHARE_OF_SHORT: f64 = 2.0 / 3.0;

/// Distinct shingle hashes, sorted by a mixed hash, so the first are a fair and stable sample.
#[derive(Debug)]
pub(super) struct Sketch {
    hashes: Vec<u64>,
    /// Hash of all words in order, if there are enough.
    whole: Option<u64>,
    /// An item's sentence: repeated wholly or not.
    is_sentence: bool,
}

impl Sketch {
    pub(super) fn new(text: &str) -> Self {
        let words: Vec<u64> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| word.chars().flat_map(char::to_lowercase).fold(OFFSET, step))
            .collect();
        let shingle = |window: &[u64]| {
            mix(window.iter().fold(OFFSET, |hash, word| (hash ^ word).wrapping_mul(PRIME).rotate_left(23)))
        };
        let mut hashes: Vec<u64> = words.windows(SHINGLE_WORDS).map(shingle).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let whole = (words.len() >= MIN_WORDS).then(|| shingle(&words));
        Self { hashes, whole, is_sentence: false }
    }

    /// A too short text equals no other.
    pub(super) fn of_item(text: &str) -> Self {
        let sketch = Self::new(text);
        match sketch.hashes.len() {
            MIN_ITEM_SHINGLES.. => sketch,
            MIN_SHORT_ITEM_SHINGLES.. => Self { whole: None, is_sentence: true, ..sketch },
            _ => Self { hashes: Vec::new(), whole: None, is_sentence: true },
        }
    }

    /// Whether one text repeats the other, also as an excerpt.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        // Too short to sample, but equal.
        if self.whole.is_some() && self.whole == other.whole {
            return true;
        }
        // A fixed order for equal lengths keeps symmetry.
        let shorter_first = (self.hashes.len(), &self.hashes) <= (other.hashes.len(), &other.hashes);
        let (shorter, longer) = if shorter_first { (self, other) } else { (other, self) };
        if shorter.hashes.len() < MIN_SHINGLES {
            return false;
        }
        let sentence = [self, other].into_iter().find(|sketch| sketch.is_sentence);
        if let Some(sentence) = sentence {
            return std::ptr::eq(sentence, shorter)
                && sentence.hashes.iter().all(|hash| longer.hashes.binary_search(hash).is_ok());
        }
        let drawn = shorter.hashes.get(..SAMPLE_SIZE).unwrap_or(&shorter.hashes);
        let found = drawn.iter().filter(|hash| longer.hashes.binary_search(hash).is_ok()).count();
        let required =
            if shorter.hashes.len() < MIN_LONG_TEXT_SHINGLES { MIN_COPIED_SHARE_OF_SHORT } else { MIN_COPIED_SHARE };
        found as f64 / drawn.len() as f64 >= required
    }
}

/// Constants of FNV-1a.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn step(hash: u64, c: char) -> u64 {
    (hash ^ u64::from(c)).wrapping_mul(PRIME)
}

/// Finaliser of splitmix64, for a fair sample.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(from: usize, to: usize) -> String {
        (from..to).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn long_copies_and_long_excerpts_are_found() {
        let whole = Sketch::new(&numbered(0, 6000));
        assert!(whole.is_copy_of(&Sketch::new(&numbered(600, 6600))), "nine tenths in common");
        assert!(Sketch::new(&numbered(2000, 3000)).is_copy_of(&whole), "a sixth of the page, word for word");
        assert!(!Sketch::new(&numbered(5000, 11000)).is_copy_of(&whole), "a sixth in common");
        assert!(!Sketch::new(&numbered(9000, 15000)).is_copy_of(&whole));
    }

    #[test]
    fn a_sentence_of_a_long_page_is_found() {
        let page = Sketch::new(&numbered(0, 6000));
        assert!(Sketch::new(&numbered(3000, 3020)).is_copy_of(&page));
        assert!(!Sketch::new(&numbered(7000, 7020)).is_copy_of(&page));
    }

    #[test]
    fn an_edited_copy_is_one_and_a_turn_of_phrase_is_none() {
        let edited = Sketch::new(&format!("{} and {}", numbered(0, 60), numbered(900, 940)));
        assert!(edited.is_copy_of(&Sketch::new(&numbered(0, 400))), "three fifths of a hundred words");
        let quoting = Sketch::new(&format!("{} and {}", numbered(0, 30), numbered(900, 970)));
        assert!(!quoting.is_copy_of(&Sketch::new(&numbered(0, 400))), "a quotation of thirty words");
        let short = Sketch::new(&format!("{} and {}", numbered(0, 12), numbered(900, 904)));
        assert!(!short.is_copy_of(&Sketch::new(&numbered(0, 400))), "twelve words of seventeen");
    }

    #[test]
    fn a_few_words_are_no_copy() {
        let shared = Sketch::new("he said on Monday that it rained");
        assert!(!shared.is_copy_of(&Sketch::new("he said on Monday that she left")));
        let headline = "Mayor of Odesa resigns after corruption probe";
        assert!(
            Sketch::new(headline).is_copy_of(&Sketch::new(&format!("{headline}."))),
            "the same headline is one text"
        );
        assert!(!Sketch::new("Rain in Kyiv").is_copy_of(&Sketch::new("Rain in Kyiv")), "anyone writes that");
    }

    proptest! {
        #[test]
        fn copying_is_mutual(a in "[a-d ]{0,80}", b in "[a-d ]{0,80}") {
            let (a, b) = (Sketch::new(&a), Sketch::new(&b));
            prop_assert_eq!(a.is_copy_of(&b), b.is_copy_of(&a));
        }
    }
}
