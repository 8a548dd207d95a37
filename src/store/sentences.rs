//! The sentences of judged pages, by which they are found again: each once, with every page that says it.

use serde::Serialize;
use sqlx::{Postgres, Transaction};

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

/// A sentence said before, by this page or another (cosine at or above `similarity`), is not stored again: the page is
/// noted beside it instead, so that a sentence five papers print is known of all five.
pub(super) async fn write(
    transaction: &mut Transaction<'_, Postgres>,
    commit: &Commit<'_>,
    similarity: f64,
) -> Result<(), StoreError> {
    // What several pages of one item say must be found by the second as it would be in a later item: so those that repeat
    // another sentence of this item come when the first is stored.
    let (first, again) = without_repeats(&commit.evidence_claims, similarity);
    for claims in [first, again] {
        if !claims.is_empty() {
            write_all(transaction, &claims, commit.embedder, similarity).await?;
        }
    }
    Ok(())
}

/// Those that are no nearer than `similarity` to one before them, and the others.
fn without_repeats(claims: &[EvidenceClaimRow], similarity: f64) -> (Vec<&EvidenceClaimRow>, Vec<&EvidenceClaimRow>) {
    let mut first: Vec<&EvidenceClaimRow> = Vec::with_capacity(claims.len());
    let mut again = Vec::new();
    for claim in claims {
        let repeats = first.iter().any(|known| cosine(&known.embedding, &claim.embedding) >= similarity);
        if repeats { again.push(claim) } else { first.push(claim) }
    }
    (first, again)
}

/// As the database counts it; 0 where a vector is empty or nothing but zeros.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

async fn write_all(
    transaction: &mut Transaction<'_, Postgres>,
    claims: &[&EvidenceClaimRow],
    embedder: &str,
    similarity: f64,
) -> Result<(), StoreError> {
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
    // MATERIALIZED: the nearest neighbour is looked up once per sentence, through the index.
    sqlx::query(
        "WITH given AS MATERIALIZED (
             SELECT row.*, row.embedding_text::vector(384) AS embedding,
                 binary_quantize(row.embedding_text::vector(384))::bit(384) AS bits
             FROM jsonb_to_recordset($1::jsonb) AS row(evidence_id text, claim_text text, claim_hash text,
                 embedding_text text, entities jsonb, relevance double precision)),
         known AS MATERIALIZED (
             SELECT given.evidence_id, given.claim_hash, near.id
             FROM given LEFT JOIN LATERAL (
                 SELECT candidate.id FROM (
                     SELECT id, embedding FROM evidence_claims
                     WHERE embedder = $3
                     ORDER BY embedding_bits <~> given.bits
                     LIMIT 4) AS candidate
                 WHERE 1 - (candidate.embedding <=> given.embedding) >= $2
                 ORDER BY candidate.embedding <=> given.embedding LIMIT 1) AS near ON true),
         -- Held against removal; what is being removed is not waited for.
         held AS MATERIALIZED (
             SELECT id, evidence_id FROM evidence_claims WHERE id IN (SELECT id FROM known WHERE id IS NOT NULL)
             ORDER BY id FOR KEY SHARE SKIP LOCKED),
         echoed AS (
             INSERT INTO evidence_echoes (evidence_claim_id, evidence_id)
             SELECT DISTINCT held.id, known.evidence_id FROM known JOIN held USING (id)
             JOIN evidence_sources s ON s.id = known.evidence_id
             WHERE held.evidence_id <> known.evidence_id
             ORDER BY 1, 2
             ON CONFLICT DO NOTHING)
         INSERT INTO evidence_claims (evidence_id, claim_text, claim_hash, embedding, embedder, entities, avg_relevance)
         SELECT DISTINCT ON (given.evidence_id, given.claim_hash) given.evidence_id, given.claim_text, given.claim_hash,
             given.embedding, $3, given.entities, given.relevance
         FROM given JOIN known USING (evidence_id, claim_hash)
         WHERE known.id IS NULL AND EXISTS (SELECT 1 FROM evidence_sources s WHERE s.id = given.evidence_id)
         ON CONFLICT (evidence_id, claim_hash) DO NOTHING",
    )
    .bind(rows(&found)?)
    .bind(similarity)
    .bind(embedder)
    .execute(&mut **transaction)
    .await?;
    Ok(())
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
    fn what_several_pages_of_one_item_say_is_stored_once() {
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
