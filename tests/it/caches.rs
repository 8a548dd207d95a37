//! The caches' promises among processes: two of them are two sets of connections to one real server.
#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corroborate::cache::{AnswerCache, AnswerCacheSettings, Form, Question, SharedLevel, WriteBehind};
use corroborate::domain::{Clock, SystemClock};
use corroborate::outbound::CacheResult::{Hit, HitShared, Miss, MissUnshared, Waited};
use corroborate::outbound::{AskError, CacheResult, NoObserver};
use corroborate::store::{AnswerKey, AnswerLookup, AnswerNote, CachedAnswer, Store};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::{Instant, sleep};

use crate::support::database;

type Words = Vec<String>;

/// What one process has.
struct Process {
    cache: AnswerCache<Words>,
    behind: WriteBehind,
    store: Store,
}

const TTL: Duration = Duration::from_mins(10);
const EMPTY_TTL: Duration = Duration::from_secs(2);

async fn process(url: &str) -> Process {
    of_store(database::connect(url).await)
}

fn of_store(store: Store) -> Process {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let behind = WriteBehind::new(store.clone(), Arc::clone(&clock));
    tokio_util::task::TaskTracker::new().spawn(behind.clone().run());
    let form = Form {
        write: |words: &Words| (!is_partial(words)).then(|| serde_json::to_value(words)).transpose(),
        read: |value| serde_json::from_value(value),
    };
    let level = SharedLevel::new(store.clone(), behind.clone(), clock, form);
    let settings = AnswerCacheSettings { capacity: 1_000, ttl: TTL, empty_ttl: EMPTY_TTL };
    let cache = AnswerCache::new("search", settings, is_brief, Some(level), Arc::new(NoObserver));
    Process { cache, behind, store }
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
async fn one_process_asks_and_all_others_have_the_answer() {
    let Some((url, fleet)) = fleet::<3>().await else { return };
    let calls = AtomicUsize::new(0);
    let question = about("the very same question");
    let ask = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(200)).await;
        Ok::<_, AskError>(found())
    };
    let asked = fleet.iter().flat_map(|process| [process, process, process]);
    let all = futures::future::join_all(asked.map(|process| process.cache.get_or_ask(&question, ask))).await;
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert!(all.iter().all(|(answer, _)| **answer == found()));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "nine who want to know in three processes cost one call");
    assert_eq!(all.iter().filter(|(_, how)| *how == Miss).count(), 1);
    assert_eq!(all.iter().filter(|(_, how)| *how == Waited).count(), 8);
    for process in &fleet {
        assert_eq!(asks(process, question, vec![]).await, (found(), Hit));
    }
    let late = process(&url).await;
    assert_eq!(asks(&late, question, vec![]).await, (found(), HitShared), "a process started later finds it");
    let pool = PgPool::connect(&url).await.unwrap();
    let (rows, words): (i64, String) = sqlx::query_as("SELECT count(*), string_agg(key || provider, ' ') FROM answers")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(rows == 1 && !words.contains("question"), "the question's words are not stored: {words}");
    let claims: i64 = sqlx::query_scalar("SELECT count(*) FROM answer_claims").fetch_one(&pool).await.unwrap();
    assert_eq!(claims, 0);
}

/// Answers that come as fast as claims do: whoever takes a claim that has just been freed looks again before it asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_is_asked_once_each_however_quick_the_answers() {
    let Some((_, fleet)) = fleet::<4>().await else { return };
    let calls = AtomicUsize::new(0);
    let keys: Vec<String> = (0..60).map(|number| format!("burst {number}")).collect();
    let ask = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        Ok::<_, AskError>(found())
    };
    let (ask, keys) = (&ask, &keys);
    let all = fleet.iter().flat_map(|process| {
        keys.iter().map(move |key| {
            async move {
                // Spread over the time in which the first answers are written.
                sleep(Duration::from_millis(rand::random::<u64>() % 150)).await;
                process.cache.get_or_ask(&about(key), ask).await.unwrap().0
            }
        })
    });
    for answer in futures::future::join_all(all).await {
        assert_eq!(*answer, found());
    }
    assert_eq!(calls.load(Ordering::SeqCst), keys.len());
}

