//! Sentences that depend on their context: "Five people died" is true somewhere every day. Such a claim is given the
//! sentence it leans on, or any page with five dead would bear it out.

use std::collections::HashSet;

use super::{coreference, is_question, kinds, scraps};
use crate::entities::entities;
use crate::entities::kind::EntityKind;
use crate::lexicon::Words;
use crate::names::same_key;
use crate::{has_cyrillic, tokens, verbs};
use corroborate_domain::ClaimKind;

/// Sentences before it among which one to lean on is looked for.
const NEAR: usize = 5;
/// A sentence longer than this is no lead: the claim would drown in it. Characters.
const LONGEST_LEAD: usize = 260;
/// Words of a subject: further in, a name is no part of it.
const SUBJECT: usize = 8;

/// The sentence to set before a claim that cannot be checked alone: one that stands by itself and names someone. A pronoun leans
/// on the nearest, what names nobody on the nearest or on the title where that is of the same. `None` where the claim stands by
/// itself too, or nothing before it does.
pub(super) fn lead(claim: &str, title: Option<&str>, context: &[String], language: Option<&str>) -> Option<String> {
    let known = matches!(language, None | Some("en" | "ru" | "uk"));
    if !known || !leans(claim, language) {
        return None;
    }
    let stands = |text: &str| {
        text.chars().count() <= LONGEST_LEAD
            && !is_question(text)
            && has_cyrillic(text) == has_cyrillic(claim)
            && names_anyone(text, language)
            && !leans(text, language)
            && !is_cut_quotation(text)
            && !scraps::is_scrap(text)
            && (names_a_person(text, language) || !verbs::words(text).iter().any(|word| SOMEBODY.has(word)))
            && !text.contains("declined to comment")
            && kinds::judge(text, language, true).kind == ClaimKind::Factual
    };
    let first = verbs::words(claim).into_iter().next().unwrap_or_default();
    let lead = if refers(&first) {
        // "He" farther on is somebody who is named, and not whatever stands nearest.
        let is_person = PEOPLE.has(&first);
        let near = context.iter().rev().take(NEAR).map(String::as_str).enumerate();
        let fits =
            |(at, text): &(usize, &str)| stands(text) && (!is_person || *at == 0 || names_a_person(text, language));
        let of_text = || title.filter(|title| stands(title) && is_of_text(title, context, language));
        near.into_iter().find(fits).map(|(_, text)| text).or_else(of_text)?
    } else {
        // What names nobody goes with what was told last, or with the title, which is shorter, where that is of the same.
        let nearest = context.iter().rev().take(NEAR).map(String::as_str).find(|text| stands(text));
        let of_nearest = |title: &&str| match nearest {
            Some(nearest) => is_of_text(title, &[nearest.to_owned()], language),
            None => is_of_text(title, context, language),
        };
        title.filter(|title| stands(title)).filter(of_nearest).or(nearest)?
    };
    let bare = lead.trim_end_matches(['.', ' ', ',', ':', ';']);
    let inside = bare.trim_end_matches(['"', '”', '»', '’']);
    let is_ended = bare.ends_with(['!', '…']) || inside != bare && inside.ends_with(['.', '!', '…']);
    Some(if is_ended { bare.to_owned() } else { format!("{bare}.") })
}

/// Whether a sentence has a subject only its context tells: a pronoun, "this", "the company", or, of what happened, no name at
/// all.
fn leans(sentence: &str, language: Option<&str>) -> bool {
    let words = verbs::words(sentence);
    let Some(first) = words.first() else { return false };
    let rest = sentence.split_once(' ').map_or("", |(_, rest)| rest);
    if refers(first) {
        return !(first == "it" && coreference::is_expletive(rest));
    }
    if has_cyrillic(sentence) {
        let happened = words.iter().any(|word| verbs::is_past_cyrillic(word)) || has_figure(sentence);
        return happened && !names_anyone(sentence, language);
    }
    if first == "the" {
        return is_definite(sentence, &words);
    }
    let happened = words.iter().any(|word| verbs::is_finite(word) && !is_timeless(word)) || has_figure(sentence);
    happened && !has_year(sentence) && !names_anyone(sentence, language)
}

/// "Is", "can", "may": what always holds is told in them too.
fn is_timeless(word: &str) -> bool {
    static VERBS: Words = Words::of("statements.context_dependence.verbs");
    VERBS.has(word)
}

fn has_figure(sentence: &str) -> bool {
    sentence.contains(|c: char| c.is_ascii_digit())
}

