//! When requests came, to see whether a rate was kept.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::lock;

/// The moments of all requests to one target, in the order they came.
#[derive(Debug, Default)]
pub(super) struct Arrivals(Mutex<Vec<Instant>>);

impl Arrivals {
    pub(super) fn note(&self) {
        let mut moments = lock(&self.0);
        // Taken under the lock, so that the list is sorted.
        moments.push(Instant::now());
    }

    /// The most of them within any span of this length, its end not included.
    pub(super) fn most_within(&self, span: Duration) -> usize {
        most_within(&lock(&self.0), span)
    }
}

fn most_within(moments: &[Instant], span: Duration) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (last, moment) in moments.iter().enumerate() {
        while moment.duration_since(moments[first]) >= span {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_span_is_found_wherever_it_lies() {
        let start = Instant::now();
        let at = |seconds: &[u64]| -> Vec<Instant> {
            seconds.iter().map(|seconds| start + Duration::from_secs(*seconds)).collect()
        };
        let minute = Duration::from_mins(1);
        assert_eq!(most_within(&at(&[]), minute), 0);
        assert_eq!(most_within(&at(&[0, 60, 120]), minute), 1, "a span ends before its end");
        assert_eq!(most_within(&at(&[0, 59, 61, 62, 118, 200]), minute), 4);
    }
}
