//! Items that are to be judged again.

use std::time::Duration;

use corroborate::domain::Reason;
use corroborate::domain::verdict::{Phase, Verdict};
use corroborate::store::{
    CommitOutcome, DueItem, JudgedBy, JudgingVersion, RejudgeLimits, RescoreMessages, RewriteOutcome, RunStart, Store,
};

use super::written::{Run, TEXT, URL, Written, commit, day, passage, write};

/// Far from what other promises write.
const LATE: i64 = 2_000;

fn basis(settings: &str, models: &str) -> JudgingVersion {
    JudgingVersion { settings: settings.to_owned(), models: models.to_owned() }
}

fn allowance(at_once: u32, per_hour: u32) -> RejudgeLimits {
    RejudgeLimits { at_once, per_hour, lease: Duration::from_mins(2) }
}

fn ids(due: &[DueItem]) -> Vec<&str> {
    due.iter().map(|one| one.item_id.as_str()).collect()
}

async fn judged(store: &Store, item: &str, at: i64) {
    let passages = vec![passage(URL, 0.9, 0.0)];
    write(store, Written { item, channel: None, verdict: Verdict::Supported, passages, now: day(at) }).await.unwrap();
}

pub(super) async fn the_oldest_promises_are_kept_first_and_only_so_many_in_an_hour(store: &Store) {
    judged(store, "due:1", LATE).await;
    assert_eq!(store.judge_by(&basis("a", "m"), day(LATE)).await.unwrap(), None, "there is nothing to compare with");
    assert_eq!(store.judge_by(&basis("a", "m"), day(LATE)).await.unwrap(), None, "nothing is different");
    assert_eq!(store.judge_by(&basis("b", "m"), day(LATE + 1)).await.unwrap(), Some(0), "it was judged before that");
    assert_eq!(store.judge_by(&basis("c", "m"), day(LATE)).await.unwrap(), Some(1));
    judged(store, "due:0", LATE).await;
    assert_eq!(store.judge_by(&basis("d", "m"), day(LATE)).await.unwrap(), Some(2));
    assert!(store.is_judged_by(&basis("d", "m")).await.unwrap());
    assert!(!store.is_judged_by(&basis("c", "m")).await.unwrap(), "a process of before leaves it to the others");
    assert!(
        store.take_due(false, &basis("c", "m"), allowance(5, 2)).await.unwrap().is_empty(),
        "even if it asked before"
    );

    let first = store.take_due(false, &basis("d", "m"), allowance(1, 2)).await.unwrap();
    assert_eq!(ids(&first), ["due:1"], "the oldest");
    assert_eq!(first[0].reason, Reason::Settings);
    let second = store.take_due(false, &basis("d", "m"), allowance(5, 2)).await.unwrap();
    assert_eq!(ids(&second), ["due:0"], "the other is taken");
    for one in first.iter().chain(&second) {
        store.settle_due(one).await.unwrap();
    }
    assert_eq!(store.judge_by(&basis("e", "m"), day(LATE)).await.unwrap(), Some(2));
    assert!(
        store.take_due(false, &basis("e", "m"), allowance(5, 2)).await.unwrap().is_empty(),
        "the hour's items are done"
    );
    assert_eq!(store.due_counts().await.unwrap(), [(Reason::Settings, 2)]);
}

