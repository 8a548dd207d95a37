//! Limits of request bodies: size, time, and number of large ones in memory.
//!
//! A layer reads the body before the handler runs. Items and imports may be large. Processing takes a multiple of a
//! body's size, so few large ones are processed at once and the others wait unread.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt as _;
use tokio::sync::Semaphore;

use super::problem::Problem;

/// Paths with bodies up to `http.max_body`.
const LARGE_BODY_PATHS: [&str; 2] = ["/api/items", "/api/domains/import"];

/// Maximum body of other paths; a larger one counts as large.
pub(super) const SMALL_BODY_BYTES: usize = 64 * 1024;
const SMALL_BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Enough for 8 MiB at 100 kB/s.
const LARGE_BODY_TIMEOUT: Duration = Duration::from_secs(80);

/// Maximum number of bytes that are read and discarded of a body that is too large.
const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;

const MAX_LARGE_BODIES: usize = 4;
const LARGE_BODY_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct BodyLimits {
    max_bytes: usize,
    large: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
pub(super) struct BodyLimit {
    max_bytes: usize,
    timeout: Duration,
    wait: Duration,
    large: Option<Arc<Semaphore>>,
}

impl BodyLimits {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, large: Arc::new(Semaphore::new(MAX_LARGE_BODIES)) }
    }

    pub(super) fn of(&self, path: &str) -> BodyLimit {
        let (max_bytes, timeout, large) = if LARGE_BODY_PATHS.contains(&path) {
            (self.max_bytes, LARGE_BODY_TIMEOUT, Some(Arc::clone(&self.large)))
        } else {
            (self.max_bytes.min(SMALL_BODY_BYTES), SMALL_BODY_TIMEOUT, None)
        };
        BodyLimit { max_bytes, timeout, wait: LARGE_BODY_WAIT, large }
    }
}

/// The layer that reads the whole body first.
pub(super) async fn read(State(limit): State<BodyLimit>, request: Request, next: Next) -> Result<Response, Problem> {
    if request.body().is_end_stream() {
        return Ok(next.run(request).await);
    }
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let is_too_large = length.is_some_and(|length| length > limit.max_bytes);
    // Held until the handler has responded.
    let _place = match &limit.large {
        // A body of unknown length may be large.
        Some(large) if !is_too_large && length.is_none_or(|length| length > SMALL_BODY_BYTES) => {
            let place = tokio::time::timeout(limit.wait, Arc::clone(large).acquire_owned()).await;
            // The semaphore is never closed.
            Some(place.map_err(|_elapsed| busy())?)
        }
        _ => None,
    };
    let (parts, body) = request.into_parts();
    let bytes = tokio::time::timeout(limit.timeout, collected(body, &limit, length)).await;
    let bytes = bytes.map_err(|_elapsed| {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "slow-body", "the body took too long to arrive")
    })??;
    Ok(next.run(Request::from_parts(parts, Body::from(bytes))).await)
}

/// Reads the body. Discards the rest if it is too large, because a client that is still sending would not see the
/// response.
async fn collected(body: Body, limit: &BodyLimit, length: Option<usize>) -> Result<Vec<u8>, Problem> {
    let announced = length.unwrap_or_default();
    if announced > MAX_DISCARDED_BYTES.max(limit.max_bytes) {
        return Err(limit.too_large());
    }
    // A client may announce more than it sends.
    let mut bytes = Vec::with_capacity(announced.min(SMALL_BODY_BYTES));
    let mut received = 0;
    let mut is_too_large = announced > limit.max_bytes;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_cut_off| Problem::bad_request("the body could not be read to its end"))?;
        received += chunk.len();
        is_too_large |= received > limit.max_bytes;
        if !is_too_large {
            bytes.extend_from_slice(&chunk);
        } else if received > MAX_DISCARDED_BYTES {
            break;
        } else {
            bytes = Vec::new();
        }
    }
    if is_too_large { Err(limit.too_large()) } else { Ok(bytes) }
}

