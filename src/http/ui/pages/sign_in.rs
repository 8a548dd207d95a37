//! Sign-in, sign-out and language.
//!
//! Sign-in exchanges a token for a session cookie.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::chrome::{LANGUAGE, OwnForm, Page};
use super::super::shown;
use super::super::words::{code, reader_of};
use super::providers::EmptyForm;
use crate::http::auth::{Authenticator, Principal};
use crate::http::extract::ApiQuery;
use crate::http::problem::{PageMarker, Problem};
use crate::http::session;

const LANGUAGE_SECONDS: u32 = 31_536_000;

#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    page: Page,
    problem: Option<&'static str>,
    back: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct BackQuery {
    #[serde(default)]
    back: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TokenForm {
    token: String,
    #[serde(default)]
    back: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LanguageForm {
    to: String,
    #[serde(default)]
    back: String,
}

pub(crate) async fn show(page: Page, ApiQuery(BackQuery { back }): ApiQuery<BackQuery>) -> Result<Response, Problem> {
    if !page.could_sign_in() {
        return Ok(Redirect::to(own_path(&back)).into_response());
    }
    shown(&SignIn { page, problem: None, back })
}

pub(crate) async fn send(
    page: Page,
    Extension(authenticator): Extension<Arc<Authenticator>>,
    Extension(visitor): Extension<Principal>,
    OwnForm(form): OwnForm<TokenForm>,
) -> Result<Response, Problem> {
    if let Some(secret) = authenticator.sign_in(&form.token).await? {
        // The new session replaces this one.
        authenticator.sign_out(&visitor).await?;
        return with_cookie(Redirect::to(own_path(&form.back)), &session::set(&secret));
    }
    let problem = Some(page.t("signin.wrong"));
    let mut response = shown(&SignIn { page, problem, back: form.back })?;
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.extensions_mut().insert(PageMarker);
    Ok(response)
}

pub(crate) async fn out(
    Extension(authenticator): Extension<Arc<Authenticator>>,
    Extension(visitor): Extension<Principal>,
    OwnForm(EmptyForm {}): OwnForm<EmptyForm>,
) -> Result<Response, Problem> {
    authenticator.sign_out(&visitor).await?;
    with_cookie(Redirect::to("/sign-in"), &session::forget())
}

pub(crate) async fn language(ApiQuery(LanguageForm { to, back }): ApiQuery<LanguageForm>) -> Result<Response, Problem> {
    let chosen = code(reader_of(Some(&to), None));
    let cookie = format!("{LANGUAGE}={chosen}; Path=/; SameSite=Lax; Max-Age={LANGUAGE_SECONDS}");
    with_cookie(Redirect::to(own_path(&back)), &cookie)
}

fn with_cookie(redirect: Redirect, cookie: &str) -> Result<Response, Problem> {
    let mut response = redirect.into_response();
    let value = HeaderValue::from_str(cookie).map_err(|_invalid| Problem::internal())?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    Ok(response)
}

/// Another path becomes `/`, so that links cannot redirect readers elsewhere.
fn own_path(back: &str) -> &str {
    let is_own = back.starts_with('/') && !back.starts_with("//") && !back.contains(['\\', '\r', '\n', '\t']);
    if is_own { back } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn a_link_leads_back_to_this_server_alone() {
        for (given, kept) in [
            ("/items?q=a", "/items?q=a"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/\t/evil.example", "/"),
            ("", "/"),
        ] {
            assert_eq!(own_path(given), kept, "{given:?}");
        }
    }
}
