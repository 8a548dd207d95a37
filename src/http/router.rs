//! The router: every route of the table, behind the layers that all of them share.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;

use super::auth::{self, Access, Doorman};
use super::bodies::{self, BodyLimits};
use super::keyring::Keyring;
use super::limit::{self, PeerLimit};
use super::measure;
use super::problem::{self, Problem};
use super::routes::{Patience, Route};
use super::{App, HttpSettings, HttpState, openapi, routes, ui};

/// The longest an ordinary request may take.
const SHORT: Duration = Duration::from_secs(30);

/// The longest that many rows or dead letters may take.
const LONG: Duration = Duration::from_mins(5);

/// The router of the daemon; with `health_only` nothing but the probes and the metrics is there.
pub fn router(state: HttpState, health_only: bool) -> Router {
    let settings = Arc::clone(&state.settings);
    let openapi = openapi::document(settings.version).to_string().into();
    let app = App::new(state, openapi);
    let routes = routes::all()
        .filter(|route| !health_only || route.access == Access::Health)
        .map(|route| (Door::of(route), (route.mount)(route.verb.filter()).with_state(app.clone())));
    let pages = ui::ROUTES
        .iter()
        .filter(|_| !health_only)
        .map(|page| (Door::of_page(page), (page.mount)().with_state(app.clone())));
    let keyring = Keyring::new(app.services.store.clone());
    assemble(&settings, Doorman::new(&settings, Some(keyring)), routes.chain(pages))
}

/// What stands before a handler.
struct Door {
    path: &'static str,
    access: Access,
    patience: Patience,
    /// Refusals are pages, too.
    is_page: bool,
}

impl Door {
    const fn of(route: &Route) -> Self {
        Self { path: route.path, access: route.access, patience: route.patience, is_page: false }
    }

    const fn of_page(page: &ui::PageRoute) -> Self {
        Self { path: page.path, access: page.access, patience: page.patience, is_page: true }
    }
}

/// Puts the layers around the routes. From the outside in: what is answered is counted, errors become problems, panics
/// become errors, CORS, the rate; then for each route its door, its body and its time. A body is read only for a
/// visitor who is authorised.
fn assemble(settings: &HttpSettings, doorman: Doorman, routes: impl Iterator<Item = (Door, MethodRouter)>) -> Router {
    let doorman = Arc::new(doorman);
    let body_limits = BodyLimits::new(settings.max_body_bytes);
    let mut router = Router::new();
    for (route, handler) in routes {
        let door = from_fn_with_state((Arc::clone(&doorman), route.access), auth::door);
        let patience = from_fn_with_state(longest(route.patience, settings), limit::patience);
        let body = from_fn_with_state(body_limits.of(route.path), bodies::read);
        let mut handler = handler.route_layer(patience).route_layer(body).route_layer(door);
        if route.is_page {
            handler = handler.route_layer(from_fn_with_state(Arc::clone(&doorman), ui::as_page));
        }
        router = router.route(route.path, handler);
    }
    let mut router = router.fallback(unknown).layer(DefaultBodyLimit::disable());
    if let Some(limit) = PeerLimit::new(settings.requests_per_minute) {
        router = router.layer(from_fn_with_state(Arc::new(limit), limit::rate));
    }
    router
        .layer(from_fn_with_state(doorman, auth::cors))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(from_fn(problem::finish))
        .layer(from_fn(measure::measured))
}

fn longest(patience: Patience, settings: &HttpSettings) -> Duration {
    match patience {
        Patience::Short => SHORT,
        Patience::Check => settings.request_timeout,
        Patience::Long => LONG,
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

#[cfg(test)]
mod tests;
