//! Looks up published reviews of a claim.
//! Steps: query the provider in the claim's language, then in English; match the reviews; add those in pages of
//! fact-checkers.
//! A failed lookup degrades the result, except the second one.

use std::sync::Arc;

use futures::future::join_all;

use super::claims::Claim;
use super::judge::JudgedItem;
use super::run_context::{Journal, Request};
use super::services::{PipelineError, Services};
use super::translate;
use crate::domain::Degradation;
use crate::domain::evidence::{JudgedPassage, MatchedReview, Review, StanceProbabilities};
use crate::domain::limits::{MAX_URL_BYTES, is_storable_url, storable_date};
use crate::domain::verdict::{Relation, SourceType};
use crate::inference::Pair;
use crate::judging::fact_checks::{BidirectionalStance, ReviewFinding};
use crate::judging::profile::TextProfile;
use crate::judging::stance::MAX_UNDECIDED;
use crate::judging::{fact_checks, ratings};
use crate::language::queries::behind_names;
use crate::providers::{Provider, Query};
use crate::telemetry::metrics;

/// Per claim, most similar first.
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
    let reviews = join_all(asked).await.into_iter().collect::<Result<Reviews, PipelineError>>()?;
    let count: usize = reviews.iter().map(Vec::len).sum();
    // A failed lookup is traced already.
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

/// Adds reviews from page markup, of fact-checkers only, because anyone can write it. If a page's review decides a
/// claim, its sentences no longer count.
pub(super) async fn of_pages(
    services: &Services,
    request: &Request,
    claims: &[Claim],
    judged: &mut JudgedItem,
    reviews: &mut Reviews,
    journal: &Journal,
) -> Result<(), PipelineError> {
    if !wanted(request) {
        return Ok(());
    }
    let rules = services.rules.current();
    let checkers: Vec<_> = judged
        .pages
        .iter()
        .filter(|page| page.source_type(&rules) == SourceType::FactChecker)
        .map(Arc::clone)
        .collect();
    let mut count = 0;
    for ((claim, known), seen) in claims.iter().zip(reviews).zip(&mut judged.claims) {
        for page in checkers.iter().filter(|_| claim.checkable()) {
            let matched = match_reviews(services, claim, &page.claim_reviews, journal).await?;
            let own = seen.passages.iter_mut().filter(|passage| passage.evidence_id == page.id);
            if matched.iter().any(settles) {
                own.for_each(neutralise);
            } else if matched.iter().any(decides) {
                own.for_each(cap_support);
            }
            // A looked-up review of the same page takes precedence.
            let replaces = |known: &MatchedReview, one: &MatchedReview| {
                known.review.url == one.review.url && (settles(known) || known.review.claim == one.review.claim)
            };
            let is_new = |review: &MatchedReview| !known.iter().any(|known| replaces(known, review));
            let new: Vec<MatchedReview> = matched.into_iter().filter(is_new).collect();
            count += new.len();
            known.extend(new);
        }
        known.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.review.url.cmp(&b.review.url)));
    }
    if count > 0 {
        journal.trace(format!("fact checks: {count} related review(s) carried by pages of fact-checkers"));
    }
    Ok(())
}

/// Makes a passage neutral, because its page's review counts instead (`docs/scoring.md`: `e_max` and `c_max`).
fn neutralise(passage: &mut JudgedPassage) {
    (passage.entail, passage.contradict, passage.neutral) = (0.0, 0.0, 1.0);
}

/// Limits the support of a page with an undecided rating ("unproven"), which only reports the claim but may
/// contradict it.
fn cap_support(passage: &mut JudgedPassage) {
    passage.entail = passage.entail.min(MAX_UNDECIDED);
    // Adding zero turns -0.0 into 0.0.
    passage.neutral = (1.0 - passage.entail - passage.contradict).max(0.0) + 0.0;
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
    let answer = match services.ask(provider, &query(services, claim), journal).await {
        Ok(answer) => answer,
        Err(error) => {
            metrics::fact_check_lookup("failed");
            journal.trace(format!("fact checks: {} could not be asked: {error}", provider.name()));
            journal.degrade(error.degradation(provider.name()));
            return Ok(Vec::new());
        }
    };
    journal.checked(provider.name());
    if !answer.is_whole() {
        journal.trace(format!("fact checks: {} could not be asked for {}", provider.name(), answer.failed.join(", ")));
        journal.degrade(Degradation::ProviderFailed(provider.name().to_owned()));
    }
    let mut matched = match_reviews(services, claim, &answer.reviews, journal).await?;
    let mut is_nothing_found = answer.reviews.is_empty();
    if !matched.iter().any(decides) {
        let more = second_look(services, provider, claim, journal).await;
        is_nothing_found &= more.is_empty();
        let new: Vec<Review> = more.into_iter().filter(|review| !answer.reviews.contains(review)).collect();
        matched.extend(match_reviews(services, claim, &new, journal).await?);
        matched = once_each(&matched);
    }
    metrics::fact_check_lookup(if is_nothing_found {
        "none"
    } else if matched.iter().any(decides) {
        "matched"
    } else {
        "unmatched"
    });
    Ok(matched)
}

