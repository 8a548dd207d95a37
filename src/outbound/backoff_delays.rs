//! The pauses between attempts. The only module that uses the `backoff` crate: it is asked for by name and no longer
//! maintained, so replacing it must touch one file.

use std::time::Duration;

use backoff::backoff::Backoff as _;
use backoff::{ExponentialBackoff, ExponentialBackoffBuilder};

/// The first pause, before jitter. Shorter would hit a server that is restarting again at once.
const FIRST: Duration = Duration::from_millis(250);
/// The longest pause, before jitter: an item has a minute in all.
const LONGEST: Duration = Duration::from_secs(5);
/// ± this share of the pause, drawn anew each time, so that many items do not come back together.
const JITTER: f64 = 0.5;

/// Pauses that double from [`FIRST`] to [`LONGEST`], each jittered.
#[derive(Debug)]
pub struct Delays(ExponentialBackoff);

impl Default for Delays {
    fn default() -> Self {
        Self::new()
    }
}

impl Delays {
    pub fn new() -> Self {
        Self(
            ExponentialBackoffBuilder::new()
                .with_initial_interval(FIRST)
                .with_max_interval(LONGEST)
                .with_multiplier(2.0)
                .with_randomization_factor(JITTER)
                // The number of attempts and the caller's deadline end the retries, not a third clock.
                .with_max_elapsed_time(None)
                .build(),
        )
    }

    /// The next pause.
    #[expect(clippy::should_implement_trait, reason = "pauses never end, so they are no iterator")]
    pub fn next(&mut self) -> Duration {
        self.0.next_backoff().unwrap_or(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_their_jitter_and_stay_bounded() {
        let mut delays = Delays::new();
        let mut centre = FIRST;
        for _ in 0..12 {
            let delay = delays.next();
            assert!(delay >= centre.mul_f64(1.0 - JITTER), "{delay:?} for {centre:?}");
            assert!(delay <= centre.mul_f64(1.0 + JITTER) + Duration::from_micros(1), "{delay:?} for {centre:?}");
            centre = (centre * 2).min(LONGEST);
        }
    }
}
