//! Sends what waits for webhooks: one task for each, so that a receiver that is away or slow holds up no other.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::AppError;
use super::jobs::{CONFIRM_PAUSE, CONFIRM_TRIES, LAST_ROUND_PATIENCE, PAUSE};
use crate::config::{Config, WebhookEndpoint, WebhooksConfig};
use crate::domain::{Clock, SystemClock};
use crate::outbound::webhook::{WebhookError, WebhookKey, WebhookReceiver};
use crate::store::{Store, StoreError, WebhookBatch, WebhookMessage, WebhookOutcome};
use crate::telemetry::metrics;

/// Messages of one round, and how many of them are on their way at once.
const BATCH: i64 = 32;
const AT_ONCE: usize = 4;
/// Kept from others beyond the time that sending takes at most.
const SPARE: Duration = Duration::from_secs(30);
/// The longest rest of a receiver that takes nothing; the rests begin at a second and double. Between them one message is
/// tried, whatever waits behind it.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// One receiver with what is needed to serve it.
#[derive(Debug)]
pub(super) struct Webhook {
    name: String,
    receiver: WebhookReceiver,
    store: Store,
    clock: Arc<dyn Clock>,
    give_up_after: Duration,
    /// How long a round may take.
    hold: Duration,
}

/// The longest rest that a receiver's `Retry-After` is granted: it is asked again then, and can say so again.
const LONGEST_REST_ASKED: Duration = Duration::from_hours(1);

/// What a round has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// No message is due any more.
    Done,
    /// A full batch was taken: more may wait.
    More,
    /// The receiver took some messages, and asks for this rest before the next.
    Asked(Duration),
    /// The receiver took nothing, and asks for this rest; zero where it asks for none.
    Failing(Duration),
}

/// The keys of an endpoint; where it has none, the error names the variable that should hold one.
pub(super) fn keys(endpoint: &WebhookEndpoint) -> Result<Vec<WebhookKey>, AppError> {
    let bad =
        |detail: String| AppError::Setup { component: "a webhook", detail: format!("{} {detail}", endpoint.name) };
    let variable = endpoint.secret_env();
    if endpoint.secret.is_none() {
        return Err(bad(format!(
            "has no key to sign with; set {variable} to the output of `corroborate webhooks secret`"
        )));
    }
    let secrets = endpoint.secret.iter().chain(&endpoint.old_secret);
    secrets.map(|secret| WebhookKey::read(secret).map_err(|error| bad(format!("has a key that {error}")))).collect()
}

/// The receivers of a configuration, in its order.
pub(super) fn receivers(config: &WebhooksConfig, user_agent: &str) -> Result<Vec<(String, WebhookReceiver)>, AppError> {
    config.endpoints.iter().map(|endpoint| receiver(endpoint, config, user_agent)).collect()
}

fn receiver(
    endpoint: &WebhookEndpoint,
    config: &WebhooksConfig,
    user_agent: &str,
) -> Result<(String, WebhookReceiver), AppError> {
    let receiver = WebhookReceiver::new(endpoint.url.clone(), keys(endpoint)?, config.timeout, user_agent);
    let built = receiver.map_err(|error| AppError::Setup { component: "a webhook", detail: error.to_string() });
    Ok((endpoint.name.clone(), built?))
}

