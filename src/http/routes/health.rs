//! Probes, metrics and the API description.
//!
//! These routes are public, so their store queries are shared and cached ([`HealthCache`]).

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{Route, object, plain_text};
use crate::domain::{Clock as _, SystemClock};
use crate::http::App;
use crate::http::auth::Access;
use crate::http::problem::Problem;
use crate::http::recent::CachedLookup;
use crate::outbound::GateState;
use crate::supervisor::Failure;

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/healthz", Access::Health, "isAlive", |method| on(method, alive))
        .about("Liveness: the process runs")
        .answer::<Alive>("It runs"),
    Route::get("/readyz", Access::Health, "isReady", |method| on(method, ready))
        .about(
            "Readiness: 503 with reasons if the store or queue is unavailable, page parsing is \
             blocked, or a background job ended",
        )
        .answer::<Ready>("It is ready; providers that cannot be asked are named"),
    Route::get("/metrics", Access::Health, "metrics", |method| on(method, metrics))
        .about("Metrics in Prometheus' text format")
        .answer_of("The metrics", plain_text)
        .media("text/plain"),
    Route::get("/openapi.json", Access::Public, "describe", |method| on(method, describe))
        .about("This OpenAPI document")
        .answer_of("An OpenAPI 3.1 document", object),
    Route::get("/api/health", Access::Public, "health", |method| on(method, health))
        .about("Status and number of stored sentences, up to 30 seconds old")
        .answer::<Health>("The store answers"),
];

/// The embedded store has one connection, and a commit under load holds it for some milliseconds.
const PING: Duration = Duration::from_secs(2);

/// Cache time of a ping.
const FRESH_PING: Duration = Duration::from_secs(1);

/// Cache time of the knowledge base's size.
const FRESH_SIZE: Duration = Duration::from_secs(30);

#[derive(Debug, Serialize, JsonSchema)]
struct Alive {
    /// `ok`.
    status: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Ready {
    /// `ready`.
    status: &'static str,
    version: &'static str,
    /// `embedded` or `postgres`.
    store: &'static str,
    /// Whether this process takes items.
    worker: bool,
    /// Why this process takes no items now: the store is away, or recent items failed with one error.
    paused: Option<String>,
    providers: Unaskable,
}

/// Providers that cannot be queried now. The daemon stays ready.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Unaskable {
    /// Circuit breaker open; retried automatically.
    open: Vec<&'static str>,
    /// Used up: the provider's quota or a configured limit.
    exhausted: Vec<&'static str>,
    /// The provider refused the key; retried once a day.
    disabled: Vec<&'static str>,
    /// Without a key or an address.
    unconfigured: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// Number of stored evidence sentences; an estimate above 100,000.
    kb_size: i64,
}

/// Cached results, so that a burst of requests is one store query.
#[derive(Debug)]
pub(crate) struct HealthCache {
    /// Why the store cannot be used; `None`: usable.
    store: CachedLookup<Option<String>>,
    /// Evidence sentences; `None`: the store is away.
    kb_size: CachedLookup<Option<i64>>,
}

impl Default for HealthCache {
    fn default() -> Self {
        Self { store: CachedLookup::new(FRESH_PING), kb_size: CachedLookup::new(FRESH_SIZE) }
    }
}

async fn alive(State(app): State<App>) -> Json<Alive> {
    Json(Alive { status: "ok", version: app.settings.version })
}

async fn ready(State(app): State<App>) -> Response {
    // Each is a reason by itself; `None`: no problem.
    let reasons = [
        app.stopping.is_cancelled().then(|| "stopping: no new items are taken".to_owned()),
        app.supervisor.failure().as_ref().map(failed),
        app.services.parsers.exhausted().map(|detail| format!("page parsing: {detail}")),
        app.health_cache.store.get(store_away(&app)).await,
        app.queue.ready().err().map(|reason| format!("queue: {reason}")),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    let providers = unaskable(&app);
    if let Some(problem) = not_ready(&reasons) {
        return problem.with("providers", json!(providers)).into_response();
    }
    let store = if app.settings.embedded { "embedded" } else { "postgres" };
    let (version, worker, paused) = (app.settings.version, app.settings.worker, (app.intake_paused)());
    let body = Ready { status: "ready", version, store, worker, paused, providers };
    Json(body).into_response()
}

/// The reason text; the process finishes its items and then ends.
fn failed(failure: &Failure) -> String {
    format!("failed: {failure}; this process is about to end")
}

/// Why the store cannot be used; `None` if it can. The clock is compared with the database's, because results would
/// have wrong dates.
async fn store_away(app: &App) -> Option<String> {
    match tokio::time::timeout(PING, app.services.store.check_clock(SystemClock.now())).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("store: {error}")),
        Err(_elapsed) => Some(format!("store: it did not answer within {} seconds", PING.as_secs())),
    }
}

/// 503 with the reasons; `None` without reasons.
fn not_ready(reasons: &[String]) -> Option<Problem> {
    (!reasons.is_empty()).then(|| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", reasons.join("; "))
            .with("reasons", json!(reasons))
            .retry_after(PING)
    })
}

fn unaskable(app: &App) -> Unaskable {
    let mut found = Unaskable { unconfigured: app.services.providers.unconfigured.clone(), ..Unaskable::default() };
    for provider in app.services.providers.configured() {
        let status = provider.status();
        match status.state {
            GateState::Ready => {}
            GateState::Open => found.open.push(status.name),
            GateState::Exhausted => found.exhausted.push(status.name),
            GateState::Disabled => found.disabled.push(status.name),
        }
    }
    found
}

async fn metrics(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (app.render_metrics)())
}

async fn describe(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi.to_string())
}

async fn health(State(app): State<App>) -> Result<Json<Health>, Problem> {
    let size = async {
        match tokio::time::timeout(PING, app.services.store.evidence_claim_count()).await {
            Ok(Ok(count)) => Some(count),
            Ok(Err(error)) => {
                tracing::debug!(%error, "counting stored evidence failed");
                None
            }
            Err(_elapsed) => None,
        }
    };
    let Some(kb_size) = app.health_cache.kb_size.get(size).await else {
        return Err(Problem::unavailable("store-away", "the store did not answer; ask again in half a minute"));
    };
    Ok(Json(Health { status: "ok", kb_size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_names_the_task_that_failed() {
        let failure = Failure { task: "the answer writer", detail: "it panicked: no disk".to_owned() };
        let reason = "failed: the answer writer ended unexpectedly: it panicked: no disk; this process is about to end";
        assert_eq!(failed(&failure), reason);
    }

    #[test]
    fn reasons_make_it_unready_and_are_all_named() {
        assert!(not_ready(&[]).is_none());
        let problem = not_ready(&["store: away".to_owned(), "queue: away".to_owned()]).unwrap();
        let response = problem.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
    }
}
