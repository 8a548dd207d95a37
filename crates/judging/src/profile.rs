//! Analyses a text once: words, names, quantities, dates and denials for all judging rules.
//!
//! [`TextProfile::new`] splits the text into sentences, marks names and counts denials. The module never compares
//! texts. To add a property, add a field and fill it in `new`.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use corroborate_domain::item::EntityHint;
use corroborate_language::dates::{self, DateMention};
use corroborate_language::entities::{self, Entity};
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{self, Quantity};
use corroborate_language::{negation, sentences, stemming, tokens};

/// Longer titles are whole texts, as of posts.
const MAX_TITLE_CHARS: usize = 200;

static DENIALS: Words = Words::of("profile.denial");

/// A claim or passage; immutable after construction.
#[derive(Debug, Clone, Default)]
pub struct TextProfile {
    pub text: String,
    /// Without "yesterday" and "on Monday", if present.
    pub undated: Option<String>,
    /// The text behind the title of its page, if the passage does not name its subject; see [`TextProfile::premise`].
    pub premise: Option<String>,
    /// ISO 639-1.
    pub language: Option<String>,
    /// Unit length; empty before the embedder runs.
    pub embedding: Vec<f32>,
    pub space: EmbeddingSpace,
    /// Base of relative dates: the claim's or page's date.
    pub reference: Option<DateTime<Utc>>,
    /// Distinct content words, sorted by stem.
    pub words: Vec<Word>,
    pub entities: Vec<Entity>,
    /// Content stems per entity, parallel to `entities`.
    pub name_stems: Vec<Vec<String>>,
    pub quantities: Vec<Quantity>,
    pub dates: Vec<DateMention>,
    pub negations: usize,
    pub sentences: Vec<SentenceProfile>,
}

