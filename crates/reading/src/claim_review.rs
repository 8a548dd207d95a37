//! Reads `ClaimReview` markup, the fact-check of a claim, from JSON-LD or microdata.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use dom_query::{Document, NodeId, NodeRef};
use serde_json::{Map, Value};

use super::json_ld::{addresses, names, string, types};
use super::{dates, page, text};

/// A page with more is a list of reviews.
const MAX_REVIEWS: usize = 50;

/// Names per microdata property; each gets a copy of the value.
const MAX_NAMES: usize = 4;

/// One fact-check as the markup states it. Texts are plain: entities decoded once, tags removed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MarkupReview {
    /// The reviewed claim; never empty.
    pub claim_reviewed: String,
    /// The review's URL, which may differ from the page's.
    pub url: Option<String>,
    /// `author`, else `publisher`.
    pub publisher: Option<String>,
    /// The label in the publisher's words (`alternateName`, in older markup `name`).
    pub rating: Option<String>,
    /// The number and the ends of its scale, as stated. Some scales are inverted or empty, so that the label decides.
    pub rating_value: Option<f64>,
    pub best_rating: Option<f64>,
    pub worst_rating: Option<f64>,
    /// ISO 639-1.
    pub language: Option<String>,
    pub review_date: Option<DateTime<Utc>>,
    /// Who made the claim.
    pub claimant: Option<String>,
    pub claim_date: Option<DateTime<Utc>>,
    /// URLs at which the claim appeared.
    pub appearances: Vec<String>,
}

pub(super) fn from_json_ld(nodes: &[&Map<String, Value>]) -> Vec<MarkupReview> {
    let reviews = nodes.iter().filter(|node| types(node).contains(&"ClaimReview")).filter_map(|node| from_node(node));
    without_repeats(reviews.collect())
}

/// Removes reviews that are marked up twice: in two blocks, or in JSON-LD and microdata.
pub(super) fn without_repeats(reviews: Vec<MarkupReview>) -> Vec<MarkupReview> {
    let mut seen = HashSet::new();
    reviews
        .into_iter()
        .filter(|review| seen.insert((review.claim_reviewed.to_lowercase(), review.rating.clone())))
        .take(MAX_REVIEWS)
        .collect()
}

fn from_node(node: &Map<String, Value>) -> Option<MarkupReview> {
    let item = node.get("itemReviewed").and_then(first_object);
    let claim_reviewed = string(node, "claimReviewed").or_else(|| item.and_then(|item| string(item, "name")))?;
    let rating = node.get("reviewRating");
    let rating_node = rating.and_then(first_object);
    let label = match rating {
        // Some pages have the label in place of the rating object.
        Some(Value::String(label)) => Some(text::plain(label)).filter(|label| !label.is_empty()),
        _ => rating_node.and_then(|node| string(node, "alternateName").or_else(|| string(node, "name"))),
    };
    let figure =
        |key| rating_node.and_then(|node| string(node, key)).and_then(|value| value.replace(',', ".").parse().ok());
    let day = |node: &Map<String, Value>, key| string(node, key).and_then(|text| dates::parse_date(&text));
    Some(MarkupReview {
        claim_reviewed,
        url: node.get("url").map(addresses).and_then(|list| list.into_iter().next()),
        publisher: string(node, "author").or_else(|| string(node, "publisher")),
        rating: label,
        rating_value: figure("ratingValue"),
        best_rating: figure("bestRating"),
        worst_rating: figure("worstRating"),
        language: string(node, "inLanguage").and_then(|tag| page::language_code(&tag)),
        review_date: day(node, "datePublished").or_else(|| day(node, "dateModified")),
        claimant: item.map(|item| names(item, "author").join(", ")).filter(|names| !names.is_empty()),
        claim_date: item.and_then(|item| day(item, "datePublished")),
        appearances: item.map(appearances).unwrap_or_default(),
    })
}

fn appearances(item: &Map<String, Value>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for address in ["firstAppearance", "appearance", "url"].iter().filter_map(|key| item.get(*key)).flat_map(addresses)
    {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// The object itself, the first of a list, or the content of `properties`.
fn first_object(value: &Value) -> Option<&Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map.get("properties").and_then(Value::as_object).unwrap_or(map)),
        Value::Array(values) => values.iter().find_map(first_object),
        _ => None,
    }
}

/// Reads the reviews in microdata. `scopes` are the elements with `itemtype` `ClaimReview`.
pub(super) fn from_microdata(document: &Document, scopes: &[NodeId]) -> Vec<MarkupReview> {
    scopes
        .iter()
        .take(MAX_REVIEWS)
        .filter_map(|id| document.tree.get(id))
        .filter_map(|scope| from_node(&object_of(&scope, 0)))
        .collect()
}

fn object_of(scope: &NodeRef<'_>, depth: usize) -> Map<String, Value> {
    let mut object = Map::new();
    // The properties of a nested scope belong only to that scope. Bounded, because reviews are small.
    let mut pending: Vec<NodeRef<'_>> = scope.children().into_iter().rev().collect();
    let mut budget = 2_000;
    while let Some(node) = pending.pop() {
        budget -= 1;
        if budget == 0 {
            break;
        }
        let is_scope = node.has_attr("itemscope");
        if let Some(property) = node.attr("itemprop") {
            let value =
                if is_scope && depth < 6 { Value::Object(object_of(&node, depth + 1)) } else { property_value(&node) };
            for name in property.split_whitespace().take(MAX_NAMES) {
                object.entry(name).or_insert_with(|| value.clone());
            }
        }
        if !is_scope {
            pending.extend(node.children().into_iter().rev());
        }
    }
    object
}

