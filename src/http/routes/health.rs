//! Is it alive, is it ready, what does it count, what can it be asked.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use super::{Answer, Content, Patience, Route, Verb};
use crate::domain::{Clock as _, SystemClock};
use crate::http::App;
use crate::http::auth::Access;
use crate::http::problem::Problem;
use crate::http::recent::Recent;
use crate::outbound::GateState;
use crate::supervisor::Failure;

pub(crate) const ROUTES: &[Route] = &[
    Route {
        verb: Verb::Get,
        path: "/healthz",
        access: Access::Health,
        patience: Patience::Short,
        operation: "isAlive",
        summary: "Whether the process runs; asks nothing else",
        parameters: &[],
        body: None,
        answer: Answer::json("It runs", SchemaGenerator::subschema_for::<Alive>),
        mount: |method| on(method, alive),
    },
    Route {
        verb: Verb::Get,
        path: "/readyz",
        access: Access::Health,
        patience: Patience::Short,
        operation: "isReady",
        summary: "Whether items can be worked on: 503 with the reasons while the store or the queue is away, page parsing is stuck, or a background task has failed",
        parameters: &[],
        body: None,
        answer: Answer::json(
            "It is ready; providers that cannot be asked are named",
            SchemaGenerator::subschema_for::<Ready>,
        ),
        mount: |method| on(method, ready),
    },
    Route {
        verb: Verb::Get,
        path: "/metrics",
        access: Access::Health,
        patience: Patience::Short,
        operation: "metrics",
        summary: "Metrics in Prometheus' text format",
        parameters: &[],
        body: None,
        answer: Answer { status: 200, about: "The metrics", content: Content { media: "text/plain", schema: plain } },
        mount: |method| on(method, metrics),
    },
    Route {
        verb: Verb::Get,
        path: "/openapi.json",
        access: Access::Public,
        patience: Patience::Short,
        operation: "describe",
        summary: "This description",
        parameters: &[],
        body: None,
        answer: Answer::json("An OpenAPI 3.1 document", object),
        mount: |method| on(method, describe),
    },
    Route {
        verb: Verb::Get,
        path: "/api/health",
        access: Access::Public,
        patience: Patience::Short,
        operation: "health",
        summary: "Status and the size of the knowledge base, up to half a minute old",
        parameters: &[],
        body: None,
        answer: Answer::json("The store answers", SchemaGenerator::subschema_for::<Health>),
        mount: |method| on(method, health),
    },
];

/// How long the store may take for one round trip before it counts as away. The embedded store has one connection, and a
/// commit under load holds it for some milliseconds.
const PING: Duration = Duration::from_secs(2);

/// How long its answer stands for others who ask.
const FRESH_PING: Duration = Duration::from_secs(1);

/// How old the size of the knowledge base may be.
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
    /// Whether this process takes items from the queue.
    worker: bool,
    /// Why the process takes no items now: the store is away, or recent items failed with one error.
    paused: Option<String>,
    providers: Unaskable,
}

/// Providers that cannot be asked at the moment. Results say so; the daemon stays ready.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Unaskable {
    /// Failing; tried again by itself.
    open: Vec<&'static str>,
    /// An allowance is used up: the provider's own, or the day's, month's or spending cap's of this configuration.
    exhausted: Vec<&'static str>,
    /// The key was refused; tried again once a day.
    disabled: Vec<&'static str>,
    /// Without a key or an address.
    unconfigured: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// Evidence sentences stored; an estimate where there are more than 100,000.
    kb_size: i64,
}

/// What these routes found out last. They are open to everybody, so a burst of questions is one question to the store.
#[derive(Debug)]
pub(crate) struct Looks {
    /// Why the store cannot be used; `None` while it can.
    store: Recent<Option<String>>,
    /// Evidence sentences; `None` where the store could not say.
    kb_size: Recent<Option<i64>>,
}

impl Default for Looks {
    fn default() -> Self {
        Self { store: Recent::new(FRESH_PING), kb_size: Recent::new(FRESH_SIZE) }
    }
}

fn plain(_generator: &mut SchemaGenerator) -> Schema {
    super::text()
}

fn object(_generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "object"})
}

async fn alive(State(app): State<App>) -> Json<Alive> {
    Json(Alive { status: "ok", version: app.settings.version })
}

async fn ready(State(app): State<App>) -> Response {
    // Each is a reason by itself; None: all is well.
    let reasons = [
        app.stopping.is_cancelled().then(|| "stopping: no new items are taken".to_owned()),
        app.supervisor.failure().as_ref().map(failed),
        app.services.parsers.exhausted().map(|detail| format!("page parsing: {detail}")),
        app.looks.store.get(store_away(&app)).await,
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

/// The process drains its items and then ends with this error.
fn failed(failure: &Failure) -> String {
    format!("failed: {failure}; this process is about to end")
}

/// Why the store cannot be used; `None` while it can. A process whose clock differs from the database's is not ready: it dates
/// results wrongly.
async fn store_away(app: &App) -> Option<String> {
    match tokio::time::timeout(PING, app.services.store.check_clock(SystemClock.now())).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("store: {error}")),
        Err(_elapsed) => Some(format!("store: it did not answer within {} seconds", PING.as_secs())),
    }
}

/// 503 with the reasons, `None` when there are none.
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
                tracing::debug!(%error, "the knowledge base could not be counted");
                None
            }
            Err(_elapsed) => None,
        }
    };
    let Some(kb_size) = app.looks.kb_size.get(size).await else {
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
