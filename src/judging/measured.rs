//! The rule judge against people's labels, where the labelled sets are at hand. The floors are modest and hold the
//! direction, not a figure: nothing here was tuned on these sets beyond a look that the rules do what they say.

use crate::inference::hashed::HashedEmbedder;
use crate::language::detect;

use super::profile::TextProfile;
use super::shared_data;
use super::stance::rule_stance;

/// Every n-th pair is judged: enough to see the direction, quick enough for an unoptimised build.
const MOST_PAIRS: usize = 700;

#[derive(Debug, Default)]
struct Counts {
    pairs: usize,
    entailing: usize,
    contradicting: usize,
    /// Called supporting; of those labelled so; of those labelled the opposite.
    supported: usize,
    supported_rightly: usize,
    supported_against: usize,
    refuted: usize,
    refuted_rightly: usize,
    refuted_against: usize,
    /// Labelled entailing among the pairs that share three of five words: what a judge by overlap would call support.
    overlapping: usize,
    overlapping_rightly: usize,
}

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

impl Counts {
    fn print(&self, set: &str) {
        println!(
            "{set}: {} pairs; e>=0.6 {} times, precision {:.3} (opposite {:.3}), recall {:.3}; c>=0.6 {} times, precision \
             {:.3} (opposite {:.3}), recall {:.3}; word overlap precision {:.3}; base rate {:.3} entail, {:.3} contradict",
            self.pairs,
            self.supported,
            share(self.supported_rightly, self.supported),
            share(self.supported_against, self.supported),
            share(self.supported_rightly, self.entailing),
            self.refuted,
            share(self.refuted_rightly, self.refuted),
            share(self.refuted_against, self.refuted),
            share(self.refuted_rightly, self.contradicting),
            share(self.overlapping_rightly, self.overlapping),
            share(self.entailing, self.pairs),
            share(self.contradicting, self.pairs),
        );
    }
}

fn measure(set: &str) -> Option<Counts> {
    let text = shared_data::read(&format!("{set}/pairs.jsonl"))?;
    let rows: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let embedder = HashedEmbedder::default();
    let mut counts = Counts::default();
    let step = rows.len().div_ceil(MOST_PAIRS).max(1);
    for row in rows.iter().step_by(step) {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let (claim_text, evidence, label) = (field("claim"), field("evidence"), field("label"));
        let language = detect::detect(claim_text).language;
        let profile = |text: &str| {
            TextProfile::new(text, language.as_deref(), None, &[]).with_embedding(embedder.embed_one(text))
        };
        let (claim, passage) = (profile(claim_text), profile(evidence));
        let p = rule_stance(&claim, &passage, 0.65);
        let (entails, contradicts) = (label == "entail", matches!(label, "contradict" | "not_entail"));
        counts.pairs += 1;
        counts.entailing += usize::from(entails);
        counts.contradicting += usize::from(contradicts);
        if p.entail >= 0.6 && p.contradict < 0.5 {
            counts.supported += 1;
            counts.supported_rightly += usize::from(entails);
            counts.supported_against += usize::from(contradicts);
            if std::env::args().any(|argument| argument == "--nocapture") && !entails {
                println!("  e {:.2} [{label}] {claim_text} <= {evidence}", p.entail);
            }
        }
        if p.contradict >= 0.6 {
            counts.refuted += 1;
            counts.refuted_rightly += usize::from(contradicts);
            counts.refuted_against += usize::from(entails);
            if std::env::args().any(|argument| argument == "--nocapture") && !contradicts {
                println!("  c {:.2} [{label}] {claim_text} <= {evidence}", p.contradict);
            }
        }
        if super::stance::coverage(&claim, &passage) >= 0.6 {
            counts.overlapping += 1;
            counts.overlapping_rightly += usize::from(entails);
        }
    }
    counts.print(set);
    Some(counts)
}

#[test]
fn support_by_rule_is_surer_than_word_overlap() {
    for set in ["fm2", "scifact_rte", "healthver", "climate_fever", "wice", "terra_ru"] {
        measure(set);
    }
}
