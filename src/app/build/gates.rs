//! Builds the gates: each provider's defaults with the operator's limits.
//!
//! Processes share a gate's limits, except for local providers and translation servers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{OutboundObserver, observer};
use crate::config::{ApiKey, Config, ProviderConfig};
use crate::domain::Clock;
use crate::outbound::{BreakerSync, Fleet, Gate, GateSettings, HttpClient, Identity, NoObserver};
use crate::providers::{Storage, profile};
use crate::store::Store;

pub(super) struct Gates<'a> {
    pub(super) config: &'a Config,
    pub(super) http: &'a HttpClient,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) usage: &'a Arc<OutboundObserver>,
    /// `None`: the limits of this process.
    pub(super) store: Option<&'a Store>,
    pub(super) followers: &'a Mutex<Vec<BreakerSync>>,
}

impl Gates<'_> {
    /// Returns a gate with the provider's defaults (attempts that cost, long throttling) and the operator's limits.
    pub(super) fn gate(&self, habits: fn(Duration) -> GateSettings, one: &ProviderConfig) -> Gate {
        let all = &self.config.providers;
        let habits = habits(one.cooldown.unwrap_or(self.config.enrichment.provider_cooldown));
        let settings = GateSettings {
            rpm: one.rpm.get(),
            max_wait: all.max_wait,
            timeout: one.timeout,
            max_bytes: one.max_bytes,
            max_attempts: habits.max_attempts.min(all.retries + 1),
            failures_to_open: all.breaker_failures,
            daily_limit: one.daily_limit,
            cost_usd: one.cost_usd,
            ..habits
        };
        let identity = identity(one.base_url.as_ref(), one.api_key.as_ref());
        self.shared(settings, Fleet { identity, monthly_limit: one.monthly_limit, ..self.fleet() })
    }

    pub(super) fn guard(&self, settings: GateSettings) -> Gate {
        // A local folder that is missing here may exist on another machine.
        if profile(settings.name).is_some_and(|profile| profile.local) {
            return Gate::new(settings, self.http.clone(), Arc::clone(self.clock), observer(self.usage));
        }
        self.shared(settings, self.fleet())
    }

    /// Returns a gate for one of several addresses of a provider. A new address or key has a closed
    /// breaker; the rate and the quotas stay.
    pub(super) fn place(&self, settings: GateSettings, name: &str, identity: Identity) -> Gate {
        self.shared(settings, Fleet { part: Some(name.to_owned()), identity, ..self.fleet() })
    }

    /// Returns the gate of a translation server, whose calls count as model calls.
    pub(super) fn unobserved(&self, settings: GateSettings) -> Gate {
        let translate = &self.config.translate;
        let identity = identity(translate.base_url.as_ref(), translate.api_key.as_ref());
        let fleet = Fleet { identity, ..Fleet::default() };
        Gate::in_fleet(settings, self.http.clone(), Arc::clone(self.clock), Arc::new(NoObserver), fleet)
    }

    /// Returns the gate of the language model, which counts its own calls. All processes share its rate limit, breaker
    /// and price.
    pub(super) fn language_model(&self, settings: GateSettings) -> Gate {
        let (http, clock) = (self.http.clone(), Arc::clone(self.clock));
        let llm = &self.config.llm;
        let fleet = Fleet {
            identity: identity(llm.base_url.as_ref(), llm.api_key.as_ref()),
            monthly_cap_usd: Some(self.config.enrichment.monthly_cap_usd),
            ..self.fleet()
        };
        let gate = Gate::in_fleet(settings, http, clock, Arc::new(NoObserver), fleet);
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(gate.follower());
        gate
    }

    fn fleet(&self) -> Fleet {
        Fleet { store: self.store.cloned(), ..Fleet::default() }
    }

    fn shared(&self, settings: GateSettings, fleet: Fleet) -> Gate {
        let fleet = Fleet { monthly_cap_usd: Some(self.config.enrichment.monthly_cap_usd), ..fleet };
        let is_transient = profile(settings.name).is_some_and(|profile| profile.storage == Storage::Transient);
        let http = if is_transient { self.http.transient() } else { self.http.clone() };
        let gate = Gate::in_fleet(settings, http, Arc::clone(self.clock), observer(self.usage), fleet);
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(gate.follower());
        gate
    }
}

fn identity(address: Option<&url::Url>, key: Option<&ApiKey>) -> Identity {
    Identity::new(address.map(url::Url::as_str).unwrap_or_default(), key)
}
