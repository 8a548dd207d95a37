//! The promises of the queue, against a real `RabbitMQ`.
//!
//! `TEST_AMQP_URL` names a broker that may be used for this (see `tests/services/rabbitmq.sh`); without it the tests say that
//! they are skipped. Every test uses names of its own, so they can run side by side.
#![cfg(test)]

mod bed;
mod dead;
mod loss;
mod silent;
mod work;

use std::time::{Duration, Instant};

use corroborate::broker::{AmqpSettings, OutboxMessage, Queue, QueueError, QueueName, Settlement};
use corroborate::domain::{Clock, SystemClock};
use lapin::types::{AMQPValue, FieldTable};

use self::bed::{Bed, PATIENCE};
use crate::support::daemon::free_address;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_topology_is_the_contracts() {
    let Some(bed) = Bed::new("topology").await else { return };
    let queue = bed.connect().await;
    let text = |value: &str| AMQPValue::LongString(value.into());
    let sure = [
        ("x-queue-type", text("quorum")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-overflow", text("reject-publish")),
    ];
    let names = &bed.names;
    for name in [&names.important_queue, &names.enrichment_queue, &names.factcheck_queue] {
        let consumed =
            [("x-dead-letter-exchange", text(&names.dead_exchange)), ("x-delivery-limit", AMQPValue::LongLongInt(20))];
        // Declaring what exists with the same arguments succeeds, with others it is refused.
        bed.declare(name, sure.iter().chain(&consumed)).await.unwrap();
        for (word, millis) in [("200ms", 200), ("1s", 1_000)] {
            let retry = [
                ("x-dead-letter-exchange", text("")),
                ("x-dead-letter-routing-key", text(name)),
                ("x-message-ttl", AMQPValue::LongLongInt(millis)),
            ];
            bed.declare(&format!("{name}.retry.{word}"), sure.iter().chain(&retry)).await.unwrap();
        }
    }
    assert!(bed.declare(&names.enrichment_queue, &sure[..1]).await.is_err());

    bed.publish("item.news.ru", b"1").await;
    bed.publish("factcheck.claim", b"2").await;
    bed.publish("other.key", b"3").await;
    let mut got = [bed.receive(&queue).await, bed.receive(&queue).await];
    got.sort_by_key(|delivery| delivery.queue);
    assert_eq!((got[0].queue, got[0].body.as_slice()), (QueueName::Enrichment, b"1".as_slice()));
    assert_eq!((got[1].queue, got[1].body.as_slice()), (QueueName::Factcheck, b"2".as_slice()));

    // Idempotent: a second process finds everything as it wants it.
    drop(bed.connect().await);
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_delivery_is_gone_and_an_unsettled_one_comes_again() {
    let Some(bed) = Bed::new("ack").await else { return };
    let queue = bed.connect().await;
    bed.publish_as("item.a", b"done", |properties| {
        properties
            .with_message_id("m1".into())
            .with_reply_to("enrichment.reply.a".into())
            .with_correlation_id("c1".into())
            .with_timestamp(1_795_000_000)
    })
    .await;
    let delivery = bed.receive(&queue).await;
    assert_eq!(delivery.body, b"done");
    assert_eq!(delivery.message_id.as_deref(), Some("m1"));
    assert_eq!(delivery.reply_to.as_deref(), Some("enrichment.reply.a"));
    assert_eq!(delivery.correlation_id.as_deref(), Some("c1"));
    assert_eq!(delivery.enqueued_at.unwrap().timestamp(), 1_795_000_000);
    assert_eq!((delivery.attempts, delivery.redelivered), (0, false));
    queue.settle(&delivery, Settlement::Ack).await.unwrap();
    bed.publish("item.a", b"held").await;
    assert_eq!(bed.receive(&queue).await.body, b"held");
    drop(queue);

    let queue = bed.connect().await;
    let again = bed.receive(&queue).await;
    assert_eq!((again.body.as_slice(), again.redelivered), (b"held".as_slice(), true));
    queue.settle(&again, Settlement::Ack).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().enrichment, 0);
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_comes_back_after_its_delay_with_one_attempt_more() {
    let Some(bed) = Bed::new("retry").await else { return };
    let queue = bed.connect().await;
    bed.publish_as("factcheck.a", b"body", |properties| properties.with_message_id("m1".into())).await;
    for attempts in 0..3 {
        let delivery = bed.receive(&queue).await;
        assert_eq!((delivery.attempts, delivery.queue), (attempts, QueueName::Factcheck));
        assert_eq!((delivery.message_id.as_deref(), delivery.body.as_slice()), (Some("m1"), b"body".as_slice()));
        // 150 ms is not on offer: the next longer delay is taken.
        let delay = Duration::from_millis(150);
        let how = Settlement::Retry { error_label: "store_away", error: "no route".to_owned(), delay };
        let since = Instant::now();
        queue.settle(&delivery, how).await.unwrap();
        let back = bed.receive(&queue).await;
        assert!(since.elapsed() >= Duration::from_millis(190), "after {:?}", since.elapsed());
        assert_eq!(back.attempts, attempts + 1);
        // A deferral counts nothing, and the wait in the queue starts when it falls due.
        queue.settle(&back, Settlement::Defer { delay }).await.unwrap();
        let deferred = bed.receive(&queue).await;
        assert_eq!(deferred.attempts, attempts + 1);
        let lag = SystemClock.now() - deferred.enqueued_at.unwrap();
        assert!((-2_000..20_000).contains(&lag.num_milliseconds()), "{lag}");
        queue.settle(&deferred, Settlement::Requeue).await.unwrap();
    }
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_and_answers_arrive_and_their_ids_are_returned() {
    let Some(bed) = Bed::new("results").await else { return };
    let queue = bed.connect().await;
    let listener = bed.listen("item.#").await;
    let asker = bed.temporary_queue().await;
    let message = |id, exchange: Option<&String>, key: &str| OutboxMessage {
        id,
        exchange: exchange.cloned(),
        routing_key: key.to_owned(),
        body: format!("{{\"n\":{id}}}").into_bytes(),
        correlation_id: Some("c1".to_owned()),
        message_id: format!("m{id}").into(),
    };
    let results = Some(&bed.names.results_exchange);
    let mut messages = vec![
        message(7, results, "item.enriched"),
        message(8, None, &asker),
        message(9, None, "a.queue.that.is.gone"),
        message(10, results, "claim.nobody.listens"),
    ];
    messages.extend((100..700).map(|id| message(id, results, "item.enriched")));
    let published = queue.publish_results(&messages).await.unwrap();
    let confirmed = published.confirmed;
    assert_eq!((confirmed.len(), published.refused.len()), (messages.len(), 0));
    assert_eq!(confirmed[..4], [7, 8, 9, 10]);
    let result = bed.get(&listener).await;
    assert_eq!(result.data, b"{\"n\":7}");
    assert_eq!(result.properties.correlation_id().as_ref().unwrap().as_str(), "c1");
    assert_eq!(result.properties.message_id().as_ref().unwrap().as_str(), "m7");
    assert_eq!(bed.get(&asker).await.data, b"{\"n\":8}");
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_enqueued_is_safe_or_said_not_to_be() {
    let Some(bed) = Bed::new("enqueue").await else { return };
    let queue = bed.connect().await;
    queue.stop_receiving();
    assert!(matches!(queue.receive().await, Err(QueueError::Closed)));
    let items: Vec<Vec<u8>> = (0..300).map(|n: u32| n.to_string().into_bytes()).collect();
    queue.publish_items(QueueName::Enrichment, &items).await.unwrap();
    queue.publish_items(QueueName::Factcheck, &items[..2]).await.unwrap();
    let depth = queue.depth().await.unwrap();
    assert_eq!((depth.enrichment, depth.factcheck, depth.dead), (300, 2, 0));

    // Nobody consumes from it, so nobody notices and declares it again.
    bed.delete_queue(&bed.names.enrichment_queue).await;
    let refused = queue.publish_items(QueueName::Enrichment, &items[..1]).await.unwrap_err();
    assert!(matches!(&refused, QueueError::NotConfirmed { detail, .. } if detail.contains("no queue")), "{refused}");
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_what_to_change_and_never_the_password() {
    let Some(bed) = Bed::new("refusal").await else { return };
    let refusal = async |settings: AmqpSettings, mend: &str| {
        let since = Instant::now();
        let error = bed.try_connect(settings).await.unwrap_err();
        assert!(!error.is_transient(), "{error}");
        assert!(error.to_string().contains(mend), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret-word"), "{error:?}");
        assert!(since.elapsed() < PATIENCE, "a refusal is not tried again");
    };
    let with_url = |change: &dyn Fn(&mut url::Url)| {
        let mut url = bed.url.clone();
        change(&mut url);
        AmqpSettings { url: url.to_string().into(), ..bed.settings() }
    };
    let wrong_password = with_url(&|url| url.set_password(Some("secret-word")).unwrap());
    refusal(wrong_password, "correct the user or the password").await;
    refusal(with_url(&|url| url.set_path("/no-such-vhost")), "add_vhost no-such-vhost").await;
    let not_amqp = AmqpSettings { url: "http://a:secret-word@b/".to_owned().into(), ..bed.settings() };
    refusal(not_amqp, "amqp://user:password@host:5672/%2f").await;

    // Somebody has declared the queue as a classic one.
    let options = lapin::options::QueueDeclareOptions { durable: true, ..Default::default() };
    let name = bed.names.factcheck_queue.as_str();
    bed.channel.queue_declare(name.into(), options, FieldTable::default()).await.unwrap();
    refusal(bed.settings(), "exists with other properties").await;
    bed.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_not_there_is_waited_for_and_then_named() {
    let Some(bed) = Bed::new("unreachable").await else { return };
    let nobody = free_address();
    let url = format!("amqp://guest:secret-word@{nobody}/%2f");
    let settings = AmqpSettings { url: url.into(), start_patience: Duration::from_millis(600), ..bed.settings() };
    let since = Instant::now();
    let error = bed.try_connect(settings).await.unwrap_err();
    assert!(matches!(&error, QueueError::Unreachable { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains(&nobody.to_string()) && !said.contains("secret-word"), "{said}");
    assert!(since.elapsed() >= Duration::from_millis(200), "it was tried once only");
    bed.clear().await;
}
