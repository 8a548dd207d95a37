//! Where answers go, and what they are called.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection, ConnectionProperties};

use crate::support::app::TestApp;
use crate::support::stories::{self, TOLD, item};
use crate::support::upstream::broker_url;

/// An id of 240 bytes, as a percent-encoded Cyrillic URL has.
fn long_id() -> String {
    let mut id = format!("https://example.org/{}", "%D0%BD".repeat(40));
    id.truncate(240);
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_run_have_distinct_ids_when_the_item_id_is_long() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let id = long_id();
    let text = format!("{TOLD} {}", stories::REVIEWED);
    for run in ["first", "second"] {
        let body = item(&id, &format!("{text} It was the {run} time.")).to_string();
        let reply_to = app.upstream.reply_to().to_owned();
        app.upstream
            .publish_as("item.new", body.as_bytes(), |properties| properties.with_reply_to(reply_to.as_str().into()))
            .await;
        app.upstream.reply().await;
    }
    let heard = app.upstream.hear("two results and their signals", 6, |heard| heard.body["item_id"] == id).await;
    let ids: BTreeSet<&str> = heard.iter().filter_map(|heard| heard.message_id.as_deref()).collect();
    assert_eq!(ids.len(), heard.len(), "messages share an id: {heard:#?}");
    assert!(ids.iter().all(|id| id.len() <= 255), "{ids:?}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_goes_only_to_a_queue_that_is_allowed() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let connection = Connection::connect(&broker_url().unwrap(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let exclusive = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
    let foreign = format!("other-service-{:08x}", rand::random::<u32>());
    channel.queue_declare(foreign.as_str().into(), exclusive, FieldTable::default()).await.unwrap();
    let named = channel.queue_declare("".into(), exclusive, FieldTable::default()).await.unwrap();
    let named = named.name().as_str().to_owned();
    assert!(named.starts_with("amq.gen-"), "{named}");

    for (id, to) in [
        ("to-own", app.upstream.name("dead")),
        ("to-retry", app.upstream.name("factcheck.retry.4s")),
        ("to-foreign", foreign.clone()),
        ("to-named", named.clone()),
    ] {
        let body = item(id, TOLD).to_string();
        app.upstream
            .publish_as("item.new", body.as_bytes(), |properties| properties.with_reply_to(to.as_str().into()))
            .await;
        app.upstream.result(id, 1).await;
    }
    app.settled(&daemon).await;
    let waiting = async |queue: &str| {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let declared = channel.queue_declare(queue.into(), passive, FieldTable::default()).await;
        declared.unwrap().message_count()
    };
    assert_eq!(app.upstream.waiting("dead").await, 0, "the daemon's own dead letters");
    assert_eq!(app.upstream.waiting("factcheck.retry.4s").await, 0, "the daemon's own retry queue");
    assert_eq!(app.count("items").await, 4, "a refused reply_to does not fail its item");
    assert_eq!(waiting(&foreign).await, 0, "another service's queue");
    assert_eq!(waiting(&named).await, 1, "a queue that the broker named");
    let foreign_trace = app.upstream.result("to-foreign", 1).await["trace"].to_string();
    assert!(foreign_trace.contains("reply_to"), "{foreign_trace}");
    let refused = daemon.metric("corroborate_replies_refused_total", "").await;
    assert!((refused - 3.0).abs() < 0.5, "{refused}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_reaches_the_broker_s_direct_reply_to() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let connection = Connection::connect(&broker_url().unwrap(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let unacknowledged = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let pseudo_queue = "amq.rabbitmq.reply-to";
    let replies = channel.basic_consume(pseudo_queue.into(), "".into(), unacknowledged, FieldTable::default());
    let mut replies = replies.await.unwrap();
    let properties = BasicProperties::default().with_reply_to(pseudo_queue.into()).with_correlation_id("c".into());
    let (exchange, options) = (app.upstream.name("enrichment"), BasicPublishOptions::default());
    let body = item("direct", TOLD).to_string();
    let sent = channel.basic_publish(exchange.as_str().into(), "item.new".into(), options, body.as_bytes(), properties);
    sent.await.unwrap();
    let reply = tokio::time::timeout(crate::support::daemon::PATIENCE, replies.next()).await.unwrap();
    let reply = reply.unwrap().unwrap();
    assert_eq!(reply.properties.correlation_id().as_ref().unwrap().as_str(), "c");
    app.finish(daemon).await;
}
