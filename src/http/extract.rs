//! Extractors for bodies, queries and paths.
//!
//! Their errors name the rejected value and the accepted form.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize as _;
use serde::de::{DeserializeOwned, Error as _};

use super::problem::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    /// One JSON document per line.
    JsonLines,
}

impl BodyKind {
    /// Reads `Content-Type`, which is required. Web pages may send other types without a preflight; for these types the
    /// preflight is refused.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let kind = value.split(';').next().unwrap_or_default().trim().to_lowercase();
        match kind.as_str() {
            "application/json" => Some(Self::Json),
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/x-jsonlines" => {
                Some(Self::JsonLines)
            }
            other => (other.starts_with("application/") && other.ends_with("+json")).then_some(Self::Json),
        }
    }
}

#[derive(Debug)]
pub(crate) struct RawBody {
    pub(crate) kind: BodyKind,
    pub(crate) bytes: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = BodyKind::of(request.headers()).ok_or_else(|| {
            Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media-type",
                "send the header Content-Type: application/json (or application/x-ndjson for one item a line)",
            )
        })?;
        // A layer of the route has read it.
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|_cut_off| Problem::bad_request("the body could not be read to its end"))?;
        Ok(Self { kind, bytes })
    }
}

/// A JSON body: 400 if it is not JSON, 422 if it has another shape. Parsed directly, because a tree of values would
/// take a hundred times its size.
#[derive(Debug)]
pub(crate) struct ApiJson<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for ApiJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let body = RawBody::from_request(request, state).await?;
        if body.bytes.trim_ascii().is_empty() {
            return Err(Problem::bad_request("the body is empty; send a JSON object, /openapi.json shows it"));
        }
        let shaped = serde_json::from_slice(&body.bytes).map_err(|error| {
            if error.is_data() {
                Problem::invalid(format!("the body does not match the schema: {error}; see /openapi.json"))
            } else {
                Problem::bad_request(format!("the body is not JSON: {error}"))
            }
        })?;
        Ok(Self(shaped))
    }
}

#[derive(Debug)]
pub(crate) struct ApiQuery<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(query) = Query::<T>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::bad_request(format!("{}; see /openapi.json", rejection.body_text())))?;
        Ok(Self(query))
    }
}

/// The variable part of a path, percent-decoded.
#[derive(Debug)]
pub(crate) struct ApiPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for ApiPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_rejection| Problem::bad_request("the path is not UTF-8 once its %-codes are decoded"))?;
        // No id contains NUL, and databases reject it.
        if text.contains('\0') { Err(Problem::not_found("nothing has that name")) } else { Ok(Self(text)) }
    }
}

/// Reads an optional whole number, also `12.0`, which is an integer in JSON Schema.
pub(crate) fn maybe_whole<'de, D, N>(deserializer: D) -> Result<Option<N>, D::Error>
where
    D: serde::Deserializer<'de>,
    N: TryFrom<i64>,
{
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    whole_of(&number).map(Some).ok_or_else(|| D::Error::custom("expected a whole number"))
}

fn whole_of<N: TryFrom<i64>>(number: &serde_json::Number) -> Option<N> {
    let text = number.to_string();
    let digits = text
        .split_once('.')
        .filter(|(_, rest)| rest.chars().all(|c| c == '0'))
        .map_or(text.as_str(), |(whole, _)| whole);
    N::try_from(digits.parse().ok()?).ok()
}

/// Rows per page, by default 50.
pub(crate) fn page_limit<N: TryFrom<i64>>(given: Option<i64>) -> Result<N, Problem> {
    let limit = given.unwrap_or(50);
    let is_one = (1..=200).contains(&limit);
    let found = is_one.then(|| N::try_from(limit).ok()).flatten();
    found.ok_or_else(|| Problem::bad_request(format!("limit must be between 1 and 200 (got {limit})")))
}

/// Trims a text; `None` if blank; an error if too long or with NUL.
pub(crate) fn query_text(name: &str, given: Option<String>, most_chars: usize) -> Result<Option<String>, Problem> {
    let Some(text) = given.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.contains('\0') || text.chars().nth(most_chars).is_some() {
        return Err(Problem::bad_request(format!(
            "{name} has {} characters (at most {most_chars}) or contains the NUL character",
            text.chars().count()
        )));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::{get, post};
    use serde::Deserialize;
    use tower::ServiceExt as _;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Shape {
        #[expect(dead_code, reason = "only its presence is asked for")]
        name: String,
    }

    async fn post_status(content_type: Option<&str>, body: impl Into<Body>) -> u16 {
        let handler = post(|ApiJson(_): ApiJson<Shape>| async {});
        let router: Router = Router::new().route("/", handler);
        let mut request = Request::builder().method("POST").uri("/");
        if let Some(kind) = content_type {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        router.oneshot(request.body(body.into()).unwrap()).await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn every_bad_body_has_its_status() {
        let good = r#"{"name":"a"}"#;
        assert_eq!(post_status(Some("application/json"), good).await, 200);
        assert_eq!(post_status(Some("Application/JSON; charset=utf-8"), good).await, 200);
        assert_eq!(post_status(Some("application/merge+json"), good).await, 200);
        assert_eq!(post_status(None, good).await, 415, "a page can send a body without a type unasked");
        assert_eq!(post_status(Some("text/plain"), good).await, 415);
        assert_eq!(post_status(Some("application/x-www-form-urlencoded"), good).await, 415);
        assert_eq!(post_status(Some("application/json"), "").await, 400);
        assert_eq!(post_status(Some("application/json"), "{").await, 400);
        assert_eq!(post_status(Some("application/json"), vec![b'"', 0xff, b'"']).await, 400);
        assert_eq!(post_status(Some("application/json"), "[1]").await, 422);
        assert_eq!(post_status(Some("application/json"), r#"{"name":7}"#).await, 422);
        assert_eq!(post_status(Some("application/json"), r#"{"name":"a"} x"#).await, 400);
        assert_eq!(post_status(Some("application/json"), r#"{"name":"a","name":"b"}"#).await, 422);
        assert_eq!(post_status(Some("application/json"), r#"{"other":{"deep":[1,{}]},"name":"a"}"#).await, 200);
    }

    #[tokio::test]
    async fn a_path_part_is_decoded() {
        let handler = get(|ApiPath(id): ApiPath| async move { id });
        let router: Router = Router::new().route("/i/{id}/e", handler);
        let ask = |uri: &'static str| {
            let router = router.clone();
            async move {
                let response = router.oneshot(Request::builder().uri(uri).body(Body::empty()).unwrap()).await.unwrap();
                let status = response.status().as_u16();
                (status, axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap())
            }
        };
        assert_eq!(ask("/i/tg:a%2Fb%20%C3%A9/e").await, (200, Bytes::from_static("tg:a/b é".as_bytes())));
        assert_eq!(ask("/i/%ff/e").await.0, 400);
        assert_eq!(ask("/i/a%00b/e").await.0, 404);
    }

    #[test]
    fn blank_query_texts_are_absent() {
        assert_eq!(query_text("q", Some("  ".into()), 5).unwrap(), None);
        assert_eq!(query_text("q", Some(" a ".into()), 5).unwrap().as_deref(), Some("a"));
        assert!(query_text("q", Some("abcdef".into()), 5).is_err());
        assert!(query_text("q", Some("a\0".into()), 5).is_err());
    }
}
