//! A local stand-in for the providers and the web: Google Fact Check, GDELT, `SearxNG`, Brave, and news pages.
//!
//! It answers in the providers' documented shapes and refuses what they refuse, so a client that only works here is
//! unlikely. What exists in its world is decided by a [`World`]; what goes wrong, by [`Fault`]s. It costs next to no
//! processor time, since throughput is measured against it: a page is a concatenation of prepared pieces.
//!
//! To add a provider: a [`Target`], its routes in [`Simulator::start`] and its shapes in `wire`.

mod fault;
mod page;
mod wire;
mod world;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) use fault::Fault;
pub(crate) use world::{EventWorld, MapWorld, Review, World, name_of, numbers_named_in};

/// Requests kept per target for a test to look at; a measurement sends far more and needs none of them.
const RECORDED_REQUESTS: usize = 256;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    GoogleFactCheck,
    Gdelt,
    Searxng,
    Brave,
    Page,
    /// Anything else, e.g. `/robots.txt`; answered with 404.
    Unknown,
}

impl Target {
    const ALL: [Self; 6] = [Self::GoogleFactCheck, Self::Gdelt, Self::Searxng, Self::Brave, Self::Page, Self::Unknown];

    /// The prefix of the base URL, so that one server stands for all of them.
    const fn prefix(self) -> &'static str {
        match self {
            Self::GoogleFactCheck => "/google",
            Self::Gdelt => "/gdelt",
            Self::Searxng => "/searxng",
            Self::Brave => "/brave",
            Self::Page | Self::Unknown => "",
        }
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    /// Path with query, prefix included.
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
}

/// What is known and planned for one target.
#[derive(Debug, Default)]
struct Desk {
    calls: AtomicU64,
    fault: Mutex<Option<Fault>>,
    recorded: Mutex<Vec<RecordedRequest>>,
}

/// Everything the handlers share.
struct Shared {
    world: Box<dyn World>,
    desks: HashMap<Target, Desk>,
    page_calls: Mutex<HashMap<u64, u64>>,
    press: page::Press,
    addresses: Vec<SocketAddr>,
}

impl Shared {
    fn desk(&self, target: Target) -> &Desk {
        self.desks.get(&target).expect("every target has a desk")
    }

    /// Where a page is found. Pages are spread over the hosts, so that they do not all count as one publisher.
    fn page_url(&self, number: u64) -> String {
        let host = usize::try_from(number).unwrap_or(0) % self.addresses.len();
        format!("http://{}/page/{number}", self.addresses[host])
    }
}

/// A running simulator; it stops when dropped.
pub(crate) struct Simulator {
    shared: Arc<Shared>,
    /// Ended when dropped.
    servers: JoinSet<()>,
}

impl Simulator {
    /// Starts on a free port of 127.0.0.1.
    pub(crate) async fn start(world: impl World) -> Self {
        Self::start_on_hosts(world, 1).await
    }

    /// Starts on up to `hosts` loopback addresses (127.0.0.1, 127.0.0.2, …), each with a port of its own, so that pages
    /// come from several publishers. Systems that know only 127.0.0.1 get that one.
    pub(crate) async fn start_on_hosts(world: impl World, hosts: u8) -> Self {
        let mut listeners = Vec::new();
        for last in 1..=hosts.max(1) {
            match TcpListener::bind((Ipv4Addr::new(127, 0, 0, last), 0)).await {
                Ok(listener) => listeners.push(listener),
                Err(error) => assert!(last > 1, "no port on 127.0.0.1: {error}"),
            }
        }
        let addresses =
            listeners.iter().map(|listener| listener.local_addr().expect("a bound socket has an address")).collect();
        let shared = Arc::new(Shared {
            world: Box::new(world),
            desks: Target::ALL.into_iter().map(|target| (target, Desk::default())).collect(),
            page_calls: Mutex::default(),
            press: page::Press::new(),
            addresses,
        });
        let router = Router::new()
            .route("/google/v1alpha1/claims:search", get(google_fact_check))
            .route("/gdelt/api/v2/doc/doc", get(gdelt))
            .route("/searxng/search", get(searxng).post(searxng))
            .route("/brave/res/v1/web/search", get(brave_web))
            .route("/brave/res/v1/news/search", get(brave_news))
            .route("/page/{number}", get(news_page))
            .fallback(unknown)
            .with_state(Arc::clone(&shared));
        let mut servers = JoinSet::new();
        for listener in listeners {
            let router = router.clone();
            servers.spawn(async move {
                // Ends only with the task itself: axum's server has no error of its own.
                axum::serve(listener, router).await.expect("the simulator serves until it is dropped");
            });
        }
        Self { shared, servers }
    }

    /// From now on nobody answers any more.
    pub(crate) async fn stop(&mut self) {
        self.servers.shutdown().await;
    }

    /// What to give the daemon as the provider's base URL (for pages: the origin).
    pub(crate) fn base_url(&self, target: Target) -> String {
        format!("http://{}{}", self.shared.addresses[0], target.prefix())
    }

    /// Where page `number` is found.
    pub(crate) fn page_url(&self, number: u64) -> String {
        self.shared.page_url(number)
    }

    /// From now on requests to `target` meet this fault; `None` mends it.
    pub(crate) fn set_fault(&self, target: Target, fault: impl Into<Option<Fault>>) {
        *lock(&self.shared.desk(target).fault) = fault.into();
    }

    /// Requests to `target` so far, refused ones included.
    pub(crate) fn calls(&self, target: Target) -> u64 {
        self.shared.desk(target).calls.load(Ordering::Relaxed)
    }

    /// Requests for one page so far.
    pub(crate) fn page_calls(&self, number: u64) -> u64 {
        lock(&self.shared.page_calls).get(&number).copied().unwrap_or(0)
    }

    /// The first [`RECORDED_REQUESTS`] requests to `target`.
    pub(crate) fn requests(&self, target: Target) -> Vec<RecordedRequest> {
        lock(&self.shared.desk(target).recorded).clone()
    }
}

/// A panicking test must not turn every later look at a counter into a second panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts and records a request; the fault it meets, where there is one.
fn receive(shared: &Shared, target: Target, request: &Request) -> Option<Fault> {
    let desk = shared.desk(target);
    desk.calls.fetch_add(1, Ordering::Relaxed);
    {
        let mut recorded = lock(&desk.recorded);
        if recorded.len() < RECORDED_REQUESTS {
            recorded.push(RecordedRequest { uri: request.uri().to_string(), headers: request.headers().clone() });
        }
    }
    lock(&desk.fault).as_mut().and_then(Fault::meet)
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
    if request.method() == axum::http::Method::POST {
        let body = axum::body::to_bytes(request.into_body(), 64 * 1024).await.unwrap_or_default();
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
    let fault = receive(&shared, Target::Page, &request);
    if let Some(response) = play(fault).await {
        return response;
    }
    let html = shared.press.print(
        number,
        &shared.page_url(number),
        &shared.world.title(number),
        &shared.world.facts(number),
        shared.addresses.len(),
    );
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], Body::from(html)).into_response()
}

async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = receive(&shared, Target::Unknown, &request);
    match play(fault).await {
        Some(response) => response,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
