//! Two runs on one item at the same time, in whatever order they end.

use chrono::{DateTime, TimeDelta, Utc};
use corroborate::domain::verdict::{Phase, Verdict};
use corroborate::store::{CommitOutcome, RunStart, Store};
use sqlx::{Connection as _, Executor as _, PgConnection};

use super::written::{Run, Written, commit, day};
use crate::support::database;

async fn end(store: &Store, item: &str, run: Run<'_>, number: i64) -> CommitOutcome {
    end_at(store, item, run, day(number)).await
}

async fn end_at(store: &Store, item: &str, run: Run<'_>, now: DateTime<Utc>) -> CommitOutcome {
    let written = Written { item, channel: None, verdict: Verdict::NotEnoughEvidence, passages: vec![], now };
    commit(store, run, written, &[]).await.unwrap()
}

/// What a run makes: its text, how far it went, and whether something was missing.
type Made = (&'static str, Phase, bool);

fn run(start: &RunStart, (text, phase, degraded): Made) -> Run<'_> {
    Run { start, text, phase, degraded: if degraded { &["no_provider"] } else { &[] }, sent_at: None }
}

/// Both begin, the one in `ends_last` after the other, or before it; then they end. Says whether the last one was written.
async fn raced(store: &Store, item: &str, ends_first: Made, ends_last: Made, began_last: bool) -> bool {
    let pending = store.outbox_state().await.unwrap().pending;
    let (earlier, later) = (store.begin(item).await.unwrap(), store.begin(item).await.unwrap());
    assert!(earlier.began_at < later.began_at);
    let (first, last) = if began_last { (earlier, later) } else { (later, earlier) };
    assert_eq!(end(store, item, run(&first, ends_first), 0).await, CommitOutcome::Written);
    let written = end(store, item, run(&last, ends_last), 1).await == CommitOutcome::Written;
    let stands = if written { ends_last } else { ends_first };
    let stored = store.item(item).await.unwrap().unwrap();
    assert_eq!(stored.result.enriched_at, day(i64::from(written)), "{item}");
    assert_eq!(stored.result.degraded.is_empty(), !stands.2, "{item}");
    let done = store.begin(item).await.unwrap().done;
    assert!(
        done.iter().any(|row| row.is_current && row.phase == stands.1 && row.degraded == stands.2),
        "{item}: {done:?}"
    );
    let now = store.outbox_state().await.unwrap().pending;
    assert_eq!(now - pending, 1 + u64::from(written), "{item}: what was not written is not published");
    written
}

