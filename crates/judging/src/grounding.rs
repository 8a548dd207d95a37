//! Checks that a text supports a statement that a language model took from it.
//!
//! Every figure, date and name must be in the text, and enough content words. An added denial or exchanged roles do not
//! show in words, so the NLI model judges [`passages`].

use std::fmt;

use crate::profile::{SentenceProfile, TextProfile, Word};
use corroborate_language::dates::DateMention;
use corroborate_language::entities::Entity;
use corroborate_language::names::same_key;
use corroborate_language::numbers::{Quantity, Unit};
use corroborate_language::tokens;

/// Minimum weighted share of content words, without names. In this file's labelled cases true paraphrases reach .67,
/// inventions about the text's people at most .41.
const MIN_WORD_COVERAGE: f64 = 0.5;

/// Minimum share, in order, of one sentence: one of ten words may differ.
const MIN_VERBATIM_SHARE: f64 = 0.9;

/// Related words ("exploded", "explosion"): common first letters, and their share of the shorter word.
const MIN_COMMON_LETTERS: usize = 5;
const MIN_COMMON_SHARE: f64 = 0.7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroundingError {
    Figure(String),
    Date(String),
    Name(String),
    Words,
}

impl fmt::Display for GroundingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure(figure) => write!(f, "its text does not state {figure:?}"),
            Self::Date(date) => write!(f, "its text does not name the day {date:?}"),
            Self::Name(name) => write!(f, "its text does not name {name:?}"),
            Self::Words => f.write_str("its text speaks of something else"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grounding {
    /// Weighted share of content words in the text, 0–1.
    pub coverage: f64,
    /// One sentence has nearly the same words and denials.
    pub verbatim: bool,
}

/// The first figure, date or name that the text lacks. Both need one reference day, so that "yesterday" equals its
/// date.
pub fn made_up(claim: &TextProfile, text: &TextProfile) -> Option<GroundingError> {
    if let Some(figure) = claim.quantities.iter().find(|figure| !states(text, figure)) {
        return Some(GroundingError::Figure(figure.text.clone()));
    }
    if let Some(date) = claim.dates.iter().find(|date| !text.dates.iter().any(|known| is_within(known, date))) {
        return Some(GroundingError::Date(date.text.clone()));
    }
    let mut names = claim.entities.iter().zip(&claim.name_stems);
    names.find(|(name, stems)| !has_name(text, name, stems)).map(|(name, _)| GroundingError::Name(name.text.clone()))
}

pub fn ground(claim: &TextProfile, text: &TextProfile) -> Result<Grounding, GroundingError> {
    if let Some(invented) = made_up(claim, text) {
        return Err(invented);
    }
    let words = content(claim);
    // The check above covers names.
    let plain: Vec<&Word> = words
        .iter()
        .copied()
        .filter(|word| !claim.name_stems.iter().flatten().any(|stem| *stem == word.stem))
        .collect();
    let plain = if plain.is_empty() { &words } else { &plain };
    let coverage = covered(plain, |stem| text.words.iter().any(|word| alike(&word.stem, stem)));
    if coverage < MIN_WORD_COVERAGE {
        return Err(GroundingError::Words);
    }
    let stems: Vec<&str> =
        in_order(&claim.sentences).filter(|stem| words.iter().any(|word| word.stem == *stem)).collect();
    let is_verbatim = |sentence: &SentenceProfile| {
        let same_denials = sentence.denials % 2 == claim.negations % 2;
        same_denials && !sentence.question && follows(&stems, sentence)
    };
    Ok(Grounding { coverage, verbatim: text.sentences.iter().any(is_verbatim) })
}

fn in_order(sentences: &[SentenceProfile]) -> impl Iterator<Item = &str> {
    sentences.iter().flat_map(|sentence| &sentence.words).filter(|word| word.content).map(|word| word.stem.as_str())
}

/// Whether the sentence has nearly all stems in this order, which exchanged roles change.
fn follows(stems: &[&str], sentence: &SentenceProfile) -> bool {
    let own: Vec<&str> = in_order(std::slice::from_ref(sentence)).collect();
    // Longest common subsequence.
    let mut before = vec![0_usize; own.len() + 1];
    for stem in stems {
        let mut row = vec![0_usize; own.len() + 1];
        for (at, known) in own.iter().enumerate() {
            let (left, above, across) = (row[at], before[at + 1], before[at]);
            row[at + 1] = if alike(known, stem) { across + 1 } else { left.max(above) };
        }
        before = row;
    }
    let longest = before.last().copied().unwrap_or_default();
    !stems.is_empty() && longest as f64 >= MIN_VERBATIM_SHARE * stems.len() as f64
}

/// Returns the passages for the NLI model: the nearest sentence, with the one before it, and with the one that adds
/// most. `text` must be the profile's.
pub fn passages(claim: &TextProfile, text: &TextProfile) -> Vec<String> {
    let words = content(claim);
    let part = |from: &SentenceProfile, to: &SentenceProfile| text.text.get(from.start..to.end).unwrap_or_default();
    let mut ranked: Vec<(usize, f64)> =
        text.sentences.iter().map(|sentence| in_sentence(&words, sentence)).enumerate().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let Some(best) = ranked.first().and_then(|(at, _)| text.sentences.get(*at).map(|sentence| (*at, sentence))) else {
        return Vec::new();
    };
    let (at, nearest) = best;
    let mut found = vec![part(nearest, nearest).to_owned()];
    if let Some(before) = at.checked_sub(1).and_then(|before| text.sentences.get(before)) {
        found.push(part(before, nearest).to_owned());
    }
    let missing: Vec<&Word> =
        words.iter().copied().filter(|word| !nearest.stems.iter().any(|stem| alike(stem, &word.stem))).collect();
    let adds = |sentence: &SentenceProfile| in_sentence(&missing, sentence);
    let others = text.sentences.iter().enumerate().filter(|(other, _)| *other != at && other + 1 != at);
    let most = others.map(|(other, sentence)| (other, sentence, adds(sentence))).max_by(|a, b| a.2.total_cmp(&b.2));
    if let Some((other, sentence, _)) = most.filter(|(.., share)| !missing.is_empty() && *share > 0.0) {
        let (first, second) = if other < at { (sentence, nearest) } else { (nearest, sentence) };
        found.push(format!("{} {}", part(first, first), part(second, second)));
    }
    found
}

/// The content words without dates, which are compared as dates.
fn content(claim: &TextProfile) -> Vec<&Word> {
    let language = claim.language.as_deref();
    let of_dates: Vec<String> =
        claim.dates.iter().flat_map(|date| tokens::content_stems(&date.text, language)).collect();
    claim.words.iter().filter(|word| !of_dates.contains(&word.stem)).collect()
}

fn covered(words: &[&Word], is_present: impl Fn(&str) -> bool) -> f64 {
    let all: f64 = words.iter().map(|word| word.weight).sum();
    if all == 0.0 {
        return 0.0;
    }
    words.iter().filter(|word| is_present(&word.stem)).map(|word| word.weight).sum::<f64>() / all
}

fn in_sentence(words: &[&Word], sentence: &SentenceProfile) -> f64 {
    covered(words, |stem| sentence.stems.iter().any(|known| alike(known, stem)))
}

fn alike(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let shorter = a.chars().count().min(b.chars().count());
    shared >= MIN_COMMON_LETTERS && shared as f64 >= MIN_COMMON_SHARE * shorter as f64
}

/// Whether the text states the figure. If another one fits the thing better, the statement took the wrong one.
fn states(text: &TextProfile, figure: &Quantity) -> bool {
    if figure.unit == Unit::Year {
        let year = format!("{:.0}", figure.low);
        return text.text.contains(&year) || text.dates.iter().any(|date| date.text.contains(&year));
    }
    let close = |a: f64, b: f64| (a - b).abs() <= f64::EPSILON * a.abs().max(b.abs()).max(1.0) * 8.0;
    let bare = |unit: Unit| matches!(unit, Unit::None | Unit::Identifier | Unit::Ordinal);
    let same_unit = |other: &Quantity| other.unit == figure.unit || (bare(other.unit) && bare(figure.unit));
    let (same, others): (Vec<&Quantity>, Vec<&Quantity>) = text
        .quantities
        .iter()
        .filter(|other| same_unit(other))
        .partition(|other| close(other.low, figure.low) && close(other.high, figure.high));
    let shared = |others: &[&Quantity]| {
        let of = |other: &&Quantity| {
            figure.counted.iter().filter(|one| other.counted.iter().any(|two| alike(one, two))).count()
        };
        others.iter().map(of).max().unwrap_or_default()
    };
    if same.is_empty() { text.text.contains(&figure.text) } else { shared(&same) >= shared(&others) }
}

/// Whether the text's period is within the stated one: "on 3 May" supports "in May", not the reverse.
fn is_within(known: &DateMention, stated: &DateMention) -> bool {
    stated.start <= known.start && known.end <= stated.end
}

/// Whether the text has the name or all its words.
fn has_name(text: &TextProfile, name: &Entity, stems: &[String]) -> bool {
    let is_present = |stem: &String| {
        text.sentences.iter().any(|sentence| sentence.words.iter().any(|word| word.stem == *stem))
            || text.name_stems.iter().any(|stems| stems.contains(stem))
    };
    text.entities.iter().any(|known| known.key == name.key || same_key(&known.key, &name.key))
        || (!stems.is_empty() && stems.iter().all(is_present))
        || text.text.to_lowercase().contains(&name.text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, NaiveDate, Utc};

    use super::*;

    fn day(written: &str) -> DateTime<Utc> {
        written.parse::<NaiveDate>().unwrap().and_hms_opt(12, 0, 0).unwrap().and_utc()
    }

    #[test]
    fn invention_is_rejected_and_paraphrase_is_kept() {
        let mut seen = [0; 3];
        let mut wrong = Vec::new();
        for line in include_str!("grounding/cases.tsv").lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [language, written, expected, text, claim] = fields[..] else { panic!("{line}") };
            let profile = |text| TextProfile::new(text, Some(language), Some(day(written)), &[]);
            let (claim, text) = (profile(claim), profile(text));
            let found = ground(&claim, &text);
            if found.is_err() != (expected == "rule") {
                wrong.push(format!("{expected}: {found:?} {}", claim.text));
            }
            seen[["kept", "rule", "stance"].iter().position(|one| *one == expected).unwrap()] += 1;
            if found.is_ok() {
                assert!(!passages(&claim, &text).is_empty());
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(seen[0] >= 12 && seen[1] >= 10 && seen[2] >= 3, "{seen:?}");
    }

    #[test]
    fn a_denial_is_no_verbatim_repetition() {
        let profile = |text| TextProfile::new(text, Some("en"), None, &[]);
        let text = profile("The bridge in Brana is closed to lorries.");
        let verbatim = |claim| ground(&profile(claim), &text).unwrap().verbatim;
        assert!(verbatim("The bridge in Brana is closed to lorries."));
        assert!(!verbatim("The bridge in Brana is not closed to lorries."));
    }

    #[test]
    fn passages_join_sentences_that_are_apart() {
        let profile = |text| TextProfile::new(text, Some("en"), None, &[]);
        let text = profile("The old mill burned down. It rained. Nobody in Brana was hurt at the mill.");
        let found = passages(&profile("Nobody in Brana was hurt when the old mill burned down."), &text);
        assert!(found.iter().any(|one| one.contains("burned") && one.contains("hurt")), "{found:?}");
        assert!(passages(&profile("x"), &TextProfile::default()).is_empty());
    }
}
