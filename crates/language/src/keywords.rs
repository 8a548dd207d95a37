//! Ranks keywords of one document, similar to YAKE.
//!
//! A word weighs more if it is a name, early, frequent, in several sentences, or has few different neighbours. A phrase
//! weighs as its words, and more if it repeats.

use std::collections::{HashMap, HashSet};

use super::dates::names;
use super::lexicon::Words;
use super::sentences::sentences;
use super::tokens::{self, Token};
use super::{cut, is_cyrillic};

/// Verbs of every report.
static REPORTING_VERBS: Words = Words::of("keywords.said");

/// Words of a phrase.
const MAX_PHRASE_WORDS: usize = 3;
/// News states its subject first.
const MAX_SENTENCES: usize = 60;

#[derive(Default)]
struct Word {
    count: usize,
    /// Occurrences with a capital inside a sentence, or in full capitals.
    names: usize,
    first_sentence: usize,
    sentences: usize,
    neighbours: HashSet<String>,
}

struct PlacedWord {
    token: Token,
    surface: String,
    /// Whether only white space precedes.
    follows: bool,
    /// First in its sentence, so its capital means nothing.
    opens: bool,
}

/// Returns at most `max` keywords and phrases as written, best first, without repetition.
pub fn keywords(text: &str, language: Option<&str>, max: usize) -> Vec<String> {
    let placed: Vec<Vec<PlacedWord>> =
        sentences(text).into_iter().take(MAX_SENTENCES).map(|sentence| place(sentence, language)).collect();
    let words = statistics(&placed);
    let mut phrases: HashMap<String, (String, f64, usize, usize)> = HashMap::new();
    let mut order = 0;
    for sentence in &placed {
        for start in 0..sentence.len() {
            for length in 1..=MAX_PHRASE_WORDS {
                let Some(run) = sentence.get(start..start + length) else { break };
                if run.iter().skip(1).any(|word| !word.follows) {
                    break;
                }
                if !run.first().is_some_and(usable) || !run.last().is_some_and(usable) {
                    continue;
                }
                let key = run.iter().map(|word| word.token.stem.as_str()).collect::<Vec<_>>().join(" ");
                let surface = run.iter().map(|word| word.surface.as_str()).collect::<Vec<_>>().join(" ");
                let weight = phrase_weight(run, &words);
                order += 1;
                phrases.entry(key).or_insert((surface, weight, 0, order)).2 += 1;
            }
        }
    }
    let mut ranked: Vec<(String, f64, usize)> = phrases
        .into_values()
        .map(|(surface, weight, count, order)| (surface, weight * (1.0 + (count as f64).ln()), order))
        .collect();
    // Ties keep text order.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.2.cmp(&b.2)));
    without_repeats(ranked.into_iter().map(|(surface, ..)| surface), language, max)
}

fn place(sentence: &str, language: Option<&str>) -> Vec<PlacedWord> {
    let mut last_end = None;
    tokens::spans(sentence)
        .into_iter()
        .filter_map(|(start, end)| {
            let surface = cut(sentence, start, end);
            let token = tokens::tokens(surface, language).into_iter().next()?;
            let follows =
                last_end.is_some_and(|last| cut(sentence, last, start).chars().all(|c| c.is_whitespace() || c == '-'));
            let opens = last_end.is_none();
            last_end = Some(end);
            Some(PlacedWord { token, surface: surface.to_owned(), follows, opens })
        })
        .collect()
}

fn usable(word: &PlacedWord) -> bool {
    let letters = word.token.text.chars().count();
    let small_words_of_meaning = word.token.capitalised && letters >= 2;
    !word.token.stop
        && !word.token.number
        && (letters >= 3 || small_words_of_meaning)
        && !names::is_calendar_word(&word.token.text)
        && !REPORTING_VERBS.has(&word.token.text)
}

