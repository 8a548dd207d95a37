//! Constructed evidence for the tests of this room.

use proptest::prelude::*;

use crate::domain::evidence::{JudgedPassage, MatchedReview, Review};
use crate::domain::verdict::{Origin, RatingClass, Relation, SourceType};

/// A credible (0.85), on-topic passage of a group of its own, found at `<id>.example`.
pub(super) fn passage(id: &str, entail: f64, contradict: f64) -> JudgedPassage {
    JudgedPassage {
        evidence_id: format!("ev_{id}"),
        url: format!("https://{id}.example/page"),
        domain: format!("{id}.example"),
        title: Some(format!("Page {id}")),
        published_at: None,
        language: Some("en".into()),
        passage: format!("What {id} says."),
        entail,
        contradict,
        neutral: (1.0 - entail - contradict).max(0.0),
        agreement: 0.7,
        relevance: 0.8,
        credibility: 0.85,
        freshness: 0.5,
        specificity: 0.6,
        quality: 0.7,
        num_ok: None,
        independent_group: id.to_owned(),
        source_type: SourceType::News,
        origin: Origin::Web,
        provider: "test".into(),
        rank: 1,
        out_of_context: false,
    }
}

/// A matched review by `publisher`.
pub(super) fn review(publisher: &str, relation: Relation, rating_class: RatingClass, similarity: f64) -> MatchedReview {
    MatchedReview {
        review: Review {
            claim: "The reviewed claim.".into(),
            claimant: None,
            url: format!("https://{publisher}.example/check"),
            publisher: publisher.to_owned(),
            title: None,
            rating: rating_class.as_str().to_owned(),
            language: Some("en".into()),
            review_date: None,
        },
        relation,
        rating_class,
        similarity,
    }
}

/// Any passage with figures in their ranges; few groups, so that copies occur.
pub(super) fn any_passage() -> impl Strategy<Value = JudgedPassage> {
    let figures = (0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64);
    let date = prop::option::of(0i64..2_000_000_000);
    let kind = prop::sample::select(SourceType::ALL.to_vec());
    let rest = (date, kind, prop::option::of(any::<bool>()), any::<bool>(), 0..5u32, 1..9u32, 0..1000u32);
    (figures, rest).prop_map(|(figures, rest)| {
        let (stance, share, relevance, credibility, freshness, quality, agreement) = figures;
        let (date, source_type, num_ok, out_of_context, group, rank, id) = rest;
        // A probability simplex: `stance` of the mass is not neutral, `share` of that entails.
        let mut passage = passage(&format!("p{id}"), stance * share, stance * (1.0 - share));
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

pub(super) fn any_passages() -> impl Strategy<Value = Vec<JudgedPassage>> {
    prop::collection::vec(any_passage(), 0..8)
}

/// Any few reviews.
pub(super) fn any_reviews() -> impl Strategy<Value = Vec<MatchedReview>> {
    let one = (
        prop::sample::select(Relation::ALL.to_vec()),
        prop::sample::select(RatingClass::ALL.to_vec()),
        0.0..=1.0f64,
        0..4u32,
    )
        .prop_map(|(relation, class, similarity, who)| review(&format!("checker{who}"), relation, class, similarity));
    prop::collection::vec(one, 0..3)
}
