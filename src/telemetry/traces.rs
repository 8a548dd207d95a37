//! Traces: the spans of an item for an OTLP collector. Off unless a collector is configured (`outbound::otlp`).
//!
//! Only spans of this file are recorded. They contain names, figures and words of closed sets, never a text, a key or
//! personal data; an item is named by its id.
//!
//! To add a span, add a function below. Its fields become attributes, except `otel.name` (the span's name) and
//! `otel.kind`.

use std::collections::HashMap;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Link, SpanContext, SpanKind, Status, TraceContextExt as _, TraceId, TraceState, TracerProvider as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample};
use tracing::field::Empty;
use tracing::{Metadata, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, LevelFilter};
use tracing_subscriber::registry::LookupSpan;

/// Target of an item's span, which is also in the log.
const ITEM: &str = "corroborate::item";

/// Target of all other spans, which are not in the log.
pub(super) const INNER: &str = "corroborate::trace";

/// Name of an item's span, the first of its trace in this process.
const ITEM_SPAN: &str = "item";

/// Reads a `traceparent` header (W3C Trace Context). Returns `None` if it is invalid.
pub fn remote_parent(header: &str) -> Option<SpanContext> {
    let carrier = HashMap::from([("traceparent".to_owned(), header.to_owned())]);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    let parent = context.span().span_context().clone();
    parent.is_valid().then_some(parent)
}

/// Returns the span of an item's work, in the producer's trace if it sent one. Log lines inside it have the item's id
/// and that trace's id.
pub fn item_span(item_id: &str, phase: &'static str, parent: Option<&SpanContext>) -> Span {
    let span = tracing::info_span!(
        target: ITEM,
        ITEM_SPAN,
        otel.kind = "consumer",
        item.id = item_id,
        item.phase = phase,
        item.outcome = Empty,
        error.type = Empty,
        trace.id = parent.map(|parent| parent.trace_id().to_string())
    );
    if let Some(parent) = parent {
        // An error means that spans are not recorded.
        let _unrecorded = span.set_parent(Context::new().with_remote_span_context(parent.clone()));
    }
    span
}

pub fn item_ended(outcome: &'static str, failed: bool) {
    let span = Span::current();
    span.record("item.outcome", outcome);
    if failed {
        mark_failed(&span, outcome);
    }
}

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
        mark_failed(span, outcome);
    }
}

pub fn store_commit_span(claims: usize, sources: usize) -> Span {
    tracing::info_span!(
        target: INNER,
        "store.commit",
        otel.kind = "client",
        db.system.name = "postgresql",
        store.claims = i64::try_from(claims).unwrap_or(i64::MAX),
        store.sources = i64::try_from(sources).unwrap_or(i64::MAX)
    )
}

fn mark_failed(span: &Span, error: &'static str) {
    span.record("error.type", error);
    span.set_status(Status::error(""));
}

/// Returns the layer that records this file's spans. It records no log line.
pub(super) fn layer<S>(provider: &SdkTracerProvider) -> impl Layer<S> + Send + Sync + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let scope = InstrumentationScope::builder("corroborate").with_version(env!("CARGO_PKG_VERSION")).build();
    let ours: fn(&Metadata<'_>) -> bool = |about| about.is_span() && matches!(about.target(), ITEM | INNER);
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(FilterFn::new(ours).with_max_level_hint(LevelFilter::INFO))
}

/// Samples `share` of the items without a producer's trace; otherwise the producer's sampling decides. Spans outside an
/// item are not recorded.
pub fn sampler(share: f64) -> Sampler {
    Sampler::ParentBased(Box::new(ItemSampler(Sampler::TraceIdRatioBased(share))))
}

#[derive(Debug, Clone)]
struct ItemSampler(Sampler);

