//! The failure brake: pauses intake when recent items fail with one and the same error. Pure.
//!
//! A damaged index or a faulty release fails every item, and each item is paid for first. Intake pauses when
//! [`BrakePolicy::failures`] different items, and more than half of the last [`BrakePolicy::window`] attempts, failed with one
//! label. After a delay that grows from pause to pause, up to [`BrakePolicy::trials`] items are tried one after the other: the
//! first success resumes intake, and if all fail, intake pauses again.
//!
//! An item that was in work when the brake engaged and fails is deferred, and the attempt does not count. A tried item that
//! fails uses up an attempt, so that a bad item ends as a dead letter and cannot hold intake for ever. A malformed message, a
//! message that was done before and everything that overload decides do not count for the brake.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::disposition::Outcome;
use super::{ProcessError, Processed};

/// When intake pauses, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakePolicy {
    /// The number of recent attempts that are considered.
    pub window: usize,
    /// Different items that must have failed with one label to engage the brake.
    pub failures: usize,
    /// Items that are tried after each pause, at most.
    pub trials: u32,
    /// The first pause; each further one doubles.
    pub first_delay: Duration,
    /// The longest pause. After as long without the brake the pauses begin at the first again.
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

/// How one attempt counts for the brake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttemptResult {
    Success,
    Failure(&'static str),
    /// Does not count: the message was at fault, or was done before, or nothing was tried.
    None,
}

impl From<&Outcome> for AttemptResult {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Processed(Processed::Committed) => Self::Success,
            Outcome::Failed(ProcessError::Transient { .. } | ProcessError::Permanent { .. })
            | Outcome::Panicked(_)
            | Outcome::Stuck(_) => Self::Failure(outcome.reason()),
            // The store has a pause of its own.
            Outcome::Failed(ProcessError::Away { .. })
            | Outcome::Processed(Processed::AlreadyDone)
            | Outcome::Rejected(_)
            | Outcome::HandedBack
            | Outcome::Deferred
            | Outcome::Dropped => Self::None,
        }
    }
}

/// What an attempt changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrakeChange {
    None,
    /// Intake pauses for so long: so many recent items failed with this label.
    Engaged {
        label: &'static str,
        failures: usize,
        delay: Duration,
    },
    /// The tried item succeeded: intake resumes.
    Released,
    /// The tried item did not decide: another one is tried.
    Undecided,
}

/// The answer to one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BrakeDecision {
    pub(super) effect: BrakeChange,
    /// The item was in work when the brake engaged, and failed: it is deferred, and the attempt does not count.
    pub(super) is_put_off: bool,
}

#[derive(Debug, Default)]
struct State {
    /// The last attempts, oldest first: the item's hash, and the label if it failed.
    recent: VecDeque<(u64, Option<&'static str>)>,
    is_engaged: bool,
    /// Pauses so far, without a long time between them.
    pauses: u32,
    /// Items that were tried after this pause and failed.
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
        // Nothing here panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_engaged(&self) -> bool {
        self.state().is_engaged
    }

    /// Counts one attempt. `item` is a hash that is the same for each attempt of an item; `is_trial` says that it is the
    /// one item which was let in while the brake is engaged.
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
            // An item that was in work already when the brake engaged.
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
    use crate::domain::Reject;

    fn permanent(label: &'static str) -> Outcome {
        Outcome::Failed(ProcessError::Permanent { label, detail: String::new() })
    }

    fn transient(label: &'static str) -> Outcome {
        Outcome::Failed(ProcessError::Transient { label, detail: String::new() })
    }

    fn committed() -> Outcome {
        Outcome::Processed(Processed::Committed)
    }

    fn now() -> Instant {
        Instant::now()
    }

    fn brake() -> Brake {
        Brake::new(BrakePolicy::default())
    }

    /// Lets items `from..to` end so; the last decision.
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
            // Those in work already are deferred, and end nothing.
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
        for reject in [Reject::Empty, Reject::NoText, Reject::TooLarge { bytes: 9 }] {
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
        for outcome in [Outcome::Rejected(Reject::Empty), Outcome::Processed(Processed::AlreadyDone)] {
            assert_eq!(brake.record(99, &outcome, true, now()).effect, BrakeChange::Undecided);
        }
        assert_eq!(brake.record(99, &committed(), true, now()).effect, BrakeChange::Released);
        assert!(!brake.is_engaged());
        // Earlier failures are forgotten; the length of the pauses is not, so soon after the last.
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
