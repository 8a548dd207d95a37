//! Spans of items at a collector that reads the protocol.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::otlp::{Collector, ReceivedSpan};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, searched};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn header(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

async fn publish(app: &TestApp, id: &str, text: &str, traceparent: Option<String>) {
    let body = searched(id, text).to_string();
    app.upstream
        .publish_as("item.new", body.as_bytes(), |properties| {
            let Some(header) = traceparent.clone() else { return properties };
            let mut headers = lapin::types::FieldTable::default();
            headers.insert("traceparent".into(), lapin::types::AMQPValue::LongString(header.into()));
            properties.with_headers(headers)
        })
        .await;
}

/// The spans of an item, once its own has come, which ends last.
async fn spans_of(collector: &Arc<Collector>, id: &str) -> Vec<ReceivedSpan> {
    let item = || {
        let spans = collector.spans();
        spans.into_iter().find(|span| span.attributes.get("item.id").is_some_and(|known| known == id))
    };
    until(&format!("the span of {id} comes"), async || item().is_some()).await;
    let trace = item().unwrap().trace_id;
    collector.spans().into_iter().filter(|span| span.trace_id == trace).collect()
}

fn named<'a>(spans: &'a [ReceivedSpan], name: &str) -> &'a ReceivedSpan {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} among {spans:#?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_goes_on_with_its_producers_trace_and_tells_no_text_and_no_key() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let (collector, address) = Collector::start().await;
    app.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}"));
    app.set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collectors-own");
    app.set("OTEL_SERVICE_NAME", "evidence");
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Gdelt, Fault::status(500));
    publish(&app, "traced", TOLD, Some(header("01"))).await;
    app.upstream.result("traced", 1).await;

    let spans = spans_of(&collector, "traced").await;
    let item = named(&spans, "item");
    assert_eq!((item.trace_id.as_str(), item.parent_id.as_str(), item.kind), (TRACE, PARENT, 5));
    assert_eq!(item.flags, 0x301, "sampled, and its parent is known to be elsewhere");
    assert_eq!(item.attributes["item.phase"], "phase2");
    assert_eq!(item.attributes["item.outcome"], "committed");
    assert_eq!(item.resource["service.name"], "evidence");
    assert!(item.resource.contains_key("service.version") && item.resource.contains_key("service.instance.id"));
    for stage in ["admit", "normalise", "claims", "fact_check", "retrieve", "read", "judge", "decide", "commit"] {
        let span = named(&spans, &format!("stage.{stage}"));
        assert_eq!(span.trace_id, TRACE);
        assert!(span.nanos.0 >= item.nanos.0 && span.nanos.1 <= item.nanos.1 + 1_000_000, "{stage}: {span:?} {item:?}");
    }
    let parent_of = |span: &ReceivedSpan| spans.iter().find(|other| other.span_id == span.parent_id).unwrap().clone();
    let commit = named(&spans, "store.commit");
    assert_eq!(parent_of(commit).name, "stage.commit");
    assert_eq!(commit.attributes["store.claims"], "1");
    let calls: Vec<&ReceivedSpan> = spans.iter().filter(|span| span.name == "provider.call").collect();
    let of = |provider: &str| {
        let found = calls.iter().find(|call| call.attributes["provider.name"] == provider);
        *found.unwrap_or_else(|| panic!("no call to {provider}: {calls:#?}"))
    };
    let (google, searxng) = (of("google_factcheck"), of("searxng"));
    assert_eq!((parent_of(google).name.as_str(), google.kind), ("stage.fact_check", 3));
    assert!(searxng.attributes["provider.outcome"] == "ok" && !searxng.failed);
    let every = spans.iter().filter(|span| span.name != "item");
    assert!(every.clone().all(|span| spans.iter().any(|other| other.span_id == span.parent_id)), "{spans:#?}");

    for private in ["Velmora", "harbour", "grain", "simulated-key", "collectors-own", "http://", "@own"] {
        assert!(!collector.has_seen(private), "{private} was sent to the collector");
    }
    assert_eq!(collector.header("authorization"), "Bearer collectors-own");
    assert!(!daemon.log().contains("collectors-own"));
    assert!(daemon.metric("corroborate_trace_spans_total", r#"outcome="exported""#).await >= spans.len() as f64);

    // Whoever decided not to record its trace is not recorded here, and an item without one begins its own.
    publish(&app, "not wanted", ONCE, Some(header("00"))).await;
    app.upstream.result("not wanted", 1).await;
    publish(&app, "of its own", DISPUTED, None).await;
    app.upstream.result("of its own", 1).await;
    let own = spans_of(&collector, "of its own").await;
    assert_eq!(named(&own, "item").parent_id, "");
    assert_ne!(named(&own, "item").trace_id, TRACE);
    assert!(!collector.has_seen("not wanted"));
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_costs_no_item_anything_and_the_last_spans_are_sent_at_the_end() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let (collector, address) = Collector::start().await;
    app.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}/"));
    collector.answers(400);
    let daemon = app.start().await;
    for id in ["first", "second"] {
        let failed = daemon.metric("corroborate_trace_spans_total", r#"outcome="failed""#).await;
        publish(&app, id, TOLD, None).await;
        app.upstream.result(id, 1).await;
        until("spans are given up", async || {
            daemon.metric("corroborate_trace_spans_total", r#"outcome="failed""#).await > failed
        })
        .await;
    }
    let warnings = daemon.log().matches("span export failed").count();
    assert_eq!(warnings, 1, "it is said once:\n{}", daemon.log());
    collector.answers(200);
    publish(&app, "third", ONCE, None).await;
    app.upstream.result("third", 1).await;
    spans_of(&collector, "third").await;
    until("it is said", async || daemon.log().contains("span export resumed")).await;

    // What was not sent yet goes out when the daemon stops, and a collector that never answers does not hold it up.
    publish(&app, "last", DISPUTED, None).await;
    app.upstream.result("last", 1).await;
    let since = Instant::now();
    app.finish(daemon).await;
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    assert!(collector.spans().iter().any(|span| span.attributes.get("item.id").is_some_and(|id| id == "last")));
}
