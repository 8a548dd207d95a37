use std::cell::Cell;
use std::time::{Duration, Instant};

use chrono::DateTime;

use super::claims;
use crate::config::Config;
use crate::domain::Item;
use crate::domain::item::{EntityHint, ItemSource, ItemSourceKind};
use crate::pipeline::normalise::normalise;
use crate::pipeline::run_context::Journal;
use crate::pipeline::services::Services;

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

#[tokio::test]
async fn runtime_is_not_blocked_by_an_item_of_any_kind_of_size() {
    let services = services().await;
    let journal = Journal::new(tokio::time::Instant::now(), Duration::from_mins(5), DateTime::UNIX_EPOCH);
    let run = async |item: &Item| {
        let normal = normalise(&services, item, &journal).await.unwrap();
        claims(&services, item, &normal, &journal).await.unwrap();
    };
    // Dictionaries are built on first use.
    run(&item("The port of Brana closed on Monday after a fire killed 3 people.")).await;
    let sentences: Vec<String> =
        (0..MEGABYTE / 40).map(|number| format!("A fire in Brana killed {number} people.")).collect();
    let source =
        |number| ItemSource { kind: ItemSourceKind::Image, text: format!("Fire killed {number} in Rome."), url: None };
    let sources = Item { sources: (0..6_000).map(source).collect(), ..item("A fire in Rome killed three people.") };
    let hint = |number| EntityHint { text: format!("Company {number}"), kind: Some("ORG".to_owned()) };
    let text = "Company 7 and Company 8 closed the port of Brana on Monday. Five people died.";
    let entities = Item { entities: (0..30_000).map(hint).collect(), ..item(text) };
    for (name, item) in [
        ("a long text", item(&sentences.join(" "))),
        ("many sources", sources),
        ("many entities", entities),
        ("one long word", item(&"x".repeat(MEGABYTE))),
    ] {
        let mut best = Duration::MAX;
        // Three attempts, because a busy machine may cause one delay.
        for _ in 0..3 {
            let (worst, took) = worst_delay(run(&item)).await;
            println!("{name}: the runtime was blocked for {worst:?} at most, of {took:?} in all");
            best = best.min(worst);
            if best < MAX_DELAY {
                break;
            }
        }
        assert!(best < MAX_DELAY, "{name}: {best:?}");
    }
}
