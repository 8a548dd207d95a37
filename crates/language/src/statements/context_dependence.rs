//! Finds claims that depend on their context ("Five people died") and gives them a lead sentence. Without it any page
//! with five deaths would support the claim.

use std::collections::HashSet;

use super::{coreference, is_question, kinds, scraps};
use crate::entities::entities;
use crate::entities::kind::EntityKind;
use crate::lexicon::Words;
use crate::names::same_key;
use crate::{has_cyrillic, tokens, verbs};
use corroborate_domain::ClaimKind;

/// Maximum earlier sentences that are searched.
const MAX_DISTANCE: usize = 5;
/// Characters; a longer lead would outweigh the claim.
const MAX_LEAD_CHARS: usize = 260;
/// Words; later names are not in it.
const MAX_SUBJECT_WORDS: usize = 8;

/// Returns an independent sentence with a name.
///
/// For a pronoun the nearest; without a name the nearest or a fitting title. `None` if not needed or not found.
pub(super) fn lead(claim: &str, title: Option<&str>, context: &[String], language: Option<&str>) -> Option<String> {
    let known = matches!(language, None | Some("en" | "ru" | "uk"));
    if !known || !leans(claim, language) {
        return None;
    }
    let is_independent = |text: &str| {
        text.chars().count() <= MAX_LEAD_CHARS
            && !is_question(text)
            && has_cyrillic(text) == has_cyrillic(claim)
            && has_names(text, language)
            && !leans(text, language)
            && !is_cut_quotation(text)
            && !scraps::is_scrap(text)
            && (has_person(text, language) || !verbs::words(text).iter().any(|word| PERSON_INTRODUCTIONS.has(word)))
            && !text.contains("declined to comment")
            && kinds::judge(text, language, true).kind == ClaimKind::Factual
    };
    let first = verbs::words(claim).into_iter().next().unwrap_or_default();
    let lead = if refers(&first) {
        // A later "he" is a named person.
        let is_person = PEOPLE.has(&first);
        let near = context.iter().rev().take(MAX_DISTANCE).map(String::as_str).enumerate();
        let fits =
            |(at, text): &(usize, &str)| is_independent(text) && (!is_person || *at == 0 || has_person(text, language));
        let of_text = || title.filter(|title| is_independent(title) && is_of_text(title, context, language));
        near.into_iter().find(fits).map(|(_, text)| text).or_else(of_text)?
    } else {
        // The nearest, or the shorter title if it fits.
        let nearest = context.iter().rev().take(MAX_DISTANCE).map(String::as_str).find(|text| is_independent(text));
        let of_nearest = |title: &&str| match nearest {
            Some(nearest) => is_of_text(title, &[nearest.to_owned()], language),
            None => is_of_text(title, context, language),
        };
        title.filter(|title| is_independent(title)).filter(of_nearest).or(nearest)?
    };
    let bare = lead.trim_end_matches(['.', ' ', ',', ':', ';']);
    let inside = bare.trim_end_matches(['"', '”', '»', '’']);
    let is_ended = bare.ends_with(['!', '…']) || inside != bare && inside.ends_with(['.', '!', '…']);
    Some(if is_ended { bare.to_owned() } else { format!("{bare}.") })
}

/// Whether the subject is a pronoun, "this", "the company", or an event without a name.
fn leans(sentence: &str, language: Option<&str>) -> bool {
    let words = verbs::words(sentence);
    let Some(first) = words.first() else { return false };
    let rest = sentence.split_once(' ').map_or("", |(_, rest)| rest);
    if refers(first) {
        return !(first == "it" && coreference::is_expletive(rest));
    }
    if has_cyrillic(sentence) {
        let happened = words.iter().any(|word| verbs::is_past_cyrillic(word)) || has_figure(sentence);
        return happened && !has_names(sentence, language);
    }
    if first == "the" {
        return is_definite(sentence, &words);
    }
    let happened = words.iter().any(|word| verbs::is_finite(word) && !is_timeless(word)) || has_figure(sentence);
    happened && !has_year(sentence) && !has_names(sentence, language)
}

/// Whether it also states permanent facts: "is", "can".
fn is_timeless(word: &str) -> bool {
    static VERBS: Words = Words::of("statements.context_dependence.verbs");
    VERBS.has(word)
}

fn has_figure(sentence: &str) -> bool {
    sentence.contains(|c: char| c.is_ascii_digit())
}

/// Whether it has a year and is thus mostly about the world: "Smoking killed 8 million people in 2019".
fn has_year(sentence: &str) -> bool {
    let is_year = |word: &str| word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    verbs::words(sentence).iter().any(|word| is_year(word) && word.chars().all(|c| c.is_ascii_digit()))
}

fn refers(word: &str) -> bool {
    static BACK_REFERENCES: Words = Words::of("statements.context_dependence.back");
    kinds::is_pronoun(word) || BACK_REFERENCES.has(word)
}

/// Unique things.
static UNIQUE_THINGS: Words = Words::of("statements.context_dependence.only_one");

/// Whether a definite subject is unclear: "The company said", but not "The Kremlin" or "The mayor of Odesa".
fn is_definite(sentence: &str, words: &[String]) -> bool {
    let spelt: Vec<&str> = sentence.split_whitespace().collect();
    let Some(noun) = words.get(1) else { return false };
    if UNIQUE_THINGS.has(noun) {
        return false;
    }
    // "The reported Pentagon memo" has no verb.
    let verb = words.iter().skip(2).take(MAX_SUBJECT_WORDS - 1).position(|word| verbs::is_finite(word));
    let end = verb.map_or(MAX_SUBJECT_WORDS + 1, |at| at + 2);
    let subject = spelt.get(1..end.min(spelt.len())).unwrap_or_default();
    let bare = |word: &&str| word.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_dated = subject.first().is_some_and(|word| bare(word).starts_with(|c: char| c.is_ascii_digit()));
    !is_dated && !subject.iter().any(|word| bare(word).starts_with(char::is_uppercase))
}

fn has_names(sentence: &str, language: Option<&str>) -> bool {
    !entities(sentence, language, &[]).is_empty()
}

fn has_person(sentence: &str, language: Option<&str>) -> bool {
    entities(sentence, language, &[]).iter().any(|name| name.kind == EntityKind::Person)
}

/// Introduced earlier, if no person is named.
static PERSON_INTRODUCTIONS: Words = Words::of("statements.context_dependence.somebody");

static PEOPLE: Words = Words::of("statements.context_dependence.people");

const MIN_TITLE_WORDS: usize = 4;

/// Whether a title shares two words or a name with the text, unlike a site name or another headline.
fn is_of_text(title: &str, context: &[String], language: Option<&str>) -> bool {
    let text = context.join(" ");
    let stems = |text: &str| tokens::content_stems(text, language).into_iter().collect::<HashSet<String>>();
    let names = entities(&text, language, &[]);
    let shares_a_name =
        entities(title, language, &[]).iter().any(|name| names.iter().any(|other| same_key(&other.key, &name.key)));
    title.split_whitespace().count() >= MIN_TITLE_WORDS
        && (shares_a_name || stems(title).intersection(&stems(&text)).count() >= 2)
}

pub(super) fn is_cut_quotation(sentence: &str) -> bool {
    let count = |sign: char| sentence.matches(sign).count();
    count('“') != count('”') && !sentence.contains('„') || count('«') != count('»') || count('"') % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_is_independent_when_it_needs_no_context() {
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
