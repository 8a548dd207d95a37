use futures::executor::block_on;
use url::Url;

use super::*;
use crate::http::authority::origin_of;

fn authenticator(token: Option<&str>, loopback: bool, origins: &[&str], hosts: &[&str]) -> Authenticator {
    let settings = HttpSettings {
        admin_token: token.map(Into::into),
        loopback,
        allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..HttpSettings::default()
    };
    Authenticator::new(&settings, None)
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    map
}

fn status(authenticator: &Authenticator, access: Access, pairs: &[(&'static str, &str)]) -> u16 {
    asked(authenticator, access, &Method::GET, "/api/items", pairs)
}

fn asked(
    authenticator: &Authenticator,
    access: Access,
    method: &Method,
    uri: &'static str,
    pairs: &[(&'static str, &str)],
) -> u16 {
    let credential = block_on(authenticator.credential(access, method, &headers(pairs))).unwrap();
    asked_by(authenticator, access, method, uri, pairs, &credential)
}

fn asked_by(
    authenticator: &Authenticator,
    access: Access,
    method: &Method,
    uri: &'static str,
    pairs: &[(&'static str, &str)],
    credential: &Credential,
) -> u16 {
    match authenticator.admit(access, method, &Uri::from_static(uri), &headers(pairs), credential) {
        Ok(_visitor) => 200,
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
        let found = status(&authenticator(token, loopback, &[], &[]), access, &pairs);
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
            status(&authenticator(token, loopback, &[], &[]), access, &given)
        };
        for access in [Access::Admin, Access::Public] {
            assert_eq!(asked(None, true, access), 403, "{header:?} {access:?}");
            assert_eq!(asked(Some("secret"), true, access), 200, "{header:?}: the token says who it is");
        }
        assert_eq!(asked(None, true, Access::Health), 200, "{header:?}: probes");
        assert_eq!(asked(None, false, Access::Public), 200, "{header:?}: a server for a network trusts nobody anyway");
    }
    assert_eq!(status(&authenticator(None, true, &[], &[]), Access::Admin, &[HOST, ("x-forward", "1")]), 200);
}

#[test]
fn two_tokens_are_no_token() {
    let pairs = [("authorization", "Bearer wrong"), ("authorization", "Bearer secret")];
    assert_eq!(status(&authenticator(Some("secret"), false, &[], &[]), Access::Admin, &pairs), 401);
}

#[test]
fn the_table_of_hosts_on_a_loopback_bind() {
    let authenticator = authenticator(None, true, &[], &["facts.internal"]);
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
            assert_eq!(status(&authenticator, access, &[("host", host)]), expected, "{host:?} {access:?}");
        }
        assert_eq!(status(&authenticator, Access::Health, &[("host", host)]), 200, "probes use any name: {host:?}");
    }
    assert_eq!(status(&authenticator, Access::Admin, &[]), 400, "no Host at all");
    let twice = [("host", "127.0.0.1"), ("host", "evil.example")];
    assert_eq!(status(&authenticator, Access::Admin, &twice), 400);
}

#[test]
fn an_absolute_request_line_names_the_host() {
    let authenticator = authenticator(None, true, &[], &[]);
    let pairs = [("host", "127.0.0.1")];
    assert_eq!(asked(&authenticator, Access::Admin, &Method::GET, "http://evil.example/api/items", &pairs), 403);
}

#[test]
fn a_token_on_a_network_bind_frees_the_host() {
    let authenticator = authenticator(Some("secret"), false, &[], &[]);
    let pairs = [("host", "facts.example.org"), ("authorization", "Bearer secret"), ("origin", "https://a.example")];
    assert_eq!(status(&authenticator, Access::Admin, &pairs), 200);
}

#[test]
fn the_table_of_origins_on_a_loopback_bind() {
    let authenticator = authenticator(None, true, &["https://Desk.example.org/"], &[]);
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
            assert_eq!(status(&authenticator, access, &pairs), expected, "{origin:?} {access:?}");
        }
    }
    let two = [("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080"), ("origin", "http://evil.example")];
    assert_eq!(status(&authenticator, Access::Admin, &two), 403);
    let default_port = [("host", "localhost"), ("origin", "http://localhost")];
    assert_eq!(status(&authenticator, Access::Admin, &default_port), 200);
}

#[test]
fn a_listed_extension_is_let_in() {
    let authenticator = authenticator(None, true, &["chrome-extension://abcdefgh"], &[]);
    let pairs = [("host", "127.0.0.1:8080"), ("origin", "chrome-extension://abcdefgh")];
    assert_eq!(status(&authenticator, Access::Public, &pairs), 200);
}

fn guarded(open_reading: bool) -> Authenticator {
    let settings = HttpSettings {
        admin_token: Some("secret".into()),
        read_token: Some("reader".into()),
        open_reading,
        loopback: false,
        ..HttpSettings::default()
    };
    Authenticator::new(&settings, None)
}

#[test]
fn the_table_of_scopes() {
    use Access::{Admin, Check, Public, Read};
    let rows = [
        (false, None, Read, 401),
        (false, Some("Bearer reader"), Read, 200),
        (false, Some("Bearer reader"), Check, 403),
        (false, Some("Bearer reader"), Admin, 403),
        (false, Some("Bearer secret"), Admin, 200),
        (false, Some("Bearer secret"), Read, 200),
        (true, None, Read, 200),
        (true, None, Check, 401),
        (true, None, Admin, 401),
        (true, Some("Bearer wrong"), Read, 401),
        (true, None, Public, 200),
    ];
    for (open, given, access, expected) in rows {
        let pairs: Vec<(&'static str, &str)> = given.map(|given| ("authorization", given)).into_iter().collect();
        let found = asked(&guarded(open), access, &Method::GET, "/api/items", &pairs);
        assert_eq!(found, expected, "open {open}, {given:?}, {access:?}");
    }
}

#[test]
fn session_opens_routes_and_changes_nothing_without_its_form_token() {
    let authenticator = guarded(false);
    let session = Session::for_test(Scope::Admin);
    let csrf = session.csrf.to_string();
    let admin = Credential::Session(session);
    let post = |pairs: &[(&'static str, &str)]| {
        asked_by(&authenticator, Access::Admin, &Method::POST, "/api/domains", pairs, &admin)
    };
    assert_eq!(asked_by(&authenticator, Access::Admin, &Method::GET, "/api/dead", &[], &admin), 200);
    assert_eq!(post(&[]), 403, "a forged request has no token of the page");
    assert_eq!(post(&[("x-csrf-token", "guessed")]), 403);
    assert_eq!(post(&[("x-csrf-token", &csrf)]), 200);
    let wrong = [("authorization", "Bearer wrong"), ("cookie", "corroborate_session=x")];
    let both = asked(&authenticator, Access::Read, &Method::GET, "/api/items", &wrong);
    assert_eq!(both, 401, "the answer names the wrong token");
    let reader = Credential::Session(Session::for_test(Scope::Read));
    assert_eq!(asked_by(&authenticator, Access::Read, &Method::GET, "/api/items", &[], &reader), 200);
    assert_eq!(asked_by(&authenticator, Access::Admin, &Method::GET, "/api/dead", &[], &reader), 403);
}

#[test]
fn cookie_of_an_earlier_version_opens_nothing() {
    let forged = format!("{COOKIE}=admin.own.1700000000.1700000000.0123456789abcdef.{}", "0".repeat(64));
    let given = [("cookie", forged.as_str())];
    assert!(secret_of(&headers(&given)).is_none());
    assert_eq!(asked(&guarded(false), Access::Admin, &Method::GET, "/api/tokens", &given), 401);
}

#[test]
fn an_extension_that_is_listed_comes_in_and_no_sandboxed_page_with_it() {
    let origin = "chrome-extension://abcdefghijklmnop";
    assert_eq!(origin_of(&Url::parse(&format!("{origin}/")).unwrap()), origin);
    assert_eq!(origin_of(&Url::parse("https://Desk.example:443/x").unwrap()), "https://desk.example");
    let authenticator = authenticator(None, true, &[origin], &[]);
    let from = |origin: &str| status(&authenticator, Access::Admin, &[("host", "127.0.0.1:8080"), ("origin", origin)]);
    assert_eq!((from(origin), from("null"), from("chrome-extension://other")), (200, 403, 403));
}
