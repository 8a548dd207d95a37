//! A real `PgBouncer` in transaction mode between the daemons and the database: two processes with twenty connections to it share
//! three to the server. `TEST_PGBOUNCER` names the program; tests/run builds it and sets that, where its source can be had.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use sqlx::Executor as _;

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, free_address, until};
use crate::support::stories::{self, DISPUTED, ONCE, REVIEWED, TOLD, UNTOLD, item};
use crate::support::upstream::broker_url;

/// Connections to the server, whatever there are to the pooler.
const TO_SERVER: u32 = 3;
/// Far less than the hour after which a process looks for itself here.
const SECONDS: Duration = Duration::from_secs(5);

struct PgBouncer {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl PgBouncer {
    /// Before a server, with more of its settings; `None`, said aloud: there is no such program.
    #[expect(clippy::disallowed_methods, reason = "the program comes from tests/run")]
    async fn before(server: &url::Url, more: &str) -> Option<Self> {
        let Ok(program) = std::env::var("TEST_PGBOUNCER") else {
            // Never a failure, whatever services there are: tests/run goes on where its source cannot be had.
            println!("skipped: TEST_PGBOUNCER is not set; tests/services/pgbouncer.sh path builds it and prints where");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let [config, users] = ["pgbouncer.ini", "users.txt"].map(|name| folder.path().join(name));
        std::fs::write(&users, format!("\"{}\" \"{}\"\n", server.username(), server.password().unwrap())).unwrap();
        let address = free_address();
        let text = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = {}\nlisten_port = {}\nunix_socket_dir =\n\
             auth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = {TO_SERVER}\n\
             max_prepared_statements = 200\n{more}\n",
            server.host_str().unwrap(),
            server.port().unwrap(),
            address.ip(),
            address.port(),
            users.display(),
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new(program);
        // It does not run as root, and whom it runs as must be able to read its files.
        if std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
            command.args(["--user", "nobody"]);
        }
        let child = command.arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let pooler = Self { child: child.unwrap(), address, _folder: folder };
        until("the pooler listens", async || tokio::net::TcpStream::connect(pooler.address).await.is_ok()).await;
        Some(pooler)
    }

    /// The server's address, through it.
    fn url(&self, server: &url::Url) -> String {
        let mut url = server.clone();
        url.set_host(Some(&self.address.ip().to_string())).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.to_string()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_works_through_a_pooler_that_keeps_no_session() {
    let Some(broker) = broker_url() else { return };
    let Some(mut app) = TestApp::unmigrated(&broker, stories::world()).await else { return };
    let server = app.database_url.clone();
    let Some(pooler) = PgBouncer::before(&server, "").await else { return app.clear().await };
    app.set("DATABASE_URL", &pooler.url(&server));
    app.set("DATABASE_DIRECT_URL", server.as_str());
    // So long that whoever hears of an edit has heard it.
    app.set("CORROBORATE_JOBS_DOMAINS_INTERVAL", "1h");
    let migrated = tokio::join!(app.run(&["migrate"]), app.run(&["migrate"]));
    migrated.0.ok();
    migrated.1.ok();
    let asked = app.start_with(&["--no-worker"]).await;
    let works = app.start().await;

    let texts = [TOLD, REVIEWED, ONCE, DISPUTED, UNTOLD];
    let ids: Vec<String> = (0..40).map(|number| format!("item {number}")).collect();
    for (id, text) in ids.iter().zip(texts.iter().cycle()) {
        app.upstream.publish("item.new", &item(id, text)).await;
    }
    for id in &ids {
        let result = app.upstream.result(id, 1).await;
        assert_eq!(result["status"], "complete", "{result:#}");
        for page in [format!("/api/items/{}", id.replace(' ', "%20")), "/api/items?limit=5".to_owned()] {
            let answer = asked.get(&page).await;
            assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        }
    }

    // What one says to the others is heard at once.
    let heard = |daemon: &Daemon| daemon.log().matches("domain lists reloaded").count();
    let before = heard(&works);
    let rule = json!({"domain": "gossip.example", "list": "deny", "why": "it invents harbours"});
    assert_eq!(asked.post("/api/domains", &rule).await.status, 201);
    let within = tokio::time::timeout(SECONDS, until("the rule is heard of", async || heard(&works) > before));
    within.await.unwrap();
    for daemon in [&asked, &works] {
        assert!(!daemon.log().contains("prepared statement"), "{}", daemon.log());
    }
    asked.stop().await;
    app.finish(works).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_nothing_speaks_of_is_refused() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let server = app.database_url.clone();
    // As the user is set up for a pooler, whatever a session asks for.
    let name = server.path().trim_start_matches('/');
    let alter = format!("ALTER DATABASE {name} SET statement_timeout = '30s'");
    app.database.execute(sqlx::AssertSqlSafe(alter)).await.unwrap();
    // As it is installed, and as those set it up whose clients were refused.
    for more in ["", "ignore_startup_parameters = options"] {
        let Some(pooler) = PgBouncer::before(&server, more).await else { return app.clear().await };
        for arguments in [&["serve"][..], &["migrate"]] {
            let refused = app.run_set(&[("DATABASE_URL", &pooler.url(&server))], arguments).await;
            assert!(refused.code != 0 && refused.stderr.contains("set DATABASE_DIRECT_URL"), "{refused:?}");
        }
        if more.is_empty() {
            let seen = app.run_set(&[("DATABASE_READ_URL", &pooler.url(&server))], &["doctor"]).await;
            assert!(seen.stdout.contains("copy") && seen.stdout.contains("set DATABASE_DIRECT_URL"), "{seen:?}");
        }
    }
    app.clear().await;
}
