//! Fact-check lookup: has somebody already checked this claim, and what did they say of it?

use std::sync::Arc;

use futures::future::join_all;

use super::claims::Claim;
use super::judge::Judged;
use super::{Journal, Request, Services};
use crate::domain::Degradation;
use crate::domain::evidence::{JudgedPassage, MatchedReview, Review};
use crate::domain::verdict::{Relation, SourceType};
use crate::judging::fact_checks::ReviewSays;
use crate::judging::profile::TextProfile;
use crate::judging::stance::UNDECIDED;
use crate::judging::{fact_checks, ratings};
use crate::language::queries::behind_names;
use crate::providers::{Provider, Query};
use crate::telemetry::metrics;

/// Per claim, the reviews related to it, the nearest first.
pub(crate) type Reviews = Vec<Vec<MatchedReview>>;

pub(super) async fn look_up(services: &Services, request: &Request, claims: &[Claim], journal: &Journal) -> Reviews {
    let Some(provider) = &services.providers.fact_check else {
        journal.trace("fact checks: not asked, no fact-check provider is configured");
        return vec![Vec::new(); claims.len()];
    };
    if !wanted(request) {
        journal.trace("fact checks: not asked, the item's source_types leave them out");
        return vec![Vec::new(); claims.len()];
    }
    let asked = claims.iter().map(|claim| one(services, provider, request, claim, journal));
    let reviews = join_all(asked).await;
    let count: usize = reviews.iter().map(Vec::len).sum();
    // Where it could not be asked, the line that says so stands already.
    if count > 0 || journal.was_checked(provider.name()) {
        journal.trace(format!("fact checks: {count} related review(s) by {}", provider.name()));
    }
    reviews
}

fn wanted(request: &Request) -> bool {
    use crate::domain::item::SourceKind;
    let kinds = &request.item.source_types;
    kinds.is_empty() || kinds.contains(&SourceKind::Factcheck)
}

/// Adds the reviews that fact-checkers' own pages carry to those that were looked up. Anybody can write such markup: it counts
/// on the site of a fact-checker alone. A page whose review decides a claim speaks by that, and no more by the sentences in
/// which it repeats the claim.
pub(super) fn of_pages(
    services: &Services,
    request: &Request,
    claims: &[Claim],
    judged: &mut Judged,
    reviews: &mut Reviews,
    journal: &Journal,
) {
    if !wanted(request) {
        return;
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
            let told = match_reviews(claim, &page.claim_reviews);
            let own = seen.passages.iter_mut().filter(|passage| passage.evidence_id == page.id);
            if told.iter().any(settles) {
                own.for_each(stands_aside);
            } else if told.iter().any(decides) {
                own.for_each(bears_nothing_out);
            }
            // What was looked up of the same page stands for it.
            let stands_for = |known: &MatchedReview, one: &MatchedReview| {
                known.review.url == one.review.url && (settles(known) || known.review.claim == one.review.claim)
            };
            let is_new = |review: &MatchedReview| !known.iter().any(|known| stands_for(known, review));
            let new: Vec<MatchedReview> = told.into_iter().filter(is_new).collect();
            count += new.len();
            known.extend(new);
        }
        known.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.review.url.cmp(&b.review.url)));
    }
    if count > 0 {
        journal.trace(format!("fact checks: {count} related review(s) carried by pages of fact-checkers"));
    }
}

/// Beside its own review a page's sentences count for nothing (`docs/scoring.md`: a matched fact-check stays out of `e_max` and `c_max`).
fn stands_aside(passage: &mut JudgedPassage) {
    (passage.entail, passage.contradict, passage.neutral) = (0.0, 0.0, 1.0);
}

/// A page that rates the claim in words that say nothing ("unproven") tells of it, and may still deny it in plain words.
fn bears_nothing_out(passage: &mut JudgedPassage) {
    passage.entail = passage.entail.min(UNDECIDED);
    // Adding zero turns a negative zero into a plain one.
    passage.neutral = (1.0 - passage.entail - passage.contradict).max(0.0) + 0.0;
}

