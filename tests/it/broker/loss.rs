//! Losing things: connections, queues, the broker itself. Nothing may get lost with them.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corroborate::broker::{DeadBody, OutboxMessage, Queue, QueueError, QueueName, Settlement};

use super::bed::{Bed, amqp_url};
use super::work::{Worker, item};
use crate::support::node::Node;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_queue_is_declared_again() {
    let Some(bed) = Bed::new("deleted").await else { return };
    let queue = bed.connect().await;
    bed.publish("factcheck.a", b"held").await;
    let held = bed.receive(&queue).await;
    bed.delete_queue(&bed.names.enrichment_queue).await;
    let receive = async || vec![bed.receive(&queue).await.body, bed.receive(&queue).await.body];
    let publish = async || {
        bed.until("it is noticed", async || bed.counts.reconnects.load(Ordering::SeqCst) == 1).await;
        bed.publish("item.a", b"after").await;
    };
    let (mut bodies, ()) = tokio::join!(receive(), publish());
    bodies.sort();
    assert_eq!(bodies, [b"after".to_vec(), b"held".to_vec()]);
    // Settling what came over the lost connection is no error: the broker delivered it again.
    queue.settle(&held, Settlement::Ack).await.unwrap();
    let how = Settlement::Dead { label: "late".to_owned(), error: String::new(), body: DeadBody::Whole };
    queue.settle(&held, how).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().dead, 0, "a double would lie there");
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_whose_queue_was_deleted_is_not_lost() {
    let Some(bed) = Bed::new("no-retry-queue").await else { return };
    let queue = bed.connect().await;
    bed.publish("item.a", b"again").await;
    let delivery = bed.receive(&queue).await;
    bed.delete_queue(&format!("{}.retry.200ms", bed.names.enrichment_queue)).await;
    let delay = Duration::from_millis(200);
    let how = Settlement::Retry { error_label: "store_away", error: "no route".to_owned(), delay };
    queue.settle(&delivery, how).await.unwrap();
    assert_eq!(bed.receive(&queue).await.attempts, 1);
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_queue_that_was_deleted_is_declared_again() {
    let Some(bed) = Bed::new("no-dead-queue").await else { return };
    let queue = bed.connect().await;
    bed.publish("item.a", b"bad").await;
    let delivery = bed.receive(&queue).await;
    bed.delete_queue(&bed.names.dead_queue).await;
    let how = Settlement::Dead { label: "x".to_owned(), error: "y".to_owned(), body: DeadBody::Whole };
    queue.settle(&delivery, how).await.unwrap();
    assert_eq!(queue.dead_list(10).await.unwrap()[0].excerpt, b"bad");
    bed.clear().await;
}

/// The ids that were worked on, each once.
fn done(worker: &Worker) -> BTreeSet<String> {
    worker.seen().into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_throws_us_out_restarts_or_crashes_loses_nothing() {
    if amqp_url("loss").is_none() {
        return;
    }
    let Some((node, url)) = Node::start().await else { return };
    let bed = Bed::at(url, "loss").await;
    let worker = Worker::start(&bed, Duration::from_secs(5)).await;
    let queue = &worker.queue;
    let mut expected = BTreeSet::new();
    let mut publish = async |bed: &Bed, count: usize, text: &str| {
        for _ in 0..count {
            let id = expected.len().to_string();
            bed.publish("item.a", &item(&id, text)).await;
            expected.insert(id);
        }
        expected.clone()
    };
    let all = publish(&bed, 50, "fine").await;
    bed.until("the first ones are done", async || done(&worker) == all).await;

    // Thrown out, with everything in flight.
    publish(&bed, 100, "fine").await;
    node.done("ctl", &["close_all_connections", "the test says so"]).await;
    let bed = bed.again().await;
    let all = publish(&bed, 50, "fine").await;
    bed.until("all are done after the connections were closed", async || done(&worker) == all).await;
    assert!(bed.counts.reconnects.load(Ordering::SeqCst) >= 1);

    // Restarted, and meanwhile away: said so, and nothing pretends to be safe.
    let all = publish(&bed, 100, "fine").await;
    node.done("stop", &[]).await;
    assert!(queue.ready().is_err());
    let message = OutboxMessage {
        id: 1,
        exchange: Some(bed.names.results_exchange.clone()),
        routing_key: "item.enriched".to_owned(),
        body: b"{}".to_vec(),
        correlation_id: None,
        message_id: "m".into(),
    };
    let away = queue.publish_results(std::slice::from_ref(&message)).await;
    assert!(matches!(away, Err(QueueError::Away { .. } | QueueError::NotConfirmed { .. })), "{away:?}");
    assert!(queue.publish_items(QueueName::Enrichment, &[item("lost?", "x")]).await.is_err());
    node.done("start", &[]).await;
    bed.until("the broker is found again", async || queue.ready().is_ok()).await;
    bed.until("all are done after the restart", async || done(&worker) == all).await;
    assert_eq!(queue.publish_results(&[message]).await.unwrap().confirmed, [1]);

    // Killed while retries wait and items are in flight.
    let bed = bed.again().await;
    publish(&bed, 5, "fail always").await;
    let all = publish(&bed, 100, "fine").await;
    node.done("kill", &[]).await;
    node.done("start", &[]).await;
    bed.until("all are done after the crash", async || done(&worker) == all).await;
    bed.until("the failing ones are given up", async || {
        queue.depth().await.is_ok_and(|depth| depth.dead >= 5 && depth.enrichment == 0)
    })
    .await;
    worker.stop().await.unwrap();
}
