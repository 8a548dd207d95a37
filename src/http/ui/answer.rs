//! The result of an item as HTML.
//!
//! It is on the item's page and at the end of a running check.

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::card::{Card, RenderContext, Review, cards, is_on_a_side, review};
use super::chrome::Page;
use super::copied;
use crate::domain::ItemResult;
use crate::domain::result::FactCheck;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Relation;
use crate::judging::labels;
use crate::judging::plain::plain;
use crate::judging::vocabularies::Vocabulary;

/// Characters that stay as they are in a path.
const ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(Debug, Template)]
#[template(path = "answer.html")]
pub(super) struct Answer<'a> {
    page: &'a Page,
    /// The sent text, if it differs from the claim.
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
    /// `asked`: the text that a person typed.
    pub(super) fn of(
        result: &ItemResult,
        asked: Option<&str>,
        (vocabulary, rules): (Vocabulary, &DomainRules),
        page: &'a Page,
    ) -> Self {
        let reader = page.reader;
        let repeats = |text: &String| result.claims.iter().any(|claim| claim.justification == *text);
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
            explanation: result.explanation.as_ref().filter(|text| !repeats(text)).map(|text| plain(text).into_owned()),
            cards: cards(result, RenderContext { reader, vocabulary, rules }),
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

pub(super) fn path_of(item_id: &str) -> String {
    format!("/evidence/{}", utf8_percent_encode(item_id, ID))
}
