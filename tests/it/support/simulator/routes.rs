//! Which handler answers which path.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::{Fault, Shared, Target, lock, page, paid_wire, receive, wire};

/// Of a request's body; every provider's is smaller.
const LARGEST_BODY: usize = 64 * 1024;
/// Of a question to the language model, which holds the passages of an item.
const LARGEST_QUESTION: usize = 1024 * 1024;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/google/v1alpha1/claims:search", get(google_fact_check))
        .route("/gdelt/api/v2/doc/doc", get(gdelt))
        .route("/searxng/search", get(searxng).post(searxng))
        .route("/brave/res/v1/web/search", get(brave_web))
        .route("/brave/res/v1/news/search", get(brave_news))
        .route("/serpapi/search.json", get(serpapi))
        .route("/serpapi/search", get(serpapi))
        .route("/serpapi/account.json", get(serpapi_account))
        .route("/eventregistry/api/v1/article/getArticles", post(event_registry))
        .route("/eventregistry/api/v1/usage", post(event_registry_usage))
        .route("/newsapi/v2/everything", get(newsapi))
        .route("/wikipedia/w/api.php", get(wikipedia))
        .route("/llm/v1/chat/completions", post(language_model))
        .route("/llm/v1/responses", post(language_model))
        .route("/page/{number}", get(news_page))
        .fallback(unknown)
        .with_state(shared)
}

/// The fault's answer; `None` where the proper one is to follow.
async fn play(fault: Option<Fault>) -> Option<Response> {
    fault?.play().await
}

async fn google_fact_check(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::GoogleFactCheck, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let asked = wire::parameters(request.uri().query());
    wire::google_fact_check(&asked, request.headers(), |query| shared.world.reviews(query))
}

async fn gdelt(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Gdelt, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    wire::gdelt(&wire::parameters(request.uri().query()), |query| found(&shared, query))
}

async fn searxng(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Searxng, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let mut asked = wire::parameters(request.uri().query());
    if request.method() == Method::POST {
        let body = to_bytes(request.into_body(), LARGEST_BODY).await.unwrap_or_default();
        asked.extend(wire::parameters(std::str::from_utf8(&body).ok()));
    }
    wire::searxng(&asked, |query| found(&shared, query))
}

async fn brave_web(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Brave, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let asked = wire::parameters(request.uri().query());
    wire::brave(&asked, request.headers(), false, |query| found(&shared, query))
}

async fn brave_news(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Brave, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let asked = wire::parameters(request.uri().query());
    wire::brave(&asked, request.headers(), true, |query| found(&shared, query))
}

async fn serpapi(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::SerpApi, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    paid_wire::serpapi(&wire::parameters(request.uri().query()), |query| found(&shared, query))
}

/// Free, and not counted as a search.
async fn serpapi_account(State(shared): State<Arc<Shared>>) -> Response {
    paid_wire::serpapi_account(shared.desk(Target::SerpApi).calls.load(Ordering::Relaxed))
}

async fn event_registry(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::EventRegistry, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let body = to_bytes(request.into_body(), LARGEST_BODY).await.unwrap_or_default();
    paid_wire::event_registry(&body, |query| found(&shared, query))
}

/// Free, and not counted as a search.
async fn event_registry_usage(State(shared): State<Arc<Shared>>) -> Response {
    paid_wire::event_registry_usage(shared.desk(Target::EventRegistry).calls.load(Ordering::Relaxed))
}

async fn newsapi(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::NewsApi, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let asked = wire::parameters(request.uri().query());
    paid_wire::newsapi(&asked, request.headers(), |query| found(&shared, query))
}

async fn wikipedia(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Wikipedia, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    wire::wikipedia(&wire::parameters(request.uri().query()), |query| found(&shared, query))
}

/// A chat completion, or an answer with a web search.
async fn language_model(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::LanguageModel, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let is_chat = request.uri().path().ends_with("/chat/completions");
    let headers = request.headers().clone();
    let body = to_bytes(request.into_body(), LARGEST_QUESTION).await.unwrap_or_default();
    shared.language_model.answer(is_chat, &headers, &body)
}

/// The pages of the world that answer a query, as a search engine knows them.
fn found(shared: &Shared, query: &str) -> Vec<wire::Found> {
    let describe = |number| wire::Found {
        url: shared.page_url(number),
        title: shared.world.title(number),
        snippet: shared.world.facts(number).into_iter().next().unwrap_or_default(),
        published: page::published(number),
    };
    shared.world.search(query).into_iter().map(describe).collect()
}

async fn news_page(State(shared): State<Arc<Shared>>, Path(number): Path<u64>, request: Request) -> Response {
    *lock(&shared.page_calls).entry(number).or_default() += 1;
    let conditional = request.headers().get(header::IF_NONE_MATCH).cloned();
    let fault = receive(&shared, Target::Page, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    // A page of the world never changes.
    let etag = HeaderValue::from_str(&format!("W/\"page-{number}\"")).expect("digits are a header");
    if conditional.as_ref() == Some(&etag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response();
    }
    let html = shared.press.print(
        number,
        &shared.page_url(number),
        &shared.world.title(number),
        &shared.world.facts(number),
        shared.addresses.len(),
    );
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, kind), (header::ETAG, etag)], Body::from(html)).into_response()
}

async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Unknown, &request);
    match play(fault).await {
        Some(response) => response,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
