//! Providers: state, limits, cost, and reset.
//!
//! A reset takes effect in every process and changes no configured limit.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Parameter, Route, text};
use crate::http::App;
use crate::http::auth::{Access, Actor};
use crate::http::extract::ApiPath;
use crate::http::problem::Problem;
use crate::pipeline::ProviderStanding;

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/api/providers", Access::Read, "listProviders", |method| on(method, list))
        .about("List providers with state, calls, errors and cost")
        .answer::<Vec<ProviderStanding>>("The providers in the order they are asked"),
    Route::post("/api/providers/{name}/reset", Access::Admin, "resetProvider", |method| on(method, reset))
        .about("Close the circuit breaker of a provider in every process")
        .parameters(&[Parameter::path("name", "the provider, as GET /api/providers names it", text)])
        .answer::<Reset>("What was done"),
];

/// The result of a reset.
#[derive(Debug, Serialize, JsonSchema)]
struct Reset {
    provider: &'static str,
    /// Circuit breakers that were open and are now closed. Configured limits stay.
    closed: u64,
}

async fn list(State(app): State<App>) -> Result<Json<Vec<ProviderStanding>>, Problem> {
    Ok(Json(app.services.provider_standings().await?))
}

pub(crate) fn known(name: &str) -> Result<&'static str, Problem> {
    // The language model has a circuit breaker too.
    let known = crate::providers::NAMES.iter().chain(&["llm"]).find(|known| **known == name).copied();
    known.ok_or_else(|| Problem::not_found(format!("no provider is called {name}; GET /api/providers lists them")))
}

/// Resets a provider for every process.
pub(crate) async fn ask_again(app: &App, who: &Actor, name: &str) -> Result<u64, Problem> {
    let provider = known(name)?;
    let closed = app.services.store.reset_breakers(provider).await?;
    who.did(app, "provider.reset", provider, Some(serde_json::json!({ "closed": closed }))).await;
    Ok(closed)
}

async fn reset(State(app): State<App>, who: Actor, ApiPath(name): ApiPath) -> Result<Json<Reset>, Problem> {
    let provider = known(&name)?;
    let closed = ask_again(&app, &who, provider).await?;
    Ok(Json(Reset { provider, closed }))
}
