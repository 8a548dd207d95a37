//! Who changes a schema, and which programs may run on it.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::migrate::Migrator;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::support::daemon::{Daemon, Finished, finish};
use crate::support::database;

mod rule;

/// The last migration before these rules.
const EARLIER: i64 = 8;

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

/// Brings a database to an earlier schema.
async fn migrate_to(url: &str, last: i64) {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        if name.split('_').next().and_then(|number| number.parse().ok()).is_some_and(|number: i64| number <= last) {
            std::fs::copy(file.path(), folder.path().join(name)).unwrap();
        }
    }
    let mut connection = PgConnection::connect(url).await.unwrap();
    Migrator::new(folder.path()).await.unwrap().run(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_but_migrate_changes_a_servers_schema() {
    let Some(url) = database::empty_database().await else { return };
    for before in [0, EARLIER] {
        if before > 0 {
            migrate_to(&url, before).await;
        }
        let schema = applied(&url).await;
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
            assert_eq!(applied(&url).await, schema, "{arguments:?} has migrated");
        }
    }
    let migrated = run(&url, &["migrate"]).await;
    let newest = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap();
    let newest = newest.map(|file| file.unwrap().file_name().into_string().unwrap()).max().unwrap();
    let number: i64 = newest.split('_').next().unwrap().parse().unwrap();
    assert!(migrated.ok().contains(&format!("at version {number}\n")), "{newest}: {}", migrated.stdout);
    assert!(applied(&url).await.len() > 8);
    assert_eq!(run(&url, &["evidence", "nothing"]).await.code, 1, "now it can be asked, and knows no such item");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serve_migrates_a_server_where_it_is_told_to() {
    let Some(url) = database::empty_database().await else { return };
    let mut environment = environment(&url);
    environment.push(("CORROBORATE_DATABASE_MIGRATE".to_owned(), "true".to_owned()));
    let daemon = Daemon::spawn(&environment, &["--no-worker"]).ready().await;
    assert!(applied(&url).await.len() > 8);
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
async fn items_stored_before_verdicts_stood_beside_them_are_given_theirs() {
    let Some(url) = database::empty_database().await else { return };
    migrate_to(&url, 20).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let result = r#"{"main_claim": "b", "claims": [{"claim_id": "a", "verdict": "refuted", "decisive": true},
        {"claim_id": "b", "verdict": "supported", "decisive": false}]}"#;
    for (id, result) in [("two claims", result), ("none", r#"{"claims": [], "main_claim": null}"#)] {
        sqlx::query(
            "INSERT INTO items (item_id, text, content_hash, status, result, evaluated_at, enriched_at, expires_at)
             VALUES ($1, 'text', '', 'complete', $2::jsonb, now(), now(), now() + interval '1 day')",
        )
        .bind(id)
        .bind(result)
        .execute(&mut connection)
        .await
        .unwrap();
    }
    run(&url, &["migrate"]).await.ok();
    let rows =
        sqlx::query("SELECT verdict, decisive FROM items ORDER BY item_id DESC").fetch_all(&mut connection).await;
    let rows: Vec<(Option<String>, Option<bool>)> =
        rows.unwrap().iter().map(|row| (row.get("verdict"), row.get("decisive"))).collect();
    assert_eq!(rows, [(Some("supported".to_owned()), Some(false)), (None, None)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_cannot_have_its_lock_gives_up_and_holds_nobody_up_for_long() {
    let Some(url) = database::empty_database().await else { return };
    migrate_to(&url, EARLIER).await;
    let mut reader = PgConnection::connect(&url).await.unwrap();
    reader.execute("BEGIN; LOCK TABLE items, outbox, queue_messages IN ACCESS SHARE MODE").await.unwrap();
    let began = Instant::now();
    let refused = run(&url, &["migrate"]).await;
    assert_eq!(refused.code, 69, "{} {}", refused.stdout, refused.stderr);
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert!(refused.stderr.contains("lock"), "{}", refused.stderr);
    reader.execute("ROLLBACK").await.unwrap();
    run(&url, &["migrate"]).await.ok();
}
