//! What a gate shares with those of other processes, and how it follows them.

use std::sync::Arc;

use tokio::time::Instant;

use super::call_scheduler::{CallScheduler, SchedulerSettings};
use super::identity::Identity;
use super::ledger::{Ledger, LedgerError, LocalLedger, Pace};
use super::terms::GateSettings;
use crate::domain::Clock;
use crate::store::FleetSnapshot;

/// Where a gate's slots come from, and the limits that only a fleet can keep.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub ledger: Arc<dyn Ledger>,
    /// One of several places at which the provider is asked, each with a rate, limits and a breaker of its own; none: the
    /// provider has one place. Metrics and results know the provider alone.
    pub part: Option<String>,
    /// Which key at which address: breakers are kept by it.
    pub identity: Identity,
    /// Attempts per month, UTC.
    pub monthly_limit: Option<u32>,
    /// What all providers together may cost in a month, US dollars; none: nothing limits it.
    pub monthly_cap_usd: Option<f64>,
    /// How slots lie in time; none: the rate of the settings, a minute long.
    pub pace: Option<Pace>,
}

impl Fleet {
    /// A process on its own, without a cap.
    pub fn alone(clock: Arc<dyn Clock>) -> Self {
        Self::at(Arc::new(LocalLedger::new(clock)))
    }

    /// Whoever shares that ledger.
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

    /// As the call scheduler takes it.
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
            // Its slot, its call, and the way to the ledger with the outcome.
            probe_time: settings.timeout + super::ledger::GRACE * 2,
        };
        (scheduling, self.ledger)
    }
}

/// Keeps one gate up with the fleet: a job asks once for all of them.
#[derive(Debug, Clone)]
pub struct Follower {
    scheduler: Arc<CallScheduler>,
}

impl Follower {
    pub(super) fn of(scheduler: &Arc<CallScheduler>) -> Self {
        Self { scheduler: Arc::clone(scheduler) }
    }

    /// Takes over what others found. `asked` is when the snapshot was asked for.
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

    /// Tells the others what they do not know yet, and gives back what has passed unused.
    pub async fn flush(&self) -> Result<(), LedgerError> {
        self.scheduler.flush().await
    }

    /// Gives everything back; the gate is not asked again.
    pub async fn close(&self) -> Result<(), LedgerError> {
        self.scheduler.close().await
    }
}
