//! The configuration read again while the daemon runs: new keys of services, and changed lists of domains.
//!
//! Nothing is taken over by halves: a configuration with a fault leaves everything as it is, and the fault is said.

use std::sync::Arc;

use super::App;
use crate::config::{Baseline, Config, Reread, process_env};
use crate::domain::Clock;
use crate::domain::rules::DomainRule;
use crate::store::Store;
use crate::telemetry::metrics;

/// What is needed to take a changed configuration over.
#[derive(Debug)]
pub struct Reloader {
    baseline: Baseline,
    /// Its keys are those that providers hold.
    config: Arc<Config>,
    store: Store,
    clock: Arc<dyn Clock>,
    /// The configured lists as they were last taken over.
    lists: Vec<DomainRule>,
}

impl App {
    /// What takes a changed configuration over while this application serves.
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
    /// Reads the configuration again and takes over what a running process can. Says in the log what came of it.
    pub async fn reload(&mut self) {
        let read = self.read().await;
        let done = match read {
            Some(Reread { config, restart }) => self.take(&config, restart).await,
            None => false,
        };
        metrics::job_run("reload", done);
    }

    async fn read(&self) -> Option<Reread> {
        let baseline = self.baseline.clone();
        // Files may lie on a disk that is slow to answer.
        let read = tokio::task::spawn_blocking(move || baseline.reread(process_env())).await;
        match read {
            Ok(Ok(read)) => return Some(read),
            Ok(Err(error)) => {
                for problem in error.problems {
                    tracing::error!(%problem, "the configuration cannot be used; what was in force stays");
                }
            }
            Err(panicked) => tracing::error!(error = %panicked, "the configuration could not be read again"),
        }
        None
    }

    async fn take(&mut self, config: &Config, restart: Vec<&'static str>) -> bool {
        let keys = self.config.take_keys(config);
        let mut restart: Vec<String> = restart.into_iter().map(str::to_owned).collect();
        restart.extend(keys.restart);
        if !keys.replaced.is_empty() {
            tracing::info!(settings = keys.replaced.join(", "), "new keys taken over: the next call sends them");
        }
        if !restart.is_empty() {
            tracing::warn!(settings = restart.join(", "), "these settings were changed and take a restart");
        }
        let lists = config.enrichment.first_rules();
        if lists == self.lists {
            if keys.replaced.is_empty() && restart.is_empty() {
                tracing::info!("the configuration was read again: nothing has changed");
            }
            return true;
        }
        match self.store.follow_configured_rules(&self.lists, &lists, self.clock.now()).await {
            Ok(followed) => {
                self.lists = lists;
                let (added, changed, removed) = (followed.added, followed.changed, followed.removed);
                tracing::info!(added, changed, removed, "the configured lists of domains were taken over");
                if !followed.kept.is_empty() {
                    let domains = followed.kept_names();
                    tracing::warn!(domains, "edited since by the admins, whose rules stand; see `corroborate domains`");
                }
                true
            }
            Err(error) => {
                // They are still what the next reading is compared with.
                tracing::error!(%error, "the configured lists of domains could not be taken over; send SIGHUP again");
                false
            }
        }
    }
}
