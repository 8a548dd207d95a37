//! The layers around every route, with handlers that need no store.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::routing::on;
use secrecy::SecretString;
use serde_json::Value;
use tower::ServiceExt as _;

use super::super::routes::Verb;
use super::*;

fn settings() -> HttpSettings {
    HttpSettings { max_body_bytes: 100, requests_per_minute: 0, ..HttpSettings::default() }
}

fn assembled(settings: &HttpSettings, handlers: impl Iterator<Item = (Endpoint, MethodRouter)>) -> Router {
    assemble(settings, Authenticator::new(settings, None), handlers)
}

fn stubs(settings: &HttpSettings) -> Router {
    let handlers =
        routes::all().map(|route| (Endpoint::of(route), on(route.verb.filter(), |_body: Bytes| async { "yes" })));
    assembled(settings, handlers)
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn problem(&self) -> Value {
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(problem["title"], self.status.canonical_reason().unwrap());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        assert!(problem["type"].as_str().unwrap().starts_with("urn:corroborate:problem:"));
        problem
    }
}

async fn send(router: &Router, method: &str, uri: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let mut request = Request::builder().method(method).uri(uri);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header(header::HOST, "127.0.0.1:8080");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    Answer { status: parts.status, headers: parts.headers, body: to_bytes(body, 1 << 20).await.unwrap() }
}

fn concrete(path: &str) -> String {
    path.replace("{id}", "tg:a%2Fb:1").replace("{domain}", "example.org")
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::Post => "POST",
        Verb::Delete => "DELETE",
    }
}

#[tokio::test]
async fn every_route_answers_on_a_loopback_bind_without_a_token() {
    let router = stubs(&settings());
    for route in routes::all() {
        let answer = send(&router, method(route.verb), &concrete(route.path), &[], "").await;
        assert_eq!(answer.status, StatusCode::OK, "{:?} {}", route.verb, route.path);
    }
}

#[tokio::test]
async fn every_admin_route_needs_the_token_and_no_other_does() {
    let with_token = HttpSettings { admin_token: Some(SecretString::from("secret")), loopback: false, ..settings() };
    let router = stubs(&with_token);
    let closed = stubs(&HttpSettings { loopback: false, ..settings() });
    for route in routes::all() {
        let (verb, path) = (method(route.verb), concrete(route.path));
        let none = send(&router, verb, &path, &[], "").await;
        let wrong = send(&router, verb, &path, &[("authorization", "Bearer Secret")], "").await;
        let right = send(&router, verb, &path, &[("authorization", "Bearer secret")], "").await;
        let without = send(&closed, verb, &path, &[("authorization", "Bearer secret")], "").await;
        assert_eq!(right.status, StatusCode::OK, "{path}");
        if route.access.is_guarded() {
            assert_eq!((none.status, wrong.status), (StatusCode::UNAUTHORIZED, StatusCode::UNAUTHORIZED), "{path}");
            assert_eq!(none.headers[header::WWW_AUTHENTICATE], "Bearer realm=\"corroborate\"");
            assert!(wrong.headers[header::WWW_AUTHENTICATE].to_str().unwrap().contains("invalid_token"));
            assert_eq!(none.problem()["instance"], path.as_str());
            assert!(!String::from_utf8_lossy(&wrong.body).contains("ecret"), "a token is never repeated");
            assert_eq!(without.status, StatusCode::FORBIDDEN, "{path}");
            assert!(without.problem()["detail"].as_str().unwrap().contains("set ADMIN_TOKEN"));
        } else {
            assert_eq!((none.status, wrong.status), (StatusCode::OK, StatusCode::OK), "{path}");
            assert_eq!(without.status, StatusCode::OK, "{path}");
        }
    }
    let of = |access| routes::all().filter(move |route| route.access == access).map(|route| route.path);
    let open: Vec<_> = of(Access::Health).chain(of(Access::Public)).collect();
    assert_eq!(open, ["/healthz", "/readyz", "/metrics", "/openapi.json", "/api/health"]);
    assert!(of(Access::Check).any(|path| path == "/api/verify"), "a check costs money: it needs the token that is set");
}

#[tokio::test]
async fn a_head_request_needs_the_token_too() {
    let router = stubs(&HttpSettings { admin_token: Some(SecretString::from("secret")), ..settings() });
    let answer = send(&router, "HEAD", "/api/items", &[], "").await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::UNAUTHORIZED, 0));
}

#[tokio::test]
async fn no_web_page_gets_through_on_a_loopback_bind() {
    for token in [None, Some(SecretString::from("secret"))] {
        let router = stubs(&HttpSettings { admin_token: token, ..settings() });
        for route in routes::all() {
            let (verb, path) = (method(route.verb), concrete(route.path));
            let bearer = ("authorization", "Bearer secret");
            let rebound = send(&router, verb, &path, &[("host", "evil.example:8080"), bearer], "").await;
            let foreign = send(&router, verb, &path, &[("origin", "https://evil.example"), bearer], "").await;
            let own = send(&router, verb, &path, &[("origin", "http://127.0.0.1:8080"), bearer], "").await;
            assert_eq!(own.status, StatusCode::OK, "{path}");
            if route.access == Access::Health {
                assert_eq!((rebound.status, foreign.status), (StatusCode::OK, StatusCode::OK), "{path}");
            } else {
                assert_eq!((rebound.status, foreign.status), (StatusCode::FORBIDDEN, StatusCode::FORBIDDEN), "{path}");
                rebound.problem();
                foreign.problem();
            }
        }
    }
}

