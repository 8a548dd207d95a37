//! The store's promises, on the real server and on the embedded one alike.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use chrono::TimeDelta;
use corroborate::broker::{DeadBody, DeadSelection, PublishReport, Queue as _, QueueName, Settlement};
use corroborate::domain::clock::FixedClock;
use corroborate::domain::rules::{DomainList, DomainRule};
use corroborate::domain::verdict::{Phase, SourceType, Tier, Verdict};
use corroborate::domain::{Clock as _, SystemClock};
use corroborate::store::{
    CleanupReport, CommitOutcome, EvidenceIndex as _, FeedSearch, ItemFilter, NearestQuery, OutboxBatch, OutboxDraft,
    OutboxState, Store, StoreError, TableQueue, UsageDelta, WantedFeeds,
};

use self::written::{
    EMBEDDER, Run, TEXT, URL, Written, claim, commit, commit_for, day, passage, result, vector, write, write_with,
};
use crate::support::database;

mod clocks;
mod due;
mod limits;
mod memory;
mod near;
mod parked;
mod sessions;
mod silence;
mod superseded;
mod written;

/// Every promise that needs no second process, in an order in which they do not disturb each other.
async fn promises(store: &Store) {
    a_verdict_needs_a_passage_of_its_stance(store).await;
    a_result_comes_back_as_it_was_written(store).await;
    evidence_stays_with_its_claim(store).await;
    a_sentence_said_twice_is_stored_once(store).await;
    similar_items_of_other_channels_are_found(store).await;
    lists_are_paged_and_narrowed(store).await;
    a_batch_of_messages_is_claimed_once_and_holds_no_connection(store).await;
    a_refused_message_waits_by_itself(store).await;
    domain_rules_are_recorded_and_installed_once(store).await;
    usage_adds_up(store).await;
    what_several_pages_say_is_known_of_all_of_them_while_they_last(store).await;
    clean_up_takes_what_expired_and_nothing_else(store).await;
    a_message_leaves_the_table_queue_only_when_it_is_settled(store).await;
    superseded::the_later_text_and_the_richer_result_stand(store).await;
    words_are_found_among_the_signs_of_their_typesetting(store).await;
    due::a_result_is_due_once_when_it_was_judged_with_something_else(store).await;
    due::what_comes_up_while_an_item_is_judged_makes_it_due_again(store).await;
    due::a_result_by_earlier_lists_is_due_and_replaces_no_later_one(store).await;
    sessions::sessions_end_when_they_are_signed_out_or_their_token_is_revoked(store).await;
}

async fn a_verdict_needs_a_passage_of_its_stance(store: &Store) {
    for (verdict, passages) in [
        (Verdict::Supported, vec![]),
        (Verdict::Refuted, vec![passage(URL, 0.9, 0.0)]),
        (Verdict::Contested, vec![passage(URL, 0.9, 0.0)]),
        (Verdict::Outdated, vec![]),
        (Verdict::Misleading, vec![passage(URL, 0.1, 0.1)]),
    ] {
        let written = Written { item: "bare", channel: None, verdict, passages, now: day(0) };
        let refused = write(store, written).await;
        assert!(matches!(refused, Err(StoreError::NoEvidence { .. })), "{verdict}: {refused:?}");
    }
    assert!(store.item("bare").await.unwrap().is_none(), "a refused result leaves nothing behind");
    let silent =
        Written { item: "silent", channel: None, verdict: Verdict::NotEnoughEvidence, passages: vec![], now: day(0) };
    write(store, silent).await.unwrap();
}

async fn a_result_comes_back_as_it_was_written(store: &Store) {
    let passages = vec![passage(URL, 0.9, 0.0)];
    let written = Written { item: "tg:a:1", channel: Some("@a"), verdict: Verdict::Supported, passages, now: day(0) };
    write(store, written).await.unwrap();
    let stored = store.item("tg:a:1").await.unwrap().unwrap();
    assert_eq!(stored.result, result("tg:a:1", vec![claim("tg:a:1", Verdict::Supported)], day(0)));
    let evidence = store.item_evidence("tg:a:1").await.unwrap();
    assert_eq!(evidence.iter().map(|one| one.stance.as_str()).collect::<Vec<_>>(), ["supports"]);
    let done = store.begin("tg:a:1").await.unwrap().done;
    assert_eq!((done.len(), done[0].message_id.as_deref()), (1, Some("m1")));
    let sources = store.sources_by_url(&[URL.to_owned()], day(0), TimeDelta::days(1)).await.unwrap();
    let read = (sources[0].raw_text.as_str(), sources[0].claim_reviews[0].rating.as_str());
    assert_eq!(read, ("The bridge opened. Twice.", "True"), "NUL cannot be stored and is dropped; reviews are kept");
    let expired = store.sources_by_url(&[URL.to_owned()], day(0), TimeDelta::days(40)).await.unwrap();
    assert!(expired.is_empty(), "an expired page is not reused");
}

