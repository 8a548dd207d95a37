//! Pages as they are stored, each once, however many items read it and however close together.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::domain::evidence::Review;

/// A page as stored.
#[derive(Debug, Clone, Serialize)]
pub struct SourceRow {
    pub id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    #[serde(serialize_with = "super::commit::date")]
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
