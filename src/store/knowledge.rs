//! The evidence store: sentences nearest in meaning, facts shipped with the program, usage counts.
//!
//! A vector index preselects neighbours; the exact cosine ranks them. Vectors of different models are never compared.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::Serialize;
use sqlx::FromRow;

use super::commit::rows;
use super::{Store, StoreError, vector_text};

/// Neighbours by bit vectors before ranking by cosine: the index's `ef_search`, so it returns no more.
const NEIGHBOURS: i64 = 40;

/// Uses per statement, and statements per call.
const MOST_COUNTED: i32 = 500;
const ROUNDS: usize = 40;

/// Last day of the calendar. `infinity` is not a chrono date.
fn never() -> DateTime<Utc> {
    chrono::NaiveDate::from_ymd_opt(9999, 12, 31)
        .and_then(|day| day.and_hms_opt(0, 0, 0))
        .map_or(DateTime::<Utc>::MAX_UTC, |moment| moment.and_utc())
}

#[derive(Debug, Clone)]
pub struct NearestQuery<'a> {
    pub embedding: &'a [f32],
    /// Only vectors of this model are compared.
    pub embedder: &'a str,
    /// Minimum cosine.
    pub similarity: f64,
}

/// A sentence of several pages is returned once per page.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct NearEvidence {
    pub url: String,
    /// Target of a redirect, if different.
    pub final_url: Option<String>,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    pub sentence: String,
    /// Cosine. Usage counts are ignored: old sentences would hide newer pages.
    pub similarity: f64,
}

pub trait EvidenceIndex: Send + Sync + std::fmt::Debug {
    /// Returns the nearest sentences of readable, unexpired pages, nearest first; among equals, the page fetched last.
    fn nearest<'a>(&'a self, wanted: NearestQuery<'a>) -> BoxFuture<'a, Result<Vec<NearEvidence>, StoreError>>;
}

impl EvidenceIndex for Store {
    fn nearest<'a>(&'a self, wanted: NearestQuery<'a>) -> BoxFuture<'a, Result<Vec<NearEvidence>, StoreError>> {
        Box::pin(async move { self.again(|| self.nearest_evidence(&wanted)).await })
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct SeedRow {
    pub id: String,
    pub url: String,
    pub domain: String,
    pub title: String,
    pub publisher: String,
    pub language: String,
    pub text: String,
    pub source_type: String,
    pub content_hash: String,
    pub claim_hash: String,
    /// Made by [`SeedRow::vector`].
    pub embedding: String,
    pub entities: Vec<String>,
}

impl SeedRow {
    pub fn vector(embedding: &[f32]) -> String {
        vector_text(embedding)
    }
}

/// A use of a stored sentence for a claim.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct EvidenceUse {
    pub evidence_id: String,
    /// Hash of the stored sentence.
    pub claim_hash: String,
    /// Hash of the item's own evidence.
    pub passage_hash: String,
    pub relevance: f64,
    /// Whether a verdict depends on it.
    pub deciding: bool,
}

impl Store {
    async fn nearest_evidence(&self, wanted: &NearestQuery<'_>) -> Result<Vec<NearEvidence>, StoreError> {
        Ok(sqlx::query_as(
            "WITH ranked AS MATERIALIZED (
                 SELECT id, evidence_id, claim_text, similarity FROM near_sentences($1::vector, $2, now(), $4)),
             said AS (
                 SELECT id, evidence_id FROM ranked
                 UNION
                 SELECT echo.evidence_claim_id, echo.evidence_id FROM evidence_echoes echo JOIN ranked
                     ON ranked.id = echo.evidence_claim_id)
             SELECT page.url, page.final_url, page.title, page.published_at, page.language,
                 ranked.claim_text AS sentence, similarity
             FROM ranked JOIN said USING (id) JOIN evidence_sources page ON page.id = said.evidence_id
             WHERE similarity >= $3 AND page.expires_at > now() AND NOT page.extraction_failed
                 AND page.failure IS DISTINCT FROM 'not_found'
                 -- The operator's own texts are asked for themselves, each time.
                 AND page.origin IN ('web', 'kb')
             ORDER BY similarity DESC, page.fetched_at DESC, page.url",
        )
        .bind(vector_text(wanted.embedding))
        .bind(wanted.embedder)
        .bind(wanted.similarity)
        .bind(NEIGHBOURS)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Returns the usage count of each page's most used sentence.
    pub async fn access_counts(&self, ids: &[String]) -> Result<Vec<(String, i32)>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        Ok(sqlx::query_as(
            "SELECT said.evidence_id, max(said.access_count + noted.uses)
             FROM evidence_claims said CROSS JOIN LATERAL (
                 SELECT (SELECT count(*) FROM evidence_uses WHERE evidence_claim_id = said.id)::integer
                     + coalesce((SELECT access_count FROM evidence_counters WHERE evidence_claim_id = said.id), 0) AS uses) AS noted
             WHERE said.evidence_id = ANY($1) AND said.access_count + noted.uses > 0 GROUP BY said.evidence_id",
        )
        .bind(ids)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Adds recorded uses to the counters. Any process may call it at any time.
    pub async fn count_uses(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let counted: i64 =
                sqlx::query_scalar("SELECT count_uses($1)").bind(MOST_COUNTED).fetch_one(&self.pool).await?;
            if counted < i64::from(MOST_COUNTED) {
                break;
            }
        }
        Ok(())
    }

    pub async fn last_sentence(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM evidence_claims").fetch_one(&self.pool).await?)
    }

    /// Returns the next sentences (id, text) after `after` with vectors of another model.
    pub async fn embedded_otherwise(
        &self,
        embedder: &str,
        after: i64,
        most: i64,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let found = sqlx::query_as(
            // Per model name, because `<>` uses no index and would read all sentences.
            "WITH RECURSIVE names (name) AS (
                 SELECT min(embedder) FROM evidence_claims
                 UNION ALL
                 SELECT (SELECT min(embedder) FROM evidence_claims WHERE embedder > name) FROM names WHERE name IS NOT NULL)
             SELECT id, claim_text FROM names CROSS JOIN LATERAL (
                 SELECT id, claim_text FROM evidence_claims said WHERE said.embedder = name AND id > $1
                 ORDER BY said.embedder, id LIMIT $3) AS others
             WHERE name <> $2 ORDER BY id LIMIT $3",
        );
        Ok(found.bind(after).bind(embedder).bind(most).fetch_all(&self.pool).await?)
    }

