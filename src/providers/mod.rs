//! Providers of evidence: one folder each. A provider turns a query into reviews and hits, and says honestly when it
//! could not ask.

use std::fmt::Debug;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::domain::evidence::Review;

/// What is asked. Every provider builds its own request from it, within its own rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Free text, one line, at most some 200 characters. Never holds operators.
    pub text: String,
    /// Words and phrases that matter most, best first; for providers that cannot take a sentence.
    pub terms: Vec<String>,
    /// ISO 639-1 language of the text.
    pub language: Option<String>,
    /// Only these domains, where the provider can restrict (empty: everywhere).
    pub domains: Vec<String>,
    /// The date the claim speaks of or was published; a provider may narrow its window around it.
    pub around: Option<DateTime<Utc>>,
    /// How many results are wanted.
    pub limit: usize,
}

/// One search result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub url: String,
    pub title: String,
    /// Plain text, entities decoded; empty when the provider gives none.
    pub snippet: String,
    /// Publication time, when the provider is known to give that (not GDELT's crawl time).
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    /// Provider's name.
    pub provider: &'static str,
}

/// What came back. Both empty means "asked, and nothing was found".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub reviews: Vec<Review>,
}
