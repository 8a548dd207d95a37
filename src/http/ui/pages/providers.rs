//! The page of the providers.
//!
//! Admins may reset a state that does not come from the configuration.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::super::chart::{Chart, HOURS, hour_of, stacked};
use super::super::chrome::{OwnForm, Page};
use super::super::shown;
use crate::http::App;
use crate::http::auth::{Actor, Scope};
use crate::http::extract::ApiPath;
use crate::http::problem::Problem;
use crate::http::routes::overview::day_before;
use crate::http::routes::providers::ask_again;
use crate::judging::labels;
use crate::judging::plain::plain;
use crate::pipeline::ProviderStanding;
use crate::store::ProviderHour;

/// Limits from this value mean none: own stores and recordings.
const NO_LIMIT: u32 = 100_000;

#[derive(Debug, Template)]
#[template(path = "providers.html")]
struct Providers {
    page: Page,
    done: bool,
    money: String,
    spent: String,
    cap: String,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: &'static str,
    title: String,
    state: &'static str,
    state_words: &'static str,
    reason: Option<String>,
    until: String,
    rpm: String,
    calls: u64,
    errors: u64,
    month: String,
    chart: Option<Chart>,
    can_reset: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct EmptyForm {}

pub(crate) async fn show(State(app): State<App>, page: Page, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let services = &app.services;
    let standings = services.provider_standings().await?;
    let hours = services.store.reading().provider_hours(day_before(services)).await?;
    let now = services.clock.now();
    let spent: f64 = standings.iter().map(|one| one.usd_month).sum();
    let cap = app.settings.monthly_cap_usd.map(|cap| page.t("providers.cap").replace("{n}", &format!("{cap:.2}")));
    let money = format!("{}: {spent:.2} {}", page.t("providers.month"), cap.unwrap_or_default());
    let cap = app.settings.monthly_cap_usd.unwrap_or_default();
    let rows = standings.iter().map(|one| row(one, &hours, now, &page)).collect();
    shown(&Providers {
        money,
        spent: format!("{spent:.2}"),
        cap: format!("{cap:.2}"),
        done: query.as_deref() == Some("done"),
        rows,
        page,
    })
}

fn row(one: &ProviderStanding, hours: &[ProviderHour], now: DateTime<Utc>, page: &Page) -> Row {
    Row {
        chart: day(hours.iter().filter(|hour| hour.provider == one.name), now, page),
        name: one.name,
        title: labels::asked(one.name, page.reader).to_owned(),
        state: one.status,
        state_words: page.t(state_key(one.status)),
        reason: one.reason.as_deref().map(|reason| plain(reason).into_owned()),
        until: one.until.map(|until| until.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default(),
        rpm: one
            .rpm
            .map(|rpm| if rpm >= NO_LIMIT { page.t("providers.no_limit").to_owned() } else { rpm.to_string() })
            .unwrap_or_default(),
        calls: one.calls_today,
        errors: one.errors_today,
        month: format!("{:.2}", one.usd_month),
        can_reset: page.visitor.may(Scope::Admin) && is_closed_by_itself(one),
    }
}

/// Calls by hour, errors on top; `None` without calls.
fn day<'a>(hours: impl Iterator<Item = &'a ProviderHour>, now: DateTime<Utc>, page: &Page) -> Option<Chart> {
    let mut bars = vec![Vec::new(); HOURS];
    for hour in hours {
        let Some(bar) = hour_of(hour.hour, now).and_then(|at| bars.get_mut(at)) else { continue };
        let at = hour.hour.format("%H:00");
        *bar = vec![
            ("for", hour.requests - hour.errors, format!("{at}: {}", hour.requests)),
            ("against", hour.errors, format!("{at}: {} {}", page.t("providers.errors"), hour.errors)),
        ];
    }
    bars.iter().any(|bar| !bar.is_empty()).then(|| stacked(&bars))
}

/// Whether a reset can change the state.
fn is_closed_by_itself(one: &ProviderStanding) -> bool {
    matches!(one.status, "open" | "exhausted" | "failing") || (one.status == "disabled" && one.until.is_some())
}

fn state_key(state: &str) -> &'static str {
    match state {
        "ready" => "state.ready",
        "failing" => "state.failing",
        "open" => "state.open",
        "exhausted" => "state.exhausted",
        "disabled" => "state.disabled",
        _ => "state.unconfigured",
    }
}

pub(crate) async fn reset(
    State(app): State<App>,
    who: Actor,
    ApiPath(name): ApiPath,
    OwnForm(EmptyForm {}): OwnForm<EmptyForm>,
) -> Result<Response, Problem> {
    ask_again(&app, &who, &name).await?;
    Ok(Redirect::to("/providers?done").into_response())
}
