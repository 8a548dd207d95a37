//! Fact-check lookup: has somebody already checked this claim, and what did they say of it?

use std::sync::Arc;

use chrono::TimeDelta;
use futures::future::join_all;

use super::claims::Claim;
use super::{Journal, PipelineError, Request, Services};
use crate::cache::normalise_query;
use crate::domain::evidence::{MatchedReview, Review};
use crate::domain::verdict::Relation;
use crate::judging::profile::TextProfile;
use crate::judging::{fact_checks, ratings};
use crate::outbound::{AskError, AskMeter, Asker};
use crate::providers::{Answer, Provider, Query};
use crate::telemetry::metrics;

/// Per claim, the reviews related to it, the nearest first.
pub(crate) type Reviews = Vec<Vec<MatchedReview>>;

pub(super) async fn look_up(
    services: &Services,
    request: &Request,
    claims: &[Claim],
    journal: &Journal,
) -> Result<Reviews, PipelineError> {
    let Some(provider) = &services.providers.fact_check else {
        journal.trace("fact checks: not asked, no fact-check provider is configured");
        return Ok(vec![Vec::new(); claims.len()]);
    };
    if !wanted(request) {
        journal.trace("fact checks: not asked, the item's source_types leave them out");
        return Ok(vec![Vec::new(); claims.len()]);
    }
    let asked = claims.iter().map(|claim| one(services, provider, request, claim, journal));
    let mut reviews = Vec::with_capacity(claims.len());
    for found in join_all(asked).await {
        reviews.push(found?);
    }
    let count: usize = reviews.iter().map(Vec::len).sum();
    // Where it could not be asked, the line that says so stands already.
    if count > 0 || journal.was_checked(provider.name()) {
        journal.trace(format!("fact checks: {count} related review(s) by {}", provider.name()));
    }
    Ok(reviews)
}

fn wanted(request: &Request) -> bool {
    use crate::domain::item::SourceKind;
    let kinds = &request.item.source_types;
    kinds.is_empty() || kinds.contains(&SourceKind::Factcheck)
}

async fn one(
    services: &Services,
    provider: &Arc<dyn Provider>,
    request: &Request,
    claim: &Claim,
    journal: &Journal,
) -> Result<Vec<MatchedReview>, PipelineError> {
    let long_enough = request.personal || claim.text.chars().count() >= services.settings.min_claim_chars;
    if !claim.checkable() || !long_enough {
        metrics::fact_check_lookup("skipped");
        return Ok(Vec::new());
    }
    let answer = match ask(services, provider, claim, journal).await? {
        Ok(answer) => answer,
        Err(error) => {
            metrics::fact_check_lookup("failed");
            journal.trace(format!("fact checks: {} could not be asked: {error}", provider.name()));
            journal.degrade(error.degradation(provider.name()));
            return Ok(Vec::new());
        }
    };
    journal.checked(provider.name());
    let matched = match_reviews(claim, &answer.reviews);
    metrics::fact_check_lookup(if answer.reviews.is_empty() {
        "none"
    } else if matched.iter().any(decides) {
        "matched"
    } else {
        "unmatched"
    });
    Ok(matched)
}

fn decides(matched: &MatchedReview) -> bool {
    matches!(matched.relation, Relation::Same | Relation::Opposite)
}

/// In the process, then in the store, then the provider. An empty answer is an answer and is kept for a shorter time;
/// an error is kept nowhere.
async fn ask(
    services: &Services,
    provider: &Arc<dyn Provider>,
    claim: &Claim,
    journal: &Journal,
) -> Result<Result<Arc<Answer>, AskError>, PipelineError> {
    let key = normalise_query(&claim.text);
    let now = journal.evaluated_at;
    if let Some(answer) = services.fact_check_cache.get(&key).await {
        return Ok(Ok(answer));
    }
    if let Some(stored) = services.store.cached_fact_checks(&key, provider.name(), now).await?
        && let Ok(reviews) = serde_json::from_value::<Vec<Review>>(stored)
    {
        let answer = Arc::new(Answer { hits: Vec::new(), reviews });
        services.fact_check_cache.insert(&key, Arc::clone(&answer)).await;
        return Ok(Ok(answer));
    }
    let query = Query {
        text: claim.text.clone(),
        terms: Vec::new(),
        language: None,
        domains: Vec::new(),
        around: claim.date,
        limit: services.settings.fact_check_results,
        source_document: None,
    };
    let meter = AskMeter::default();
    let asked = provider.ask(&query, Asker { until: journal.ask_until, meter: &meter }).await;
    journal.metered(provider.name(), &meter);
    let answer = match asked {
        Ok(answer) => Arc::new(answer),
        Err(error) => return Ok(Err(error)),
    };
    services.fact_check_cache.insert(&key, Arc::clone(&answer)).await;
    let ttl = if answer.reviews.is_empty() {
        services.settings.negative_ttl.min(services.settings.fact_check_ttl)
    } else {
        services.settings.fact_check_ttl
    };
    let expires = now + TimeDelta::from_std(ttl).unwrap_or(TimeDelta::zero());
    let stored = serde_json::to_value(&answer.reviews)
        .map_err(|error| crate::store::StoreError::Corrupt { detail: error.to_string() })?;
    services.store.cache_fact_checks(&key, provider.name(), &stored, now, expires).await?;
    Ok(Ok(answer))
}

/// Every review held against the claim: how it relates, and the class of its rating.
fn match_reviews(claim: &Claim, reviews: &[Review]) -> Vec<MatchedReview> {
    let mut matched: Vec<MatchedReview> = reviews
        .iter()
        .map(|review| {
            let reviewed = TextProfile::new(&review.claim, review.language.as_deref(), review.review_date, &[]);
            let (relation, similarity) = fact_checks::relation(&claim.profile, &reviewed);
            MatchedReview {
                relation,
                rating_class: ratings::classify(&review.rating, review.language.as_deref()),
                similarity,
                review: review.clone(),
            }
        })
        .filter(|matched| matched.relation != Relation::Other)
        .collect();
    matched.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.review.url.cmp(&b.review.url)));
    matched
}
