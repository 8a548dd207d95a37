//! Keeps a session up: watches it, and opens a new one when it is lost, for ever.
//!
//! The state is one value behind a watch: the session in use, or why there is none. Everything else asks for it each time
//! and bears that it may be gone a moment later.

use std::sync::Arc;
use std::time::Duration;

use lapin::message::Delivery;
use lapin::options::BasicNackOptions;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::session::{Plan, Session};
use crate::broker::{Observer, QueueError, QueueName};

/// How often the connections' state is looked at. Consumers hear of a loss at once; this is for a connection nobody waits on.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// How long handing back what was fetched may take.
const HAND_BACK_PATIENCE: Duration = Duration::from_secs(2);

/// The first wait before connecting again; it doubles with every failure.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// A session that lived shorter than this counts as one more failure, so that a broker which accepts and throws out is not
/// stormed.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// How long to wait before the next attempt, after so many failures: `longest` at most, within which a broker that is back
/// is found. `jitter` in [0, 1) spreads a fleet over half of it.
pub(super) fn reconnect_delay(failures: u32, longest: Duration, jitter: f64) -> Duration {
    let full = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures)).min(longest);
    full.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
}

/// The session in use, or why there is none.
#[derive(Debug, Clone)]
pub(super) enum State {
    Up(Arc<Session>),
    Away(String),
}

/// What the queue's handle and the driver have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) state: watch::Sender<State>,
    /// No more deliveries are wanted.
    pub(super) stopping: CancellationToken,
    /// No deliveries are wanted for now.
    pub(super) paused: watch::Sender<bool>,
    /// Nothing at all is wanted any more.
    pub(super) closing: CancellationToken,
    pub(super) observer: Arc<dyn Observer>,
}

impl Shared {
    /// The session in use.
    pub(super) fn session(&self) -> Result<Arc<Session>, QueueError> {
        match &*self.state.borrow() {
            State::Up(session) if !session.lost.is_cancelled() => Ok(Arc::clone(session)),
            State::Up(session) => Err(QueueError::Away { detail: session.reason().to_owned() }),
            State::Away(reason) => Err(QueueError::Away { detail: reason.clone() }),
        }
    }
}

/// Runs until `closing`.
pub(super) async fn drive(shared: Arc<Shared>, mut session: Arc<Session>) {
    // However it ends: whoever waits for a delivery hears that none will come, and the process ends instead of standing still.
    let _no_more = shared.stopping.clone().drop_guard();
    let mut failures = 0_u32;
    loop {
        let since = Instant::now();
        if watch_over(&shared, &session).await == Ended::Closing {
            shared.state.send_replace(State::Away("closed".to_owned()));
            session.close().await;
            return;
        }
        let reason = session.reason().to_owned();
        tracing::warn!(address = shared.plan.address, %reason, "the broker is lost; reconnecting");
        shared.state.send_replace(State::Away(reason));
        session.close().await;
        failures = if since.elapsed() >= STABLE_AFTER { 0 } else { failures + 1 };
        let Some(next) = reconnect(&shared, &mut failures).await else { return };
        session = Arc::new(next);
        shared.state.send_replace(State::Up(Arc::clone(&session)));
        if *shared.paused.borrow() {
            // The pause began while the session was being opened.
            hand_back(session.stop_consuming().await).await;
        }
        shared.observer.reconnected();
        tracing::info!(address = shared.plan.address, "the broker is back");
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Lost,
    Closing,
}

async fn watch_over(shared: &Shared, session: &Session) -> Ended {
    // A session that was opened after `stop_receiving` has no consumers to stop; stopping it again is nothing.
    let mut wanted = true;
    loop {
        // Every arm only waits; dropping any of them loses nothing.
        tokio::select! {
            biased;
            () = shared.closing.cancelled() => return Ended::Closing,
            () = session.lost.cancelled() => return Ended::Lost,
            () = shared.stopping.cancelled(), if wanted => {
                hand_back(session.stop_consuming().await).await;
                wanted = false;
            }
            () = sleep(CHECK_EVERY) => {
                session.check();
                if wanted && !session.lost.is_cancelled() {
                    // A consumer that is half begun when the queue is closed ends with its connection.
                    tokio::select! {
                        () = shared.closing.cancelled() => return Ended::Closing,
                        () = session.start_consuming(&shared.plan, || !*shared.paused.borrow()) => {}
                    }
                }
            }
        }
    }
}

/// Hands back what was fetched and nobody took.
pub(super) async fn hand_back(fetched: Vec<(QueueName, Delivery)>) {
    let handing_back = async {
        for (_, message) in fetched {
            let options = BasicNackOptions { requeue: true, multiple: false };
            if message.acker.nack(options).await.is_err() {
                return;
            }
        }
    };
    if timeout(HAND_BACK_PATIENCE, handing_back).await.is_err() {
        // Whatever is left goes back to the queue when the connection closes.
        tracing::warn!("the broker did not take back in time what had been fetched");
    }
}

/// Tries until it works; `None` when the queue is closed meanwhile.
async fn reconnect(shared: &Shared, failures: &mut u32) -> Option<Session> {
    loop {
        let delay = reconnect_delay(*failures, shared.plan.reconnect_max, rand::random());
        let consume = !shared.stopping.is_cancelled() && !*shared.paused.borrow();
        let attempt = async {
            sleep(delay).await;
            Session::open(&shared.plan, consume).await
        };
        // Dropping a half-open session shuts down its sockets (`BrokerConnection`).
        let opened = tokio::select! {
            biased;
            () = shared.closing.cancelled() => return None,
            opened = attempt => opened,
        };
        match opened {
            Ok(session) => return Some(session),
            Err(error) => {
                *failures = failures.saturating_add(1);
                tracing::warn!(%error, failures = *failures, "the broker is still away");
                shared.state.send_replace(State::Away(error.to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_is_bounded_and_is_spread() {
        let longest = Duration::from_secs(15);
        assert_eq!(reconnect_delay(0, longest, 1.0), Duration::from_millis(200));
        assert_eq!(reconnect_delay(0, longest, 0.0), Duration::from_millis(100));
        assert_eq!(reconnect_delay(3, longest, 1.0), Duration::from_millis(1_600));
        for failures in [10, 31, 32, u32::MAX] {
            assert_eq!(reconnect_delay(failures, longest, 1.0), longest);
            assert_eq!(reconnect_delay(failures, longest, 0.0), longest / 2);
        }
    }
}
