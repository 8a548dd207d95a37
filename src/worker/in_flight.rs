//! How many deliveries are being worked on, counted and reported as one step.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::broker::Observer;

/// Counting and reporting are one step: were they two, the report of two items that end at the same moment could come in
/// the other order, and the gauge would stay at 1 while nothing is in work.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<usize>);

impl InFlight {
    fn known(&self) -> MutexGuard<'_, usize> {
        // It is whole after every statement; a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begun(&self, observer: &dyn Observer) {
        let mut items = self.known();
        *items += 1;
        observer.in_flight(*items);
    }

    pub(super) fn ended(&self, observer: &dyn Observer) {
        let mut items = self.known();
        *items = items.saturating_sub(1);
        observer.in_flight(*items);
    }

    pub(super) fn now(&self) -> usize {
        *self.known()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was reported, in the order it was heard in.
    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<usize>>);

    impl Observer for Heard {
        fn in_flight(&self, items: usize) {
            self.0.lock().unwrap().push(items);
        }
    }

    #[test]
    fn what_is_heard_last_is_what_is_in_work() {
        let (in_flight, heard) = (InFlight::default(), Heard::default());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        in_flight.begun(&heard);
                        in_flight.ended(&heard);
                    }
                });
            }
        });
        assert_eq!(in_flight.now(), 0);
        let heard = heard.0.into_inner().unwrap();
        assert_eq!(heard.len(), 32_000);
        assert_eq!(heard.last(), Some(&0));
        let steps = heard.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) != 1).count();
        assert_eq!(steps, 0, "reports came in another order than what they report");
    }
}
