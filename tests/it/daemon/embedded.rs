//! The daemon with everything inside: the store and the queue in a folder, one process, and commands beside it.

use serde_json::json;

use super::domains::lists;
use crate::support::app::environment;
use crate::support::daemon::{Daemon, finish, until};
use crate::support::simulator::{Fault, Simulator, Target};
use crate::support::stories::{self, ONCE, TOLD, item};

/// A folder, a world, and what the program is told of both.
pub(super) struct Home {
    pub(super) simulator: Simulator,
    pub(super) environment: Vec<(String, String)>,
    folder: tempfile::TempDir,
}

impl Home {
    pub(super) async fn new() -> Self {
        let simulator = Simulator::start_on_hosts(stories::world(), 4).await;
        let folder = tempfile::tempdir().unwrap();
        let mut environment = environment(&simulator);
        environment.push(("CORROBORATE_DATA_DIR".to_owned(), folder.path().display().to_string()));
        Self { simulator, environment, folder }
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub(super) async fn start(&self) -> Daemon {
        Daemon::spawn(&self.environment, &[]).ready().await
    }
}

async fn ended_with_log(mut daemon: Daemon) -> (std::process::ExitStatus, String) {
    let status = daemon.ended().await;
    (status, daemon.log())
}

pub(super) async fn stored(daemon: &Daemon, id: &str) -> serde_json::Value {
    until(id, async || daemon.get(&format!("/api/items/{id}")).await.status == 200).await;
    daemon.get(&format!("/api/items/{id}")).await.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_commands_beside_a_serving_daemon_go_through_it() {
    let home = Home::new().await;
    let daemon = home.start().await;
    let run = async |arguments: &[&str], stdin: &str| finish(&home.environment, arguments, stdin).await;

    let lines = format!("{}\nnot an item\n{}\n", item("first", TOLD), item("clm_second", ONCE));
    let queued = run(&["enqueue", "-"], &lines).await;
    assert_eq!(queued.code, 1, "a bad line is said, {queued:?}");
    assert!(queued.stderr.contains("line 2"), "{}", queued.stderr);
    assert_eq!(stored(&daemon, "first").await["claims"][0]["verdict"], "supported");
    assert_eq!(stored(&daemon, "clm_second").await["tier"], "medium");

    // An item may be called like a claim.
    assert!(run(&["why", "clm_second"], "").await.ok().contains("Osterik"));
    let nobody = run(&["why", "clm_third"], "").await;
    assert!(nobody.code == 1 && nobody.stderr.contains("give an item's id"), "{}", nobody.stderr);
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

/// Each of these used to wait for the embedded server, and that for a connection which the waiting thread held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_start_that_fails_ends_at_once_and_frees_the_folder() {
    let home = Home::new().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let nobody = format!("amqp://127.0.0.1:{}/%2f", crate::support::daemon::free_address().port());
    let free = crate::support::daemon::free_address().to_string();
    let cases = [
        ("a port that is taken", "HTTP_BIND", port.as_str(), 69, port.rsplit(':').next().unwrap()),
        ("no broker there", "AMQP_URL", nobody.as_str(), 69, "AMQP_URL"),
        ("no such model", "INFERENCE_STANCE", "bart", 78, "bart"),
        ("no address of this machine", "HTTP_BIND", "192.0.2.1:80", 69, "HTTP_BIND"),
    ];
    for (what, name, value, code, says) in cases {
        let mut environment = home.environment.clone();
        environment.retain(|(known, _)| known != name);
        if name != "HTTP_BIND" {
            environment.push(("HTTP_BIND".to_owned(), free.clone()));
        }
        environment.push((name.to_owned(), value.to_owned()));
        let done = finish(&environment, &["serve"], "").await;
        assert_eq!(done.code, code, "{what}: {}", done.stderr);
        assert!(done.stderr.contains(says) && done.stderr.contains(name), "{what}: {}", done.stderr);
    }
    // Commands that fail after the store is open.
    for arguments in [&["evidence", "nobody"][..], &["dead", "show", "nobody"], &["domains", "add", "x..", "--deny"]] {
        let done = finish(&home.environment, arguments, "").await;
        assert!(matches!(done.code, 1 | 2), "{arguments:?}: {} {}", done.code, done.stderr);
    }
    let daemon = home.start().await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_log_of_json_lines_holds_nothing_else() {
    let home = Home::new().await;
    let mut environment = home.environment.clone();
    environment.push(("LOG_FORMAT".to_owned(), "json".to_owned()));
    let daemon = Daemon::spawn(&environment, &[]).ready().await;
    daemon.post("/api/items", &item("one", TOLD)).await;
    let result = stored(&daemon, "one").await;
    let listed = daemon.get("/api/items").await.json();
    let (verdict, decisive) = (&result["claims"][0]["verdict"], &result["claims"][0]["decisive"]);
    assert_eq!((&listed["items"][0]["verdict"], &listed["items"][0]["decisive"]), (verdict, decisive), "{listed:#}");
    daemon.signal("TERM");
    let (status, log) = ended_with_log(daemon).await;
    assert!(status.success());
    let lines = |text: &str| {
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("{line}"));
        text.lines().map(line).collect::<Vec<_>>()
    };
    let written = lines(&log);
    let enriched = written.iter().find(|line| line["message"] == "item enriched").expect("the item's line");
    assert_eq!(&enriched["result.verdict"], verdict, "{enriched:#}");

    // Errors before and after the configuration is read are lines of the same kind.
    for (name, value, code) in [("WORKER_CONCURRENCY", "many", 78), ("INFERENCE_STANCE", "bart", 78)] {
        let mut wrong = environment.clone();
        wrong.push((name.to_owned(), value.to_owned()));
        let done = finish(&wrong, &["serve"], "").await;
        let last = lines(&done.stderr).pop().expect("why it ended");
        assert_eq!((&last["level"], &last["exit_code"]), (&json!("ERROR"), &json!(code)), "{last:#}");
        assert!(last["message"].as_str().unwrap().contains(value), "{last:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_daemon_that_stops_is_no_longer_ready() {
    let home = Home::new().await;
    home.simulator.set_fault(Target::Searxng, Fault::slow(std::time::Duration::from_secs(9)));
    let mut daemon = home.start().await;
    daemon.post("/api/items", &item("slow", TOLD)).await;
    until("it is in flight", async || daemon.metric("corroborate_items_in_flight", "").await > 0.5).await;
    daemon.signal("TERM");
    until("it is not ready", async || daemon.get("/readyz").await.status == 503).await;
    let answer = daemon.get("/readyz").await;
    assert!(answer.json()["reasons"].to_string().contains("stopping"), "{}", answer.json());
    assert_eq!(daemon.get("/healthz").await.status, 200, "it is alive until it has finished");
    assert!(daemon.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_doctor_asks_each_part_once_and_shows_every_line() {
    let home = Home::new().await;
    let nobody = format!("http://{}", crate::support::daemon::free_address());
    home.simulator.set_fault(Target::GoogleFactCheck, Fault::answer(400, "application/json", BAD_KEY));
    let mut environment = home.environment.clone();
    let folder = home.folder.path().join("no-such-folder");
    for (name, value) in [
        ("ENRICHMENT_SEARXNG_BASE_URL", nobody.as_str()),
        ("TRANSLATE_BASE_URL", nobody.as_str()),
        ("ENRICHMENT_CORPUS_FOLDER", folder.to_str().unwrap()),
    ] {
        environment.retain(|(known, _)| known != name);
        environment.push((name.to_owned(), value.to_owned()));
    }
    let line = |text: &str, part: &str| {
        // What is said of languages names other parts.
        let found = text.lines().find(|line| line.contains(part) && !line.contains(" languages "));
        found.unwrap_or_else(|| panic!("no line on {part} in:\n{text}")).to_owned()
    };
    let done = finish(&environment, &["doctor"], "").await;
    assert_eq!(done.code, 69, "{}{}", done.stdout, done.stderr);
    for (part, says) in [
        ("searxng", "could not be reached"),
        ("google_factcheck", "refuses the key"),
        ("corpus", "no-such-folder"),
        ("translator", "could not be reached"),
    ] {
        let line = line(&done.stdout, part);
        assert!(line.starts_with("FAIL") && (line.contains(says) || part == "corpus"), "{line}");
    }
    assert!(line(&done.stdout, "gdelt").starts_with("ok"), "{}", done.stdout);
    assert!(line(&done.stdout, "brave").contains("--paid"), "{}", done.stdout);
    assert!(line(&done.stdout, "store").starts_with("ok"), "{}", done.stdout);
    let asked = |target| home.simulator.calls(target);
    assert_eq!((asked(Target::GoogleFactCheck), asked(Target::Gdelt)), (1, 1), "each is asked once");

    // What could not be asked is not called ready, in another process either.
    let listed = finish(&environment, &["providers"], "").await;
    assert!(line(listed.ok(), "searxng").contains("failing"), "{}", listed.stdout);

    let offline = finish(&environment, &["doctor", "--offline"], "").await;
    assert!(line(&offline.stdout, "gdelt").contains("--offline"), "{}", offline.stdout);
    assert!(line(&offline.stdout, "corpus").starts_with("FAIL"), "a folder is looked at: {}", offline.stdout);
    assert_eq!(asked(Target::Gdelt), 1, "nobody is asked");

    // Without a store every other line is there.
    environment.push(("DATABASE_URL".to_owned(), nobody.replace("http://", "postgres://u:p@") + "/x"));
    let since = std::time::Instant::now();
    let done = finish(&environment, &["doctor"], "").await;
    assert!(since.elapsed() < std::time::Duration::from_secs(20), "a refused database is said at once");
    assert!(line(&done.stdout, "store").starts_with("FAIL") && done.stdout.contains("refused"), "{}", done.stdout);
    assert!(line(&done.stdout, "gdelt").starts_with("ok"), "{}", done.stdout);
}

/// As Google answers to a key that it does not know.
const BAD_KEY: &str = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.",
    "status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#;
