//! The queue as a table on a server that several processes share.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use corroborate::broker::{Queue as _, QueueName, Settle};
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
    let (slow, other) = (open().await.unwrap(), open().await.unwrap());
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
    other.settle(&taken, Settle::Ack).await.unwrap();
}
