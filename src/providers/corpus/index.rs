//! The index of a folder's passages: BM25 over word stems and code identifiers. Pure.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::language::identifiers;

/// The usual constants of BM25 for saturation and length.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// The weight of a word in the heading or file name, relative to one in the text.
const HEADING_WEIGHT: u16 = 2;
/// Share of the query's term weight that a passage must match, because one common word may match by chance.
const LEAST_SHARED: f64 = 0.3;

/// A hashed stem, because the index holds millions. A collision costs one wrong candidate, which the judge rejects.
pub(super) type Term = u64;

fn term(stem: &str) -> Term {
    let mut hasher = DefaultHasher::new();
    stem.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn terms(names: &str, text: &str) -> Vec<(Term, u16)> {
    let mut counted: HashMap<Term, u16> = HashMap::new();
    for (words, weight) in [(names, HEADING_WEIGHT), (text, 1)] {
        for stem in identifiers::stems(words) {
            let count = counted.entry(term(&stem)).or_default();
            *count = count.saturating_add(weight);
        }
    }
    let mut counted: Vec<(Term, u16)> = counted.into_iter().collect();
    counted.sort_unstable();
    counted
}

/// Maps terms to passages, which are numbered in the given order.
#[derive(Debug, Default)]
pub(super) struct Index {
    postings: HashMap<Term, Vec<(u32, u16)>>,
    lengths: Vec<u32>,
    mean_length: f64,
}

impl Index {
    pub(super) fn new<'a>(passages: impl Iterator<Item = &'a [(Term, u16)]>) -> Self {
        let mut index = Self::default();
        for (number, terms) in (0_u32..).zip(passages) {
            let mut length = 0;
            for (term, count) in terms {
                index.postings.entry(*term).or_default().push((number, *count));
                length += u32::from(*count);
            }
            index.lengths.push(length);
        }
        let total: f64 = index.lengths.iter().map(|length| f64::from(*length)).sum();
        index.mean_length = total / (index.lengths.len().max(1) as f64);
        index
    }

    pub(super) fn search(&self, question: &str) -> Vec<(usize, f64)> {
        let mut asked: HashSet<String> = identifiers::stems(question).into_iter().collect();
        // A compound name adds only word order, because its words are also in the query.
        let words = asked.iter().filter(|stem| !identifiers::is_compound(stem)).count();
        if words == 0 {
            return Vec::new();
        }
        let mut total = 0.0;
        let mut found: HashMap<u32, Match> = HashMap::new();
        for stem in asked.drain() {
            let postings = self.postings.get(&term(&stem)).map(Vec::as_slice).unwrap_or_default();
            let weight = self.weight(postings.len());
            let compound = identifiers::is_compound(&stem);
            total += if compound { 0.0 } else { weight };
            for (passage, count) in postings {
                let matched = found.entry(*passage).or_default();
                matched.score += weight * self.saturated(*passage, *count);
                if compound {
                    matched.names += 1;
                } else {
                    matched.shared += weight;
                    matched.words += 1;
                }
            }
        }
        let enough = |matched: &Match| {
            matched.shared >= LEAST_SHARED * total && (matched.words >= 2.min(words) || matched.names > 0)
        };
        let mut best: Vec<(usize, f64)> = found
            .into_iter()
            .filter(|(_, matched)| enough(matched))
            .map(|(passage, matched)| (passage as usize, matched.score))
            .collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        best
    }

    fn weight(&self, holders: usize) -> f64 {
        let (all, holders) = (self.lengths.len() as f64, holders as f64);
        (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
    }

    fn saturated(&self, passage: u32, count: u16) -> f64 {
        let length = self.lengths.get(passage as usize).copied().unwrap_or_default();
        let count = f64::from(count);
        let relative = f64::from(length) / self.mean_length.max(1.0);
        count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * relative))
    }
}

#[derive(Default)]
struct Match {
    score: f64,
    shared: f64,
    words: usize,
    names: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[&str]) -> Index {
        let passages: Vec<Vec<(Term, u16)>> = texts.iter().map(|text| terms("", text)).collect();
        Index::new(passages.iter().map(Vec::as_slice))
    }

    #[test]
    fn the_passage_about_it_comes_first_and_one_common_word_is_no_match() {
        let index = index(&[
            "The daemon reads the configuration at start.",
            "A page fetch waits at most fifteen seconds before the daemon gives up.",
            "The daemon was named by its authors.",
            "Вакцина была разработана в институте.",
        ]);
        let found = index.search("How long does the daemon wait for a page fetch?");
        assert_eq!(found.iter().map(|(passage, _)| *passage).collect::<Vec<_>>(), [1]);
        assert_eq!(index.search("вакцину разработали в институте").first().map(|(passage, _)| *passage), Some(3));
        assert!(index.search("the of and").is_empty() && index.search("").is_empty());
    }

    #[test]
    fn a_name_of_code_is_found_however_it_is_written() {
        let index = index(&["fn open() { let maxRetries = 5; }", "retries of the max kind", "fn close() {}"]);
        assert_eq!(index.search("max_retries is 5").first().map(|(passage, _)| *passage), Some(0));
    }
}
