//! A text with everything the judges look at taken from it once.

use chrono::{DateTime, Utc};

use crate::domain::item::EntityHint;
use crate::language::dates::{self, DateMention};
use crate::language::entities::{self, Entity};
use crate::language::numbers::{self, Quantity};
use crate::language::{negation, sentences, tokens};

/// A claim or a passage, analysed. Cheap to share; never changed after it is built.
#[derive(Debug, Clone, Default)]
pub struct TextProfile {
    /// The text as it stands.
    pub text: String,
    /// ISO 639-1, where known.
    pub language: Option<String>,
    /// Unit-length embedding; empty until the embedder has run.
    pub embedding: Vec<f32>,
    /// What relative dates are counted from, and when the text was current: the claim's date, the page's publication.
    pub reference: Option<DateTime<Utc>>,
    /// The distinct content words, sorted by stem.
    pub words: Vec<Word>,
    pub entities: Vec<Entity>,
    pub quantities: Vec<Quantity>,
    pub dates: Vec<DateMention>,
    /// Denials in the whole text.
    pub negations: usize,
    pub sentences: Vec<SentenceProfile>,
}

/// A content word with what it weighs when texts are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    pub stem: String,
    /// 0.6 for a short word to 1 for a long one, 1.4 for one written with a capital inside a sentence.
    pub weight: f64,
}

/// One sentence of the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentenceProfile {
    /// Byte offset of its beginning in the text.
    pub start: usize,
    /// Byte offset behind its end.
    pub end: usize,
    /// The distinct stems of its content words, sorted.
    pub stems: Vec<String>,
    /// All its words, in order.
    pub spoken: Vec<Spoken>,
    /// For each denial in it, the stems it reaches.
    pub denials: Vec<Vec<String>>,
    /// It asks, and so states nothing.
    pub question: bool,
}

/// A word as it stands in its sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    /// Lower case, normalised.
    pub text: String,
    pub stem: String,
    /// Neither function word, number nor denial.
    pub content: bool,
}

/// Words that deny. They carry parity, not content, so two texts that differ in them alone have the same words.
fn is_denial(word: &str) -> bool {
    word.ends_with("n't")
        || matches!(
            word,
            "not"
                | "no"
                | "never"
                | "nor"
                | "none"
                | "neither"
                | "cannot"
                | "without"
                | "не"
                | "ни"
                | "нет"
                | "никогда"
                | "нельзя"
                | "без"
                | "ні"
                | "нема"
                | "немає"
                | "ніколи"
                | "не-"
                | "não"
                | "nunca"
        )
}

/// How many words behind it a denial reaches: an auxiliary, an adverb and the verb with its object ("have never been
/// approved for").
const REACH: usize = 4;

/// "No evidence that …" denies all that follows.
fn reaches_to_the_end(next: &str) -> bool {
    matches!(next, "evidence" | "proof" | "basis" | "truth" | "indication" | "link" | "connection" | "sign" | "way")
        || ["доказательств", "подтвержден", "оснований", "доказів", "підтверджен", "підстав", "prova", "evidência"]
            .iter()
            .any(|beginning| next.starts_with(beginning))
}

/// "Not only … but also" asserts both.
fn takes_back(next: &str) -> bool {
    matches!(
        next,
        "only"
            | "just"
            | "merely"
            | "solely"
            | "только"
            | "лишь"
            | "просто"
            | "тільки"
            | "лише"
            | "apenas"
            | "só"
    )
}

/// The stems each denial of a sentence reaches.
fn denials(spoken: &[Spoken]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (index, word) in spoken.iter().enumerate() {
        if !is_denial(&word.text) {
            continue;
        }
        let rest = spoken.get(index + 1..).unwrap_or(&[]);
        let next = rest.first().map_or("", |word| word.text.as_str());
        if takes_back(next) {
            continue;
        }
        let reach = if reaches_to_the_end(next) { rest.len() } else { REACH.min(rest.len()) };
        let reached = rest.get(..reach).unwrap_or(rest);
        found.push(reached.iter().filter(|word| word.content).map(|word| word.stem.clone()).collect());
    }
    found
}

