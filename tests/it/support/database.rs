//! Stores to test on: the embedded one in a folder of its own, and a fresh database on the real server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use corroborate::store::{Store, StoreSettings};
use secrecy::SecretString;
use sqlx::{Connection as _, Executor as _, PgConnection};

/// A database of its own on the real server; dropped with the last of the tests' server, which is private to them.
#[derive(Debug)]
pub(crate) struct TestDatabase {
    pub(crate) store: Store,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The address of the real server; `None`, said aloud, where the tests run without one.
#[expect(clippy::disallowed_methods, reason = "the address comes from tests/run")]
pub(crate) fn server_url() -> Option<String> {
    let url = std::env::var("TEST_DATABASE_URL").ok();
    if url.is_none() {
        super::skipped("TEST_DATABASE_URL is not set; tests/run starts a server and sets it");
    }
    url
}

/// Creates an empty database; `None` without a server.
pub(crate) async fn empty_database() -> Option<String> {
    let server = server_url()?;
    let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut connection = PgConnection::connect(&server).await.unwrap();
    connection.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    connection.close().await.unwrap();
    let mut url = url::Url::parse(&server).unwrap();
    url.set_path(&name);
    Some(url.to_string())
}

/// An empty, migrated store on the real server.
pub(crate) async fn database() -> Option<TestDatabase> {
    let url = empty_database().await?;
    let store = connect(&url).await;
    store.migrate().await.unwrap();
    Some(TestDatabase { store })
}

pub(crate) async fn connect(url: &str) -> Store {
    let settings =
        StoreSettings { pool_size: 4, acquire_timeout: Duration::from_secs(20), statement_timeout: None, schema: None };
    Store::connect(&SecretString::from(url), &settings).await.unwrap()
}
