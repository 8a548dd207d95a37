//! The page of tokens.
//!
//! Actions call `routes::tokens`, as the API does.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::super::chrome::{OwnForm, Page};
use super::super::shown;
use crate::http::App;
use crate::http::auth::Actor;
use crate::http::problem::Problem;
use crate::http::routes::tokens::{self, TokenRequest};
use crate::judging::plain::plain;
use crate::store::StoredToken;

const SCOPES: [&str; 3] = ["read", "check", "admin"];

#[derive(Debug, Template)]
#[template(path = "tokens.html")]
struct Tokens {
    page: Page,
    /// A new token, shown only once.
    made: Option<String>,
    problem: Option<String>,
    rows: Vec<Row>,
    scopes: Vec<(&'static str, &'static str)>,
}

#[derive(Debug)]
struct Row {
    name: String,
    scope: &'static str,
    rate: String,
    made: String,
    used: String,
    ends: String,
    is_valid: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TokenForm {
    name: String,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    rate: String,
    #[serde(default)]
    days: String,
    /// `make` or `revoke`.
    action: String,
}

pub(crate) async fn show(State(app): State<App>, page: Page) -> Result<Response, Problem> {
    whole(&app, page, None, None).await
}

async fn whole(app: &App, page: Page, made: Option<String>, problem: Option<String>) -> Result<Response, Problem> {
    let stored = app.services.store.tokens().await?;
    let now = app.services.clock.now();
    let rows = stored.iter().map(|token| row(token, &page, now)).collect();
    let scopes = SCOPES.iter().map(|scope| (*scope, page.t(scope_key(scope)))).collect();
    shown(&Tokens { page, made, problem, rows, scopes })
}

fn row(token: &StoredToken, page: &Page, now: DateTime<Utc>) -> Row {
    let is_over = token.expires_at.is_some_and(|end| end <= now);
    let moment = |at: Option<DateTime<Utc>>| at.map(|at| at.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
    Row {
        name: plain(&token.name).into_owned(),
        scope: page.t(scope_key(&token.scope)),
        rate: token.requests_per_minute.map(|rate| rate.to_string()).unwrap_or_default(),
        made: format!("{} · {}", token.created_at.format("%Y-%m-%d"), plain(&token.created_by)),
        used: moment(token.used_at),
        ends: if token.revoked_at.is_some() { page.t("tokens.revoked").to_owned() } else { moment(token.expires_at) },
        is_valid: token.revoked_at.is_none() && !is_over,
    }
}

fn scope_key(scope: &str) -> &'static str {
    match scope {
        "admin" => "scope.admin",
        "check" => "scope.check",
        _ => "scope.read",
    }
}

pub(crate) async fn change(
    State(app): State<App>,
    page: Page,
    who: Actor,
    OwnForm(form): OwnForm<TokenForm>,
) -> Result<Response, Problem> {
    if form.action == "revoke" {
        tokens::end(&app, &who, &form.name).await?;
        return Ok(Redirect::to("/tokens").into_response());
    }
    let given = request(form);
    let made = match given {
        Ok(request) => tokens::give(&app, &who, &request).await,
        Err(problem) => Err(problem),
    };
    match made {
        // A redirect would have to carry the token.
        Ok(made) => whole(&app, page, Some(made.token), None).await,
        Err(problem) => whole(&app, page, None, Some(problem.detail().to_owned())).await,
    }
}

fn request(form: TokenForm) -> Result<TokenRequest, Problem> {
    let count = |text: &str| match text.trim() {
        "" => Ok(None),
        text => {
            let count = text.parse::<u32>().map(Some);
            count.map_err(|_no_number| Problem::invalid(format!("rates and days are whole numbers (got {text:?})")))
        }
    };
    let (requests_per_minute, days) = (count(&form.rate)?, count(&form.days)?);
    Ok(TokenRequest { name: form.name, scope: form.scope, requests_per_minute, days })
}
