//! Background jobs of the daemon: outbox, domain lists, clean-up, provider data and usage.
//!
//! Each job is a loop that ends when its token is cancelled and retries if the store or broker fails. A new job is a
//! function here that `lifecycle` starts.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::observers::OutboundObserver;
use crate::broker::{PublishReport, Queue, QueueError};
use crate::domain::rules::DomainRules;
use crate::outbound::BreakerSync;
use crate::pipeline::RulesHandle;
use crate::providers::Provider;
use crate::store::{OutboxBatch, Store, StoreError};
use crate::telemetry::metrics;

/// Retries of a store update. With [`CONFIRM_PAUSE`] they take about as long as an outbox lease.
pub(super) const CONFIRM_TRIES: u32 = 50;
pub(super) const CONFIRM_PAUSE: Duration = Duration::from_millis(500);

/// Spending limits in US dollars. The daily budget warns; the monthly cap stops paid calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpendLimits {
    pub(super) daily_budget: f64,
    pub(super) monthly_cap: f64,
}

/// How long shutdown waits for the outbox. The rest is published after the next start.
pub(super) const LAST_ROUND_PATIENCE: Duration = Duration::from_secs(10);

const CLEANUP_AGAIN: Duration = Duration::from_mins(10);

pub(super) const PAUSE: Duration = Duration::from_secs(2);

/// Returns true if cancelled.
pub(super) async fn pause(stop: &CancellationToken, span: Duration) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(span) => false,
    }
}

/// Publishes the outbox. Commits of this process wake it; every `tick` it reads rows of other processes.
pub(super) async fn relay_outbox(
    store: Store,
    queue: Arc<dyn Queue>,
    batch: i64,
    tick: Duration,
    stop: CancellationToken,
) {
    let written = store.outbox_written();
    let mut pace = Pace { batch, alone: 0, looked: None };
    loop {
        let published = publish_batch(&store, &queue, &mut pace, tick).await;
        metrics::job_run("outbox", published.is_ok());
        // Messages that arrived during the batch are no overload.
        store.outbox_keeps_up(!matches!(published, Ok(Backlog::Batch) | Err(_)) && pace.alone == 0);
        match published {
            Ok(Backlog::Batch | Backlog::Fresh) if !stop.is_cancelled() => continue,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = %error, "outbox publishing failed; retrying");
                pace.looked = None;
                // Releases the rows in memory, so that any process can publish them in order.
                if let Some(fresh) = store.take_fresh_outbox(usize::MAX)
                    && let Err(error) = fresh.confirm(&[]).await
                {
                    tracing::debug!(%error, "outbox claims could not be released; they expire");
                }
                if pause(&stop, PAUSE).await {
                    return;
                }
            }
        }
        // Cancel-safe: no row is leased here.
        tokio::select! {
            () = stop.cancelled() => {
                // An interrupted batch is sent again after the next start with the same message ids.
                let rest = async {
                    while matches!(
                        publish_batch(&store, &queue, &mut pace, Duration::ZERO).await,
                        Ok(Backlog::Batch | Backlog::Fresh)
                    ) {}
                };
                if tokio::time::timeout(LAST_ROUND_PATIENCE, rest).await.is_err() {
                    tracing::info!("outbox not empty at shutdown; the rest is published after the next start");
                }
                return;
            }
            () = written.notified() => {}
            () = tokio::time::sleep(tick) => {}
        }
    }
}

#[derive(Debug)]
struct Pace {
    batch: i64,
    /// Number of next messages to send singly, because only that shows which message broke the channel.
    alone: usize,
    looked: Option<Instant>,
}