async fn evidence_stays_with_its_claim(store: &Store) {
    // A second writing with a weaker verdict replaces the first one whole.
    let silent = Written {
        item: "tg:a:1",
        channel: Some("@a"),
        verdict: Verdict::NotEnoughEvidence,
        passages: vec![],
        now: day(1),
    };
    write(store, silent).await.unwrap();
    assert!(store.item_evidence("tg:a:1").await.unwrap().is_empty());
    let passages = vec![passage(URL, 0.9, 0.0)];
    let again = Written { item: "tg:a:1", channel: Some("@a"), verdict: Verdict::Supported, passages, now: day(1) };
    write(store, again).await.unwrap();
}

async fn a_sentence_said_twice_is_stored_once(store: &Store) {
    assert_eq!(store.evidence_claim_count().await.unwrap(), 1);
}

/// Addresses of the pages that say something near to `direction`.
async fn known(store: &Store, direction: usize, embedder: &str) -> Vec<String> {
    let embedding = vector(direction);
    let found = store.nearest(NearestQuery { embedding: &embedding, embedder, similarity: 0.5 }).await.unwrap();
    found.into_iter().map(|near| near.url).collect::<BTreeSet<_>>().into_iter().collect()
}

async fn what_several_pages_say_is_known_of_all_of_them_while_they_last(store: &Store) {
    let [echo, reprint] = ["https://example.net/bridge", "https://example.net/reprint"];
    assert_eq!(known(store, 1, EMBEDDER).await, [URL]);
    let passages = vec![passage(echo, 0.9, 0.0)];
    let again = Written { item: "echo", channel: None, verdict: Verdict::Supported, passages, now: day(1) };
    write_with(store, again, &[echo, reprint]).await.unwrap();
    assert_eq!(store.evidence_claim_count().await.unwrap(), 1, "the sentence is stored once");
    assert_eq!(known(store, 1, EMBEDDER).await, [echo, reprint, URL], "and known of all, those of one item too");
    assert!(known(store, 3, EMBEDDER).await.is_empty(), "another subject");
    assert!(known(store, 1, "another").await.is_empty(), "embeddings of two embedders are not compared");
}

async fn similar_items_of_other_channels_are_found(store: &Store) {
    let similar = store.similar_items(&vector(1), EMBEDDER, "b", "tg:b:1", day(0), 0.9, 10).await.unwrap();
    assert_eq!(similar.iter().map(|item| item.channel.as_str()).collect::<Vec<_>>(), ["@a"]);
    for (direction, channel, since, why) in
        [(1, "a", 0, "own channel"), (3, "b", 0, "another story"), (1, "b", 9, "too old")]
    {
        let found = store.similar_items(&vector(direction), EMBEDDER, channel, "x", day(since), 0.9, 10).await.unwrap();
        assert!(found.is_empty(), "{why}");
    }
}

async fn lists_are_paged_and_narrowed(store: &Store) {
    let first = store.items(&ItemFilter { limit: 1, ..ItemFilter::default() }).await.unwrap();
    assert_eq!(first.items[0].item_id, "tg:a:1");
    let rest = store.items(&ItemFilter { limit: 5, cursor: first.next, ..ItemFilter::default() }).await.unwrap();
    assert_eq!(rest.items.iter().map(|item| item.item_id.as_str()).collect::<Vec<_>>(), ["silent"]);
    assert_eq!(rest.next, None);
    let none = ItemFilter { limit: 5, q: Some("100%".into()), ..ItemFilter::default() };
    assert!(store.items(&none).await.unwrap().items.is_empty());
    for (typed, found) in
        [("bridge", 2), ("the bridge open", 2), ("BRIDGE", 2), ("open bridge", 0), ("ridge", 0), ("dg", 2)]
    {
        let told = ItemFilter { limit: 5, q: Some(typed.into()), ..ItemFilter::default() };
        let told = store.items(&told).await.unwrap().items.len();
        assert_eq!(told, found, "{typed}: as it is typed, from the beginning of a word of three letters or more");
    }
    let low = ItemFilter { limit: 5, tier: Some(Tier::Low), ..ItemFilter::default() };
    assert!(store.items(&low).await.unwrap().items.is_empty());
    for (verdict, decisive, expected) in [
        (Some(Verdict::Supported), None, &["tg:a:1"][..]),
        (Some(Verdict::NotEnoughEvidence), None, &["silent"]),
        (Some(Verdict::Refuted), None, &[]),
        (None, Some(false), &["tg:a:1"]),
        (None, Some(true), &[]),
    ] {
        let of_verdict = ItemFilter { limit: 5, verdict, decisive, ..ItemFilter::default() };
        let found = store.items(&of_verdict).await.unwrap().items;
        assert_eq!(found.iter().map(|item| item.item_id.as_str()).collect::<Vec<_>>(), expected, "{of_verdict:?}");
    }
}

