//! The number of deliveries that are processed now.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::broker::Observer;

/// Counts and reports in one step. In two steps, the reports of two items could change order, and the gauge would stay
/// at 1.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<usize>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, usize> {
        // Poisoning is harmless, because the number is consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begun(&self, observer: &dyn Observer) {
        let mut items = self.lock();
        *items += 1;
        observer.in_flight(*items);
    }

    pub(super) fn ended(&self, observer: &dyn Observer) {
        let mut items = self.lock();
        *items = items.saturating_sub(1);
        observer.in_flight(*items);
    }

    pub(super) fn now(&self) -> usize {
        *self.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reported numbers in order.
    #[derive(Debug, Default)]
    struct RecordedCounts(Mutex<Vec<usize>>);

    impl Observer for RecordedCounts {
        fn in_flight(&self, items: usize) {
            self.0.lock().unwrap().push(items);
        }
    }

    #[test]
    fn last_report_is_zero_when_all_deliveries_have_ended() {
        let (in_flight, recorded) = (InFlight::default(), RecordedCounts::default());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        in_flight.begun(&recorded);
                        in_flight.ended(&recorded);
                    }
                });
            }
        });
        assert_eq!(in_flight.now(), 0);
        let recorded = recorded.0.into_inner().unwrap();
        assert_eq!(recorded.len(), 32_000);
        assert_eq!(recorded.last(), Some(&0));
        let steps = recorded.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) != 1).count();
        assert_eq!(steps, 0, "reports came in another order than what they report");
    }
}
