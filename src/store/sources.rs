//! Pages as they are stored, each once, however many items read it and however close together.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use super::StoreError;
use super::commit::rows;
use crate::domain::evidence::Review;

/// A page as stored.
#[derive(Debug, Clone, Serialize)]
pub struct SourceRow {
    pub id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    /// The main text, one line a paragraph; what is one's own as it was given.
    pub raw_text: String,
    pub source_type: String,
    pub content_hash: Option<String>,
    pub independent_group: Option<String>,
    pub canonical: Option<String>,
    /// After redirects, when that is another address.
    pub final_url: Option<String>,
    pub based_on: Vec<String>,
    /// The reviews in its markup.
    pub claim_reviews: Vec<Review>,
    pub publisher: Option<String>,
    pub extraction_failed: bool,
    /// Why there is no text, e.g. `paywall`.
    pub failure: Option<String>,
    /// As the server sent them, to ask whether the page has changed.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Where the text comes from: `web` for a page that was read.
    pub origin: &'static str,
    pub fetched_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// Writes pages in the order of their ids, so that two transactions with the same pages cannot deadlock.
pub(super) async fn write(connection: &mut PgConnection, sources: &[SourceRow]) -> Result<(), StoreError> {
    if sources.is_empty() {
        return Ok(());
    }
    let given = rows(sources)?;
    // Not `DO UPDATE`: that names one of the two unique indexes, and two items that read the same new page at the same
    // moment can meet on the other one, where the second would fail instead of waiting for the first.
    let inserted = sqlx::query(
        "INSERT INTO evidence_sources (id, url, domain, title, published_at, language, raw_text, source_type,
             content_hash, independent_group, canonical, final_url, based_on, claim_reviews, publisher, extraction_failed, failure, etag, last_modified,
             fetched_at, expires_at, origin)
         SELECT id, url, domain, title, published_at, language, raw_text, source_type, content_hash,
             independent_group, canonical, final_url, ARRAY(SELECT jsonb_array_elements_text(based_on)), claim_reviews, publisher,
             extraction_failed, failure, etag, last_modified, fetched_at, expires_at, origin
         FROM jsonb_to_recordset($1::jsonb) AS row(id text, url text, domain text, title text,
             published_at timestamptz, language text, raw_text text, source_type text, content_hash text,
             independent_group text, canonical text, final_url text, based_on jsonb, claim_reviews jsonb, publisher text, extraction_failed boolean,
             failure text, etag text, last_modified text, fetched_at timestamptz, expires_at timestamptz, origin text)
         ORDER BY id
         ON CONFLICT DO NOTHING",
    )
    .bind(&given)
    .execute(&mut *connection)
    .await?;
    if inserted.rows_affected() == sources.len() as u64 {
        return Ok(());
    }
    sqlx::query(
        "WITH given AS (
             SELECT * FROM jsonb_to_recordset($1::jsonb) AS row(id text, title text, published_at timestamptz,
                 language text, raw_text text, source_type text, content_hash text, independent_group text,
                 canonical text, final_url text, based_on jsonb, claim_reviews jsonb, publisher text, extraction_failed boolean, failure text,
                 etag text, last_modified text, fetched_at timestamptz, expires_at timestamptz, origin text)),
         -- Locked in one order everywhere, or two items with the same pages could wait for each other.
         known AS (
             SELECT stored.id FROM evidence_sources AS stored WHERE stored.id IN (SELECT id FROM given)
             ORDER BY stored.id FOR NO KEY UPDATE),
         -- A page that says something else now no longer says what was taken from it.
         gone AS (
             DELETE FROM evidence_claims AS sentence USING evidence_sources AS stored JOIN known USING (id) JOIN given USING (id)
             WHERE sentence.evidence_id = stored.id AND stored.content_hash <> given.content_hash
                 AND stored.fetched_at < given.fetched_at AND NOT given.extraction_failed)
         UPDATE evidence_sources AS stored SET title = given.title, published_at = given.published_at,
             language = given.language, raw_text = given.raw_text, source_type = given.source_type,
             content_hash = given.content_hash, independent_group = given.independent_group,
             canonical = given.canonical, final_url = given.final_url, based_on = ARRAY(SELECT jsonb_array_elements_text(given.based_on)),
             claim_reviews = given.claim_reviews, publisher = given.publisher, extraction_failed = given.extraction_failed, failure = given.failure,
             etag = given.etag, last_modified = given.last_modified, fetched_at = given.fetched_at, expires_at = given.expires_at,
             origin = given.origin
         FROM given JOIN known USING (id)
         WHERE stored.id = given.id
             -- What this statement's insert wrote, or somebody read at the same time, is as good.
             AND stored.fetched_at < given.fetched_at
             -- A fact that came with the program is no page that could be read anew.
             AND stored.origin <> 'kb'
             -- A page that could be read is never replaced by one that could not.
             AND (stored.extraction_failed OR NOT given.extraction_failed)",
    )
    .bind(&given)
    .execute(connection)
    .await?;
    Ok(())
}
