//! The application: builds the concrete parts from the configuration, runs them, and stops them in order. The only room
//! that names concrete types of all the others; it never prints and never decides anything about a claim.
//!
//! `opening` opens the store, `build` the services, `lifecycle` runs the daemon, `jobs` is its background work,
//! `reembed` what a change of the embedder leaves to do, `rejudging` what news and settings leave to do, `reload` takes new keys and
//! lists over while the daemon runs. A new provider or model gets its line in `build`; a new
//! periodic task its function in `jobs`.

mod build;
pub mod demo;
pub mod demo_data;
mod error;
mod jobs;
mod lifecycle;
mod observers;
mod opening;
mod reembed;
mod rejudging;
mod reload;
mod shedding;
mod traces;
mod webhooks;
mod work;

use std::sync::Arc;
use std::time::Duration;

pub use build::{Checkup, Exchanges, Purpose, Recorded};
pub use error::AppError;
pub use lifecycle::{HttpAddress, ServeOptions};
pub use opening::{OpenStore, Upkeep};
pub use reload::Reloader;

use crate::broker::Queue;
use crate::cache::WriteBehind;
use crate::config::Config;
use crate::inference::translation::Translator;
use crate::outbound::Follower;
use crate::outbound::webhook::WebhookError;
use crate::pipeline::rescore::Terms;
use crate::pipeline::{Services, Steps};
use crate::store::Store;
use crate::supervisor::Supervisor;
use observers::OutboundObserver;
use tokio_util::sync::DropGuard;

/// Longest wait at the end of a process for tasks such as the broker's connection. Longer than closing a connection takes.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything that runs, built and connected.
#[derive(Debug)]
pub struct App {
    pub config: Arc<Config>,
    pub store: Store,
    pub services: Arc<Services>,
    pub queue: Arc<dyn Queue>,
    usage: Arc<OutboundObserver>,
    followers: Vec<Follower>,
    /// Shares what providers answered with the other processes.
    behind: WriteBehind,
    /// The background tasks. Commands that run for long should watch [`Supervisor::failed`].
    pub supervisor: Supervisor,
    /// Ends the tasks that live as long as the parts.
    _close_on_drop: DropGuard,
    opened: OpenStore,
}

/// What stored items are judged by today: the configuration's numbers and the store's lists.
pub async fn rescore_terms(config: &Config, store: &Store) -> Result<Terms, AppError> {
    build::rescore_terms(config, store).await
}

/// Reads the files that the configuration names, so that a check of it refuses what a start would.
pub fn check_files(config: &Config) -> Result<(), AppError> {
    config.webhooks.endpoints.iter().try_for_each(|endpoint| webhooks::keys(endpoint).map(drop))?;
    config.scoring.calibration.as_deref().map_or(Ok(()), |path| build::curves::read(path).map(drop))
}

/// Models, rules and settings for texts that are given: nothing is opened or written, and nobody is asked but a language model
/// that is to adjudicate.
pub async fn judging(config: &Config, translator: Option<Arc<dyn Translator>>) -> Result<Arc<Services>, AppError> {
    build::judging(config, translator).await
}

/// Posts a message of the type `ping` to a webhook now, past the store. The inner error is the receiver's.
pub async fn try_webhook(config: &Config, name: &str) -> Result<Result<(), WebhookError>, AppError> {
    webhooks::ping(config, name).await
}

impl App {
    /// Opens the store, whose schema has to fit (see [`Upkeep`]), installs the configured lists and builds every part.
    pub async fn open(config: Arc<Config>, purpose: Purpose) -> Result<Self, AppError> {
        build::open(config, purpose, Exchanges::Live, Steps::default()).await
    }

    /// The same with steps of the pipeline that are the caller's (`examples/own_steps.rs`).
    pub async fn open_with_steps(config: Arc<Config>, purpose: Purpose, steps: Steps) -> Result<Self, AppError> {
        build::open(config, purpose, Exchanges::Live, steps).await
    }

    /// The same, with what providers and pages say recorded, or answered from recordings.
    pub async fn open_with(config: Arc<Config>, purpose: Purpose, exchanges: Exchanges) -> Result<Self, AppError> {
        build::open(config, purpose, exchanges, Steps::default()).await
    }

    /// Writes what is still counted in memory, gives back what was leased, and closes everything in order.
    ///
    /// # Errors
    /// When a background task had ended unasked, or the store did not close.
    pub async fn close(self) -> Result<(), AppError> {
        jobs::give_back(&self.followers).await;
        jobs::flush_usage(&self.store, &self.usage, &self.services.tenants, self.services.clock.now()).await;
        let Self { services, queue, behind, supervisor, opened, .. } = self;
        queue.stop_receiving();
        behind.close().await;
        supervisor.closing().cancel();
        drop((services, queue));
        // The broker's connection is closed and the queue's leases are handed back while the store is still open.
        supervisor.drain(CLOSING_TIMEOUT).await;
        let closed = opened.close().await;
        supervisor.failure().map_or(Ok(()), |failure| Err(failure.into())).and(closed)
    }
}
