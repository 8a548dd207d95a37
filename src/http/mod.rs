//! The HTTP interface: what operators, admins and other programs ask the daemon.
//!
//! [`routes`] holds one file per resource, [`ui`] the pages; [`router`] puts the layers around them, [`auth`] decides who may come in,
//! [`problem`] makes every error `application/problem+json`, [`openapi`] describes the whole from the same table the
//! router is built from.
//!
//! What this room never does: know how a part was built, hold SQL, decide a verdict, trust a header that says who the
//! client is, or show a secret.
//!
//! To add an endpoint: write its handler in the file of its resource and add a line to that file's `ROUTES`; the router,
//! the guard, the timeout and `/openapi.json` follow from the line.

mod auth;
mod authority;
mod bodies;
mod checking;
mod events;
mod examples;
mod extract;
mod keyring;
mod limit;
mod measure;
mod openapi;
mod peer;
mod problem;
mod recent;
mod router;
mod routes;
mod scope;
mod server;
mod session;
mod ui;
mod who;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::broker::Queue;
use crate::pipeline::Services;

use crate::store::UnreadableDomain;
use crate::supervisor::Supervisor;
use recent::Recent;
use routes::domains;
use routes::health::Looks;
use routes::overview::{self, Overview};

pub use authority::origin_of;
pub use checking::check_item;
pub use openapi::document as openapi_document;
pub use router::router;
pub use routes::tokens::{MadeToken, TokenError, TokenRequest, make as make_token, random_token};
pub use routes::verify::{VerifyAnswer, answer as verify_answer};
pub use server::serve;

/// Checks that run at the same time. Each keeps several pages in memory and asks providers that allow a few calls a
/// minute; a person who has to wait is better served than ten who time out together.
const CHECKS_AT_ONCE: usize = 16;

/// What the endpoints work with. Cheap to clone.
#[derive(Clone)]
pub struct HttpState {
    pub services: Arc<Services>,
    pub queue: Arc<dyn Queue>,
    pub settings: Arc<HttpSettings>,
    /// Cancelled when the process is told to stop: from then on it is not ready, while it finishes what it began.
    pub stopping: CancellationToken,
    /// A failed background task makes the process unready.
    pub supervisor: Supervisor,
    /// Why this process takes no items from the queue; `None` while it does.
    pub intake_paused: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// The metrics in Prometheus' text format.
    pub render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for HttpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpState").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Exports of items that read from the store at the same time. Each reads the whole store, one query an item, on
/// connections that all pages share.
const EXPORTS_AT_ONCE: usize = 1;

/// What handlers see: the parts `app` gave, and what belongs to this router alone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    state: HttpState,
    pub(crate) checks: Arc<Semaphore>,
    pub(crate) exports: Arc<Semaphore>,
    pub(crate) looks: Arc<Looks>,
    /// The last day's figures.
    pub(crate) overview: Arc<Recent<Overview>>,
    /// Domains that could not be read lately.
    pub(crate) unreadable: Arc<Recent<Vec<UnreadableDomain>>>,
    /// The document of `/openapi.json`.
    pub(crate) openapi: Arc<str>,
}

impl App {
    fn new(state: HttpState, openapi: Arc<str>) -> Self {
        Self {
            state,
            checks: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            exports: Arc::new(Semaphore::new(EXPORTS_AT_ONCE)),
            looks: Arc::default(),
            overview: Arc::new(Recent::new(overview::FRESH)),
            unreadable: Arc::new(Recent::new(domains::UNREADABLE_FRESH)),
            openapi,
        }
    }
}

impl Deref for App {
    type Target = HttpState;

    fn deref(&self) -> &HttpState {
        &self.state
    }
}

/// How the server is set up. `Debug` shows the token as redacted.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct HttpSettings {
    /// Needed for everything but what is public when set; without it all of that works on a loopback bind only.
    pub admin_token: Option<SecretString>,
    /// May look at what is stored, and no more; counts only beside an admin's.
    pub read_token: Option<SecretString>,
    /// Anybody may look at what is stored.
    pub open_reading: bool,
    /// The address listened on is of this machine only.
    pub loopback: bool,
    /// Web origins that may call the API, like `https://desk.example.org`; empty: CORS is off.
    pub allowed_origins: Vec<String>,
    /// Names besides the loopback ones that `Host` may hold on a loopback bind, without port.
    pub allowed_hosts: Vec<String>,
    /// Largest body of items and imports, bytes; other bodies are small.
    pub max_body_bytes: usize,
    /// Per client address; 0: no limit.
    pub requests_per_minute: u32,
    /// The store is inside this process.
    pub embedded: bool,
    pub version: &'static str,
    /// How long a request may take that has to wait for a check; longer than the pipeline's own limit.
    pub request_timeout: Duration,
    /// What all providers together may cost in a month, US dollars; `None` where nothing limits them.
    pub monthly_cap_usd: Option<f64>,
    /// This process takes items from the queue.
    pub worker: bool,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            admin_token: None,
            read_token: None,
            open_reading: false,
            loopback: true,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            max_body_bytes: 8 * 1024 * 1024,
            requests_per_minute: 600,
            embedded: true,
            version: env!("CARGO_PKG_VERSION"),
            request_timeout: Duration::from_secs(90),
            monthly_cap_usd: None,
            worker: true,
        }
    }
}
