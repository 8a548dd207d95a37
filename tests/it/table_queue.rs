//! The queue as a table on a server that several processes share.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use corroborate::broker::{DeadBody, DeadSelection, EXCERPT_BYTES, Queue as _, QueueName, Settlement};
use corroborate::store::TableQueue;

use crate::support::database;

/// Pause of an idle table queue.
const POLL: Duration = Duration::from_millis(200);

fn day(number: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000 + number)
}

/// A clock that a test moves on.
#[derive(Debug)]
struct Hands(std::sync::Mutex<DateTime<Utc>>);

impl corroborate::domain::Clock for Hands {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_living_process_holds_is_its_own_and_a_dead_ones_is_soon_taken_over() {
    let Some(database) = database::database().await else { return };
    let store = &database.store;
    let hands = Arc::new(Hands(std::sync::Mutex::new(day(2))));
    let minutes = |minutes: i64| *hands.0.lock().unwrap() = day(2) + TimeDelta::minutes(minutes);
    let open = || TableQueue::open(store.clone(), Arc::clone(&hands) as Arc<dyn corroborate::domain::Clock>, POLL);
    let (slow, other) = (open(), open());
    slow.publish_items(QueueName::Enrichment, &[b"slow".to_vec()]).await.unwrap();
    let held = slow.receive().await.unwrap();
    minutes(2);
    slow.renew().await.unwrap();
    minutes(4);
    let nothing = tokio::time::timeout(Duration::from_millis(600), other.receive()).await;
    assert!(nothing.is_err(), "it is still worked on");
    minutes(6);
    let taken = other.receive().await.unwrap();
    assert_eq!((taken.body.as_slice(), taken.redelivered), (held.body.as_slice(), true), "nobody renewed it any more");
    other.settle(&taken, Settlement::Ack).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_that_ends_its_process_each_time_is_given_up_with_its_reason() {
    let Some(database) = database::database().await else { return };
    let store = &database.store;
    let hands = Arc::new(Hands(std::sync::Mutex::new(day(2))));
    let later = |minutes: i64| *hands.0.lock().unwrap() += TimeDelta::minutes(minutes);
    let open = || TableQueue::open(store.clone(), Arc::clone(&hands) as Arc<dyn corroborate::domain::Clock>, POLL);
    let upstream = open();
    upstream.publish_items(QueueName::Enrichment, &[b"bomb".to_vec()]).await.unwrap();
    let mut handed_out = 0;
    loop {
        // Each process ends while it holds the message: it settles and renews nothing any more.
        let process = open().limited_to(5);
        let mut delivery = tokio::time::timeout(Duration::from_secs(1), process.receive()).await;
        if delivery.is_err() {
            // Those that ended a process twice come back one by one, seconds apart.
            later(1);
            delivery = tokio::time::timeout(Duration::from_secs(1), process.receive()).await;
        }
        let Ok(delivery) = delivery else { break };
        assert_eq!(delivery.unwrap().body, b"bomb");
        handed_out += 1;
        assert!(handed_out <= 40, "it is handed out for ever");
        later(10);
    }
    assert_eq!(handed_out, 5);
    let dead = upstream.dead_list(10).await.unwrap();
    assert_eq!((dead.len(), dead[0].label.as_deref()), (1, Some("delivery_limit")));
    assert!(dead[0].error.as_deref().is_some_and(|error| error.contains("ended while")), "{:?}", dead[0].error);
    assert_eq!(upstream.depth().await.unwrap().enrichment, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_stops_keeps_nothing_but_what_is_in_work() {
    let Some(database) = database::database().await else { return };
    let clock = || Arc::new(corroborate::domain::SystemClock) as Arc<dyn corroborate::domain::Clock>;
    let open = || TableQueue::open(database.store.clone(), clock(), POLL);
    let (stopping, other) = (open(), open());
    let items = ["one", "two", "three"].map(|text| text.as_bytes().to_vec());
    stopping.publish_items(QueueName::Enrichment, &items).await.unwrap();
    let held = stopping.receive().await.unwrap();
    stopping.stop_receiving();
    for body in [b"two".as_slice(), b"three"] {
        let next = tokio::time::timeout(Duration::from_secs(5), other.receive()).await;
        let next = next.expect("nobody waits for a lease to end").unwrap();
        assert_eq!((next.body.as_slice(), next.redelivered), (body, false));
        other.settle(&next, Settlement::Ack).await.unwrap();
    }
    let nothing = tokio::time::timeout(Duration::from_millis(600), other.receive()).await;
    assert!(nothing.is_err(), "what is in work is not handed out a second time");
    stopping.settle(&held, Settlement::Ack).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_put_off_is_not_counted_as_waiting_until_it_falls_due() {
    let Some(database) = database::database().await else { return };
    let hands = Arc::new(Hands(std::sync::Mutex::new(day(2))));
    let clock = Arc::clone(&hands) as Arc<dyn corroborate::domain::Clock>;
    let queue = TableQueue::open(database.store.clone(), clock, POLL);
    queue.publish_items(QueueName::Enrichment, &[b"later".to_vec()]).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().enrichment, 1);
    let delivery = queue.receive().await.unwrap();
    queue.settle(&delivery, Settlement::Defer { delay: Duration::from_mins(2) }).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().enrichment, 0, "shedding it again would help nobody");
    *hands.0.lock().unwrap() = day(2) + TimeDelta::minutes(3);
    assert_eq!(queue.depth().await.unwrap().enrichment, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_important_is_handed_out_first() {
    let Some(database) = database::database().await else { return };
    let clock = Arc::new(corroborate::domain::SystemClock) as Arc<dyn corroborate::domain::Clock>;
    let queue = TableQueue::open(database.store.clone(), clock, POLL);
    queue.publish_items(QueueName::Enrichment, &[b"waits".to_vec()]).await.unwrap();
    queue.publish_items(QueueName::Important, &[b"first".to_vec(), b"second".to_vec()]).await.unwrap();
    let depth = queue.depth().await.unwrap();
    assert_eq!((depth.important, depth.enrichment), (2, 1));
    for body in [b"first".as_slice(), b"second", b"waits"] {
        let delivery = queue.receive().await.unwrap();
        assert_eq!(delivery.body, body);
        queue.settle(&delivery, Settlement::Ack).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_long_something_waits_goes_by_the_clock_of_the_process_that_works_on_it() {
    let Some(database) = database::database().await else { return };
    let hands = |at| Arc::new(Hands(std::sync::Mutex::new(at))) as Arc<dyn corroborate::domain::Clock>;
    // The common clock of the table, and that of a process an hour ahead of it.
    let ahead = day(2) + TimeDelta::hours(1);
    let queue = TableQueue::open(database.store.clone(), hands(day(2)), POLL).read_by(hands(ahead));
    queue.publish_items(QueueName::Enrichment, &[b"new".to_vec()]).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().oldest, Some(ahead));
    let delivery = queue.receive().await.unwrap();
    assert_eq!(delivery.enqueued_at, Some(ahead), "it has not waited an hour");
    assert_eq!(delivery.sent_at, Some(day(2)), "edits are ordered by the common one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_of_a_reason_go_back_in_batches_and_cut_ones_stay() {
    let Some(database) = database::database().await else { return };
    let clock = Arc::new(corroborate::domain::SystemClock) as Arc<dyn corroborate::domain::Clock>;
    let queue = TableQueue::open(database.store.clone(), clock, POLL);
    let huge = vec![b'x'; 2 * EXCERPT_BYTES];
    let bodies: Vec<Vec<u8>> =
        (0..70).map(|number: u32| number.to_string().into_bytes()).chain([huge.clone()]).collect();
    queue.publish_items(QueueName::Enrichment, &bodies).await.unwrap();
    for number in 0..bodies.len() {
        let delivery = queue.receive().await.unwrap();
        let label = if number % 7 == 0 && number < 70 { "not_json" } else { "store_statement" };
        let body = if delivery.body == huge { DeadBody::Excerpt } else { DeadBody::Whole };
        let how = Settlement::Dead { label: label.to_owned(), error: "why".to_owned(), body };
        queue.settle(&delivery, how).await.unwrap();
    }
    let letters = queue.dead_list(100).await.unwrap();
    let cut = letters.iter().find(|letter| letter.is_cut).unwrap();
    assert_eq!((cut.bytes, cut.excerpt.len(), letters.len()), (huge.len(), EXCERPT_BYTES, 71));
    assert_eq!(queue.dead_get(&cut.id).await.unwrap().unwrap().body.len(), EXCERPT_BYTES);
    assert!(letters.iter().filter(|letter| !letter.is_cut).all(|letter| letter.bytes == letter.excerpt.len()));
    assert_eq!(queue.dead_requeue(DeadSelection::Reason("store_statement")).await.unwrap(), 60);
    let depth = queue.depth().await.unwrap();
    assert_eq!((depth.enrichment, depth.dead), (60, 11));
    assert_eq!(queue.dead_requeue(DeadSelection::All).await.unwrap(), 10, "an excerpt is no message");
    assert_eq!(queue.dead_drop(DeadSelection::Reason("store_statement")).await.unwrap(), 1);
    assert_eq!(queue.depth().await.unwrap().dead, 0);
}