/// As the index of words takes a text apart: signs of Russian and Ukrainian typesetting belong to no word.
async fn words_are_found_among_the_signs_of_their_typesetting(store: &Store) {
    let text = "Власти: «Мост» через Днепр закрыт — движение…остановлено, „Міст“ №17 об’єднав ‘береги’.";
    let start = store.begin("signs").await.unwrap();
    let run = Run { start: &start, text, phase: Phase::Two, degraded: &[], sent_at: None };
    let written =
        Written { item: "signs", channel: None, verdict: Verdict::NotVerifiable, passages: Vec::new(), now: day(2) };
    assert_eq!(commit(store, run, written, &[]).await.unwrap(), CommitOutcome::Written);
    for typed in
        ["Мост", "«Мост»", "Днепр закрыт", "движение", "остановлено", "Міст", "об’єднав", "береги", "закрыт — движение"]
    {
        let filter = ItemFilter { limit: 5, q: Some(typed.into()), ..ItemFilter::default() };
        let found = store.items(&filter).await.unwrap().items;
        assert_eq!(found.iter().map(|item| item.item_id.as_str()).collect::<Vec<_>>(), ["signs"], "{typed}");
    }
}

async fn a_batch_of_messages_is_claimed_once_and_holds_no_connection(store: &Store) {
    let ids = |batch: &OutboxBatch| batch.messages.iter().map(|message| message.id).collect::<Vec<_>>();
    let waiting = store.outbox_state().await.unwrap().pending;
    let first = store.take_outbox(2).await.unwrap().unwrap();
    let taken = ids(&first);
    assert!(taken.is_sorted() && taken.len() == 2, "{taken:?}");
    // The embedded store has one connection: were it held, this would wait for ever.
    let rest = store.take_outbox(100).await.unwrap().unwrap();
    assert!(rest.messages.len() as u64 == waiting - 2 && !ids(&rest).contains(&taken[0]));
    assert!(store.take_outbox(100).await.unwrap().is_none(), "everything is claimed");
    first.confirm(&taken[..1]).await.unwrap();
    let again = store.take_outbox(100).await.unwrap().unwrap();
    assert_eq!(ids(&again), taken[1..], "what was not confirmed is offered again");
    again.confirm(&taken[1..]).await.unwrap();
    let all = ids(&rest);
    rest.confirm(&all).await.unwrap();
    assert_eq!(store.outbox_state().await.unwrap(), OutboxState::default());
}

async fn a_refused_message_waits_by_itself(store: &Store) {
    let draft = |key: &str| OutboxDraft {
        exchange: None,
        routing_key: key.to_owned(),
        body: "{}".to_owned(),
        correlation_id: None,
        message_id: key.into(),
    };
    store.write_outbox(&[draft("refused"), draft("behind")], day(0)).await.unwrap();
    let head = store.take_outbox(1).await.unwrap().unwrap();
    let refused = PublishReport { refused: vec![(head.messages[0].id, "full".to_owned())], ..PublishReport::default() };
    assert_eq!(head.settle(&refused).await.unwrap(), 0);
    let next = store.take_outbox(1).await.unwrap().unwrap();
    assert_eq!(next.messages[0].routing_key, "behind", "nothing waits behind it");
    next.confirm(&[next.messages[0].id]).await.unwrap();
    assert!(store.take_outbox(1).await.unwrap().is_none(), "it is not due");
    let waits = store.outbox_state().await.unwrap();
    assert_eq!((waits.pending, waits.parked), (1, 0));
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let again = store.take_outbox(9).await.unwrap().unwrap();
    let confirmed = PublishReport { confirmed: vec![again.messages[0].id], ..PublishReport::default() };
    assert_eq!((again.messages[0].routing_key.as_str(), again.settle(&confirmed).await.unwrap()), ("refused", 0));
    assert_eq!(store.outbox_state().await.unwrap(), OutboxState::default());
}

