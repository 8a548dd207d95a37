//! Which connections are tested before they are used: each costs a round trip, and one that answered a moment ago is there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A connection that was of use within this time is used untested: the pool tests each when it is given back.
const FRESH: Duration = Duration::from_secs(1);

/// When a connection was last found broken. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Tested(Arc<Mutex<Option<Instant>>>);

impl Tested {
    /// A server that restarts breaks all connections at once: what was idle before this moment is tested first.
    pub(super) fn one_is_broken(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection must be tested that has been idle for so long.
    pub(super) fn is_in_doubt(&self, idle_for: Duration) -> bool {
        idle_for >= FRESH
            || self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|broken| broken.elapsed() <= idle_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_tested_after_a_pause_and_after_another_was_found_broken() {
        let tested = Tested::default();
        assert!(!tested.is_in_doubt(Duration::from_millis(500)) && tested.is_in_doubt(Duration::from_secs(2)));
        tested.one_is_broken();
        assert!(tested.is_in_doubt(Duration::from_millis(500)), "it was idle already then");
        std::thread::sleep(Duration::from_millis(20));
        assert!(!tested.is_in_doubt(Duration::from_millis(1)), "it was used since");
    }
}
