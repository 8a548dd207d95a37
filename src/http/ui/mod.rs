//! The pages: what editors and admins see in a browser. Made on the server, whole and useful without a script; style and script
//! come from inside the program, and a strict policy lets nothing else in.
//!
//! [`chrome`] is around every page, [`words`] holds what they say in four languages, [`card`] and [`answer`] show a result. What
//! a page does, the API does as well: pages call the same parts and keep nothing of their own.
//!
//! To add a page: a file in `pages` with its template, a line in [`ROUTES`], an entry in the menu, its words in `words.tsv`.

mod answer;
mod assets;
mod card;
mod chart;
mod chrome;
mod copied;
mod marks;
mod pages;
mod refused;
mod reliability;
mod words;

use askama::Template;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};

pub(super) use refused::as_page;

use super::App;
use super::auth::Access;
use super::problem::Problem;
use super::routes::Patience;

/// What a page may load and where it may send: itself alone.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// One page.
pub(super) struct PageRoute {
    pub(super) path: &'static str,
    pub(super) access: Access,
    pub(super) patience: Patience,
    pub(super) mount: fn() -> MethodRouter<App>,
}

const fn page(path: &'static str, access: Access, mount: fn() -> MethodRouter<App>) -> PageRoute {
    PageRoute { path, access, patience: Patience::Short, mount }
}

/// Every page and form.
pub(super) const ROUTES: &[PageRoute] = &[
    page("/", Access::Check, || get(pages::check::show)),
    PageRoute {
        path: "/check",
        access: Access::Check,
        patience: Patience::Check,
        mount: || post(pages::check::send).get(pages::check::show),
    },
    PageRoute {
        path: "/check/stream",
        access: Access::Check,
        patience: Patience::Check,
        mount: || post(pages::check::stream),
    },
    page("/items", Access::Read, || get(pages::items::show)),
    page("/items/export", Access::Read, || get(pages::items::export)),
    page("/evidence/{id}", Access::Read, || get(pages::item::show)),
    PageRoute {
        path: "/evidence/{id}/again",
        access: Access::Check,
        patience: Patience::Check,
        mount: || post(pages::item::again),
    },
    page("/overview", Access::Read, || get(pages::overview::show)),
    page("/domains", Access::Read, || get(pages::domains::show)),
    page("/domains/change", Access::Admin, || post(pages::domains::change)),
    page("/domains/undo", Access::Admin, || post(pages::domains::undo)),
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

/// A page as an answer.
fn shown(page: &impl Template) -> Result<Response, Problem> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page could not be made");
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
