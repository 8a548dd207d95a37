//! The pauses of hosts, over two clients of one Postgres.

use std::time::Duration;

use corroborate::domain::{Clock as _, SystemClock};
use corroborate::store::{HostVisit, Store};
use sqlx::PgPool;

use crate::support::database;

const HOST: &str = "news.example";
const PAUSE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_mins(1);

/// Two clients, and the tables that they share.
async fn clients() -> Option<([Store; 2], PgPool)> {
    let url = database::empty_database().await?;
    let first = database::connect(&url).await;
    first.migrate().await.unwrap();
    let rows = PgPool::connect(&url).await.unwrap();
    Some(([first, database::connect(&url).await], rows))
}

async fn granted(store: &Store, host: &str) -> Duration {
    match store.visit_host(host, PAUSE, PATIENCE).await.unwrap() {
        HostVisit::In(wait) => wait,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn racing_clients_never_get_the_same_moment_at_a_host() {
    let Some((clients, _)) = clients().await else { return };
    let begun = std::time::Instant::now();
    let all = (0..20).map(|number| granted(&clients[number % 2], HOST));
    let mut waits: Vec<Duration> = futures::future::join_all(all).await;
    waits.sort();
    // Each is counted from its own answer, and all of them have come.
    let late = begun.elapsed();
    for (number, wait) in (0..).zip(&waits) {
        assert!(*wait + late >= PAUSE * number && *wait <= PAUSE * number, "{waits:?}, all within {late:?}");
    }
    assert_eq!(granted(&clients[0], "other.example").await, Duration::ZERO, "another host has its own pauses");
}

#[tokio::test]
async fn what_comes_too_late_is_not_taken() {
    let Some(([first, second], _)) = clients().await else { return };
    granted(&first, HOST).await;
    for _ in 0..5 {
        let hasty = second.visit_host(HOST, PAUSE, Duration::from_millis(100)).await.unwrap();
        assert_eq!(hasty, HostVisit::Late);
    }
    let next = granted(&second, HOST).await;
    assert!(next <= PAUSE, "{next:?}: those that were refused took nothing");
}

#[tokio::test]
async fn the_longer_of_two_rests_counts_for_everybody() {
    let Some(([first, second], _)) = clients().await else { return };
    first.rest_host(HOST, Duration::from_mins(30)).await.unwrap();
    second.rest_host(HOST, Duration::from_secs(30)).await.unwrap();
    let HostVisit::Resting(rest) = second.visit_host(HOST, PAUSE, PATIENCE).await.unwrap() else { panic!("it rests") };
    assert!(rest > Duration::from_mins(29) && rest <= Duration::from_mins(30), "{rest:?}");
}

#[tokio::test]
async fn hosts_that_nobody_fetches_from_are_forgotten() {
    let Some(([store, _], rows)) = clients().await else { return };
    granted(&store, HOST).await;
    let now = SystemClock.now();
    assert_eq!(store.cleanup(now).await.unwrap().provider_state, 0);
    sqlx::query("UPDATE page_hosts SET next_at = now() - interval '3 days'").execute(&rows).await.unwrap();
    assert_eq!(store.cleanup_preview(now).await.unwrap().provider_state, 1);
    assert_eq!(store.cleanup(now).await.unwrap().provider_state, 1);
}

/// What a clock of the database that was hours ahead left in the table.
#[tokio::test]
async fn host_is_usable_when_the_database_clock_was_set_back() {
    let Some(([store, _], rows)) = clients().await else { return };
    granted(&store, HOST).await;
    for left in ["next_at = now() + interval '2 hours'", "next_at = now(), rests_until = now() + interval '2 hours'"] {
        let left = format!("UPDATE page_hosts SET {left}");
        sqlx::query(sqlx::AssertSqlSafe(left.clone())).execute(&rows).await.unwrap();
        let visit = store.visit_host(HOST, PAUSE, PATIENCE).await.unwrap();
        assert!(matches!(visit, HostVisit::In(_)), "{left}: {visit:?}");
    }
    // A rest that the host asked for lasts as long as the longest one, an hour.
    sqlx::query("UPDATE page_hosts SET rests_until = now() + interval '55 minutes'").execute(&rows).await.unwrap();
    let visit = store.visit_host(HOST, PAUSE, PATIENCE).await.unwrap();
    assert!(matches!(visit, HostVisit::Resting(_)), "{visit:?}");
}
