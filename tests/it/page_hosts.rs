//! The leases of hosts, over two clients of one Postgres.

use std::time::Duration;

use corroborate::domain::{Clock as _, SystemClock};
use corroborate::store::{HostLease, HostPlace, HostTerms, RobotsLookup, Store};
use sqlx::PgPool;

use crate::support::database;

const PAUSE: Duration = Duration::from_secs(2);

const TERMS: HostTerms<'static> = HostTerms {
    host: "news.example",
    places: 100,
    pause: PAUSE,
    patience: Duration::from_mins(1),
    hold: Duration::from_mins(1),
};

async fn clients() -> Option<[Store; 2]> {
    let (clients, _) = clients_and_rows().await?;
    Some(clients)
}

/// The same with the tables they share.
async fn clients_and_rows() -> Option<([Store; 2], PgPool)> {
    let url = database::empty_database().await?;
    let first = database::connect(&url).await;
    first.migrate().await.unwrap();
    let rows = PgPool::connect(&url).await.unwrap();
    Some(([first, database::connect(&url).await], rows))
}

async fn granted(store: &Store, terms: &HostTerms<'_>) -> (Duration, HostPlace) {
    match store.lease_host(terms).await.unwrap() {
        HostLease::Granted { first_in, place } => (first_in, place),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn racing_clients_never_get_the_same_moment_at_a_host() {
    let Some(clients) = clients().await else { return };
    let begun = std::time::Instant::now();
    let all = (0..20).map(|number| granted(&clients[number % 2], &TERMS));
    let mut waits: Vec<Duration> = futures::future::join_all(all).await.into_iter().map(|(wait, _)| wait).collect();
    waits.sort();
    // Each is counted from its own answer, and all of them have come.
    let late = begun.elapsed();
    for (number, wait) in (0..).zip(&waits) {
        assert!(*wait + late >= PAUSE * number && *wait <= PAUSE * number, "{waits:?}, all within {late:?}");
    }
    let (other, _) = granted(&clients[0], &HostTerms { host: "other.example", ..TERMS }).await;
    assert_eq!(other, Duration::ZERO, "another host has a calendar of its own");
}

#[tokio::test]
async fn what_comes_too_late_is_not_taken() {
    let Some([first, second]) = clients().await else { return };
    granted(&first, &TERMS).await;
    let hasty = HostTerms { patience: Duration::from_millis(100), ..TERMS };
    for _ in 0..5 {
        let HostLease::NotBefore(wait) = second.lease_host(&hasty).await.unwrap() else { panic!("nothing is free") };
        assert!(wait <= PAUSE, "{wait:?}: those that were refused took nothing");
    }
}

#[tokio::test]
async fn places_are_shared_given_back_and_lapse_with_a_killed_process() {
    let Some([first, second]) = clients().await else { return };
    let terms = HostTerms { places: 2, pause: Duration::from_millis(1), ..TERMS };
    let (_, place) = granted(&first, &terms).await;
    let brief = HostTerms { hold: Duration::from_secs(3), ..terms };
    granted(&second, &brief).await;
    let HostLease::Full(lapses_in) = second.lease_host(&terms).await.unwrap() else { panic!("two are under way") };
    assert!(lapses_in <= Duration::from_millis(3_050), "{lapses_in:?}");
    first.give_host_back(terms.host, place).await.unwrap();
    granted(&second, &terms).await;
    tokio::time::sleep(lapses_in + Duration::from_millis(50)).await;
    granted(&first, &terms).await;
    assert!(matches!(first.lease_host(&terms).await.unwrap(), HostLease::Full(_)));
}

#[tokio::test]
async fn the_longer_of_two_rests_counts_for_everybody() {
    let Some([first, second]) = clients().await else { return };
    first.rest_host(TERMS.host, Duration::from_mins(30)).await.unwrap();
    second.rest_host(TERMS.host, Duration::from_secs(30)).await.unwrap();
    let HostLease::Resting(rest) = second.lease_host(&TERMS).await.unwrap() else { panic!("it rests") };
    assert!(rest > Duration::from_mins(29) && rest <= Duration::from_mins(30), "{rest:?}");
}

#[tokio::test]
async fn hosts_that_nobody_fetches_from_are_forgotten() {
    let Some(([store, _], rows)) = clients_and_rows().await else { return };
    granted(&store, &TERMS).await;
    let now = SystemClock.now();
    assert_eq!(store.cleanup(now).await.unwrap().provider_state, 0);
    sqlx::query("UPDATE page_hosts SET next_at = now() - interval '3 days'").execute(&rows).await.unwrap();
    assert_eq!(store.cleanup_preview(now).await.unwrap().provider_state, 1);
    assert_eq!(store.cleanup(now).await.unwrap().provider_state, 1);
}

/// What a clock of the database that was an hour ahead left behind.
#[tokio::test]
async fn host_is_usable_when_the_database_clock_was_set_back() {
    let Some(([store, _], rows)) = clients_and_rows().await else { return };
    let brief = HostTerms { places: 1, patience: Duration::from_secs(5), ..TERMS };
    granted(&store, &brief).await;
    for left in [
        "next_at = now() + interval '1 hour', places = '{}'",
        "next_at = now(), places = ARRAY[now() + interval '1 hour']",
        "next_at = now(), places = '{}', rests_until = now() + interval '2 hours'",
    ] {
        let left = format!("UPDATE page_hosts SET {left}");
        sqlx::query(sqlx::AssertSqlSafe(left.clone())).execute(&rows).await.unwrap();
        let lease = store.lease_host(&brief).await.unwrap();
        assert!(matches!(lease, HostLease::Granted { .. }), "{left}: {lease:?}");
    }
    // A rest that the host asked for lasts as long as the longest one, an hour.
    sqlx::query("UPDATE page_hosts SET rests_until = now() + interval '55 minutes'").execute(&rows).await.unwrap();
    assert!(matches!(store.lease_host(&brief).await.unwrap(), HostLease::Resting(_)));
    // A site that another process asks about, and one that is known.
    let site = "https://news.example";
    let patience = Duration::from_secs(5);
    assert_eq!(store.look_at_robots(site, patience).await.unwrap(), RobotsLookup::Ask);
    assert_eq!(store.look_at_robots(site, patience).await.unwrap(), RobotsLookup::Asked);
    for left in ["asked_until = now() + interval '1 hour'", "expires_at = now() + interval '3 days'"] {
        let left = format!("UPDATE page_robots SET {left}");
        sqlx::query(sqlx::AssertSqlSafe(left.clone())).execute(&rows).await.unwrap();
        sqlx::query("UPDATE page_robots SET asked_until = now() WHERE expires_at IS NOT NULL")
            .execute(&rows)
            .await
            .unwrap();
        assert_eq!(store.look_at_robots(site, patience).await.unwrap(), RobotsLookup::Ask, "{left}");
    }
}