fn rule(domain: &str, list: DomainList) -> DomainRule {
    DomainRule { domain: domain.to_owned(), list, credibility: None, source_type: None, why: Some("tested".into()) }
}

async fn domain_rules_are_recorded_and_installed_once(store: &Store) {
    assert!(store.install_domain_rules(&[rule("bbc.com", DomainList::Allow)], day(0)).await.unwrap());
    store.remove_domain_rule("bbc.com", "admin", Some("test"), day(0), false).await.unwrap().unwrap();
    assert!(!store.install_domain_rules(&[rule("bbc.com", DomainList::Allow)], day(1)).await.unwrap());
    assert!(store.domain_rules().await.unwrap().0.is_empty(), "an admin's removal survives a restart");
    let (_, before) = store.domain_rules().await.unwrap();
    let dry = store.put_domain_rule(&rule("spam.example", DomainList::Deny), "admin", day(1), true).await.unwrap();
    assert_eq!(dry.action.as_str(), "add");
    assert!(store.domain_rules().await.unwrap().0.is_empty(), "a dry run changes nothing");
    store.put_domain_rule(&rule("spam.example", DomainList::Deny), "admin", day(1), false).await.unwrap();
    let (rules, after) = store.domain_rules().await.unwrap();
    assert_eq!(rules[0].domain, "spam.example");
    assert!(after > before);
    let same = DomainRule { why: None, ..rule("spam.example", DomainList::Deny) };
    let unchanged = store.put_domain_rule(&same, "admin", day(1), false).await.unwrap();
    assert_eq!((unchanged.action.as_str(), unchanged.changed.len()), ("unchanged", 0));
    assert_eq!(store.domain_rules().await.unwrap().1, after, "an edit that changes nothing is not recorded");
    let typed = DomainRule { source_type: Some(SourceType::Blog), ..same };
    let change = store.put_domain_rule(&typed, "admin", day(1), false).await.unwrap();
    assert_eq!((change.action.as_str(), change.changed), ("change", vec!["source_type"]));
    let (rules, later) = store.domain_rules().await.unwrap();
    assert_eq!((rules[0].why.as_deref(), rules[0].source_type), (Some("tested"), Some(SourceType::Blog)));
    assert!(later > after);
    assert!(store.remove_domain_rule("nobody.example", "admin", None, day(1), false).await.unwrap().is_none());
    assert_eq!(store.sources_under("example.org").await.unwrap(), 1);
}

async fn usage_adds_up(store: &Store) {
    for (requests, usd) in [(2, 0.5), (3, 0.25)] {
        store.add_usage(day(0), &[UsageDelta { provider: "brave", requests, errors: 1, usd }]).await.unwrap();
    }
    let usage = store.usage(day(0)).await.unwrap();
    assert_eq!((usage[0].calls_today, usage[0].errors_today), (5, 2));
    assert!((usage[0].usd_month - 0.75).abs() < 1e-9);
}

