//! The pipeline: takes one item from admission to commit, one stage after another.
//!
//! ```text
//! admit → expand → normalise → claims → fact_check → corroborate → queries → retrieve
//!       → read → rank → judge → adjudicate → decide → explain → context → commit
//! ```
//!
//! `translate` is not a stage: it translates claims and passages for the NLI model.
//! A stage that cannot query a source records a [`Degradation`]; it never returns an empty list instead. No stage
//! prints, publishes or contains SQL. To add a stage, add a file, a call in [`run`] and a trace line.

mod adjudicate;
mod admit;
mod ask;
mod candidate;
mod claims;
mod commit;
mod context;
mod correct;
mod corroborate;
mod credit;
mod decide;
mod embedding;
pub mod events;
mod evidence;
mod expand;
mod explain;
mod fact_check;
pub mod given;
mod item_locks;
mod judge;
mod language_model;
mod languages;
mod latency;
mod model_search;
mod models;
mod normalise;
mod page;
mod page_failure;
mod page_reviews;
mod provider_standing;
mod queries;
mod rank;
mod read;
pub mod rescore;
mod retrieve;
mod rounding;
mod run_context;
mod services;
mod shown;
mod steps;
mod summary;
mod translate;

use crate::domain::Degradation;
use crate::domain::evidence::MatchedReview;
use crate::domain::item::SourceKind;
use crate::domain::result::ItemResult;
use crate::domain::verdict::{Phase, Relation};
use crate::store::CommitOutcome;
use crate::telemetry::metrics;

pub use admit::Admission;
pub use context::{DigestEvidence, channels_shown, digest_also_reported, digest_evidence};
pub use decide::BY_FACT_CHECK;
pub use events::{Rejudging, signal_event};
pub use item_locks::ItemLocks;
pub use latency::Latencies;
pub use page::PreparedPage;
pub use provider_standing::ProviderStanding;
use run_context::{Journal, RunContext, measured, timed};
pub use run_context::{Progress, Request, Watcher};
pub use services::{
    LanguagePolicy, Listeners, Pilot, PipelineError, RulesHandle, SearchProviders, Services, Settings, WebhookTarget,
};
pub use steps::{Gatherers, Steps};

#[derive(Debug, Clone)]
pub enum Outcome {
    /// Everything is committed, including the outbox.
    Done(Box<ItemResult>),
    /// Nothing was written: the content was processed before, or a later or better result was stored meanwhile. `usd`
    /// is the cost until then, in US dollars.
    AlreadyDone { usd: f64 },
    /// Nothing was written: a re-evaluation was more degraded than the stored result.
    Poorer(Box<ItemResult>),
}

pub async fn run(services: &Services, request: &Request) -> Result<Outcome, PipelineError> {
    // On the heap, because the future is large.
    Box::pin(run_inner(services, request)).await
}

/// Whether claims need the fact-check provider, but none is configured.
fn fact_check_unavailable(services: &Services, claims: &[claims::Claim]) -> bool {
    services.providers.fact_check.is_none() && claims.iter().any(claims::Claim::checkable)
}

async fn run_inner(services: &Services, request: &Request) -> Result<Outcome, PipelineError> {
    let hash = request.item.content_hash();
    let _lock = services.item_locks.lock(&request.item.item_id).await;
    let (phase, start) = match measured("admit", admit::admit(services, request, &hash)).await? {
        Admission::Run(phase, start) => (phase, start),
        Admission::AlreadyDone => {
            commit::answer_again(services, request).await?;
            return Ok(Outcome::AlreadyDone { usd: 0.0 });
        }
    };
    let journal = Journal::of(services, request);
    if request.shed {
        journal.degrade(Degradation::Overload);
    }
    let expanded = timed("expand", &journal, expand::expand(services, request, &journal)).await?;
    // Stored as sent, so that a re-evaluation reads the links again.
    let sent = &request.item;
    let request = expanded.as_ref().unwrap_or(request);
    let run = RunContext { services, request, phase, journal: &journal };
    let item = &request.item;
    let normal = timed("normalise", &journal, normalise::normalise(services, item, &journal)).await?;
    let claims = timed("claims", &journal, claims::claims(services, item, &normal, &journal)).await?;
    let (reviews, also_reported_by) = tokio::join!(
        timed("fact_check", &journal, fact_check::look_up(services, request, &claims, &journal)),
        timed("corroborate", &journal, corroborate::channels(services, item, &normal, &journal)),
    );
    let (mut reviews, also_reported_by) = (reviews?, also_reported_by?);
    if (phase == Phase::One || item.source_types.contains(&SourceKind::Factcheck))
        && fact_check_unavailable(services, &claims)
    {
        journal.degrade(Degradation::NoProvider);
    }
    let decides = |review: &MatchedReview| matches!(review.relation, Relation::Same | Relation::Opposite);
    let reviewed: Vec<bool> = reviews.iter().map(|of_claim| of_claim.iter().any(decides)).collect();
    let mut judged = if phase == Phase::Two {
        Box::pin(evidence::evidence(run, &normal, &claims, &reviewed)).await?
    } else {
        judge::JudgedItem::nothing(claims.len())
    };
    fact_check::of_pages(services, request, &claims, &mut judged, &mut reviews, &journal).await?;
    let deciding = decide::decide(run, &normal, &claims, &judged, &reviews);
    let decided = timed("decide", &journal, Box::pin(deciding)).await?;
    // On the heap, because the future is large.
    let explaining = Box::pin(explain::explanation(services, item, &normal, &decided, &journal));
    let explanation = timed("explain", &journal, explaining).await;
    let summary = Box::pin(summary::summary(services, &normal, &decided, &journal)).await;
    let mut result =
        timed("context", &journal, async { context::assemble(run, &normal, &decided, &reviews, also_reported_by) })
            .await;
    result.explanation = explanation;
    result.overall_summary = summary.or(result.overall_summary);
    if request.rejudging.as_ref().is_some_and(|rejudging| rejudging.is_poorer(&result)) {
        return Ok(Outcome::Poorer(Box::new(result)));
    }
    let findings = commit::Findings {
        sent,
        start: &start,
        hash: &hash,
        normal: &normal,
        decided: &decided,
        judged: &judged,
        reviews: &reviews,
    };
    if timed("commit", &journal, commit::commit(run, findings, &mut result)).await? == CommitOutcome::Superseded {
        tracing::info!(phase = phase.as_str(), "result dropped because a newer or better one is stored");
        commit::answer_again(services, request).await?;
        return Ok(Outcome::AlreadyDone { usd: result.cost.usd });
    }
    metrics::item_degraded(&journal.degraded());
    services::count(&result);
    Ok(Outcome::Done(Box::new(result)))
}