/// The vector space; vectors of different embedders are not comparable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EmbeddingSpace {
    /// Hashed words: near if words are shared.
    #[default]
    Words,
    /// The model's: near if the meaning is similar.
    Meaning,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    pub stem: String,
    /// 0.6 (short) to 1 (long); 1.4 if capitalised inside a sentence.
    pub weight: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentenceProfile {
    /// Byte offset in the text.
    pub start: usize,
    /// Byte offset of the end.
    pub end: usize,
    /// Distinct content stems, sorted.
    pub stems: Vec<String>,
    pub words: Vec<SentenceWord>,
    pub denials: usize,
    /// Positions in `entities`.
    pub names: Vec<usize>,
    pub question: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SentenceWord {
    /// Lower case, normalised.
    pub text: String,
    pub stem: String,
    /// Neither function word, number nor denial.
    pub content: bool,
    /// Capitalised as part of a name or date: "Denys", the "May" of "Theresa May" and of "3 May".
    pub name: bool,
}

/// Whether a word denies. Denials count by parity, not as content, so texts that differ only in them share all words.
pub fn is_denial(word: &str) -> bool {
    DENIALS.has_ending_of(word) || DENIALS.has(word)
}

impl TextProfile {
    /// The text for a model; rules compare relative days.
    pub fn without_days(&self) -> &str {
        self.undated.as_deref().unwrap_or(&self.text)
    }

    /// The text of a passage for an NLI model.
    pub fn premise(&self) -> &str {
        self.premise.as_deref().unwrap_or(&self.text)
    }

    /// Returns the passage to be read behind its page's title. `None` if the title is a question, or if title and passage
    /// do not complete each other: the title has a name of the claim that the passage lacks, and the passage has a word of
    /// the claim that the title lacks.
    pub fn behind_title(&self, title: &str, claim: &Self) -> Option<Self> {
        if title.trim_end().ends_with('?') || title.chars().nth(MAX_TITLE_CHARS).is_some() {
            return None;
        }
        let title_stems = tokens::content_stems(title, self.language.as_deref());
        let in_title = |stem: &str| title_stems.iter().any(|own| own == stem);
        let is_named = claim.name_stems.iter().flatten().any(|stem| in_title(stem) && !self.has_stem(stem));
        let is_answering = claim.words.iter().any(|word| self.has_stem(&word.stem) && !in_title(&word.stem));
        let separator = if title.trim_end().ends_with(['.', '!', '…']) { " " } else { ". " };
        let premise = || format!("{}{separator}{}", title.trim(), self.text);
        (is_named && is_answering).then(|| Self { premise: Some(premise()), ..self.clone() })
    }

    /// Analyses a text. `reference` is the base of relative dates; `hints` are upstream's names.
    pub fn new(text: &str, language: Option<&str>, reference: Option<DateTime<Utc>>, hints: &[EntityHint]) -> Self {
        let mut words: Vec<Word> = Vec::new();
        let mut profiles = Vec::new();
        let mut searched_to = 0;
        for sentence in sentences::sentences(text) {
            // Sentences are slices in order.
            let start =
                text.get(searched_to..).and_then(|rest| rest.find(sentence)).map_or(searched_to, |at| searched_to + at);
            let end = start + sentence.len();
            searched_to = end;
            profiles.push(sentence_profile(sentence, start, end, language, &mut words));
        }
        words.sort_by(|a, b| a.stem.cmp(&b.stem).then_with(|| b.weight.total_cmp(&a.weight)));
        words.dedup_by(|later, earlier| later.stem == earlier.stem);
        let entities = entities::entities(text, language, hints);
        for sentence in &mut profiles {
            let own = text.get(sentence.start..sentence.end).unwrap_or_default();
            let held = entities.iter().enumerate().filter(|(_, name)| own.contains(&name.text));
            sentence.names = held.map(|(position, _)| position).collect();
        }
        let dates = dates::dates(text, reference);
        for sentence in &mut profiles {
            let held = sentence.names.iter().filter_map(|position| entities.get(*position)).map(|name| &name.text);
            let within = |date: &&DateMention| (sentence.start..sentence.end).contains(&date.offset);
            let named: Vec<&String> = held.chain(dates.iter().filter(within).map(|date| &date.text)).collect();
            mark_names(&mut sentence.words, &named);
        }
        let name_stems = entities.iter().map(|name| name_stems(&name.text, &profiles, language)).collect();
        Self {
            text: text.to_owned(),
            language: language.map(str::to_owned),
            embedding: Vec::new(),
            space: EmbeddingSpace::default(),
            reference,
            words,
            entities,
            name_stems,
            quantities: numbers::quantities(text, language),
            undated: dates::without_days(text, &dates),
            premise: None,
            dates,
            negations: negation::negations(text, language),
            sentences: profiles,
        }
    }

    /// A profile with names only, as [`super::agreement`] needs.
    pub fn of_names(text: &str, language: Option<&str>) -> Self {
        let entities = entities::entities(text, language, &[]);
        Self { text: text.to_owned(), language: language.map(str::to_owned), entities, ..Self::default() }
    }

    #[must_use]
    pub fn with_embedding(mut self, embedding: Vec<f32>) -> Self {
        self.space = EmbeddingSpace::Words;
        self.embedding = embedding;
        self
    }

    #[must_use]
    pub fn embedded(self, embedding: Vec<f32>, space: EmbeddingSpace) -> Self {
        Self { space, ..self.with_embedding(embedding) }
    }

    pub fn has_stem(&self, stem: &str) -> bool {
        self.words.binary_search_by(|word| word.stem.as_str().cmp(stem)).is_ok()
    }
}

/// Keeps name marks only on words of these names or dates, and on "May" in "in May" and "3 May".
fn mark_names(sentence_words: &mut [SentenceWord], named: &[&String]) {
    static BEFORE_MONTHS: Words = Words::of("profile.before_month");
    let words: HashSet<String> =
        named.iter().flat_map(|name| name.split(|c: char| !c.is_alphanumeric())).map(tokens::normalise_word).collect();
    let capitals: Vec<bool> = sentence_words.iter().map(|word| word.name).collect();
    let capital = |at: Option<usize>| at.and_then(|at| capitals.get(at)).copied().unwrap_or_default();
    let is_led = |word: &SentenceWord| BEFORE_MONTHS.has(&word.text) || is_figure(word);
    for at in 0..sentence_words.len() {
        let before = at.checked_sub(1);
        let led = before.and_then(|before| sentence_words.get(before)).is_some_and(is_led)
            || sentence_words.get(at + 1).is_some_and(is_figure);
        // In a headline every word is capitalised: "Mayor May Resign".
        let is_surname = capital(before) && !capital(Some(at + 1));
        let Some(word) = sentence_words.get_mut(at) else { break };
        word.name = word.name && (words.contains(&word.text) || (led || is_surname) && word.text == "may");
    }
}

fn is_figure(word: &SentenceWord) -> bool {
    word.text.starts_with(|c: char| c.is_ascii_digit())
}

/// A hint from upstream may be absent from the text.
fn name_stems(name: &str, sentences: &[SentenceProfile], language: Option<&str>) -> Vec<String> {
    let find = |word: &str| sentences.iter().flat_map(|sentence| &sentence.words).find(|own| own.text == word);
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(tokens::normalise_word);
    let known: Option<Vec<&SentenceWord>> = words.map(|word| find(&word)).collect();
    match known {
        Some(words) => words.into_iter().filter(|word| word.content).map(|word| word.stem.clone()).collect(),
        None => tokens::content_stems(name, language),
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
    let mut sentence_words: Vec<SentenceWord> = Vec::new();
    for token in tokens::tokens(sentence, language) {
        // Numbers are compared as quantities and dates, not as words.
        let content = !token.stop && !token.number && !is_denial(&token.text);
        if content {
            let letters = stemming::letters_without_ending(&token.text, &token.stem, language).min(8) as f64;
            let named = token.capitalised && !sentence_words.is_empty();
            let weight = if named { 1.4 } else { 0.6 + 0.4 * letters / 8.0 };
            words.push(Word { stem: token.stem.clone(), weight });
            stems.push(token.stem.clone());
        }
        // Corrected after the text's names are known.
        sentence_words.push(SentenceWord { text: token.text, stem: token.stem, content, name: token.capitalised });
    }
    stems.sort_unstable();
    stems.dedup();
    let denials = negation::negations(sentence, language);
    let question = sentence.trim_end().ends_with('?');
    SentenceProfile { start, end, stems, words: sentence_words, denials, names: Vec::new(), question }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passage_is_read_behind_its_title_when_both_complete_each_other() {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        let claim = profile("The harbour crane at Larn can lift 120 tonnes.");
        let passage = profile("The crane can lift 120 tonnes.");
        let title = "Harbour crane at Larn is back";
        let behind = passage.behind_title(title, &claim).unwrap();
        assert_eq!(behind.premise(), "Harbour crane at Larn is back. The crane can lift 120 tonnes.");
        assert_eq!((behind.text.as_str(), passage.premise()), (passage.text.as_str(), passage.text.as_str()));
        for (text, title) in [
            ("The crane at Larn can lift 120 tonnes.", title),
            ("Fishermen protested in front of the hall.", title),
            ("The crane can lift 120 tonnes.", "A crane is back"),
            ("The crane can lift 120 tonnes.", "Is the crane at Larn back?"),
        ] {
            assert!(profile(text).behind_title(title, &claim).is_none(), "{title} {text}");
        }
        assert!(passage.behind_title(&"Larn ".repeat(60), &claim).is_none(), "a title of 300 characters");
    }

    #[test]
    fn a_denial_is_counted_and_is_no_content() {
        let plain = TextProfile::new("Vaccines cause autism.", Some("en"), None, &[]);
        let denied = TextProfile::new("Vaccines don't cause autism.", Some("en"), None, &[]);
        assert_eq!(plain.words, denied.words);
        assert_eq!((plain.negations, denied.negations), (0, 1));
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
