//! The weights of the lexical leaning: a logistic regression, entailing against the rest, each side weighing half.

use std::path::Path;

use corroborate::judging::profile::TextProfile;
use corroborate::judging::stance::leaning::{NAMES, figures};

use super::sets::{self, Label};

/// Steps of plain gradient descent over standardised figures; after some hundred the third digit no longer moves.
const STEPS: usize = 2_000;
const STEP: f64 = 0.5;

pub(crate) fn run(data: &Path, most: usize) -> Result<(), String> {
    let rows = sets::rows(data, "nli_train/mnli.jsonl", most).ok_or("there is nothing to fit to")?;
    let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
    let all: Vec<([f64; NAMES.len()], bool)> = rows
        .iter()
        .filter_map(|row| Some((figures(&profile(&row.claim), &profile(&row.evidence))?, row.label == Label::Entail)))
        .collect();
    let entailing = all.iter().filter(|(_, entails)| *entails).count();
    let weight = |entails: bool| 0.5 / if entails { entailing } else { all.len() - entailing }.max(1) as f64;
    let mean = |at: usize| all.iter().map(|(f, _)| f[at]).sum::<f64>() / all.len() as f64;
    let means: Vec<f64> = (0..NAMES.len()).map(mean).collect();
    let spread =
        |at: usize| (all.iter().map(|(f, _)| (f[at] - means[at]).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
    let spreads: Vec<f64> = (0..NAMES.len()).map(|at| spread(at).max(1e-9)).collect();
    let (mut weights, mut intercept) = (vec![0.0f64; NAMES.len()], 0.0f64);
    for _ in 0..STEPS {
        let (mut slope, mut rise) = (vec![0.0f64; NAMES.len()], 0.0f64);
        for (f, entails) in &all {
            let scaled = |at: usize| (f[at] - means[at]) / spreads[at];
            let sum = (0..NAMES.len()).fold(intercept, |sum, at| sum + weights[at] * scaled(at));
            let error = (1.0 / (1.0 + (-sum).exp()) - f64::from(u8::from(*entails))) * weight(*entails);
            rise += error;
            for (at, slope) in slope.iter_mut().enumerate() {
                *slope += error * scaled(at);
            }
        }
        intercept -= STEP * rise;
        for (weight, slope) in weights.iter_mut().zip(&slope) {
            *weight -= STEP * slope;
        }
    }
    let plain = (0..NAMES.len()).fold(intercept, |sum, at| sum - weights[at] * means[at] / spreads[at]);
    println!("{} pairs, {entailing} entailing\nintercept {plain:.3}", all.len());
    for (at, name) in NAMES.iter().enumerate() {
        println!("{:+.3}  {name}", weights[at] / spreads[at]);
    }
    Ok(())
}