/// The language of most reviews.
const REVIEWED_IN: &str = "en";

/// Asks in English if the reviews in the claim's language decide nothing. A failure is only traced, because the first
/// answer is still valid.
async fn second_look(
    services: &Services,
    provider: &Arc<dyn Provider>,
    claim: &Claim,
    journal: &Journal,
) -> Vec<Review> {
    if services.translator.is_none() || claim.profile.language.as_deref().is_none_or(|own| own == REVIEWED_IN) {
        return Vec::new();
    }
    let not_asked = |why: &str| journal.trace(format!("fact checks: not asked in English: {why}"));
    let rendering = match translate::try_claim(services, claim, REVIEWED_IN, journal).await {
        Ok(Some(rendering)) => rendering,
        Ok(None) => {
            not_asked("the translator gave no translation");
            return Vec::new();
        }
        Err(error) => {
            not_asked(&format!("the translator failed: {error}"));
            return Vec::new();
        }
    };
    let query = Query { text: rendering.profile.text.clone(), ..query(services, claim) };
    match services.ask(provider, &query, journal).await {
        Ok(answer) => {
            journal.trace(format!("fact checks: asked again in English, {} review(s)", answer.reviews.len()));
            answer.reviews.clone()
        }
        Err(error) => {
            not_asked(&format!("{}: {error}", provider.name()));
            Vec::new()
        }
    }
}

fn decides(matched: &MatchedReview) -> bool {
    matches!(matched.relation, Relation::Same | Relation::Opposite)
}

/// Whether the review also has a usable rating.
fn settles(matched: &MatchedReview) -> bool {
    fact_checks::combined_finding(std::slice::from_ref(matched)) != ReviewFinding::Nothing
}

/// Builds the query. Reviewed claims are one sentence, so the lead is reduced to its names.
fn query(services: &Services, claim: &Claim) -> Query {
    Query {
        text: claim
            .lead
            .as_deref()
            .map_or_else(|| claim.text.clone(), |lead| behind_names(claim.own(), lead, &claim.profile.entities)),
        terms: Vec::new(),
        language: None,
        domains: Vec::new(),
        around: claim.date,
        limit: services.settings.fact_check_results,
        source_document: None,
    }
}

/// Returns the related reviews. The relation is by meaning if the NLI model reads both texts.
async fn match_reviews(
    services: &Services,
    claim: &Claim,
    reviews: &[Review],
    journal: &Journal,
) -> Result<Vec<MatchedReview>, PipelineError> {
    let reviews = storable(reviews, journal);
    if reviews.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<&str> = reviews.iter().map(|review| review.claim.as_str()).collect();
    let embeddings = services.embed(&texts, journal).await;
    let held = reviews.iter().zip(embeddings).map(|(review, embedding)| {
        let reviewed = TextProfile::new(&review.claim, review.language.as_deref(), review.review_date, &[]);
        Arc::new(reviewed.embedded(embedding.vector, embedding.space))
    });
    let held: Vec<Arc<TextProfile>> = held.collect();
    let pairs = pairs(services, claim, &held, journal).await;
    let stances = both_ways(services, &pairs, journal).await?;
    let matched: Vec<MatchedReview> = reviews
        .iter()
        .zip(&pairs)
        .zip(stances)
        .map(|((review, Pair { claim: ours, passage: theirs }), stances)| {
            let (ours, theirs) = (by_words_alone(ours), by_words_alone(theirs));
            let (relation, similarity) = match &stances {
                Some(stances) => fact_checks::relation_by_meaning(&ours, &theirs, stances),
                None => fact_checks::relation(&ours, &theirs),
            };
            MatchedReview {
                relation,
                rating_class: ratings::classify(&review.rating, review.language.as_deref()),
                similarity,
                review: review.clone(),
            }
        })
        .filter(|matched| matched.relation != Relation::Other)
        .collect();
    Ok(once_each(&matched))
}

fn storable(reviews: &[Review], journal: &Journal) -> Vec<Review> {
    let dated = |review: &Review| Review { review_date: review.review_date.and_then(storable_date), ..review.clone() };
    let kept: Vec<Review> = reviews.iter().filter(|review| is_storable_url(&review.url)).map(dated).collect();
    if kept.len() < reviews.len() {
        let left_out = reviews.len() - kept.len();
        journal
            .trace(format!("fact checks: {left_out} review(s) left out, their URLs have over {MAX_URL_BYTES} bytes"));
    }
    kept
}

