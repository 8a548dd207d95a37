//! Who may come in: the door in front of every route.
//!
//! With a token, writes, admin reads and whatever costs money need it. Without one they are open to this machine only, and
//! then two kinds of visitor are to be kept out. A web page can make its visitor's browser send requests to 127.0.0.1 (that
//! shows in `Origin`), and can point a host name of its own at 127.0.0.1 to be of the same origin (that shows in `Host`).
//! And a reverse proxy on this machine passes the requests of strangers on (that shows in the headers that it adds).

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use url::{Host, Url};

use super::HttpSettings;
use super::problem::Problem;

/// What a route asks of its visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Probes and metrics: always answered, whatever name the prober used.
    Health,
    /// Anybody who can reach the server, but no foreign web page.
    Public,
    /// Writes, admin reads, and whatever costs money. With a token it is asked for; without one, this machine alone.
    Admin,
}

/// What the door and the CORS layer know. Built once per router.
#[derive(Debug)]
pub(crate) struct Doorman {
    /// Digest of the token: comparing digests hides its length as well.
    token: Option<[u8; 32]>,
    loopback: bool,
    /// In the form browsers send: `https://example.org`, without a final slash.
    origins: Vec<String>,
    /// Lower case, without port.
    hosts: Vec<String>,
}

impl Doorman {
    pub(crate) fn new(settings: &HttpSettings) -> Self {
        Self {
            token: settings.admin_token.as_ref().map(digest_of_secret),
            loopback: settings.loopback,
            origins: settings.allowed_origins.iter().map(|origin| plain_origin(origin)).collect(),
            hosts: settings.allowed_hosts.iter().map(|host| host.to_lowercase()).collect(),
        }
    }

    /// Whether a request may reach a route of that class.
    pub(crate) fn admit(&self, access: Access, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        if access == Access::Health {
            return Ok(());
        }
        self.check_forwarded(headers)?;
        self.check_host(uri, headers)?;
        self.check_origin(uri, headers)?;
        match access {
            Access::Admin => self.check_token(headers),
            Access::Public | Access::Health => Ok(()),
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

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(expected) = &self.token else {
            return if self.loopback {
                Ok(())
            } else {
                Err(Problem::forbidden(
                    "without a token this works only when the server listens on 127.0.0.1; set ADMIN_TOKEN and restart it",
                ))
            };
        };
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let given = values.next().filter(|_| values.next().is_none()).and_then(bearer);
        match given {
            Some(given) if bool::from(expected.ct_eq(&digest(given))) => Ok(()),
            Some(_) => {
                Err(Problem::new(StatusCode::UNAUTHORIZED, "wrong-token", "the token is not the server's ADMIN_TOKEN")
                    .challenge("Bearer realm=\"corroborate\", error=\"invalid_token\""))
            }
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "no-token",
                "this needs the server's ADMIN_TOKEN; send it as Authorization: Bearer <token>",
            )
            .challenge("Bearer realm=\"corroborate\"")),
        }
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
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The door as a layer of one route.
pub(crate) async fn door(
    State((doorman, access)): State<(Arc<Doorman>, Access)>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    doorman.admit(access, request.uri(), request.headers())?;
    Ok(next.run(request).await)
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

/// The token of `Bearer <token>`; never an empty one.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The authority the client asked: of an absolute request line, else of the only `Host`.
fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    if let Some(authority) = uri.authority() {
        return Some(authority.as_str());
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// `name:port`, `name`, `[::1]:port` or `[::1]`; the brackets stay.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (name, rest) = authority.split_at_checked(end)?;
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().ok()?),
        None if rest.is_empty() => None,
        None => return None,
    };
    (!name.is_empty()).then_some((name, port))
}

