//! Sentences of judged pages for the evidence store.
//!
//! Each is stored once, with all pages that contain it.

use serde::Serialize;

use super::commit::{Commit, EvidenceClaimRow, rows};
use super::{StoreError, vector_text};
use crate::domain::ids;

#[derive(Serialize)]
struct EvidenceClaimJson<'a> {
    evidence_id: &'a str,
    claim_text: &'a str,
    claim_hash: String,
    embedding_text: String,
    entities: &'a [String],
    relevance: f64,
}

/// Returns JSON of the sentences to store first, and of those that repeat one. Sentences of two pages of an item are
/// then matched as in a later item.
pub(super) fn rows_of(commit: &Commit<'_>, similarity: f64) -> Result<(String, String), StoreError> {
    let (first, again) = without_repeats(&commit.evidence_claims, similarity);
    Ok((json(&first)?, json(&again)?))
}

/// Separates sentences whose cosine to an earlier one is at least `similarity`.
fn without_repeats(claims: &[EvidenceClaimRow], similarity: f64) -> (Vec<&EvidenceClaimRow>, Vec<&EvidenceClaimRow>) {
    let mut first: Vec<&EvidenceClaimRow> = Vec::with_capacity(claims.len());
    let mut again = Vec::new();
    for claim in claims {
        let repeats = first.iter().any(|known| cosine(&known.embedding, &claim.embedding) >= similarity);
        if repeats { again.push(claim) } else { first.push(claim) }
    }
    (first, again)
}

/// As the database computes it; 0 for an empty or zero vector.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

fn json(claims: &[&EvidenceClaimRow]) -> Result<String, StoreError> {
    let found: Vec<EvidenceClaimJson<'_>> = claims
        .iter()
        .map(|claim| EvidenceClaimJson {
            evidence_id: &claim.evidence_id,
            claim_text: &claim.claim_text,
            claim_hash: ids::sentence_hash(&claim.claim_text),
            embedding_text: vector_text(&claim.embedding),
            entities: &claim.entities,
            relevance: claim.relevance,
        })
        .collect();
    rows(&found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(page: &str, embedding: &[f32]) -> EvidenceClaimRow {
        EvidenceClaimRow {
            evidence_id: page.to_owned(),
            claim_text: format!("What {page} says."),
            embedding: embedding.to_vec(),
            entities: Vec::new(),
            relevance: 0.9,
        }
    }

    #[test]
    fn sentence_is_stored_once_when_several_pages_of_an_item_have_it() {
        let claims = [
            sentence("a", &[1.0, 0.0]),
            sentence("b", &[2.0, 0.01]),
            sentence("c", &[0.0, 1.0]),
            sentence("d", &[1.0, 0.0]),
            sentence("e", &[]),
            sentence("f", &[]),
        ];
        let pages = |of: Vec<&EvidenceClaimRow>| of.iter().map(|claim| claim.evidence_id.clone()).collect::<Vec<_>>();
        let (first, again) = without_repeats(&claims, 0.98);
        assert_eq!((pages(first).concat(), pages(again).concat()), ("acef".to_owned(), "bd".to_owned()));
        let (first, again) = without_repeats(&claims, 1.1);
        assert_eq!((first.len(), again.len()), (6, 0));
        assert!(without_repeats(&[], 0.98).0.is_empty());
    }
}
