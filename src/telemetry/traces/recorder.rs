//! A `tracing` layer that converts this program's spans to spans of a trace.

use std::fmt;

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, LevelFilter};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::queue::{SpanQueue, SpanSender, queue};
use super::span::{FinishedSpan, Kind, Parent, SpanContext, Value};
use super::{INNER, ITEM};
use crate::domain::{Clock as _, SystemClock};

#[derive(Debug, Clone)]
pub(in crate::telemetry) struct Recorder {
    /// Share of sampled items among those without a producer's trace.
    share: f64,
    inlet: SpanSender,
}

/// `share` applies to items without a producer's trace; otherwise the producer's sampling decides.
pub(in crate::telemetry) fn recorder(share: f64) -> (Recorder, SpanQueue) {
    let (inlet, queue) = queue();
    (Recorder { share, inlet }, queue)
}

pub(in crate::telemetry) fn filter() -> FilterFn {
    let ours: fn(&Metadata<'_>) -> bool = |about| about.is_span() && matches!(about.target(), ITEM | INNER);
    FilterFn::new(ours).with_max_level_hint(LevelFilter::INFO)
}

struct OpenSpan {
    context: SpanContext,
    parent: Option<Parent>,
    name: &'static str,
    fields: Fields,
    began: Instant,
    start: u64,
}

#[derive(Default)]
struct Fields {
    name: Option<String>,
    kind: Kind,
    failed: bool,
    attributes: Vec<(&'static str, Value)>,
    /// Of an item's span: the producer's trace, its span, and its sampling.
    trace_id: Option<[u8; 16]>,
    parent_id: Option<[u8; 8]>,
    sampled: Option<bool>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match (name, &value) {
            ("otel.name", Value::Text(text)) => self.name = Some(text.clone()),
            ("otel.kind", Value::Text(text)) => self.kind = Kind::parse(text),
            ("trace.id", Value::Text(text)) => self.trace_id = from_hex(text),
            ("trace.parent", Value::Text(text)) => self.parent_id = from_hex(text),
            ("trace.sampled", Value::Flag(sampled)) => self.sampled = Some(*sampled),
            _ => {
                self.failed |= name == "error.type";
                self.attributes.retain(|(known, _)| *known != name);
                self.attributes.push((name, value));
            }
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::text(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::Flag(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::Number(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::text(&format!("{value:?}")));
    }
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Returns a random id; all zeros are invalid.
fn new_id<const N: usize>() -> [u8; N] {
    loop {
        let id = std::array::from_fn(|_| rand::random());
        if id != [0; N] {
            return id;
        }
    }
}

impl Recorder {
    /// Returns the trace of an item: the producer's if it sent one and records it.
    fn begin(&self, fields: &Fields) -> Option<(SpanContext, Option<Parent>)> {
        let span_id = new_id();
        if let (Some(trace_id), Some(parent)) = (fields.trace_id, fields.parent_id) {
            let parent = Parent { span_id: parent, is_remote: true };
            let is_wanted = fields.sampled.unwrap_or(true);
            return is_wanted.then_some((SpanContext { trace_id, span_id }, Some(parent)));
        }
        let is_wanted = rand::random::<f64>() < self.share;
        is_wanted.then(|| (SpanContext { trace_id: new_id(), span_id }, None))
    }
}

impl<S> Layer<S> for Recorder
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let begun = if attributes.metadata().target() == ITEM {
            fields.kind = Kind::Consumer;
            self.begin(&fields)
        } else {
            // A span outside a recorded item is not recorded.
            span.parent().and_then(|parent| {
                let SpanContext { trace_id, span_id } = parent.extensions().get::<OpenSpan>()?.context;
                let parent = Parent { span_id, is_remote: false };
                Some((SpanContext { trace_id, span_id: new_id() }, Some(parent)))
            })
        };
        let Some((context, parent)) = begun else { return };
        let start = u64::try_from(SystemClock.now().timestamp_nanos_opt().unwrap_or_default()).unwrap_or_default();
        let name = attributes.metadata().name();
        span.extensions_mut().insert(OpenSpan { context, parent, name, fields, began: Instant::now(), start });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<OpenSpan>() {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<OpenSpan>() else { return };
        // A monotonic clock, because some collectors refuse an end before the start.
        let took = u64::try_from(open.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.inlet.put(FinishedSpan {
            context: open.context,
            parent: open.parent,
            name: open.fields.name.unwrap_or_else(|| open.name.to_owned()),
            kind: open.fields.kind,
            start: open.start,
            end: open.start.saturating_add(took),
            attributes: open.fields.attributes,
            failed: open.fields.failed,
        });
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::super::{provider_call_ended, provider_call_span, stage_span, store_commit_span};
    use super::*;
    use crate::telemetry::{TraceParent, item_span};

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    fn recorded(share: f64, work: impl FnOnce()) -> Vec<FinishedSpan> {
        let (recorder, mut queue) = recorder(share);
        let layer = recorder.with_filter(filter());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        let mut spans = Vec::new();
        queue.rest(&mut spans);
        spans
    }

    fn parent(flags: &str) -> TraceParent {
        TraceParent::parse(&format!("00-{TRACE}-b7ad6b7169203331-{flags}")).unwrap()
    }

    fn item(trace: Option<&TraceParent>) {
        let item = item_span("tg:one:1", "phase2", trace);
        item.in_scope(|| {
            stage_span("retrieve").in_scope(|| {
                let call = provider_call_span("gdelt");
                call.in_scope(|| tracing::info!(secret = "words", "an event is no span"));
                provider_call_ended(&call, "throttled");
                tracing::info_span!("of somebody else", claim = "the port shipped grain").in_scope(|| {
                    drop(store_commit_span(1, 2));
                });
            });
        });
        item.record("item.outcome", "committed");
    }

    fn find<'a>(spans: &'a [FinishedSpan], name: &str) -> &'a FinishedSpan {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
    }

    #[test]
    fn an_item_goes_on_with_the_trace_of_its_producer() {
        let spans = recorded(0.0, || item(Some(&parent("01"))));
        assert_eq!(spans.len(), 4, "{spans:#?}");
        let item = find(&spans, "item");
        assert_eq!(Some(item.context.trace_id), from_hex(TRACE));
        assert_eq!(item.parent.unwrap().span_id, from_hex::<8>("b7ad6b7169203331").unwrap());
        assert!(item.parent.unwrap().is_remote && item.kind == Kind::Consumer);
        let stage = find(&spans, "stage.retrieve");
        for (name, parent) in [("stage.retrieve", item), ("provider.call", stage), ("store.commit", stage)] {
            let span = find(&spans, name);
            assert_eq!(span.context.trace_id, item.context.trace_id, "{name}");
            assert_eq!(span.parent, Some(Parent { span_id: parent.context.span_id, is_remote: false }), "{name}");
            assert!(span.start >= parent.start && span.end <= parent.end + 1_000_000, "{name}");
        }
        let call = find(&spans, "provider.call");
        assert!(call.failed && !item.failed && call.kind == Kind::Client);
        assert!(call.attributes.contains(&("provider.outcome", Value::text("throttled"))), "{call:#?}");
        assert!(item.attributes.contains(&("item.outcome", Value::text("committed"))), "{item:#?}");
        let all = format!("{spans:?}");
        assert!(!all.contains("grain") && !all.contains("words"), "{all}");
    }

    #[test]
    fn the_producer_decides_whether_its_trace_is_recorded() {
        assert!(recorded(1.0, || item(Some(&parent("00")))).is_empty());
        assert_eq!(recorded(0.0, || item(Some(&parent("01")))).len(), 4);
        // Reserved bits are ignored.
        assert_eq!(recorded(0.0, || item(Some(&parent("03")))).len(), 4);
        assert!(recorded(1.0, || item(Some(&parent("02")))).is_empty());
    }

    #[test]
    fn an_item_without_a_trace_begins_one_as_often_as_is_wanted() {
        assert!(recorded(0.0, || item(None)).is_empty());
        let spans = recorded(1.0, || (0..2).for_each(|_| item(None)));
        assert_eq!(spans.len(), 8);
        let roots: Vec<_> = spans.iter().filter(|span| span.parent.is_none()).collect();
        assert_eq!(roots.len(), 2);
        assert_ne!(roots[0].context.trace_id, roots[1].context.trace_id);
        let some = recorded(0.5, || (0..400).for_each(|_| drop(item_span("i", "phase1", None)))).len();
        assert!((100..300).contains(&some), "{some} of 400");
    }

    #[test]
    fn what_belongs_to_no_item_is_not_recorded() {
        assert!(recorded(1.0, || drop(provider_call_span("gdelt"))).is_empty());
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        assert_eq!(from_hex::<2>("00ff"), Some([0, 255]));
        assert_eq!(from_hex::<2>("00f"), None);
        assert_eq!(from_hex::<2>("00fé"), None);
        assert_ne!(new_id::<8>(), [0; 8]);
    }
}
