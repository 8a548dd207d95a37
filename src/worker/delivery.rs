//! Processes and settles one delivery.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::brake::{Brake, BrakeChange};
use super::disposition::{Outcome, disposition};
use super::in_flight::InFlight;
use super::lag::Lag;
use super::notice::{Notice, NoticeKind};
use super::overload::{Admission, Load, Overload};
use super::pause::{AdmissionKind, Pause, PauseReason};
use super::{ProcessError, Work, WorkerParts, WorkerSettings};
use crate::broker::{Delivery, QueueName, Settlement};
use crate::domain::Item;
use crate::domain::verdict::Phase;

/// Delay before a delivery that could not be settled is requeued, to protect a failing broker.
const SETTLE_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct WorkerContext {
    pub(super) settings: WorkerSettings,
    pub(super) parts: WorkerParts,
    pub(super) overload: Overload,
    pub(super) pause: Pause,
    pub(super) brake: Brake,
    pub(super) lag: Lag,
    /// Cancelled after the grace: unfinished deliveries are requeued.
    pub(super) hand_back: CancellationToken,
    pub(super) in_flight: InFlight,
}

impl WorkerContext {
    /// Processes one delivery and settles it. Never fails: an error decides the settlement.
    pub(super) async fn handle(&self, mut delivery: Delivery, admitted: AdmissionKind) {
        // Producers control these fields, and no database stores a NUL.
        for name in
            [&mut delivery.message_id, &mut delivery.reply_to, &mut delivery.correlation_id].into_iter().flatten()
        {
            name.retain(|character| character != '\0');
        }
        let started = Instant::now();
        let now = self.parts.clock.now();
        if let Some(time) = delivery.enqueued_at {
            self.overload.note_lag(delivery.queue, (now - time).to_std().unwrap_or_default());
        }
        let unsettled = self.lag.taken(delivery.queue, delivery.enqueued_at, now);
        self.in_flight.begun(&*self.parts.observer);
        let outcome = self.work_on(&delivery).await;
        let how = self.decide(&delivery, &outcome, admitted);
        self.report(&delivery, &outcome, &how);
        self.end(&delivery, &outcome, how).await;
        self.in_flight.ended(&*self.parts.observer);
        self.lag.settled(unsettled);
        self.parts.observer.finished(delivery.queue, outcome.label(), started.elapsed());
    }

    /// Returns the settlement, and pauses or resumes intake.
    fn decide(&self, delivery: &Delivery, outcome: &Outcome, admitted: AdmissionKind) -> Settlement {
        let mut hasher = DefaultHasher::new();
        delivery.body.hash(&mut hasher);
        let decision = self.brake.record(hasher.finish(), outcome, admitted == AdmissionKind::AsTrial, Instant::now());
        match decision.effect {
            BrakeChange::Engaged { label, failures, delay } => {
                self.parts.observer.braked(true);
                self.pause.begin(PauseReason::Failing { label, failures, delay });
            }
            BrakeChange::Released => {
                tracing::info!("probe item succeeded; intake resumed");
                self.parts.observer.braked(false);
                self.pause.release();
            }
            BrakeChange::Undecided => match outcome {
                // The store's own pause comes first; one item is tried after it.
                Outcome::Failed(ProcessError::Away { .. }) => {}
                _ => self.pause.offer_one(),
            },
            BrakeChange::None => {}
        }
        if let Outcome::Failed(ProcessError::Away { detail, .. }) = outcome {
            self.pause.begin(PauseReason::StoreAway(detail.clone()));
        }
        if decision.is_put_off {
            let delay = self.settings.retry.delay(0);
            let (queue, message_id) = (delivery.queue.as_str(), delivery.message_id.as_deref());
            tracing::warn!(
                queue,
                message_id,
                reason = outcome.reason(),
                ?delay,
                "item deferred while intake is paused"
            );
            return Settlement::Defer { delay };
        }
        disposition(outcome, delivery.attempts, &self.settings.retry)
    }

    /// Requeues a delivery that arrived after a pause began.
    pub(super) async fn return_unused(&self, delivery: &Delivery) {
        if let Err(error) = self.parts.queue.settle(delivery, Settlement::Requeue).await {
            tracing::debug!(%error, "delivery could not be returned yet");
            self.hand_back_later(delivery).await;
        }
    }

