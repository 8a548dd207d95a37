//! Items without a store or a broker: what is queued, what is refused, what a context contains.

use std::sync::Mutex;

use axum::response::IntoResponse as _;
use futures::future::BoxFuture;

use super::*;
use crate::broker::{
    DeadLetter, DeadSelection, Delivery, OpenDeadLetter, OutboxMessage, PublishReport, QueueDepth, QueueError,
    Settlement,
};
use crate::http::extract::BodyKind;
use crate::http::openapi::assert_described;

#[derive(Debug, Default)]
struct Recorder {
    published: Mutex<Vec<(QueueName, usize)>>,
    away: bool,
}

fn unused<T>() -> BoxFuture<'static, Result<T, QueueError>> {
    Box::pin(async { Err(QueueError::Closed) })
}

impl Queue for Recorder {
    fn receive(&self) -> BoxFuture<'_, Result<Delivery, QueueError>> {
        unused()
    }

    fn settle<'a>(&'a self, _delivery: &'a Delivery, _how: Settlement) -> BoxFuture<'a, Result<(), QueueError>> {
        unused()
    }

    fn publish_items<'a>(&'a self, queue: QueueName, items: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            if self.away {
                return Err(QueueError::Away { detail: "restarting".into() });
            }
            self.published.lock().unwrap().push((queue, items.len()));
            Ok(())
        })
    }

    fn publish_results<'a>(
        &'a self,
        _messages: &'a [OutboxMessage],
    ) -> BoxFuture<'a, Result<PublishReport, QueueError>> {
        unused()
    }

    fn depth(&self) -> BoxFuture<'_, Result<QueueDepth, QueueError>> {
        unused()
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    fn dead_list(&self, _limit: usize) -> BoxFuture<'_, Result<Vec<DeadLetter>, QueueError>> {
        unused()
    }

    fn dead_get<'a>(&'a self, _id: &'a str) -> BoxFuture<'a, Result<Option<OpenDeadLetter>, QueueError>> {
        unused()
    }

    fn dead_requeue<'a>(&'a self, _which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        unused()
    }

    fn dead_drop<'a>(&'a self, _which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        unused()
    }

    fn stop_receiving(&self) {}
}

fn intake(body: &str) -> Intake {
    Intake::read(BodyKind::JsonLines, body.as_bytes())
}

const GOOD: &str = r#"{"schema":1,"item_id":"a","text":"Water boils."}"#;

#[tokio::test]
async fn good_items_are_queued_when_others_are_bad() {
    let queue = Recorder::default();
    let taken = accept(&queue, QueueName::Factcheck, intake(&format!("{GOOD}\n{{}}\n{GOOD}"))).await.unwrap();
    assert_eq!((taken.accepted, taken.rejected_count), (2, 1));
    assert_eq!(taken.rejected[0]["line"], 2);
    assert_eq!(*queue.published.lock().unwrap(), [(QueueName::Factcheck, 2)]);
}

