//! Keeps a session open: checks it and reconnects after a loss, until the queue is closed.
//!
//! A watch holds the session or the reason for its absence. Callers read it for each operation, because the session may
//! be lost a moment later.

use std::sync::Arc;
use std::time::Duration;

use lapin::message::Delivery;
use lapin::options::BasicNackOptions;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::session::{Plan, Session};
use crate::broker::{Observer, QueueError, QueueName};

/// How often connections are checked, to find a loss on an unused one. Consumers notice a loss at once.
const CHECK_EVERY: Duration = Duration::from_millis(250);

const HAND_BACK_PATIENCE: Duration = Duration::from_secs(2);

/// First delay before a reconnect; it doubles with every failure.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// A shorter session counts as a failure, so that a broker that accepts and disconnects is not flooded with attempts.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Returns the delay, at most `longest`. `jitter` in [0, 1) spreads processes over its upper half.
pub(super) fn reconnect_delay(failures: u32, longest: Duration, jitter: f64) -> Duration {
    let full = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures)).min(longest);
    full.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
}

#[derive(Debug, Clone)]
pub(super) enum State {
    Up(Arc<Session>),
    Away(String),
}

#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) plan: Plan,
    pub(super) state: watch::Sender<State>,
    /// No more deliveries are wanted.
    pub(super) stopping: CancellationToken,
    pub(super) paused: watch::Sender<bool>,
    pub(super) closing: CancellationToken,
    pub(super) observer: Arc<dyn Observer>,
}

impl SharedState {
    pub(super) fn session(&self) -> Result<Arc<Session>, QueueError> {
        match &*self.state.borrow() {
            State::Up(session) if !session.lost.is_cancelled() => Ok(Arc::clone(session)),
            State::Up(session) => Err(QueueError::Away { detail: session.reason().to_owned() }),
            State::Away(reason) => Err(QueueError::Away { detail: reason.clone() }),
        }
    }
}

pub(super) async fn drive(shared: Arc<SharedState>, mut session: Arc<Session>) {
    // If this task ends for any reason, `receive` returns `Closed`, and the process exits instead of hanging.
    let _no_more = shared.stopping.clone().drop_guard();
    let mut failures = 0_u32;
    loop {
        let since = Instant::now();
        if watch_over(&shared, &session).await == SessionEnd::Closing {
            shared.state.send_replace(State::Away("closed".to_owned()));
            session.close().await;
            return;
        }
        let reason = session.reason().to_owned();
        tracing::warn!(address = shared.plan.address, %reason, "broker connection lost; reconnecting");
        shared.state.send_replace(State::Away(reason));
        session.close().await;
        failures = if since.elapsed() >= STABLE_AFTER { 0 } else { failures + 1 };
        let Some(next) = reconnect(&shared, &mut failures).await else { return };
        session = Arc::new(next);
        shared.state.send_replace(State::Up(Arc::clone(&session)));
        if *shared.paused.borrow() {
            hand_back(session.stop_consuming().await).await;
        }
        shared.observer.reconnected();
        tracing::info!(address = shared.plan.address, "broker connection restored");
    }
}

#[derive(Debug, PartialEq, Eq)]
enum SessionEnd {
    Lost,
    Closing,
}

async fn watch_over(shared: &SharedState, session: &Session) -> SessionEnd {
    // Stopping twice has no effect.
    let mut wanted = true;
    loop {
        tokio::select! {
            biased;
            () = shared.closing.cancelled() => return SessionEnd::Closing,
            () = session.lost.cancelled() => return SessionEnd::Lost,
            () = shared.stopping.cancelled(), if wanted => {
                hand_back(session.stop_consuming().await).await;
                wanted = false;
            }
            () = sleep(CHECK_EVERY) => {
                session.check();
                if wanted && !session.lost.is_cancelled() {
                    // A consumer that is being started ends with its connection.
                    tokio::select! {
                        () = shared.closing.cancelled() => return SessionEnd::Closing,
                        () = session.start_consuming(&shared.plan, || !*shared.paused.borrow()) => {}
                    }
                }
            }
        }
    }
}

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
        // The rest returns to the queue when the connection closes.
        tracing::warn!("broker did not take back prefetched messages in time");
    }
}

/// Reconnects until it succeeds; `None` if the queue closes.
async fn reconnect(shared: &SharedState, failures: &mut u32) -> Option<Session> {
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
                tracing::warn!(%error, failures = *failures, "broker still unreachable");
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
