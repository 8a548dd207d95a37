//! How many requests are answered, how, and how fast.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use crate::telemetry::metrics;

/// Counts the request once its answer begins. Paths are no label: they hold ids.
pub(crate) async fn measured(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let response = next.run(request).await;
    metrics::http_request(response.status().as_u16(), started.elapsed());
    response
}
