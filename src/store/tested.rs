//! Decides which connections are tested before use.
//!
//! A test costs a round trip, so recently used ones are not tested unless another was found broken.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Idle time up to which no test is needed: the pool tests a connection on return.
const FRESH: Duration = Duration::from_secs(1);

/// Time of the last broken connection. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct LastBrokenConnection(Arc<Mutex<Option<Instant>>>);

impl LastBrokenConnection {
    /// A restart breaks all connections, so those idle since before now are tested.
    pub(super) fn one_is_broken(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

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
        let tested = LastBrokenConnection::default();
        assert!(!tested.is_in_doubt(Duration::from_millis(500)) && tested.is_in_doubt(Duration::from_secs(2)));
        tested.one_is_broken();
        assert!(tested.is_in_doubt(Duration::from_millis(500)), "it was idle already then");
        std::thread::sleep(Duration::from_millis(20));
        assert!(!tested.is_in_doubt(Duration::from_millis(1)), "it was used since");
    }
}
