//! Maps the outcome of an item to the settlement of its delivery. Pure.

use std::time::Duration;

use super::{ProcessError, ProcessOutcome};
use crate::broker::{DeadBody, Settlement};
use crate::domain::RejectReason;

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Processed(ProcessOutcome),
    /// The message is not a valid item.
    Rejected(RejectReason),
    Failed(ProcessError),
    Panicked(String),
    /// Processing exceeded `item_limit`.
    Stuck(Duration),
    /// The daemon stops and had no time left.
    HandedBack,
    /// Overload: later.
    Deferred,
    /// Overload: never.
    Dropped,
}

impl Outcome {
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Processed(ProcessOutcome::Committed) => "committed",
            Self::Processed(ProcessOutcome::AlreadyDone) => "already_done",
            Self::Rejected(_) => "rejected",
            Self::Failed(ProcessError::Transient { .. }) => "transient",
            Self::Failed(ProcessError::Away { .. }) => "away",
            Self::Failed(ProcessError::Permanent { .. }) => "permanent",
            Self::Panicked(_) => "panic",
            Self::Stuck(_) => "stuck",
            Self::HandedBack => "handed_back",
            Self::Deferred => "deferred",
            Self::Dropped => "dropped",
        }
    }

    /// Returns the reason from a closed set: the error's label if there is one.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Rejected(reject) => reject.label(),
            Self::Failed(
                ProcessError::Transient { label, .. }
                | ProcessError::Away { label, .. }
                | ProcessError::Permanent { label, .. },
            ) => label,
            _ => self.label(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Total attempts, including the first; then the message becomes a dead letter.
    pub max_attempts: u32,
    /// The delay after the first failure, the second, and so on; the last one repeats.
    pub delays: Vec<Duration>,
    /// The delay of items that overload defers.
    pub defer_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            delays: [5, 30, 120, 600].map(Duration::from_secs).to_vec(),
            defer_delay: Duration::from_mins(2),
        }
    }
}

impl RetryPolicy {
    pub fn delay(&self, attempts: u32) -> Duration {
        let place = usize::try_from(attempts).unwrap_or(usize::MAX);
        self.delays.get(place).or(self.delays.last()).copied().unwrap_or(self.defer_delay)
    }
}

/// Returns the settlement. `attempts` is the number of earlier attempts.
pub fn disposition(outcome: &Outcome, attempts: u32, policy: &RetryPolicy) -> Settlement {
    let again = |label: &'static str, error: String| {
        let tried = attempts.saturating_add(1);
        if tried >= policy.max_attempts {
            let error = format!("tried {tried} times, the last time: {error}");
            return Settlement::Dead { label: label.to_owned(), error, body: DeadBody::Whole };
        }
        Settlement::Retry { error_label: label, error, delay: policy.delay(attempts) }
    };
    let dead = |label: &str, error: String| Settlement::Dead { label: label.to_owned(), error, body: DeadBody::Whole };
    match outcome {
        Outcome::Processed(ProcessOutcome::Committed | ProcessOutcome::AlreadyDone) | Outcome::Dropped => {
            Settlement::Ack
        }
        // An oversized message keeps only an excerpt.
        Outcome::Rejected(reject @ RejectReason::TooLarge { .. }) => {
            Settlement::Dead { label: reject.label().to_owned(), error: reject.to_string(), body: DeadBody::Excerpt }
        }
        Outcome::Rejected(reject) => dead(reject.label(), reject.to_string()),
        Outcome::Failed(ProcessError::Transient { label, detail }) => again(label, detail.clone()),
        // Retried soon and without limit: work pauses meanwhile, and the error is not about the item.
        Outcome::Failed(ProcessError::Away { .. }) => Settlement::Defer { delay: policy.delay(0) },
        Outcome::Failed(ProcessError::Permanent { label, detail }) => dead(label, detail.clone()),
        // The same text would probably panic again and use up capacity each time.
        Outcome::Panicked(message) => {
            dead("panic", format!("this item makes the daemon fail, which is a defect; please report it: {message}"))
        }
        Outcome::Stuck(after) => again("stuck", format!("it was not done after {after:?}")),
        Outcome::HandedBack => Settlement::Requeue,
        Outcome::Deferred => Settlement::Defer { delay: policy.defer_delay },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn policy() -> RetryPolicy {
        RetryPolicy { max_attempts: 4, delays: vec![seconds(1), seconds(2)], defer_delay: seconds(9) }
    }

    fn transient() -> Outcome {
        Outcome::Failed(ProcessError::Transient { label: "store_away", detail: "no route".to_owned() })
    }

    fn short(settle: &Settlement) -> String {
        match settle {
            Settlement::Ack => "ack".to_owned(),
            Settlement::Retry { error_label, delay, .. } => format!("retry {error_label} {delay:?}"),
            Settlement::Defer { delay } => format!("defer {delay:?}"),
            Settlement::Dead { label, .. } => format!("dead {label}"),
            Settlement::Requeue => "requeue".to_owned(),
        }
    }

    #[test]
    fn every_outcome_has_its_end() {
        let away = Outcome::Failed(ProcessError::Away { label: "store_unreachable", detail: "no route".to_owned() });
        let permanent = Outcome::Failed(ProcessError::Permanent { label: "refused", detail: "no".to_owned() });
        let table = [
            (Outcome::Processed(ProcessOutcome::Committed), 0, "committed", "ack"),
            (Outcome::Processed(ProcessOutcome::AlreadyDone), 3, "already_done", "ack"),
            (Outcome::Rejected(RejectReason::NoText), 0, "rejected", "dead no_text"),
            (Outcome::Rejected(RejectReason::TooLarge { bytes: 2 }), 0, "rejected", "dead too_large"),
            (transient(), 0, "transient", "retry store_away 1s"),
            (transient(), 1, "transient", "retry store_away 2s"),
            (transient(), 2, "transient", "retry store_away 2s"),
            (transient(), 3, "transient", "dead store_away"),
            (transient(), u32::MAX, "transient", "dead store_away"),
            (away.clone(), 0, "away", "defer 1s"),
            (away, u32::MAX, "away", "defer 1s"),
            (permanent, 0, "permanent", "dead refused"),
            (Outcome::Panicked("boom".to_owned()), 0, "panic", "dead panic"),
            (Outcome::Stuck(seconds(60)), 0, "stuck", "retry stuck 1s"),
            (Outcome::Stuck(seconds(60)), 3, "stuck", "dead stuck"),
            (Outcome::HandedBack, 3, "handed_back", "requeue"),
            (Outcome::Deferred, 3, "deferred", "defer 9s"),
            (Outcome::Dropped, 0, "dropped", "ack"),
        ];
        for (outcome, attempts, label, end) in table {
            assert_eq!(outcome.label(), label);
            assert_eq!(short(&disposition(&outcome, attempts, &policy())), end, "{outcome:?} after {attempts}");
        }
    }

    #[test]
    fn dead_letter_has_attempts_and_cause_when_retries_are_used_up() {
        let Settlement::Dead { error, .. } = disposition(&transient(), 3, &policy()) else { panic!("not dead") };
        assert_eq!(error, "tried 4 times, the last time: no route");
    }

    #[test]
    fn without_delays_there_is_still_a_wait() {
        let bare = RetryPolicy { delays: Vec::new(), ..policy() };
        assert_eq!(bare.delay(0), seconds(9));
    }
}
