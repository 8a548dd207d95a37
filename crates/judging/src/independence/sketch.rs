//! Near-identical texts: a sample of the shorter text's word shingles is looked up in the longer one, so that two pages
//! are compared in some thousand steps whatever their length.

/// Words per shingle. Five in a row are rarely the same by accident, and survive a changed headline.
const SHINGLE: usize = 5;

/// Shingles of the shorter text that are looked up: an error of about 4 % on the shared share.
const DRAWN: usize = 128;

/// A text with fewer shingles than this says too little to be called a copy of anything.
const FEWEST: usize = 6;

/// Fewer words than this may be the same by chance ("Rain in Kyiv").
const FEWEST_WORDS: usize = 4;

/// The same of an item: what it says in a sentence others may well say in its words. One of fewer shingles is repeated only
/// where every word of it stands in that order, and under eight (a dozen words) not even then.
const FEWEST_OF_ITEM: usize = 20;
const FEWEST_OF_SHORT_ITEM: usize = 8;

/// Share of the shorter text found in the longer from which the two are one. Half: of real reprints (`tests/data/reports.tsv`)
/// an edited one keeps a little more than that, while real reports of one event share a seventh at most.
const COPIED_SHARE: f64 = 0.5;

/// Under so many shingles half is one turn of phrase, and that share is asked for.
const SHORT: usize = 24;
const COPIED_SHARE_OF_SHORT: f64 = 2.0 / 3.0;

/// The shingle hashes of a text, sorted, each once. Sorted by a mixed hash, so the first ones are a fair draw, and the
/// same draw whatever else the text holds.
#[derive(Debug)]
pub(super) struct Sketch {
    hashes: Vec<u64>,
    /// Of all its words in order, where they are enough to be one text with another of the same.
    whole: Option<u64>,
    /// An item's sentence, which another text repeats wholly or not at all.
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
        let mut hashes: Vec<u64> = words.windows(SHINGLE).map(shingle).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let whole = (words.len() >= FEWEST_WORDS).then(|| shingle(&words));
        Self { hashes, whole, is_sentence: false }
    }

    /// Of a text that is to be corroborated: one that is too short to be quoted is like no other.
    pub(super) fn of_item(text: &str) -> Self {
        let sketch = Self::new(text);
        match sketch.hashes.len() {
            FEWEST_OF_ITEM.. => sketch,
            FEWEST_OF_SHORT_ITEM.. => Self { whole: None, is_sentence: true, ..sketch },
            _ => Self { hashes: Vec::new(), whole: None, is_sentence: true },
        }
    }

    /// True if one text repeats the other, wholly or as an excerpt.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        // A headline of five words is no sample of anything, and the same headline is the same text.
        if self.whole.is_some() && self.whole == other.whole {
            return true;
        }
        // Of two texts of one length either may be drawn from, and must be so in both directions.
        let shorter_first = (self.hashes.len(), &self.hashes) <= (other.hashes.len(), &other.hashes);
        let (shorter, longer) = if shorter_first { (self, other) } else { (other, self) };
        if shorter.hashes.len() < FEWEST {
            return false;
        }
        let sentence = [self, other].into_iter().find(|sketch| sketch.is_sentence);
        if let Some(sentence) = sentence {
            return std::ptr::eq(sentence, shorter)
                && sentence.hashes.iter().all(|hash| longer.hashes.binary_search(hash).is_ok());
        }
        let drawn = shorter.hashes.get(..DRAWN).unwrap_or(&shorter.hashes);
        let found = drawn.iter().filter(|hash| longer.hashes.binary_search(hash).is_ok()).count();
        let wanted = if shorter.hashes.len() < SHORT { COPIED_SHARE_OF_SHORT } else { COPIED_SHARE };
        found as f64 / drawn.len() as f64 >= wanted
    }
}

/// Start and multiplier of the FNV-1a hash.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// One step of FNV-1a over a character.
fn step(hash: u64, c: char) -> u64 {
    (hash ^ u64::from(c)).wrapping_mul(PRIME)
}

/// Spreads a hash over all its bits (the finaliser of splitmix64), so that "smallest" is a fair draw.
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
