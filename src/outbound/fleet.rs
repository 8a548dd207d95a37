//! What a gate shares with other processes, and how it follows them.

use std::sync::Arc;

use tokio::time::Instant;

use super::call_scheduler::{CallScheduler, SchedulerSettings};
use super::identity::Identity;
use super::ledger::{Ledger, LedgerError, LocalLedger, Pace};
use super::terms::GateSettings;
use crate::domain::Clock;
use crate::store::FleetSnapshot;

/// The source of a gate's permits, and the limits that need a fleet.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub ledger: Arc<dyn Ledger>,
    /// One of a provider's endpoints, with its own rate, limits and breaker; `None` if there is one. Metrics and
    /// results name the provider only.
    pub part: Option<String>,
    /// Key and address that the breaker belongs to.
    pub identity: Identity,
    /// Attempts per UTC month.
    pub monthly_limit: Option<u32>,
    /// Monthly limit for all providers together, US dollars.
    pub monthly_cap_usd: Option<f64>,
    /// `None`: the settings' rate per minute.
    pub pace: Option<Pace>,
}

impl Fleet {
    /// A single process without a cap.
    pub fn alone(clock: Arc<dyn Clock>) -> Self {
        Self::at(Arc::new(LocalLedger::new(clock)))
    }

    pub fn at(ledger: Arc<dyn Ledger>) -> Self {
        Self {
            ledger,
            part: None,
            identity: Identity::default(),
            monthly_limit: None,
            monthly_cap_usd: None,
            pace: None,
        }
    }

    pub(super) fn scheduling(self, settings: &GateSettings) -> (SchedulerSettings, Arc<dyn Ledger>) {
        let scheduling = SchedulerSettings {
            name: settings.name,
            account: self
                .part
                .map_or_else(|| Arc::from(settings.name), |part| format!("{}:{part}", settings.name).into()),
            identity: self.identity,
            pace: self.pace.unwrap_or_else(|| Pace::per_minute(settings.rpm)),
            max_wait: settings.max_wait,
            day_limit: settings.daily_limit,
            month_limit: self.monthly_limit,
            usd: settings.cost_usd,
            cap_usd: self.monthly_cap_usd,
            // Its permit, its call, and the report to the ledger.
            probe_time: settings.timeout + super::ledger::GRACE * 2,
        };
        (scheduling, self.ledger)
    }
}

/// Synchronises one gate with the fleet. One job reads the snapshot for all gates.
#[derive(Debug, Clone)]
pub struct BreakerSync {
    scheduler: Arc<CallScheduler>,
}

impl BreakerSync {
    pub(super) fn of(scheduler: &Arc<CallScheduler>) -> Self {
        Self { scheduler: Arc::clone(scheduler) }
    }

    /// Applies other processes' changes. `asked` is when the snapshot was requested.
    pub fn learn(&self, snapshot: &FleetSnapshot, asked: Instant, received: Instant) {
        let settings = self.scheduler.settings();
        let present = self.scheduler.identity();
        let own = |(provider, identity): (&str, &str)| provider == &*settings.account && identity == &*present;
        let found = snapshot.breakers.iter().find(|(provider, identity, _)| own((provider, identity)));
        if let Some((_, _, shared)) = found {
            self.scheduler.learn(&present, shared, received);
        }
        self.scheduler.report_state();
        let used = snapshot.used.iter().find(|(provider, _, _)| provider == &*settings.account);
        let (day, month) = used.map_or((0, 0), |(_, day, month)| (*day, *month));
        let (day_ends, month_ends) = (asked + snapshot.day_ends_in, asked + snapshot.month_ends_in);
        self.scheduler.learn_use(day, month, snapshot.spent_usd, day_ends, month_ends);
    }

    /// Sends breaker news and refunds expired permits.
    pub async fn flush(&self) -> Result<(), LedgerError> {
        self.scheduler.flush().await
    }

    /// Refunds everything. The gate must not be used afterwards.
    pub async fn close(&self) -> Result<(), LedgerError> {
        self.scheduler.close().await
    }
}
