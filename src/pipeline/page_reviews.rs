//! Reads fact-checks from a page's markup.

use url::Url;

use crate::domain::evidence::Review;
use crate::reading::{Article, MarkupReview, registered_domain};

/// Returns the page's reviews; those without a rating are left out.
pub(super) fn reviews(article: &Article, url: &Url) -> Vec<Review> {
    let publisher = || article.publisher.clone().or_else(|| article.site_name.clone());
    let review = |markup: &MarkupReview| {
        Some(Review {
            claim: markup.claim_reviewed.clone(),
            claimant: markup.claimant.clone(),
            url: markup.url.clone().unwrap_or_else(|| url.to_string()),
            publisher: markup.publisher.clone().or_else(publisher).or_else(|| url.host_str().map(registered_domain))?,
            title: article.title.clone(),
            rating: markup.rating.clone()?,
            language: markup.language.clone().or_else(|| article.language.clone()),
            review_date: markup.review_date.or(article.published_at),
        })
    };
    article.claim_reviews.iter().filter_map(review).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::read_page;

    #[test]
    fn markup_becomes_a_review_when_it_has_a_rating() {
        let page = |rating: &str| {
            format!(
                r#"<html><head><title>Did the bridge fall?</title><script type="application/ld+json">{{"@context":"https://schema.org","@type":"ClaimReview",
                "claimReviewed":"The bridge of Zandor collapsed.","author":{{"@type":"Organization","name":"Checkers"}},
                "reviewRating":{{"@type":"Rating"{rating}}},"datePublished":"2026-11-18"}}</script></head>
                <body><article><h1>Did the bridge fall?</h1><p>Posts say that the bridge of Zandor collapsed. It stands, as anyone can see who goes
                there; the mayor showed it to us this morning, and traffic ran over it as on every other day.</p></article></body></html>"#
            )
        };
        let url = Url::parse("https://checkers.example/zandor").unwrap();
        let read = |rating: &str| read_page(page(rating).as_bytes(), Some("text/html"), &url).unwrap();
        let found = reviews(&read(r#","alternateName":"False""#), &url);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].claim.as_str(), found[0].rating.as_str(), found[0].publisher.as_str(), found[0].url.as_str()),
            ("The bridge of Zandor collapsed.", "False", "Checkers", url.as_str())
        );
        assert!(reviews(&read(""), &url).is_empty(), "without a rating it says nothing");
    }
}
