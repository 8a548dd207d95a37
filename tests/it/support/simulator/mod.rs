//! A local stand-in for the providers and the web: Google Fact Check, GDELT, `SearxNG`, Brave, `SerpAPI`, Event Registry,
//! `NewsAPI`, Wikipedia, an OpenAI-compatible language model, and news pages.
//!
//! It answers in the providers' documented shapes and refuses what they refuse, so a client that only works here is
//! unlikely. What exists in its world is decided by a [`World`]; what goes wrong, by [`Fault`]s. It costs next to no
//! processor time, since throughput is measured against it: a page is a concatenation of prepared pieces.
//!
//! To add a provider: a [`Target`], its routes in `routes` and its shapes in `wire` or `paid_wire`.

mod arrivals;
mod fault;
mod llm;
mod page;
mod paid_wire;
mod routes;
mod wire;
mod world;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use arrivals::Arrivals;
pub(crate) use fault::Fault;
pub(crate) use llm::{KEY as LLM_KEY, MODEL as LLM_MODEL, Script, chat_answer};
pub(crate) use world::{EventWorld, MapWorld, Review, World, name_of};

/// Requests kept per target for a test to look at; a measurement sends far more and needs none of them.
const RECORDED_REQUESTS: usize = 256;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    GoogleFactCheck,
    Gdelt,
    Searxng,
    Brave,
    SerpApi,
    EventRegistry,
    NewsApi,
    Wikipedia,
    LanguageModel,
    Page,
    /// Anything else, e.g. `/robots.txt`; answered with 404.
    Unknown,
}

impl Target {
    const ALL: [Self; 11] = [
        Self::GoogleFactCheck,
        Self::Gdelt,
        Self::Searxng,
        Self::Brave,
        Self::SerpApi,
        Self::EventRegistry,
        Self::NewsApi,
        Self::Wikipedia,
        Self::LanguageModel,
        Self::Page,
        Self::Unknown,
    ];

    /// The prefix of the base URL, so that one server stands for all of them.
    const fn prefix(self) -> &'static str {
        match self {
            Self::GoogleFactCheck => "/google",
            Self::Gdelt => "/gdelt",
            Self::Searxng => "/searxng",
            Self::Brave => "/brave",
            Self::SerpApi => "/serpapi",
            Self::EventRegistry => "/eventregistry",
            Self::NewsApi => "/newsapi",
            Self::Wikipedia => "/wikipedia",
            // `/v1` is part of the address that an operator gives.
            Self::LanguageModel => "/llm/v1",
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
    arrivals: Arrivals,
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
    language_model: llm::Server,
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
            language_model: llm::Server::default(),
        });
        let router = routes::router(Arc::clone(&shared));
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

    /// What the language model says from now on; until then it declines.
    pub(crate) fn set_language_model(&self, script: impl Fn(&serde_json::Value) -> Script + Send + Sync + 'static) {
        self.shared.language_model.set(script);
    }

    /// The bodies of what the language model was asked, in order.
    pub(crate) fn asked_language_model(&self) -> Vec<serde_json::Value> {
        self.shared.language_model.asked()
    }

    /// From now on requests to `target` meet this fault; `None` mends it.
    pub(crate) fn set_fault(&self, target: Target, fault: impl Into<Option<Fault>>) {
        *lock(&self.shared.desk(target).fault) = fault.into();
    }

    /// Requests to `target` so far, refused ones included.
    pub(crate) fn calls(&self, target: Target) -> u64 {
        self.shared.desk(target).calls.load(Ordering::Relaxed)
    }

    /// The most requests to `target` that arrived within any span of this length.
    pub(crate) fn most_within(&self, target: Target, span: Duration) -> usize {
        self.shared.desk(target).arrivals.most_within(span)
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
    // Of pages and stray requests no rate is kept, and a measurement has hundreds of thousands.
    if !matches!(target, Target::Page | Target::Unknown) {
        desk.arrivals.note();
    }
    {
        let mut recorded = lock(&desk.recorded);
        if recorded.len() < RECORDED_REQUESTS {
            recorded.push(RecordedRequest { uri: request.uri().to_string(), headers: request.headers().clone() });
        }
    }
    lock(&desk.fault).as_mut().and_then(Fault::meet)
}
