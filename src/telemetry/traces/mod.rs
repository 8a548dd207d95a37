//! Traces: what became of an item, and when, as spans for an OTLP collector. Off unless one is named.
//!
//! `recorder` makes spans of the program's own (the layer below `tracing`), `span` is what a finished one is, `queue` holds
//! them until they are sent, `wire` writes them as OTLP's protobuf. Sending is `outbound::otlp`'s, in a job of `app`.
//!
//! Only spans made here are recorded, so that what leaves the process is decided in this file: names, figures and words of
//! closed sets, never a text, a key or a person's data. An item is named by its id, as in the log. To add a span, add a
//! function below; its fields become the attributes, but for `otel.name` (the span's name), `otel.kind`, and `error.type`,
//! which also marks it as failed.

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

/// Of the span of an item's work, which the log shows too.
pub(super) const ITEM: &str = "corroborate::item";

/// Of all other spans, which the log leaves out: a line is read by its item.
pub(super) const INNER: &str = "corroborate::trace";

/// A stage of the pipeline.
pub fn stage_span(stage: &'static str) -> Span {
    tracing::info_span!(target: INNER, "stage", otel.name = format_args!("stage.{stage}"), stage.name = stage)
}

/// One call to a provider, from the moment it has its slot. See [`provider_call_ended`].
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

/// How it ended: one of the catalogue's outcomes.
pub fn provider_call_ended(span: &Span, outcome: &'static str) {
    span.record("provider.outcome", outcome);
    if outcome != "ok" {
        span.record("error.type", outcome);
    }
}

/// The transaction that stores an item's result.
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