/// Posts an empty message of the type `ping`, signed and sent as every other.
pub(super) async fn ping(config: &Config, name: &str) -> Result<Result<(), WebhookError>, AppError> {
    let webhooks = &config.webhooks;
    let Some(endpoint) = webhooks.endpoints.iter().find(|endpoint| endpoint.name == name) else {
        let detail = format!("none is called {}; see `corroborate webhooks list`", crate::judging::plain::plain(name));
        return Err(AppError::Setup { component: "a webhook", detail });
    };
    let (_, receiver) = receiver(endpoint, webhooks, &config.fetch.user_agent)?;
    let now = SystemClock.now();
    let at = now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let body = format!(r#"{{"type":"ping","timestamp":"{at}","data":{{}}}}"#);
    Ok(receiver.post(&format!("ping:{}", now.timestamp_micros()), &body, now).await)
}

impl Webhook {
    pub(super) fn new(
        (name, receiver): (String, WebhookReceiver),
        config: &WebhooksConfig,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let rounds = u32::try_from(BATCH).unwrap_or(u32::MAX).div_ceil(u32::try_from(AT_ONCE).unwrap_or(1));
        let hold = config.timeout * rounds + SPARE;
        Self { name, receiver, store, clock, give_up_after: config.give_up_after, hold }
    }

    /// Sends until it is told to stop; woken by every commit of this process and by a slow tick for rows of others.
    pub(super) async fn run(self, tick: Duration, stop: CancellationToken) {
        let written = self.store.webhooks_written();
        let mut failures = 0;
        let mut is_resting = false;
        loop {
            // Before the look, so that nothing written after it is missed.
            let woken = written.notified();
            // Safe to be cut off: what was claimed is free again after a while, and is sent again under the same id.
            let round = tokio::select! {
                round = self.round(if failures > 0 { 1 } else { BATCH }) => round,
                () = patience_ended(&stop) => {
                    tracing::info!(webhook = self.name, "a slow receiver is not waited for; the rest is sent after the next start");
                    return;
                }
            };
            metrics::job_run("webhooks", round.is_ok());
            if matches!(round, Ok(Round::More)) && !stop.is_cancelled() {
                continue;
            }
            if round.is_ok() {
                is_resting = matches!(round, Ok(Round::Asked(_) | Round::Failing(_)));
            }
            let wait = self.rest_after(round, &mut failures, tick);
            // Safe to be cancelled: nothing has been taken.
            tokio::select! {
                () = stop.cancelled() => return self.last_round(is_resting).await,
                () = woken, if !is_resting => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// How long to wait before the next round.
    fn rest_after(&self, round: Result<Round, StoreError>, failures: &mut u32, tick: Duration) -> Duration {
        match round {
            Ok(Round::Failing(asked)) => {
                *failures += 1;
                Duration::from_secs(1 << (*failures).min(6)).min(LONGEST_REST).max(asked.min(LONGEST_REST_ASKED))
            }
            Ok(Round::Asked(rest)) => {
                *failures = 0;
                rest.min(LONGEST_REST_ASKED)
            }
            // One message that was taken after failures says that the others may go out again.
            Ok(Round::Done | Round::More) if std::mem::take(failures) > 0 => Duration::ZERO,
            Ok(Round::Done | Round::More) => tick,
            Err(error) => {
                tracing::warn!(webhook = self.name, error = %error, "what waits for a webhook could not be read");
                PAUSE
            }
        }
    }

    /// What the drained items wrote goes out now, unless the receiver is away anyhow.
    async fn last_round(&self, is_resting: bool) {
        if is_resting {
            return;
        }
        let rest = async { while matches!(self.round(BATCH).await, Ok(Round::More)) {} };
        if tokio::time::timeout(LAST_ROUND_PATIENCE, rest).await.is_err() {
            tracing::info!(webhook = self.name, "messages still wait; they are sent after the next start");
        }
    }

    async fn round(&self, limit: i64) -> Result<Round, StoreError> {
        let Some(taken) = self.store.take_webhook(&self.name, limit, self.hold).await? else { return Ok(Round::Done) };
        let sent = futures::stream::iter(taken.messages.clone()).map(async |message| self.send(&message).await);
        let outcomes: Vec<(i64, WebhookOutcome)> = sent.buffer_unordered(AT_ONCE).collect().await;
        let dead = self.settle(&taken, &outcomes).await?;
        let delivered = outcomes.iter().filter(|(_, outcome)| *outcome == WebhookOutcome::Delivered).count();
        metrics::webhook_delivered(delivered);
        metrics::webhook_failed(outcomes.len().saturating_sub(delivered));
        if dead > 0 {
            metrics::webhook_gave_up(dead);
            tracing::error!(webhook = self.name, dead, "messages were given up; see `corroborate webhooks dead`");
        }
        let asked = outcomes.iter().filter_map(|(_, outcome)| rest_asked(outcome)).max().unwrap_or_default();
        if delivered == 0 {
            let reason = outcomes.first().map(|(_, outcome)| reason(outcome)).unwrap_or_default();
            tracing::warn!(webhook = self.name, reason, "the receiver takes nothing; it is tried again");
            return Ok(Round::Failing(asked));
        }
        if !asked.is_zero() {
            return Ok(Round::Asked(asked));
        }
        let is_full = i64::try_from(taken.messages.len()).is_ok_and(|taken| taken >= limit);
        Ok(if is_full && limit > 1 { Round::More } else { Round::Done })
    }

    async fn send(&self, message: &WebhookMessage) -> (i64, WebhookOutcome) {
        let sent = self.receiver.post(message.message_id.as_str(), &message.body, self.clock.now()).await;
        let outcome = match sent {
            Ok(()) => WebhookOutcome::Delivered,
            Err(error @ WebhookError::Gone) => WebhookOutcome::Unwanted { reason: error.to_string() },
            Err(error) => {
                let wait = if let WebhookError::Refused { wait, .. } = &error { *wait } else { None };
                WebhookOutcome::Failed { reason: error.to_string(), wait }
            }
        };
        (message.id, outcome)
    }

    /// Tells the store, again and again while it is away: what is sent and stays there is sent twice.
    async fn settle(&self, taken: &WebhookBatch, outcomes: &[(i64, WebhookOutcome)]) -> Result<usize, StoreError> {
        let mut tries = 0;
        loop {
            match taken.settle(outcomes, self.give_up_after).await {
                Err(error) if error.is_transient() && tries < CONFIRM_TRIES => {
                    tries += 1;
                    tokio::time::sleep(CONFIRM_PAUSE).await;
                }
                done => return done,
            }
        }
    }
}

/// Some time after the end was asked for.
async fn patience_ended(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(LAST_ROUND_PATIENCE).await;
}

const fn rest_asked(outcome: &WebhookOutcome) -> Option<Duration> {
    if let WebhookOutcome::Failed { wait, .. } = outcome { *wait } else { None }
}

fn reason(outcome: &WebhookOutcome) -> &str {
    match outcome {
        WebhookOutcome::Delivered => "",
        WebhookOutcome::Failed { reason, .. } | WebhookOutcome::Unwanted { reason } => reason,
    }
}