pub(super) async fn the_later_text_and_the_richer_result_stand(store: &Store) {
    let (old, new) = ("The bridge opens.", "The bridge opened at noon.");
    let (one, two) = (Phase::One, Phase::Two);
    for (what, ends_first, ends_last, began_last, written) in [
        ("an edit, then the old text", (new, two, false), (old, two, false), false, false),
        ("the old text, then its edit", (old, two, false), (new, two, false), true, true),
        ("an edit in Phase 1, then the old text in Phase 2", (new, one, false), (old, two, false), false, false),
        ("the old text in Phase 2, then its edit in Phase 1", (old, two, false), (new, one, false), true, true),
        ("an edit that lacks something, then the old text", (new, two, true), (old, two, false), false, false),
        ("Phase 2, then a Phase 1 that began before it", (old, two, false), (old, one, false), false, false),
        ("Phase 2, then a Phase 1 that began after it", (old, two, false), (old, one, false), true, false),
        ("Phase 2 that lacks something, then Phase 1", (old, two, true), (old, one, false), true, false),
        ("Phase 1, then a Phase 2 that began before it", (old, one, false), (old, two, false), false, true),
        ("Phase 1, then a Phase 2 that lacks something", (old, one, false), (old, two, true), true, true),
        ("the same twice", (old, two, false), (old, two, false), true, false),
        ("complete, then one that lacks something", (old, two, false), (old, two, true), true, false),
        ("one that lacks something, then complete", (old, two, true), (old, two, false), false, true),
        ("two that lack something", (old, two, true), (old, two, true), true, false),
    ] {
        assert_eq!(raced(store, what, ends_first, ends_last, began_last).await, written, "{what}");
    }
    // Whoever began when the result was there has decided to do it again.
    let start = store.begin("the same twice").await.unwrap();
    assert_eq!(end(store, "the same twice", run(&start, (old, two, false)), 2).await, CommitOutcome::Written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_text_that_was_put_off_does_not_replace_its_edit() {
    let Some(database) = database::database().await else { return };
    let store = &database.store;
    let (old, new) = (("The bridge opens.", Phase::Two, false), ("The bridge opened at noon.", Phase::Two, false));
    for (item, old_sent, new_sent, expected) in [
        ("sent before its edit", Some(day(0)), Some(day(1)), CommitOutcome::Superseded),
        ("sent in the same second", Some(day(0)), Some(day(0)), CommitOutcome::Written),
        ("sent at an unknown time", None, Some(day(1)), CommitOutcome::Written),
        ("edited at an unknown time", Some(day(0)), None, CommitOutcome::Written),
    ] {
        // The edit begins and ends while the old text waits for its next try.
        let edit = store.begin(item).await.unwrap();
        let edited = end(store, item, Run { sent_at: new_sent, ..run(&edit, new) }, 1).await;
        assert_eq!(edited, CommitOutcome::Written, "{item}");
        let back = store.begin(item).await.unwrap();
        let again = end(store, item, Run { sent_at: old_sent, ..run(&back, old) }, 2).await;
        assert_eq!(again, expected, "{item}");
    }
    // An edit that is sent later is written, though it was put off and its work began first.
    let early = store.begin("late edit").await.unwrap();
    let late = store.begin("late edit").await.unwrap();
    let first = end(store, "late edit", Run { sent_at: Some(day(0)), ..run(&late, old) }, 1).await;
    let last = end(store, "late edit", Run { sent_at: Some(day(1)), ..run(&early, new) }, 2).await;
    assert_eq!((first, last), (CommitOutcome::Written, CommitOutcome::Written));
    // What is written is dated after what it replaces, since readers keep what is dated latest.
    let back = store.begin("late edit").await.unwrap();
    let again = || Run { sent_at: Some(day(2)), ..run(&back, old) };
    assert_eq!(end(store, "late edit", again(), 1).await, CommitOutcome::TooEarly(day(2)));
    assert_eq!(end(store, "late edit", again(), 3).await, CommitOutcome::Written);
    // Messages are dated to the millisecond: within one of them readers could not say which is the later.
    let moment = |microseconds| day(3) + TimeDelta::microseconds(microseconds);
    let start = store.begin("late edit").await.unwrap();
    let again = || Run { sent_at: Some(day(3)), ..run(&start, old) };
    assert_eq!(end_at(store, "late edit", again(), moment(400)).await, CommitOutcome::TooEarly(day(3)));
    assert_eq!(end_at(store, "late edit", again(), moment(1000)).await, CommitOutcome::Written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_an_older_program_writes_bears_no_mark_of_the_one_before() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let start = store.begin("a").await.unwrap();
    let marked = Run { sent_at: Some(day(0)), ..run(&start, ("The bridge opens.", Phase::Two, false)) };
    assert_eq!(end(&store, "a", marked, 0).await, CommitOutcome::Written);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for (update, stays) in
        [("UPDATE items SET evaluated_at = now()", true), ("UPDATE items SET content_hash = 'of another text'", false)]
    {
        connection.execute(update).await.unwrap();
        let marks: (Option<String>, Option<DateTime<Utc>>, Option<DateTime<Utc>>) =
            sqlx::query_as("SELECT phase, began_at, sent_at FROM items").fetch_one(&mut connection).await.unwrap();
        assert_eq!([marks.0.is_some(), marks.1.is_some(), marks.2.is_some()], [stays; 3], "{update}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_end_at_once_one_is_written() {
    let Some(database) = database::database().await else { return };
    let store = &database.store;
    for round in 0..20 {
        let item = format!("round {round}");
        let start = store.begin(&item).await.unwrap();
        let ends = (0..4).map(|number| end(store, &item, run(&start, ("It opened.", Phase::Two, false)), number));
        let written = futures::future::join_all(ends).await;
        assert_eq!(written.iter().filter(|end| **end == CommitOutcome::Written).count(), 1, "{written:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_item_and_its_edit_that_end_at_once_are_dated_in_the_order_in_which_they_stand() {
    let Some(database) = database::database().await else { return };
    let store = &database.store;
    let (old, new) = (("The bridge opens.", Phase::Two, false), ("The bridge opened at noon.", Phase::Two, false));
    for round in 0..40 {
        let item = format!("round {round}");
        let (earlier, later) = (store.begin(&item).await.unwrap(), store.begin(&item).await.unwrap());
        // There is no row yet that one of them could lock.
        let (edited, first) =
            tokio::join!(end(store, &item, run(&later, new), 1), end(store, &item, run(&earlier, old), 2));
        let is_in_order = match (edited, first) {
            (CommitOutcome::TooEarly(last), CommitOutcome::Written) => last == day(2),
            (CommitOutcome::Written, CommitOutcome::Superseded) => true,
            _ => false,
        };
        assert!(is_in_order, "{item}: the edit {edited:?}, the old text {first:?}");
    }
}
