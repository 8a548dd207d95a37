//! Money that is told with its nation: "Cypriot pounds", "канадских долларов", "шведських крон".

use crate::lexer::Lexeme;
use crate::lexicon::{self, Values};

/// What money is called, in every language; a star ends a beginning.
static NOUNS: Values<&'static str> = Values::of("numbers.money.noun", lexicon::text);

/// Code, what the money is called, and whose it is: English words, and beginnings of Russian and Ukrainian adjectives.
static NATIONS: Values<(&'static str, &'static str)> = Values::of("numbers.money.nation", code_and_name);

/// Letters behind a prefix of a noun at most, which are its case.
const NOUN_ENDING: usize = 4;

fn code_and_name(value: &'static str) -> Option<(&'static str, &'static str)> {
    value.split_once(' ')
}

/// The code of the money whose nation stands at the head of these lexemes and whose name follows.
pub(super) fn of_a_nation(rest: &[Lexeme<'_>]) -> Option<&'static str> {
    let (nation, noun) = (rest.first()?.word()?, rest.get(1)?.word()?);
    let name = NOUNS.of_form(noun, NOUN_ENDING)?;
    // "Кипрских": an adjective in any case.
    let declined = |prefix: &str| nation.strip_prefix(prefix).is_some_and(|end| (1..=3).contains(&end.chars().count()));
    let adjective = || NATIONS.prefixes().iter().find(|(prefix, own)| own.1 == name && declined(prefix));
    let (code, own) = NATIONS.get(nation).or_else(|| adjective().map(|pair| pair.1))?;
    (own == name).then_some(code)
}