/// `localhost` and the literals of the loopback network. No other name: whatever it resolves to, somebody else says so.
fn is_loopback_name(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a page of that origin was served under the authority that is asked now. The scheme is left out: behind a proxy
/// that ends TLS the page's is https and ours is not; the port tells them apart.
fn is_same_origin(origin: &str, authority: Option<&str>) -> bool {
    let same = || {
        let page = Url::parse(origin).ok()?;
        let default = page.port_or_known_default()?;
        let (name, port) = split_port(authority?)?;
        let asked = Host::parse(name).ok()?;
        Some(page.host()?.to_owned() == asked && port.unwrap_or(default) == default)
    };
    same().unwrap_or(false)
}

/// As a browser writes an origin: no path, no default port, lower case.
fn plain_origin(configured: &str) -> String {
    Url::parse(configured)
        .ok()
        .map(|url| url.origin().ascii_serialization())
        .filter(|origin| origin != "null")
        .unwrap_or_else(|| configured.trim_end_matches('/').to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doorman(token: Option<&str>, loopback: bool, origins: &[&str], hosts: &[&str]) -> Doorman {
        Doorman::new(&HttpSettings {
            admin_token: token.map(SecretString::from),
            loopback,
            allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            ..HttpSettings::default()
        })
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    fn status(doorman: &Doorman, access: Access, pairs: &[(&'static str, &str)]) -> u16 {
        match doorman.admit(access, &Uri::from_static("/api/items"), &headers(pairs)) {
            Ok(()) => 200,
            Err(problem) => problem.into_response().status().as_u16(),
        }
    }

    #[test]
    fn the_table_of_tokens() {
        use Access::{Admin, Health, Public};
        const HOST: (&str, &str) = ("host", "127.0.0.1:8080");
        // (token, loopback bind, Authorization, class) → status
        let rows = [
            (None, true, None, Admin, 200),
            (None, false, None, Admin, 403),
            (None, false, Some("Bearer x"), Admin, 403),
            (None, false, None, Public, 200),
            (None, false, None, Health, 200),
            (Some("secret"), true, None, Admin, 401),
            (Some("secret"), false, None, Admin, 401),
            (Some("secret"), false, Some("Bearer secret"), Admin, 200),
            (Some("secret"), true, Some("bearer secret"), Admin, 200),
            (Some("secret"), false, Some("Bearer  secret "), Admin, 200),
            (Some("secret"), false, Some("Bearer secre"), Admin, 401),
            (Some("secret"), false, Some("Bearer secrets"), Admin, 401),
            (Some("secret"), false, Some("Bearer Secret"), Admin, 401),
            (Some("secret"), false, Some("Bearer "), Admin, 401),
            (Some("secret"), false, Some("Basic secret"), Admin, 401),
            (Some("secret"), false, Some("secret"), Admin, 401),
            (Some(""), false, Some("Bearer "), Admin, 401),
            (Some("secret"), false, None, Public, 200),
            (Some("secret"), false, None, Health, 200),
        ];
        for (token, loopback, given, access, expected) in rows {
            let mut pairs = vec![HOST];
            pairs.extend(given.map(|given| ("authorization", given)));
            let found = status(&doorman(token, loopback, &[], &[]), access, &pairs);
            assert_eq!(found, expected, "token {token:?}, loopback {loopback}, {given:?}, {access:?}");
        }
    }

    #[test]
    fn without_a_token_what_a_proxy_passed_on_is_refused() {
        const HOST: (&str, &str) = ("host", "127.0.0.1:8080");
        let added = [
            ("forwarded", "for=192.0.2.1"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-host", "facts.example"),
            ("x-forwarded-proto", "https"),
            ("x-real-ip", "192.0.2.1"),
            ("via", "1.1 proxy"),
        ];
        for header in added {
            let asked = |token, loopback, access| {
                let given = [HOST, header, ("authorization", "Bearer secret")];
                status(&doorman(token, loopback, &[], &[]), access, &given)
            };
            for access in [Access::Admin, Access::Public] {
                assert_eq!(asked(None, true, access), 403, "{header:?} {access:?}");
                assert_eq!(asked(Some("secret"), true, access), 200, "{header:?}: the token says who it is");
            }
            assert_eq!(asked(None, true, Access::Health), 200, "{header:?}: probes");
            assert_eq!(
                asked(None, false, Access::Public),
                200,
                "{header:?}: a server for a network trusts nobody anyway"
            );
        }
        assert_eq!(status(&doorman(None, true, &[], &[]), Access::Admin, &[HOST, ("x-forward", "1")]), 200);
    }

    #[test]
    fn two_tokens_are_no_token() {
        let pairs = [("authorization", "Bearer wrong"), ("authorization", "Bearer secret")];
        assert_eq!(status(&doorman(Some("secret"), false, &[], &[]), Access::Admin, &pairs), 401);
    }

    #[test]
    fn the_table_of_hosts_on_a_loopback_bind() {
        let doorman = doorman(None, true, &[], &["facts.internal"]);
        let rows = [
            ("127.0.0.1", 200),
            ("127.0.0.1:8080", 200),
            ("127.8.9.1:1", 200),
            ("localhost", 200),
            ("LocalHost:9", 200),
            ("[::1]", 200),
            ("[::1]:8080", 200),
            ("facts.internal", 200),
            ("Facts.Internal:8080", 200),
            ("evil.example", 403),
            ("evil.example:8080", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost.evil.example", 403),
            ("10.0.0.1:8080", 403),
            ("[::2]:8080", 403),
            ("0.0.0.0:8080", 403),
            ("127.0.0.1@evil.example", 403),
            ("evil.example@127.0.0.1", 403),
            ("[::1]evil.example", 400),
            ("127.0.0.1:port", 400),
            ("127.0.0.1:80:80", 400),
            (":8080", 400),
            ("", 400),
        ];
        for (host, expected) in rows {
            for access in [Access::Admin, Access::Public] {
                assert_eq!(status(&doorman, access, &[("host", host)]), expected, "{host:?} {access:?}");
            }
            assert_eq!(status(&doorman, Access::Health, &[("host", host)]), 200, "probes use any name: {host:?}");
        }
        assert_eq!(status(&doorman, Access::Admin, &[]), 400, "no Host at all");
        let twice = [("host", "127.0.0.1"), ("host", "evil.example")];
        assert_eq!(status(&doorman, Access::Admin, &twice), 400);
    }

    #[test]
    fn an_absolute_request_line_names_the_host() {
        let doorman = doorman(None, true, &[], &[]);
        let uri = Uri::from_static("http://evil.example/api/items");
        assert!(doorman.admit(Access::Admin, &uri, &headers(&[("host", "127.0.0.1")])).is_err());
    }

    #[test]
    fn a_token_on_a_network_bind_frees_the_host() {
        let doorman = doorman(Some("secret"), false, &[], &[]);
        let pairs =
            [("host", "facts.example.org"), ("authorization", "Bearer secret"), ("origin", "https://a.example")];
        assert_eq!(status(&doorman, Access::Admin, &pairs), 200);
    }

    #[test]
    fn the_table_of_origins_on_a_loopback_bind() {
        let doorman = doorman(None, true, &["https://Desk.example.org/"], &[]);
        let rows = [
            ("http://127.0.0.1:8080", 200),
            ("https://127.0.0.1:8080", 200),
            ("https://desk.example.org", 200),
            ("http://desk.example.org", 403),
            ("https://desk.example.org:8443", 403),
            ("https://desk.example.org.evil.example", 403),
            ("http://127.0.0.1:3000", 403),
            ("http://127.0.0.1", 403),
            ("http://localhost:8080", 403),
            ("http://evil.example", 403),
            ("null", 403),
            ("", 403),
            ("chrome-extension://abcdefgh", 403),
        ];
        for (origin, expected) in rows {
            let pairs = [("host", "127.0.0.1:8080"), ("origin", origin)];
            for access in [Access::Admin, Access::Public] {
                assert_eq!(status(&doorman, access, &pairs), expected, "{origin:?} {access:?}");
            }
        }
        let two = [("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080"), ("origin", "http://evil.example")];
        assert_eq!(status(&doorman, Access::Admin, &two), 403);
        let default_port = [("host", "localhost"), ("origin", "http://localhost")];
        assert_eq!(status(&doorman, Access::Admin, &default_port), 200);
    }

    #[test]
    fn a_listed_extension_is_let_in() {
        let doorman = doorman(None, true, &["chrome-extension://abcdefgh"], &[]);
        let pairs = [("host", "127.0.0.1:8080"), ("origin", "chrome-extension://abcdefgh")];
        assert_eq!(status(&doorman, Access::Public, &pairs), 200);
    }
}
