//! Authentication and authorization: the middleware in front of every route.
//!
//! With `ADMIN_TOKEN`, guarded routes require a token or a session. Without it, they serve this machine only.
//!
//! On a loopback address more checks apply. `Host` must name this machine (else DNS rebinding). `Origin` must be listed
//! or the same (else a foreign web page). Without a token, proxy headers are refused (else a remote client).

use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use super::authority::{host_of, is_loopback_name, is_same_origin, plain_origin, split_port};
use super::keyring::{ApiToken, Keyring};
use super::limit::Peer;
use super::problem::Problem;
use super::session::{self, COOKIE, Secret, Session, cookie};
use super::{App, HttpSettings};
use crate::store::{AuditEntry, Store};

const UNKNOWN_VISITOR: &str = "nobody known";
const THIS_MACHINE: &str = "this machine";

const CSRF_HEADER: &str = "x-csrf-token";

/// The rights of a visitor. Each scope includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Read items, evidence, lists and providers.
    Read,
    /// Check claims, which may cost money.
    Check,
    /// Change data and settings.
    Admin,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Read, Self::Check, Self::Admin];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Check => "check",
            Self::Admin => "admin",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// The access class of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Probes, metrics, static files: always answered, under any `Host`.
    Health,
    /// All clients, except foreign web pages.
    Public,
    /// Reads: with a token if set and reading is not open, else this machine only.
    Read,
    /// Work that costs money: with a token if set, else this machine only.
    Check,
    /// Writes and admin reads: like `Check`, with the admin scope.
    Admin,
}

impl Access {
    /// `None`: no scope is required.
    const fn scope(self) -> Option<Scope> {
        match self {
            Self::Health | Self::Public => None,
            Self::Read => Some(Scope::Read),
            Self::Check => Some(Scope::Check),
            Self::Admin => Some(Scope::Admin),
        }
    }

    /// Whether a token is required, if the server has one.
    pub(crate) const fn is_guarded(self) -> bool {
        self.scope().is_some()
    }
}

/// What a request presents to authenticate itself.
#[derive(Debug)]
pub(crate) enum Credential {
    None,
    /// An `Authorization` header that is not one bearer token.
    Malformed,
    UnknownToken,
    Token(ApiToken),
    Session(Session),
}

/// The authenticated visitor, in the request's extensions.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    /// `None`: an unknown visitor.
    pub(crate) scope: Option<Scope>,
    /// For the audit log: `ADMIN_TOKEN`, `token <name>`, `this machine`.
    pub(crate) name: Arc<str>,
    pub(crate) session: Option<Session>,
}

impl Default for Principal {
    fn default() -> Self {
        Self { scope: None, name: UNKNOWN_VISITOR.into(), session: None }
    }
}

impl Principal {
    fn of(token: &ApiToken, session: Option<Session>) -> Self {
        Self { scope: Some(token.scope), name: Arc::clone(&token.name), session }
    }

    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scope.is_some_and(|own| own >= scope)
    }

    /// The CSRF token for forms; empty without a session.
    pub(crate) fn csrf(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.csrf)
    }

    /// Whether a form comes from this visitor's page. Without a session no cookie grants access, so a foreign page
    /// gains nothing.
    pub(crate) fn is_own_form(&self, csrf: &str) -> bool {
        self.session.as_ref().is_none_or(|session| session.is_own(csrf))
    }
}

/// The visitor and address, like `token desk at 10.0.0.7`.
#[derive(Debug, Clone)]
pub(crate) struct Actor(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Actor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let visitor = parts.extensions.get::<Principal>().map_or(UNKNOWN_VISITOR, |visitor| visitor.name.as_ref());
        let peer = parts.extensions.get::<ConnectInfo<Peer>>();
        Ok(Self(match peer {
            Some(ConnectInfo(Peer(address))) => format!("{visitor} at {}", address.ip()),
            None => visitor.to_owned(),
        }))
    }
}

impl Actor {
    /// Records a change in the audit log. If that fails, the process log still has it.
    pub(crate) async fn did(&self, app: &App, action: &str, subject: &str, detail: Option<Value>) {
        tracing::info!(who = self.0, action, subject, "admin action");
        let entry = AuditEntry {
            at: app.services.clock.now(),
            who: self.0.clone(),
            action: action.to_owned(),
            subject: subject.to_owned(),
            detail,
        };
        if let Err(error) = app.services.store.note_audit(&entry).await {
            tracing::error!(%error, who = self.0, action, subject, "writing the audit log failed");
        }
    }
}

/// Settings of the authentication and CORS layers.
#[derive(Debug)]
pub(crate) struct Authenticator {
    keyring: Keyring,
    open_reading: bool,
    loopback: bool,
    /// As browsers send them: `https://example.org`.
    origins: Vec<String>,
    /// Lower case, without port.
    hosts: Vec<String>,
}