impl BodyLimit {
    fn too_large(&self) -> Problem {
        let advice = match self.large {
            Some(_) => "send fewer items at a time, or raise http.max_body",
            None => "items and imports alone may be larger",
        };
        let detail = format!("the body is larger than the {} bytes that this path takes; {advice}", self.max_bytes);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }
}

fn busy() -> Problem {
    Problem::unavailable("busy", "this server is reading other large bodies; send the same request again")
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::response::IntoResponse as _;
    use axum::routing::post;
    use futures::stream;
    use tower::ServiceExt as _;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    fn router(limits: &BodyLimits, path: &'static str) -> Router {
        limited(limits.of(path), path)
    }

    fn limited(limit: BodyLimit, path: &'static str) -> Router {
        let handler = post(|body: axum::body::Bytes| async move { body.len().to_string() });
        Router::new().route(path, handler.route_layer(from_fn_with_state(limit, read)))
    }

    async fn sent(router: &Router, path: &str, body: impl Into<Body>) -> (u16, Vec<u8>) {
        let request = Request::builder().method("POST").uri(path).body(body.into()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        (status, axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec())
    }

    #[tokio::test]
    async fn body_is_refused_when_it_is_larger_than_its_path_takes() {
        let limits = BodyLimits::new(100 * 1024);
        let (small, large) = (router(&limits, "/api/verify"), router(&limits, "/api/items"));
        for (bytes, as_small, as_large) in
            [(0, 200, 200), (64 << 10, 200, 200), (65 << 10, 413, 200), (101 << 10, 413, 413)]
        {
            let whole = || Body::from(vec![b' '; bytes]);
            let chunks = || {
                let chunks = vec![vec![b' '; 1024]; bytes / 1024];
                Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>)))
            };
            for (router, path, expected) in [(&small, "/api/verify", as_small), (&large, "/api/items", as_large)] {
                assert_eq!(sent(router, path, whole()).await.0, expected, "{path} {bytes}");
                assert_eq!(sent(router, path, chunks()).await.0, expected, "{path} {bytes} in chunks");
            }
        }
        assert_eq!(sent(&large, "/api/items", "abc").await.1, b"3");
        let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
        assert_eq!(sent(&small, "/api/verify", Body::from_stream(endless)).await.0, 413);
    }

    #[tokio::test]
    async fn body_is_given_up_when_it_drips() {
        let limits = BodyLimits::new(1 << 20);
        for path in ["/api/verify", "/api/items"] {
            let drips = stream::unfold((), |()| async {
                tokio::time::sleep(SHORT / 5).await;
                Some((Ok::<_, std::io::Error>("x"), ()))
            });
            let router = limited(BodyLimit { timeout: SHORT, ..limits.of(path) }, path);
            assert_eq!(sent(&router, path, Body::from_stream(drips)).await.0, 408, "{path}");
        }
        assert_eq!(limits.of("/api/verify").timeout, SMALL_BODY_TIMEOUT);
    }

    #[tokio::test]
    async fn large_bodies_wait_for_each_other_and_small_ones_do_not() {
        let limits = BodyLimits::new(1 << 20);
        let router = limited(BodyLimit { wait: SHORT, ..limits.of("/api/items") }, "/api/items");
        let held: Vec<_> = (0..MAX_LARGE_BODIES).map(|_| Arc::clone(&limits.large).try_acquire_owned()).collect();
        let length = |bytes: usize| {
            let request = Request::builder().method("POST").uri("/api/items").header(header::CONTENT_LENGTH, bytes);
            request.body(Body::from(vec![b' '; bytes])).unwrap()
        };
        let status = async |bytes| router.clone().oneshot(length(bytes)).await.unwrap().status().as_u16();
        assert_eq!(status(SMALL_BODY_BYTES).await, 200);
        assert_eq!(status(SMALL_BODY_BYTES + 1).await, 503);
        assert!(busy().into_response().headers().contains_key(header::RETRY_AFTER));
        drop(held);
        assert_eq!(status(SMALL_BODY_BYTES + 1).await, 200);
        assert_eq!(limits.large.available_permits(), MAX_LARGE_BODIES, "each gives its place back");
    }
}
