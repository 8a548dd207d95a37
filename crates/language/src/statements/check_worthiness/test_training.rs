//! Trains the English weights and measures them on unseen sentences.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{ALWAYS, ENGLISH, Weights, grams, of_kind, share, weighed};
use crate::statements::statements;
use crate::test_regression::{Column, fit};
use corroborate_labelled as labelled;

/// Whether annotators found it check-worthy.
type Row = (String, bool);

/// Rows without the intercept.
const MAX_ROWS: usize = 4000;
/// Minimum sentences with a word.
const MIN_SENTENCES: usize = 4;
/// Regularisation, by cross-validation.
const RIDGE: f64 = 3.3;

fn checkthat(part: &str) -> Option<Vec<Row>> {
    let text = labelled::read(&format!("checkthat2024_t1_en/CT24_checkworthy_english_{part}.tsv"))?;
    let row = |line: &str| {
        let mut fields = line.split('\t').skip(1);
        Some((fields.next()?.trim_matches('"').to_owned(), fields.next()?.trim() == "Yes"))
    };
    Some(text.lines().skip(1).filter_map(row).collect())
}

/// Reads the 2,000 held-out sentences of `ClaimBuster` ("CFS").
fn claimbuster() -> Option<Vec<Row>> {
    let text = labelled::read("claimbuster/norm.jsonl")?;
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).ok()?;
        (row["split"] == "disjoint2000").then_some(())?;
        Some((row["text"].as_str()?.to_owned(), row["label"] == "CFS"))
    };
    Some(text.lines().filter_map(row).collect())
}

fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect()
}

/// Returns the training part without the measured sentences.
fn lessons() -> Option<Vec<Row>> {
    let kept: HashSet<String> =
        checkthat("dev")?.iter().chain(&claimbuster()?).map(|(text, _)| letters(text)).collect();
    Some(checkthat("train")?.into_iter().filter(|(text, _)| !kept.contains(&letters(text))).collect())
}

/// Returns the table in hundredths.
fn learnt(rows: &[&Row]) -> Vec<(String, i32)> {
    let mut columns: BTreeMap<String, Column> = BTreeMap::new();
    for (at, (text, _)) in rows.iter().enumerate() {
        let (grams, words) = grams(text);
        for gram in grams {
            columns.entry(gram).or_default().push((at, share(words)));
        }
    }
    columns.retain(|_, column| column.len() >= MIN_SENTENCES);
    let labels: Vec<bool> = rows.iter().map(|row| row.1).collect();
    let always: Column = (0..rows.len()).map(|row| (row, 1.0)).collect();
    let all: Vec<(&String, &Column)> = columns.iter().collect();
    let fitted = |columns: &[(&String, &Column)]| {
        fit(&std::iter::once(&always).chain(columns.iter().map(|pair| pair.1)).collect::<Vec<_>>(), &labels, RIDGE)
    };
    let first = fitted(&all);
    let strength = |at: usize| first[at + 1].abs() * (all[at].1.len() as f64).sqrt();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| strength(*b).total_cmp(&strength(*a)));
    order.truncate(MAX_ROWS);
    order.sort_unstable();
    let kept: Vec<(&String, &Column)> = order.iter().map(|at| all[*at]).collect();
    let names = std::iter::once(ALWAYS.to_owned()).chain(kept.iter().map(|pair| pair.0.clone()));
    let weights = fitted(&kept).into_iter().map(|weight| (weight * 100.0).round() as i32);
    names.zip(weights).filter(|row| row.1 != 0).collect()
}

fn table(rows: &[(String, i32)]) -> Weights<'_> {
    rows.iter().map(|(gram, weight)| (gram.as_str(), f64::from(*weight) / 100.0)).collect()
}

/// Scores the best statement, as the daemon does.
fn scored(weights: &Weights<'_>, text: &str) -> f64 {
    let score = |text: &str| 1.0 / (1.0 + f64::exp(-weighed(weights, text)));
    let all = statements(text, None, Some("en"), 9);
    all.iter().map(|statement| of_kind(statement.kind, score(&statement.text))).fold(0.0, f64::max)
}

