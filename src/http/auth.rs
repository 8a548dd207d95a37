//! Who may come in: the door in front of every route.
//!
//! With a token, writes, admin reads and whatever costs money need it. Without one they are open to this machine only, and
//! then two kinds of visitor are to be kept out. A web page can make its visitor's browser send requests to 127.0.0.1 (that
//! shows in `Origin`), and can point a host name of its own at 127.0.0.1 to be of the same origin (that shows in `Host`).
//! And a reverse proxy on this machine passes the requests of strangers on (that shows in the headers that it adds).

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
use super::keyring::{Keyring, Named};
use super::problem::Problem;
use super::scope::Scope;
use super::session::{self, COOKIE, Session, SessionKey, cookie};
use crate::domain::Clock;

/// Names of visitors without a token of their own.
const NOBODY: &str = "nobody known";
const THIS_MACHINE: &str = "this machine";
const ADMIN_TOKEN: &str = "ADMIN_TOKEN";
const READ_TOKEN: &str = "http.read_token";

/// Where a script says that it belongs to a page of ours.
const CSRF_HEADER: &str = "x-csrf-token";

/// What a route asks of its visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Probes and metrics: always answered, whatever name the prober used.
    Health,
    /// Anybody who can reach the server, but no foreign web page.
    Public,
    /// Looking at what is stored. With a token it is asked for, unless reading is open to all; without one, this machine
    /// alone.
    Read,
    /// What costs money. With a token it is asked for; without one, this machine alone.
    Check,
    /// Writes and admin reads, likewise.
    Admin,
}

impl Access {
    /// The scope it needs; `None` where anybody may come in.
    const fn scope(self) -> Option<Scope> {
        match self {
            Self::Health | Self::Public => None,
            Self::Read => Some(Scope::Read),
            Self::Check => Some(Scope::Check),
            Self::Admin => Some(Scope::Admin),
        }
    }

    /// Whether a token is asked for, where the server has one.
    pub(crate) const fn is_guarded(self) -> bool {
        self.scope().is_some()
    }
}

/// Who came in. Handlers find it among the request's extensions.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    /// `None`: nobody known.
    pub(crate) scope: Option<Scope>,
    /// What its forms hold; empty where no cookie says who it is.
    pub(crate) csrf: String,
    /// For the record: `ADMIN_TOKEN`, `token <name>`, `this machine`.
    pub(crate) name: Arc<str>,
    /// Signed in at the pages.
    pub(crate) session: Option<Session>,
    /// The cookie's next value, where it is time.
    rotated: Option<String>,
}

impl Default for Visitor {
    /// Somebody of whom nothing is known.
    fn default() -> Self {
        Self { scope: None, csrf: String::new(), name: NOBODY.into(), session: None, rotated: None }
    }
}

impl Visitor {
    fn named(name: &str, scope: Scope) -> Self {
        Self { scope: Some(scope), name: name.into(), ..Self::default() }
    }

    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scope.is_some_and(|own| own >= scope)
    }
}

/// What the door and the CORS layer know. Built once per router.
#[derive(Debug)]
pub(crate) struct Doorman {
    /// Digest of the token: comparing digests hides its length as well.
    token: Option<[u8; 32]>,
    /// Of the one that may only read.
    read_token: Option<[u8; 32]>,
    /// Whether anybody may read.
    open_reading: bool,
    sessions: Option<SessionKey>,
    /// Tokens that an admin gave out; `None` where no store is behind the router.
    keyring: Option<Keyring>,
    clock: Arc<dyn Clock>,
    loopback: bool,
    /// In the form browsers send: `https://example.org`, without a final slash.
    origins: Vec<String>,
    /// Lower case, without port.
    hosts: Vec<String>,
}

impl Doorman {
    pub(crate) fn new(settings: &HttpSettings, clock: Arc<dyn Clock>, keyring: Option<Keyring>) -> Self {
        let token = settings.admin_token.as_ref().map(digest_of_secret);
        let read_token = settings.read_token.as_ref().map(digest_of_secret);
        Self {
            sessions: SessionKey::of(&[token, read_token]),
            token,
            read_token,
            open_reading: settings.open_reading,
            keyring,
            clock,
            loopback: settings.loopback,
            origins: settings.allowed_origins.iter().map(|origin| plain_origin(origin)).collect(),
            hosts: settings.allowed_hosts.iter().map(|host| host.to_lowercase()).collect(),
        }
    }