async fn clean_up_takes_what_expired_and_nothing_else(store: &Store) {
    // The items are a year old by the clocks of those who wrote them: what counts is how long they are kept.
    let now = SystemClock.now();
    let nothing = store.cleanup(now).await.unwrap();
    assert_eq!(nothing, CleanupReport { provider_state: 1, ..CleanupReport::default() }, "an hour of a year ago");
    let urls = [URL, "https://example.net/bridge", "https://example.net/reprint"];
    for item in ["silent", "tg:a:1", "echo"] {
        let start = store.begin(item).await.unwrap();
        let run = Run { start: &start, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
        let written =
            Written { item, channel: None, verdict: Verdict::NotEnoughEvidence, passages: vec![], now: day(100) };
        let committed = commit_for(store, run, written, &urls, TimeDelta::seconds(-1)).await.unwrap();
        assert_eq!(committed, CommitOutcome::Written);
    }
    assert_eq!(known(store, 1, EMBEDDER).await, Vec::<String>::new(), "what expired is not known");
    for ahead in [TimeDelta::days(60), TimeDelta::days(-60), TimeDelta::minutes(6)] {
        let refused = [store.cleanup_preview(now + ahead).await, store.cleanup(now + ahead).await];
        for refused in refused {
            assert!(matches!(refused, Err(StoreError::ClocksDiffer { .. })), "{ahead}: {refused:?}");
        }
    }
    assert!(store.item("tg:a:1").await.unwrap().is_some(), "a process whose clock is wrong removes nothing");
    let preview = store.cleanup_preview(now).await.unwrap();
    let cleaned = store.cleanup(now).await.unwrap();
    assert_eq!(preview, cleaned, "a dry run tells the truth");
    assert_eq!((cleaned.items, cleaned.evidence_sources, cleaned.evidence_claims), (3, 3, 1));
    assert!(store.item("tg:a:1").await.unwrap().is_none());
}

/// Pause of an idle table queue.
const POLL: Duration = Duration::from_millis(200);

async fn a_message_leaves_the_table_queue_only_when_it_is_settled(store: &Store) {
    let clock = Arc::new(FixedClock(day(0)));
    let queue = TableQueue::open(store.clone(), Arc::clone(&clock) as Arc<dyn corroborate::domain::Clock>, POLL);
    queue.publish_items(QueueName::Enrichment, &[b"one".to_vec(), b"two".to_vec()]).await.unwrap();
    let first = queue.receive().await.unwrap();
    assert_eq!(first.body, b"one");
    // What a dead process had taken is found again: at once in the embedded store, after its lease on a server.
    let later = Arc::new(FixedClock(day(1)));
    let next = TableQueue::open(store.clone(), later, POLL);
    let again = next.receive().await.unwrap();
    assert_eq!((again.body.as_slice(), again.attempts), (b"one".as_slice(), 0));
    assert!(again.redelivered && !first.redelivered, "its result may be committed already");
    assert!(first.message_id.is_some() && again.message_id == first.message_id, "by which that is known");
    // Whoever held it before has no say in it any more.
    queue
        .settle(&first, Settlement::Dead { label: "late".into(), error: "too late".into(), body: DeadBody::Whole })
        .await
        .unwrap();
    queue.settle(&first, Settlement::Ack).await.unwrap();
    assert_eq!(next.dead_list(10).await.unwrap(), []);
    next.settle(&again, Settlement::Requeue).await.unwrap();
    assert_eq!(next.depth().await.unwrap().enrichment, 2, "it is still there");
    let again = next.receive().await.unwrap();
    assert_eq!((again.body.as_slice(), again.attempts), (b"one".as_slice(), 0));
    next.settle(&again, Settlement::Ack).await.unwrap();
    let second = next.receive().await.unwrap();
    let retry = Settlement::Retry { error_label: "test", error: "later".into(), delay: Duration::ZERO };
    next.settle(&second, retry).await.unwrap();
    let second = next.receive().await.unwrap();
    assert_eq!((second.body.as_slice(), second.attempts), (b"two".as_slice(), 1));
    next.settle(&second, Settlement::Dead { label: "bad".into(), error: "never".into(), body: DeadBody::Whole })
        .await
        .unwrap();
    let dead = next.dead_list(10).await.unwrap();
    assert_eq!((dead.len(), dead[0].label.as_deref(), dead[0].excerpt.as_slice()), (1, Some("bad"), b"two".as_slice()));
    assert_eq!(next.dead_requeue(DeadSelection::All).await.unwrap(), 1);
    assert_eq!(next.depth().await.unwrap().enrichment, 1);
    let revived = next.receive().await.unwrap();
    next.settle(&revived, Settlement::Ack).await.unwrap();
    next.stop_receiving();
    assert!(next.receive().await.is_err(), "a stopped queue hands out nothing");
}

/// A burst about one event: every item of it finds the same pages in the same second.
#[tokio::test]
async fn items_that_read_the_same_new_page_at_once_are_all_stored() {
    let Some(database) = database::database().await else { return };
    for round in 0..60 {
        let url = format!("https://example.org/{round}");
        let items: Vec<String> = (0..4).map(|number| format!("{round}:{number}")).collect();
        let writes = items.iter().map(|item| {
            let passages = vec![passage(&url, 0.9, 0.0)];
            let written = Written { item, channel: None, verdict: Verdict::Supported, passages, now: day(0) };
            let (store, url) = (&database.store, &url);
            async move { write_with(store, written, &[url]).await }
        });
        for written in futures::future::join_all(writes).await {
            written.unwrap();
        }
    }
}

/// A server that restarts or fails over cuts every connection, and is there again.
#[tokio::test]
async fn what_is_looked_up_for_an_item_outlasts_a_cut_connection() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let known = known(&store, 1, EMBEDDER);
    assert_eq!(database::cut_off(&url, "evidence_claims", known).await, Vec::<String>::new());
    let stems = ["bridge".to_owned()];
    let search = FeedSearch { stems: &stems, language: None, around: None, limit: 5 };
    assert_eq!(database::cut_off(&url, "feed_entries", store.search_feed_entries(&search)).await.unwrap(), []);
    let (wanted, slack) = (WantedFeeds::default(), TimeDelta::hours(1));
    assert!(database::cut_off(&url, "feeds", store.feed_freshness(&wanted, day(1), slack)).await.is_ok());
}

