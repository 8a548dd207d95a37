//! Sends waiting webhook messages, one task per receiver, so that a slow receiver does not delay others.
//!
//! Failed messages stay in the store and are retried with growing pauses.

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

const BATCH: i64 = 32;
const AT_ONCE: usize = 4;
/// Added to the longest sending time of a batch to get its lease.
const SPARE: Duration = Duration::from_secs(30);
/// Longest pause for a failing receiver. Pauses start at a second and double. After each one message is tried.
const LONGEST_REST: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Webhook {
    name: String,
    receiver: WebhookReceiver,
    store: Store,
    clock: Arc<dyn Clock>,
    give_up_after: Duration,
    /// Lease of a batch.
    hold: Duration,
}

/// Longest accepted `Retry-After`; the receiver may repeat it.
const LONGEST_REST_ASKED: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Done,
    /// More may wait.
    More,
    /// The receiver accepted some messages and requests this pause.
    PauseRequested(Duration),
    /// The receiver accepted none and requests this pause, or zero.
    Failing(Duration),
}

/// Returns the signing keys. Without a key the error names the variable to set.
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

/// Posts a signed empty message of type `ping`.
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

    /// Sends until stopped. Commits of this process wake it; every `tick` it reads rows of other processes.
    pub(super) async fn run(self, tick: Duration, stop: CancellationToken) {
        let written = self.store.webhooks_written();
        let mut failures = 0;
        let mut is_resting = false;
        loop {
            // Before the read, so that no later commit is missed.
            let woken = written.notified();
            // Cancel-safe: after the lease the message is sent again with the same id.
            let round = tokio::select! {
                round = self.round(if failures > 0 { 1 } else { BATCH }) => round,
                () = patience_ended(&stop) => {
                    tracing::info!(webhook = self.name, "webhook receiver too slow at shutdown; the rest is sent after the next start");
                    return;
                }
            };
            metrics::job_run("webhooks", round.is_ok());
            if matches!(round, Ok(Round::More)) && !stop.is_cancelled() {
                continue;
            }
            if round.is_ok() {
                is_resting = matches!(round, Ok(Round::PauseRequested(_) | Round::Failing(_)));
            }
            let wait = self.rest_after(round, &mut failures, tick);
            // Cancel-safe: no row is leased here.
            tokio::select! {
                () = stop.cancelled() => return self.last_round(is_resting).await,
                () = woken, if !is_resting => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn rest_after(&self, round: Result<Round, StoreError>, failures: &mut u32, tick: Duration) -> Duration {
        match round {
            Ok(Round::Failing(asked)) => {
                *failures += 1;
                Duration::from_secs(1 << (*failures).min(6)).min(LONGEST_REST).max(asked.min(LONGEST_REST_ASKED))
            }
            Ok(Round::PauseRequested(rest)) => {
                *failures = 0;
                rest.min(LONGEST_REST_ASKED)
            }
            // One accepted message after failures ends the pauses.
            Ok(Round::Done | Round::More) if std::mem::take(failures) > 0 => Duration::ZERO,
            Ok(Round::Done | Round::More) => tick,
            Err(error) => {
                tracing::warn!(webhook = self.name, error = %error, "reading waiting webhook messages failed");
                PAUSE
            }
        }
    }

    async fn last_round(&self, is_resting: bool) {
        if is_resting {
            return;
        }
        let rest = async { while matches!(self.round(BATCH).await, Ok(Round::More)) {} };
        if tokio::time::timeout(LAST_ROUND_PATIENCE, rest).await.is_err() {
            tracing::info!(
                webhook = self.name,
                "webhook messages still waiting at shutdown; they are sent after the next start"
            );
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
            tracing::error!(
                webhook = self.name,
                dead,
                "webhook messages failed permanently; run `corroborate webhooks dead`"
            );
        }
        let asked = outcomes.iter().filter_map(|(_, outcome)| rest_asked(outcome)).max().unwrap_or_default();
        if delivered == 0 {
            let reason = outcomes.first().map(|(_, outcome)| reason(outcome)).unwrap_or_default();
            tracing::warn!(webhook = self.name, reason, "webhook delivery failed; retrying");
            return Ok(Round::Failing(asked));
        }
        if !asked.is_zero() {
            return Ok(Round::PauseRequested(asked));
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

    /// Retries while the store is away: a message that was sent but not recorded is sent twice.
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