impl Authenticator {
    /// Without a store, only tokens of the configuration are known.
    pub(crate) fn new(settings: &HttpSettings, store: Option<Store>) -> Self {
        Self {
            keyring: Keyring::new(settings, store),
            open_reading: settings.open_reading,
            loopback: settings.loopback,
            origins: settings.allowed_origins.iter().map(|origin| plain_origin(origin)).collect(),
            hosts: settings.allowed_hosts.iter().map(|host| host.to_lowercase()).collect(),
        }
    }

    /// Returns the visitor if the request may reach this class of routes.
    pub(crate) fn admit(
        &self,
        access: Access,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        credential: &Credential,
    ) -> Result<Principal, Problem> {
        if access == Access::Health {
            return Ok(Principal::default());
        }
        self.check_forwarded(headers)?;
        self.check_host(uri, headers)?;
        self.check_origin(uri, headers)?;
        let known = self.visitor(credential);
        let Some(needed) = access.scope() else { return Ok(known.unwrap_or_default()) };
        let visitor = match known {
            // A wrong token is an error even if the route is open.
            Err(_) if needed == Scope::Read && self.open_reading && matches!(credential, Credential::None) => {
                return Ok(Principal::default());
            }
            known => known?,
        };
        let is_open = needed == Scope::Read && self.open_reading;
        if !(is_open || visitor.may(needed)) {
            return Err(Problem::forbidden(format!(
                "this token may not do that: it is for {}, and this needs {}; ask an admin for another one",
                visitor.scope.map_or("nothing", Scope::as_str),
                needed.as_str()
            )));
        }
        check_csrf(&visitor, method, uri, headers)?;
        Ok(visitor)
    }

    /// Begins a session; `None` if the token is unknown.
    pub(crate) async fn sign_in(&self, token: &str) -> Result<Option<Secret>, Problem> {
        let Some(store) = self.keyring.store().filter(|_| self.has_sessions()) else { return Ok(None) };
        let token = match self.keyring.configured(token.trim()) {
            Some(token) => Some(token.clone()),
            None => self.keyring.stored(token.trim()).await?,
        };
        let Some(token) = token else { return Ok(None) };
        Ok(session::begin(store, &self.keyring, &token).await?)
    }

    pub(crate) async fn sign_out(&self, visitor: &Principal) -> Result<(), Problem> {
        if let (Some(store), Some(session)) = (self.keyring.store(), &visitor.session) {
            session::end(store, session).await?;
        }
        Ok(())
    }

