use std::cell::Cell;
use std::time::{Duration, Instant};

use chrono::DateTime;

use super::claims;
use crate::config::Config;
use crate::domain::Item;
use crate::domain::item::{EntityHint, ItemSource, ItemSourceKind};
use crate::pipeline::normalise::normalise;
use crate::pipeline::{Journal, Services};

/// Maximum delay of other tasks: HTTP and heartbeats are due in seconds, and copying a megabyte takes milliseconds.
const MAX_DELAY: Duration = Duration::from_millis(200);
const MEGABYTE: usize = 1024 * 1024;

async fn services() -> Services {
    let mut config = Config::built_in();
    for (choice, without) in [
        (&mut config.inference.embedder, "hashed"),
        (&mut config.inference.stance, "rules"),
        (&mut config.inference.reranker, "lexical"),
    ] {
        without.clone_into(choice);
    }
    std::sync::Arc::into_inner(crate::app::judging(&config, None).await.unwrap()).unwrap()
}

/// Returns the longest delay of a ticking task, and the duration of the work.
async fn worst_delay(work: impl Future<Output = ()>) -> (Duration, Duration) {
    const TICK: Duration = Duration::from_millis(5);
    let started = Instant::now();
    let (due, worst) = (Cell::new(started + TICK), Cell::new(Duration::ZERO));
    let look = || worst.set(worst.get().max(Instant::now().saturating_duration_since(due.get())));
    let ticking = async {
        loop {
            due.set(Instant::now() + TICK);
            tokio::time::sleep(TICK).await;
            look();
        }
    };
    // One task: while the work is polled, nothing else on the thread runs.
    tokio::select! {
        biased;
        () = ticking => {}
        () = work => look(),
    }
    (worst.get(), started.elapsed())
}

fn item(text: &str) -> Item {
    Item { published_at: Some(DateTime::UNIX_EPOCH), ..Item::from_claim("large".to_owned(), text) }
}

async fn delay_of(name: &str, item: Item) -> Duration {
    let services = services().await;
    let journal = Journal::new(tokio::time::Instant::now(), Duration::from_mins(5), DateTime::UNIX_EPOCH);
    // Dictionaries are built on first use.
    let first =
        Item::from_claim("first".to_owned(), "The port of Brana closed on Monday after a fire killed 3 people.");
    let normal = normalise(&services, &first, &journal).await.unwrap();
    claims(&services, &first, &normal, &journal).await.unwrap();
    let mut best = Duration::MAX;
    // Three attempts, because a busy machine may cause one delay.
    for _ in 0..3 {
        let work = async {
            let normal = normalise(&services, &item, &journal).await.unwrap();
            claims(&services, &item, &normal, &journal).await.unwrap();
        };
        let (worst, took) = worst_delay(work).await;
        println!("{name}: the runtime was blocked for {worst:?} at most, of {took:?} in all");
        best = best.min(worst);
        if best < MAX_DELAY {
            break;
        }
    }
    best
}

#[tokio::test]
async fn runtime_is_not_blocked_when_an_item_has_a_long_text() {
    let sentences: Vec<String> =
        (0..MEGABYTE / 40).map(|number| format!("A fire in Brana killed {number} people.")).collect();
    let worst = delay_of("sentences", item(&sentences.join(" "))).await;
    assert!(worst < MAX_DELAY, "{worst:?}");
}

#[tokio::test]
async fn runtime_is_not_blocked_when_an_item_has_many_sources() {
    let source =
        |number| ItemSource { kind: ItemSourceKind::Image, text: format!("Fire killed {number} in Rome."), url: None };
    let mut item = item("A fire in Rome killed three people.");
    item.sources = (0..6_000).map(source).collect();
    let worst = delay_of("sources", item).await;
    assert!(worst < MAX_DELAY, "{worst:?}");
}

#[tokio::test]
async fn runtime_is_not_blocked_when_an_item_has_many_entities() {
    let hint = |number| EntityHint { text: format!("Company {number}"), kind: Some("ORG".to_owned()) };
    let mut item = item("Company 7 and Company 8 closed the port of Brana on Monday. Five people died.");
    item.entities = (0..30_000).map(hint).collect();
    let worst = delay_of("entities", item).await;
    assert!(worst < MAX_DELAY, "{worst:?}");
}

#[tokio::test]
async fn runtime_is_not_blocked_when_an_item_is_one_long_word() {
    let worst = delay_of("a word", item(&"x".repeat(MEGABYTE))).await;
    assert!(worst < MAX_DELAY, "{worst:?}");
}
