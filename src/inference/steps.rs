//! Replaceable pipeline steps: claim extraction and adjudication.
//!
//! The language model implements both; a program with this library can add its own (`pipeline::Steps`,
//! `examples/own_steps.rs`). Results are checked by the caller: a claim needs support in its text, and a stance never
//! makes a verdict conclusive alone.

use std::fmt::Debug;
use std::time::Duration;

use chrono::NaiveDate;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::domain::evidence::Adjudication;
use crate::domain::item::ItemSourceKind;
use crate::domain::verdict::{ClaimKind, Verdict};

/// A message for a person. The item continues without the step and records the failure.
pub type StepError = Box<dyn std::error::Error + Send + Sync>;

/// Extracts the claims of one text.
pub trait ClaimExtractor: Send + Sync + Debug {
    /// Returns the name in traces and failures: `desk`, `model_failed:desk`. Language models begin with `llm:`.
    fn name(&self) -> &str;
    /// Returns the claims before `until`. `None`: the rules' claims are used.
    fn extract<'a>(
        &'a self,
        text: &'a TextData<'a>,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<Extraction>, StepError>>;
}

/// Returns the stance of each passage for its claim.
pub trait Adjudicator: Send + Sync + Debug {
    /// Returns the name in traces and results, such as `desk` in `rules+own:desk`. Language models begin with `llm:`.
    fn name(&self) -> &str;
    /// Returns the time that retrieval reserves for the step.
    fn patience(&self) -> Duration;
    /// Returns one answer per claim, in order, with stances parallel to its passages. `None`: there was no question.
    fn adjudicate<'a>(
        &'a self,
        item: &'a ItemData<'a>,
        claims: &'a [ClaimData<'a>],
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<Vec<ClaimAdjudication>>, StepError>>;
}

#[derive(Debug, Clone, Copy)]
pub struct TextData<'a> {
    pub kind: ItemSourceKind,
    pub text: &'a str,
    pub title: Option<&'a str>,
    /// Reference day for "yesterday".
    pub written: NaiveDate,
    /// English name: `English`, `Russian` …
    pub language: &'a str,
    /// Maximum claims.
    pub most: usize,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extraction {
    pub kind: Option<ClaimKind>,
    pub claims: Vec<ExtractedClaim>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedClaim {
    pub text: String,
    pub kind: ClaimKind,
    pub entities: Vec<String>,
    /// Why the claim can be checked.
    pub why: Option<String>,
    /// Check-worthiness, 0–1; `None`: by the rules.
    pub worth: Option<f64>,
}

#[derive(Debug, Clone)]
pub struct ClaimData<'a> {
    pub text: &'a str,
    pub date: Option<NaiveDate>,
    /// Best ranked first.
    pub passages: Vec<PassageData<'a>>,
}

#[derive(Debug, Clone)]
pub struct PassageData<'a> {
    pub text: &'a str,
    pub title: Option<&'a str>,
    pub domain: &'a str,
    pub published: Option<NaiveDate>,
    pub is_fact_checker: bool,
    /// 0–1.
    pub credibility: f64,
    /// Passages of one group are one independent source.
    pub group: &'a str,
}

#[derive(Debug, Clone, Copy)]
pub struct ItemData<'a> {
    pub today: NaiveDate,
    /// Language of justifications, by its English name.
    pub language: &'a str,
    /// A note from upstream, handled as data.
    pub additional_context: Option<&'a str>,
}

/// The answer for one claim, parallel to its passages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimAdjudication {
    pub stances: Vec<Option<Adjudication>>,
    pub verdict: Option<Verdict>,
    /// `[N]` cites a passage, from 1. Shown only if the passages support it.
    pub justification: String,
}

impl ClaimAdjudication {
    /// Returns an empty answer.
    pub fn of(passages: usize) -> Self {
        Self { stances: vec![None; passages], ..Self::default() }
    }
}
