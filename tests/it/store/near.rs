//! The search for stored sentences near a claim.

use chrono::TimeDelta;
use corroborate::domain::verdict::Verdict;
use corroborate::domain::{Clock as _, SystemClock};
use corroborate::store::{EvidenceIndex as _, NearestQuery};
use sqlx::PgPool;

use super::written::{EMBEDDER, URL, Written, passage, vector, write};
use crate::support::database;

/// Sixty sentences of the operator's own texts, all nearer to the question than that of the page.
const OWN_TEXTS: &str = "WITH web AS (SELECT * FROM evidence_sources WHERE url = $1),
    own AS (INSERT INTO evidence_sources (id, url, domain, language, raw_text, source_type, content_hash, independent_group,
            extraction_failed, fetched_at, expires_at, origin)
        SELECT 'own:' || n, 'file:///own/' || n, 'own.example', language, raw_text, source_type, md5('own' || n), 'own:' || n,
            false, fetched_at, expires_at, 'corpus' FROM web, generate_series(1, 60) AS n
        RETURNING id),
    copied AS (INSERT INTO evidence_claims (evidence_id, claim_text, claim_hash, embedding, embedder)
        SELECT own.id, said.claim_text, md5(own.id), said.embedding, said.embedder
        FROM own, evidence_claims AS said JOIN web ON web.id = said.evidence_id)
    UPDATE evidence_claims SET embedding = $2::real[]::vector FROM web WHERE web.id = evidence_claims.evidence_id";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_texts_do_not_hide_pages() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let now = SystemClock.now() - TimeDelta::hours(1);
    let passages = vec![passage(URL, 0.9, 0.0)];
    write(&store, Written { item: "web", channel: None, verdict: Verdict::Supported, passages, now }).await.unwrap();
    let asked = vector(1);
    let mut farther = asked.clone();
    farther[2] = 0.5;
    let rows = PgPool::connect(&url).await.unwrap();
    sqlx::query(OWN_TEXTS).bind(URL).bind(farther).execute(&rows).await.unwrap();
    let found = store.nearest(NearestQuery { embedding: &asked, embedder: EMBEDDER, similarity: 0.5 }).await.unwrap();
    assert_eq!(found.iter().map(|near| near.url.as_str()).collect::<Vec<_>>(), [URL]);
}
