//! Errors as `application/problem+json` (RFC 9457), with advice.
//!
//! Handlers return a [`Problem`]. The outermost layer, [`finish`], adds the path and logs the request. Problems never
//! contain secrets or internal errors.

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::broker::QueueError;
use crate::pipeline::PipelineError;
use crate::store::StoreError;

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// `Retry-After` while something is away: about the time of a restart.
const AWAY: Duration = Duration::from_secs(5);

/// An error response. Contains no secrets.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    /// The last part of `type`, from a closed set.
    label: &'static str,
    detail: String,
    retry_after: Option<Duration>,
    challenge: Option<&'static str>,
    /// Further members of the document.
    members: Map<String, Value>,
    /// The error and its causes, for commands of this process; never part of the document.
    cause: Option<Box<str>>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, label: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            label,
            detail: detail.into(),
            retry_after: None,
            challenge: None,
            members: Map::new(),
            cause: None,
        }
    }

    /// 400: unreadable.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// 422: readable, with a wrong value.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// 503: temporarily away.
    pub(crate) fn unavailable(label: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, label, detail).retry_after(AWAY)
    }

    /// 500: only the log has the cause.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong inside the server; its log says what. Please report it if it happens again",
        )
    }

    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    pub(crate) fn challenge(mut self, challenge: &'static str) -> Self {
        self.challenge = Some(challenge);
        self
    }

    pub(crate) fn with(mut self, member: &str, value: Value) -> Self {
        self.members.insert(member.to_owned(), value);
        self
    }

    fn caused_by(mut self, error: &dyn Error) -> Self {
        self.cause = Some(chain(error).into());
        self
    }

    pub(crate) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The document for an event stream, which has no status.
    pub(crate) fn shown(&self) -> Value {
        self.document(None)
    }

    fn document(&self, instance: Option<&str>) -> Value {
        let mut document = Map::new();
        document.insert("type".into(), json!(format!("urn:corroborate:problem:{}", self.label)));
        document.insert("title".into(), json!(self.status.canonical_reason().unwrap_or("Error")));
        document.insert("status".into(), json!(self.status.as_u16()));
        document.insert("detail".into(), json!(self.detail));
        if let Some(instance) = instance {
            document.insert("instance".into(), json!(instance));
        }
        document.extend(self.members.clone());
        Value::Object(document)
    }

    fn render(&self, instance: Option<&str>) -> Response {
        let mut response = (self.status, self.document(instance).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(wait) = self.retry_after {
            // Rounded up, so that a client that waits this long is not refused again.
            let seconds = wait.as_millis().div_ceil(1000).max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX)));
        }
        if let Some(challenge) = self.challenge {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }

    /// The problem for an error of another layer (the router's 405, the body limit's 413).
    fn of_status(status: StatusCode) -> Self {
        match status {
            // The router adds `Allow` after all layers, so the text cannot name methods.
            StatusCode::METHOD_NOT_ALLOWED => Self::new(
                status,
                "method-not-allowed",
                "this path does not take that method; the Allow header names those it takes",
            ),
            StatusCode::PAYLOAD_TOO_LARGE => Self::too_large(),
            _ => Self::new(status, "error", "the request could not be answered; /openapi.json says what is expected"),
        }
    }

    pub(crate) fn too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "the body is larger than this path takes; send less at a time",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.render(None);
        // `finish` renders it again with the path.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::ClocksDiffer { .. }) {
            tracing::warn!(label = error.label(), %error, "request refused because clocks differ");
            return Self::unavailable("clocks-differ", error.to_string());
        }
        let problem = if error.is_outage() {
            tracing::warn!(label = error.label(), error = %chain(&error), "store unavailable for a request");
            Self::unavailable(
                "store-away",
                "the store cannot be reached at the moment; try again, /readyz says when it is back",
            )
        } else {
            tracing::error!(label = error.label(), error = %chain(&error), "store error in a request");
            Self::internal()
        };
        problem.caused_by(&error)
    }
}

impl From<QueueError> for Problem {
    fn from(error: QueueError) -> Self {
        tracing::warn!(label = error.label(), error = %chain(&error), "queue unavailable for a request");
        let problem = match &error {
            QueueError::Closed => {
                Self::unavailable("shutting-down", "the server is stopping; try again when it is back")
            }
            // Sending again is safe: an item with the same text is processed once.
            _ => Self::unavailable(
                "queue-away",
                "the queue cannot be reached at the moment; send the same request again, what already arrived is not done twice",
            ),
        };
        problem.caused_by(&error)
    }
}

