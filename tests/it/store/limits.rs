//! What validation accepts, the store accepts: texts at their limits that do not compress, odd dates, every script.
//!
//! An index row of Postgres holds 2,704 bytes after compression, so only random texts come near to it.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, TimeZone as _, Utc};
use corroborate::cache::{AnswerCache, AnswerCacheSettings, Form, Question, SharedLevel};
use corroborate::domain::evidence::{JudgedPassage, MatchedReview, Review};
use corroborate::domain::limits::{
    MAX_CLUSTER_MEMBERS, MAX_ENTITIES, MAX_ENTITY_BYTES, MAX_ENTITY_TYPE_BYTES, MAX_ID_BYTES, MAX_LANGUAGE_BYTES,
    MAX_SOURCES, MAX_URL_BYTES,
};
use corroborate::domain::verdict::{Phase, RatingClass, Relation, Verdict};
use corroborate::domain::{Clock as _, Item, SystemClock, ids};
use corroborate::outbound::{AskError, NoObserver};
use corroborate::store::{
    AnswerKey, ClaimCommit, Commit, CommitOutcome, EvidenceClaimRow, FeedEntryRow, FeedReading, OutboxDraft, Source,
    Store, WantedFeeds,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::time::Instant;

use super::written::{EMBEDDER, claim, passage, result, source, vector};
use crate::support::database;

/// Accepted items that are written.
const CASES: usize = 48;

async fn fresh() -> Option<(Store, PgPool)> {
    let url = database::empty_database().await?;
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    Some((store, PgPool::connect(&url).await.unwrap()))
}

/// Random text of at most so many bytes, and nearly as many, in one script or a mixture.
fn text(bytes: usize) -> impl Strategy<Value = String> {
    let script = prop_oneof![
        Just('!'..='~'),
        Just('\u{1}'..='\u{7f}'),
        Just('\u{400}'..='\u{4ff}'),
        Just('\u{600}'..='\u{6ff}'),
        Just('\u{900}'..='\u{97f}'),
        Just('\u{4e00}'..='\u{9fff}'),
        Just('\u{ac00}'..='\u{d7a3}'),
        Just('\u{1f300}'..='\u{1faff}'),
        Just('\u{1}'..='\u{10ffff}'),
    ];
    script
        .prop_flat_map(move |script| {
            proptest::collection::vec(proptest::char::range(*script.start(), *script.end()), bytes)
        })
        .prop_map(move |characters| {
            let mut text = String::new();
            for character in characters {
                if text.len() + character.len_utf8() > bytes {
                    break;
                }
                text.push(character);
            }
            text
        })
}

/// At its limit, short, or absent.
fn field(limit: usize) -> impl Strategy<Value = Value> {
    prop_oneof![4 => text(limit).prop_map(Value::String), 1 => text(8).prop_map(Value::String), 1 => Just(Value::Null)]
}

fn date() -> impl Strategy<Value = Value> {
    let known = [
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
        "2026-02-29T00:00:00Z",
        "1582-10-10T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "+010000-01-01T00:00:00Z",
        "-0044-03-15T12:00:00Z",
        "+262142-12-31T23:59:59Z",
    ];
    prop_oneof![proptest::sample::select(known.to_vec()).prop_map(|date| json!(date)), Just(Value::Null)]
}

/// An item whose texts are at their limits; some are refused.
fn item() -> impl Strategy<Value = Value> {
    let texts = (text(512), field(512), field(512), field(35), field(2_048), field(4_000), text(3_000));
    let entity = (text(512), field(64)).prop_map(|(text, kind)| json!({ "text": text, "type": kind }));
    let member = (text(512), field(512)).prop_map(|(channel, id)| json!({ "channel": channel, "item_id": id }));
    let source =
        (text(2_000), field(2_048)).prop_map(|(text, url)| json!({ "type": "link_context", "text": text, "url": url }));
    let lists = (
        proptest::collection::vec(entity, 0..4),
        proptest::collection::vec(member, 0..4),
        proptest::collection::vec(source, 0..3),
    );
    (texts, lists, date()).prop_map(|(texts, (entities, members, sources), date)| {
        let (id, channel, cluster, language, url, title, text) = texts;
        json!({
            "schema": 1, "item_id": id, "channel": channel, "cluster_id": cluster, "language": language, "url": url,
            "title": title, "text": text, "entities": entities, "cluster_members": members, "sources": sources,
            "published_at": date, "options": { "additional_context": title },
        })
    })
}

/// What providers and pages said of it: addresses at their limit, dates from all ages.
fn found() -> impl Strategy<Value = (String, String, String, i32)> {
    let years = prop_oneof![Just(-5), Just(0), Just(1), Just(2026), Just(9_999), Just(10_000), Just(262_000)];
    (url(), url(), text(6_000), years)
}

fn url() -> impl Strategy<Value = String> {
    let path = proptest::collection::vec(proptest::char::range('!', '~'), MAX_URL_BYTES);
    (path, any::<bool>()).prop_map(|(path, long_host)| {
        let path: String = path.into_iter().filter(char::is_ascii_alphanumeric).collect();
        let mut url =
            if long_host { format!("https://{path}.example/{path}") } else { format!("https://a.example/{path}") };
        url.extend(std::iter::repeat_n('x', MAX_URL_BYTES.saturating_sub(url.len())));
        url.truncate(MAX_URL_BYTES);
        url
    })
}

/// Writes an item as the pipeline does, with a page, a passage, a fact-check and a stored sentence.
async fn write(
    store: &Store,
    item: &Item,
    (page, reviewed, words, year): (String, String, String, i32),
) -> CommitOutcome {
    let now = SystemClock.now();
    let at = Utc.with_ymd_and_hms(year, 6, 1, 0, 0, 0).single();
    let mut claim = claim(&item.item_id, Verdict::Supported);
    claim.claim_id = ids::claim_id(&item.item_id, &words);
    claim.text.clone_from(&words);
    let mut result = result(&item.item_id, vec![claim], now);
    result.language.clone_from(&item.language);
    let passages = [JudgedPassage { passage: words.clone(), published_at: at, ..passage(&page, 0.9, 0.0) }];
    let review = Review {
        claim: words.clone(),
        claimant: Some(words.clone()),
        url: reviewed.clone(),
        publisher: words.clone(),
        title: None,
        rating: "False".to_owned(),
        language: item.language.clone(),
        review_date: at,
    };
    let reviews =
        [MatchedReview { review, relation: Relation::Related, rating_class: RatingClass::False, similarity: 0.5 }];
    let sentence = EvidenceClaimRow {
        evidence_id: ids::evidence_id(&page),
        claim_text: words.clone(),
        embedding: vector(usize::try_from(year.unsigned_abs()).unwrap()),
        entities: vec![words.clone()],
        relevance: 0.9,
    };
    let start = store.begin(&item.item_id).await.unwrap();
    let commit = Commit {
        item,
        sent: item,
        text: item.text.as_deref().unwrap(),
        phase: Phase::Two,
        content_hash: &item.content_hash(),
        start: &start,
        sent_at: at,
        message_id: Some(&words),
        why: None,
        embedding: &vector(1),
        result: &result,
        claims: vec![ClaimCommit {
            claim: &result.claims[0],
            claim_date: at,
            confidence_threshold: 0.85,
            searched: true,
            auto_correct: true,
            passages: &passages,
            reviews: &reviews,
        }],
        sources: vec![Source {
            published_at: at,
            final_url: Some(reviewed),
            title: Some(words.clone()),
            ..source(&page, now)
        }],
        evidence_claims: vec![sentence],
        uses: vec![],
        embedder: EMBEDDER,
        same_sentence: 0.98,
        similar_item: 0.9,
        outbox: vec![OutboxDraft {
            exchange: Some("results".to_owned()),
            routing_key: "item.enriched".to_owned(),
            body: serde_json::to_string(&result).unwrap(),
            correlation_id: Some(words.clone()),
            message_id: item.item_id.clone().into(),
        }],
        webhooks: vec![],
        keep: TimeDelta::days(30),
        now,
    };
    store.commit(&commit).await.unwrap_or_else(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        panic!("{error}: {cause:?} for {}", serde_json::to_string(item).unwrap())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_is_stored_when_validation_accepts_it() {
    let Some((store, rows)) = fresh().await else { return };
    let mut runner = TestRunner::deterministic();
    let (items, found) = (item(), found());
    let (mut accepted, mut refused) = (0, 0);
    while accepted < CASES {
        let value = items.new_tree(&mut runner).unwrap().current();
        let found = found.new_tree(&mut runner).unwrap().current();
        let Ok(item) = Item::parse(&serde_json::to_vec(&value).unwrap()) else {
            refused += 1;
            assert!(refused < CASES * 10, "{accepted} accepted, {refused} refused");
            continue;
        };
        assert_eq!(write(&store, &item, found).await, CommitOutcome::Written);
        accepted += 1;
        // Lists, searches and clean-up read the same indexes.
        assert!(store.item(&item.item_id).await.unwrap().is_some());
    }
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM items").fetch_one(&rows).await.unwrap();
    assert_eq!(usize::try_from(stored).unwrap(), CASES, "{refused} refused");
    let pages: i64 = sqlx::query_scalar("SELECT count(*) FROM item_fact_checks WHERE octet_length(url) = $1")
        .bind(i32::try_from(MAX_URL_BYTES).unwrap())
        .fetch_one(&rows)
        .await
        .unwrap();
    assert_eq!(usize::try_from(pages).unwrap(), CASES);
}

/// Random letters, which take one byte in a message and do not compress.
fn letters(state: &mut u64, bytes: usize) -> String {
    (0..bytes)
        .map(|_| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + u8::try_from((*state >> 33) % 26).unwrap())
        })
        .collect()
}

/// An item with as many entries as are allowed, and with texts at their limits as far as a message of 1 MiB has room.
fn fullest_item(state: &mut u64) -> Value {
    let members: Vec<Value> = (0..MAX_CLUSTER_MEMBERS)
        .map(|place| {
            let bytes = if place == 0 { MAX_ID_BYTES } else { 128 };
            json!({ "channel": letters(state, MAX_ID_BYTES), "item_id": letters(state, bytes) })
        })
        .collect();
    let entities: Vec<Value> = (0..MAX_ENTITIES)
        .map(|_| json!({ "text": letters(state, MAX_ENTITY_BYTES), "type": letters(state, MAX_ENTITY_TYPE_BYTES) }))
        .collect();
    let sources: Vec<Value> = (0..MAX_SOURCES)
        .map(|_| json!({ "type": "link_context", "text": letters(state, 100), "url": letters(state, MAX_URL_BYTES) }))
        .collect();
    json!({
        "schema": 1, "item_id": letters(state, MAX_ID_BYTES), "channel": letters(state, MAX_ID_BYTES),
        "cluster_id": letters(state, MAX_ID_BYTES), "language": letters(state, MAX_LANGUAGE_BYTES),
        "url": letters(state, MAX_URL_BYTES), "title": letters(state, 4_000), "text": letters(state, 3_000),
        "entities": entities, "cluster_members": members, "sources": sources,
        "published_at": "9999-12-31T23:59:59.999999Z",
    })
}

#[tokio::test]
async fn item_is_stored_when_all_its_lists_are_full() {
    let Some((store, rows)) = fresh().await else { return };
    let mut state = 1;
    let item = Item::parse(&serde_json::to_vec(&fullest_item(&mut state)).unwrap()).unwrap();
    let start = "https://a.example/";
    let page = format!("{start}{}", letters(&mut state, MAX_URL_BYTES - start.len()));
    let reviewed = format!("{start}{}", letters(&mut state, MAX_URL_BYTES - start.len()));
    let found = (page, reviewed, letters(&mut state, 6_000), 2026);
    assert_eq!(write(&store, &item, found).await, CommitOutcome::Written);
    assert!(store.item(&item.item_id).await.unwrap().is_some());
    let members: i32 =
        sqlx::query_scalar("SELECT jsonb_array_length(cluster_members) FROM items").fetch_one(&rows).await.unwrap();
    assert_eq!(usize::try_from(members).unwrap(), MAX_CLUSTER_MEMBERS);
}

#[tokio::test]
async fn page_url_is_unique_at_any_length() {
    let Some((store, rows)) = fresh().await else { return };
    let mut runner = TestRunner::deterministic();
    let long = format!("https://a.example/{}", text(6_000).new_tree(&mut runner).unwrap().current().replace('\0', ""));
    let insert = "INSERT INTO evidence_sources (id, url, domain, source_type, fetched_at, expires_at)
        VALUES ($1, $2, 'a.example', 'news', now(), now() + interval '1 day')";
    sqlx::query(insert).bind("ev_1").bind(&long).execute(&rows).await.unwrap();
    let again = sqlx::query(insert).bind("ev_2").bind(&long).execute(&rows).await.unwrap_err();
    assert_eq!(
        again.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref(),
        Some("23P01"),
        "{again}"
    );
    let known = store.sources_by_url(std::slice::from_ref(&long), SystemClock.now(), TimeDelta::zero()).await.unwrap();
    assert_eq!(known.len(), 1);
}

fn entry(url: &str, words: &str, published_at: Option<DateTime<Utc>>) -> FeedEntryRow {
    FeedEntryRow {
        url: url.to_owned(),
        host: "a.example".to_owned(),
        title: words.to_owned(),
        summary: words.to_owned(),
        language: Some("en".to_owned()),
        published_at,
        stems: words.split_whitespace().map(|word| word.chars().take(64).collect()).collect(),
        strong: vec![],
    }
}

#[tokio::test]
async fn feed_entries_are_kept_when_one_of_them_is_refused() {
    let Some((store, rows)) = fresh().await else { return };
    let mut runner = TestRunner::deterministic();
    let now = SystemClock.now();
    let feed = "https://a.example/rss".to_owned();
    let wanted = WantedFeeds { urls: vec![feed.clone()], sites: Vec::new() };
    store.add_feeds(&[(feed.clone(), "a.example".to_owned())], now).await.unwrap();
    let claim = async || store.claim_feeds(&wanted, now, now + TimeDelta::minutes(3), 8).await.unwrap().len();
    assert_eq!(claim().await, 1);
    let addresses = url();
    let mut entries: Vec<FeedEntryRow> = [Some(-5), Some(0), Some(10_000), Some(2026), None]
        .map(|year| {
            let address = addresses.new_tree(&mut runner).unwrap().current();
            let words = text(2_000).new_tree(&mut runner).unwrap().current();
            entry(&address, &words, year.and_then(|year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).single()))
        })
        .to_vec();
    let too_long = text(6_000).new_tree(&mut runner).unwrap().current();
    entries.insert(2, entry(&format!("https://a.example/{too_long}"), "A title", None));
    let next_poll_at = now + TimeDelta::minutes(15);
    let reading = FeedReading { url: feed, title: Some("a\0b".to_owned()), next_poll_at, ..FeedReading::default() };
    store.finish_feed(&reading, &entries, now).await.unwrap();
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM feed_entries").fetch_one(&rows).await.unwrap();
    assert_eq!(kept, 5);
    assert_eq!(claim().await, 0, "the feed was read and waits for its next time");
}

