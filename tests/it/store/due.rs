//! Items that are due for re-evaluation.

use std::time::Duration;

use corroborate::domain::Reason;
use corroborate::domain::rules::{DomainList, DomainRule};
use corroborate::domain::verdict::{Phase, Verdict};
use corroborate::store::{CommitOutcome, DueItem, JudgedWith, Rewrite, RewriteOutcome, RunStart, Store};

use super::written::{Run, TEXT, URL, Written, commit, day, passage};

/// Far from what other promises write.
const LATE: i64 = 2_000;
const LEASE: Duration = Duration::from_mins(2);

fn with(settings: &str, models: &str) -> JudgedWith {
    JudgedWith { settings: Some(settings.to_owned()), models: Some(models.to_owned()), lists: None }
}

fn ids(due: &[DueItem]) -> Vec<&str> {
    due.iter().map(|one| one.item_id.as_str()).collect()
}

async fn judged(store: &Store, item: &str, at: i64, judged_with: JudgedWith) {
    let start = RunStart { judged_with, ..store.begin(item).await.unwrap() };
    let run = Run { start: &start, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
    let passages = vec![passage(URL, 0.9, 0.0)];
    let written = Written { item, channel: None, verdict: Verdict::Supported, passages, now: day(at) };
    assert_eq!(commit(store, run, written, &[URL]).await.unwrap(), CommitOutcome::Written);
}

async fn noted(store: &Store, current: &JudgedWith, since: i64) -> u64 {
    store.note_outdated(current, day(since), day(since), 100).await.unwrap()
}

async fn taken(store: &Store, asks: bool) -> Vec<DueItem> {
    store.take_due(asks, 200, LEASE).await.unwrap()
}

pub(super) async fn a_result_is_due_once_when_it_was_judged_with_something_else(store: &Store) {
    for (item, at) in [("due:1", LATE), ("due:0", LATE + 1)] {
        judged(store, item, at, with("a", "m")).await;
    }
    judged(store, "due:command", LATE, JudgedWith::default()).await;
    assert_eq!(noted(store, &with("a", "m"), LATE).await, 0, "nothing is different");
    let other = with("b", "m");
    assert_eq!(noted(store, &other, LATE + 2).await, 0, "they were judged before that");
    assert_eq!(store.note_outdated(&other, day(LATE), day(LATE), 1).await.unwrap(), 1);
    assert_eq!(noted(store, &other, LATE).await, 1, "the rest");
    assert_eq!(noted(store, &other, LATE).await, 0);
    assert_eq!(store.due_counts().await.unwrap(), [(Reason::Settings, 2)]);

    let first = store.take_due(false, 1, LEASE).await.unwrap();
    assert_eq!(ids(&first), ["due:0"], "the latest result was noted first");
    assert_eq!(first[0].reason, Reason::Settings);
    let second = taken(store, false).await;
    assert_eq!(ids(&second), ["due:1"], "the other is taken");
    for one in first.iter().chain(&second) {
        store.settle_due(one, &JudgedWith { models: None, ..other.clone() }, None).await.unwrap();
    }
    assert_eq!(noted(store, &other, LATE).await, 0, "what stays as it is counts as judged with it");

    store.announce_judged_with(&other).await.unwrap();
    assert!(store.is_judged_with(&other).await.unwrap());
    assert!(!store.is_judged_with(&with("a", "m")).await.unwrap(), "a process of before leaves it to the others");
}

pub(super) async fn what_comes_up_while_an_item_is_judged_makes_it_due_again(store: &Store) {
    let other = with("c", "n");
    assert_eq!(noted(store, &other, LATE).await, 4, "other models are asked as well");
    let before = taken(store, false).await;
    let mut order = ids(&before);
    order.sort_unstable();
    assert_eq!(order, ["due:0", "due:1"]);
    let rule = |domain: &str| DomainRule {
        domain: domain.to_owned(),
        list: DomainList::Deny,
        credibility: None,
        source_type: None,
        why: None,
    };
    store.put_domain_rule(&rule("example.org"), "a test", day(0), false).await.unwrap();
    for one in &before {
        store.settle_due(one, &JudgedWith::default(), None).await.unwrap();
    }
    let after = taken(store, false).await;
    assert!(["due:0", "due:1", "due:command"].iter().all(|item| ids(&after).contains(item)), "{after:?}");
    assert!(after.iter().all(|one| one.reason == Reason::DomainLists), "{after:?}");
    for one in &after {
        store.settle_due(one, &JudgedWith::default(), None).await.unwrap();
    }
    let why = DomainRule { why: Some("another reason".to_owned()), ..rule("example.org") };
    store.put_domain_rule(&why, "a test", day(0), false).await.unwrap();
    store.put_domain_rule(&rule("elsewhere.example"), "a test", day(0), false).await.unwrap();
    assert!(taken(store, false).await.is_empty(), "neither concerns an item");
    for domain in ["example.org", "elsewhere.example"] {
        store.remove_domain_rule(domain, "a test", None, day(0), false).await.unwrap();
    }
    for one in taken(store, false).await {
        store.settle_due(&one, &JudgedWith::default(), None).await.unwrap();
    }

    // A whole run that lacks nothing is what other models ask for.
    judged(store, "due:1", LATE, other.clone()).await;
    let asked = taken(store, true).await;
    assert_eq!((ids(&asked), asked[0].reason), (vec!["due:0"], Reason::Model));
    // It does not settle what comes up while it goes on: it asked by what was true before.
    let start = RunStart { judged_with: other, ..store.begin("due:0").await.unwrap() };
    assert_eq!(store.request_rejudging(Some(day(LATE))).await.unwrap(), 3);
    let run = Run { start: &start, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
    let passages = vec![passage(URL, 0.9, 0.0)];
    let written = Written { item: "due:0", channel: None, verdict: Verdict::Supported, passages, now: day(LATE + 1) };
    assert_eq!(commit(store, run, written, &[URL]).await.unwrap(), CommitOutcome::Written);
    store.settle_due(&asked[0], &JudgedWith::default(), None).await.unwrap();
    let requested = taken(store, true).await;
    assert_eq!(ids(&requested), ["due:0", "due:1", "due:command"]);
    for one in &requested {
        assert_eq!(one.reason, Reason::Requested);
        store.settle_due(one, &JudgedWith::default(), None).await.unwrap();
    }

    // What grew too old meanwhile is not asked about.
    assert_eq!(noted(store, &with("c", "o"), LATE).await, 2);
    assert_eq!(store.drop_outdated(day(LATE + 1)).await.unwrap(), 1);
    assert_eq!(ids(&taken(store, true).await), ["due:0"]);
    assert_eq!(store.drop_outdated(day(LATE + 2)).await.unwrap(), 0, "it is in work");

    assert!(store.rejudging_spent().await.unwrap().abs() < f64::EPSILON);
    store.add_rejudging_cost(0.25).await.unwrap();
    store.add_rejudging_cost(0.5).await.unwrap();
    assert!((store.rejudging_spent().await.unwrap() - 0.75).abs() < 1e-9);
}

/// An edit sees only the results that are stored before it, and a command may judge by the lists of before for long.
pub(super) async fn a_result_by_earlier_lists_is_due_and_replaces_no_later_one(store: &Store) {
    let version = store.domain_rules_version().await.unwrap();
    let by = |lists| JudgedWith { lists: Some(lists), ..with("late", "late") };
    judged(store, "late:before", LATE + 100, by(version - 1)).await;
    judged(store, "late:now", LATE + 100, by(version)).await;
    assert_eq!(noted(store, &with("late", "late"), LATE + 100).await, 1);
    let due = taken(store, false).await;
    assert_eq!((ids(&due), due[0].reason), (vec!["late:before"], Reason::DomainLists));
    store.settle_due(&due[0], &by(version), None).await.unwrap();

    for (lists, expected) in [(version - 1, RewriteOutcome::Overtaken), (version, RewriteOutcome::Written)] {
        let stored = store.stored_run("late:now").await.unwrap().unwrap();
        let result = stored.result.unwrap();
        let judged_with = JudgedWith { lists: Some(lists), ..JudgedWith::default() };
        let written = store.write_rejudged(Rewrite {
            result: &result,
            evaluated_at: stored.evaluated_at,
            claims: &[],
            why: Reason::Settings,
            outbox: &[],
            webhooks: &[],
            judged_with: &judged_with,
            now: day(LATE + 101),
            dry_run: false,
        });
        assert_eq!(written.await.unwrap(), expected);
    }
}
