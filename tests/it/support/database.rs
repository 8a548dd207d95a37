//! Stores to test on: the embedded one in a folder of its own, and a fresh database on the real server.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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
    let mut connection = PgConnection::connect(&server).await.unwrap();
    let name = create(&mut connection, "template1").await;
    connection.close().await.unwrap();
    Some(at(&server, &name))
}

/// Creates a database with a new name; process ids come again, on a server that outlives many runs.
async fn create(connection: &mut PgConnection, template: &str) -> String {
    let name = format!("test_{:016x}", rand::random::<u64>());
    let statement = format!("CREATE DATABASE {name} TEMPLATE {template}");
    connection.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    name
}

fn at(server: &str, name: &str) -> String {
    let mut url = url::Url::parse(server).unwrap();
    url.set_path(name);
    url.to_string()
}

/// Creates a migrated database; `None` without a server. It is a copy of one that the first test with these migrations
/// makes, because a copy takes a tenth of the time of the migrations.
pub(crate) async fn migrated_database() -> Option<String> {
    let server = server_url()?;
    let mut hasher = DefaultHasher::new();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        std::fs::read(file).unwrap().hash(&mut hasher);
    }
    let template = format!("migrated_{:016x}", hasher.finish());
    let mut connection = PgConnection::connect(&server).await.unwrap();
    // Until this connection ends no other test makes the template, or has a connection to it.
    connection.execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let exists = sqlx::query_scalar::<_, bool>("SELECT count(*) > 0 FROM pg_database WHERE datname = $1");
    if !exists.bind(&template).fetch_one(&mut connection).await.unwrap() {
        let name = create(&mut connection, "template1").await;
        let store = connect(&at(&server, &name)).await;
        store.migrate().await.unwrap();
        store.close().await;
        let rename = format!("ALTER DATABASE {name} RENAME TO {template}");
        connection.execute(sqlx::AssertSqlSafe(rename)).await.unwrap();
    }
    let name = create(&mut connection, &template).await;
    connection.close().await.unwrap();
    Some(at(&server, &name))
}

/// An empty, migrated store on the real server.
pub(crate) async fn database() -> Option<TestDatabase> {
    Some(TestDatabase { store: connect(&migrated_database().await?).await })
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