fn property_value(node: &NodeRef<'_>) -> Value {
    let attribute = ["content", "datetime", "href", "src"].iter().find_map(|name| node.attr(name));
    Value::String(attribute.map_or_else(|| page::bounded_text(node, 4_000), |value| value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_ld;

    fn reviews(block: &str) -> Vec<MarkupReview> {
        from_json_ld(&json_ld::read(&[block]).nodes())
    }

    #[test]
    fn a_full_review_is_read() {
        let found = reviews(
            r#"{"@context":"https://schema.org","@type":["ClaimReview","Review"],"datePublished":"2020-10-07 20:05",
            "url":"https://factual.afp.com/x","claimReviewed":"The Earth isn&#39;t <b>round</b>","inLanguage":"es-ES",
            "author":{"@type":"Organization","name":"AFP Factual"},
            "itemReviewed":{"@type":"Claim","author":[{"@type":"Person","name":"Ann"},{"name":"Bob"}],"datePublished":"2020-10-04",
                "appearance":[{"@type":"CreativeWork","url":"https://facebook.com/1"}],"firstAppearance":{"url":"https://x.com/2"}},
            "reviewRating":{"@type":"Rating","ratingValue":"5","bestRating":"1","worstRating":5,"alternateName":"Falso"}}"#,
        );
        let [review] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(review.claim_reviewed, "The Earth isn't round");
        assert_eq!(review.publisher.as_deref(), Some("AFP Factual"));
        assert_eq!(review.rating.as_deref(), Some("Falso"));
        assert_eq!((review.rating_value, review.best_rating, review.worst_rating), (Some(5.0), Some(1.0), Some(5.0)));
        assert_eq!(review.language.as_deref(), Some("es"));
        assert_eq!(review.claimant.as_deref(), Some("Ann, Bob"));
        assert_eq!(review.review_date.map(|at| at.to_rfc3339()).as_deref(), Some("2020-10-07T20:05:00+00:00"));
        assert_eq!(review.claim_date.map(|at| at.to_rfc3339()).as_deref(), Some("2020-10-04T00:00:00+00:00"));
        assert_eq!(review.appearances, ["https://x.com/2", "https://facebook.com/1"]);
    }

    #[test]
    fn ratings_come_in_every_shape() {
        for (rating, label) in [
            (r#""False""#, Some("False")),
            (r#"{"alternateName":{"@value":"False"}}"#, Some("False")),
            (r#"{"alternateName":["False","No"]}"#, Some("False")),
            (r#"{"name":"False"}"#, Some("False")),
            (r#"{"properties":{"alternateName":"False"}}"#, Some("False")),
            (r#"[{"alternateName":"False"}]"#, Some("False")),
            (r#"{"ratingValue":1}"#, None),
            ("null", None),
        ] {
            let found = reviews(&format!(
                r#"{{"@type":"http://schema.org/ClaimReview","claimReviewed":"c","reviewRating":{rating}}}"#
            ));
            assert_eq!(found.first().and_then(|review| review.rating.as_deref()), label, "{rating}");
        }
    }

    #[test]
    fn reviews_are_found_under_main_entity_and_in_graphs_once() {
        let inner = r#"{"@type":"ClaimReview","claimReviewed":"c","itemReviewed":{"author":{},"datePublished":null}}"#;
        assert_eq!(reviews(&format!(r#"{{"@type":"WebPage","mainEntity":{{"review":{inner}}}}}"#)).len(), 1);
        assert_eq!(reviews(&format!(r#"{{"@graph":[{inner},{inner}]}}"#)).len(), 1);
        assert!(reviews(r#"{"@type":"ClaimReview","claimReviewed":""}"#).is_empty(), "no claim, no review");
    }

    #[test]
    fn microdata_says_the_same() {
        let document = Document::from(
            r#"<div itemscope itemtype="http://schema.org/ClaimReview"><meta itemprop="datePublished" content="2020-10-07">
            <a itemprop="url" href="https://p.example/1">x</a><h2 itemprop="claimReviewed">The  claim</h2>
            <div itemprop="author" itemscope><span itemprop="name">Checker</span></div>
            <div><div itemprop="itemReviewed" itemscope><span itemprop="author" itemscope><b itemprop="name">Ann</b></span></div></div>
            <div itemprop="reviewRating" itemscope><span itemprop="alternateName">Pants on fire</span><meta itemprop="ratingValue" content="1"></div></div>"#,
        );
        let scopes: Vec<NodeId> = document.select("[itemtype]").nodes().iter().map(|node| node.id).collect();
        let found = from_microdata(&document, &scopes);
        let [review] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(review.claim_reviewed, "The claim");
        assert_eq!(review.publisher.as_deref(), Some("Checker"));
        assert_eq!(review.rating.as_deref(), Some("Pants on fire"));
        assert_eq!(review.rating_value, Some(1.0));
        assert_eq!(review.claimant.as_deref(), Some("Ann"));
        assert_eq!(review.url.as_deref(), Some("https://p.example/1"));
    }
}
