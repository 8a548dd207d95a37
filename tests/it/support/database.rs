//! Stores to test on: the embedded one in a folder of its own, and a fresh database on the real server.

use std::time::Duration;

use corroborate::store::{Store, StoreSettings};
use secrecy::SecretString;
use sqlx::{Connection as _, Executor as _, PgConnection};

/// A database of its own on the real server; dropped with the last of the tests' server, which is private to them.
#[derive(Debug)]
pub(crate) struct TestDatabase {
    pub(crate) store: Store,
}

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
    // Process ids come again, on a server that outlives many runs.
    let name = format!("test_{:016x}", rand::random::<u64>());
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
    let settings = StoreSettings {
        pool_size: 4,
        acquire_timeout: Duration::from_secs(20),
        statement_timeout: None,
        schema: None,
        direct: None,
    };
    Store::connect(&SecretString::from(url), &settings).await.unwrap()
}

/// Does work that uses a table, and cuts its connection in the middle of it: until then a lock holds it up.
pub(crate) async fn cut_off<T>(url: &str, table: &str, work: impl Future<Output = T>) -> T {
    let mut holder = PgConnection::connect(url).await.unwrap();
    let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
    holder.execute(sqlx::AssertSqlSafe(lock)).await.unwrap();
    // Within the holder's transaction the server's statistics stand still.
    let mut watcher = PgConnection::connect(url).await.unwrap();
    let cut = async {
        let waiting = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        super::daemon::until("somebody waits for the lock", async || {
            sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut watcher).await.unwrap() > 0
        })
        .await;
        holder.execute("ROLLBACK").await.unwrap();
        holder.close().await.unwrap();
        watcher.close().await.unwrap();
    };
    tokio::join!(work, cut).0
}
