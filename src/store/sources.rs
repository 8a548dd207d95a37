//! The row of a stored page.
//!
//! Each page is stored once, whichever items read it.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::domain::evidence::Review;

#[derive(Debug, Clone, Serialize)]
pub struct SourceRow {
    pub id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    #[serde(serialize_with = "super::commit::date")]
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    /// Main text, one line per paragraph; the operator's own documents unchanged.
    pub raw_text: String,
    pub source_type: String,
    pub content_hash: Option<String>,
    pub independent_group: Option<String>,
    pub canonical: Option<String>,
    /// Address after redirects, if different.
    pub final_url: Option<String>,
    pub based_on: Vec<String>,
    /// Fact-checks (`ClaimReview`) in its markup.
    pub claim_reviews: Vec<Review>,
    pub publisher: Option<String>,
    pub extraction_failed: bool,
    /// Cause of missing text, e.g. `paywall`.
    pub failure: Option<String>,
    /// Server's validators for conditional requests.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Origin of the text: `web` for a fetched page.
    pub origin: &'static str,
    pub fetched_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}
