//! The live domain lists on a server that several processes share.

use corroborate::domain::rules::{DomainList, DomainRule};
use corroborate::store::Store;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::support::daemon::until;
use crate::support::database;

fn deny(domain: &str) -> DomainRule {
    let list = DomainList::Deny;
    DomainRule { domain: domain.to_owned(), list, credibility: None, source_type: None, why: None }
}

/// What a process knows of the lists, and how it keeps up: it reads them again when their version differs from its own.
struct BreakerSync {
    store: Store,
    known: i64,
    domains: Vec<String>,
}

impl BreakerSync {
    async fn keep_up(&mut self) {
        if self.store.domain_rules_version().await.unwrap() != self.known {
            let (rules, version) = self.store.domain_rules().await.unwrap();
            self.known = version;
            self.domains = rules.into_iter().map(|rule| rule.domain).collect();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_commits_late_is_seen_by_processes_that_had_read_a_later_one() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    let mut follower = BreakerSync { store: store.clone(), known: -1, domains: Vec::new() };
    follower.keep_up().await;

    // Another process, an old one even, has written its edit and not committed it yet.
    let mut late = PgConnection::connect(&url).await.unwrap();
    late.execute(
        "BEGIN;
         INSERT INTO domain_rules (domain, list, updated_by, updated_at) VALUES ('late.example', 'deny', 'admin', now());
         INSERT INTO domain_rule_changes (domain, action, who, changed_at) VALUES ('late.example', 'add', 'admin', now())",
    )
    .await
    .unwrap();
    let quick = tokio_util::task::TaskTracker::new().spawn({
        let store = store.clone();
        async move {
            let day = chrono::DateTime::UNIX_EPOCH;
            store.put_domain_rule(&deny("quick.example"), "admin", day, false).await.unwrap();
        }
    });
    let mut watcher = PgConnection::connect(&url).await.unwrap();
    until("the quick edit is done, or waits for the late one", async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        quick.is_finished() || sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut watcher).await.unwrap() > 0
    })
    .await;
    follower.keep_up().await;
    late.execute("COMMIT").await.unwrap();
    quick.await.unwrap();
    follower.keep_up().await;
    assert_eq!(follower.domains, ["late.example", "quick.example"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_by_hand_is_seen_too() {
    let Some(url) = database::empty_database().await else { return };
    let store = database::connect(&url).await;
    store.migrate().await.unwrap();
    store.put_domain_rule(&deny("gone.example"), "admin", chrono::DateTime::UNIX_EPOCH, false).await.unwrap();
    let mut follower = BreakerSync { store: store.clone(), known: -1, domains: Vec::new() };
    follower.keep_up().await;
    let mut hand = PgConnection::connect(&url).await.unwrap();
    hand.execute("UPDATE domain_rules SET domain = 'other.example'").await.unwrap();
    follower.keep_up().await;
    assert_eq!(follower.domains, ["other.example"]);
    hand.execute("DELETE FROM domain_rules").await.unwrap();
    follower.keep_up().await;
    assert_eq!(follower.domains, [] as [&str; 0]);
}