#[tokio::test]
async fn fact_check_answer_is_kept_when_its_claim_is_longer_than_an_index_row() {
    let Some((store, rows)) = fresh().await else { return };
    let mut runner = TestRunner::deterministic();
    for bytes in [1_990, 2_700, 9_000] {
        let claim = text(bytes).new_tree(&mut runner).unwrap().current();
        let hash = ids::question_hash(&claim);
        let key = AnswerKey { hash: &hash, provider: "google_factcheck", claim: Some(&claim) };
        store.keep_answer(key, &json!([bytes]), Duration::from_hours(1)).await.unwrap();
        let cached = store.cached_answer(key).await.unwrap();
        assert!(cached.is_some_and(|cached| cached.answer == json!([bytes])), "{bytes}");
    }
    let indexed: i64 = sqlx::query_scalar("SELECT count(*) FROM fact_check_cache").fetch_one(&rows).await.unwrap();
    assert_eq!(indexed, 1, "the others are kept by the hash of the question");
}

#[tokio::test]
async fn answers_are_shared_when_another_one_is_refused() {
    let Some((store, _rows)) = fresh().await else { return };
    let mut runner = TestRunner::deterministic();
    let form = Form { write: |word: &String| Ok(Some(json!(word))), read: |value| serde_json::from_value(value) };
    let level = SharedLevel::new(store.clone(), form);
    let settings = AnswerCacheSettings::default();
    let cache = AnswerCache::new("search", settings, |_: &String| false, Some(level), std::sync::Arc::new(NoObserver));
    let until = Instant::now() + Duration::from_secs(10);
    // No provider has such a name; it is part of an index key.
    let refused: &'static str = Box::leak(text(6_000).new_tree(&mut runner).unwrap().current().into_boxed_str());
    for (provider, claim) in [("gdelt", None), (refused, Some("a claim")), ("brave", None)] {
        let key = ids::question_hash(provider);
        let question = Question { provider, key: &key, claim, shared: true, until, keep_at_least: Duration::ZERO };
        cache.get_or_ask(&question, || async { Ok::<_, AskError>("found".to_owned()) }).await.unwrap();
    }
    for provider in ["gdelt", "brave"] {
        let hash = ids::question_hash(&ids::question_hash(provider));
        let key = AnswerKey { hash: &hash, provider, claim: None };
        assert!(store.cached_answer(key).await.unwrap().is_some(), "{provider}");
    }
}
