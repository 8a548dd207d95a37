//! Server-sent events.
//!
//! Heartbeats and a header keep proxies from closing or buffering the stream.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderName;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::{Stream, StreamExt as _};
use serde::Serialize;

use super::problem::Problem;

/// Proxies end a silent connection.
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(crate) fn named(name: &str, data: &impl Serialize) -> Event {
    match serde_json::to_string(data) {
        Ok(line) => Event::default().event(name).data(line),
        Err(error) => {
            tracing::error!(%error, event = name, "server-sent event could not be written");
            Event::default().event("problem").data(Problem::internal().shown().to_string())
        }
    }
}

pub(crate) fn streamed(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<Event, Infallible>).boxed();
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // nginx would show nothing until the end.
    ([(HeaderName::from_static("x-accel-buffering"), "no")], sse).into_response()
}
