//! What to do when more comes than can be done. Pure, but for the figures it remembers between two looks at the queue.
//!
//! Deferring and dropping shed the excess and no more: without that, one look at a queue of 5,001 would clear all of it out
//! before the next look, and the workers would stand idle until it all came back at once. All processes together shed it
//! once: what may be shed is an [`Allowance`] that they share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use crate::broker::QueueName;

/// What overload does to items (`ENRICHMENT_OVERLOAD`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverloadPolicy {
    /// Phase 1 only: the item is looked up, and not searched for.
    #[default]
    Degrade,
    /// The excess comes again later.
    Defer,
    /// The excess is not done at all; upstream hears of each.
    Drop,
}

/// From where on a queue is overloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverloadLimits {
    pub policy: OverloadPolicy,
    /// Longest time an item should wait (`ENRICHMENT_MAX_LAG`).
    pub max_lag: Duration,
    /// Most messages that should wait in one queue (`ENRICHMENT_MAX_QUEUE_LENGTH`).
    pub max_queue_length: u64,
}

impl Default for OverloadLimits {
    fn default() -> Self {
        Self { policy: OverloadPolicy::Degrade, max_lag: Duration::from_mins(5), max_queue_length: 5_000 }
    }
}

/// How thoroughly an item is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Normal,
    /// Overload: Phase 1 only.
    Degrade,
}

/// What happens to the next item of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Process(Load),
    Defer,
    Drop,
}

/// Overload ends where both figures are below this share of their limits, so that it does not flicker.
const RELIEF: f64 = 0.8;

/// The figures of one queue.
#[derive(Debug, Default)]
struct Figures {
    /// The longest wait seen since the last look.
    seen: Option<Duration>,
    /// The wait as of the last look.
    lag: Duration,
    over: bool,
    /// How many of the waiting ones are too many.
    excess: u64,
}

/// Remembers the figures of the consumed queues and decides item by item.
#[derive(Debug)]
pub struct Overload {
    limits: OverloadLimits,
    allowance: Arc<dyn Allowance>,
    important: Mutex<Figures>,
    enrichment: Mutex<Figures>,
    factcheck: Mutex<Figures>,
}

/// How many items of each queue were shed, in the order of [`QueueName::ALL`]; `None` where that is not known.
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

    /// How much was shed; to be asked before the queues are counted.
    pub async fn shed(&self) -> ShedSoFar {
        let mut shed = [None; QueueName::ALL.len()];
        if self.sheds() {
            for (queue, shed) in QueueName::ALL.into_iter().zip(&mut shed) {
                let asked = self.allowance.shed(queue).await;
                *shed = asked.inspect_err(|error| tracing::debug!(error, "what was shed is not known")).ok();
            }
        }
        shed
    }

    /// Makes the excess of the last look the allowance of all processes, at most once in `every`. A queue of which it is
    /// not known what was shed keeps its allowance.
    pub async fn allow(&self, shed_before: ShedSoFar, every: Duration) {
        for (queue, shed_before) in QueueName::ALL.into_iter().zip(shed_before) {
            let Some(shed_before) = shed_before else { continue };
            let excess = self.figures(queue).excess;
            if let Err(error) = self.allowance.allow(queue, excess, shed_before, every).await {
                tracing::debug!(error, "what may be shed could not be set");
            }
        }
    }

    fn figures(&self, queue: QueueName) -> MutexGuard<'_, Figures> {
        let figures = match queue {
            QueueName::Important => &self.important,
            QueueName::Enrichment => &self.enrichment,
            QueueName::Factcheck => &self.factcheck,
        };
        // The figures are whole after every statement; a panic elsewhere does not spoil them.
        figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An item of that queue had waited so long when it was taken.
    pub fn note_lag(&self, queue: QueueName, lag: Duration) {
        let mut figures = self.figures(queue);
        figures.seen = figures.seen.max(Some(lag));
    }

    /// A look at the queue: so many messages wait in it. Returns whether it is overloaded. Important items are done in any
    /// case: whoever sends more of them than can be done has no order in which to shed them.
    pub fn look(&self, queue: QueueName, waiting: u64) -> bool {
        if queue == QueueName::Important {
            return false;
        }
        let mut figures = self.figures(queue);
        // A standstill brings no new figure: the old one holds until something is taken again.
        if let Some(seen) = figures.seen.take() {
            figures.lag = seen;
        }
        // Old items in an empty queue are no backlog: nothing would be gained by shedding the next ones.
        if waiting == 0 {
            figures.lag = Duration::ZERO;
        }
        figures.over = is_over(waiting, figures.lag, &self.limits, figures.over);
        figures.excess = excess(waiting, figures.lag, &self.limits);
        figures.over
    }

    /// Decides about the next item.
    pub async fn admit(&self, queue: QueueName) -> Admission {
        let how = match self.limits.policy {
            OverloadPolicy::Degrade if self.figures(queue).over => return Admission::Process(Load::Degrade),
            OverloadPolicy::Degrade => return Admission::Process(Load::Normal),
            OverloadPolicy::Defer => Admission::Defer,
            OverloadPolicy::Drop => Admission::Drop,
        };
        // Only where there is an excess the others are asked.
        if self.figures(queue).excess == 0 {
            return Admission::Process(Load::Normal);
        }
        match self.allowance.take(queue).await {
            Ok(true) => how,
            Ok(false) => Admission::Process(Load::Normal),
            Err(error) => {
                tracing::debug!(error, "what may be shed is not known; the item is done");
                Admission::Process(Load::Normal)
            }
        }
    }
}

fn is_over(waiting: u64, lag: Duration, limits: &OverloadLimits, before: bool) -> bool {
    let share = if before { RELIEF } else { 1.0 };
    waiting as f64 > limits.max_queue_length as f64 * share || lag > limits.max_lag.mul_f64(share)
}

/// How many of the waiting ones have to go: those beyond the longest queue, or those that make the wait too long. Where an
/// item waits `lag`, the queue is worked off in about that time, so that the share `max_lag / lag` of it can stay.
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

    /// How often the queues are counted; here every look counts.
    const EVERY: Duration = Duration::ZERO;

    fn limits(policy: OverloadPolicy) -> OverloadLimits {
        OverloadLimits { policy, max_lag: Duration::from_secs(100), max_queue_length: 10 }
    }

    fn overload(policy: OverloadPolicy) -> Overload {
        Overload::new(limits(policy), Arc::new(OwnAllowance::default()))
    }

    /// A look at the queue, and what it allows. Nothing waits with an allowance of the process's own.
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
        // The count still has all of them.
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
