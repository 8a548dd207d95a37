//! Usual latency of each provider, measured by this process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Weight of the newest call: three or four slow calls are enough to detect a slow provider.
const NEWEST: f64 = 0.3;

/// Age after which the figure expires, so that a slow provider is tried again.
const REMEMBERED: Duration = Duration::from_mins(2);

/// Moving averages by provider, shared by all items of a process.
#[derive(Debug, Default)]
pub struct Latencies(Mutex<HashMap<&'static str, (Duration, Instant)>>);

impl Latencies {
    /// Returns the usual latency; `None` without a recent call.
    pub(super) fn usual(&self, provider: &str, now: Instant) -> Option<Duration> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(provider).copied();
        known.filter(|(_, at)| now.saturating_duration_since(*at) < REMEMBERED).map(|(usual, _)| usual)
    }

    /// Records a call. The time of an aborted one is a lower bound.
    pub(super) fn took(&self, provider: &'static str, time: Duration, now: Instant) {
        let usual = self.usual(provider, now).map_or(time, |known| known.mul_f64(1.0 - NEWEST) + time.mul_f64(NEWEST));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(provider, (usual, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_calls_count_most_and_old_ones_are_forgotten() {
        let known = Latencies::default();
        let start = Instant::now();
        assert_eq!(known.usual("gdelt", start), None);
        known.took("gdelt", Duration::from_secs(1), start);
        assert_eq!(known.usual("gdelt", start), Some(Duration::from_secs(1)));
        for _ in 0..8 {
            known.took("gdelt", Duration::from_secs(11), start);
        }
        let usual = known.usual("gdelt", start).unwrap();
        assert!(usual > Duration::from_secs(10) && usual < Duration::from_secs(11), "{usual:?}");
        assert_eq!(known.usual("brave", start), None);
        assert_eq!(known.usual("gdelt", start + REMEMBERED), None, "it gets another chance");
    }
}
