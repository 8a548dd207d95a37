//! The pauses between attempts. Only this module uses the unmaintained `backoff` crate, so that one file must change to
//! replace it.

use std::time::Duration;

use backoff::backoff::Backoff as _;
use backoff::{ExponentialBackoff, ExponentialBackoffBuilder};

/// Before jitter. A shorter one would hit a server during its restart.
const FIRST: Duration = Duration::from_millis(250);
/// Before jitter: an item has a minute in all.
const LONGEST: Duration = Duration::from_secs(5);
/// ± share of each pause, so that items do not retry together.
const JITTER: f64 = 0.5;

/// Pauses that double from [`FIRST`] to [`LONGEST`], with jitter.
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
                // The number of attempts and the caller's deadline end the retries.
                .with_max_elapsed_time(None)
                .build(),
        )
    }

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
