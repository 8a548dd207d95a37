//! Authentication and authorization: the middleware in front of every route.
//!
//! With `ADMIN_TOKEN`, guarded routes require a token or a session. Without it, they serve this machine only.
//!
//! On a loopback address more checks apply. `Host` must name this machine (else DNS rebinding). `Origin` must be listed
//! or the same (else a foreign web page). Without a token, proxy headers are refused (else a remote client).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::HttpSettings;
use super::authority::{host_of, is_loopback_name, is_same_origin, plain_origin, split_port};
use super::keyring::{ApiToken, TokenStore};
use super::problem::Problem;
use super::scope::Scope;
use super::session::{self, COOKIE, Secret, ServerTokens, Session, cookie};

const UNKNOWN_VISITOR: &str = "nobody known";
const THIS_MACHINE: &str = "this machine";
const ADMIN_TOKEN: &str = "ADMIN_TOKEN";
const READ_TOKEN: &str = "http.read_token";

const CSRF_HEADER: &str = "x-csrf-token";

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

/// The stored token or session of a request.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    named: Option<ApiToken>,
    session: Option<Session>,
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
    fn named(name: &str, scope: Scope) -> Self {
        Self { scope: Some(scope), name: name.into(), ..Self::default() }
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

/// Settings of the authentication and CORS layers.
#[derive(Debug)]
pub(crate) struct Authenticator {
    /// Digests: comparing them also hides a token's length.
    tokens: ServerTokens,
    open_reading: bool,
    /// `None`: no store.
    keyring: Option<TokenStore>,
    loopback: bool,
    /// As browsers send them: `https://example.org`.
    origins: Vec<String>,
    /// Lower case, without port.
    hosts: Vec<String>,
}

impl Authenticator {
    pub(crate) fn new(settings: &HttpSettings, keyring: Option<TokenStore>) -> Self {
        Self {
            tokens: ServerTokens {
                admin: settings.admin_token.as_ref().map(digest_of_secret),
                read: settings.read_token.as_ref().map(digest_of_secret),
            },
            open_reading: settings.open_reading,
            keyring,
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
        credentials: &Credentials,
    ) -> Result<Principal, Problem> {
        if access == Access::Health {
            return Ok(Principal::default());
        }
        self.check_forwarded(headers)?;
        self.check_host(uri, headers)?;
        self.check_origin(uri, headers)?;
        let known = self.visitor(headers, credentials);
        let Some(needed) = access.scope() else { return Ok(known.unwrap_or_default()) };
        let visitor = match known {
            // A wrong token is an error even if the route is open.
            Err(problem) if headers.contains_key(header::AUTHORIZATION) => return Err(problem),
            Err(_) if needed == Scope::Read && self.open_reading => return Ok(Principal::default()),
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
        let Some(keyring) = self.keyring.as_ref().filter(|_| self.has_sessions()) else { return Ok(None) };
        let token = token.trim();
        let (scope, id) = match self.own(token) {
            Some((scope, _)) => (scope, None),
            None if token.is_empty() => return Ok(None),
            None => match keyring.of_digest(digest(token)).await? {
                Some(named) => (named.scope, Some(named.id)),
                None => return Ok(None),
            },
        };
        Ok(session::begin(keyring.store(), scope, id, &self.tokens).await?)
    }

    pub(crate) async fn sign_out(&self, visitor: &Principal) -> Result<(), Problem> {
        if let (Some(keyring), Some(session)) = (&self.keyring, &visitor.session) {
            session::end(keyring.store(), session).await?;
        }
        Ok(())
    }

    /// Looks up the token or session in the store, except server tokens.
    pub(crate) async fn credentials(
        &self,
        access: Access,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Credentials, Problem> {
        let nothing = Credentials::default();
        let Some(keyring) = self.keyring.as_ref().filter(|_| access != Access::Health && self.has_sessions()) else {
            return Ok(nothing);
        };
        let found = if headers.contains_key(header::AUTHORIZATION) {
            let given = presented(headers).filter(|given| access.is_guarded() && self.own(given).is_none());
            let named = match given {
                Some(given) => keyring.of_digest(digest(given)).await?,
                None => None,
            };
            Credentials { named, session: None }
        } else {
            let Some(secret) = secret_of(headers) else { return Ok(nothing) };
            let session = match session::find(keyring.store(), secret, &self.tokens).await {
                // A public page is served even if the store fails.
                Err(error) if !access.is_guarded() && method.is_safe() => {
                    tracing::debug!(%error, "session lookup failed");
                    None
                }
                found => found?,
            };
            Credentials { named: None, session }
        };
        let token = found.named.as_ref().or(found.session.as_ref().and_then(|session| session.token.as_ref()));
        if let Some(token) = token.filter(|_| access.is_guarded()) {
            keyring.take(token)?;
        }
        Ok(found)
    }

    /// Returns a new secret if rotation is due. A failed rotation is repeated later.
    async fn rotated(&self, session: &Session) -> Option<Secret> {
        let keyring = self.keyring.as_ref().filter(|_| session.is_due_for_rotation)?;
        session::rotate(keyring.store(), session, &self.tokens)
            .await
            .inspect_err(|error| tracing::debug!(%error, "session rotation failed"))
            .ok()
            .flatten()
    }

    /// Whether sign-in is possible.
    pub(crate) const fn has_sessions(&self) -> bool {
        self.tokens.admin.is_some()
    }

    /// The scope and name of a server token.
    fn own(&self, token: &str) -> Option<(Scope, &'static str)> {
        let given = digest(token);
        let is = |known: Option<[u8; 32]>| known.is_some_and(|known| known.ct_eq(&given).into());
        if token.is_empty() {
            None
        } else if is(self.tokens.admin) {
            Some((Scope::Admin, ADMIN_TOKEN))
        } else {
            is(self.tokens.read).then_some((Scope::Read, READ_TOKEN))
        }
    }

    /// Refuses proxied requests without a token: they can come from other machines.
    fn check_forwarded(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if self.tokens.admin.is_some() || !self.loopback || !headers.keys().any(is_of_a_proxy) {
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
        if !self.loopback && self.tokens.admin.is_some() {
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
    fn visitor(&self, headers: &HeaderMap, credentials: &Credentials) -> Result<Principal, Problem> {
        if self.tokens.admin.is_none() {
            return if self.loopback {
                Ok(Principal::named(THIS_MACHINE, Scope::Admin))
            } else {
                Err(Problem::forbidden(
                    "without a token this works only when the server listens on 127.0.0.1; set ADMIN_TOKEN and restart it",
                ))
            };
        }
        if !headers.contains_key(header::AUTHORIZATION)
            && let Some(session) = &credentials.session
        {
            return Ok(signed_in(session.clone()));
        }
        match presented(headers).map(|given| self.own(given)) {
            Some(Some((scope, name))) => Ok(Principal::named(name, scope)),
            Some(None) => {
                let named = credentials.named.as_ref();
                named.map(|token| Principal::named(&format!("token {}", token.name), token.scope)).ok_or_else(|| {
                    let detail = "this server does not know the token, or it was revoked";
                    Problem::new(StatusCode::UNAUTHORIZED, "wrong-token", detail)
                        .challenge("Bearer realm=\"corroborate\", error=\"invalid_token\"")
                })
            }
            None => Err(Problem::new(
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

/// The authentication layer: adds the [`Principal`] to the request and rotates due sessions.
pub(crate) async fn auth_middleware(
    State((authenticator, access)): State<(Arc<Authenticator>, Access)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let credentials = authenticator.credentials(access, request.method(), request.headers()).await?;
    let admitted = authenticator.admit(access, request.method(), request.uri(), request.headers(), &credentials);
    let visitor = match admitted {
        Ok(visitor) => visitor,
        Err(problem) => {
            // The error page offers sign-out, so it needs the visitor.
            let known = authenticator.visitor(request.headers(), &credentials).ok();
            let mut response = problem.into_response();
            if let Some(visitor) = known {
                response.extensions_mut().insert(visitor);
            }
            return Ok(response);
        }
    };
    let session = visitor.session.clone();
    request.extensions_mut().insert(visitor);
    request.extensions_mut().insert(Arc::clone(&authenticator));
    let mut response = next.run(request).await;
    // A cookie from the handler (sign-out) wins.
    if let Some(session) = session.filter(|_| !response.headers().contains_key(header::SET_COOKIE))
        && let Some(secret) = authenticator.rotated(&session).await
        && let Ok(value) = HeaderValue::from_str(&session::set(&secret))
    {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
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

fn signed_in(session: Session) -> Principal {
    let name: Arc<str> = match &session.token {
        Some(token) => format!("token {}", token.name).into(),
        None if session.scope == Scope::Admin => ADMIN_TOKEN.into(),
        None => READ_TOKEN.into(),
    };
    Principal { scope: Some(session.scope), name, session: Some(session) }
}

fn secret_of(headers: &HeaderMap) -> Option<Secret> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.filter_map(|line| cookie(line, COOKIE)).find_map(Secret::parse)
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn digest_of_secret(secret: &SecretString) -> [u8; 32] {
    digest(secret.expose_secret())
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