/// Removes the vector: the word thresholds apply to words only.
fn by_words_alone(profile: &TextProfile) -> TextProfile {
    profile.clone().with_embedding(Vec::new())
}

/// Pairs claim and reviewed claims, translated if a translation exists or the NLI model needs one.
async fn pairs(services: &Services, claim: &Claim, held: &[Arc<TextProfile>], journal: &Journal) -> Vec<Pair> {
    let stance = &services.models.stance;
    let own = claim.profile.language.as_deref();
    let reads_claim = stance.reads(&claim.profile.text);
    let mut pairs = Vec::with_capacity(held.len());
    for theirs in held {
        let language = theirs.language.as_deref().map(|tag| tag.split(['-', '_']).next().unwrap_or(tag));
        let other = language.filter(|language| own != Some(*language));
        let rendering = match other {
            Some(_) if reads_claim && stance.reads(&theirs.text) => None,
            Some(language) => match claim.renderings.get(language) {
                None if !reads_claim && stance.pivot() == Some(language) => {
                    // Without a translation the texts are compared by words.
                    translate::try_claim(services, claim, language, journal).await.ok().flatten()
                }
                known => known,
            },
            None => None,
        };
        pairs.push(match rendering {
            Some(rendering) => services.compared(&rendering.profile, &rendering.forms, theirs),
            None => services.comparable(claim, theirs),
        });
    }
    pairs
}

/// Judges both directions; `None` if the model cannot read a text, failed, or the texts are unrelated.
async fn both_ways(
    services: &Services,
    pairs: &[Pair],
    journal: &Journal,
) -> Result<Vec<Option<BidirectionalStance>>, PipelineError> {
    let stance = &services.models.stance;
    let relevance = services.relevance(pairs, journal).await?;
    let floor = services.settings.scoring.relevance_floor;
    let is_asked = |(pair, relevance): (&Pair, &f64)| {
        *relevance >= floor && stance.reads(&pair.claim.text) && stance.reads(&pair.passage.text)
    };
    let asked: Vec<bool> = pairs.iter().zip(&relevance).map(is_asked).collect();
    let chosen: Vec<Pair> =
        pairs.iter().zip(&asked).filter(|(_, is_asked)| **is_asked).map(|(pair, _)| pair.clone()).collect();
    let ours = probabilities(services, &chosen, journal).await?;
    // The weaker direction counts, so a weak first one decides.
    let turned = |pair: &Pair| Pair { claim: Arc::clone(&pair.passage), passage: Arc::clone(&pair.claim) };
    let worth = chosen.iter().zip(&ours).filter(|(_, ours)| BidirectionalStance::needs_reverse(ours));
    let turned: Vec<Pair> = worth.map(|(pair, _)| turned(pair)).collect();
    let mut theirs = probabilities(services, &turned, journal).await?.into_iter();
    // The fallback adds nothing to the comparison by words.
    let is_judged = !journal.is_degraded_by(&Degradation::ModelFailed("stance".to_owned()));
    let mut both = ours.into_iter().map(|ours| {
        let theirs =
            if BidirectionalStance::needs_reverse(&ours) { theirs.next()? } else { StanceProbabilities::NEUTRAL };
        is_judged.then_some(BidirectionalStance { ours, theirs })
    });
    Ok(asked.into_iter().map(|is_asked| if is_asked { both.next().flatten() } else { None }).collect())
}

async fn probabilities(
    services: &Services,
    pairs: &[Pair],
    journal: &Journal,
) -> Result<Vec<StanceProbabilities>, PipelineError> {
    let judged = services.stances(pairs, journal).await?;
    Ok(judged.into_iter().map(|judgement| judgement.probabilities).collect())
}

/// Keeps one review per page and reviewed claim, most similar first. Contradictory ratings by one page do not count.
fn once_each(matched: &[MatchedReview]) -> Vec<MatchedReview> {
    let same = |a: &MatchedReview, b: &MatchedReview| a.review.url == b.review.url && a.review.claim == b.review.claim;
    let rating = |one: &MatchedReview| fact_checks::combined_finding(std::slice::from_ref(one));
    let is_at_odds = |one: &MatchedReview| {
        matched.iter().any(|other| same(one, other) && settles(one) && settles(other) && rating(one) != rating(other))
    };
    let (rated, unrated): (Vec<&MatchedReview>, Vec<&MatchedReview>) = matched.iter().partition(|one| settles(one));
    let mut kept: Vec<MatchedReview> = Vec::with_capacity(matched.len());
    for one in rated.into_iter().chain(unrated) {
        if !matched.iter().any(|other| same(one, other) && is_at_odds(other))
            && !kept.iter().any(|known| same(known, one))
        {
            kept.push(one.clone());
        }
    }
    kept.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.review.url.cmp(&b.review.url)));
    kept
}

#[cfg(feature = "models")]
#[cfg(test)]
mod measured;
#[cfg(test)]
mod tests;