impl TextProfile {
    /// Analyses a text. `reference` is the date relative dates are counted from; `hints` are names upstream found.
    pub fn new(text: &str, language: Option<&str>, reference: Option<DateTime<Utc>>, hints: &[EntityHint]) -> Self {
        let mut words: Vec<Word> = Vec::new();
        let mut profiles = Vec::new();
        let mut searched_to = 0;
        for sentence in sentences::sentences(text) {
            // Sentences are slices of the text in order, so the next search starts where the last one ended.
            let start =
                text.get(searched_to..).and_then(|rest| rest.find(sentence)).map_or(searched_to, |at| searched_to + at);
            let end = start + sentence.len();
            searched_to = end;
            profiles.push(sentence_profile(sentence, start, end, language, &mut words));
        }
        words.sort_by(|a, b| a.stem.cmp(&b.stem).then_with(|| b.weight.total_cmp(&a.weight)));
        words.dedup_by(|later, earlier| later.stem == earlier.stem);
        Self {
            text: text.to_owned(),
            language: language.map(str::to_owned),
            embedding: Vec::new(),
            reference,
            words,
            entities: entities::entities(text, language, hints),
            quantities: numbers::quantities(text, language),
            dates: dates::dates(text, reference),
            negations: negation::negations(text, language),
            sentences: profiles,
        }
    }

    /// The same with its embedding.
    #[must_use]
    pub fn with_embedding(mut self, embedding: Vec<f32>) -> Self {
        self.embedding = embedding;
        self
    }

    /// Whether a stem is among the content words.
    pub fn has_stem(&self, stem: &str) -> bool {
        self.words.binary_search_by(|word| word.stem.as_str().cmp(stem)).is_ok()
    }
}

fn sentence_profile(
    sentence: &str,
    start: usize,
    end: usize,
    language: Option<&str>,
    words: &mut Vec<Word>,
) -> SentenceProfile {
    let mut stems = Vec::new();
    let mut spoken: Vec<Spoken> = Vec::new();
    for token in tokens::tokens(sentence, language) {
        // Numbers are compared as quantities and dates, not as words.
        let content = !token.stop && !token.number && !is_denial(&token.text);
        if content {
            let letters = token.stem.chars().count().min(8) as f64;
            let named = token.capitalised && !spoken.is_empty();
            let weight = if named { 1.4 } else { 0.6 + 0.4 * letters / 8.0 };
            words.push(Word { stem: token.stem.clone(), weight });
            stems.push(token.stem.clone());
        }
        spoken.push(Spoken { text: token.text, stem: token.stem, content });
    }
    stems.sort_unstable();
    stems.dedup();
    let denials = denials(&spoken);
    SentenceProfile { start, end, stems, spoken, denials, question: sentence.trim_end().ends_with('?') }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_denial_is_counted_and_is_no_content() {
        let plain = TextProfile::new("Vaccines cause autism.", Some("en"), None, &[]);
        let denied = TextProfile::new("Vaccines don't cause autism.", Some("en"), None, &[]);
        assert_eq!(plain.words, denied.words);
        assert_eq!((plain.negations, denied.negations), (0, 1));
    }

    #[test]
    fn a_denial_reaches_what_follows_it() {
        let reached =
            |text: &str| -> Vec<String> { TextProfile::new(text, Some("en"), None, &[]).sentences[0].denials.concat() };
        assert_eq!(reached("Doctors did not approve the drug."), ["approv", "drug"]);
        assert_eq!(reached("The drug was sold to people who did not ask."), ["ask"]);
        assert!(reached("There is no evidence that the old red drug could ever work.").contains(&"work".to_owned()));
        assert!(reached("It was not only cheap but good.").is_empty());
    }

    #[test]
    fn sentences_keep_their_places() {
        let text = "It rained. It rained. Was it cold?";
        let profile = TextProfile::new(text, Some("en"), None, &[]);
        let starts: Vec<usize> = profile.sentences.iter().map(|sentence| sentence.start).collect();
        assert_eq!(starts, [0, 11, 22]);
        assert!(profile.sentences[2].question);
    }

    proptest! {
        #[test]
        fn any_text_has_a_profile(text in "\\PC{0,200}") {
            let profile = TextProfile::new(&text, None, None, &[]);
            prop_assert!(profile.words.windows(2).all(|pair| pair[0].stem < pair[1].stem));
            for sentence in &profile.sentences {
                prop_assert!(text.get(sentence.start..sentence.end).is_some());
            }
        }
    }
}
