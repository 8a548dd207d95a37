//! Steps of the pipeline that can be another's: who takes the claims out of a text, and who says what passages say of them.
//! The language model is one implementation of each; a program that uses this library may bring its own
//! (`pipeline::Steps`, `examples/own_steps.rs`).
//!
//! Neither is believed for being there: a claim stands only where its text bears it out, and a stance is weighed beside the
//! judge in the process and makes nothing firm alone. Whoever implements one need not guard against that again.

use std::fmt::Debug;
use std::time::Duration;

use chrono::NaiveDate;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::domain::evidence::Adjudication;
use crate::domain::item::ItemSourceKind;
use crate::domain::verdict::{ClaimKind, Verdict};

/// Why a step could not be done, in words for a person. The item goes on without it, and says so.
pub type StepError = Box<dyn std::error::Error + Send + Sync>;

/// Takes the claims out of one text of an item.
pub trait ClaimExtractor: Send + Sync + Debug {
    /// A word for traces, and for items that went on without it: `desk`, `model_failed:desk`; a language model's begins with
    /// `llm:`.
    fn name(&self) -> &str;
    /// The claims, before `until`. `None` where it has nothing to say of this text: the rules' claims stand then.
    fn extract<'a>(
        &'a self,
        text: &'a TextData<'a>,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<Extracted>, StepError>>;
}

/// Says of each passage what it says of the claim it was found for.
pub trait Adjudicator: Send + Sync + Debug {
    /// A word for traces and results, where it stands beside the judge in the process: `rules+own:desk`; a language model's
    /// begins with `llm:`.
    fn name(&self) -> &str;
    /// How long it may take; retrieval leaves so much of an item's time to it.
    fn patience(&self) -> Duration;
    /// One answer for each claim, in order, its stances parallel to the claim's passages; `None` where there was nothing to
    /// ask about.
    fn adjudicate<'a>(
        &'a self,
        item: &'a ItemData<'a>,
        claims: &'a [ClaimData<'a>],
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<Vec<Adjudicated>>, StepError>>;
}

/// A text to take claims from.
#[derive(Debug, Clone, Copy)]
pub struct TextData<'a> {
    pub kind: ItemSourceKind,
    pub text: &'a str,
    pub title: Option<&'a str>,
    /// The day that "yesterday" is counted from.
    pub written: NaiveDate,
    /// For a reader: `English`, `Russian` …
    pub language: &'a str,
    /// Claims at most.
    pub most: usize,
}

/// What is said of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extracted {
    /// The kind of the whole text, where it was said.
    pub kind: Option<ClaimKind>,
    pub claims: Vec<ExtractedClaim>,
    /// The answer was cut: the text may hold more, and the rules' claims stand beside these.
    pub is_part: bool,
}

/// A claim as it was worded.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedClaim {
    pub text: String,
    pub kind: ClaimKind,
    pub entities: Vec<String>,
    /// Why it can be checked.
    pub why: Option<String>,
    /// Check-worthiness, 0–1; `None`: as the rules weigh it.
    pub worth: Option<f64>,
}

/// A claim of an item.
#[derive(Debug, Clone)]
pub struct ClaimData<'a> {
    pub text: &'a str,
    pub date: Option<NaiveDate>,
    /// Best ranked first.
    pub passages: Vec<PassageData<'a>>,
}

/// A passage with what a reader would want to know of it.
#[derive(Debug, Clone)]
pub struct PassageData<'a> {
    pub text: &'a str,
    pub title: Option<&'a str>,
    pub domain: &'a str,
    pub published: Option<NaiveDate>,
    pub is_fact_checker: bool,
    /// 0–1.
    pub credibility: f64,
    /// Passages of one group are one source.
    pub group: &'a str,
}

/// What the item is asked about besides.
#[derive(Debug, Clone, Copy)]
pub struct ItemData<'a> {
    pub today: NaiveDate,
    /// The language that justifications are to be in, for a reader: `English`, `Russian` …
    pub language: &'a str,
    /// What upstream adds for the judge, as data.
    pub additional_context: Option<&'a str>,
}

/// What is said of one claim; parallel to the passages asked about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Adjudicated {
    pub stances: Vec<Option<Adjudication>>,
    pub verdict: Option<Verdict>,
    /// 0–1, as it was stated; it is no probability of ours.
    pub confidence: Option<f64>,
    /// `[N]` is the place of a passage, from 1. Shown only where the cited passages bear it out.
    pub justification: String,
}

impl Adjudicated {
    /// Nothing said yet, of so many passages.
    pub fn of(passages: usize) -> Self {
        Self { stances: vec![None; passages], ..Self::default() }
    }
}
