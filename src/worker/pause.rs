//! Whether items are taken from the queue: all, none during a pause, or one after a pause of the failure brake.

use std::fmt;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;

/// Checks whether the store accepts writes; called only during a pause.
pub type Probe = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PauseReason {
    /// The store is unavailable; the pause ends when it is back.
    StoreAway(String),
    /// Recent items failed with one error; after the delay one item is tried.
    Failing { label: &'static str, failures: usize, delay: Duration },
}

impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoreAway(why) => write!(f, "the store is away: {why}"),
            Self::Failing { label, failures, .. } => {
                write!(f, "the last {failures} failures of items are {label}; some items are tried after each pause")
            }
        }
    }
}

/// Why a process takes no items, for the readiness check. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct IntakeStatus(Arc<Mutex<Reasons>>);

/// A pause of the brake and one for the store can overlap.
#[derive(Debug, Default)]
struct Reasons {
    store: Option<String>,
    brake: Option<String>,
}

impl IntakeStatus {
    pub fn paused(&self) -> Option<String> {
        let reasons = self.reasons();
        reasons.store.clone().or_else(|| reasons.brake.clone())
    }

    fn reasons(&self) -> MutexGuard<'_, Reasons> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Intake {
    Open,
    Paused(PauseReason),
    /// One item may be taken.
    OneItem,
    /// This item is awaited or running.
    Trial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdmissionKind {
    AsUsual,
    /// The one item that is tried after a pause.
    AsTrial,
}

#[derive(Debug)]
pub(super) struct Pause {
    intake: watch::Sender<Intake>,
    status: IntakeStatus,
}

impl Pause {
    pub(super) fn new(status: IntakeStatus) -> Self {
        Self { intake: watch::Sender::new(Intake::Open), status }
    }

    /// Pauses intake. During another pause only the brake's status changes.
    pub(super) fn begin(&self, reason: PauseReason) {
        self.intake.send_if_modified(|intake| {
            let begins = !matches!(intake, Intake::Paused(_));
            match &reason {
                PauseReason::Failing { .. } => self.status.reasons().brake = Some(reason.to_string()),
                PauseReason::StoreAway(_) if begins => self.status.reasons().store = Some(reason.to_string()),
                PauseReason::StoreAway(_) => {}
            }
            if begins {
                *intake = Intake::Paused(reason);
            }
            begins
        });
    }

    pub(super) async fn admit(&self) -> AdmissionKind {
        let mut intake = self.intake.subscribe();
        loop {
            // The returned guard locks the value. The sender is in `self`, so it still exists.
            drop(intake.wait_for(|intake| matches!(intake, Intake::Open | Intake::OneItem)).await);
            if let Some(admitted) = self.try_admit() {
                return admitted;
            }
        }
    }

    /// Returns how an item may be taken now; `None` during a pause or a trial.
    fn try_admit(&self) -> Option<AdmissionKind> {
        let mut admitted = None;
        self.intake.send_if_modified(|intake| {
            admitted = match intake {
                Intake::Open => Some(AdmissionKind::AsUsual),
                Intake::OneItem => Some(AdmissionKind::AsTrial),
                Intake::Paused(_) | Intake::Trial => None,
            };
            let is_trial = admitted == Some(AdmissionKind::AsTrial);
            if is_trial {
                *intake = Intake::Trial;
            }
            is_trial
        });
        admitted
    }

    /// Checks again after the delivery arrived, because the wait may have been longer than a pause. `None`: return the
    /// delivery.
    pub(super) fn confirm(&self, admitted: AdmissionKind) -> Option<AdmissionKind> {
        match admitted {
            AdmissionKind::AsTrial => Some(AdmissionKind::AsTrial),
            AdmissionKind::AsUsual => self.try_admit(),
        }
    }

    pub(super) async fn begun(&self) -> PauseReason {
        let mut intake = self.intake.subscribe();
        loop {
            if let Intake::Paused(reason) = &*intake.borrow_and_update() {
                return reason.clone();
            }
            if intake.changed().await.is_err() {
                // The sender is in `self`, so it still exists.
                std::future::pending::<()>().await;
            }
        }
    }

    pub(super) fn offer_one(&self) {
        self.intake.send_replace(Intake::OneItem);
    }

    /// Ends the pause for the store. If the brake is engaged, one item is tried.
    pub(super) fn store_is_back(&self, is_braked: bool) {
        self.status.reasons().store = None;
        self.intake.send_replace(if is_braked { Intake::OneItem } else { Intake::Open });
    }

    /// Ends the brake. A pause for the store goes on.
    pub(super) fn release(&self) {
        self.status.reasons().brake = None;
        self.intake.send_if_modified(|intake| {
            let ends = !matches!(intake, Intake::Paused(PauseReason::StoreAway(_)));
            if ends {
                *intake = Intake::Open;
            }
            ends
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_names_the_brake_when_the_store_is_back_first() {
        let status = IntakeStatus::default();
        let pause = Pause::new(status.clone());
        pause.begin(PauseReason::Failing { label: "store_damaged", failures: 20, delay: Duration::from_secs(30) });
        pause.offer_one();
        assert_eq!(pause.try_admit(), Some(AdmissionKind::AsTrial));
        pause.begin(PauseReason::StoreAway("no route".to_owned()));
        assert!(status.paused().is_some_and(|reason| reason.contains("no route")));
        pause.store_is_back(true);
        assert!(status.paused().is_some_and(|reason| reason.contains("store_damaged")));
        pause.release();
        assert_eq!((status.paused(), pause.try_admit()), (None, Some(AdmissionKind::AsUsual)));
    }

    #[test]
    fn intake_stays_closed_when_the_brake_is_released_while_the_store_is_away() {
        let status = IntakeStatus::default();
        let pause = Pause::new(status.clone());
        pause.begin(PauseReason::StoreAway("no route".to_owned()));
        pause.begin(PauseReason::Failing { label: "store_damaged", failures: 20, delay: Duration::from_secs(30) });
        pause.release();
        assert_eq!(pause.try_admit(), None);
        assert!(status.paused().is_some_and(|reason| reason.contains("no route")));
        pause.store_is_back(false);
        assert_eq!((status.paused(), pause.try_admit()), (None, Some(AdmissionKind::AsUsual)));
    }
}
