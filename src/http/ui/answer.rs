//! A result as a page shows it, whole: the item's own page holds it, and a running check ends with it.

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::card::{Card, Review, Sight, cards, is_on_a_side, review};
use super::chrome::Page;
use super::copied;
use crate::domain::ItemResult;
use crate::domain::result::FactCheck;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Relation;
use crate::judging::labels;
use crate::judging::plain::plain;
use crate::judging::vocabularies::Vocabulary;

/// In a path an id keeps what every browser leaves as it is.
const ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What is shown of a result.
#[derive(Debug, Template)]
#[template(path = "answer.html")]
pub(super) struct Answer<'a> {
    page: &'a Page,
    /// What was asked, where that is not the claim itself.
    asked: Option<String>,
    gaps: Vec<String>,
    summary: Option<String>,
    explanation: Option<String>,
    cards: Vec<Card>,
    fact_checks: Vec<Review>,
    trace: Vec<String>,
    link: String,
    json: String,
    as_text: String,
    as_markdown: String,
}

impl<'a> Answer<'a> {
    /// `asked`: what a person typed, where it was a person.
    pub(super) fn of(
        result: &ItemResult,
        asked: Option<&str>,
        (vocabulary, rules): (Vocabulary, &DomainRules),
        page: &'a Page,
    ) -> Self {
        let reader = page.reader;
        let said = |text: &String| result.claims.iter().any(|claim| claim.justification == *text);
        let own = |text: &str| result.claims.iter().any(|claim| claim.text.trim() == text.trim());
        let elsewhere = |check: &&FactCheck| check.relation != Relation::Other && !is_on_a_side(check, result);
        let link = path_of(&result.item_id);
        Self {
            asked: asked.filter(|text| !own(text)).map(|text| plain(text).into_owned()),
            gaps: result.degraded.iter().map(|cause| labels::cause(cause, reader)).collect(),
            summary: result
                .overall_summary
                .as_ref()
                .filter(|_| result.claims.len() > 1)
                .map(|text| plain(text).into_owned()),
            explanation: result.explanation.as_ref().filter(|text| !said(text)).map(|text| plain(text).into_owned()),
            cards: cards(result, Sight { reader, vocabulary, rules }),
            fact_checks: result.fact_checks.iter().filter(elsewhere).map(|check| review(check, reader)).collect(),
            trace: result.trace.iter().map(|line| plain(line).into_owned()).collect(),
            json: format!("/api/items/{}", utf8_percent_encode(&result.item_id, ID)),
            as_text: copied::text(result, reader),
            as_markdown: copied::markdown(result, reader),
            link,
            page,
        }
    }
}

/// The page of an item.
pub(super) fn path_of(item_id: &str) -> String {
    format!("/evidence/{}", utf8_percent_encode(item_id, ID))
}
