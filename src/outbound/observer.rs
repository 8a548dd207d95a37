//! What the outbound room tells of itself. The application hands in the metrics; tests and the demo hand in nothing.

use std::fmt::Debug;
use std::time::Duration;

/// Hears of every call. Label values come from closed sets. Implementations must be quick: they run in the hot path.
pub trait Observer: Send + Sync + Debug {
    /// One attempt ended. `outcome` is `ok` or [`super::AskError::label`].
    fn request(&self, provider: &'static str, outcome: &'static str, took: Duration);
    /// A question was not put to the provider at all; `reason` is the label of the refusal.
    fn not_asked(&self, provider: &'static str, reason: &'static str);
    /// An attempt waited for the rate limiter.
    fn rate_wait(&self, provider: &'static str, waited: Duration);
    /// The provider's state is now `ready`, `open`, `exhausted` or `disabled`. Heard while that state is locked, so that the
    /// last report is the state: it may not be asked for in here.
    fn circuit(&self, provider: &'static str, state: &'static str);
    /// The breaker opened; `reason` is the label of the error that opened it.
    fn circuit_opened(&self, provider: &'static str, reason: &'static str);
    /// A paid call was made.
    fn cost(&self, provider: &'static str, usd: f64);
    /// So many slots were leased from the fleet.
    fn leased(&self, _provider: &'static str, _slots: u32) {}
    /// So many leased slots passed before anybody used them.
    fn slots_lost(&self, _provider: &'static str, _slots: u32) {}
    /// Another process found the provider's state to be this one.
    fn learnt(&self, _provider: &'static str, _state: &'static str) {}
    /// A cache was asked.
    fn cache(&self, cache: &'static str, result: CacheResult);
}

/// How a look into a cache ended. All but the misses spared a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheResult {
    /// In the memory of this process.
    Hit,
    /// In the store, where another process or an earlier one left it.
    HitShared,
    /// Another one, here or in another process, was asking already, and its answer was waited for.
    Waited,
    /// This caller had to ask.
    Miss,
    /// This caller asked because the store could not say whether anybody knows.
    MissUnshared,
}

impl CacheResult {
    pub const ALL: [Self; 5] = [Self::Hit, Self::HitShared, Self::Waited, Self::Miss, Self::MissUnshared];

    /// The metric's label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::HitShared => "hit_shared",
            Self::Waited => "waited",
            Self::Miss => "miss",
            Self::MissUnshared => "miss_unshared",
        }
    }

    /// Whether a call was spared.
    pub const fn spared(self) -> bool {
        matches!(self, Self::Hit | Self::HitShared | Self::Waited)
    }
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn request(&self, _: &'static str, _: &'static str, _: Duration) {}
    fn not_asked(&self, _: &'static str, _: &'static str) {}
    fn rate_wait(&self, _: &'static str, _: Duration) {}
    fn circuit(&self, _: &'static str, _: &'static str) {}
    fn circuit_opened(&self, _: &'static str, _: &'static str) {}
    fn cost(&self, _: &'static str, _: f64) {}
    fn cache(&self, _: &'static str, _: CacheResult) {}
}