#[tokio::test]
async fn send_returns_reasons_when_no_item_is_good() {
    let queue = Recorder::default();
    for (body, words) in [("", "holds no item"), ("{}", "does not fit"), ("{}\n{}", "none of the 2 items")] {
        let problem = accept(&queue, QueueName::Enrichment, intake(body)).await.unwrap_err();
        let text = format!("{problem:?}");
        assert!(text.contains(words), "{text}");
        assert_eq!(problem.into_response().status(), StatusCode::BAD_REQUEST);
    }
    assert!(queue.published.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_queue_that_is_away_takes_nothing() {
    let queue = Recorder { away: true, ..Recorder::default() };
    let problem = accept(&queue, QueueName::Enrichment, intake(GOOD)).await.unwrap_err();
    assert_eq!(problem.into_response().status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
fn only_the_two_queues_are_taken() {
    assert_eq!(queue_of(None).unwrap(), QueueName::Enrichment);
    assert_eq!(queue_of(Some("enrichment")).unwrap(), QueueName::Enrichment);
    assert_eq!(queue_of(Some("enrichment_queue")).unwrap(), QueueName::Enrichment);
    assert_eq!(queue_of(Some("factcheck")).unwrap(), QueueName::Factcheck);
    assert!(queue_of(Some("enrichment.dead")).is_err());
}

#[test]
fn a_filter_takes_only_what_the_store_can_answer() {
    let query = |status: Option<&str>, tier: Option<&str>, cursor: Option<&str>, limit| ListQuery {
        status: status.map(str::to_owned),
        tier: tier.map(str::to_owned),
        cursor: cursor.map(str::to_owned),
        limit,
        ..ListQuery::default()
    };
    let good = filter_of(query(Some("degraded"), Some("high"), Some("1700000000000000.tg:a.b:1"), None)).unwrap();
    assert_eq!((good.status.as_deref(), good.tier, good.limit), (Some("degraded"), Some(Tier::High), 50));
    assert!(filter_of(query(Some(""), Some(" "), None, Some(200))).unwrap().tier.is_none(), "blank is absent");
    for bad in [
        query(Some("done"), None, None, None),
        query(None, Some("best"), None, None),
        query(None, None, Some("nonsense"), None),
        query(None, None, Some("99999999999999999999.x"), None),
        query(None, None, Some("9223372036854775807.x"), None),
        query(None, None, None, Some(0)),
        query(None, None, None, Some(201)),
        ListQuery { verdict: Some("true".into()), ..ListQuery::default() },
        ListQuery { firmness: Some("sure".into()), ..ListQuery::default() },
        ListQuery { since: Some("yesterday".into()), ..ListQuery::default() },
    ] {
        assert!(filter_of(bad).is_err());
    }
    let since = |text: &str| filter_of(ListQuery { since: Some(text.into()), ..ListQuery::default() }).unwrap().since;
    assert_eq!(since("2026-11-24"), since("2026-11-24T02:00:00+02:00"), "a day begins at midnight UTC");
    let lean = ListQuery { verdict: Some("refuted".into()), firmness: Some("lean".into()), ..ListQuery::default() };
    let lean = filter_of(lean).unwrap();
    assert_eq!((lean.verdict, lean.decisive), (Some(Verdict::Refuted), Some(false)));
}

fn stored(channel: Option<&str>, members: Value, found: &[&str]) -> StoredItem {
    let result = json!({
        "schema": 1, "item_id": "a", "message_id": null, "enriched_at": "2026-11-18T07:15:00Z", "status": "complete",
        "degraded": [], "language": "en", "tier": "low", "score": 12, "agreement": 0.5, "contradiction": false,
        "notes": [], "also_reported_by": found, "explanation": null, "overall_summary": null, "sources_checked": [],
        "fact_checks": [], "claims": [], "trace": [],
        "context": {"evidence": ["e"], "background": [], "digest_lines": ["Also reported by: @old", "Evidence: 3 sources"]},
        "cost": {"usd": 0.0, "provider_calls": {}, "llm_calls": 0, "llm_tokens": 0, "millis": 1},
    });
    StoredItem {
        item_id: "a".into(),
        title: None,
        text: "t".into(),
        cluster_members: members,
        cluster_id: Some("c".into()),
        channel: channel.map(str::to_owned),
        result: serde_json::from_value(result).unwrap(),
    }
}

#[test]
fn who_else_reported_it_grows_with_the_cluster() {
    let item = stored(Some("@own"), json!([]), &["@old"]);
    let context = context_of(item, vec!["@new".into(), "Own".into(), "old".into()]);
    assert_eq!(context.also_reported_by, ["@old", "@new"], "never itself, each once");
    assert_eq!(context.digest_lines, ["Also reported by: @old, @new", "Evidence: 3 sources"]);
    assert_eq!(context.evidence, ["e"]);
}

#[test]
fn upstream_is_named_first_and_three_are_enough() {
    let members = json!([{"channel": "@m1", "item_id": "x"}, {"channel": " "}, {"channel": "@m2"}]);
    let item = stored(None, members, &["@old"]);
    assert_eq!(context_of(item, vec!["@new".into()]).also_reported_by, ["@m1", "@m2", "@old"]);
    let bare = stored(None, Value::Null, &[]);
    let context = context_of(bare, Vec::new());
    assert!(context.also_reported_by.is_empty());
}

#[test]
fn the_schemas_name_what_is_sent() {
    let row = |schema: Schema| schema.to_value()["properties"]["items"]["items"].clone();
    let page = ItemSummary {
        item_id: "a".into(),
        channel: None,
        title: None,
        text: "t".into(),
        status: "complete".into(),
        degraded: Vec::new(),
        verdict: None,
        decisive: None,
        tier: None,
        score: None,
        enriched_at: DateTime::UNIX_EPOCH,
    };
    let passage = StoredEvidence {
        claim_id: "c".into(),
        claim: "c".into(),
        evidence_id: "e".into(),
        url: "u".into(),
        domain: "d".into(),
        title: None,
        published_at: None,
        passage: "p".into(),
        stance: "neutral".into(),
        entail: 0.0,
        contradict: 0.0,
        neutral: 1.0,
        agreement: 0.0,
        relevance: 0.0,
        quality: 0.0,
        credibility: 0.0,
        independent_group: "g".into(),
        provider: "gdelt".into(),
        judge: Some("rules".to_owned()),
        rank: 1,
        extraction_failed: false,
    };
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let generator = &mut SchemaGenerator::default();
    assert_eq!(names(&row(schemas::page(generator))["properties"]), names(&json!(page)));
    assert_eq!(names(&row(schemas::evidence(generator))["properties"]), names(&json!(passage)));
    let list = json!(List { items: vec![page], next: None });
    assert_described(schemas::page, &list);
}