impl From<PipelineError> for Problem {
    fn from(error: PipelineError) -> Self {
        let problem = match &error {
            PipelineError::Store(_) => Self::internal(),
            PipelineError::Inference(error) => {
                tracing::warn!(error = %chain(&error), "check failed");
                Self::unavailable("model-away", "a model this check needs cannot be used at the moment; try again")
            }
            PipelineError::Texts(_) => {
                tracing::warn!(error = %chain(&error), "check failed");
                Self::unavailable(
                    "text-work",
                    "the text could not be worked on; send a shorter one, or try again later",
                )
            }
        };
        match error {
            PipelineError::Store(error) => error.into(),
            error => problem.caused_by(&error),
        }
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        source = cause.source();
    }
    line
}

/// The panic message goes to the log, never to the client.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands the panic over by value")]
pub(crate) fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&'static str>().copied())
        .unwrap_or("without a message");
    tracing::error!(panic = message, "request handler panicked");
    Problem::internal().into_response()
}

/// The outermost layer. Adds the path to problems and logs requests, but never queries or bodies: they contain what
/// people asked about.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map(|matched| matched.as_str().to_owned());
    let mut response = next.run(request).await;
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        response = as_problem(response, &path, &method);
    }
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let route = route.as_deref().unwrap_or("unknown");
    tracing::debug!(%method, route, status = status.as_u16(), millis, "request answered");
    response
}

/// Marks an error that already is a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageMarker;

fn as_problem(mut response: Response, path: &str, method: &Method) -> Response {
    if response.extensions().get::<PageMarker>().is_some() {
        return response;
    }
    let known = response.extensions_mut().remove::<Problem>();
    let problem = known.unwrap_or_else(|| Problem::of_status(response.status()));
    let (mut parts, _body) = response.into_parts();
    let (whole, body) = problem.render(Some(path)).into_parts();
    // Headers of inner layers stay (`Allow`, CORS), except those of the old body.
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(whole.headers);
    // For callers in this process.
    parts.extensions.insert(problem);
    // The server drops this body itself; tests need it here.
    let body = if method == Method::HEAD { Body::empty() } else { body };
    Response::from_parts(parts, body)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::to_bytes;
    use axum::http::HeaderMap;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(router: Router, uri: &str) -> (StatusCode, HeaderMap, Value) {
        let request = Request::builder().uri(uri).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        (parts.status, parts.headers, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_problem_has_the_members_of_the_standard_and_its_own() {
        let problem = || async {
            Problem::unavailable("store-away", "it is away")
                .retry_after(Duration::from_millis(1200))
                .with("reasons", json!(["x"]))
        };
        let router = Router::new().route("/a", get(problem)).layer(axum::middleware::from_fn(finish));
        let (status, headers, body) = ask(router, "/a?secret=1").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(headers[header::CONTENT_TYPE], PROBLEM_JSON);
        assert_eq!(headers[header::RETRY_AFTER], "2", "rounded up");
        assert_eq!(
            body,
            json!({"type": "urn:corroborate:problem:store-away", "title": "Service Unavailable", "status": 503,
                "detail": "it is away", "instance": "/a", "reasons": ["x"]})
        );
    }

    #[tokio::test]
    async fn errors_of_other_layers_become_problems_and_keep_their_headers() {
        let router = Router::new()
            .route("/a", axum::routing::post(|| async {}))
            .route("/b", get(|| async { (StatusCode::PAYLOAD_TOO_LARGE, "length limit exceeded") }))
            .layer(axum::middleware::from_fn(finish));
        let (status, headers, body) = ask(router.clone(), "/a").await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(headers[header::ALLOW], "POST");
        assert_eq!(body["type"], "urn:corroborate:problem:method-not-allowed");
        let (status, _, body) = ask(router, "/b").await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(body["type"], "urn:corroborate:problem:too-large");
    }

    #[test]
    fn what_is_away_asks_to_come_back_and_what_is_broken_does_not() {
        let away = Problem::from(StoreError::Unreachable(std::io::Error::other("gone").into()));
        assert_eq!((away.status, away.retry_after), (StatusCode::SERVICE_UNAVAILABLE, Some(AWAY)));
        let broken = Problem::from(StoreError::Corrupt { detail: "phase x".into() });
        assert_eq!((broken.status, broken.retry_after), (StatusCode::INTERNAL_SERVER_ERROR, None));
        assert!(!broken.detail.contains("phase x"), "what is stored is no client's business");
        let queue = Problem::from(QueueError::Away { detail: "amqp://user:word@host".into() });
        assert_eq!(queue.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(!queue.detail.contains("word"));
        assert_eq!(Problem::from(QueueError::Closed).label, "shutting-down");
    }
}
