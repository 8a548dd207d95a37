//! Reads currencies with a nation: "Cypriot pounds", "канадских долларов".

use crate::lexer::Lexeme;
use crate::lexicon::{self, Values};

/// Currency nouns in all languages.
static NOUNS: Values<&'static str> = Values::of("numbers.money.noun", lexicon::text);

/// Code and noun by nation; Cyrillic adjectives are stems.
static NATIONS: Values<(&'static str, &'static str)> = Values::of("numbers.money.nation", code_and_name);

/// Maximum letters of a case ending.
const NOUN_ENDING: usize = 4;

fn code_and_name(value: &'static str) -> Option<(&'static str, &'static str)> {
    value.split_once(' ')
}

/// Reads a nation and its currency noun.
pub(super) fn of_a_nation(rest: &[Lexeme<'_>]) -> Option<&'static str> {
    let (nation, noun) = (rest.first()?.word()?, rest.get(1)?.word()?);
    let name = NOUNS.of_form(noun, NOUN_ENDING)?;
    // "Кипрских" in any case.
    let declined = |prefix: &str| nation.strip_prefix(prefix).is_some_and(|end| (1..=3).contains(&end.chars().count()));
    let adjective = || NATIONS.prefixes().iter().find(|(prefix, own)| own.1 == name && declined(prefix));
    let (code, own) = NATIONS.get(nation).or_else(|| adjective().map(|pair| pair.1))?;
    (own == name).then_some(code)
}
