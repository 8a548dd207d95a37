//! Analyses titles and snippets, each part on first use.
//! A search returns ten times as many pages as are read, often the same ones. A full
//! [`TextProfile`](crate::judging::profile::TextProfile) of each took half of the daemon's CPU time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::judging::profile::is_denial;
use crate::language::entities::{self, Entity};
use crate::language::numbers::{self, Quantity};
use crate::language::{detect, has_cyrillic, names, sentences, tokens};
use crate::providers::Hit;

/// Title and snippet of a hit. Each part equals that of a full profile.
#[derive(Debug, Default)]
pub(super) struct SnippetAnalysis {
    text: String,
    language: Option<String>,
    words: OnceLock<Words>,
    names: OnceLock<Vec<Entity>>,
    quantities: OnceLock<Vec<Quantity>>,
    detected: OnceLock<Option<String>>,
}

#[derive(Debug, Default)]
struct Words {
    stems: HashSet<String>,
    /// Name keys of all words.
    keys: HashSet<String>,
}

impl SnippetAnalysis {
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

    pub(super) fn has_stem(&self, stem: &str) -> bool {
        self.words().stems.contains(stem)
    }

    /// Whether the name occurs, as a name or word by word: capitalisation in headlines shows no names.
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

    /// Whether the languages differ; by script if one is unknown.
    pub(super) fn is_foreign_to(&self, text: &str, language: Option<&str>) -> bool {
        let detected = || self.detected.get_or_init(|| detect::detect(&self.text).language).as_deref();
        match (language, self.language.as_deref().or_else(detected)) {
            (Some(ours), Some(theirs)) => ours != theirs,
            _ => has_cyrillic(text) != has_cyrillic(&self.text),
        }
    }
}

/// The analyses of one item, shared by its claims and queries.
#[derive(Debug, Default)]
pub(super) struct SnippetCache(Mutex<HashMap<SnippetKey, Arc<SnippetAnalysis>>>);

/// Title, snippet and language.
type SnippetKey = (String, String, Option<String>);

impl SnippetCache {
    pub(super) fn at(&self, hit: &Hit) -> Arc<SnippetAnalysis> {
        let key = (hit.title.clone(), hit.snippet.clone(), hit.language.clone());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert_with(|| Arc::new(SnippetAnalysis::new(hit))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::titled;
    use super::*;
    use crate::judging::profile::TextProfile;
    use corroborate_labelled as labelled;

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
    fn snippet_analysis_equals_the_profile_when_both_read_one_text() {
        let hits = hits();
        assert!(hits.len() > 500, "{}", hits.len());
        for hit in &hits {
            let snippet = SnippetAnalysis::new(hit);
            let whole = TextProfile::new(&snippet.text, hit.language.as_deref(), None, &[]);
            let stems: HashSet<String> = whole.words.iter().map(|word| word.stem.clone()).collect();
            assert_eq!(snippet.words().stems, stems, "{}", snippet.text);
            let words = whole.sentences.iter().flat_map(|sentence| &sentence.words);
            let keys: HashSet<String> = words.map(|word| names::name_key(&word.text)).collect();
            assert_eq!(snippet.words().keys, keys, "{}", snippet.text);
            assert_eq!(snippet.quantities(), whole.quantities, "{}", snippet.text);
            for name in &whole.entities {
                assert!(snippet.names(name), "{} in {}", name.text, snippet.text);
            }
        }
    }

    #[test]
    fn what_is_found_again_is_not_analysed_again() {
        let snippets = SnippetCache::default();
        let [first, other] =
            ["Grain leaves Velmora", "Velmora elects a mayor"].map(|title| titled("https://a.example/", title).hit);
        assert!(Arc::ptr_eq(&snippets.at(&first), &snippets.at(&first.clone())));
        assert!(!Arc::ptr_eq(&snippets.at(&first), &snippets.at(&other)), "under one address may stand two extracts");
    }
}
