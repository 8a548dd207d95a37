//! Compares letter frequencies of Cyrillic languages if no word decides.
//!
//! `alphabets.tsv` has letters per thousand in the Universal Declaration of Human Rights. To add a language: a line
//! there, and a profile in [`super`].

use std::collections::HashMap;
use std::sync::LazyLock;

/// Marks per nat. More confused Russian with its neighbours on single sentences.
const WEIGHT: f64 = 0.2;
/// Letters that count; with more, words decide.
const ENOUGH: f64 = 60.0;
/// Frequency of absent letters, because of names and quotations.
const LEAST: f64 = 0.0005;
/// From U+0400.
const WIDTH: usize = 0x130;

static ALPHABETS: LazyLock<HashMap<&'static str, Vec<f64>>> = LazyLock::new(|| {
    let lines = include_str!("alphabets.tsv").lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(code, letters)| {
            let mut table = vec![LEAST.ln(); WIDTH];
            for entry in letters.split(' ') {
                let mut rest = entry.chars();
                let slot = rest.next().and_then(place).and_then(|place| table.get_mut(place));
                if let (Some(slot), Ok(thousandths)) = (slot, rest.as_str().parse::<f64>()) {
                    *slot = (thousandths / 1000.0).ln();
                }
            }
            (code, table)
        })
        .collect()
});

fn place(letter: char) -> Option<usize> {
    (letter as usize).checked_sub(0x0400).filter(|place| *place < WIDTH)
}

/// Adds the marks of lower-case words to each language.
pub(super) fn add_letters(words: &[String], scores: &mut [(f64, &'static str)]) {
    let mut counts = vec![0.0; WIDTH];
    let mut all = 0.0;
    for letter in words.iter().flat_map(|word| word.chars()).filter_map(place) {
        if let Some(count) = counts.get_mut(letter) {
            *count += 1.0;
            all += 1.0;
        }
    }
    let weight = WEIGHT * (ENOUGH / f64::max(all, 1.0)).min(1.0);
    for (score, code) in scores {
        let likelihood = |table: &Vec<f64>| -> f64 { table.iter().zip(&counts).map(|(log, count)| log * count).sum() };
        *score += weight * ALPHABETS.get(*code).map_or(LEAST.ln() * all, likelihood);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_its_letters() {
        for profile in super::super::PROFILES {
            let table = &ALPHABETS[profile.code];
            let sum: f64 = table.iter().map(|log| log.exp()).filter(|share| *share > 1.5 * LEAST).sum();
            assert!((0.97..1.03).contains(&sum), "{}: {sum}", profile.code);
        }
    }
}
