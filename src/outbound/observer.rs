//! Receives events of this module. The application records metrics; tests and the demo use [`NoObserver`].

use std::fmt::Debug;
use std::time::Duration;

/// Receives every call. Labels come from closed sets. Implementations must be quick: they run in the hot path.
pub trait Observer: Send + Sync + Debug {
    /// An attempt ended. `outcome` is `ok` or [`super::AskError::label`].
    fn request(&self, provider: &'static str, outcome: &'static str, took: Duration);
    /// A provider was not called; `reason` is the refusal's label.
    fn not_asked(&self, provider: &'static str, reason: &'static str);
    fn rate_wait(&self, provider: &'static str, waited: Duration);
    /// The provider's state is now `ready`, `open`, `exhausted` or `disabled`. Called under the state's lock, so that
    /// the last report is current; implementations must not read the state.
    fn circuit(&self, provider: &'static str, state: &'static str);
    /// `reason` is the error's label.
    fn circuit_opened(&self, provider: &'static str, reason: &'static str);
    fn cost(&self, provider: &'static str, usd: f64);
    fn cache(&self, cache: &'static str, result: CacheResult);
}

/// Only misses cause a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheResult {
    /// In this process's memory.
    Hit,
    /// In the store, from another or an earlier process.
    HitShared,
    /// The same request was in progress in this process.
    Waited,
    Miss,
    /// The store was unavailable, so this caller had to call.
    MissUnshared,
}

impl CacheResult {
    pub const ALL: [Self; 5] = [Self::Hit, Self::HitShared, Self::Waited, Self::Miss, Self::MissUnshared];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::HitShared => "hit_shared",
            Self::Waited => "waited",
            Self::Miss => "miss",
            Self::MissUnshared => "miss_unshared",
        }
    }

    pub const fn spared(self) -> bool {
        matches!(self, Self::Hit | Self::HitShared | Self::Waited)
    }
}

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
