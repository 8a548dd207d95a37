//! The API without a port, for commands that opened the store themselves.
//!
//! Requests pass the same layers as over a socket. They count as requests of a user of this machine: no token is
//! required, and no rate limit and no timeout applies.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::problem::Problem;
use super::{HttpSettings, HttpState, router};

#[derive(Debug, Clone)]
pub struct InProcess(Router);

impl InProcess {
    pub fn new(state: HttpState) -> Self {
        let settings = HttpSettings {
            admin_token: None,
            read_token: None,
            loopback: true,
            requests_per_minute: 0,
            max_body_bytes: usize::MAX,
            in_process: true,
            ..HttpSettings::clone(&state.settings)
        };
        Self(router(HttpState { settings: Arc::new(settings), ..state }, false))
    }

    /// Sends a request. `path` starts with a slash and is already encoded; a body comes with its media type. Returns
    /// the status and the JSON body, or null if the body is not JSON. A problem has the member `cause`, which clients of
    /// a server do not get.
    pub async fn send(&self, method: Method, path: &str, body: Option<(Vec<u8>, &'static str)>) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        let bytes = match body {
            Some((bytes, media)) => {
                request = request.header(header::CONTENT_TYPE, media);
                bytes
            }
            None => Vec::new(),
        };
        let request = match request.body(Body::from(bytes)) {
            Ok(request) => request,
            Err(error) => {
                let detail = format!("{path} cannot be requested: {error}");
                return (StatusCode::BAD_REQUEST.as_u16(), json!({ "detail": detail }));
            }
        };
        let Ok(response) = self.0.clone().oneshot(request).await;
        let status = response.status().as_u16();
        let cause = response.extensions().get::<Problem>().and_then(|problem| problem.cause().map(str::to_owned));
        // The response was made in this process, so its size needs no limit.
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        let mut body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if let (Some(cause), Some(members)) = (cause, body.as_object_mut()) {
            members.insert("cause".to_owned(), cause.into());
        }
        (status, body)
    }
}