#[tokio::test]
async fn a_holder_that_fails_or_goes_away_is_followed_by_the_next_and_its_error_is_kept_nowhere() {
    let Some((_, [first, second])) = fleet::<2>().await else { return };
    let begun = tokio::sync::Notify::new();
    let fail = || async {
        begun.notify_one();
        sleep(Duration::from_millis(100)).await;
        Err::<Words, _>(AskError::Server { status: 503 })
    };
    let question = about("fails");
    let (failed, (answer, how)) = tokio::join!(first.cache.get_or_ask(&question, fail), async {
        begun.notified().await;
        asks(&second, question, found()).await
    });
    assert_eq!(failed.unwrap_err(), AskError::Server { status: 503 });
    assert_eq!((answer, how), (found(), Miss), "who waited asked itself, and got no empty answer");

    let question = about("goes away");
    let never = first.cache.get_or_ask(&question, || async {
        begun.notify_one();
        std::future::pending::<Result<Words, AskError>>().await
    });
    tokio::select! {
        _ = never => panic!("nobody answers"),
        () = begun.notified() => {}
    }
    let since = Instant::now();
    assert_eq!(asks(&second, question, found()).await, (found(), Miss));
    assert!(since.elapsed() < Duration::from_secs(2), "the claim is let go at once, not at its end");
}

#[tokio::test]
async fn who_asks_for_long_keeps_the_claim_and_the_others_wait_for_the_one_answer() {
    let Some((_, [first, second])) = fleet::<2>().await else { return };
    let question = within("takes its time", Duration::from_secs(20));
    let slow = || async {
        sleep(Duration::from_millis(6_500)).await;
        Ok::<_, AskError>(found())
    };
    let (asked, waited) = tokio::join!(first.cache.get_or_ask(&question, slow), async {
        sleep(Duration::from_millis(100)).await;
        second.cache.get_or_ask(&question, || async { Err(AskError::Timeout) }).await
    });
    assert_eq!(asked.unwrap().1, Miss);
    assert_eq!(waited.unwrap().1, Waited, "longer than an unrenewed claim lasts");
}

