//! Judges given texts with the pipeline's own stages, for labelled files.
//! Steps: normalise, claims, rank, judge, adjudicate, decide.
//! The module never queries a provider, a page or the store.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use url::Url;

use super::candidate::Candidate;
use super::claims::{Claim, claims, main_claim};
use super::normalise::normalise;
use super::page::from_content;
use super::read::{Pages, ReadPage};
use super::run_context::{Journal, Request, RunContext};
use super::services::{PipelineError, Services};
use super::{adjudicate, decide, judge, rank};
use crate::domain::Item;
use crate::domain::evidence::StanceProbabilities;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::{Origin, Phase, Stance};
use crate::inference::Pair;
use crate::inference::steps::StepError;
use crate::judging::numbers;
use crate::judging::profile::TextProfile;
use crate::language::detect;
use crate::providers::{Content, Hit, Storage};
use crate::reading::registered_domain;

/// Provider name of given texts.
const GIVEN: &str = "given";

/// No deadline applies in practice.
const EVAL_DEADLINE: Duration = Duration::from_hours(1);

#[derive(Debug, Clone)]
pub struct GivenText {
    pub text: String,
    /// Texts without a URL count as independent sources.
    pub url: Option<Url>,
    pub published_at: Option<DateTime<Utc>>,
}

/// A claim with the texts to judge it by.
#[derive(Debug, Clone)]
pub struct GivenClaim {
    pub id: String,
    pub text: String,
    /// When the claim was made.
    pub date: Option<DateTime<Utc>>,
    pub evidence: Vec<GivenText>,
}

/// Result of the NLI model and the number rules.
#[derive(Debug, Clone)]
pub struct JudgedPair {
    pub probabilities: StanceProbabilities,
    pub judge: Arc<str>,
}

/// Judges (claim, passage) pairs in order.
pub async fn judge_pairs(services: &Services, pairs: &[(&str, &str)]) -> Result<Vec<JudgedPair>, PipelineError> {
    let journal = journal(services);
    let texts: Vec<&str> = pairs.iter().flat_map(|(claim, passage)| [*claim, *passage]).collect();
    let mut profiles = services.embed(&texts, &journal).await.into_iter().zip(&texts).map(|(embedding, text)| {
        let language = detect::detect(text).language;
        Arc::new(TextProfile::new(text, language.as_deref(), None, &[]).embedded(embedding.vector, embedding.space))
    });
    let mut asked = Vec::with_capacity(pairs.len());
    while let (Some(claim), Some(passage)) = (profiles.next(), profiles.next()) {
        asked.push(Pair { claim, passage });
    }
    let judged = services.stances(&asked, &journal).await?;
    let settled = asked.iter().zip(judged).map(|(pair, judgement)| JudgedPair {
        probabilities: numbers::apply(judgement.probabilities, &numbers::compare(&pair.claim, &pair.passage)),
        judge: judgement.judge,
    });
    Ok(settled.collect())
}

/// Returns the language model's stance; `None` if it gives none.
///
/// # Errors
///
/// If no language model is configured.
pub async fn adjudicate_pair(services: &Services, claim: &str, passage: &str) -> Result<Option<Stance>, StepError> {
    adjudicate::pair(services, claim, passage, &journal(services)).await
}

/// Returns the result of the main claim; `None` if nothing is checkable.
pub async fn judge_claim(services: &Services, given: &GivenClaim) -> Result<Option<ClaimResult>, PipelineError> {
    let journal = journal(services);
    let mut item = Item::from_claim(format!("given:{}", given.id), &given.text);
    item.published_at = given.date;
    let request = Request::personal(item);
    let normal = normalise(services, &request.item, &journal).await?;
    let claims = claims(services, &request.item, &normal, &journal).await?;
    let Some(main) = main_claim(&claims) else { return Ok(None) };
    let pages = Pages {
        read: given
            .evidence
            .iter()
            .enumerate()
            .filter_map(|(place, text)| page(given, place, text, &journal))
            .collect(),
        rules: services.rules.current(),
        searched: true,
        ..Pages::default()
    };
    let claims: Vec<Claim> = claims.into_iter().skip(main).take(1).collect();
    let candidates = rank::rank(services, &claims, &pages, &journal).await?;
    let mut judged = judge::judge(services, &normal, &claims, candidates, &pages, &journal).await?;
    adjudicate::adjudicate(services, &request.item, &normal, &claims, &mut judged, &journal).await;
    let reviews = Vec::new();
    let run = RunContext { services, request: &request, phase: Phase::Two, journal: &journal };
    let decided = Box::pin(decide::decide(run, &normal, &claims, &judged, &reviews)).await?;
    Ok(decided.into_iter().next().map(|decided| decided.result))
}

fn journal(services: &Services) -> Journal {
    Journal::new(Instant::now(), EVAL_DEADLINE, services.clock.now()).spending(services.item_spend(), Duration::ZERO)
}

/// Always `Some`: a host of letters and digits is a valid URL.
fn page(claim: &GivenClaim, place: usize, given: &GivenText, journal: &Journal) -> Option<ReadPage> {
    let url = given.url.clone().or_else(|| Url::parse(&format!("{GIVEN}://{}-{place}/", host(&claim.id))).ok())?;
    let domain = url.host_str().map(registered_domain).unwrap_or_default();
    let content = Content { text: given.text.clone(), origin: Origin::Web, publisher: None, credibility: None };
    let hit = Hit {
        url: url.to_string(),
        title: String::new(),
        snippet: String::new(),
        published_at: given.published_at,
        language: None,
        provider: GIVEN,
        // The metadata, above all the date, must count; nothing is written to the store.
        storage: Storage::Stored,
        content: None,
    };
    let candidate = Candidate { url, hit, domain, about: true };
    let now = journal.evaluated_at;
    Some(ReadPage::new(Arc::new(from_content(&candidate, &content, now, now)), GIVEN, false))
}

fn host(id: &str) -> String {
    let letters: String = id.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    format!("c{}", letters.to_ascii_lowercase())
}
