//! The caches' promises among processes: two of them are two sets of connections to one real server.
#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corroborate::cache::{AnswerCache, AnswerCacheSettings, Form, Question, SharedLevel};
use corroborate::domain::{Clock as _, SystemClock};
use corroborate::outbound::CacheResult::{Hit, HitShared, Miss, MissUnshared, Waited};
use corroborate::outbound::{AskError, CacheResult, NoObserver};
use corroborate::store::{AnswerKey, Store};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::{Instant, sleep};

use crate::support::database;

type Words = Vec<String>;

/// What one process has.
struct Process {
    cache: AnswerCache<Words>,
    store: Store,
}

const TTL: Duration = Duration::from_mins(10);
const EMPTY_TTL: Duration = Duration::from_secs(2);

async fn process(url: &str) -> Process {
    of_store(database::connect(url).await)
}

fn of_store(store: Store) -> Process {
    let form = Form {
        write: |words: &Words| (!is_partial(words)).then(|| serde_json::to_value(words)).transpose(),
        read: |value| serde_json::from_value(value),
    };
    let level = SharedLevel::new(store.clone(), form);
    let settings = AnswerCacheSettings { capacity: 1_000, ttl: TTL, empty_ttl: EMPTY_TTL };
    let cache = AnswerCache::new("search", settings, is_brief, Some(level), Arc::new(NoObserver));
    Process { cache, store }
}

/// Stands for an answer a part of which could not be asked.
const PARTIAL: &str = "the rest could not be asked";

fn is_partial(words: &Words) -> bool {
    words.iter().any(|word| word == PARTIAL)
}

fn is_brief(words: &Words) -> bool {
    words.is_empty() || is_partial(words)
}

/// Several processes on one fresh database; `None`, said aloud, without a server.
async fn fleet<const N: usize>() -> Option<(String, [Process; N])> {
    let url = database::empty_database().await?;
    database::connect(&url).await.migrate().await.unwrap();
    let mut processes = Vec::new();
    for _ in 0..N {
        processes.push(process(&url).await);
    }
    Some((url, processes.try_into().ok().unwrap()))
}

fn within(key: &str, time: Duration) -> Question<'_> {
    let until = Instant::now() + time;
    Question { provider: "searxng", key, claim: None, shared: true, until, keep_at_least: Duration::ZERO }
}

fn about(key: &str) -> Question<'_> {
    within(key, Duration::from_secs(20))
}

fn found() -> Words {
    vec!["the bridge opened".to_owned()]
}

async fn asks(process: &Process, question: Question<'_>, words: Words) -> (Words, CacheResult) {
    let asked = process.cache.get_or_ask(&question, || async { Ok::<_, AskError>(words.clone()) }).await;
    let (answer, how) = asked.unwrap();
    (answer.as_ref().clone(), how)
}

#[tokio::test]
async fn one_caller_of_a_process_asks_and_others_have_the_answer() {
    let Some((url, [first, second])) = fleet::<2>().await else { return };
    let calls = AtomicUsize::new(0);
    let question = about("the very same question");
    let ask = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(200)).await;
        Ok::<_, AskError>(found())
    };
    let asked = [&first, &first, &first].map(|process| process.cache.get_or_ask(&question, ask));
    let all: Vec<_> = futures::future::join_all(asked).await.into_iter().map(Result::unwrap).collect();
    assert!(all.iter().all(|(answer, _)| **answer == found()));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "three callers cost one call");
    let how: Vec<CacheResult> = all.iter().map(|(_, how)| *how).collect();
    assert_eq!(how, [Miss, Waited, Waited]);
    assert_eq!(asks(&second, question, vec![]).await, (found(), HitShared));
    assert_eq!(asks(&second, question, vec![]).await, (found(), Hit));
    let late = process(&url).await;
    assert_eq!(asks(&late, question, vec![]).await, (found(), HitShared), "a process started later finds it");
    let pool = PgPool::connect(&url).await.unwrap();
    let (rows, words): (i64, String) = sqlx::query_as("SELECT count(*), string_agg(key || provider, ' ') FROM answers")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(rows == 1 && !words.contains("question"), "the question's words are not stored: {words}");
}

#[tokio::test]
async fn nothing_found_is_shared_for_a_shorter_time_and_what_must_not_be_stored_is_not() {
    let Some((url, [first, second])) = fleet::<2>().await else { return };
    assert_eq!(asks(&first, about("empty"), vec![]).await, (vec![], Miss));
    let transient = Question { shared: false, ..about("a question to brave") };
    assert_eq!(asks(&first, transient, found()).await, (found(), Miss));
    assert_eq!(asks(&second, about("empty"), found()).await, (vec![], HitShared));
    assert_eq!(asks(&second, transient, found()).await, (found(), Miss), "it stays in its process");
    let pool = PgPool::connect(&url).await.unwrap();
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM answers").fetch_one(&pool).await.unwrap();
    assert_eq!(rows, 1, "of the one that must not be stored there is not even a hash");
    sleep(EMPTY_TTL).await;
    assert_eq!(asks(&second, about("empty"), found()).await, (found(), Miss), "also in the memory of the other");
}

#[tokio::test]
async fn a_store_that_is_away_fails_nobody() {
    let Some((_, [process])) = fleet::<1>().await else { return };
    process.store.close().await;
    assert_eq!(asks(&process, about("a"), found()).await, (found(), MissUnshared));
    assert_eq!(asks(&process, about("a"), vec![]).await, (found(), Hit), "the process remembers for itself");
}