    /// Replaces vectors and returns their number. Skips removed and locked sentences; call [`Self::embedded_otherwise`]
    /// again.
    pub async fn embed_again(&self, vectors: &[(i64, Vec<f32>)], embedder: &str) -> Result<u64, StoreError> {
        #[derive(Serialize)]
        struct VectorRow {
            id: i64,
            embedding: String,
        }
        let given: Vec<VectorRow> =
            vectors.iter().map(|(id, vector)| VectorRow { id: *id, embedding: vector_text(vector) }).collect();
        // In id order and without waiting, to avoid deadlocks.
        let done = sqlx::query(
            "WITH given AS (SELECT id, embedding FROM jsonb_to_recordset($1::jsonb) AS row(id bigint, embedding text)),
             held AS (
                 SELECT said.id FROM evidence_claims said JOIN given USING (id)
                 ORDER BY said.id FOR NO KEY UPDATE OF said SKIP LOCKED)
             UPDATE evidence_claims said SET embedding = given.embedding::vector(384), embedder = $2
             FROM given JOIN held USING (id) WHERE said.id = given.id",
        );
        Ok(done.bind(rows(&given)?).bind(embedder).execute(&self.pool).await?.rows_affected())
    }

    /// Returns true if exactly these facts (by sentence hash) have vectors of that model.
    pub async fn has_seeds(&self, sentences: &[String], embedder: &str) -> Result<bool, StoreError> {
        let (known, other): (i64, i64) = sqlx::query_as(
            "SELECT count(*) FILTER (WHERE said.claim_hash = ANY($1) AND said.embedder = $2),
                 count(*) FILTER (WHERE NOT coalesce(said.claim_hash = ANY($1), false))
             FROM evidence_sources page LEFT JOIN evidence_claims said ON said.evidence_id = page.id
             WHERE page.origin = 'kb'",
        )
        .bind(sentences)
        .bind(embedder)
        .fetch_one(&self.pool)
        .await?;
        Ok(other == 0 && usize::try_from(known).is_ok_and(|known| known == sentences.len()))
    }

    /// Installs the shipped facts: adds, replaces, retires, and updates vectors of other models, with counters kept.
    pub async fn install_seeds(&self, seeds: &[SeedRow], embedder: &str) -> Result<(), StoreError> {
        let given = rows(seeds)?;
        self.in_time(async {
            let mut transaction = self.transaction().await?;
        // Several processes may start at once.
        sqlx::query("SELECT pg_advisory_xact_lock(hashtext('corroborate seed facts'))")
            .execute(&mut *transaction)
            .await?;
        // A retired fact stays readable while items cite it, but is no longer found.
        sqlx::query(
            "WITH given AS (SELECT id, claim_hash FROM jsonb_to_recordset($1::jsonb) AS row(id text, claim_hash text)),
             gone AS (
                 UPDATE evidence_sources SET origin = 'web', expires_at = now()
                 WHERE origin = 'kb' AND id NOT IN (SELECT id FROM given) RETURNING id)
             DELETE FROM evidence_claims said WHERE evidence_id IN (SELECT id FROM gone) OR EXISTS (
                 SELECT 1 FROM given WHERE given.id = said.evidence_id AND given.claim_hash <> said.claim_hash)",
        )
        .bind(&given)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO evidence_sources (id, url, domain, title, language, raw_text, source_type, content_hash, publisher,
                 origin, fetched_at, expires_at)
             SELECT id, url, domain, title, language, text, source_type, content_hash, publisher, 'kb', now(), $2
             FROM jsonb_to_recordset($1::jsonb) AS row(id text, url text, domain text, title text, language text,
                 text text, source_type text, content_hash text, publisher text)
             ORDER BY id
             ON CONFLICT (id) DO UPDATE SET title = excluded.title, raw_text = excluded.raw_text,
                 content_hash = excluded.content_hash, publisher = excluded.publisher, origin = 'kb',
                 fetched_at = excluded.fetched_at, expires_at = excluded.expires_at",
        )
        .bind(&given)
        .bind(never())
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO evidence_claims (evidence_id, claim_text, claim_hash, embedding, embedder, entities)
             SELECT id, text, claim_hash, embedding::vector(384), $2, entities
             FROM jsonb_to_recordset($1::jsonb) AS row(id text, text text, claim_hash text, embedding text, entities jsonb)
             ORDER BY id
             ON CONFLICT (evidence_id, claim_hash) DO UPDATE SET embedding = excluded.embedding,
                 embedder = excluded.embedder, entities = excluded.entities",
        )
        .bind(&given)
        .bind(embedder)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
}).await
    }
}
