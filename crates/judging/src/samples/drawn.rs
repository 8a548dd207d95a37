//! Random evidence.

use proptest::prelude::*;

use corroborate_domain::evidence::{JudgedPassage, MatchedReview};
use corroborate_domain::verdict::{RatingClass, Relation, SourceType};

use super::{passage, review};

/// A random figure 0–1, half the time a limit of a rule, so that equal ones occur.
fn any_figure() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..=1.0f64, prop::sample::select(vec![0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])]
}

/// Common rates of entailing and out-of-context passages. Independent draws would give nearly every claim both sides.
#[derive(Debug, Clone, Copy)]
struct PassageRates {
    entailing: f64,
    elsewhere: f64,
}

fn any_rates() -> impl Strategy<Value = PassageRates> {
    let shares = (prop::sample::select(vec![0.02, 0.5, 0.98]), prop::sample::select(vec![0.0, 0.2, 0.95]));
    shares.prop_map(|(entailing, elsewhere)| PassageRates { entailing, elsewhere })
}

/// A random passage. Few groups, pages, places and dates, so that copies and ties occur.
fn any_passage(rates: PassageRates) -> impl Strategy<Value = JudgedPassage> {
    let clear = prop::sample::select(vec![0.6, 0.7, 0.9, 0.95]);
    let one_sided = prop::bool::weighted(rates.entailing).prop_map(|entails| if entails { 1.0 } else { 0.0 });
    let stance = (prop_oneof![clear, any_figure()], prop_oneof![3 => one_sided, 1 => 0.0..=1.0f64]);
    let relevance = prop_oneof![2 => 0.3..=1.0f64, 1 => any_figure()];
    let figures = (relevance, any_figure(), any_figure(), any_figure(), any_figure());
    let date = prop::option::of(prop_oneof![0i64..2_000_000_000, (0i64..4).prop_map(|n| n * 500_000_000)]);
    let kind = prop_oneof![3 => Just(SourceType::News), 1 => prop::sample::select(SourceType::ALL.to_vec())];
    let rest = (
        date,
        kind,
        prop::option::of(any::<bool>()),
        prop::bool::weighted(rates.elsewhere),
        0..4u32,
        1..9u32,
        0..6u32,
        0..3u32,
    );
    (stance, figures, rest).prop_map(|((stance, share), figures, rest)| {
        let (relevance, credibility, freshness, quality, agreement) = figures;
        let (date, source_type, num_ok, out_of_context, group, rank, page, sentence) = rest;
        let mut passage = passage(&format!("p{page}"), stance * share, stance * (1.0 - share));
        passage.passage = format!("Sentence {sentence} of page {page}.");
        passage.relevance = relevance;
        passage.credibility = credibility;
        passage.freshness = freshness;
        passage.quality = quality;
        passage.agreement = agreement;
        passage.published_at = date.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
        passage.source_type = source_type;
        passage.num_ok = num_ok;
        passage.out_of_context = out_of_context;
        passage.independent_group = format!("g{group}");
        passage.rank = rank;
        passage
    })
}

/// A sentence of a page is judged once.
pub(crate) fn any_passages() -> impl Strategy<Value = Vec<JudgedPassage>> {
    let passages = any_rates().prop_flat_map(|rates| prop::collection::vec(any_passage(rates), 0..12));
    passages.prop_map(|mut passages| {
        let mut seen = std::collections::BTreeSet::new();
        passages.retain(|passage| seen.insert((passage.evidence_id.clone(), passage.passage.clone())));
        passages
    })
}

pub(crate) fn any_reviews() -> impl Strategy<Value = Vec<MatchedReview>> {
    let one = (
        prop::sample::select(Relation::ALL.to_vec()),
        prop::sample::select(RatingClass::ALL.to_vec()),
        0.0..=1.0f64,
        0..4u32,
    )
        .prop_map(|(relation, class, similarity, publisher)| {
            review(&format!("checker{publisher}"), relation, class, similarity)
        });
    prop::collection::vec(one, 0..3)
}
