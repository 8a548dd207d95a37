//! Similarity by meaning and names; no stance, because a denial shares nearly all words.

use corroborate_language::entities;

use super::profile::TextProfile;

/// Mean of max(0, cosine) and entity overlap, 0–1; only the cosine without an entity (`docs/scoring.md`).
pub fn agreement(claim: &TextProfile, evidence_claim: &TextProfile) -> f64 {
    let near = cosine(claim, evidence_claim).max(0.0);
    match entity_overlap(claim, evidence_claim) {
        Some(overlap) => f64::midpoint(near, overlap).clamp(0.0, 1.0),
        None => near.clamp(0.0, 1.0),
    }
}

/// Weighted Jaccard of the names; `None` if the claim has none.
pub fn entity_overlap(claim: &TextProfile, evidence_claim: &TextProfile) -> Option<f64> {
    if claim.entities.is_empty() {
        return None;
    }
    entities::overlap(&claim.entities, &evidence_claim.entities)
}

/// Cosine of the embeddings, −1 to 1; 0 if one is missing, or length or space differ.
pub fn cosine(a: &TextProfile, b: &TextProfile) -> f64 {
    if a.embedding.len() != b.embedding.len() || a.space != b.space {
        return 0.0;
    }
    // Both have unit length; four sums let the compiler vectorise.
    let mut sums = [0.0f32; 4];
    let (left, right) = (a.embedding.chunks_exact(4), b.embedding.chunks_exact(4));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in left.zip(right) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    f64::from(sums.iter().sum::<f32>() + rest).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn profile(text: &str, embedding: &[f32]) -> TextProfile {
        TextProfile::new(text, Some("en"), None, &[]).with_embedding(embedding.to_vec())
    }

    #[test]
    fn names_count_half_where_the_claim_has_any() {
        let claim = profile("rain fell in the night", &[1.0, 0.0]);
        let near = profile("it rained", &[0.8, 0.6]);
        assert!((agreement(&claim, &near) - 0.8).abs() < 1e-6, "no name: the cosine alone");
        let named = profile("Kyiv saw rain", &[1.0, 0.0]);
        let same = profile("In Kiev it rained", &[0.8, 0.6]);
        let other = profile("In Lisbon it rained", &[0.8, 0.6]);
        assert!((agreement(&named, &same) - 0.9).abs() < 1e-6, "{}", agreement(&named, &same));
        assert!((agreement(&named, &other) - 0.4).abs() < 1e-6);
    }

    #[test]
    fn an_opposite_or_missing_meaning_counts_nothing() {
        let claim = profile("rain fell", &[1.0, 0.0]);
        assert!(agreement(&claim, &profile("words", &[-1.0, 0.0])).abs() < 1e-9);
        assert!(agreement(&claim, &profile("words", &[])).abs() < 1e-9);
        assert!(agreement(&claim, &profile("words", &[1.0, 0.0, 0.0])).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn agreement_is_bounded(a in "[A-Za-z ]{0,40}", b in "[A-Za-z ]{0,40}", x in prop::collection::vec(-1.0f32..1.0, 8), y in prop::collection::vec(-1.0f32..1.0, 8)) {
            let found = agreement(&profile(&a, &x), &profile(&b, &y));
            prop_assert!((0.0..=1.0).contains(&found));
        }
    }
}
