//! Function words that several modules use.

use super::lexicon::Words;

/// "And" between two items.
pub(crate) static AND: Words = Words::of("grammar.and");

/// "And", with the short Ukrainian form after a vowel.
pub(crate) static AND_OR_Y: Words = Words::of("grammar.and_or_y");

pub(crate) static BETWEEN: Words = Words::of("grammar.between");