/// The answer that the store has.
async fn kept(store: &Store, key: AnswerKey<'_>, now: chrono::DateTime<chrono::Utc>) -> CachedAnswer {
    match store.answer_or_claim(key, now, "nobody", Duration::from_millis(1)).await.unwrap() {
        AnswerLookup::Cached(kept) => kept,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_dead_holder_holds_nobody_up_for_longer_than_its_own_time() {
    let Some((url, [alive])) = fleet::<1>().await else { return };
    let dead = database::connect(&url).await;
    let hash = corroborate::domain::ids::question_hash("held by a dead process");
    let key = AnswerKey { hash: &hash, provider: "searxng", claim: None };
    let now = SystemClock.now();
    let look = dead.answer_or_claim(key, now, "dead", Duration::from_secs(5)).await.unwrap();
    assert_eq!(look, AnswerLookup::Claimed);
    let question = within("held by a dead process", Duration::from_millis(400));
    let hurried = alive.cache.get_or_ask(&question, || async { Ok::<_, AskError>(found()) });
    let since = Instant::now();
    assert_eq!(hurried.await.unwrap_err(), AskError::Deadline, "nobody waits past its own time");
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    assert_eq!(asks(&alive, about("held by a dead process"), found()).await, (found(), Miss));
    // The dead one's late answer is an answer all the same, and frees nothing that is not its own.
    let late = AnswerNote {
        key: hash.clone(),
        provider: "searxng".into(),
        claim: None,
        answer: Some(json!(["late"])),
        cached_at: now,
        expires_at: now + TTL,
        holder: Some("dead".into()),
    };
    alive.behind.flush().await.unwrap();
    dead.note_answers(&[late], SystemClock.now()).await.unwrap();
    let kept = kept(&dead, key, now).await;
    assert_eq!(kept.answer, json!(found()), "an older answer does not replace a newer one");
}

#[tokio::test]
async fn nothing_found_is_shared_for_a_shorter_time_and_what_must_not_be_stored_is_not() {
    let Some((url, [first, second])) = fleet::<2>().await else { return };
    assert_eq!(asks(&first, about("empty"), vec![]).await, (vec![], Miss));
    let transient = Question { shared: false, ..about("a question to brave") };
    assert_eq!(asks(&first, transient, found()).await, (found(), Miss));
    first.behind.flush().await.unwrap();
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
    first.behind.flush().await.unwrap();
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
    let note = |number: i64| AnswerNote {
        key: format!("{number:064}"),
        provider: "gdelt".into(),
        claim: None,
        answer: Some(json!(["with a \u{0} in it"])),
        cached_at: now,
        expires_at: now + chrono::TimeDelta::seconds(number),
        holder: None,
    };
    store.note_answers(&(-5..20).map(note).collect::<Vec<_>>(), now).await.unwrap();
    assert_eq!(store.cleanup_preview(now).await.unwrap().answers, 6);
    assert_eq!(store.tidy_answers().await.unwrap(), 6);
    assert_eq!(store.tidy_answers_to(7).await.unwrap(), 12, "the ones that expire first go first");
    let hash = format!("{:064}", 13);
    let key = AnswerKey { hash: &hash, provider: "gdelt", claim: None };
    assert_eq!(kept(store, key, now).await.answer, json!(["with a  in it"]));
}

/// The cost on an item's way: one transaction per question that nobody has asked yet, and one per batch behind it.
#[tokio::test]
async fn a_question_costs_an_item_one_statement() {
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
    process.behind.close().await;
    // Connections tell the server's statistics what they did when they end.
    process.store.close().await;
    let mut spent = 0;
    let questions = i64::try_from(QUESTIONS).unwrap();
    crate::support::daemon::until("the statistics are told", async || {
        spent = transactions().await - before;
        spent >= questions
    })
    .await;
    println!("{QUESTIONS} questions, one after another: {took:?}; {spent} transactions, batches included");
    // Answers are written some twenty times a second, whatever their number.
    let batches = i64::try_from(took.as_millis() / 50).unwrap();
    assert!(spent <= questions + batches + 60, "{spent} transactions for {QUESTIONS} questions in {took:?}");
}

#[cfg(feature = "embedded")]
#[tokio::test]
async fn embedded_the_answers_survive_and_nothing_is_claimed() {
    use corroborate::app::OpenStore;
    let folder = tempfile::tempdir().unwrap();
    let opened = OpenStore::embedded(folder.path()).await.unwrap();
    let process = of_store(opened.store.clone());
    assert_eq!(asks(&process, about("a"), found()).await, (found(), Miss));
    process.behind.close().await;
    let next = of_store(opened.store.clone());
    assert_eq!(asks(&next, about("a"), vec![]).await, (found(), HitShared));
    next.behind.close().await;
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
async fn quotas_of_windows_long_past_and_breakers_of_old_keys_are_cleaned_up() {
    let Some((url, [process])) = fleet::<1>().await else { return };
    let pool = PgPool::connect(&url).await.unwrap();
    let rows = "INSERT INTO provider_quota (provider, time_window, starts_at, used) VALUES
            ('brave', 'day', now() - interval '70 days', 1), ('brave', 'month', now() - interval '40 days', 1);
        INSERT INTO provider_schedule (provider, next_at) VALUES ('brave', now());
        INSERT INTO provider_breakers (provider, identity, kind, until, updated_at) VALUES
            ('brave', 'old', 'ready', NULL, now() - interval '100 days'),
            ('brave', 'new', 'ready', NULL, now() - interval '95 days'),
            ('gdelt', 'gone', 'ready', NULL, now() - interval '91 days'),
            ('newsapi', 'shut', 'disabled', now() + interval '1 day', now() - interval '91 days')";
    sqlx::raw_sql(rows).execute(&pool).await.unwrap();
    let now = SystemClock.now();
    assert_eq!(process.store.cleanup_preview(now).await.unwrap().provider_state, 3);
    assert_eq!(process.store.cleanup(now).await.unwrap().provider_state, 3);
    let left: String = sqlx::query_scalar("SELECT string_agg(identity, ' ' ORDER BY identity) FROM provider_breakers")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, "new shut", "the key in use keeps its breaker, and what is shut stays so");
}
