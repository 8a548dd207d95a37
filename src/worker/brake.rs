//! The failure brake: pauses intake when recent items fail with the same error. Pure.
//!
//! A damaged index or a faulty release fails every item after its cost was paid.
//!
//! 1. Intake pauses if [`BrakePolicy::failures`] different items failed with one label. These must be more than half of
//!    the last [`BrakePolicy::window`] attempts.
//! 2. After a delay that grows with each pause, up to [`BrakePolicy::trials`] items are tried one by one.
//! 3. The first success resumes intake. If all fail, intake pauses again.
//!
//! An item that was running when the brake engaged and fails is deferred, and its attempt does not count. The attempt
//! of a failed trial counts, so that a bad item becomes a dead letter. Malformed messages, repeated messages and
//! overload never count for the brake.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::disposition::Outcome;
use super::{ProcessError, ProcessOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakePolicy {
    pub window: usize,
    pub failures: usize,
    pub trials: u32,
    /// The first pause; each further one doubles.
    pub first_delay: Duration,
    /// The longest pause. After this time without the brake, pauses start at `first_delay` again.
    pub longest_delay: Duration,
}

impl Default for BrakePolicy {
    fn default() -> Self {
        Self {
            window: 50,
            failures: 20,
            trials: 5,
            first_delay: Duration::from_secs(30),
            longest_delay: Duration::from_mins(10),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttemptResult {
    Success,
    Failure(&'static str),
    /// Does not count: the message was invalid, was processed before, or was not tried.
    None,
}

impl From<&Outcome> for AttemptResult {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Processed(ProcessOutcome::Committed) => Self::Success,
            Outcome::Failed(ProcessError::Transient { .. } | ProcessError::Permanent { .. })
            | Outcome::Panicked(_)
            | Outcome::Stuck(_) => Self::Failure(outcome.reason()),
            // The store has its own pause.
            Outcome::Failed(ProcessError::Away { .. })
            | Outcome::Processed(ProcessOutcome::AlreadyDone)
            | Outcome::Rejected(_)
            | Outcome::HandedBack
            | Outcome::Deferred
            | Outcome::Dropped => Self::None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrakeChange {
    None,
    /// Intake pauses for `delay`, because `failures` recent items failed with `label`.
    Engaged {
        label: &'static str,
        failures: usize,
        delay: Duration,
    },
    /// The trial succeeded: intake resumes.
    Released,
    /// The trial was inconclusive: try another item.
    Undecided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BrakeDecision {
    pub(super) effect: BrakeChange,
    /// The item was running when the brake engaged and failed: it is deferred, and the attempt does not count.
    pub(super) is_put_off: bool,
}

#[derive(Debug, Default)]
struct State {
    /// The last attempts, oldest first: the item's hash, and the label if it failed.
    recent: VecDeque<(u64, Option<&'static str>)>,
    is_engaged: bool,
    /// Pauses without a long time between them.
    pauses: u32,
    failed_trials: u32,
    released: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Brake {
    policy: BrakePolicy,
    state: Mutex<State>,
}

impl Brake {
    pub(super) fn new(policy: BrakePolicy) -> Self {
        Self { policy, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Poisoning is harmless, because no code here panics during a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_engaged(&self) -> bool {
        self.state().is_engaged
    }

    /// Counts one attempt. `item` is the same hash for each attempt of an item. `is_trial` marks the one item that was
    /// admitted while the brake is engaged.
    pub(super) fn record(&self, item: u64, outcome: &Outcome, is_trial: bool, now: Instant) -> BrakeDecision {
        let mut state = self.state();
        let result = AttemptResult::from(outcome);
        let is_put_off = state.is_engaged && !is_trial && matches!(result, AttemptResult::Failure(_));
        let effect = match (state.is_engaged, is_trial, result) {
            (true, true, AttemptResult::Success) => {
                *state = State { pauses: state.pauses, released: Some(now), ..State::default() };
                BrakeChange::Released
            }
            (true, true, AttemptResult::Failure(label)) => {
                state.failed_trials += 1;
                if state.failed_trials < self.policy.trials {
                    BrakeChange::Undecided
                } else {
                    let failures = usize::try_from(state.failed_trials).unwrap_or(usize::MAX);
                    self.engage(&mut state, label, failures, now)
                }
            }
            (true, true, AttemptResult::None) => BrakeChange::Undecided,
            // The item was running when the brake engaged.
            (true, false, _) | (false, _, AttemptResult::None) => BrakeChange::None,
            (false, _, AttemptResult::Success) => {
                self.note(&mut state, (item, None));
                BrakeChange::None
            }
            (false, _, AttemptResult::Failure(label)) => {
                self.note(&mut state, (item, Some(label)));
                let failed = || state.recent.iter().filter(|(_, failed)| *failed == Some(label));
                let failures = failed().map(|(item, _)| item).collect::<BTreeSet<_>>().len();
                let is_most = failed().count() * 2 > state.recent.len();
                if failures >= self.policy.failures && is_most {
                    self.engage(&mut state, label, failures, now)
                } else {
                    BrakeChange::None
                }
            }
        };
        BrakeDecision { effect, is_put_off }
    }

    fn note(&self, state: &mut State, attempt: (u64, Option<&'static str>)) {
        state.recent.push_back(attempt);
        while state.recent.len() > self.policy.window {
            state.recent.pop_front();
        }
    }

    fn engage(&self, state: &mut State, label: &'static str, failures: usize, now: Instant) -> BrakeChange {
        let was_calm = state.released.is_some_and(|released| now - released >= self.policy.longest_delay);
        let pauses = if was_calm && !state.is_engaged { 0 } else { state.pauses };
        *state = State { is_engaged: true, pauses: pauses.saturating_add(1), ..State::default() };
        let delay = self.policy.first_delay.saturating_mul(2_u32.saturating_pow(pauses));
        BrakeChange::Engaged { label, failures, delay: delay.min(self.policy.longest_delay) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RejectReason;

    fn permanent(label: &'static str) -> Outcome {
        Outcome::Failed(ProcessError::Permanent { label, detail: String::new() })
    }

    fn transient(label: &'static str) -> Outcome {
        Outcome::Failed(ProcessError::Transient { label, detail: String::new() })
    }

    fn committed() -> Outcome {
        Outcome::Processed(ProcessOutcome::Committed)
    }

    fn now() -> Instant {
        Instant::now()
    }

    fn brake() -> Brake {
        Brake::new(BrakePolicy::default())
    }

    /// Records the outcome for each item of `items`; returns the last decision.
    fn run(brake: &Brake, items: std::ops::Range<u64>, outcome: &Outcome) -> Option<BrakeDecision> {
        items.map(|item| brake.record(item, outcome, false, now())).last()
    }

    fn engaged(label: &'static str, failures: usize, seconds: u64) -> BrakeChange {
        BrakeChange::Engaged { label, failures, delay: Duration::from_secs(seconds) }
    }

    #[test]
    fn brake_engages_when_twenty_items_fail_with_one_label() {
        for outcome in [permanent("store_statement"), transient("store_statement")] {
            let brake = brake();
            run(&brake, 11..30, &committed());
            assert_eq!(run(&brake, 30..49, &outcome).unwrap().effect, BrakeChange::None);
            let decision = brake.record(49, &outcome, false, now());
            assert_eq!(decision, BrakeDecision { effect: engaged("store_statement", 20, 30), is_put_off: false });
            // Running items are deferred and do not end the pause.
            assert_eq!(
                brake.record(50, &outcome, false, now()),
                BrakeDecision { effect: BrakeChange::None, is_put_off: true }
            );
            assert_eq!(
                brake.record(51, &committed(), false, now()),
                BrakeDecision { effect: BrakeChange::None, is_put_off: false }
            );
            assert!(brake.is_engaged());
        }
    }

    #[test]
    fn brake_stays_off_when_labels_differ_or_failures_are_few_or_old() {
        let brake = brake();
        for item in 0..200 {
            let label = ["store_statement", "inference", "panic"][usize::try_from(item % 3).unwrap()];
            assert_eq!(brake.record(item, &permanent(label), false, now()).effect, BrakeChange::None);
        }
        for item in 0..400 {
            let outcome = if item % 2 == 0 { permanent("store_statement") } else { committed() };
            assert_eq!(brake.record(item, &outcome, false, now()).effect, BrakeChange::None, "{item}");
        }
    }

    #[test]
    fn brake_stays_off_when_messages_are_at_fault_or_one_item_fails_again_and_again() {
        let brake = brake();
        for reject in [RejectReason::Empty, RejectReason::NoText, RejectReason::TooLarge { bytes: 9 }] {
            assert_eq!(run(&brake, 0..100, &Outcome::Rejected(reject)).unwrap().effect, BrakeChange::None);
        }
        for outcome in [Outcome::Deferred, Outcome::Dropped, Outcome::HandedBack] {
            assert_eq!(run(&brake, 0..100, &outcome).unwrap().effect, BrakeChange::None);
        }
        for _ in 0..100 {
            assert_eq!(brake.record(7, &transient("inference"), false, now()).effect, BrakeChange::None);
        }
    }

    #[test]
    fn pauses_grow_while_the_tried_items_fail_and_end_when_one_succeeds() {
        let brake = brake();
        run(&brake, 0..20, &permanent("store_statement"));
        for seconds in [60, 120, 240, 480, 600, 600] {
            for _ in 1..BrakePolicy::default().trials {
                let decision = brake.record(99, &permanent("store_corrupt"), true, now());
                assert_eq!(decision, BrakeDecision { effect: BrakeChange::Undecided, is_put_off: false });
            }
            let decision = brake.record(99, &permanent("store_corrupt"), true, now());
            assert_eq!(decision, BrakeDecision { effect: engaged("store_corrupt", 5, seconds), is_put_off: false });
        }
        for outcome in [Outcome::Rejected(RejectReason::Empty), Outcome::Processed(ProcessOutcome::AlreadyDone)] {
            assert_eq!(brake.record(99, &outcome, true, now()).effect, BrakeChange::Undecided);
        }
        assert_eq!(brake.record(99, &committed(), true, now()).effect, BrakeChange::Released);
        assert!(!brake.is_engaged());
        // Earlier failures are forgotten, but the pause length is kept soon after a pause.
        assert_eq!(run(&brake, 100..119, &permanent("store_statement")).unwrap().effect, BrakeChange::None);
        assert_eq!(
            brake.record(119, &permanent("store_statement"), false, now()).effect,
            engaged("store_statement", 20, 600)
        );
    }

    #[test]
    fn pauses_begin_at_the_first_again_when_long_nothing_happened() {
        let brake = brake();
        run(&brake, 0..20, &permanent("store_statement"));
        for item in 94..99 {
            brake.record(item, &permanent("store_statement"), true, now());
        }
        brake.record(99, &committed(), true, now());
        let later = now() + Duration::from_mins(10);
        let last = (0..20).map(|item| brake.record(item, &permanent("store_statement"), false, later)).last();
        assert_eq!(last.unwrap().effect, engaged("store_statement", 20, 30));
    }
}