#[tokio::test]
async fn fact_checks_stand_in_their_own_table_by_the_normalised_claim() {
    let Some((url, [first, second])) = fleet::<2>().await else { return };
    let claim = Question { claim: Some("the bridge opened"), ..about("google the bridge opened") };
    assert_eq!(asks(&first, claim, found()).await, (found(), Miss));
    assert_eq!(asks(&second, claim, vec![]).await, (found(), HitShared));
    let pool = PgPool::connect(&url).await.unwrap();
    let row: (String, String, serde_json::Value) =
        sqlx::query_as("SELECT normalized_claim, provider, result_json FROM fact_check_cache")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(row, ("the bridge opened".to_owned(), "searxng".to_owned(), json!(found())));
    let searches: i64 = sqlx::query_scalar("SELECT count(*) FROM answers").fetch_one(&pool).await.unwrap();
    assert_eq!(searches, 0);
}

#[tokio::test]
async fn expired_answers_and_those_that_are_too_many_go() {
    let Some((_, [process])) = fleet::<1>().await else { return };
    let store = &process.store;
    let now = SystemClock.now();
    for number in 0..25 {
        let hash = format!("{number:064}");
        let key = AnswerKey { hash: &hash, provider: "gdelt", claim: None };
        // The first six expire at once.
        let ttl = Duration::from_mins(u64::saturating_sub(number, 5));
        store.keep_answer(key, &json!(["with a \u{0} in it"]), ttl).await.unwrap();
    }
    assert_eq!(store.cleanup_preview(now).await.unwrap().answers, 6);
    assert_eq!(store.tidy_answers().await.unwrap(), 6);
    assert_eq!(store.tidy_answers_to(7).await.unwrap(), 12, "the ones that expire first go first");
    for (number, kept) in [(17, None), (18, Some(json!(["with a  in it"])))] {
        let hash = format!("{number:064}");
        let key = AnswerKey { hash: &hash, provider: "gdelt", claim: None };
        assert_eq!(store.cached_answer(key).await.unwrap().map(|cached| cached.answer), kept);
    }
}

/// One statement reads, and one writes.
#[tokio::test]
async fn a_question_costs_two_statements() {
    const QUESTIONS: usize = 500;
    let Some((url, [process])) = fleet::<1>().await else { return };
    let pool = PgPool::connect(&url).await.unwrap();
    let transactions = async || -> i64 {
        let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
        sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap()
    };
    let keys: Vec<String> = (0..QUESTIONS).map(|number| format!("question {number}")).collect();
    let before = transactions().await;
    let since = Instant::now();
    for key in &keys {
        assert_eq!(asks(&process, about(key), found()).await.1, Miss);
    }
    let took = since.elapsed();
    for key in &keys {
        assert_eq!(asks(&process, about(key), vec![]).await.1, Hit);
    }
    // Connections tell the server's statistics what they did when they end.
    process.store.close().await;
    let mut spent = 0;
    let questions = i64::try_from(QUESTIONS).unwrap();
    crate::support::daemon::until("the statistics are told", async || {
        spent = transactions().await - before;
        spent >= 2 * questions
    })
    .await;
    println!("{QUESTIONS} questions, one after another: {took:?}; {spent} transactions");
    assert!(spent <= 2 * questions + 60, "{spent} transactions for {QUESTIONS} questions in {took:?}");
}

#[cfg(feature = "embedded")]
#[tokio::test]
async fn embedded_the_answers_survive() {
    use corroborate::app::OpenStore;
    let folder = tempfile::tempdir().unwrap();
    let opened = OpenStore::embedded(folder.path()).await.unwrap();
    let process = of_store(opened.store.clone());
    assert_eq!(asks(&process, about("a"), found()).await, (found(), Miss));
    let next = of_store(opened.store.clone());
    assert_eq!(asks(&next, about("a"), vec![]).await, (found(), HitShared));
    opened.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_not_whole_stays_in_its_process_and_not_for_long() {
    let Some((_, fleet)) = fleet::<2>().await else { return };
    let question = about("a question that one endpoint could not be asked");
    let partial = vec![PARTIAL.to_owned()];
    assert_eq!(asks(&fleet[0], question, partial.clone()).await, (partial.clone(), Miss));
    assert_eq!(asks(&fleet[0], question, found()).await, (partial, Hit));
    assert_eq!(asks(&fleet[1], question, found()).await, (found(), Miss), "the other asks for itself, at once");
    sleep(EMPTY_TTL + Duration::from_millis(200)).await;
    let (answer, how) = asks(&fleet[0], question, Vec::new()).await;
    assert_eq!((answer, how), (found(), HitShared), "the whole one of the other is taken over");
}

#[tokio::test]
async fn limits_of_providers_that_are_no_longer_called_are_cleaned_up() {
    let Some((url, [process])) = fleet::<1>().await else { return };
    let pool = PgPool::connect(&url).await.unwrap();
    let rows = "INSERT INTO provider_quota (provider, state, until, updated_at) VALUES
            ('brave', 'ready', NULL, now()),
            ('gdelt', 'ready', NULL, now() - interval '91 days'),
            ('newsapi', 'disabled', now() + interval '1 day', now() - interval '91 days')";
    sqlx::raw_sql(rows).execute(&pool).await.unwrap();
    let now = SystemClock.now();
    assert_eq!(process.store.cleanup_preview(now).await.unwrap().provider_state, 1);
    assert_eq!(process.store.cleanup(now).await.unwrap().provider_state, 1);
    let left: String = sqlx::query_scalar("SELECT string_agg(provider, ' ' ORDER BY provider) FROM provider_quota")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, "brave newsapi", "an open breaker is kept");
}