impl Pace {
    /// Takes fresh messages of this process, or rows of the store. Reads the store every `tick`, or if messages of this
    /// process are only there.
    async fn take(&mut self, store: &Store, limit: i64, tick: Duration) -> Result<Option<OutboxBatch>, StoreError> {
        let fresh = || store.take_fresh_outbox(usize::try_from(limit).unwrap_or(usize::MAX));
        if !store.has_unkept_outbox() && self.looked.is_some_and(|looked| looked.elapsed() < tick) {
            return Ok(fresh());
        }
        self.looked = None;
        let Some(waiting) = store.take_outbox(limit).await? else {
            self.looked = Some(Instant::now());
            return Ok(fresh());
        };
        // After a full batch older rows may wait.
        if i64::try_from(waiting.messages.len()).unwrap_or(limit) < limit {
            self.looked = Some(Instant::now());
        }
        Ok(Some(waiting))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backlog {
    /// More may wait.
    Batch,
    /// This process wrote more.
    Fresh,
    Nothing,
}

async fn publish_batch(
    store: &Store,
    queue: &Arc<dyn Queue>,
    pace: &mut Pace,
    tick: Duration,
) -> Result<Backlog, super::AppError> {
    let limit = if pace.alone > 0 { 1 } else { pace.batch };
    let Some(taken) = pace.take(store, limit, tick).await? else {
        pace.alone = 0;
        return Ok(Backlog::Nothing);
    };
    let offered = taken.messages.len();
    let sent = queue.publish_results(&taken.messages).await;
    // Released now, not when the lease ends.
    let nothing = PublishReport::default();
    let published = sent.as_ref().unwrap_or(&nothing);
    let parked = settle(&taken, published).await?;
    let unclear = offered.saturating_sub(published.confirmed.len() + published.refused.len());
    pace.alone = if unclear > 1 { unclear } else { pace.alone.saturating_sub(1) };
    if let Some((_, reason)) = published.refused.first() {
        metrics::outbox_refused(published.refused.len());
        tracing::warn!(refused = published.refused.len(), offered, reason, "broker refused results; retrying later");
    }
    if parked > 0 {
        tracing::error!(parked, "broker refused results for half a day; retrying once a day");
    }
    sent?;
    if unclear > 0 {
        let detail = format!("{unclear} of {offered} messages");
        return Err(QueueError::NotConfirmed { target: "the results exchange".to_owned(), detail }.into());
    }
    if i64::try_from(offered).unwrap_or(0) >= limit {
        return Ok(Backlog::Batch);
    }
    Ok(if store.has_fresh_outbox() { Backlog::Fresh } else { Backlog::Nothing })
}

/// Records the outcome and retries while the store is away, because a message that stays in the outbox is published
/// twice.
async fn settle(taken: &OutboxBatch, published: &PublishReport) -> Result<usize, StoreError> {
    let mut tries = 0;
    loop {
        match taken.settle(published).await {
            Err(error) if error.is_transient() && tries < CONFIRM_TRIES => {
                tries += 1;
                tracing::debug!(error = %error, tries, "published results could not be deleted from the outbox yet");
                tokio::time::sleep(CONFIRM_PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Wakes jobs when other processes change the store. Without this connection the jobs poll.
pub(super) async fn listen(store: Store, stop: CancellationToken) {
    while !stop.is_cancelled() {
        // Cancel-safe: nothing is leased.
        let lost = tokio::select! {
            () = stop.cancelled() => return,
            lost = receive_notifications(&store) => lost,
        };
        let Err(error) = lost else { return stop.cancelled().await };
        tracing::warn!(%error, "LISTEN connection lost; polling until it is restored");
        pause(&stop, PAUSE).await;
    }
}

/// Returns `Ok` if no other process can change the store.
async fn receive_notifications(store: &Store) -> Result<(), StoreError> {
    let Some(mut listener) = store.listen().await? else { return Ok(()) };
    loop {
        listener.receive().await?;
    }
}

pub(super) async fn follow_rules(
    store: Store,
    rules: Arc<RulesHandle>,
    allowlist_only: bool,
    interval: Duration,
    stop: CancellationToken,
) {
    let edited = store.rules_edited();
    let mut version = -1;
    loop {
        let refreshed = refresh(&store, &rules, allowlist_only, version).await;
        metrics::job_run("domains", refreshed.is_ok());
        match refreshed {
            Ok(now) => version = now,
            Err(error) => {
                tracing::warn!(error = %error, "reading domain lists failed; keeping the current ones");
            }
        }
        // Cancel-safe: the next read sees the change.
        tokio::select! {
            () = stop.cancelled() => return,
            () = edited.notified() => {}
            () = tokio::time::sleep(interval) => {}
        }
    }
}

async fn refresh(store: &Store, rules: &RulesHandle, allowlist_only: bool, known: i64) -> Result<i64, StoreError> {
    let version = store.domain_rules_version().await?;
    if version != known {
        let (list, version) = store.domain_rules().await?;
        tracing::info!(rules = list.len(), version, "domain lists reloaded");
        rules.replace(DomainRules::new(list, allowlist_only), version);
        return Ok(version);
    }
    Ok(version)
}

/// Deletes expired rows at the start and once per interval. Expiry uses the database clock; `clock` is compared with
/// it.
pub(super) async fn clean_up(
    store: Store,
    clock: Arc<dyn crate::domain::Clock>,
    interval: Duration,
    stop: CancellationToken,
) {
    loop {
        let turn = store.take_turn("last_cleanup", interval).await;
        let is_ours = matches!(turn, Ok(true));
        let cleaned = match turn {
            // Cancel-safe: each batch is its own statement.
            Ok(true) => tokio::select! {
                cleaned = store.cleanup_in_background(clock.now()) => cleaned.map(Some),
                () = stop.cancelled() => {
                    give_cleanup_back(&store, interval).await;
                    return;
                }
            },
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        metrics::job_run("cleanup", cleaned.is_ok());
        match cleaned {
            Ok(None) => {}
            Ok(Some(cleaned)) => {
                metrics::evidence_rows_deleted(u64::try_from(cleaned.total()).unwrap_or(0));
                if cleaned.total() > 0 {
                    tracing::info!(items = cleaned.items, pages = cleaned.evidence_sources, "expired rows deleted");
                }
            }
            Err(error) => {
                tracing::warn!(error = %error, "clean-up failed; retrying soon");
                if is_ours {
                    give_cleanup_back(&store, interval).await;
                }
                if pause(&stop, interval.min(CLEANUP_AGAIN)).await {
                    return;
                }
                continue;
            }
        }
        if pause(&stop, interval).await {
            return;
        }
    }
}

/// Returns the turn. Otherwise no process would continue the clean-up for a whole interval.
async fn give_cleanup_back(store: &Store, interval: Duration) {
    if let Err(error) = store.give_turn_back("last_cleanup", interval).await {
        tracing::debug!(%error, "clean-up postponed");
    }
}

pub(super) async fn keep_up(provider: Arc<dyn Provider>, interval: Duration, stop: CancellationToken) {
    loop {
        let done = tokio::select! {
            () = stop.cancelled() => return,
            done = provider.keep_up() => done,
        };
        metrics::job_run("providers", done.is_ok());
        if let Err(error) = done {
            tracing::warn!(provider = provider.name(), error, "provider refresh failed; using the previous data");
        }
        if pause(&stop, interval).await {
            return;
        }
    }
}

/// Responses live for minutes, but the clean-up runs once a day.
const TIDY_INTERVAL: Duration = Duration::from_mins(1);

/// Deletes expired provider responses. Only one process does so, because it scans the index of all responses.
pub(super) async fn tidy_answers(store: Store, stop: CancellationToken) {
    loop {
        let tidied = async {
            if store.take_turn("last_tidying", TIDY_INTERVAL).await? { store.tidy_answers().await } else { Ok(0) }
        };
        let tidied = tidied.await;
        metrics::job_run("answers", tidied.is_ok());
        match tidied {
            Ok(removed) => metrics::evidence_rows_deleted(u64::try_from(removed).unwrap_or(0)),
            Err(error) => tracing::warn!(%error, "deleting expired provider responses failed; retrying in a minute"),
        }
        if pause(&stop, TIDY_INTERVAL).await {
            return;
        }
    }
}

/// Interval of reading the shared state.
const FLEET_INTERVAL: Duration = Duration::from_secs(1);
/// How long shutdown waits until the ends of provider calls are recorded.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Applies the limits and breakers of the fleet to the gates of this process.
pub(super) async fn follow_fleet(store: Store, followers: Vec<BreakerSync>, stop: CancellationToken) {
    let changed = store.fleet_changed();
    loop {
        let learnt = super::build::learn(&store, &followers).await;
        metrics::job_run("fleet", learnt.is_ok());
        if let Err(error) = learnt {
            tracing::debug!(error = %error, "reading fleet state failed; keeping the current one");
        }
        // Cancel-safe: the next read sees the change.
        tokio::select! {
            () = stop.cancelled() => return,
            () = changed.notified() => {}
            () = tokio::time::sleep(FLEET_INTERVAL) => {}
        }
    }
}

pub(super) async fn settle_calls(followers: &[BreakerSync]) {
    let settled = tokio::time::timeout(SETTLE_TIMEOUT, async {
        for follower in followers {
            follower.settle().await;
        }
    });
    if settled.await.is_err() {
        tracing::warn!("refunds of provider calls could not be recorded in time; they count as spent");
    }
}

/// Writes usage and updates gauges.
pub(super) async fn account(
    store: Store,
    usage: Arc<OutboundObserver>,
    queue: Arc<dyn Queue>,
    limits: SpendLimits,
    clock: Arc<dyn crate::domain::Clock>,
    stop: CancellationToken,
) {
    loop {
        let now = clock.now();
        let flushed = flush_usage(&store, &usage, now).await;
        let counted = store.count_uses().await;
        let figures = store.usage(now).await;
        metrics::job_run("usage", flushed && counted.is_ok() && figures.is_ok());
        if let Ok(figures) = figures {
            let this_month: f64 = figures.iter().map(|row| row.usd_month).sum();
            let today: f64 = figures.iter().map(|row| row.usd_today).sum();
            metrics::spend(today, this_month, limits.daily_budget, limits.monthly_cap);
            warn_of_spending(&store, today, limits.daily_budget, now).await;
        }
        if let Ok(outbox) = store.outbox_state().await {
            let age = outbox.oldest.map(|since| (now - since).to_std().unwrap_or_default());
            metrics::outbox(outbox.pending, age, outbox.parked);
        }
        if let Ok(webhooks) = store.webhook_totals().await {
            let age = webhooks.oldest.map(|since| (now - since).to_std().unwrap_or_default());
            metrics::webhooks(webhooks.pending, age, webhooks.dead);
        }
        metrics::broker_connected(queue.ready().is_ok());
        metrics::db_pools(store.pool_state(), store.read_pool_state());
        if let Some(memory) = crate::telemetry::memory::memory() {
            metrics::memory(memory.resident, memory.limit);
        }
        if pause(&stop, Duration::from_secs(5)).await {
            flush_usage(&store, &usage, clock.now()).await;
            return;
        }
    }
}

/// Warns once a day across all processes.
async fn warn_of_spending(store: &Store, today: f64, daily_budget: f64, now: DateTime<Utc>) {
    if today <= 0.0 || today < daily_budget {
        return;
    }
    match store.claim_daily_notice("daily_budget_told", now.date_naive()).await {
        Ok(true) => {
            tracing::warn!(usd = today, budget = daily_budget, "daily budget reached (ENRICHMENT_DAILY_BUDGET_USD)");
        }
        Ok(false) => {}
        Err(error) => tracing::debug!(error = %error, "daily budget warning state unknown"),
    }
}

/// Returns false if the figures could not be written. They are kept; if only the reply was lost, they count twice, which
/// matters for display only.
pub(super) async fn flush_usage(store: &Store, usage: &OutboundObserver, now: DateTime<Utc>) -> bool {
    let figures = usage.take();
    match store.add_usage(now, &figures).await {
        Ok(()) => true,
        Err(error) if error.is_of_values() => {
            tracing::error!(%error, ?figures, "usage counts rejected by the store and lost");
            true
        }
        Err(error) => {
            tracing::warn!(%error, "writing usage counts failed; keeping them");
            usage.put_back(figures);
            false
        }
    }
}
