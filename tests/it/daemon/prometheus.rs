//! What operators watch, against a real Prometheus that scrapes the daemon at work. Without the program `prometheus` (the
//! distribution's package) the test says that it is skipped.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, free_address, until};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, REVIEWED, TOLD, UNTOLD, item};

const DASHBOARDS: [(&str, &str); 4] = [
    ("overview", include_str!("../../../grafana/overview.json")),
    ("providers", include_str!("../../../grafana/providers.json")),
    ("quality", include_str!("../../../grafana/quality.json")),
    ("runtime", include_str!("../../../grafana/runtime.json")),
];

/// What nothing happens to here: no language model, webhooks, models, feeds and limit of memory are configured, and the broker
/// refuses nothing.
const QUIET: [&str; 7] = [
    "corroborate_llm_",
    "corroborate_webhook",
    "corroborate_model_",
    "_refused_total",
    "_dead_total",
    "corroborate_feeds",
    "corroborate_memory_limit_bytes",
];

struct Prometheus {
    child: Child,
    address: SocketAddr,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Prometheus {
    /// `None`, said aloud: it is not installed.
    fn start(daemon: &Daemon) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\n\
             rule_files: [{}/grafana/alerts.yml]\n\
             scrape_configs: [{{ job_name: corroborate, static_configs: [{{ targets: [\"{}\"] }}] }}]\n",
            env!("CARGO_MANIFEST_DIR"),
            daemon.address()
        );
        std::fs::write(&config, text).unwrap();
        let address = free_address();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--log.level=error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => {
                // Another test of this process may have installed it already.
                drop(rustls::crypto::ring::default_provider().install_default());
                let client = reqwest::ClientBuilder::new().no_proxy().build().unwrap();
                Some(Self { child, address, client, _folder: folder })
            }
            Err(error) => {
                // Never a failure, whatever services there are: tests/run goes on where the program cannot be installed.
                println!("skipped: prometheus does not start ({error}); apt install prometheus");
                None
            }
        }
    }

    /// The answer's data; an error is the query's fault.
    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Option<Value> {
        let url = url::Url::parse_with_params(&format!("http://{}{path}", self.address), query).unwrap();
        let answer: Value = self.client.get(url).send().await.ok()?.json().await.ok()?;
        assert_eq!(answer["status"], "success", "{query:?}: {answer}");
        Some(answer["data"].clone())
    }

    /// How many series an expression gives now.
    async fn series(&self, expression: &str) -> usize {
        let data = self.get("/api/v1/query", &[("query", expression)]).await.expect("an answer");
        data["result"].as_array().unwrap().len()
    }
}

/// Every expression of a dashboard with its panel, as Grafana would ask it.
fn expressions(dashboard: &str) -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let mut found = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            let asked = expression.replace("$job", ".*").replace("$instance", ".*").replace("$__rate_interval", "1m");
            assert!(!asked.contains('$'), "a variable that nothing sets: {asked}");
            found.push((panel["title"].as_str().unwrap().to_owned(), asked));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_shows_something_of_a_daemon_at_work_and_no_alert_fires() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let Some(prometheus) = Prometheus::start(&daemon) else { return app.finish(daemon).await };
    until("prometheus has scraped the daemon", async || {
        let up = prometheus.get("/api/v1/query", &[("query", "up == 1")]).await;
        up.is_some_and(|data| !data["result"].as_array().unwrap().is_empty())
    })
    .await;
    // Twice, so that a rate has two values to be taken from, and some of it in vain.
    for round in 0..2 {
        for (name, text) in [("told", TOLD), ("once", ONCE), ("disputed", DISPUTED), ("reviewed", REVIEWED)] {
            let id = format!("{name}-{round}");
            app.upstream.publish("item.new", &item(&id, text)).await;
            app.upstream.result(&id, 1).await;
        }
        app.simulator.set_fault(Target::Searxng, Fault::status(500));
        let id = format!("untold-{round}");
        app.upstream.publish("item.new", &item(&id, &format!("{UNTOLD} Round {round}."))).await;
        app.upstream.result(&id, 1).await;
        app.simulator.set_fault(Target::Searxng, None);
        daemon.get("/api/providers").await;
        // The gauges are set every five seconds, and scraped every second.
        tokio::time::sleep(std::time::Duration::from_secs(7)).await;
    }
    let mut empty = Vec::new();
    for (name, dashboard) in DASHBOARDS {
        for (panel, expression) in expressions(dashboard) {
            let is_quiet = QUIET.iter().any(|quiet| expression.contains(quiet));
            if prometheus.series(&expression).await == 0 && !is_quiet {
                empty.push(format!("{name}, {panel}: {expression}"));
            }
        }
    }
    assert!(empty.is_empty(), "nothing to be seen in:\n{}", empty.join("\n"));
    let rules = prometheus.get("/api/v1/rules", &[]).await.expect("the rules");
    let rules: Vec<&Value> =
        rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap()).collect();
    assert!(rules.len() > 15, "{rules:?}");
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        let pages = rule["labels"]["severity"] == "page" && rule["state"] == "firing";
        assert!(!pages, "it would wake somebody: {rule}");
    }
    app.finish(daemon).await;
}