#[tokio::test]
async fn the_store_keeps_its_promises_on_a_real_server() {
    let Some(database) = database::database().await else { return };
    promises(&database.store).await;
    let report = database.store.migrate().await.unwrap();
    assert_eq!(report.applied, 0, "a second migration changes nothing");
}

#[cfg(feature = "embedded")]
#[tokio::test]
async fn the_store_keeps_its_promises_embedded_and_across_a_restart() {
    use corroborate::app::OpenStore;
    let folder = tempfile::tempdir().unwrap();
    let opened = OpenStore::embedded(folder.path()).await.unwrap();
    promises(&opened.store).await;
    let kept =
        Written { item: "kept", channel: None, verdict: Verdict::NotEnoughEvidence, passages: vec![], now: day(0) };
    write(&opened.store, kept).await.unwrap();
    let busy = OpenStore::embedded(folder.path()).await;
    assert!(busy.is_err(), "the folder belongs to one process");
    opened.close().await.unwrap();
    let again = OpenStore::embedded(folder.path()).await.unwrap();
    assert!(again.store.item("kept").await.unwrap().is_some(), "what was written survives a restart");
    again.close().await.unwrap();
}

#[cfg(feature = "embedded")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_dropped_open_waits_for_nobody_and_frees_its_folder() {
    use corroborate::app::OpenStore;
    let folder = tempfile::tempdir().unwrap();
    let opened = OpenStore::embedded(folder.path()).await.unwrap();
    // As a cache or a task of its own holds it.
    let held = opened.store.clone();
    held.ping().await.unwrap();
    let (done, dropped) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let _inside = runtime.enter();
        drop(opened);
        done.send(()).unwrap();
    });
    assert!(dropped.recv_timeout(Duration::from_secs(5)).is_ok(), "the drop hangs");
    assert!(held.ping().await.is_err(), "nobody writes while the server ends");
    let since = std::time::Instant::now();
    let again = loop {
        match OpenStore::embedded(folder.path()).await {
            Ok(again) => break again,
            Err(error) => assert!(since.elapsed() < Duration::from_secs(20), "the folder is not free: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    again.close().await.unwrap();
}

#[tokio::test]
async fn a_database_that_refuses_is_said_at_once_with_the_reason() {
    use corroborate::store::{StoreError, StoreSettings};
    let settings = StoreSettings {
        pool_size: 1,
        acquire_timeout: Duration::from_secs(30),
        statement_timeout: None,
        schema: None,
        direct: None,
    };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://u:p@{nobody}/x");
    let since = std::time::Instant::now();
    let error = Store::connect(&url.into(), &settings).await.unwrap_err();
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    let StoreError::Unreachable(cause) = &error else { panic!("{error:?}") };
    assert!(cause.to_string().contains("refused"), "{cause}");
}

#[tokio::test]
async fn a_wrong_password_and_a_missing_database_say_what_to_do() {
    use corroborate::store::StoreSettings;
    let Some(server) = database::server_url() else { return };
    let settings = StoreSettings {
        pool_size: 1,
        acquire_timeout: Duration::from_secs(5),
        statement_timeout: None,
        schema: None,
        direct: None,
    };
    let mut missing = url::Url::parse(&server).unwrap();
    missing.set_path("nowhere");
    let error = Store::connect(&missing.as_str().to_owned().into(), &settings).await.unwrap_err();
    assert!(matches!(error, StoreError::NoDatabase(_)), "{error}");
    assert!(error.to_string().contains("createdb"), "{error}");
    let mut closed = url::Url::parse(&server).unwrap();
    closed.set_host(Some("127.0.0.1")).unwrap();
    closed.set_port(Some(1)).unwrap();
    closed.set_query(None);
    let error = Store::connect(&closed.as_str().to_owned().into(), &settings).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    let error = Store::connect(&"mysql://x".to_owned().into(), &settings).await.unwrap_err();
    assert!(matches!(error, StoreError::BadUrl), "{error}");
}
