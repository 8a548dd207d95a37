//! Clocks that are wrong: of a process that writes, and of the database itself.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use corroborate::domain::ids;
use corroborate::domain::verdict::{Phase, Verdict};
use corroborate::domain::{Clock as _, SystemClock};
use corroborate::store::{AnswerKey, CallEnd, CallOutcome, FeedReading, GateState, Store, StoreError, WantedFeeds};
use serde_json::json;
use sqlx::PgPool;

use super::written::{Run, TEXT, URL, Written, commit_for, passage};
use crate::support::database;

async fn fresh() -> Option<(Store, PgPool)> {
    let url = database::empty_database().await?;
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    Some((store, PgPool::connect(&url).await.unwrap()))
}

async fn run(rows: &PgPool, sql: &str) {
    sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).execute(rows).await.unwrap();
}

/// An item with a page, written by a process whose clock says `now`.
async fn write(store: &Store, item: &str, now: DateTime<Utc>, keep: TimeDelta) {
    let start = store.begin(item).await.unwrap();
    let run = Run { start: &start, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
    let written =
        Written { item, channel: None, verdict: Verdict::Supported, passages: vec![passage(URL, 0.9, 0.0)], now };
    commit_for(store, run, written, &[URL], keep).await.unwrap();
}

#[tokio::test]
async fn clean_up_removes_what_has_expired_whatever_clock_its_writer_had() {
    let Some((store, rows)) = fresh().await else { return };
    let now = SystemClock.now();
    for (item, days) in [("behind", -60), ("right", 0), ("ahead", 60)] {
        write(&store, item, now + TimeDelta::days(days), TimeDelta::days(30)).await;
        let claim = format!("claim of {item}");
        let key = ids::question_hash(item);
        let key = AnswerKey { hash: &key, provider: "searxng", claim: (days != 0).then_some(claim.as_str()) };
        store.keep_answer(key, &json!([item]), Duration::from_hours(24)).await.unwrap();
        let left = store.cached_answer(key).await.unwrap().unwrap().expires_in;
        assert!(left > Duration::from_hours(23) && left <= Duration::from_hours(24), "{left:?}");
    }
    let cleaned = store.cleanup(now).await.unwrap();
    assert_eq!(cleaned.total(), 0, "nothing is older than a moment: {cleaned:?}");
    let refused = store.cleanup(now + TimeDelta::days(60)).await;
    assert!(matches!(refused, Err(StoreError::ClocksDiffer { .. })), "{refused:?}");
    let dates: (DateTime<Utc>, DateTime<Utc>) =
        sqlx::query_as("SELECT fetched_at, expires_at FROM evidence_sources").fetch_one(&rows).await.unwrap();
    assert!((dates.0 - now).abs() < TimeDelta::minutes(1), "a page is dated by the database: {dates:?}");
    assert!((dates.1 - now - TimeDelta::days(30)).abs() < TimeDelta::minutes(1), "{dates:?}");
    // The reader gets them by its own clock.
    let behind = now - TimeDelta::days(60);
    let page = store.sources_by_url(&[URL.to_owned()], behind, TimeDelta::zero()).await.unwrap();
    assert!((page[0].fetched_at - behind).abs() < TimeDelta::minutes(1), "{:?}", page[0].fetched_at);
    run(&rows, "UPDATE items SET expires_at = now()").await;
    assert_eq!(store.cleanup(now).await.unwrap().items, 3);
}

#[tokio::test]
async fn breaker_is_over_when_the_database_clock_was_set_back() {
    let Some((store, rows)) = fresh().await else { return };
    for (state, longest) in
        [(GateState::Open, "2 days"), (GateState::Disabled, "2 days"), (GateState::Exhausted, "36 days")]
    {
        let outcome = CallOutcome::Opened { state, wait: Duration::from_mins(10), reason: "it fails".into() };
        let end =
            CallEnd { taken_at: SystemClock.now(), version: 0, unused: false, refund_usd: 0.0, outcome: Some(outcome) };
        let opened = store.end_call(state.as_str(), "", &end).await.unwrap();
        assert!(opened.until_in > Duration::from_secs(590), "{opened:?}");
        let left = format!(
            "UPDATE provider_quota SET until = now() + interval '{longest}' + interval '1 hour',
            probe_until = now() + interval '2 hours' WHERE provider = '{}'",
            state.as_str()
        );
        run(&rows, &left).await;
        let seen = store.calls().await.unwrap().providers;
        let seen = seen.into_iter().find(|calls| calls.provider == state.as_str()).unwrap().breaker;
        assert!(seen.until_in.is_zero(), "{state:?}: {seen:?}");
    }
}

#[tokio::test]
async fn turns_are_free_when_the_database_clock_was_set_back() {
    let Some((store, rows)) = fresh().await else { return };
    let (now, lease) = (SystemClock.now(), Duration::from_secs(4));
    let hour = Duration::from_hours(1);
    assert!(store.take_turn("a job", hour).await.unwrap());
    assert!(!store.take_turn("a job", hour).await.unwrap());
    run(&rows, "UPDATE store_settings SET updated_at = now() + interval '1 hour' WHERE key = 'a job'").await;
    assert!(store.take_turn("a job", hour).await.unwrap());
    let today = now.date_naive();
    let ahead = today + TimeDelta::days(60);
    assert!(store.claim_daily_notice("a warning", ahead).await.unwrap(), "a process that is ahead");
    assert!(!store.claim_daily_notice("a warning", ahead).await.unwrap());
    assert!(store.claim_daily_notice("a warning", today + TimeDelta::days(2)).await.is_ok_and(|told| !told));
    run(&rows, "UPDATE store_settings SET value = '\"2999-01-01\"' WHERE key = 'a warning'").await;
    assert!(store.claim_daily_notice("a warning", today).await.unwrap(), "of an earlier program");
    assert!(!store.claim_daily_notice("a warning", today).await.unwrap());

    write(&store, "due", now, TimeDelta::days(30)).await;
    run(&rows, "INSERT INTO rejudging (item_id, asks, reason) VALUES ('due', false, 'settings')").await;
    assert_eq!(store.take_due(false, 5, lease).await.unwrap().len(), 1);
    assert_eq!(store.take_due(false, 5, lease).await.unwrap().len(), 0);
    run(&rows, "UPDATE rejudging SET taken_until = now() + interval '1 hour'").await;
    assert_eq!(store.take_due(false, 5, lease).await.unwrap().len(), 1);
}

#[tokio::test]
async fn feed_is_due_when_a_process_with_a_wrong_clock_put_it_off() {
    let Some((store, _)) = fresh().await else { return };
    let now = SystemClock.now();
    let url = "https://news.example/rss".to_owned();
    let wanted = WantedFeeds { urls: vec![url.clone()], sites: Vec::new() };
    store.add_feeds(&[(url.clone(), "news.example".to_owned())], now).await.unwrap();
    let claim =
        async |now: DateTime<Utc>| store.claim_feeds(&wanted, now, now + TimeDelta::minutes(3), 8).await.unwrap();
    let ahead = now + TimeDelta::days(60);
    assert_eq!(claim(ahead).await.len(), 1);
    assert_eq!(claim(now).await.len(), 1, "the claim ends in 60 days");
    let reading = FeedReading { url, next_poll_at: ahead + TimeDelta::hours(1), ..FeedReading::default() };
    store.finish_feed(&reading, &[], ahead).await.unwrap();
    assert_eq!(claim(now).await.len(), 1, "it was put off for 60 days");
    assert_eq!(claim(now).await.len(), 0, "a claim that is right holds");
}
