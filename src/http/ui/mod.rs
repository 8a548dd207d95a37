//! The web UI: pages rendered on the server, usable without a script.
//!
//! [`chrome`] is the frame of every page, [`words`] has the texts, [`card`] and [`answer`] show a result. A strict
//! policy forbids everything from outside the program. Pages call the functions of the API and store nothing.
//!
//! To add a page, add a file and template to `pages`, a line to [`ROUTES`], a menu entry, and texts to `words.tsv`.

mod answer;
mod assets;
mod card;
mod chart;
mod chrome;
mod copied;
mod marks;
mod refused;
mod words;

/// The pages, one file each.
mod pages {
    pub(super) mod audit;
    pub(super) mod check;
    pub(super) mod docs;
    pub(super) mod domains;
    pub(super) mod item;
    pub(super) mod items;
    pub(super) mod overview;
    pub(super) mod providers;
    pub(super) mod queue;
    pub(super) mod sign_in;
    pub(super) mod tokens;
}

use askama::Template;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};

pub(super) use refused::as_page;

use super::App;
use super::auth::Access;
use super::problem::Problem;
use super::routes::TimeoutClass;

/// Content security policy: only this server is allowed.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(super) struct PageRoute {
    pub(super) path: &'static str,
    pub(super) access: Access,
    pub(super) patience: TimeoutClass,
    pub(super) mount: fn() -> MethodRouter<App>,
}

const fn page(path: &'static str, access: Access, mount: fn() -> MethodRouter<App>) -> PageRoute {
    PageRoute { path, access, patience: TimeoutClass::Short, mount }
}

pub(super) const ROUTES: &[PageRoute] = &[
    page("/", Access::Check, || get(pages::check::show)),
    PageRoute {
        path: "/check",
        access: Access::Check,
        patience: TimeoutClass::Check,
        mount: || post(pages::check::send).get(pages::check::show),
    },
    PageRoute {
        path: "/check/stream",
        access: Access::Check,
        patience: TimeoutClass::Check,
        mount: || post(pages::check::stream),
    },
    page("/items", Access::Read, || get(pages::items::show)),
    page("/items/export", Access::Read, || get(pages::items::export)),
    page("/evidence/{id}", Access::Read, || get(pages::item::show)),
    PageRoute {
        path: "/evidence/{id}/again",
        access: Access::Check,
        patience: TimeoutClass::Check,
        mount: || post(pages::item::again),
    },
    page("/overview", Access::Read, || get(pages::overview::show)),
    page("/domains", Access::Read, || get(pages::domains::show)),
    page("/domains/change", Access::Admin, || post(pages::domains::change)),
    page("/domains/import", Access::Admin, || post(pages::domains::import)),
    page("/providers", Access::Read, || get(pages::providers::show)),
    page("/providers/{name}/reset", Access::Admin, || post(pages::providers::reset)),
    page("/queue", Access::Admin, || get(pages::queue::show)),
    page("/queue/letter/{id}/{action}", Access::Admin, || post(pages::queue::act)),
    page("/queue/reason/{action}", Access::Admin, || post(pages::queue::act_on_reason)),
    page("/queue/message/{id}/{action}", Access::Admin, || post(pages::queue::act_on_message)),
    page("/queue/webhook/{name}/{action}", Access::Admin, || post(pages::queue::act_on_webhook)),
    page("/tokens", Access::Admin, || get(pages::tokens::show).post(pages::tokens::change)),
    page("/audit", Access::Admin, || get(pages::audit::show)),
    page("/sign-in", Access::Public, || get(pages::sign_in::show).post(pages::sign_in::send)),
    page("/sign-out", Access::Public, || post(pages::sign_in::out)),
    page("/language", Access::Public, || get(pages::sign_in::language)),
    page("/docs", Access::Public, || get(pages::docs::show)),
    page("/assets/{version}/{name}", Access::Health, || get(assets::asset)),
];

fn shown(page: &impl Template) -> Result<Response, Problem> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "page rendering failed");
        Problem::internal()
    })?;
    Ok(under_policy(Html(html).into_response()))
}

fn under_policy(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
