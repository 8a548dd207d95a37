//! Resolves a leading pronoun to the one name that an earlier sentence is about.
//!
//! An uncertain pronoun stays, because a wrong person is worse than a dependent claim.

use super::is_question;
use crate::entities::kind::EntityKind;
use crate::entities::{Entity, entities};
use crate::lexicon::Words;
use crate::{cut, has_cyrillic, tokens, verbs};

/// Words after an "it" without reference.
static EXPLETIVE_WORDS: Words = Words::of("statements.coreference.expletive");

/// Words after "it is" without reference.
static EXPLETIVE_ENDS: Words = Words::of("statements.coreference.expletive_end");

/// Names that only look like a genitive.
static NO_GENITIVE: Words = Words::of("statements.coreference.no_genitive");

const MAX_DISTANCE: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gender {
    Masculine,
    Feminine,
}

struct Pronoun {
    kinds: &'static [EntityKind],
    gender: Option<Gender>,
    possessive: bool,
}

impl Pronoun {
    fn of(word: &str) -> Option<Self> {
        const PEOPLE: &[EntityKind] = &[EntityKind::Person];
        const THINGS: &[EntityKind] = &[EntityKind::Org, EntityKind::Misc, EntityKind::Loc];
        let one = |kinds, gender, possessive| Some(Self { kinds, gender, possessive });
        match word {
            "he" | "он" | "він" => one(PEOPLE, Some(Gender::Masculine), false),
            "she" | "она" | "вона" => one(PEOPLE, Some(Gender::Feminine), false),
            "his" => one(PEOPLE, Some(Gender::Masculine), true),
            "her" => one(PEOPLE, Some(Gender::Feminine), true),
            "it" => one(THINGS, None, false),
            "its" => one(THINGS, None, true),
            _ => None,
        }
    }
}

/// Replaces the pronoun; `None` without one or without a clear name.
pub(super) fn resolve(sentence: &str, context: &[String], language: Option<&str>) -> Option<String> {
    let (first, rest) = sentence.split_once(' ')?;
    let word = tokens::normalise_word(first.trim_end_matches(','));
    let pronoun = Pronoun::of(&word)?;
    if word == "it" && is_expletive(rest) {
        return None;
    }
    let name = antecedent(context, &pronoun, language)?.text;
    // An oblique name cannot be the subject.
    if has_cyrillic(&name) && pronoun.possessive || has_cyrillic(sentence) != has_cyrillic(&name) {
        return None;
    }
    let own = if pronoun.possessive { "'s" } else { "" };
    let resolved = format!("{name}{own} {rest}");
    (tokens::tokens(&resolved, language).len() > 1).then_some(resolved)
}

/// Whether "it" has no reference: "It is known that", "It rained".
pub(super) fn is_expletive(rest: &str) -> bool {
    let words: Vec<String> = rest.split_whitespace().take(3).map(tokens::normalise_word).collect();
    let first = words.first().map(String::as_str).unwrap_or_default();
    let second = words.get(1).map(String::as_str).unwrap_or_default();
    EXPLETIVE_WORDS.has(first)
        || (matches!(first, "is" | "was" | "has" | "will" | "would") && EXPLETIVE_ENDS.has(second))
}

/// Returns the only fitting name of the nearest sentence with any.
fn antecedent(context: &[String], pronoun: &Pronoun, language: Option<&str>) -> Option<Entity> {
    let fitting = |sentence: &String| -> Vec<Entity> {
        entities(sentence, language, &[]).into_iter().filter(|name| pronoun.kinds.contains(&name.kind)).collect()
    };
    // "Партия проиграла. Она набрала 22 %": things have gender, so only the last sentence counts.
    let is_cyrillic = context.last().is_some_and(|last| has_cyrillic(last));
    let most = if is_cyrillic { 1 } else { MAX_DISTANCE };
    let declarative = context.iter().rev().filter(|sentence| !is_question(sentence));
    let near = declarative.take(most).map(|sentence| (sentence, fitting(sentence)));
    let (sentence, mut names) = near.into_iter().find(|(_, names)| !names.is_empty())?;
    if names.len() > 1 {
        return None;
    }
    let name = names.pop()?;
    let agrees = pronoun.gender.is_none_or(|required| gender(&name.text).is_none_or(|known| known == required));
    (agrees && is_subject(sentence, &name)).then_some(name)
}

