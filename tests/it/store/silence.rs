//! Connections over which nothing comes any more, though nobody closed them.

use std::time::Duration;

use corroborate::domain::rules::{DomainList, DomainRule};
use corroborate::store::{Store, StoreError, StoreSettings};
use secrecy::SecretString;
use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;

use super::written::day;
use crate::support::database;
use crate::support::proxy::Proxy;

/// A store with one connection through a proxy that can forget it.
async fn behind_proxy(url: &str) -> (Store, Proxy) {
    let mut url: url::Url = url.parse().unwrap();
    let proxy = Proxy::before(vec![url.port().unwrap()]).await.unwrap();
    url.set_port(Some(proxy.port())).unwrap();
    let settings = StoreSettings {
        pool_size: 1,
        acquire_timeout: Duration::from_secs(1),
        statement_timeout: Some(Duration::from_secs(1)),
        schema: None,
        direct: None,
    };
    (Store::connect(&SecretString::from(url.to_string()), &settings).await.unwrap(), proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_ends_and_gives_its_place_back() {
    let Some(url) = database::empty_database().await else { return };
    database::connect(&url).await.migrate().await.unwrap();
    let (store, proxy) = behind_proxy(&url).await;
    let rule = DomainRule {
        domain: "silent.example".to_owned(),
        list: DomainList::Deny,
        credibility: None,
        source_type: None,
        why: None,
    };
    // The edit waits for the row in the middle of its transaction when its connection is forgotten.
    let mut other = PgConnection::connect(&url).await.unwrap();
    let mut held = other.begin().await.unwrap();
    sqlx::query("SELECT version FROM domain_rules_version FOR UPDATE").execute(&mut *held).await.unwrap();
    let edit = timeout(Duration::from_mins(1), store.put_domain_rule(&rule, "a test", day(0), false));
    let forget = async {
        let waits = "SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND query LIKE '%domain_rules_version%'";
        while sqlx::query_scalar::<_, i64>(waits).fetch_one(&mut *held).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        proxy.forgets();
        held.rollback().await.unwrap();
    };
    let (ended, ()) = tokio::join!(edit, forget);
    let ended = ended.unwrap();
    assert!(matches!(ended, Err(StoreError::Unreachable(_))), "{ended:?}");
    // Its connection is given one more chance, and then the place is free.
    let again = async {
        while store.put_domain_rule(&rule, "a test", day(0), false).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(30), again).await.expect("the pool's only place is free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_says_that_it_hears_nothing() {
    let Some(url) = database::empty_database().await else { return };
    let (store, proxy) = behind_proxy(&url).await;
    let mut listener = store.listen().await.unwrap().unwrap();
    proxy.forgets();
    let heard = timeout(Duration::from_mins(1), listener.receive()).await.expect("it was not waited for without end");
    assert!(matches!(heard, Err(StoreError::Unreachable(_))), "{heard:?}");
}
