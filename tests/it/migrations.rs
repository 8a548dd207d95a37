//! Who changes a schema, and which programs may run on it.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::support::daemon::{Daemon, Finished, finish};
use crate::support::database;

mod rule;

fn environment(url: &str) -> Vec<(String, String)> {
    [
        ("DATABASE_URL", url),
        ("ENRICHMENT_FEEDS_ENABLED", "false"),
        ("INFERENCE_EMBEDDER", "hashed"),
        ("INFERENCE_STANCE", "rules"),
        ("INFERENCE_RERANKER", "lexical"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

async fn run(url: &str, arguments: &[&str]) -> Finished {
    finish(&environment(url), arguments, "").await
}

/// The numbers of the migrations that were run; empty where nobody has migrated yet.
async fn applied(url: &str) -> Vec<i64> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let exists = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    let exists: bool = sqlx::query_scalar(exists).fetch_one(&mut connection).await.unwrap();
    if !exists {
        return Vec::new();
    }
    let rows = sqlx::query("SELECT version FROM _sqlx_migrations ORDER BY version").fetch_all(&mut connection).await;
    rows.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Returns the numbers of the files in `migrations/`, in order.
fn all_migrations() -> Vec<i64> {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<i64> = names.map(|name| name.split('_').next().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_but_migrate_changes_a_servers_schema() {
    let Some(url) = database::empty_database().await else { return };
    for arguments in [
        &["evidence", "nothing"][..],
        &["dead", "list"],
        &["check", "The bridge opened."],
        &["cleanup"],
        &["domains", "list"],
        &["serve"],
    ] {
        let done = run(&url, arguments).await;
        assert_eq!(done.code, 69, "{arguments:?}: {} {}", done.stdout, done.stderr);
        assert!(done.stderr.contains("corroborate migrate"), "{arguments:?}: {}", done.stderr);
        assert!(applied(&url).await.is_empty(), "{arguments:?} has migrated");
    }
    let migrated = run(&url, &["migrate"]).await;
    let all = all_migrations();
    assert!(migrated.ok().contains(&format!("at version {}\n", all.last().unwrap())), "{}", migrated.stdout);
    assert_eq!(applied(&url).await, all);
    assert_eq!(run(&url, &["evidence", "nothing"]).await.code, 1, "the store can be read and has no such item");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serve_migrates_a_server_when_the_setting_is_true() {
    let Some(url) = database::empty_database().await else { return };
    let mut environment = environment(&url);
    environment.push(("CORROBORATE_DATABASE_MIGRATE".to_owned(), "true".to_owned()));
    let daemon = Daemon::spawn(&environment, &["--no-worker"]).ready().await;
    assert_eq!(applied(&url).await, all_migrations());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_runs_on_a_newer_schema_down_to_the_floor_that_the_schema_states() {
    let Some(url) = database::empty_database().await else { return };
    run(&url, &["migrate"]).await.ok();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (9999, 'of a newer program', true, '\\x00', 0)",
        )
        .await
        .unwrap();
    let known = run(&url, &["evidence", "nothing"]).await;
    assert_eq!(known.code, 1, "{}", known.stderr);
    let again = run(&url, &["migrate"]).await;
    assert!(again.ok().contains("up to date"), "{}", again.stdout);
    connection.execute("UPDATE store_settings SET value = '9999' WHERE key = 'oldest_program'").await.unwrap();
    for arguments in [&["evidence", "nothing"][..], &["serve"], &["migrate"]] {
        let refused = run(&url, arguments).await;
        assert_eq!(refused.code, 69, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("newer"), "{arguments:?}: {}", refused.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_refuse_a_database_when_a_development_version_created_it() {
    let Some(url) = database::empty_database().await else { return };
    run(&url, &["migrate"]).await.ok();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // Development versions had other files under the same numbers, up to 38, and a floor of 33.
    connection
        .execute(
            "UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 1;
             INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (38, 'of a development version', true, '\\x00', 0);
             UPDATE store_settings SET value = '33' WHERE key = 'oldest_program'",
        )
        .await
        .unwrap();
    for arguments in [&["evidence", "nothing"][..], &["serve"], &["migrate"]] {
        let refused = run(&url, arguments).await;
        assert_eq!(refused.code, 69, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("development version before 0.1"), "{arguments:?}: {}", refused.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrate_gives_up_when_another_session_holds_a_lock() {
    let Some(url) = database::empty_database().await else { return };
    let mut other = PgConnection::connect(&url).await.unwrap();
    // The migration waits at its own table of this name until the transaction ends.
    other.execute("BEGIN; CREATE TABLE items ()").await.unwrap();
    let began = Instant::now();
    let refused = run(&url, &["migrate"]).await;
    assert_eq!(refused.code, 69, "{} {}", refused.stdout, refused.stderr);
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert!(refused.stderr.contains("lock"), "{}", refused.stderr);
    other.execute("ROLLBACK").await.unwrap();
    run(&url, &["migrate"]).await.ok();
}
