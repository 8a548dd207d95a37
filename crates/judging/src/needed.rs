//! Simulates the NLI model that the rules need: the share of right verdicts on `climate_fever` for calibrated models of
//! rising accuracy. Reads no text.

use std::f64::consts::TAU;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::verdict::Verdict;
use corroborate_labelled as labelled;

use super::samples::{context, passage};
use super::verdicts::assess;

/// Equidistant positions of the labels (entail, neutral, contradict).
const CORNERS: [[f64; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]];
const DRAWS: u64 = 5;

/// A claim: its verdict, and article and label of each sentence.
struct LabelledClaim {
    verdict: Verdict,
    passages: Vec<(String, usize)>,
}

fn claims() -> Option<Vec<LabelledClaim>> {
    let text = labelled::read("climate_fever/claims.jsonl")?;
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let labelled = rows.map(|row| {
        let verdict = match row["claim_label"].as_str() {
            Some("SUPPORTS") => Verdict::Supported,
            Some("REFUTES") => Verdict::Refuted,
            Some("DISPUTED") => Verdict::Contested,
            _ => Verdict::NotEnoughEvidence,
        };
        let passages = row["evidences"].as_array().unwrap().iter().map(|evidence| {
            let label = match evidence["evidence_label"].as_str() {
                Some("SUPPORTS") => 0,
                Some("REFUTES") => 2,
                _ => 1,
            };
            (evidence["article"].as_str().unwrap_or_default().to_owned(), label)
        });
        LabelledClaim { verdict, passages: passages.collect() }
    });
    Some(labelled.collect())
}

fn normal(rng: &mut StdRng) -> f64 {
    let (one, other): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - one).ln()).sqrt() * (TAU * other).cos()
}

/// The exact Bayes probabilities of a model that sees the label's corner `clearness` standard deviations from the
/// others and knows the label shares.
fn seen(label: usize, clearness: f64, shares: [f64; 3], rng: &mut StdRng) -> [f64; 3] {
    let point = CORNERS[label].map(|at| clearness * at + normal(rng));
    let near = |corner: [f64; 2]| {
        let apart: f64 = corner.iter().zip(point).map(|(at, seen)| (clearness * at - seen).powi(2)).sum();
        (-apart / 2.0).exp()
    };
    let weights = [0, 1, 2].map(|label| shares[label] * near(CORNERS[label]));
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

fn verdict(claim: &LabelledClaim, probabilities: &[[f64; 3]]) -> Verdict {
    let judged: Vec<JudgedPassage> = (1..)
        .zip(claim.passages.iter().zip(probabilities))
        .map(|(rank, ((article, _), &[entail, _, contradict]))| JudgedPassage {
            independent_group: article.clone(),
            rank,
            ..passage(&format!("p{rank}"), entail, contradict)
        })
        .collect();
    assess(&context(), &judged, &[]).verdict
}

fn auc(mut scored: Vec<(f64, bool)>) -> f64 {
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut won, mut entailing) = (0_usize, 0_usize, 0_usize);
    for (_, entails) in scored {
        if entails {
            won += below;
            entailing += 1;
        } else {
            below += 1;
        }
    }
    won as f64 / (below * entailing).max(1) as f64
}

/// Shares of right verdicts and right passages, and the AUC of "entails".
fn draw(claims: &[LabelledClaim], clearness: f64, shares: [f64; 3], rng: &mut StdRng) -> [f64; 3] {
    let (mut right, mut read, mut scored) = (0, 0, Vec::new());
    for claim in claims {
        let judged: Vec<[f64; 3]> =
            claim.passages.iter().map(|(_, label)| seen(*label, clearness, shares, rng)).collect();
        right += usize::from(verdict(claim, &judged) == claim.verdict);
        for (probabilities, (_, label)) in judged.iter().zip(&claim.passages) {
            read += usize::from(probabilities.iter().all(|other| *other <= probabilities[*label]));
            scored.push((probabilities[0], *label == 0));
        }
    }
    let pairs = scored.len() as f64;
    [right as f64 / claims.len() as f64, read as f64 / pairs, auc(scored)]
}

#[test]
fn verdicts_by_how_much_a_calibrated_model_knows() {
    let Some(claims) = claims() else { return };
    let mut shares = [0.0; 3];
    let labels: Vec<usize> = claims.iter().flat_map(|claim| claim.passages.iter().map(|(_, label)| *label)).collect();
    for label in &labels {
        shares[*label] += 1.0 / labels.len() as f64;
    }

    let labels_of = |claim: &LabelledClaim| -> Vec<[f64; 3]> {
        let sure = |label: usize| [0, 1, 2].map(|other| if other == label { 1.0 } else { 0.0 });
        claim.passages.iter().map(|(_, label)| sure(*label)).collect()
    };
    let known = claims.iter().filter(|claim| verdict(claim, &labels_of(claim)) == claim.verdict).count();
    println!("verdicts of {} claims with people's own labels: {:.3}", claims.len(), known as f64 / claims.len() as f64);

    let mut rng = StdRng::seed_from_u64(1);
    let mut before = 0.0;
    for clearness in [0.5, 1.0, 1.5, 1.75, 2.0, 3.0, 4.0] {
        let mut mean = [0.0; 3];
        for _ in 0..DRAWS {
            let drawn = draw(&claims, clearness, shares, &mut rng);
            mean.iter_mut().zip(drawn).for_each(|(mean, drawn)| *mean += drawn / DRAWS as f64);
        }
        let [right, read, auc] = mean;
        println!("  pairs read rightly {read:.3}, AUC of entails {auc:.3}: verdicts {right:.3}");
        assert!(right + 0.01 >= before, "who knows more is right less often: {right:.3} after {before:.3}");
        before = right;
    }
    assert!(known as f64 / claims.len() as f64 + 0.02 >= before);
}
