//! The router: every route of the tables behind the shared layers.
//!
//! Tables are in [`super::routes`] and [`super::ui`].

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::Uri;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

use super::auth::{self, Access, Authenticator};
use super::bodies::{self, BodyLimits};
use super::limit::{self, PeerLimit};
use super::problem::{self, Problem};
use super::routes::{Route, TimeoutClass};
use super::{App, HttpSettings, HttpState, openapi, routes, ui};
use crate::telemetry::metrics;

/// Timeout of ordinary requests.
const SHORT: Duration = Duration::from_secs(30);

/// Timeout of requests on many rows or dead letters.
const LONG: Duration = Duration::from_mins(5);

/// The router of the daemon; with `health_only`, only probes and metrics.
pub fn router(state: HttpState, health_only: bool) -> Router {
    let settings = Arc::clone(&state.settings);
    let openapi = openapi::document(settings.version).to_string().into();
    let app = App::new(state, openapi);
    let routes = routes::all()
        .filter(|route| !health_only || route.access == Access::Health)
        .map(|route| (Endpoint::of(route), (route.mount)(route.verb.filter()).with_state(app.clone())));
    let pages = ui::ROUTES
        .iter()
        .filter(|_| !health_only)
        .map(|page| (Endpoint::of_page(page), (page.mount)().with_state(app.clone())));
    let authenticator = Authenticator::new(&settings, Some(app.services.store.clone()));
    assemble(&settings, authenticator, routes.chain(pages))
}

struct Endpoint {
    path: &'static str,
    access: Access,
    patience: TimeoutClass,
    /// Errors are pages.
    is_page: bool,
}

impl Endpoint {
    const fn of(route: &Route) -> Self {
        Self { path: route.path, access: route.access, patience: route.patience, is_page: false }
    }

    const fn of_page(page: &ui::PageRoute) -> Self {
        Self { path: page.path, access: page.access, patience: page.patience, is_page: true }
    }
}

/// From the outside in: metrics, problems, panics, CORS, rate limit; per route: authentication, body, timeout. Only
/// authorised visitors get their body read.
fn assemble(
    settings: &HttpSettings,
    authenticator: Authenticator,
    routes: impl Iterator<Item = (Endpoint, MethodRouter)>,
) -> Router {
    let authenticator = Arc::new(authenticator);
    let body_limits = BodyLimits::new(settings.max_body_bytes);
    let mut router = Router::new();
    for (route, handler) in routes {
        let auth_middleware = from_fn_with_state((Arc::clone(&authenticator), route.access), auth::auth_middleware);
        let patience = from_fn_with_state(longest(route.patience, settings), limit::patience);
        let body = from_fn_with_state(body_limits.of(route.path), bodies::read);
        let mut handler = handler.route_layer(patience).route_layer(body).route_layer(auth_middleware);
        if route.is_page {
            handler = handler.route_layer(from_fn_with_state(Arc::clone(&authenticator), ui::as_page));
        }
        router = router.route(route.path, handler);
    }
    let mut router = router.fallback(unknown).layer(DefaultBodyLimit::disable());
    if let Some(limit) = PeerLimit::new(settings.requests_per_minute) {
        router = router.layer(from_fn_with_state(Arc::new(limit), limit::rate));
    }
    router
        .layer(from_fn_with_state(authenticator, auth::cors))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(from_fn(problem::finish))
        .layer(from_fn(measured))
}

fn longest(patience: TimeoutClass, settings: &HttpSettings) -> Duration {
    match patience {
        _ if settings.in_process => Duration::MAX,
        TimeoutClass::Short => SHORT,
        TimeoutClass::Check => settings.request_timeout,
        TimeoutClass::Long => LONG,
    }
}

async fn unknown(uri: Uri) -> Problem {
    let hint = if uri.path().starts_with("/api/items/") {
        "; an id that holds a slash is written with %2F"
    } else {
        "; /openapi.json lists what there is"
    };
    Problem::not_found(format!("there is nothing at this path{hint}"))
}

/// Counts a request. Paths are not a label, because they contain ids.
async fn measured(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let response = next.run(request).await;
    metrics::http_request(response.status().as_u16(), started.elapsed());
    response
}

#[cfg(test)]
mod tests;
