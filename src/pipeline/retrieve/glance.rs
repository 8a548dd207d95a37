//! What a search says of a page, analysed only as far as somebody asks.
//!
//! A search tells of ten pages for one that is read, and of the same page for claim after claim: a whole
//! [`TextProfile`](crate::judging::profile::TextProfile) of each was half of the daemon's work.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::judging::profile::is_denial;
use crate::language::entities::{self, Entity};
use crate::language::numbers::{self, Quantity};
use crate::language::{detect, has_cyrillic, names, sentences, tokens};
use crate::providers::Hit;

/// A page's title with its extract. Each part is made when it is first asked for, and says what a profile of the same text
/// would say.
#[derive(Debug, Default)]
pub(super) struct Glance {
    text: String,
    language: Option<String>,
    words: OnceLock<Words>,
    names: OnceLock<Vec<Entity>>,
    quantities: OnceLock<Vec<Quantity>>,
    detected: OnceLock<Option<String>>,
}

#[derive(Debug, Default)]
struct Words {
    /// The stems of the content words.
    stems: HashSet<String>,
    /// Every word as a name is compared by.
    keys: HashSet<String>,
}

impl Glance {
    pub(super) fn new(hit: &Hit) -> Self {
        let text = format!("{}.\n{}", hit.title.trim(), hit.snippet.trim());
        Self { text, language: hit.language.clone(), ..Self::default() }
    }

    fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let mut words = Words::default();
            for sentence in sentences::sentences(&self.text) {
                for token in tokens::tokens(sentence, self.language.as_deref()) {
                    words.keys.insert(names::name_key(&token.text));
                    if !token.stop && !token.number && !is_denial(&token.text) {
                        words.stems.insert(token.stem);
                    }
                }
            }
            words
        })
    }

    /// Whether a stem is among the content words.
    pub(super) fn has_stem(&self, stem: &str) -> bool {
        self.words().stems.contains(stem)
    }

    /// Whether a name is there, as a name or word by word: a headline in capitals, or without any, shows no names.
    pub(super) fn names(&self, name: &Entity) -> bool {
        let keys = &self.words().keys;
        if name.key.split(' ').all(|word| keys.contains(word)) {
            return true;
        }
        let names = self.names.get_or_init(|| entities::entities(&self.text, self.language.as_deref(), &[]));
        names.iter().any(|other| names::same_key(&name.key, &other.key))
    }

    pub(super) fn quantities(&self) -> &[Quantity] {
        self.quantities.get_or_init(|| numbers::quantities(&self.text, self.language.as_deref()))
    }

    /// Whether it is in another language than a text, as far as both tell.
    pub(super) fn is_foreign_to(&self, text: &str, language: Option<&str>) -> bool {
        let detected = || self.detected.get_or_init(|| detect::detect(&self.text).language).as_deref();
        match (language, self.language.as_deref().or_else(detected)) {
            (Some(ours), Some(theirs)) => ours != theirs,
            _ => has_cyrillic(text) != has_cyrillic(&self.text),
        }
    }
}

/// The glances of one item, each made once whoever asks: its claims, and each of their queries, find the same pages.
#[derive(Debug, Default)]
pub(super) struct Glances(Mutex<HashMap<Told, Arc<Glance>>>);

/// What was said of a page, and in which language.
type Told = (String, String, Option<String>);

impl Glances {
    pub(super) fn at(&self, hit: &Hit) -> Arc<Glance> {
        let told = (hit.title.clone(), hit.snippet.clone(), hit.language.clone());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(told).or_insert_with(|| Arc::new(Glance::new(hit))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::titled;
    use super::*;
    use crate::judging::profile::TextProfile;
    use corroborate_labelled as labelled;

    /// Titles with extracts: each text of the labelled verdicts before the next one.
    fn hits() -> Vec<Hit> {
        let rows = labelled::read("verdicts.jsonl").unwrap();
        let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let mut texts = Vec::new();
        for row in rows {
            texts.push(row["claim"].as_str().unwrap().to_owned());
            let evidence = row["evidence"].as_array().unwrap();
            texts.extend(evidence.iter().map(|one| one["text"].as_str().unwrap().to_owned()));
        }
        let hit = |title: &str, snippet: &str| Hit {
            snippet: snippet.to_owned(),
            language: detect::detect(title).language.filter(|_| snippet.len().is_multiple_of(2)),
            ..titled("https://a.example/", title).hit
        };
        let mut hits: Vec<Hit> = texts.windows(2).map(|pair| hit(&pair[0], &pair[1])).collect();
        hits.push(hit(
            "(Man: 1,234 - no-one; didn't) BITE—DOG, 5.5 –2",
            "\nA (b) c’s 3.5% 12.05.2020, e.g. и т.д.: «Ё-моё»",
        ));
        hits
    }

    #[test]
    fn a_glance_says_what_a_whole_profile_says() {
        let hits = hits();
        assert!(hits.len() > 500, "{}", hits.len());
        for hit in &hits {
            let glance = Glance::new(hit);
            let whole = TextProfile::new(&glance.text, hit.language.as_deref(), None, &[]);
            let stems: HashSet<String> = whole.words.iter().map(|word| word.stem.clone()).collect();
            assert_eq!(glance.words().stems, stems, "{}", glance.text);
            let spoken = whole.sentences.iter().flat_map(|sentence| &sentence.spoken);
            let keys: HashSet<String> = spoken.map(|word| names::name_key(&word.text)).collect();
            assert_eq!(glance.words().keys, keys, "{}", glance.text);
            assert_eq!(glance.quantities(), whole.quantities, "{}", glance.text);
            for name in &whole.entities {
                assert!(glance.names(name), "{} in {}", name.text, glance.text);
            }
        }
    }

    #[test]
    fn what_is_found_again_is_not_analysed_again() {
        let glances = Glances::default();
        let [first, other] =
            ["Grain leaves Velmora", "Velmora elects a mayor"].map(|title| titled("https://a.example/", title).hit);
        assert!(Arc::ptr_eq(&glances.at(&first), &glances.at(&first.clone())));
        assert!(!Arc::ptr_eq(&glances.at(&first), &glances.at(&other)), "under one address may stand two extracts");
    }
}
