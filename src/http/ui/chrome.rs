//! The frame of every page: language, menu and visitor.
//!
//! Handlers take a [`Page`] as parameter.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::assets;
use super::words::{code, own_name, reader_of, words};
use crate::http::auth::{Authenticator, Principal, Scope};
use crate::http::problem::Problem;
use crate::http::session::cookie;
use crate::judging::labels::{ReaderLanguage, firmness};

/// The cookie with the reader's language.
pub(super) const LANGUAGE: &str = "corroborate_language";

/// A page of the menu: URL, key of the text, required scope.
type MenuPage = (&'static str, &'static str, Scope);

/// The pages of editors.
const EDITING: [MenuPage; 2] = [("/", "nav.check", Scope::Check), ("/items", "nav.items", Scope::Read)];

/// The pages of operators and admins.
const ADMINISTRATION: [MenuPage; 6] = [
    ("/overview", "nav.overview", Scope::Read),
    ("/domains", "nav.domains", Scope::Read),
    ("/providers", "nav.providers", Scope::Read),
    ("/queue", "nav.queue", Scope::Admin),
    ("/tokens", "nav.tokens", Scope::Admin),
    ("/audit", "nav.audit", Scope::Admin),
];

#[derive(Debug)]
pub(crate) struct Page {
    pub(super) reader: ReaderLanguage,
    /// With its query.
    pub(super) path: String,
    pub(super) csrf: String,
    pub(super) visitor: Principal,
    has_sessions: bool,
}

pub(super) struct Entry {
    pub(super) href: &'static str,
    pub(super) key: &'static str,
    pub(super) here: bool,
}

pub(super) struct LanguageChoice {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    pub(super) here: bool,
}

impl Page {
    pub(super) fn t(&self, key: &str) -> &'static str {
        words(key, self.reader)
    }

    pub(super) const fn firmer(&self) -> &'static str {
        firmness::FIRMER.of(self.reader)
    }

    pub(super) fn stage(&self, stage: &str) -> &'static str {
        words(&format!("stage.{stage}"), self.reader)
    }

    pub(super) const fn lang(&self) -> &'static str {
        code(self.reader)
    }

    #[expect(clippy::unused_self, reason = "templates ask the page")]
    pub(super) fn build(&self) -> &'static str {
        assets::version()
    }

    pub(super) const fn signed_in(&self) -> bool {
        self.visitor.session.is_some()
    }

    /// Whether the visitor is not signed in but could be.
    pub(super) const fn could_sign_in(&self) -> bool {
        self.has_sessions && self.visitor.session.is_none()
    }

    pub(super) fn editing(&self) -> Vec<Entry> {
        self.entries(&EDITING)
    }

    pub(super) fn administration(&self) -> Vec<Entry> {
        self.entries(&ADMINISTRATION)
    }

    fn entries(&self, menu: &[MenuPage]) -> Vec<Entry> {
        let here = self.path.split('?').next().unwrap_or_default();
        let seen = menu.iter().filter(|(_, _, scope)| self.visitor.scope.is_none() || self.visitor.may(*scope));
        seen.map(|(href, key, _)| Entry { href, key, here: *href == here }).collect()
    }

    pub(super) fn languages(&self) -> Vec<LanguageChoice> {
        let one = |reader| LanguageChoice { code: code(reader), name: own_name(reader), here: reader == self.reader };
        ReaderLanguage::ALL.into_iter().map(one).collect()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Ok(Self::of(parts))
    }
}

impl Page {
    pub(super) fn of(parts: &Parts) -> Self {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let chosen = header(header::COOKIE).and_then(|line| cookie(line, LANGUAGE));
        let visitor = parts.extensions.get::<Principal>().cloned().unwrap_or_default();
        Self {
            reader: reader_of(chosen, header(header::ACCEPT_LANGUAGE)),
            path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), |path| path.as_str().to_owned()),
            csrf: visitor.csrf().to_owned(),
            has_sessions: parts.extensions.get::<Arc<Authenticator>>().is_some_and(|one| one.has_sessions()),
            visitor,
        }
    }
}

/// Maximum form: a claim of 5,000 characters in any script, percent-encoded.
const MOST_BYTES: usize = 64 * 1024;

/// A form with this session's CSRF token.
#[derive(Debug)]
pub(super) struct OwnForm<T>(pub(super) T);

#[derive(Deserialize)]
struct Csrf {
    #[serde(default)]
    csrf: String,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OwnForm<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let kind =
            request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") {
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "send a form"));
        }
        let (parts, body) = request.into_parts();
        let bytes = axum::body::to_bytes(body, MOST_BYTES).await.map_err(|_too_large| Problem::too_large())?;
        let visitor = parts.extensions.get::<Principal>().cloned().unwrap_or_default();
        let Csrf { csrf } = read(&bytes)?;
        if !visitor.is_own_form(&csrf) {
            return Err(Problem::forbidden("this form is of another session; reload the page and send it again"));
        }
        read(&bytes).map(Self)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_urlencoded::from_bytes(bytes)
        .map_err(|error| Problem::bad_request(format!("the form could not be read: {error}")))
}
