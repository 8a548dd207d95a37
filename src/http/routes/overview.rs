//! The last day: verdicts, degraded results, provider calls, the queue, and models.
//!
//! Figures are cached for [`FRESH`], because counting is slow.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::Route;
use crate::http::App;
use crate::http::auth::Access;
use crate::http::problem::Problem;
use crate::pipeline::Services;
use crate::store::{CauseCount, HourlyVerdicts, OutboxState, ProviderHour};

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/api/overview", Access::Read, "overview", |method| on(method, overview))
        .about("Verdicts of the last 24 hours by hour, causes of degradation, and loaded models; up to a minute old")
        .answer::<Overview>("The figures"),
    Route::get("/api/providers/hours", Access::Read, "listProviderHours", |method| on(method, hours))
        .about("Calls per provider and hour, last 24 hours")
        .answer::<super::List<ProviderHour>>("The hours"),
    Route::get("/api/queue", Access::Admin, "queue", |method| on(method, queue))
        .about("Waiting items, items in work, and the lag of this process")
        .answer::<Waiting>("The queue"),
];

/// Counting a day of many items is slow.
pub(crate) const FRESH: Duration = Duration::from_mins(1);

/// Main languages of the items, with an example text.
const LANGUAGES: [(&str, &str); 3] = [
    ("en", "The government said on Monday that the bridge will be closed for repairs."),
    ("ru", "Правительство сообщило в понедельник, что мост будет закрыт на ремонт."),
    ("uk", "Уряд повідомив у понеділок, що міст буде закрито на ремонт."),
];

/// Figures of the last day.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// Start of the counted period.
    pub(crate) since: DateTime<Utc>,
    pub(crate) answers: Vec<HourlyVerdicts>,
    pub(crate) gaps: Vec<CauseCount>,
    pub(crate) models: AtWork,
}

/// The models in this process.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct AtWork {
    pub(crate) embedder: String,
    pub(crate) stance: String,
    pub(crate) reranker: String,
    pub(crate) translator: Option<String>,
    pub(crate) language_model: Option<String>,
    /// How each language of the items is read.
    pub(crate) languages: Vec<Reading>,
}

/// How a language is read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Reading {
    /// ISO 639-1.
    pub(crate) language: &'static str,
    /// `model`, `translated` (into a language that the model reads) or `words` (compared by words alone).
    pub(crate) by: &'static str,
}

/// Numbers of waiting messages and results.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Waiting {
    pub(crate) important: u64,
    pub(crate) enrichment: u64,
    pub(crate) factcheck: u64,
    /// Dead letters.
    pub(crate) dead: u64,
    /// Time of the oldest waiting message; null if none or unknown.
    pub(crate) oldest: Option<DateTime<Utc>>,
    /// Messages in work in this process; null without metrics.
    pub(crate) in_work: Option<u64>,
    /// How long messages waited before this process took them, seconds.
    pub(crate) lag_seconds: Option<f64>,
    /// Results that the broker has not confirmed yet.
    pub(crate) results_pending: u64,
    /// Results that were refused for half a day.
    pub(crate) results_parked: u64,
}

/// The figures, at most a minute old.
pub(crate) async fn recent(app: &App) -> Result<Overview, Problem> {
    Ok(app.overview.try_get(gathered(app)).await?)
}

async fn gathered(app: &App) -> Result<Overview, crate::store::StoreError> {
    let services = &app.services;
    let since = day_before(services);
    Ok(Overview {
        since,
        answers: services.store.reading().hourly_verdicts(since).await?,
        gaps: services.store.reading().degraded_causes(since).await?,
        models: at_work(services),
    })
}

pub(crate) fn day_before(services: &Services) -> DateTime<Utc> {
    services.clock.now() - TimeDelta::hours(24)
}

fn at_work(services: &Services) -> AtWork {
    let models = &services.models;
    let by = |text: &str| {
        if models.stance.reads(text) {
            "model"
        } else if services.translator.is_some() && models.stance.pivot().is_some() {
            "translated"
        } else {
            "words"
        }
    };
    AtWork {
        embedder: models.embedder.name().to_owned(),
        stance: models.stance.name().to_owned(),
        reranker: models.reranker.name().to_owned(),
        translator: services.translator.as_ref().map(|translator| translator.name().to_owned()),
        language_model: services.language_model.as_ref().map(|model| model.name().to_owned()),
        languages: LANGUAGES.iter().map(|(language, text)| Reading { language, by: by(text) }).collect(),
    }
}

pub(crate) async fn waiting(app: &App) -> Result<Waiting, Problem> {
    let depth = app.queue.depth().await?;
    let OutboxState { pending, parked, .. } = app.services.store.outbox_state().await?;
    let metrics = (app.render_metrics)();
    Ok(Waiting {
        important: depth.important,
        enrichment: depth.enrichment,
        factcheck: depth.factcheck,
        dead: depth.dead,
        oldest: depth.oldest,
        in_work: gauge(&metrics, "corroborate_items_in_flight").and_then(|value| format!("{value:.0}").parse().ok()),
        lag_seconds: gauge(&metrics, "corroborate_queue_lag_seconds"),
        results_pending: pending,
        results_parked: parked,
    })
}

/// A gauge without labels.
fn gauge(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

async fn overview(State(app): State<App>) -> Result<Json<Overview>, Problem> {
    recent(&app).await.map(Json)
}

async fn hours(State(app): State<App>) -> Result<Json<super::List<ProviderHour>>, Problem> {
    Ok(Json(super::List::whole(app.services.store.reading().provider_hours(day_before(&app.services)).await?)))
}

async fn queue(State(app): State<App>) -> Result<Json<Waiting>, Problem> {
    waiting(&app).await.map(Json)
}

#[cfg(test)]
mod tests {
    use super::gauge;

    #[test]
    fn a_figure_is_read_by_its_whole_name() {
        let page = "# HELP x\ncorroborate_items_in_flight_max 9\ncorroborate_items_in_flight 3\n";
        assert_eq!(gauge(page, "corroborate_items_in_flight"), Some(3.0));
        assert_eq!(gauge(page, "corroborate_queue_lag_seconds"), None);
    }
}
