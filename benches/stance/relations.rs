//! What each rule of the relations tells: on how many labelled pairs it holds, and what people say of those.

use std::collections::BTreeMap;
use std::path::Path;

use corroborate::judging::profile::TextProfile;
use corroborate::judging::relations::{relations, rule_ids};

use crate::sets::{Label, rows};

/// The sets with what they are written in.
const SETS: [(&str, &str); 9] = [
    ("healthver/pairs.jsonl", "en"),
    ("scifact_rte/pairs.jsonl", "en"),
    ("fm2/pairs.jsonl", "en"),
    ("climate_fever/pairs.jsonl", "en"),
    ("covid_fact/pairs.jsonl", "en"),
    ("wice/pairs_oracle.jsonl", "en"),
    ("terra_ru/pairs.jsonl", "ru"),
    ("lidirus/norm_pairs.jsonl", "ru"),
    ("rcb_ru/norm_pairs.jsonl", "ru"),
];
const LABELS: [Label; 4] = [Label::Entail, Label::Neutral, Label::Contradict, Label::NotEntail];

/// Pairs by label.
type Counts = [usize; LABELS.len()];

/// Prints a line a rule and language, and the pairs of no rule at all as what to hold them against. `names` are further
/// files below the data folder, in English.
pub(crate) fn run(data: &Path, most: usize, names: &[String]) -> Result<(), String> {
    let mut held: BTreeMap<(&str, &str), Counts> = BTreeMap::new();
    let mut all: BTreeMap<&str, Counts> = BTreeMap::new();
    let own = names.iter().map(|name| (name.as_str(), "en"));
    for (name, language) in SETS.into_iter().filter(|_| names.is_empty()).chain(own) {
        for row in rows(data, name, most).unwrap_or_default() {
            let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
            let label = LABELS.iter().position(|label| *label == row.label).unwrap_or_default();
            all.entry(language).or_default()[label] += 1;
            for rule in relations(&profile(&row.claim), &profile(&row.evidence)).rules() {
                held.entry((rule, language)).or_default()[label] += 1;
            }
        }
    }
    if all.is_empty() {
        return Err(format!("none of the labelled sets is in {}; name their folder with --data", data.display()));
    }
    println!(
        "{:<32} {:>8} {:>6} {:>8} {:>8} {:>10} {:>11}",
        "rule", "language", "pairs", "entail", "neutral", "contradict", "not entail"
    );
    for (language, counts) in &all {
        line("(all pairs)", language, *counts);
    }
    for rule in rule_ids() {
        let mut of_rule = held.iter().filter(|((known, _), _)| *known == rule).peekable();
        if of_rule.peek().is_none() {
            line(rule, "-", Counts::default());
        }
        of_rule.for_each(|((_, language), counts)| line(rule, language, *counts));
    }
    Ok(())
}

fn line(rule: &str, language: &str, counts: Counts) {
    let pairs: usize = counts.iter().sum();
    let [entail, neutral, contradict, not_entail] = counts.map(|count| count as f64 / pairs.max(1) as f64);
    println!("{rule:<32} {language:>8} {pairs:>6} {entail:>8.2} {neutral:>8.2} {contradict:>10.2} {not_entail:>11.2}");
}
