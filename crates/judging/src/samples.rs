//! Constructed evidence for the tests of this crate and its users.

use corroborate_domain::evidence::{JudgedPassage, MatchedReview, Review};
use corroborate_domain::verdict::{ClaimKind, Origin, RatingClass, Relation, SourceType};

use super::decision::JudgeKind;
use super::scoring::Scoring;
use super::verdicts::ClaimContext;

/// A factual claim without a date, fully searched, with default settings.
pub fn context() -> ClaimContext {
    ClaimContext {
        kind: ClaimKind::Factual,
        claim_date: None,
        confidence_threshold: 0.85,
        degraded: false,
        searched: true,
        judge: JudgeKind::Model,
        scoring: Scoring::default(),
    }
}

/// A credible (0.85), on-topic passage of its own group at `<id>.example`.
pub fn passage(id: &str, entail: f64, contradict: f64) -> JudgedPassage {
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
        judge: None,
        adjudication: None,
    }
}

/// A matched review by `publisher`.
pub fn review(publisher: &str, relation: Relation, rating_class: RatingClass, similarity: f64) -> MatchedReview {
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

#[cfg(test)]
mod drawn;
#[cfg(test)]
pub(crate) use drawn::{any_passages, any_reviews};
