//! The HTTP interface of the daemon.
//!
//! [`routes`] has one file per API resource and [`ui`] has the pages. [`router`] adds the layers, [`auth`] grants
//! access, [`problem`] makes every error `application/problem+json`, and [`openapi`] describes the API.
//!
//! This module never contains SQL, decides a verdict, trusts forwarding headers, or shows a secret.
//!
//! To add an endpoint, write a handler and add a line to the `ROUTES` of its file. Router, access check, timeout and
//! `/openapi.json` follow from that line.

mod auth;
mod authority;
mod bodies;
mod checking;
mod extract;
mod in_process;
mod keyring;
mod limit;
mod openapi;
mod problem;
mod recent;
mod router;
mod routes;
mod server;
mod session;
mod ui;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::broker::Queue;
use crate::pipeline::Services;

use crate::supervisor::Supervisor;
use recent::CachedLookup;
use routes::health::HealthCache;
use routes::overview::{self, Overview};

pub use authority::origin_of;
pub use checking::check_item;
pub use in_process::InProcess;
pub use openapi::document as openapi_document;
pub use router::router;
pub use routes::tokens::random_token;
pub use routes::verify::{VerifyAnswer, answer as verify_answer};
pub use server::serve;

/// Each check keeps several pages in memory and uses slow providers; more at once would time out together.
const CHECKS_AT_ONCE: usize = 16;

/// Services and settings of the endpoints. Cheap to clone.
#[derive(Clone)]
pub struct HttpState {
    pub services: Arc<Services>,
    pub queue: Arc<dyn Queue>,
    pub settings: Arc<HttpSettings>,
    /// Cancelled at shutdown: the process is not ready but finishes its work.
    pub stopping: CancellationToken,
    /// A failed background task makes the process unready.
    pub supervisor: Supervisor,
    /// Why this process takes no items; `None` while it does.
    pub intake_paused: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// Metrics in the Prometheus text format.
    pub render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for HttpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpState").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Each export reads the whole store, one query per item, on connections that all pages share.
const EXPORTS_AT_ONCE: usize = 1;

/// State of handlers: [`HttpState`] with this router's limits and caches.
#[derive(Debug, Clone)]
pub(crate) struct App {
    state: HttpState,
    pub(crate) checks: Arc<Semaphore>,
    pub(crate) exports: Arc<Semaphore>,
    pub(crate) health_cache: Arc<HealthCache>,
    pub(crate) overview: Arc<CachedLookup<Overview>>,
    pub(crate) openapi: Arc<str>,
}

impl App {
    fn new(state: HttpState, openapi: Arc<str>) -> Self {
        Self {
            state,
            checks: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            exports: Arc::new(Semaphore::new(EXPORTS_AT_ONCE)),
            health_cache: Arc::default(),
            overview: Arc::new(CachedLookup::new(overview::FRESH)),
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

/// Server settings. `Debug` redacts tokens.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct HttpSettings {
    /// Required for guarded routes. Without it, they work on a loopback bind only.
    pub admin_token: Option<SecretString>,
    /// A token with the scope `read`; needs `admin_token`.
    pub read_token: Option<SecretString>,
    /// Reading needs no token.
    pub open_reading: bool,
    /// The listen address is a loopback address.
    pub loopback: bool,
    /// Web origins like `https://desk.example.org`; empty: CORS is off.
    pub allowed_origins: Vec<String>,
    /// Further names for `Host` on a loopback bind, without port.
    pub allowed_hosts: Vec<String>,
    /// Maximum body of items and imports, bytes.
    pub max_body_bytes: usize,
    /// Per client address; 0: no limit.
    pub requests_per_minute: u32,
    /// The store is embedded.
    pub embedded: bool,
    pub version: &'static str,
    /// Timeout of checks; longer than the pipeline's own limit.
    pub request_timeout: Duration,
    /// Monthly cap of all providers, US dollars.
    pub monthly_cap_usd: Option<f64>,
    /// This process takes items from the queue.
    pub worker: bool,
    /// Requests come from a command of this process, which waits as long as the work takes.
    pub in_process: bool,
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
            in_process: false,
        }
    }
}
