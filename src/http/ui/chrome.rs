//! What every page has around it: the reader's language, where the visitor is and what they may do.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::assets;
use super::words::{code, own_name, reader_of, words};
use crate::http::auth::{Doorman, Visitor};
use crate::http::problem::Problem;
use crate::http::scope::Scope;
use crate::http::session::cookie;
use crate::judging::labels::{ReaderLanguage, firmness};

/// The cookie of the language that a reader chose.
pub(super) const LANGUAGE: &str = "corroborate_language";

/// The pages of the menu: address, key of its words, who sees it.
const MENU: [(&str, &str, Scope); 8] = [
    ("/", "nav.check", Scope::Check),
    ("/items", "nav.items", Scope::Read),
    ("/overview", "nav.overview", Scope::Read),
    ("/domains", "nav.domains", Scope::Read),
    ("/providers", "nav.providers", Scope::Read),
    ("/queue", "nav.queue", Scope::Admin),
    ("/tokens", "nav.tokens", Scope::Admin),
    ("/audit", "nav.audit", Scope::Admin),
];

/// Around a page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(super) reader: ReaderLanguage,
    /// With its query.
    pub(super) path: String,
    pub(super) csrf: String,
    pub(super) visitor: Visitor,
    has_sessions: bool,
}

/// An entry of the menu.
pub(super) struct Entry {
    pub(super) href: &'static str,
    pub(super) key: &'static str,
    pub(super) here: bool,
}

/// A language that can be chosen.
pub(super) struct Speech {
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

    /// Whether a visitor who is not known could become so.
    pub(super) const fn could_sign_in(&self) -> bool {
        self.has_sessions && self.visitor.session.is_none()
    }

    pub(super) fn nav(&self) -> Vec<Entry> {
        let here = self.path.split('?').next().unwrap_or_default();
        let seen = MENU.iter().filter(|(_, _, scope)| self.visitor.scope.is_none() || self.visitor.may(*scope));
        seen.map(|(href, key, _)| Entry { href, key, here: *href == here }).collect()
    }

    pub(super) fn languages(&self) -> Vec<Speech> {
        let one = |reader| Speech { code: code(reader), name: own_name(reader), here: reader == self.reader };
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
    /// Around the answer to that request.
    pub(super) fn of(parts: &Parts) -> Self {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let chosen = header(header::COOKIE).and_then(|line| cookie(line, LANGUAGE));
        let visitor = parts.extensions.get::<Visitor>().cloned().unwrap_or_default();
        Self {
            reader: reader_of(chosen, header(header::ACCEPT_LANGUAGE)),
            path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), |path| path.as_str().to_owned()),
            csrf: visitor.csrf().to_owned(),
            has_sessions: parts.extensions.get::<Arc<Doorman>>().is_some_and(|doorman| doorman.has_sessions()),
            visitor,
        }
    }
}

/// Bytes of a form: a claim of 5,000 characters in any script, percent-encoded.
const MOST_BYTES: usize = 64 * 1024;

/// A form that was sent by a page of this visitor's own session.
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
        let visitor = parts.extensions.get::<Visitor>().cloned().unwrap_or_default();
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