#[tokio::test]
async fn cors_is_off_unless_the_origin_is_listed() {
    let preflight = [("origin", "https://desk.example.org"), ("access-control-request-method", "POST")];
    let off = send(&stubs(&settings()), "OPTIONS", "/api/verify", &preflight, "").await;
    assert_eq!(off.status, StatusCode::FORBIDDEN);
    assert!(!off.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));

    let listed = HttpSettings { allowed_origins: vec!["https://desk.example.org".into()], ..settings() };
    let router = stubs(&listed);
    let on = send(&router, "OPTIONS", "/api/verify", &preflight, "").await;
    assert_eq!(on.status, StatusCode::NO_CONTENT);
    assert_eq!(on.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "https://desk.example.org");
    assert!(on.headers[header::ACCESS_CONTROL_ALLOW_METHODS].to_str().unwrap().contains("DELETE"));
    assert_eq!(on.headers[header::VARY], "origin");
    let real = send(&router, "POST", "/api/verify", &preflight[..1], "").await;
    assert_eq!(
        (real.status, &real.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN]),
        (StatusCode::OK, &"https://desk.example.org".parse().unwrap())
    );
    let error = send(&router, "GET", "/nowhere", &preflight[..1], "").await;
    assert!(error.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN), "a listed page may read errors");
    error.problem();

    let other = [("origin", "https://other.example.org"), ("access-control-request-method", "POST")];
    let refused = send(&router, "OPTIONS", "/api/verify", &other, "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(!refused.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
    let rebound = [("host", "evil.example"), preflight[0], preflight[1]];
    assert_eq!(send(&router, "OPTIONS", "/api/verify", &rebound, "").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn every_kind_of_error_is_a_problem() {
    let router = stubs(&settings());
    let unknown = send(&router, "GET", "/api/nothing?q=secret", &[], "").await;
    assert_eq!((unknown.status, &unknown.problem()["instance"]), (StatusCode::NOT_FOUND, &Value::from("/api/nothing")));
    let slash = send(&router, "GET", "/api/items/a/b", &[], "").await;
    assert!(slash.problem()["detail"].as_str().unwrap().contains("%2F"));
    let method = send(&router, "PUT", "/api/items", &[], "").await;
    assert_eq!(method.status, StatusCode::METHOD_NOT_ALLOWED);
    let allowed = method.headers[header::ALLOW].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    method.problem();
    let announced = send(&router, "POST", "/api/items", &[("content-length", "101")], "x".repeat(101)).await;
    assert_eq!(announced.status, StatusCode::PAYLOAD_TOO_LARGE);
    announced.problem();
    let chunks = futures::stream::iter((0..20).map(|_| Ok::<_, std::io::Error>("0123456789")));
    let streamed = send(&router, "POST", "/api/items", &[], Body::from_stream(chunks)).await;
    assert_eq!(streamed.status, StatusCode::PAYLOAD_TOO_LARGE);
    streamed.problem();
    let fits = send(&router, "POST", "/api/items", &[], "x".repeat(100)).await;
    assert_eq!(fits.status, StatusCode::OK);
    assert_eq!(fits.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
}

#[tokio::test]
async fn a_panic_is_a_500_and_keeps_its_words_to_itself() {
    let handlers = routes::all().map(|route| {
        let burst = on(route.verb.filter(), || async {
            let nothing: Option<&'static str> = std::hint::black_box(None);
            nothing.expect("the secret of the house")
        });
        (Endpoint::of(route), burst)
    });
    let router = assembled(&settings(), handlers);
    let answer = send(&router, "GET", "/api/health", &[], "").await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!answer.problem().to_string().contains("secret"));
}

#[tokio::test]
async fn a_handler_that_hangs_is_given_up() {
    let handlers =
        routes::all().map(|route| (Endpoint::of(route), on(route.verb.filter(), std::future::pending::<&'static str>)));
    let router = assembled(&HttpSettings { request_timeout: Duration::from_millis(20), ..settings() }, handlers);
    let answer = send(&router, "POST", "/api/verify", &[], "").await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
    answer.problem();
}

#[tokio::test]
async fn rate_limit_names_wait_and_ignores_probes_when_client_asks_too_often() {
    let router = stubs(&HttpSettings { requests_per_minute: 40, ..settings() });
    for number in 0..10 {
        assert_eq!(send(&router, "GET", "/api/health", &[], "").await.status, StatusCode::OK, "request {number}");
    }
    let refused = send(&router, "GET", "/api/items", &[], "").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers[header::RETRY_AFTER], "2");
    refused.problem();
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(send(&router, "GET", path, &[], "").await.status, StatusCode::OK, "{path}");
    }
}
