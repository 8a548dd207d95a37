//! The application: builds the concrete parts from the configuration, runs them and stops them in order.
//!
//! * `opening` opens the store, and `build` builds the services.
//! * `lifecycle` runs the daemon; `jobs` is its background work.
//! * `reembed` embeds stored sentences again after a change of the embedder.
//! * `rejudging` re-evaluates stored items.
//! * `reload` applies new keys and lists to a running daemon.
//!
//! Only this module names concrete types of all other modules. It never prints and never judges a claim. Register a new
//! provider or model in `build`, and a new periodic task in `jobs`.

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
use crate::config::Config;
use crate::inference::translation::Translator;
use crate::outbound::BreakerSync;
use crate::outbound::webhook::WebhookError;
use crate::pipeline::rescore::Terms;
use crate::pipeline::{Services, Steps};
use crate::store::Store;
use crate::supervisor::Supervisor;
use observers::OutboundObserver;
use tokio_util::sync::DropGuard;

/// Limit for the last tasks at shutdown. Longer than closing a broker connection takes.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct App {
    pub config: Arc<Config>,
    pub store: Store,
    pub services: Arc<Services>,
    pub queue: Arc<dyn Queue>,
    usage: Arc<OutboundObserver>,
    followers: Vec<BreakerSync>,
    /// Long commands should watch [`Supervisor::failed`].
    pub supervisor: Supervisor,
    _close_on_drop: DropGuard,
    opened: OpenStore,
}

/// Returns the configured numbers and the store's lists.
pub async fn rescore_terms(config: &Config, store: &Store) -> Result<Terms, AppError> {
    build::rescore_terms(config, store).await
}

/// Reads the configured files and returns the errors that a start would return.
pub fn check_files(config: &Config) -> Result<(), AppError> {
    config.webhooks.endpoints.iter().try_for_each(|endpoint| webhooks::keys(endpoint).map(drop))?;
    config.scoring.calibration.as_deref().map_or(Ok(()), |path| build::curves::read(path).map(drop))
}

/// Services that judge given texts. Opens no store and calls no service, except a language model that adjudicates.
pub async fn judging(config: &Config, translator: Option<Arc<dyn Translator>>) -> Result<Arc<Services>, AppError> {
    build::judging(config, translator).await
}

/// Posts a message of type `ping` without the store. The inner error is the receiver's.
pub async fn try_webhook(config: &Config, name: &str) -> Result<Result<(), WebhookError>, AppError> {
    webhooks::ping(config, name).await
}

impl App {
    /// Opens the store, whose schema must match (see [`Upkeep`]), installs the configured lists and builds every part.
    pub async fn open(config: Arc<Config>, purpose: Purpose) -> Result<Self, AppError> {
        build::open(config, purpose, Exchanges::Live, Steps::default()).await
    }

    /// Works like [`App::open`], with pipeline steps of the caller (`examples/own_steps.rs`).
    pub async fn open_with_steps(config: Arc<Config>, purpose: Purpose, steps: Steps) -> Result<Self, AppError> {
        build::open(config, purpose, Exchanges::Live, steps).await
    }

    /// Works like [`App::open`], with exchanges that are recorded or replayed.
    pub async fn open_with(config: Arc<Config>, purpose: Purpose, exchanges: Exchanges) -> Result<Self, AppError> {
        build::open(config, purpose, exchanges, Steps::default()).await
    }

    /// Writes pending counters, records the ends of calls and closes all parts in order.
    ///
    /// # Errors
    /// If a background task ended unexpectedly, or the store did not close.
    pub async fn close(self) -> Result<(), AppError> {
        jobs::settle_calls(&self.followers).await;
        jobs::flush_usage(&self.store, &self.usage, self.services.clock.now()).await;
        let Self { services, queue, supervisor, opened, .. } = self;
        queue.stop_receiving();
        supervisor.closing().cancel();
        opened.stop_watching();
        drop((services, queue));
        // The store must still be open when the broker connection closes and the queue leases are returned.
        supervisor.drain(CLOSING_TIMEOUT).await;
        let closed = opened.close().await;
        supervisor.failure().map_or(Ok(()), |failure| Err(failure.into())).and(closed)
    }
}