    async fn work_on(&self, delivery: &Delivery) -> Outcome {
        let item = match Item::parse(&delivery.body) {
            Ok(item) => item,
            Err(reject) => return Outcome::Rejected(reject),
        };
        let load = match self.overload.admit(delivery.queue).await {
            Admission::Process(load) => load,
            Admission::Defer => return Outcome::Deferred,
            Admission::Drop => return Outcome::Dropped,
        };
        if load == Load::Degrade && delivery.queue == QueueName::Enrichment {
            self.parts.observer.shed("degraded");
        }
        let work = Work {
            item,
            phase: match delivery.queue {
                QueueName::Important | QueueName::Enrichment => Phase::Two,
                QueueName::Factcheck => Phase::One,
            },
            message_id: delivery.message_id.clone(),
            reply_to: delivery.reply_to.clone(),
            reply_refused: delivery.reply_refused,
            correlation_id: delivery.correlation_id.clone(),
            sent_at: delivery.sent_at,
            traceparent: delivery.traceparent.clone(),
            attempts: delivery.attempts,
            redelivered: delivery.redelivered,
            load,
        };
        // The call itself may panic, not only the future. It shares nothing except the function.
        let process = &self.parts.process;
        let processing = AssertUnwindSafe(async { process(work).await }).catch_unwind();
        // Dropping the work is safe: it commits in one transaction or not at all.
        tokio::select! {
            biased;
            done = processing => match done {
                Ok(Ok(processed)) => Outcome::Processed(processed),
                Ok(Err(error)) => Outcome::Failed(error),
                Err(panic) => Outcome::Panicked(panic_message(&*panic)),
            },
            () = self.hand_back.cancelled() => Outcome::HandedBack,
            () = sleep(self.settings.item_limit) => Outcome::Stuck(self.settings.item_limit),
        }
    }

    fn report(&self, delivery: &Delivery, outcome: &Outcome, how: &Settlement) {
        let (queue, message_id) = (delivery.queue.as_str(), delivery.message_id.as_deref());
        match how {
            Settlement::Ack | Settlement::Defer { .. } | Settlement::Requeue => {
                tracing::debug!(queue, message_id, outcome = outcome.label(), "delivery");
            }
            Settlement::Retry { error_label, error, delay } => {
                self.parts.observer.retried(error_label);
                let attempt = delivery.attempts.saturating_add(1);
                tracing::warn!(queue, message_id, attempt, reason = error_label, %error, ?delay, "item failed; retrying later");
            }
            Settlement::Dead { label, error, .. } => {
                self.parts.observer.dead(outcome.reason());
                tracing::warn!(queue, message_id, reason = label, %error, "item became a dead letter; run `corroborate dead list`");
            }
        }
        match outcome {
            Outcome::Deferred => self.parts.observer.shed("deferred"),
            Outcome::Dropped => self.parts.observer.shed("dropped"),
            _ => {}
        }
    }

    async fn end(&self, delivery: &Delivery, outcome: &Outcome, how: Settlement) {
        let notice = match (&how, outcome) {
            (Settlement::Dead { label, error, .. }, _) => Some((NoticeKind::Dead, label.as_str(), error.clone())),
            (_, Outcome::Dropped) => {
                let why = "the daemon is overloaded and set to drop the excess; send the item again later";
                Some((NoticeKind::Dropped, "overload", why.to_owned()))
            }
            (Settlement::Defer { delay }, Outcome::Deferred) => Some((
                NoticeKind::Deferred,
                "overload",
                format!("the daemon is overloaded; the item comes again in {delay:?}"),
            )),
            _ => None,
        };
        if let Some((kind, label, detail)) = notice {
            let notice = Notice::of(delivery, kind, label, detail);
            if let Err(error) = (self.parts.announce)(notice).await {
                tracing::warn!(%error, "notifying upstream failed; delivery returned");
                return self.hand_back_later(delivery).await;
            }
        }
        if let Err(error) = self.parts.queue.settle(delivery, how).await {
            tracing::warn!(%error, "settling a delivery failed; delivery returned");
            self.hand_back_later(delivery).await;
        }
    }

    async fn hand_back_later(&self, delivery: &Delivery) {
        loop {
            tokio::select! {
                () = sleep(SETTLE_PAUSE) => {}
                () = self.hand_back.cancelled() => {}
            }
            match self.parts.queue.settle(delivery, Settlement::Requeue).await {
                Ok(()) => return,
                // The queue's store is unavailable: without a retry the delivery would remain with this process.
                Err(error) if error.is_transient() && !self.hand_back.is_cancelled() => {
                    tracing::debug!(%error, "delivery could not be returned yet");
                }
                Err(error) => {
                    // The delivery stays unsettled; the queue takes it back when the connection or the lease ends.
                    tracing::warn!(%error, "delivery could not be returned");
                    return;
                }
            }
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
