//! Reads the configuration again while the daemon runs, and applies new keys and domain lists.
//!
//! An invalid configuration changes nothing, and its error is logged.

use std::sync::Arc;

use super::App;
use crate::config::{Baseline, Config, ReloadedConfig, process_env};
use crate::domain::Clock;
use crate::domain::rules::DomainRule;
use crate::store::Store;
use crate::telemetry::metrics;

#[derive(Debug)]
pub struct Reloader {
    baseline: Baseline,
    /// The configuration whose keys the providers use.
    config: Arc<Config>,
    store: Store,
    clock: Arc<dyn Clock>,
    /// The lists that were last applied.
    lists: Vec<DomainRule>,
}

impl App {
    pub fn reloader(&self, baseline: Baseline) -> Reloader {
        Reloader {
            baseline,
            config: Arc::clone(&self.config),
            store: self.store.clone(),
            clock: Arc::clone(&self.services.clock),
            lists: self.config.enrichment.first_rules(),
        }
    }
}

impl Reloader {
    /// Reads the configuration, applies what a running process can change, and logs the outcome.
    pub async fn reload(&mut self) {
        let read = self.read().await;
        let done = match read {
            Some(ReloadedConfig { config, restart }) => self.take(&config, restart).await,
            None => false,
        };
        metrics::job_run("reload", done);
    }

    async fn read(&self) -> Option<ReloadedConfig> {
        let baseline = self.baseline.clone();
        let read = tokio::task::spawn_blocking(move || baseline.reread(process_env())).await;
        match read {
            Ok(Ok(read)) => return Some(read),
            Ok(Err(error)) => {
                for problem in error.problems {
                    tracing::error!(%problem, "configuration is invalid; keeping the current one");
                }
            }
            Err(panicked) => tracing::error!(error = %panicked, "configuration reload failed"),
        }
        None
    }

    async fn take(&mut self, config: &Config, restart: Vec<&'static str>) -> bool {
        let keys = self.config.take_keys(config);
        let mut restart: Vec<String> = restart.into_iter().map(str::to_owned).collect();
        restart.extend(keys.restart);
        if !keys.replaced.is_empty() {
            tracing::info!(settings = keys.replaced.join(", "), "keys reloaded; the next call uses them");
        }
        if !restart.is_empty() {
            tracing::warn!(settings = restart.join(", "), "changed settings need a restart");
        }
        let lists = config.enrichment.first_rules();
        if lists == self.lists {
            if keys.replaced.is_empty() && restart.is_empty() {
                tracing::info!("configuration reloaded without changes");
            }
            return true;
        }
        match self.store.follow_configured_rules(&self.lists, &lists, self.clock.now()).await {
            Ok(followed) => {
                self.lists = lists;
                let (added, changed, removed) = (followed.added, followed.changed, followed.removed);
                tracing::info!(added, changed, removed, "configured domain lists applied");
                if !followed.kept.is_empty() {
                    let domains = followed.kept_names();
                    tracing::warn!(
                        domains,
                        "reload skipped domains that an admin edited; run `corroborate domains list`"
                    );
                }
                true
            }
            Err(error) => {
                // The next reload compares with the old `lists`.
                tracing::error!(%error, "applying configured domain lists failed; send SIGHUP again");
                false
            }
        }
    }
}
