//! Status of the providers for `/api/providers`, `/readyz`, `doctor` and the command line.
//! It combines the gates of this process with the stored figures of all processes.
//! It calls no provider.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::services::{SearchProviders, Services};
use crate::outbound::{GateState, GateStatus};
use crate::store::{ProviderUsage, StoreError};

/// Status of a provider.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProviderStanding {
    pub name: &'static str,
    /// `fact_check`, `search`, `own` for texts of the operator, or `language_model`.
    pub kind: &'static str,
    /// Status over all processes. `failing`: every call today failed, calls continue. `open`: failing, retried
    /// automatically. `exhausted`: a quota, budget or cap is used up. `disabled`: the key was refused, or it is
    /// switched off. `unconfigured`: there is no key or address. Otherwise `ready`.
    pub status: &'static str,
    /// When calls resume; null while ready, or if an operator must fix the cause.
    pub until: Option<DateTime<Utc>>,
    /// Why it cannot be queried; null while ready or unconfigured.
    pub reason: Option<String>,
    /// Calls per minute over all processes; null if unconfigured.
    pub rpm: Option<u32>,
    /// Over all processes, this UTC day.
    pub calls_today: u64,
    pub errors_today: u64,
    pub usd_today: f64,
    /// Over all processes, this month.
    pub usd_month: f64,
}

impl Services {
    /// Returns the status of every known provider in query order, and of the language model.
    pub async fn provider_standings(&self) -> Result<Vec<ProviderStanding>, StoreError> {
        let usage = self.store.usage(self.clock.now()).await?;
        let language_model = self.language_model.iter().map(|model| ("language_model", model.status()));
        let providers = self.providers.configured().map(|provider| (provider.kind().as_str(), provider.status()));
        let statuses: Vec<_> = providers.chain(language_model).collect();
        Ok(rows(statuses, &self.providers, &usage))
    }
}

/// Builds the rows. Stored figures cover all processes but lag behind, so the larger figure is used.
fn rows(
    statuses: Vec<(&'static str, GateStatus)>,
    providers: &SearchProviders,
    usage: &[ProviderUsage],
) -> Vec<ProviderStanding> {
    let usage: HashMap<&str, &ProviderUsage> = usage.iter().map(|row| (row.provider.as_str(), row)).collect();
    let stored = |name: &str| usage.get(name).copied().cloned().unwrap_or_default();
    let unsigned = |count: i64| u64::try_from(count).unwrap_or(0);
    let asked = statuses.into_iter().map(|(kind, status)| {
        let stored = stored(status.name);
        let usd_today = stored.usd_today.max(status.usd_today);
        let calls_today = unsigned(stored.calls_today).max(status.calls_today);
        let errors_today = unsigned(stored.errors_today).max(status.errors_today);
        // The circuit breaker opens only after several failures. A provider that never answered is not ready before
        // that.
        let is_failing = status.state == GateState::Ready && errors_today > 0 && errors_today >= calls_today;
        let failing = || format!("every call of today failed ({errors_today}); `corroborate doctor` asks why");
        ProviderStanding {
            name: status.name,
            kind,
            status: if is_failing { "failing" } else { status.state.as_str() },
            until: status.until,
            reason: status.reason.or_else(|| is_failing.then(failing)),
            rpm: Some(status.rpm),
            calls_today,
            errors_today,
            usd_today,
            // The part of today that is not stored yet belongs to the month too.
            usd_month: stored.usd_month + (usd_today - stored.usd_today),
        }
    });
    let disabled = providers.disabled.iter().map(|name| (name, "disabled", Some("switched off by the configuration")));
    let unconfigured = providers.unconfigured.iter().map(|name| (name, "unconfigured", None));
    let left_out = disabled.chain(unconfigured).map(|(name, status, reason)| {
        let stored = stored(name);
        ProviderStanding {
            name,
            kind: crate::providers::profile(name).map_or("search", |profile| profile.kind.as_str()),
            status,
            until: None,
            reason: reason.map(str::to_owned),
            rpm: None,
            calls_today: unsigned(stored.calls_today),
            errors_today: unsigned(stored.errors_today),
            usd_today: stored.usd_today,
            usd_month: stored.usd_month,
        }
    });
    asked.chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(name: &'static str, calls: u64, usd: f64) -> GateStatus {
        let state = GateState::Open;
        GateStatus {
            name,
            state,
            until: None,
            reason: None,
            rpm: 6,
            calls_today: calls,
            errors_today: 1,
            usd_today: usd,
        }
    }

    fn usage(name: &str, calls: i64, usd_today: f64, usd_month: f64) -> ProviderUsage {
        ProviderUsage { provider: name.into(), calls_today: calls, errors_today: 0, usd_today, usd_month }
    }

    #[test]
    fn provider_is_failing_when_every_call_of_today_failed() {
        let shown = |calls, errors| {
            let state = GateStatus { state: GateState::Ready, errors_today: 0, ..status("gdelt", 0, 0.0) };
            let stored = ProviderUsage { errors_today: errors, ..usage("gdelt", calls, 0.0, 0.0) };
            let row = rows(vec![("search", state)], &SearchProviders::default(), &[stored]).remove(0);
            (row.status, row.reason.is_some())
        };
        assert_eq!(shown(0, 0), ("ready", false));
        assert_eq!(shown(1, 1), ("failing", true));
        assert_eq!(shown(3, 3), ("failing", true));
        assert_eq!(shown(4, 3), ("ready", false), "it answered since, or before");
    }

    #[test]
    fn the_fleet_and_this_process_are_counted_once() {
        let statuses = vec![("search", status("gdelt", 3, 0.5)), ("search", status("brave", 7, 0.25))];
        let usage = [usage("gdelt", 10, 0.75, 9.0), usage("brave", 5, 0.0, 1.0), usage("newsapi", 0, 0.0, 4.0)];
        let left_out =
            SearchProviders { disabled: vec!["google_factcheck"], unconfigured: vec!["newsapi"], ..Default::default() };
        let rows = rows(statuses, &left_out, &usage);
        let brief: Vec<_> = rows
            .iter()
            .map(|row| (row.name, row.kind, row.status, row.calls_today, row.usd_today, row.usd_month))
            .collect();
        assert_eq!(
            brief,
            [
                ("gdelt", "search", "open", 10, 0.75, 9.0),
                ("brave", "search", "open", 7, 0.25, 1.25),
                ("google_factcheck", "fact_check", "disabled", 0, 0.0, 0.0),
                ("newsapi", "search", "unconfigured", 0, 0.0, 4.0),
            ]
        );
        assert!(rows[2].reason.is_some() && rows[3].reason.is_none(), "a decision is told, a lack is not");
        assert_eq!((rows[0].rpm, rows[2].rpm), (Some(6), None));
    }
}