fn statistics(sentences: &[Vec<PlacedWord>]) -> HashMap<String, Word> {
    let mut words: HashMap<String, Word> = HashMap::new();
    for (index, sentence) in sentences.iter().enumerate() {
        for (position, placed) in sentence.iter().enumerate() {
            let neighbour = position.checked_sub(1).and_then(|before| sentence.get(before)).filter(|_| placed.follows);
            let word = words
                .entry(placed.token.stem.clone())
                .or_insert_with(|| Word { first_sentence: index, ..Word::default() });
            if word.count == 0 || word.sentences == 0 || !word.neighbours.contains(&format!("#{index}")) {
                word.sentences += 1;
                word.neighbours.insert(format!("#{index}"));
            }
            word.count += 1;
            let letters: Vec<char> = placed.surface.chars().filter(|c| c.is_alphabetic()).collect();
            let acronym = letters.len() >= 2 && letters.iter().all(|c| c.is_uppercase());
            word.names += usize::from(acronym || (placed.token.capitalised && !placed.opens));
            if let Some(before) = neighbour {
                word.neighbours.insert(before.token.stem.clone());
            }
        }
    }
    words
}

fn word_weight(word: &Word) -> f64 {
    let count = word.count as f64;
    let name = 1.0 + (word.names as f64 / count).min(1.0);
    let early = 1.0 / (2.0 + word.first_sentence as f64).ln().max(0.7);
    let spread = 1.0 + (word.sentences as f64).ln();
    let different = (word.neighbours.len() as f64 - word.sentences as f64).max(1.0) / count;
    name * early * (1.0 + count.ln()) * spread / (1.0 + 0.5 * different)
}

/// Returns the mean weight of content words, plus a bonus per word.
fn phrase_weight(run: &[PlacedWord], words: &HashMap<String, Word>) -> f64 {
    let weights: Vec<f64> = run
        .iter()
        .filter(|word| !word.token.stop)
        .map(|word| words.get(&word.token.stem).map_or(0.0, word_weight) * length_factor(&word.token.text))
        .collect();
    let stops = run.len() - weights.len();
    let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    mean * (1.0 + 0.25 * (weights.len().saturating_sub(1)) as f64) / (1.0 + 0.4 * stops as f64)
}

/// Returns 0.6–1.15; English needs fewer letters.
fn length_factor(word: &str) -> f64 {
    let letters = word.chars().count() as f64;
    let usual = if word.chars().any(is_cyrillic) { 8.0 } else { 7.0 };
    (letters / usual).clamp(0.6, 1.15)
}

fn without_repeats(ranked: impl Iterator<Item = String>, language: Option<&str>, max: usize) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut used: HashSet<String> = HashSet::new();
    for surface in ranked {
        if kept.len() >= max {
            break;
        }
        let stems = tokens::content_stems(&surface, language);
        if stems.iter().any(|stem| used.contains(stem)) {
            continue;
        }
        used.extend(stems);
        kept.push(surface);
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_subject_comes_first() {
        let text = "SpaceX launched a Falcon Heavy rocket from Cape Canaveral on Monday. The Falcon Heavy carried a weather satellite. \
                    SpaceX said the satellite reached orbit.";
        let found = keywords(text, Some("en"), 5);
        assert!(found[0].contains("Falcon Heavy") || found[0].contains("SpaceX"), "{found:?}");
        assert!(found.iter().any(|word| word.contains("satellite")), "{found:?}");
        assert!(found.iter().all(|word| !word.contains("Monday") && !word.contains("said")), "{found:?}");
        let text = "Президент Украины Владимир Зеленский подписал закон о мобилизации. Закон о мобилизации вступит в силу в мае.";
        let found = keywords(text, Some("ru"), 6);
        assert!(found.iter().any(|word| word.to_lowercase().contains("мобилизации")), "{found:?}");
        assert!(found.iter().any(|word| word.contains("Зеленский")), "{found:?}");
    }

    #[test]
    fn nothing_repeats_and_the_limit_holds() {
        let found = keywords("Water boils. Water boils at sea level. Boiling water.", Some("en"), 2);
        assert!(found.len() <= 2);
        assert!(keywords("", None, 5).is_empty());
        assert!(keywords("and the of", Some("en"), 5).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_gives_its_own_words(text in "[A-Za-zа-я0-9 .,'-]{0,120}", max in 0usize..6) {
            let found = keywords(&text, None, max);
            prop_assert!(found.len() <= max);
            for word in found.iter().flat_map(|phrase| phrase.split(' ')) {
                prop_assert!(text.contains(word));
            }
        }
    }
}
