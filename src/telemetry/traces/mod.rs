//! Traces: the spans of an item for an OTLP collector. Off unless a collector is configured.
//!
//! 1. `recorder`, a layer of `tracing`, creates the program's own spans.
//! 2. `queue` stores finished spans (`span`) until they are sent.
//! 3. `wire` encodes them as OTLP protobuf. A job of `app` sends them with `outbound::otlp`.
//!
//! Only spans of this file are recorded. They contain names, figures and words of closed sets, never a text, a key or
//! personal data; an item is named by its id.
//!
//! To add a span, add a function below. Its fields become attributes, except `otel.name` (the span's name) and
//! `otel.kind`. `error.type` also marks it as failed.

mod queue;
mod recorder;
mod span;
mod wire;

use tracing::Span;
use tracing::field::Empty;

pub(super) use queue::leave_queue;
pub use queue::{SpanQueue, take_queue};
pub(super) use recorder::{filter, recorder};
pub use span::FinishedSpan;
pub use wire::{Resource, export_request};

/// Target of an item's span, which is also in the log.
pub(super) const ITEM: &str = "corroborate::item";

/// Target of all other spans, which are not in the log.
pub(super) const INNER: &str = "corroborate::trace";

pub fn stage_span(stage: &'static str) -> Span {
    tracing::info_span!(target: INNER, "stage", otel.name = format_args!("stage.{stage}"), stage.name = stage)
}

/// One call to a provider, from its rate-limit permit on. See [`provider_call_ended`].
pub fn provider_call_span(provider: &'static str) -> Span {
    tracing::info_span!(
        target: INNER,
        "provider.call",
        otel.kind = "client",
        provider.name = provider,
        provider.outcome = Empty,
        error.type = Empty
    )
}

/// Records the outcome, one of the catalogue's.
pub fn provider_call_ended(span: &Span, outcome: &'static str) {
    span.record("provider.outcome", outcome);
    if outcome != "ok" {
        span.record("error.type", outcome);
    }
}

pub fn store_commit_span(claims: usize, sources: usize) -> Span {
    tracing::info_span!(
        target: INNER,
        "store.commit",
        otel.kind = "client",
        db.system.name = "postgresql",
        store.claims = claims,
        store.sources = sources
    )
}
