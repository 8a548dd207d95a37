//! The daemon with everything inside: the store and the queue in a folder, one process, and commands beside it.

use serde_json::json;

use super::domains::lists;
use crate::support::app::environment;
use crate::support::daemon::{Daemon, finish, until};
use crate::support::simulator::{Fault, Simulator, Target};
use crate::support::stories::{self, ONCE, TOLD, item};

/// A folder, a world, and what the program is told of both.
struct Home {
    simulator: Simulator,
    environment: Vec<(String, String)>,
    folder: tempfile::TempDir,
}

impl Home {
    async fn new() -> Self {
        let simulator = Simulator::start_on_hosts(stories::world(), 4).await;
        let folder = tempfile::tempdir().unwrap();
        let mut environment = environment(&simulator);
        environment.push(("CORROBORATE_DATA_DIR".to_owned(), folder.path().display().to_string()));
        Self { simulator, environment, folder }
    }

    async fn start(&self) -> Daemon {
        Daemon::spawn(&self.environment, &[]).ready().await
    }
}

async fn stored(daemon: &Daemon, id: &str) -> serde_json::Value {
    until(id, async || daemon.get(&format!("/api/items/{id}")).await.status == 200).await;
    daemon.get(&format!("/api/items/{id}")).await.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_commands_beside_a_serving_daemon_go_through_it() {
    let home = Home::new().await;
    let daemon = home.start().await;
    let run = async |arguments: &[&str], stdin: &str| finish(&home.environment, arguments, stdin).await;

    let lines = format!("{}\nnot an item\n{}\n", item("first", TOLD), item("second", ONCE));
    let queued = run(&["enqueue", "-"], &lines).await;
    assert_eq!(queued.code, 1, "a bad line is said, {queued:?}");
    assert!(queued.stderr.contains("line 2"), "{}", queued.stderr);
    assert_eq!(stored(&daemon, "first").await["claims"][0]["verdict"], "supported");
    assert_eq!(stored(&daemon, "second").await["tier"], "medium");

    let evidence = run(&["evidence", "first", "--json"], "").await.json();
    assert_eq!(evidence["result"]["item_id"], "first");
    assert!(evidence["evidence"].to_string().contains("Velmora"));
    let calls = home.simulator.calls(Target::Searxng);
    let checked = run(&["check", TOLD, "--json"], "").await.json();
    assert_eq!(checked["claims"][0]["verdict"], "supported", "{checked:#}");
    assert!(calls > 0);

    run(&["domains", "add", "late.example", "--deny", "--why", "a test"], "").await.ok();
    assert!(lists(&daemon, "late.example", "deny").await);
    assert!(run(&["domains", "list"], "").await.ok().contains("late.example"));
    run(&["domains", "remove", "late.example"], "").await.ok();
    assert!(!lists(&daemon, "late.example", "deny").await);
    assert!(run(&["cleanup", "--dry-run"], "").await.ok().contains("would be removed"));
    assert_eq!(run(&["doctor"], "").await.code, 0);

    // What needs the folder for itself says who has it.
    for arguments in [&["serve"][..], &["enrich", "-"]] {
        let refused = run(arguments, &item("x", TOLD).to_string()).await;
        assert_eq!(refused.code, 69, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("in use"), "{}", refused.stderr);
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_kill_loses_no_queued_item_and_the_folder_is_free_again() {
    let home = Home::new().await;
    home.simulator.set_fault(Target::Searxng, Fault::slow(std::time::Duration::from_secs(3)));
    let daemon = home.start().await;
    let items: Vec<_> = (0..40).map(|number| item(&format!("item-{number}"), TOLD)).collect();
    assert_eq!(daemon.post("/api/items", &json!(items)).await.status, 202);
    until("some are in flight", async || daemon.metric("corroborate_items_in_flight", "").await > 0.0).await;
    daemon.kill().await;
    home.simulator.set_fault(Target::Searxng, None);

    let daemon = home.start().await;
    until("all are done", async || {
        let list = daemon.get("/api/items?limit=100&status=complete").await.json();
        list["items"].as_array().unwrap().len() == 40
    })
    .await;
    assert!(home.folder.path().exists());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_denied_domain_is_not_fetched_any_more() {
    let home = Home::new().await;
    let daemon = home.start().await;
    for host in ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"] {
        finish(&home.environment, &["domains", "add", host, "--deny"], "").await.ok();
    }
    // The edits came over HTTP and are in force when a later item is searched.
    until("the rules are in force", async || {
        let id = format!("probe-{}", rand::random::<u32>());
        daemon.post("/api/items", &item(&id, ONCE)).await;
        stored(&daemon, &id).await["claims"][0]["evidence"] == json!([])
    })
    .await;
    daemon.post("/api/items", &item("denied", TOLD)).await;
    let result = stored(&daemon, "denied").await;
    assert_eq!(result["claims"][0]["evidence"], json!([]), "{result:#}");
    assert!(stories::TOLD_PAGES.iter().all(|page| home.simulator.page_calls(*page) == 0));
    daemon.stop().await;
}
