//! Errors as pages.
//!
//! Unknown visitors are redirected to sign in.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::chrome::Page;
use super::shown;
use crate::http::auth::{Authenticator, Principal};
use crate::http::problem::{PageMarker, Problem};

#[derive(Debug, Template)]
#[template(path = "error.html")]
struct ErrorPage {
    page: Page,
    detail: String,
    back: String,
}

/// The error layer. A script that requested a stream gets the problem unchanged.
pub(crate) async fn as_page(State(authenticator): State<Arc<Authenticator>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(authenticator);
    let is_navigation = parts
        .headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_none_or(|accepted| accepted.contains("text/html"));
    let mut asked = parts.clone();
    let method = parts.method.clone();
    let response = next.run(Request::from_parts(parts, body)).await;
    let status = response.status();
    let Some(problem) = response.extensions().get::<Problem>().filter(|_| is_navigation) else { return response };
    if let Some(visitor) = response.extensions().get::<Principal>() {
        asked.extensions.insert(visitor.clone());
    }
    let page = Page::of(&asked);
    if status == StatusCode::UNAUTHORIZED && page.path != "/sign-in" {
        let back = if method == Method::GET { page.path.as_str() } else { "/" };
        return Redirect::to(&format!("/sign-in?back={}", utf8_percent_encode(back, NON_ALPHANUMERIC))).into_response();
    }
    let may_not = status == StatusCode::FORBIDDEN && page.signed_in();
    let detail = if may_not { page.t("signin.may_not").to_owned() } else { problem.detail().to_owned() };
    let retry = response.headers().get(header::RETRY_AFTER).cloned();
    match shown(&ErrorPage { page, detail, back: "/".to_owned() }) {
        Ok(mut response) => {
            *response.status_mut() = status;
            response.headers_mut().extend(retry.map(|value| (header::RETRY_AFTER, value)));
            response.extensions_mut().insert(PageMarker);
            response
        }
        Err(problem) => problem.into_response(),
    }
}