fn f1(scored: &[(f64, bool)], threshold: f64) -> f64 {
    let positive = scored.iter().filter(|(score, _)| *score >= threshold).count();
    let both = scored.iter().filter(|(score, worthy)| *score >= threshold && *worthy).count();
    2.0 * both as f64 / (positive + scored.iter().filter(|(_, worthy)| *worthy).count()) as f64
}

fn best_threshold(scored: &[(f64, bool)]) -> (f64, f64) {
    let tried = (1..100).map(|percent| f64::from(percent) / 100.0).map(|at| (f1(scored, at), at));
    tried.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
}

#[test]
fn the_weights_are_what_the_sentences_teach() {
    let Some(rows) = lessons() else { return };
    #[expect(clippy::disallowed_methods, reason = "a switch for people who measure")]
    if std::env::var_os("CORROBORATE_MEASURE_ALL").is_some() {
        learn_all(&rows);
    }
    let weight = |gram: &str| ENGLISH.get(gram).copied().unwrap_or_default();
    assert!(weight("percent") > 0.3 && weight("voted") > 0.3 && weight("0") > 0.1);
    assert!(weight("have to") < -0.5 && weight("let's") < -0.5 && weight("hope") < -0.5);
    // A part shows the strongest weights too.
    let known: HashMap<String, i32> = learnt(&rows.iter().step_by(8).collect::<Vec<_>>()).into_iter().collect();
    let strong = ENGLISH.iter().filter(|pair| pair.1.abs() > 0.5);
    let met: Vec<bool> =
        strong.filter_map(|(gram, weight)| Some(known.get(*gram)?.signum() == weight.signum() as i32)).collect();
    let alike = met.iter().filter(|alike| **alike).count();
    println!("{alike} of {} strong weights have their sign from an eighth of the sentences", met.len());
    assert!(met.len() > 50 && alike * 100 >= met.len() * 85);
}

/// Prints the table and the threshold of five-fold cross-validation.
fn learn_all(rows: &[Row]) {
    let mut apart = Vec::new();
    for part in 0..5 {
        let others: Vec<&Row> = rows.iter().enumerate().filter(|(at, _)| at % 5 != part).map(|pair| pair.1).collect();
        let learnt = learnt(&others);
        let weights = table(&learnt);
        apart.extend(rows.iter().skip(part).step_by(5).map(|(text, worthy)| (scored(&weights, text), *worthy)));
    }
    println!("cross-validated on {} sentences: best F1 and its threshold {:?}", rows.len(), best_threshold(&apart));
    let all = learnt(&rows.iter().collect::<Vec<_>>());
    for (gram, weight) in &all {
        println!("WEIGHT {gram}\t{weight}");
    }
    assert_eq!(table(&all), *ENGLISH);
}

/// Area under the ROC curve.
fn auc(scored: &[(f64, bool)]) -> f64 {
    let mut sorted: Vec<&(f64, bool)> = scored.iter().collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positives = scored.iter().filter(|pair| pair.1).count() as f64;
    let negatives = scored.len() as f64 - positives;
    let ranks: f64 = sorted.iter().enumerate().filter(|(_, pair)| pair.1).map(|(rank, _)| rank as f64 + 1.0).sum();
    (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives)
}

#[test]
fn check_worthy_sentences_rank_higher() {
    // The threshold of the cross-validation.
    for (name, rows, area, least) in [
        ("CheckThat, development part", checkthat("dev"), 0.94, 0.82),
        ("ClaimBuster, kept apart", claimbuster(), 0.83, 0.6),
    ] {
        let Some(rows) = rows else { return };
        let rows: Vec<(f64, bool)> = rows.into_iter().map(|(text, worthy)| (scored(&ENGLISH, &text), worthy)).collect();
        println!("{name}: {} sentences, AUC {:.3}, F1 {:.3}", rows.len(), auc(&rows), f1(&rows, 0.3));
        assert!(auc(&rows) > area && f1(&rows, 0.3) > least);
    }
}
