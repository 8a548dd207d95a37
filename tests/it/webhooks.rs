//! Web servers that are told of results, and what becomes of messages that they do not take. The receivers are real servers
//! that fail as they are told to; the daemon is in embedded mode: no service is needed.
#![cfg(test)]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;

use crate::support::daemon::{Daemon, finish, until};
use crate::support::simulator::Simulator;
use crate::support::stories::{self, TOLD, UNTOLD, item};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// One message as it came.
#[derive(Debug, Clone)]
struct Hit {
    id: String,
    at: String,
    signatures: String,
    body: String,
    came: std::time::Instant,
}

impl Hit {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// As a receiver checks it.
    fn is_signed_with(&self, secret: &str) -> bool {
        let key = BASE64.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut hmac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        hmac.update(format!("{}.{}.{}", self.id, self.at, self.body).as_bytes());
        let expected = format!("v1,{}", BASE64.encode(hmac.finalize().into_bytes()));
        self.signatures.split(' ').any(|signature| signature == expected)
    }
}

#[derive(Debug, Default)]
struct Receiver {
    /// What the next messages are answered; 204 when there is nothing left.
    answers: Mutex<VecDeque<u16>>,
    /// What every message is answered instead.
    always: Mutex<Option<u16>>,
    /// `Retry-After` of whatever is refused.
    rest: Mutex<Option<&'static str>>,
    hits: Mutex<Vec<Hit>>,
}

impl Receiver {
    fn hits(&self) -> Vec<Hit> {
        self.hits.lock().unwrap().clone()
    }

    fn always(&self, status: Option<u16>) {
        *self.always.lock().unwrap() = status;
    }

    fn rest_asked(&self, seconds: &'static str) {
        *self.rest.lock().unwrap() = Some(seconds);
    }

    #[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with its runtime")]
    async fn start(answers: &[u16]) -> (Arc<Self>, SocketAddr) {
        let receiver = Arc::new(Self { answers: Mutex::new(answers.to_vec().into()), ..Self::default() });
        let router = axum::Router::new().route("/hooks/{who}", post(hear)).with_state(Arc::clone(&receiver));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn(async move { axum::serve(listener, router).await });
        (receiver, address)
    }
}

async fn hear(State(receiver): State<Arc<Receiver>>, headers: HeaderMap, body: String) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (id, at, signatures) = (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    receiver.hits.lock().unwrap().push(Hit { id, at, signatures, body, came: std::time::Instant::now() });
    let next = receiver.answers.lock().unwrap().pop_front();
    let status = receiver.always.lock().unwrap().or(next).unwrap_or(204);
    let mut answer = StatusCode::from_u16(status).unwrap().into_response();
    if let Some(rest) = receiver.rest.lock().unwrap().filter(|_| status >= 400) {
        answer.headers_mut().insert("retry-after", HeaderValue::from_static(rest));
    }
    if status == 302 {
        answer.headers_mut().insert("location", HeaderValue::from_static("http://127.0.0.1:9/elsewhere"));
    }
    answer
}

/// A data folder, a simulated world, and receivers.
struct Bench {
    environment: Vec<(String, String)>,
    _simulator: Simulator,
    _folder: TempDir,
}

impl Bench {
    /// Receivers with their names, addresses and the events they want.
    async fn new(receivers: &[(&str, SocketAddr, Option<&[&str]>)], more: &[(&str, &str)]) -> Self {
        let simulator = Simulator::start_on_hosts(stories::world(), 4).await;
        let folder = tempfile::tempdir().unwrap();
        let endpoints: Vec<Value> = receivers
            .iter()
            .map(|(name, address, events)| {
                let mut endpoint = json!({"name": name, "url": format!("http://{address}/hooks/{name}")});
                if let Some(events) = events {
                    endpoint["events"] = json!(events);
                }
                endpoint
            })
            .collect();
        let mut environment = crate::support::app::environment(&simulator);
        let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
        set("CORROBORATE_DATA_DIR", &folder.path().display().to_string());
        set("ENRICHMENT_PROVIDERS", "opensearch");
        set("CORROBORATE_WEBHOOKS_ENDPOINTS", &json!(endpoints).to_string());
        for (name, ..) in receivers {
            set(&format!("CORROBORATE_WEBHOOK_{}_SECRET", name.to_uppercase()), SECRET);
        }
        for (name, value) in more {
            set(name, value);
        }
        Self { environment, _simulator: simulator, _folder: folder }
    }

