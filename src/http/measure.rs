//! Metrics of requests.
//!
//! The outermost layer of the router.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use crate::telemetry::metrics;

/// Counts a request. Paths are not a label, because they contain ids.
pub(crate) async fn measured(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let response = next.run(request).await;
    metrics::http_request(response.status().as_u16(), started.elapsed());
    response
}
