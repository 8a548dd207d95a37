//! Function words that several readers ask for: what joins two of a kind, what opens a pair.

use super::lexicon::Words;

/// "And" between two of a kind.
pub(crate) static AND: Words = Words::of("grammar.and");

/// "And", with the short form that Ukrainian has behind a vowel.
pub(crate) static AND_OR_Y: Words = Words::of("grammar.and_or_y");

/// "Between", before two ends.
pub(crate) static BETWEEN: Words = Words::of("grammar.between");