/// Whether no preposition, verb or bracket precedes the name. "Reuters reported" is a source.
fn is_subject(sentence: &str, name: &Entity) -> bool {
    let Some(at) = sentence.find(&name.text) else { return false };
    let (before, behind) = (cut(sentence, 0, at), cut(sentence, at + name.text.len(), sentence.len()));
    if before.ends_with('(') {
        return false;
    }
    let clause = before.rsplit([',', ';', ':']).next().unwrap_or(before);
    let words = verbs::words(clause);
    if has_cyrillic(&name.text) {
        return !oblique(&name.text) && !words.last().is_some_and(|word| is_preposition(word));
    }
    let reports = name.kind != EntityKind::Person
        && verbs::words(behind).first().is_some_and(|word| verbs::is_reporting(word))
        && before.contains(',');
    !reports && !words.iter().any(|word| is_preposition(word) || verbs::is_finite(word))
}

fn is_preposition(word: &str) -> bool {
    static WORDS: Words = Words::of("statements.coreference.preposition");
    WORDS.has(word)
}

/// Names with a known gender; others may have either.
static WOMEN: Words = Words::of("statements.coreference.women");
static MEN: Words = Words::of("statements.coreference.men");

static MEN_IN_A: Words = Words::of("statements.coreference.men_in_a");

fn gender(name: &str) -> Option<Gender> {
    let words: Vec<String> = name.split_whitespace().map(tokens::normalise_word).collect();
    let first = words.first()?.as_str();
    if !has_cyrillic(name) {
        return if WOMEN.has(first) { Some(Gender::Feminine) } else { MEN.has(first).then_some(Gender::Masculine) };
    }
    let ends = |endings: &[&str]| words.iter().any(|word| endings.iter().any(|ending| word.ends_with(ending)));
    if ends(&["ович", "евич", "йович"]) {
        return Some(Gender::Masculine);
    }
    if ends(&["овна", "евна", "івна", "ївна"]) {
        return Some(Gender::Feminine);
    }
    let last = words.last()?.as_str();
    if words.len() == 1 {
        return if ["ова", "ева", "ёва", "ская", "цкая", "ська", "цька"].iter().any(|ending| last.ends_with(ending))
        {
            Some(Gender::Feminine)
        } else {
            let man = ["ов", "ев", "ёв", "ский", "цкий", "ський", "цький", "ий"].iter().any(|e| last.ends_with(e));
            man.then_some(Gender::Masculine)
        };
    }
    if MEN_IN_A.has(first) {
        None
    } else if first.ends_with(['а', 'я']) {
        Some(Gender::Feminine)
    } else {
        // "Любовь" looks male.
        let soft = first.ends_with(['ь', 'и', 'е', 'о', 'у']);
        (!soft).then_some(Gender::Masculine)
    }
}

fn oblique(name: &str) -> bool {
    let last = name.split_whitespace().last().unwrap_or_default().to_lowercase();
    let is_accusative =
        name.split_whitespace().next().is_some_and(|first| first != name && first.ends_with(['у', 'ю']));
    is_accusative
        || ["ого", "ому", "ым", "им", "ом", "ем", "ою", "ей", "у", "ю", "ові", "еві"]
            .iter()
            .any(|ending| last.ends_with(ending))
            && !["ым", "им"].contains(&last.as_str())
        || ["ова", "ева", "ина", "ына"].iter().any(|ending| last.ends_with(ending))
            && name.split_whitespace().count() > 1
            && male_genitive(name)
}

/// Whether both words are genitives: "Владимира Путина".
fn male_genitive(name: &str) -> bool {
    let first = name.split_whitespace().next().unwrap_or_default().to_lowercase();
    ["ра", "на", "ла", "са", "та", "да", "ма", "ея", "ия", "ія", "ана", "ора"]
        .iter()
        .any(|ending| first.ends_with(ending))
        && !NO_GENITIVE.has(&first)
}

#[cfg(test)]
#[path = "test_coreference.rs"]
mod tests;