    /// Finds the token or session that a request presents. A token's own rate limit applies on guarded routes.
    pub(crate) async fn credential(
        &self,
        access: Access,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Credential, Problem> {
        if access == Access::Health || !self.has_sessions() {
            return Ok(Credential::None);
        }
        let found = if headers.contains_key(header::AUTHORIZATION) {
            let Some(given) = presented(headers) else { return Ok(Credential::Malformed) };
            let token = match self.keyring.configured(given) {
                Some(token) => Some(token.clone()),
                // Public pages need no query.
                None if access.is_guarded() => self.keyring.stored(given).await?,
                None => None,
            };
            token.map_or(Credential::UnknownToken, Credential::Token)
        } else {
            let (Some(secret), Some(store)) = (secret_of(headers), self.keyring.store()) else {
                return Ok(Credential::None);
            };
            let session = match session::find(store, &self.keyring, secret).await {
                // A public page is served even if the store fails.
                Err(error) if !access.is_guarded() && method.is_safe() => {
                    tracing::debug!(%error, "session lookup failed");
                    None
                }
                found => found?,
            };
            session.map_or(Credential::None, Credential::Session)
        };
        if let Credential::Token(token) | Credential::Session(Session { token, .. }) = &found
            && access.is_guarded()
        {
            self.keyring.take(token)?;
        }
        Ok(found)
    }

    /// Whether sign-in is possible.
    pub(crate) const fn has_sessions(&self) -> bool {
        self.keyring.requires_token()
    }

    /// Refuses proxied requests without a token: they can come from other machines.
    fn check_forwarded(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if self.keyring.requires_token() || !self.loopback || !headers.keys().any(is_of_a_proxy) {
            return Ok(());
        }
        Err(Problem::forbidden("requests through a reverse proxy need a token; set ADMIN_TOKEN and restart"))
    }

    /// Requires a host name of this machine: another one indicates DNS rebinding.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        if !self.loopback {
            return Ok(());
        }
        let host =
            host_of(uri, headers).ok_or_else(|| Problem::bad_request("the Host header is missing or given twice"))?;
        let (name, _port) = split_port(host).ok_or_else(|| Problem::bad_request("the Host header is no host name"))?;
        if is_loopback_name(name) || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        Err(Problem::forbidden(
            "this server listens on this machine only and was asked under another name; use localhost or 127.0.0.1, or \
             name the host in http.allowed_hosts",
        ))
    }

    /// Refuses foreign origins, except if a token is set and the bind is not loopback.
    fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        if !self.loopback && self.keyring.requires_token() {
            return Ok(());
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(()) };
        let known = origins.next().is_none()
            && origin.to_str().is_ok_and(|origin| self.lists(origin) || is_same_origin(origin, host_of(uri, headers)));
        if known {
            Ok(())
        } else {
            Err(Problem::forbidden(
                "requests from other web pages are refused; list the page's origin in http.cors_origins",
            ))
        }
    }

    /// The visitor by token or cookie; without `ADMIN_TOKEN`, a user of this machine.
    fn visitor(&self, credential: &Credential) -> Result<Principal, Problem> {
        if !self.keyring.requires_token() {
            return if self.loopback {
                Ok(Principal { scope: Some(Scope::Admin), name: THIS_MACHINE.into(), session: None })
            } else {
                Err(Problem::forbidden(
                    "without a token this works only when the server listens on 127.0.0.1; set ADMIN_TOKEN and restart it",
                ))
            };
        }
        match credential {
            Credential::Token(token) => Ok(Principal::of(token, None)),
            Credential::Session(session) => Ok(Principal::of(&session.token, Some(session.clone()))),
            Credential::UnknownToken => {
                let detail = "this server does not know the token, or it was revoked";
                Err(Problem::new(StatusCode::UNAUTHORIZED, "wrong-token", detail)
                    .challenge("Bearer realm=\"corroborate\", error=\"invalid_token\""))
            }
            Credential::None | Credential::Malformed => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "no-token",
                "this needs the server's ADMIN_TOKEN, or a token that an admin gave out; send it as Authorization: Bearer \
                 <token>, or sign in at /sign-in",
            )
            .challenge("Bearer realm=\"corroborate\"")),
        }
    }

    fn lists(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }
}

/// The CORS layer: echoes only listed origins and answers preflights.
pub(crate) async fn cors(State(authenticator): State<Arc<Authenticator>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let listed = origin.filter(|origin| origin.to_str().is_ok_and(|origin| authenticator.lists(origin)));
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if preflight {
        match authenticator.check_host(request.uri(), request.headers()) {
            Err(problem) => problem.into_response(),
            Ok(()) if listed.is_some() => preflight_answer(),
            Ok(()) => Problem::forbidden("this origin is not listed in http.cors_origins").into_response(),
        }
    } else {
        next.run(request).await
    };
    if !authenticator.origins.is_empty() {
        // Caches must not mix responses for different origins.
        response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(origin) = listed {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response
            .headers_mut()
            .insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after, www-authenticate"));
    }
    response
}

fn preflight_answer() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, x-csrf-token"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The authentication layer: adds the [`Principal`] to the request.
pub(crate) async fn auth_middleware(
    State((authenticator, access)): State<(Arc<Authenticator>, Access)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let credential = authenticator.credential(access, request.method(), request.headers()).await?;
    match authenticator.admit(access, request.method(), request.uri(), request.headers(), &credential) {
        Ok(visitor) => {
            request.extensions_mut().insert(visitor);
            request.extensions_mut().insert(authenticator);
            Ok(next.run(request).await)
        }
        Err(problem) => {
            let mut response = problem.into_response();
            // The error page offers sign-out, so it needs the visitor.
            if let Ok(visitor) = authenticator.visitor(&credential) {
                response.extensions_mut().insert(visitor);
            }
            Ok(response)
        }
    }
}

/// Requires the CSRF header for API writes by cookie. Forms have a field instead.
fn check_csrf(visitor: &Principal, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    if method.is_safe() || !uri.path().starts_with("/api/") {
        return Ok(());
    }
    let given = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if visitor.is_own_form(given) {
        return Ok(());
    }
    Err(Problem::forbidden(
        "a request by cookie needs the header X-CSRF-Token with the page's own token; reload the page",
    ))
}

fn secret_of(headers: &HeaderMap) -> Option<Secret> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.filter_map(|line| cookie(line, COOKIE)).find_map(Secret::parse)
}

fn is_of_a_proxy(name: &HeaderName) -> bool {
    *name == header::FORWARDED
        || *name == header::VIA
        || name.as_str() == "x-real-ip"
        || name.as_str().starts_with("x-forwarded-")
}

/// The token of `Authorization`; `None` if the header occurs twice.
fn presented(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    values.next().filter(|_| values.next().is_none()).and_then(bearer)
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