pub(super) async fn what_comes_up_while_an_item_is_judged_makes_it_due_again(store: &Store) {
    let taken = store.take_due(false, &basis("e", "m"), allowance(5, 100)).await.unwrap();
    assert_eq!(ids(&taken), ["due:0", "due:1"], "as old as each other");
    assert_eq!(store.judge_by(&basis("f", "n"), day(LATE)).await.unwrap(), Some(4), "other models are asked as well");
    for one in &taken {
        store.settle_due(one).await.unwrap();
    }
    let again = store.take_due(false, &basis("f", "n"), allowance(5, 100)).await.unwrap();
    assert_eq!(ids(&again), ["due:0", "due:1"]);
    // A whole run that lacks nothing is what other models ask for; what follows from the store is looked at all the same.
    judged(store, "due:1", LATE).await;
    let asked = store.take_due(true, &basis("f", "n"), allowance(5, 100)).await.unwrap();
    assert_eq!((ids(&asked), asked[0].reason), (vec!["due:0"], Reason::Model));
    assert_eq!(store.due_counts().await.unwrap().iter().map(|(_, items)| items).sum::<i64>(), 3);

    // A whole run does not settle what comes up while it goes on: it asked by what was true before.
    let start = store.begin("due:0").await.unwrap();
    assert_eq!(store.judge_by(&basis("f", "o"), day(LATE)).await.unwrap(), Some(2), "other models once more");
    let run = Run { start: &start, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
    let passages = vec![passage(URL, 0.9, 0.0)];
    let written = Written { item: "due:0", channel: None, verdict: Verdict::Supported, passages, now: day(LATE) };
    assert_eq!(commit(store, run, written, &[URL]).await.unwrap(), CommitOutcome::Written);
    store.settle_due(&asked[0]).await.unwrap();
    assert_eq!(ids(&store.take_due(true, &basis("f", "o"), allowance(5, 100)).await.unwrap()), ["due:0", "due:1"]);

    // What grew too old meanwhile is not asked about, and uses up nothing of the hour.
    judged(store, "due:2", LATE + 5).await;
    assert_eq!(store.judge_by(&basis("f", "p"), day(LATE)).await.unwrap(), Some(3));
    assert_eq!(store.drop_outdated(day(LATE + 3)).await.unwrap(), 2);
    assert_eq!(ids(&store.take_due(true, &basis("f", "p"), allowance(5, 100)).await.unwrap()), ["due:2"]);

    assert!(store.rejudging_spent().await.unwrap().abs() < f64::EPSILON);
    store.add_rejudging_cost(0.25).await.unwrap();
    store.add_rejudging_cost(0.5).await.unwrap();
    assert!((store.rejudging_spent().await.unwrap() - 0.75).abs() < 1e-9);
}

/// What changed while it was judged was looked for before it was there.
pub(super) async fn a_result_written_late_is_due_at_once(store: &Store) {
    let in_force = basis("late", "late");
    store.judge_by(&in_force, day(LATE + 100)).await.unwrap();
    let version = store.domain_rules_version().await.unwrap();
    let of_now = JudgedBy { lists: Some(version), basis: Some(in_force.clone()) };
    let earlier = |settings, models| JudgedBy { basis: Some(basis(settings, models)), ..of_now.clone() };
    for (item, judged_by, expected) in [
        ("late:now", of_now.clone(), vec![]),
        ("late:command", JudgedBy::default(), vec![]),
        ("late:lists", JudgedBy { lists: Some(version - 1), ..of_now.clone() }, vec![Reason::DomainLists]),
        ("late:settings", earlier("early", "late"), vec![Reason::Settings]),
        ("late:models", earlier("late", "early"), vec![Reason::Model]),
        (
            "late:all",
            JudgedBy { lists: Some(version - 1), ..earlier("early", "early") },
            vec![Reason::DomainLists, Reason::Model],
        ),
    ] {
        let start = RunStart { judged_by, ..store.begin(item).await.unwrap() };
        let run = Run { start: &start, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
        let passages = vec![passage(URL, 0.9, 0.0)];
        let written = Written { item, channel: None, verdict: Verdict::Supported, passages, now: day(LATE + 100) };
        assert_eq!(commit(store, run, written, &[URL]).await.unwrap(), CommitOutcome::Written);
        let mut due = Vec::new();
        for asks in [false, true] {
            for one in store.take_due(asks, &in_force, allowance(200, 10_000)).await.unwrap() {
                store.settle_due(&one).await.unwrap();
                due.extend((one.item_id == item).then_some(one.reason));
            }
        }
        assert_eq!(due, expected, "{item}");
    }
}

/// An administrator's rescoring reads the lists once, and may go on for long.
pub(super) async fn what_is_judged_again_by_lists_of_before_is_due_again(store: &Store) {
    judged(store, "late:again", LATE + 100).await;
    let version = store.domain_rules_version().await.unwrap();
    for (lists, now_due) in [(version, 0), (version - 1, 1)] {
        let stored = store.stored_run("late:again").await.unwrap().unwrap();
        let judged_by = JudgedBy { lists: Some(lists), basis: None };
        let told = RescoreMessages { why: Reason::Settings, outbox: &[], webhooks: &[], judged_by: &judged_by };
        let now = day(LATE + 101) + chrono::TimeDelta::seconds(now_due);
        let written = store.write_rejudged(&stored.result, stored.evaluated_at, &[], told, now, false).await.unwrap();
        assert_eq!(written, RewriteOutcome::Written);
        let due = store.due_counts().await.unwrap();
        let of_lists = due.iter().find(|(reason, _)| *reason == Reason::DomainLists).map_or(0, |(_, items)| *items);
        assert_eq!(of_lists, now_due, "{due:?}");
    }
    for one in store.take_due(false, &basis("late", "late"), allowance(200, 10_000)).await.unwrap() {
        store.settle_due(&one).await.unwrap();
    }
}