    /// Who asks, where a request may reach a route of that class.
    pub(crate) fn admit(
        &self,
        access: Access,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        named: Option<&Named>,
    ) -> Result<Visitor, Problem> {
        if access == Access::Health {
            return Ok(Visitor::default());
        }
        self.check_forwarded(headers)?;
        self.check_host(uri, headers)?;
        self.check_origin(uri, headers)?;
        let known = self.visitor(headers, named);
        let Some(needed) = access.scope() else { return Ok(known.unwrap_or_default()) };
        let visitor = match known {
            // A token that nobody knows is worth saying, whatever would be open without one.
            Err(problem) if headers.contains_key(header::AUTHORIZATION) => return Err(problem),
            Err(_) if needed == Scope::Read && self.open_reading => return Ok(Visitor::default()),
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
        self.check_csrf(&visitor, method, uri, headers)?;
        Ok(visitor)
    }

    /// A script that calls the API by a cookie says, in a header, what another page cannot know. Forms say it themselves.
    fn check_csrf(&self, visitor: &Visitor, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let (Some(session), Some(key)) = (&visitor.session, &self.sessions) else { return Ok(()) };
        if method.is_safe() || !uri.path().starts_with("/api/") {
            return Ok(());
        }
        let given = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if key.is_own(session, given) {
            return Ok(());
        }
        Err(Problem::forbidden(
            "a request by cookie needs the header X-CSRF-Token with the page's own token; reload the page",
        ))
    }

    /// Whether a form was sent by the page that a visitor has.
    pub(crate) fn is_own_form(&self, visitor: &Visitor, csrf: &str) -> bool {
        match (&visitor.session, &self.sessions) {
            (Some(session), Some(key)) => key.is_own(session, csrf),
            // The request was not let in by a cookie, so another site's page could not have made a browser send it.
            _ => true,
        }
    }

    /// Signs a visitor in who knows a token: the cookie's value. `None` of a token that nobody knows.
    pub(crate) async fn sign_in(&self, token: &str) -> Result<Option<String>, Problem> {
        let Some(key) = &self.sessions else { return Ok(None) };
        let token = token.trim();
        let (scope, of) = match (self.own(token), &self.keyring) {
            (Some((scope, _)), _) => (scope, None),
            (None, Some(keyring)) if !token.is_empty() => match keyring.of_digest(digest(token)).await? {
                Some(named) => (named.scope, Some(named.id)),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(key.begin(scope, of, self.clock.now(), rand::random())))
    }

    /// The token that an admin gave out and that a request brings, by itself or by a session that began with it. Asked of the
    /// store, and only where the server's own tokens do not answer.
    pub(crate) async fn named(&self, access: Access, headers: &HeaderMap) -> Result<Option<Named>, Problem> {
        let Some(keyring) = self.keyring.as_ref().filter(|_| access.is_guarded() && self.token.is_some()) else {
            return Ok(None);
        };
        let found = match presented(headers) {
            Some(given) if self.own(given).is_some() => None,
            Some(given) => keyring.of_digest(digest(given)).await?,
            None => match self.session(headers).and_then(|session| session.token) {
                Some(id) => keyring.of_id(id).await?,
                None => None,
            },
        };
        if let Some(named) = &found {
            keyring.take(named)?;
        }
        Ok(found)
    }

    /// Whether people sign in here at all.
    pub(crate) const fn has_sessions(&self) -> bool {
        self.sessions.is_some()
    }

    /// What one of the server's own tokens allows, and its name.
    fn own(&self, token: &str) -> Option<(Scope, &'static str)> {
        let given = digest(token);
        let is = |known: Option<[u8; 32]>| known.is_some_and(|known| known.ct_eq(&given).into());
        if token.is_empty() {
            None
        } else if is(self.token) {
            Some((Scope::Admin, ADMIN_TOKEN))
        } else {
            is(self.read_token).then_some((Scope::Read, READ_TOKEN))
        }
    }

    /// On a loopback bind without a token, whoever connects is taken for a user of this machine. A request that a proxy
    /// passed on comes from somebody else.
    fn check_forwarded(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if self.token.is_some() || !self.loopback || !headers.keys().any(is_of_a_proxy) {
            return Ok(());
        }
        Err(Problem::forbidden(
            "a proxy passed this request on, and this server has no token to tell its users by; set ADMIN_TOKEN and restart \
             it",
        ))
    }

    /// On a loopback bind the name must be one of this machine: a foreign one was rebound to it.
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

    /// A browser says which page a request comes from. Behind a token nothing depends on it; without one everything does.
    fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        if !self.loopback && self.token.is_some() {
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

    /// Who asks, by token or cookie; without a token, whoever sits at this machine.
    fn visitor(&self, headers: &HeaderMap, named: Option<&Named>) -> Result<Visitor, Problem> {
        if self.token.is_none() {
            return if self.loopback {
                Ok(Visitor::named(THIS_MACHINE, Scope::Admin))
            } else {
                Err(Problem::forbidden(
                    "without a token this works only when the server listens on 127.0.0.1; set ADMIN_TOKEN and restart it",
                ))
            };
        }
        if !headers.contains_key(header::AUTHORIZATION)
            && let Some(visitor) = self.signed_in(headers, named)
        {
            return Ok(visitor);
        }
        match presented(headers).map(|given| self.own(given)) {
            Some(Some((scope, name))) => Ok(Visitor::named(name, scope)),
            Some(None) => named.map(|token| Visitor::named(&format!("token {}", token.name), token.scope)).ok_or_else(|| {
                Problem::new(StatusCode::UNAUTHORIZED, "wrong-token", "this server does not know the token, or it was revoked")
                    .challenge("Bearer realm=\"corroborate\", error=\"invalid_token\"")
            }),
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "no-token",
                "this needs the server's ADMIN_TOKEN, or a token that an admin gave out; send it as Authorization: Bearer \
                 <token>, or sign in at /sign-in",
            )
            .challenge("Bearer realm=\"corroborate\"")),
        }
    }

    /// The session of a request's cookie.
    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let key = self.sessions.as_ref()?;
        let now = self.clock.now();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies.filter_map(|line| cookie(line, COOKIE)).find_map(|value| key.read(value, now))
    }

