//! Google's format: proto3 JSON, which omits empty fields, so `{}` means that nothing was found.

use chrono::{DateTime, Duration, Utc};
use serde::Deserialize;
use url::Url;

use crate::domain::evidence::Review;
use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Query, wire};

/// Our own limit (none is documented); a claim is a sentence.
const LONGEST_QUERY: usize = 400;
/// Public clients use 100; no maximum is documented.
const LARGEST_PAGE: usize = 100;

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default, deserialize_with = "wire::list")]
    claims: Vec<Claim>,
    #[serde(default, rename = "nextPageToken", deserialize_with = "wire::text")]
    token: Option<String>,
    /// An error at status 200 is not an answer.
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    #[serde(default, deserialize_with = "wire::text")]
    text: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    claimant: Option<String>,
    #[serde(default, rename = "claimReview", deserialize_with = "wire::list")]
    reviews: Vec<ClaimReview>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimReview {
    #[serde(default)]
    publisher: Option<Publisher>,
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    review_date: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    textual_rating: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    language_code: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Publisher {
    #[serde(default, deserialize_with = "wire::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    site: Option<String>,
}

#[derive(Debug)]
pub(super) struct Reviews {
    pub(super) reviews: Vec<(String, Review)>,
    pub(super) next_page: Option<String>,
}

pub(super) fn url(endpoint: &Url, query: &Query, token: Option<&str>) -> Result<Url, AskError> {
    let text = wire::clip(&query.text, LONGEST_QUERY, usize::MAX);
    if text.is_empty() {
        return Err(AskError::Refused { detail: "the query is empty".to_owned() });
    }
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    parameters.append_pair("query", &text);
    // Reviews in other languages cannot be compared with the claim. Google ignores the region. No age limit: old
    // reviews of a returning claim are useful.
    if let Some(language) = query.language.as_deref().and_then(|tag| tag.split(['-', '_']).next()) {
        parameters.append_pair("languageCode", &language.to_lowercase());
    }
    if let [domain] = query.domains.as_slice() {
        parameters.append_pair("reviewPublisherSiteFilter", domain);
    }
    parameters.append_pair("pageSize", &query.limit.clamp(1, LARGEST_PAGE).to_string());
    if let Some(token) = token {
        parameters.append_pair("pageToken", token);
    }
    drop(parameters);
    Ok(url)
}

pub(super) fn read(response: &ApiResponse) -> Result<Reviews, AskError> {
    if response.status != 200 {
        return Err(failure(response));
    }
    let page: Page = wire::json(response)?;
    if let Some(error) = page.error {
        return Err(AskError::CouldNotAsk { detail: excerpt(&error.to_string()) });
    }
    let mut reviews = Vec::new();
    for claim in page.claims {
        let Some(text) = claim.text.map(|text| wire::plain(&text)).filter(|text| !text.is_empty()) else { continue };
        let claimant = claim.claimant.map(|claimant| wire::plain(&claimant));
        reviews.extend(claim.reviews.into_iter().filter_map(|review| to_review(review, &text, claimant.as_ref())));
    }
    Ok(Reviews { reviews, next_page: page.token })
}

/// Returns `None` for a review without a usable URL. A review without a rating is kept, because newer reviews of some
/// publishers have none.
fn to_review(review: ClaimReview, claim: &str, claimant: Option<&String>) -> Option<(String, Review)> {
    let url = wire::page_url(&review.url?)?;
    let publisher = review.publisher.unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let publisher = publisher.name.or(publisher.site).unwrap_or_else(|| host.trim_start_matches("www.").to_owned());
    let found = Review {
        claim: claim.to_owned(),
        claimant: claimant.cloned(),
        url: url.to_string(),
        publisher: wire::plain(&publisher),
        title: review.title.map(|title| wire::plain(&title)),
        rating: review.textual_rating.map(|rating| wire::plain(&rating)).unwrap_or_default(),
        language: review.language_code,
        review_date: review.review_date.as_deref().and_then(wire::date),
    };
    Some((wire::same_page_key(&url), found))
}

#[derive(Debug, Deserialize)]
struct Envelope {
    error: GoogleError,
}

#[derive(Debug, Deserialize)]
struct GoogleError {
    #[serde(default, deserialize_with = "wire::text")]
    message: Option<String>,
    #[serde(default, deserialize_with = "wire::list")]
    details: Vec<Detail>,
}

#[derive(Debug, Deserialize)]
struct Detail {
    #[serde(default, deserialize_with = "wire::text")]
    reason: Option<String>,
    #[serde(default, rename = "retryDelay", deserialize_with = "wire::text")]
    retry_delay: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default, deserialize_with = "wire::text")]
    quota_limit_value: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    quota_limit: Option<String>,
}

/// Classifies a refusal by the reason in its details: a bad key is a 400, a disabled API a 403.
fn failure(response: &ApiResponse) -> AskError {
    let Ok(Envelope { error }) = wire::json::<Envelope>(response) else {
        // HTML errors come from outside the API, so they are not about the key.
        return match response.status {
            401 | 403 | 404 => {
                AskError::CouldNotAsk { detail: format!("status {} without Google's error", response.status) }
            }
            _ => response.status_error().unwrap_or(AskError::Server { status: response.status }),
        };
    };
    let message = error.message.as_deref().map(excerpt).unwrap_or_default();
    let has_reason = |start: &str| {
        error.details.iter().filter_map(|detail| detail.reason.as_deref()).any(|reason| reason.starts_with(start))
    };
    match response.status {
        _ if has_reason("API_KEY_") => AskError::BadKey { detail: message },
        _ if has_reason("SERVICE_DISABLED") => AskError::Disabled { detail: message },
        400 if message.contains("API key") => AskError::BadKey { detail: message },
        403 if has_reason("RATE_LIMIT_EXCEEDED") => throttle(response, &error),
        401 | 403 => AskError::BadKey { detail: message },
        429 => throttle(response, &error),
        400..=499 => AskError::Refused { detail: message },
        _ => response.status_error().unwrap_or(AskError::Server { status: response.status }),
    }
}

fn throttle(response: &ApiResponse, error: &GoogleError) -> AskError {
    let metadata = || error.details.iter().filter_map(|detail| detail.metadata.as_ref());
    if metadata().any(|metadata| metadata.quota_limit_value.as_deref() == Some("0")) {
        return AskError::Disabled { detail: "this Google project has no quota for the API at all".to_owned() };
    }
    if metadata().filter_map(|metadata| metadata.quota_limit.as_deref()).any(|limit| limit.contains("PerDay")) {
        return AskError::QuotaGone { until: Some(next_pacific_midnight(response.received_at)) };
    }
    let delay = error.details.iter().filter_map(|detail| detail.retry_delay.as_deref()).find_map(seconds);
    AskError::Throttled { retry_after: response.retry_after().or(delay) }
}

/// Returns the next reset of Google's daily quotas: midnight Pacific time, 8:00 UTC in winter; one hour late in summer.
fn next_pacific_midnight(now: DateTime<Utc>) -> DateTime<Utc> {
    let today = now.date_naive().and_hms_opt(8, 0, 0).map_or(now, |time| time.and_utc());
    if today > now { today } else { today + Duration::days(1) }
}

/// A protobuf duration: `30s`, `1.5s`.
fn seconds(text: &str) -> Option<std::time::Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    (0.0..=86_400.0).contains(&seconds).then(|| std::time::Duration::from_secs_f64(seconds))
}