/// "Smoking killed 8 million people in 2019": what a year is told of is mostly told of the world.
fn has_year(sentence: &str) -> bool {
    let is_year = |word: &str| word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    verbs::words(sentence).iter().any(|word| is_year(word) && word.chars().all(|c| c.is_ascii_digit()))
}

/// Words that point back, at the head of a sentence.
fn refers(word: &str) -> bool {
    static BACK: Words = Words::of("statements.context_dependence.back");
    kinds::is_pronoun(word) || BACK.has(word)
}

/// One of its kind: nobody asks which.
static ONLY_ONE: Words = Words::of("statements.context_dependence.only_one");

/// "The company said": which one? Not so where the subject has a name in it ("The Kremlin", "The mayor of Odesa"), or is the only
/// one there is.
fn is_definite(sentence: &str, words: &[String]) -> bool {
    let spelt: Vec<&str> = sentence.split_whitespace().collect();
    let Some(noun) = words.get(1) else { return false };
    if ONLY_ONE.has(noun) {
        return false;
    }
    // "The reported Pentagon memo": a participle right behind the article is no verb.
    let verb = words.iter().skip(2).take(SUBJECT - 1).position(|word| verbs::is_finite(word));
    let end = verb.map_or(SUBJECT + 1, |at| at + 2);
    let subject = spelt.get(1..end.min(spelt.len())).unwrap_or_default();
    let bare = |word: &&str| word.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_dated = subject.first().is_some_and(|word| bare(word).starts_with(|c: char| c.is_ascii_digit()));
    !is_dated && !subject.iter().any(|word| bare(word).starts_with(char::is_uppercase))
}

fn names_anyone(sentence: &str, language: Option<&str>) -> bool {
    !entities(sentence, language, &[]).is_empty()
}

fn names_a_person(sentence: &str, language: Option<&str>) -> bool {
    entities(sentence, language, &[]).iter().any(|name| name.kind == EntityKind::Person)
}

/// People who are told of before the sentence that has these and no person's name.
static SOMEBODY: Words = Words::of("statements.context_dependence.somebody");

static PEOPLE: Words = Words::of("statements.context_dependence.people");

/// Words of a title that says something.
const LEAST_TITLE: usize = 4;

/// Whether a title is of its text: it shares a name with it, or two words. The site's name and another story's headline do not.
fn is_of_text(title: &str, context: &[String], language: Option<&str>) -> bool {
    let text = context.join(" ");
    let stems = |text: &str| tokens::content_stems(text, language).into_iter().collect::<HashSet<String>>();
    let names = entities(&text, language, &[]);
    let shares_a_name =
        entities(title, language, &[]).iter().any(|name| names.iter().any(|other| same_key(&other.key, &name.key)));
    title.split_whitespace().count() >= LEAST_TITLE
        && (shares_a_name || stems(title).intersection(&stems(&text)).count() >= 2)
}

/// A quotation that begins or ends outside it.
pub(super) fn is_cut_quotation(sentence: &str) -> bool {
    let count = |sign: char| sentence.matches(sign).count();
    count('“') != count('”') && !sentence.contains('„') || count('«') != count('»') || count('"') % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_by_itself_and_what_does_not() {
        for (sentence, expected) in [
            ("At least 83 people were wounded in the attack.", true),
            ("Five people died.", true),
            ("They signed a deal worth 5 billion euros.", true),
            ("The company lost $2 billion.", true),
            ("The stadium was designed by John and Donald Parkinson.", true),
            ("This resulted in a fine of $5 million.", true),
            ("Inflation rose to 12 %.", true),
            ("The reported Pentagon memo names Spain.", false),
            ("He said the government still covered the cost for Anwar's delegation.", true),
            ("Были ранены еще 13 человек.", true),
            ("Правительство уволило часть врачей.", true),
            ("Это подтвердил муж актрисы Сергей Сенин.", true),
            ("Загинули п'ятеро людей.", true),
            ("The mayor of Odesa resigned.", false),
            ("The Kremlin denied it.", false),
            ("The 2024 budget was passed.", false),
            ("The earth is round.", false),
            ("Vaccines cause autism.", false),
            ("Water boils at a higher temperature under pressure.", false),
            ("It is known that smoking kills.", false),
            ("Russia shelled Kharkiv.", false),
            ("Вакцины вызывают аутизм.", false),
            ("В Харькове погибли пять человек.", false),
        ] {
            assert_eq!(leans(sentence, None), expected, "{sentence}");
        }
    }
}