    /// By the cookie of the pages.
    fn signed_in(&self, headers: &HeaderMap, named: Option<&Named>) -> Option<Visitor> {
        let session = self.session(headers)?;
        let key = self.sessions.as_ref()?;
        let now = self.clock.now();
        let name: Arc<str> = match (session.token, named) {
            (None, _) if session.scope == Scope::Admin => ADMIN_TOKEN.into(),
            (None, _) => READ_TOKEN.into(),
            (Some(id), Some(token)) if token.id == id => format!("token {}", token.name).into(),
            // Revoked since, or over.
            (Some(_), _) => return None,
        };
        Some(Visitor {
            scope: Some(session.scope),
            csrf: key.csrf(&session),
            name,
            rotated: key.rotated(&session, now, rand::random()),
            session: Some(session),
        })
    }

    /// Whether an origin is one of those that were listed.
    fn lists(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }
}

/// The CORS layer: exact echo for listed origins, nothing for anybody else. Answers preflights itself.
pub(crate) async fn cors(State(doorman): State<Arc<Doorman>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let listed = origin.filter(|origin| origin.to_str().is_ok_and(|origin| doorman.lists(origin)));
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if preflight {
        match doorman.check_host(request.uri(), request.headers()) {
            Err(problem) => problem.into_response(),
            Ok(()) if listed.is_some() => preflight_answer(),
            Ok(()) => Problem::forbidden("this origin is not listed in http.cors_origins").into_response(),
        }
    } else {
        next.run(request).await
    };
    if !doorman.origins.is_empty() {
        // The answer differs by origin: caches must not mix them.
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

/// The door as a layer of one route. Who came in stands in the request's extensions, and a session that is used goes on.
pub(crate) async fn door(
    State((doorman, access)): State<(Arc<Doorman>, Access)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let named = doorman.named(access, request.headers()).await?;
    let admitted = doorman.admit(access, request.method(), request.uri(), request.headers(), named.as_ref());
    let mut visitor = match admitted {
        Ok(visitor) => visitor,
        Err(problem) => {
            // Whoever is known and may not do this is still known: a page that says so lets them sign out.
            let known = doorman.visitor(request.headers(), named.as_ref()).ok();
            let mut response = problem.into_response();
            if let Some(visitor) = known {
                response.extensions_mut().insert(visitor);
            }
            return Ok(response);
        }
    };
    let rotated = visitor.rotated.take();
    request.extensions_mut().insert(visitor);
    request.extensions_mut().insert(Arc::clone(&doorman));
    let mut response = next.run(request).await;
    if let Some(value) = rotated.and_then(|value| HeaderValue::from_str(&session::set(&value)).ok()) {
        // What the page itself sets, as it does at signing out, stands.
        response.headers_mut().entry(header::SET_COOKIE).or_insert(value);
    }
    Ok(response)
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn digest_of_secret(secret: &SecretString) -> [u8; 32] {
    digest(secret.expose_secret())
}

/// Whether proxies add that header to what they pass on.
fn is_of_a_proxy(name: &HeaderName) -> bool {
    *name == header::FORWARDED
        || *name == header::VIA
        || name.as_str() == "x-real-ip"
        || name.as_str().starts_with("x-forwarded-")
}

/// The token of the only `Authorization`.
fn presented(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    values.next().filter(|_| values.next().is_none()).and_then(bearer)
}

/// The token of `Bearer <token>`; never an empty one.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