async fn one(
    services: &Services,
    provider: &Arc<dyn Provider>,
    request: &Request,
    claim: &Claim,
    journal: &Journal,
) -> Vec<MatchedReview> {
    let long_enough = request.personal || claim.text.chars().count() >= services.settings.min_claim_chars;
    if !claim.checkable() || !long_enough {
        metrics::fact_check_lookup("skipped");
        return Vec::new();
    }
    let answer = match services.ask(provider, &query(services, claim), journal).await {
        Ok(answer) => answer,
        Err(error) => {
            metrics::fact_check_lookup("failed");
            journal.trace(format!("fact checks: {} could not be asked: {error}", provider.name()));
            journal.degrade(error.degradation(provider.name()));
            return Vec::new();
        }
    };
    journal.checked(provider.name());
    if !answer.is_whole() {
        journal.trace(format!("fact checks: {} could not be asked for {}", provider.name(), answer.failed.join(", ")));
        journal.degrade(Degradation::ProviderFailed(provider.name().to_owned()));
    }
    let matched = match_reviews(claim, &answer.reviews);
    metrics::fact_check_lookup(if answer.reviews.is_empty() {
        "none"
    } else if matched.iter().any(decides) {
        "matched"
    } else {
        "unmatched"
    });
    matched
}

fn decides(matched: &MatchedReview) -> bool {
    matches!(matched.relation, Relation::Same | Relation::Opposite)
}

/// Whether its rating says something, too.
fn settles(matched: &MatchedReview) -> bool {
    fact_checks::says(std::slice::from_ref(matched)) != ReviewSays::Nothing
}

/// The query: the claim itself. Reviewed claims are of one sentence: what leans on another is asked behind its names.
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

/// Every review held against the claim: how it relates, and the class of its rating.
fn match_reviews(claim: &Claim, reviews: &[Review]) -> Vec<MatchedReview> {
    let matched: Vec<MatchedReview> = reviews
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
    once_each(&matched)
}

/// One review of one claim by one page, the likest first. A page that rates the same claim in two ways says nothing of it.
fn once_each(matched: &[MatchedReview]) -> Vec<MatchedReview> {
    let same = |a: &MatchedReview, b: &MatchedReview| a.review.url == b.review.url && a.review.claim == b.review.claim;
    let says = |one: &MatchedReview| fact_checks::says(std::slice::from_ref(one));
    let is_at_odds = |one: &MatchedReview| {
        matched.iter().any(|other| same(one, other) && settles(one) && settles(other) && says(one) != says(other))
    };
    // A rating that says something before one that does not.
    let (telling, silent): (Vec<&MatchedReview>, Vec<&MatchedReview>) = matched.iter().partition(|one| settles(one));
    let mut kept: Vec<MatchedReview> = Vec::with_capacity(matched.len());
    for one in telling.into_iter().chain(silent) {
        if !matched.iter().any(|other| same(one, other) && is_at_odds(other))
            && !kept.iter().any(|known| same(known, one))
        {
            kept.push(one.clone());
        }
    }
    kept.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.review.url.cmp(&b.review.url)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::verdict::RatingClass;
    use crate::judging::samples::review;

    #[test]
    fn one_page_reviews_a_claim_once_or_says_nothing() {
        let of = |url: &str, claim: &str, class| {
            let mut one = review("checker", Relation::Same, class, 0.9);
            (one.review.url, one.review.claim) = (url.to_owned(), claim.to_owned());
            one
        };
        let kept = once_each(&[
            of("https://a.example/1", "A", RatingClass::False),
            of("https://a.example/1", "A", RatingClass::False),
            of("https://a.example/1", "B", RatingClass::True),
            of("https://b.example/1", "A", RatingClass::True),
            of("https://b.example/1", "A", RatingClass::False),
            of("https://c.example/1", "A", RatingClass::None),
            of("https://c.example/1", "A", RatingClass::False),
        ]);
        let left: Vec<(&str, &str)> =
            kept.iter().map(|one| (one.review.url.as_str(), one.review.claim.as_str())).collect();
        assert_eq!(left, [("https://a.example/1", "A"), ("https://a.example/1", "B"), ("https://c.example/1", "A")]);
        assert_eq!(kept.last().map(|one| one.rating_class), Some(RatingClass::False), "the rating that says something");
    }
}
