//! Decides which items are shed when more arrive than can be processed. Pure except for the figures between two counts.
//!
//! Deferring and dropping shed only the excess. Otherwise one count of 5,001 would empty the queue before the next
//! count, and workers would idle. All processes share one [`Allowance`], so the excess is shed once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use crate::broker::QueueName;

/// The treatment of items under overload (`ENRICHMENT_OVERLOAD`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverloadPolicy {
    /// Phase 1 only: look up the item, do not search.
    #[default]
    Degrade,
    /// Requeue the excess with a delay.
    Defer,
    /// Drop the excess and notify upstream of each item.
    Drop,
}

/// When a queue is overloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverloadLimits {
    pub policy: OverloadPolicy,
    /// Maximum time that an item should wait (`ENRICHMENT_MAX_LAG`).
    pub max_lag: Duration,
    /// Maximum number of waiting messages per queue (`ENRICHMENT_MAX_QUEUE_LENGTH`).
    pub max_queue_length: u64,
}

impl Default for OverloadLimits {
    fn default() -> Self {
        Self { policy: OverloadPolicy::Degrade, max_lag: Duration::from_mins(5), max_queue_length: 5_000 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Normal,
    /// Phase 1 only.
    Degrade,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Process(Load),
    Defer,
    Drop,
}

/// Overload ends if both figures are below this share of their limits, so that it does not flicker.
const RELIEF: f64 = 0.8;

#[derive(Debug, Default)]
struct Figures {
    /// The longest wait since the last count.
    seen: Option<Duration>,
    lag: Duration,
    over: bool,
    /// Number of waiting items beyond the limits.
    excess: u64,
}

#[derive(Debug)]
pub struct Overload {
    limits: OverloadLimits,
    allowance: Arc<dyn Allowance>,
    important: Mutex<Figures>,
    enrichment: Mutex<Figures>,
    factcheck: Mutex<Figures>,
}

/// Shed items per queue, in the order of [`QueueName::ALL`]; `None` if unknown.
pub type ShedSoFar = [Option<u64>; QueueName::ALL.len()];

impl Overload {
    pub fn new(limits: OverloadLimits, allowance: Arc<dyn Allowance>) -> Self {
        Self {
            limits,
            allowance,
            important: Mutex::default(),
            enrichment: Mutex::default(),
            factcheck: Mutex::default(),
        }
    }

    fn sheds(&self) -> bool {
        match self.limits.policy {
            OverloadPolicy::Degrade => false,
            OverloadPolicy::Defer | OverloadPolicy::Drop => true,
        }
    }

    /// Returns the number of shed items; call it before the queues are counted.
    pub async fn shed(&self) -> ShedSoFar {
        let mut shed = [None; QueueName::ALL.len()];
        if self.sheds() {
            for (queue, shed) in QueueName::ALL.into_iter().zip(&mut shed) {
                let asked = self.allowance.shed(queue).await;
                *shed = asked.inspect_err(|error| tracing::debug!(error, "reading shed items failed")).ok();
            }
        }
        shed
    }

    /// Makes the last excess the allowance of all processes, at most once per `every`. A queue with an unknown number
    /// of shed items keeps its allowance.
    pub async fn allow(&self, shed_before: ShedSoFar, every: Duration) {
        for (queue, shed_before) in QueueName::ALL.into_iter().zip(shed_before) {
            let Some(shed_before) = shed_before else { continue };
            let excess = self.figures(queue).excess;
            if let Err(error) = self.allowance.allow(queue, excess, shed_before, every).await {
                tracing::debug!(error, "writing the shedding state failed");
            }
        }
    }

    fn figures(&self, queue: QueueName) -> MutexGuard<'_, Figures> {
        let figures = match queue {
            QueueName::Important => &self.important,
            QueueName::Enrichment => &self.enrichment,
            QueueName::Factcheck => &self.factcheck,
        };
        // Poisoning is harmless, because the figures are consistent after every statement.
        figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note_lag(&self, queue: QueueName, lag: Duration) {
        let mut figures = self.figures(queue);
        figures.seen = figures.seen.max(Some(lag));
    }

    /// Updates the figures of a queue and returns whether it is overloaded. Important items are never shed, because
    /// their order of importance is unknown.
    pub fn look(&self, queue: QueueName, waiting: u64) -> bool {
        if queue == QueueName::Important {
            return false;
        }
        let mut figures = self.figures(queue);
        // If nothing was taken since the last count, the old figure remains.
        if let Some(seen) = figures.seen.take() {
            figures.lag = seen;
        }
        // Old items in an empty queue are no backlog, so shedding the next ones gains nothing.
        if waiting == 0 {
            figures.lag = Duration::ZERO;
        }
        figures.over = is_over(waiting, figures.lag, &self.limits, figures.over);
        figures.excess = excess(waiting, figures.lag, &self.limits);
        figures.over
    }

    pub async fn admit(&self, queue: QueueName) -> Admission {
        let how = match self.limits.policy {
            OverloadPolicy::Degrade if self.figures(queue).over => return Admission::Process(Load::Degrade),
            OverloadPolicy::Degrade => return Admission::Process(Load::Normal),
            OverloadPolicy::Defer => Admission::Defer,
            OverloadPolicy::Drop => Admission::Drop,
        };
        // Read the shared allowance only if there is an excess.
        if self.figures(queue).excess == 0 {
            return Admission::Process(Load::Normal);
        }
        match self.allowance.take(queue).await {
            Ok(true) => how,
            Ok(false) => Admission::Process(Load::Normal),
            Err(error) => {
                tracing::debug!(error, "shedding state unknown; processing the item");
                Admission::Process(Load::Normal)
            }
        }
    }
}

fn is_over(waiting: u64, lag: Duration, limits: &OverloadLimits, before: bool) -> bool {
    let share = if before { RELIEF } else { 1.0 };
    waiting as f64 > limits.max_queue_length as f64 * share || lag > limits.max_lag.mul_f64(share)
}

/// Returns the number of items to shed: those beyond the longest queue, or those that make the wait too long. If an
/// item waits `lag`, the share `max_lag / lag` of the queue can stay.
fn excess(waiting: u64, lag: Duration, limits: &OverloadLimits) -> u64 {
    let by_length = waiting.saturating_sub(limits.max_queue_length);
    let by_lag = if lag > limits.max_lag {
        (waiting as f64 * (1.0 - limits.max_lag.as_secs_f64() / lag.as_secs_f64())).ceil() as u64
    } else {
        0
    };
    by_length.max(by_lag)
}

#[cfg(test)]
mod tests {
    use super::*;

    use futures::FutureExt;

    use super::super::OwnAllowance;

    /// Every count is used.
    const EVERY: Duration = Duration::ZERO;

    fn limits(policy: OverloadPolicy) -> OverloadLimits {
        OverloadLimits { policy, max_lag: Duration::from_secs(100), max_queue_length: 10 }
    }

    fn overload(policy: OverloadPolicy) -> Overload {
        Overload::new(limits(policy), Arc::new(OwnAllowance::default()))
    }

    /// Counts the queue and updates the allowance. An own allowance never waits.
    fn look(overload: &Overload, waiting: u64) -> bool {
        let shed = overload.shed().now_or_never().unwrap();
        let over = overload.look(QUEUE, waiting);
        overload.allow(shed, EVERY).now_or_never().unwrap();
        over
    }

    fn admit(overload: &Overload) -> Admission {
        overload.admit(QUEUE).now_or_never().unwrap()
    }

    const QUEUE: QueueName = QueueName::Enrichment;

    #[test]
    fn a_queue_within_its_limits_is_left_alone() {
        for policy in [OverloadPolicy::Degrade, OverloadPolicy::Defer, OverloadPolicy::Drop] {
            let overload = overload(policy);
            assert_eq!(admit(&overload), Admission::Process(Load::Normal));
            overload.note_lag(QUEUE, Duration::from_secs(100));
            assert!(!look(&overload, 10));
            assert_eq!(admit(&overload), Admission::Process(Load::Normal));
        }
    }

    #[test]
    fn degrading_lasts_until_there_is_clear_relief() {
        let overload = overload(OverloadPolicy::Degrade);
        assert!(look(&overload, 11));
        assert_eq!(admit(&overload), Admission::Process(Load::Degrade));
        assert!(look(&overload, 9), "between relief and limit it stays as it was");
        assert!(!look(&overload, 8));
        assert_eq!(admit(&overload), Admission::Process(Load::Normal));
        assert!(!look(&overload, 9));
    }

    #[test]
    fn only_the_excess_is_shed() {
        for (policy, how) in [(OverloadPolicy::Defer, Admission::Defer), (OverloadPolicy::Drop, Admission::Drop)] {
            let overload = overload(policy);
            look(&overload, 12);
            let decisions: Vec<_> = (0..4).map(|_| admit(&overload)).collect();
            let normal = Admission::Process(Load::Normal);
            assert_eq!(decisions, [how, how, normal, normal]);
        }
    }

    #[test]
    fn processes_that_share_an_allowance_shed_the_excess_once() {
        let shared: Arc<dyn Allowance> = Arc::new(OwnAllowance::default());
        let fleet: Vec<Overload> =
            (0..4).map(|_| Overload::new(limits(OverloadPolicy::Drop), Arc::clone(&shared))).collect();
        for overload in &fleet {
            look(overload, 13);
        }
        let dropped = fleet.iter().cycle().take(40).filter(|overload| admit(overload) == Admission::Drop).count();
        assert_eq!(dropped, 3);
    }

    #[test]
    fn what_is_shed_while_the_queue_is_counted_is_not_shed_again() {
        let overload = overload(OverloadPolicy::Drop);
        look(&overload, 14);
        let shed = overload.shed().now_or_never().unwrap();
        // The count still includes all of them.
        overload.look(QUEUE, 14);
        assert_eq!([admit(&overload), admit(&overload)], [Admission::Drop; 2]);
        overload.allow(shed, EVERY).now_or_never().unwrap();
        let dropped = (0..9).filter(|_| admit(&overload) == Admission::Drop).count();
        assert_eq!(dropped, 2, "four are too many, and two of them are gone");
    }

    #[test]
    fn a_long_wait_sheds_the_share_that_makes_it_too_long() {
        let overload = overload(OverloadPolicy::Drop);
        overload.note_lag(QUEUE, Duration::from_secs(400));
        overload.note_lag(QUEUE, Duration::from_secs(3));
        assert!(look(&overload, 8));
        let dropped = (0..8).filter(|_| admit(&overload) == Admission::Drop).count();
        assert_eq!(dropped, 6, "a quarter of 400 s is the 100 s allowed");
    }

    #[test]
    fn the_last_old_items_of_a_queue_are_done() {
        let overload = overload(OverloadPolicy::Drop);
        overload.note_lag(QUEUE, Duration::from_secs(4_000));
        assert!(!look(&overload, 0));
        assert_eq!(admit(&overload), Admission::Process(Load::Normal));
    }

    #[test]
    fn the_queues_do_not_suffer_for_each_other() {
        let overload = overload(OverloadPolicy::Degrade);
        look(&overload, 1_000);
        let other = overload.admit(QueueName::Factcheck).now_or_never().unwrap();
        assert_eq!(other, Admission::Process(Load::Normal));
    }

    #[test]
    fn a_lag_that_is_over_is_forgotten() {
        let overload = overload(OverloadPolicy::Degrade);
        overload.note_lag(QUEUE, Duration::from_secs(400));
        assert!(look(&overload, 5));
        assert!(look(&overload, 5), "nothing was taken meanwhile: the wait is as long as before");
        overload.note_lag(QUEUE, Duration::from_secs(50));
        assert!(!look(&overload, 5), "the wait has become short");
        overload.note_lag(QUEUE, Duration::from_secs(400));
        assert!(!look(&overload, 0));
        assert!(!look(&overload, 5), "an empty queue has no wait to remember");
    }

    proptest::proptest! {
        #[test]
        fn the_excess_never_exceeds_what_waits(waiting in 0_u64..1_000_000, lag in 0_u64..10_000_000, max in 0_u64..10_000, allowed in 0_u64..100_000) {
            let limits = OverloadLimits { policy: OverloadPolicy::Drop, max_lag: Duration::from_secs(allowed), max_queue_length: max };
            let too_many = excess(waiting, Duration::from_secs(lag), &limits);
            proptest::prop_assert!(too_many <= waiting);
            proptest::prop_assert!(waiting - too_many <= max);
        }
    }
}