    async fn start(&self) -> Daemon {
        Daemon::spawn(&self.environment, &[]).ready().await
    }

    async fn command(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = ["--json", "webhooks"].iter().chain(arguments).copied().collect();
        finish(&self.environment, &arguments, "").await.json()
    }
}

async fn enqueue(daemon: &Daemon, id: &str, text: &str) {
    let answer = daemon.post("/api/items", &item(id, text)).await;
    assert!(answer.status < 300, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_reach_each_receiver_signed_and_one_that_fails_holds_up_no_other() {
    let (slow, slow_at) = Receiver::start(&[500, 302, 429]).await;
    let (quick, quick_at) = Receiver::start(&[]).await;
    let receivers = [("slow", slow_at, None), ("quick", quick_at, Some(&["claim.verified", "claim.contested"][..]))];
    let bench = Bench::new(&receivers, &[("CORROBORATE_WEBHOOK_QUICK_OLD_SECRET", OLD_SECRET)]).await;
    let daemon = bench.start().await;
    enqueue(&daemon, "тг:первый", TOLD).await;
    until("the quick one has the signal", async || !quick.hits().is_empty()).await;
    let signal = quick.hits().remove(0);
    assert!(signal.is_signed_with(SECRET) && signal.is_signed_with(OLD_SECRET), "{signal:?}");
    assert!(signal.json()["type"].as_str().unwrap().starts_with("claim."), "{signal:?}");
    assert_eq!(signal.json()["data"]["item_id"], "тг:первый");
    assert!(signal.id.is_ascii());
    until("the slow one has taken all", async || {
        daemon.get("/api/webhooks").await.json()["items"].as_array().unwrap().iter().all(|hook| hook["pending"] == 0)
    })
    .await;
    let hits = slow.hits();
    assert!(hits.iter().all(|hit| hit.is_signed_with(SECRET)), "each try is signed anew");
    let result: Vec<&Hit> = hits.iter().filter(|hit| hit.json()["type"] == "item.enriched").collect();
    assert!(!result.is_empty() && result.iter().all(|hit| hit.id == result[0].id && hit.body == result[0].body));
    let ids: std::collections::BTreeSet<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(hits.len(), ids.len() + 3, "three were refused, and each is sent again under its own id: {hits:#?}");
    let whole = result[0].json();
    assert_eq!((&whole["data"]["item_id"], &whole["data"]["schema"]), (&json!("тг:первый"), &json!(1)), "{whole:#}");
    assert_eq!(quick.hits().len(), 1, "told only of what it wants to hear");
    assert!(daemon.metric("corroborate_webhook_deliveries_total", "failed").await >= 3.0);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_receiver_does_not_take_outlives_a_crash_is_given_up_in_the_end_and_can_be_sent_again() {
    let (receiver, address) = Receiver::start(&[]).await;
    receiver.always(Some(503));
    // Killed between the answer and its note, the daemon leaves a claim behind: it is free again after the time that a
    // batch takes at most, which the time limit of one try sets.
    let limits = [("CORROBORATE_WEBHOOKS_GIVE_UP_AFTER", "2s"), ("CORROBORATE_WEBHOOKS_TIMEOUT", "1s")];
    let bench = Bench::new(&[("cms", address, Some(&["item.enriched"]))], &limits).await;
    let daemon = bench.start().await;
    enqueue(&daemon, "first", TOLD).await;
    until("it is tried", async || !receiver.hits().is_empty()).await;
    daemon.kill().await;
    let tries = receiver.hits().len();
    let daemon = bench.start().await;
    until("it is tried again after the crash", async || receiver.hits().len() > tries).await;
    until("it is given up", async || bench.command(&["list"]).await["items"][0]["dead"] == 1).await;
    let dead = bench.command(&["dead"]).await["items"][0].clone();
    assert_eq!((&dead["webhook"], &dead["error"]), (&json!("cms"), &json!("answered 503")), "{dead:#}");
    assert!(dead["body"].as_str().unwrap().contains("\"item_id\":\"first\""), "{dead:#}");
    assert!(daemon.get("/queue").await.body.contains("answered 503"), "the page shows it");
    let tries = receiver.hits().len();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(receiver.hits().len(), tries, "what was given up is left alone");
    receiver.always(None);
    let id = dead["id"].as_str().unwrap();
    assert_eq!(bench.command(&["retry", id]).await["count"], 1);
    until("it is delivered", async || bench.command(&["list"]).await["items"][0]["pending"] == 0).await;
    assert_eq!(receiver.hits().last().unwrap().id, receiver.hits()[0].id);
    assert_eq!(daemon.post("/api/webhooks/retry", &json!({"ids": [id]})).await.status, 404, "it is there no more");
    assert_eq!(daemon.post("/api/webhooks/drop", &json!({})).await.status, 422, "nothing never means everything");
    // Who says it is gone is not asked for half a day.
    receiver.always(Some(410));
    enqueue(&daemon, "second", UNTOLD).await;
    until("it is given up at once", async || bench.command(&["list"]).await["items"][0]["dead"] == 1).await;
    assert_eq!(daemon.post("/api/webhooks/drop", &json!({"webhook": "cms"})).await.json()["count"], 1);
    assert_eq!(daemon.get("/api/webhooks/dead").await.json()["items"], json!([]));
    let audit = daemon.get("/api/audit").await.body;
    assert!(audit.contains("webhook.retry") && audit.contains("webhook.drop"), "{audit}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_tried_by_hand_and_one_without_a_key_stops_the_start() {
    let (receiver, address) = Receiver::start(&[204, 500]).await;
    let mut bench = Bench::new(&[("cms", address, None)], &[]).await;
    assert_eq!(bench.command(&["test", "cms"]).await["delivered"], true);
    let ping = receiver.hits().remove(0);
    assert!(ping.json()["type"] == "ping" && ping.is_signed_with(SECRET), "{ping:?}");
    let failed = finish(&bench.environment, &["webhooks", "test", "cms"], "").await;
    assert!(failed.code == 69 && failed.stderr.contains("answered 500"), "{failed:?}");
    let unknown = finish(&bench.environment, &["webhooks", "test", "nobody"], "").await;
    assert!(unknown.code == 78 && unknown.stderr.contains("none is called nobody"), "{unknown:?}");
    let made = finish(&bench.environment, &["webhooks", "secret"], "").await;
    assert!(made.ok().starts_with("whsec_"), "{made:?}");
    for key in [None, Some("hunter2")] {
        bench.environment.retain(|(name, _)| name != "CORROBORATE_WEBHOOK_CMS_SECRET");
        bench.environment.extend(key.map(|key| ("CORROBORATE_WEBHOOK_CMS_SECRET".to_owned(), key.to_owned())));
        for arguments in [&["config", "check"][..], &["serve"]] {
            let refused = finish(&bench.environment, arguments, "").await;
            assert!(refused.code == 78, "{refused:?}");
            let told = format!("{}{}", refused.stdout, refused.stderr);
            assert!(told.contains("cms has") && !told.contains("hunter2"), "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rest_that_a_receiver_asks_for_is_granted_to_all_its_messages() {
    let (receiver, address) = Receiver::start(&[429]).await;
    receiver.rest_asked("4");
    let bench = Bench::new(&[("cms", address, Some(&["item.enriched"]))], &[]).await;
    let daemon = bench.start().await;
    enqueue(&daemon, "first", TOLD).await;
    until("it is tried", async || !receiver.hits().is_empty()).await;
    enqueue(&daemon, "second", UNTOLD).await;
    until("both are taken", async || receiver.hits().len() >= 3).await;
    let hits = receiver.hits();
    let rested = hits[1].came - hits[0].came;
    assert!(rested.as_secs_f64() >= 3.8, "{rested:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_finds_is_posted_to_nobody_and_ids_that_name_nothing_are_an_error() {
    let (receiver, address) = Receiver::start(&[]).await;
    let bench = Bench::new(&[("cms", address, None)], &[]).await;
    finish(&bench.environment, &["check", TOLD, "--language", "en"], "").await.ok();
    let hooks = bench.command(&["list"]).await;
    assert_eq!((&hooks["items"][0]["name"], &hooks["items"][0]["pending"]), (&json!("cms"), &json!(0)), "{hooks:#}");
    for id in ["7", "seven"] {
        let refused = finish(&bench.environment, &["webhooks", "retry", id], "").await;
        assert!(refused.code == 1 && refused.stderr.contains("corroborate webhooks dead"), "{refused:?}");
    }
    let daemon = bench.start().await;
    let refused = finish(&bench.environment, &["webhooks", "drop", "7"], "").await;
    assert!(refused.code != 0 && refused.stderr.contains("exists any more"), "{refused:?}");
    assert_eq!(bench.command(&["drop", "--all"]).await["count"], 0);
    assert!(receiver.hits().is_empty());
    daemon.stop().await;
}