impl ShouldSample for ItemSampler {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        if name == ITEM_SPAN {
            return self.0.should_sample(parent, trace, name, kind, attributes, links);
        }
        SamplingResult { decision: SamplingDecision::Drop, attributes: Vec::new(), trace_state: TraceState::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use opentelemetry::trace::SpanId;
    use opentelemetry_sdk::error::OTelSdkResult;
    use opentelemetry_sdk::trace::{SpanData, SpanExporter};
    use proptest::prelude::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[derive(Debug, Clone, Default)]
    struct Memory(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for Memory {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    fn recorded(share: f64, work: impl FnOnce()) -> Vec<SpanData> {
        let memory = Memory::default();
        let provider =
            SdkTracerProvider::builder().with_sampler(sampler(share)).with_simple_exporter(memory.clone()).build();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer(&provider)), work);
        std::mem::take(&mut *memory.0.lock().unwrap())
    }

    fn parent(flags: &str) -> SpanContext {
        remote_parent(&format!("00-{TRACE}-b7ad6b7169203331-{flags}")).unwrap()
    }

    fn item(trace: Option<&SpanContext>) {
        let item = item_span("tg:one:1", "phase2", trace);
        item.in_scope(|| {
            stage_span("retrieve").in_scope(|| {
                let call = provider_call_span("gdelt");
                call.in_scope(|| tracing::warn!(text = "grain", "words"));
                provider_call_ended(&call, "throttled");
                drop(store_commit_span(1, 2));
            });
            item_ended("committed", false);
        });
    }

    fn find<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
    }

    #[test]
    fn item_continues_trace_of_its_producer() {
        let spans = recorded(0.0, || item(Some(&parent("01"))));
        assert_eq!(spans.len(), 4, "{spans:#?}");
        let item = find(&spans, "item");
        assert_eq!(item.span_context.trace_id(), TraceId::from_hex(TRACE).unwrap());
        assert_eq!(item.parent_span_id, SpanId::from_hex("b7ad6b7169203331").unwrap());
        assert!(item.parent_span_is_remote && item.span_kind == SpanKind::Consumer);
        let stage = find(&spans, "stage.retrieve");
        for (name, parent) in [("stage.retrieve", item), ("provider.call", stage), ("store.commit", stage)] {
            let span = find(&spans, name);
            assert_eq!(span.span_context.trace_id(), item.span_context.trace_id(), "{name}");
            assert_eq!(span.parent_span_id, parent.span_context.span_id(), "{name}");
            assert!(!span.parent_span_is_remote, "{name}");
        }
        let call = find(&spans, "provider.call");
        assert_eq!((&call.status, &item.status), (&Status::error(""), &Status::Unset));
        assert_eq!(call.span_kind, SpanKind::Client);
        assert!(call.attributes.contains(&KeyValue::new("provider.outcome", "throttled")), "{call:#?}");
        assert!(item.attributes.contains(&KeyValue::new("item.outcome", "committed")), "{item:#?}");
        let all = format!("{spans:?}");
        assert!(!all.contains("grain") && !all.contains("words"), "{all}");
    }

    #[test]
    fn producer_decides_whether_its_trace_is_recorded() {
        assert!(recorded(1.0, || item(Some(&parent("00")))).is_empty());
        assert_eq!(recorded(0.0, || item(Some(&parent("01")))).len(), 4);
        // Reserved bits are ignored.
        assert_eq!(recorded(0.0, || item(Some(&parent("03")))).len(), 4);
        assert!(recorded(1.0, || item(Some(&parent("02")))).is_empty());
    }

    #[test]
    fn item_without_trace_begins_one_for_its_share() {
        assert!(recorded(0.0, || item(None)).is_empty());
        let spans = recorded(1.0, || (0..2).for_each(|_| item(None)));
        assert_eq!(spans.len(), 8);
        let roots: Vec<_> = spans.iter().filter(|span| span.parent_span_id == SpanId::INVALID).collect();
        assert_eq!(roots.len(), 2);
        assert_ne!(roots[0].span_context.trace_id(), roots[1].span_context.trace_id());
        let some = recorded(0.5, || (0..400).for_each(|_| drop(item_span("i", "phase1", None)))).len();
        assert!((100..300).contains(&some), "{some} of 400");
    }

    #[test]
    fn span_outside_an_item_is_not_recorded() {
        assert!(recorded(1.0, || drop(provider_call_span("gdelt"))).is_empty());
    }

    #[test]
    fn invalid_traceparent_counts_as_none() {
        for header in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(remote_parent(header), None, "{header}");
        }
        let later = remote_parent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-what-comes").unwrap();
        assert!(later.trace_id() == parent("01").trace_id() && !later.is_sampled());
    }

    proptest! {
        #[test]
        fn traceparent_of_any_text_is_read_or_refused(header in ".{0,80}") {
            let _read = remote_parent(&header);
        }
    }
}
