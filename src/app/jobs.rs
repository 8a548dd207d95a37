//! Background work of the daemon: publishing the outbox, following the domain lists, clean-up by age, usage figures.
//!
//! Each job is a loop that ends when the token is cancelled, and that outlives a store or broker that is away.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Datelike as _, Utc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::observers::OutboundObserver;
use crate::broker::{Published, Queue, QueueError};
use crate::domain::rules::DomainRules;
use crate::outbound::{Follower, Tenants};
use crate::pipeline::RulesHandle;
use crate::providers::Provider;
use crate::store::{OutboxBatch, Store, StoreError};
use crate::telemetry::metrics;

/// How often, and how long apart, the store is told what was published; together about the time a claim lasts.
pub(super) const CONFIRM_TRIES: u32 = 50;
pub(super) const CONFIRM_PAUSE: Duration = Duration::from_millis(500);

/// What may be spent, US dollars: the day's budget warns, the month's cap stops.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpendLimits {
    pub(super) daily_budget: f64,
    pub(super) monthly_cap: f64,
}

/// How long the end of a process waits for what the outbox still holds. The rest goes out after the next start.
pub(super) const LAST_ROUND_PATIENCE: Duration = Duration::from_secs(10);

/// How long after a failed clean-up another one is tried.
const CLEANUP_AGAIN: Duration = Duration::from_mins(10);

/// How long a job waits after a failure before it tries again.
pub(super) const PAUSE: Duration = Duration::from_secs(2);

/// True when cancelled meanwhile.
pub(super) async fn pause(stop: &CancellationToken, span: Duration) -> bool {
    // Both arms only wait: nothing is lost whichever wins.
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(span) => false,
    }
}

/// Publishes what waits in the outbox, woken by every commit of this process and by a slow tick for rows of others.
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
        // What came in meanwhile is next, and no sign that too much comes.
        store.outbox_keeps_up(!matches!(published, Ok(Left::Batch) | Err(_)) && pace.alone == 0);
        match published {
            Ok(Left::Batch | Left::Fresh) if !stop.is_cancelled() => continue,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = %error, "the outbox could not be published; it is kept and tried again");
                pace.looked = None;
                // What is kept for later is anybody's again, in the order in which it was written.
                if let Some(fresh) = store.take_fresh_outbox(usize::MAX)
                    && let Err(error) = fresh.confirm(&[]).await
                {
                    tracing::debug!(%error, "messages could not be given back; their claims run out");
                }
                if pause(&stop, PAUSE).await {
                    return;
                }
            }
        }
        // Safe to be cancelled: nothing has been taken.
        tokio::select! {
            () = stop.cancelled() => {
                // What the drained items wrote goes out now. What is cut off halfway is sent again after the next start,
                // under the same message id.
                let rest = async {
                    while matches!(
                        publish_batch(&store, &queue, &mut pace, Duration::ZERO).await,
                        Ok(Left::Batch | Left::Fresh)
                    ) {}
                };
                if tokio::time::timeout(LAST_ROUND_PATIENCE, rest).await.is_err() {
                    tracing::info!("the outbox still holds results; they are published after the next start");
                }
                return;
            }
            () = written.notified() => {}
            () = tokio::time::sleep(tick) => {}
        }
    }
}

/// How many messages are sent at once.
#[derive(Debug)]
struct Pace {
    batch: i64,
    /// So many of the next ones go alone: one of those sent together may have broken the channel for all, and it is known
    /// which only when it is by itself.
    alone: usize,
    /// When the store was last asked what waits there.
    looked: Option<Instant>,
}

impl Pace {
    /// What is to be published now: what this process has just written, and what waits in the store, which is asked every
    /// `tick` and where something of ours waits there.
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
        // Behind a full batch more may wait, and it is older than what comes in now.
        if i64::try_from(waiting.messages.len()).unwrap_or(limit) < limit {
            self.looked = Some(Instant::now());
        }
        Ok(Some(waiting))
    }
}

/// What a batch left behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It was full: more may wait.
    Batch,
    /// This process has written more meanwhile.
    Fresh,
    Nothing,
}

async fn publish_batch(
    store: &Store,
    queue: &Arc<dyn Queue>,
    pace: &mut Pace,
    tick: Duration,
) -> Result<Left, super::AppError> {
    let limit = if pace.alone > 0 { 1 } else { pace.batch };
    let Some(taken) = pace.take(store, limit, tick).await? else {
        pace.alone = 0;
        return Ok(Left::Nothing);
    };
    let offered = taken.messages.len();
    let sent = queue.publish_results(&taken.messages).await;
    // Whatever failed is given back at once, not only when its claim runs out.
    let nothing = Published::default();
    let published = sent.as_ref().unwrap_or(&nothing);
    let parked = settle(&taken, published).await?;
    let unclear = offered.saturating_sub(published.confirmed.len() + published.refused.len());
    pace.alone = if unclear > 1 { unclear } else { pace.alone.saturating_sub(1) };
    if let Some((_, reason)) = published.refused.first() {
        metrics::outbox_refused(published.refused.len());
        tracing::warn!(
            refused = published.refused.len(),
            offered,
            reason,
            "results were refused; they are sent again later"
        );
    }
    if parked > 0 {
        tracing::error!(parked, "results were refused for half a day; they are tried once a day from now on");
    }
    sent?;
    if unclear > 0 {
        let detail = format!("{unclear} of {offered} messages");
        return Err(QueueError::NotConfirmed { target: "the results exchange".to_owned(), detail }.into());
    }
    if i64::try_from(offered).unwrap_or(0) >= limit {
        return Ok(Left::Batch);
    }
    Ok(if store.has_fresh_outbox() { Left::Fresh } else { Left::Nothing })
}

/// Tells the store, again and again while it is away: what is published and stays in the outbox is published twice.
async fn settle(taken: &OutboxBatch, published: &Published) -> Result<usize, StoreError> {
    let mut tries = 0;
    loop {
        match taken.settle(published).await {
            Err(error) if error.is_transient() && tries < CONFIRM_TRIES => {
                tries += 1;
                tracing::debug!(error = %error, tries, "published results could not be taken out of the outbox yet");
                tokio::time::sleep(CONFIRM_PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Hears what other processes changed and wakes who waits for it, where the database can say so. Without a connection for
/// it everybody looks for themselves now and then.
pub(super) async fn listen(store: Store, stop: CancellationToken) {
    while !stop.is_cancelled() {
        // Given up when the daemon stops: nothing was taken.
        let lost = tokio::select! {
            () = stop.cancelled() => return,
            lost = hear(&store) => lost,
        };
        let Err(error) = lost else { return stop.cancelled().await };
        tracing::warn!(%error, "cannot listen for what other processes change; looking now and then meanwhile");
        pause(&stop, PAUSE).await;
    }
}

/// Ends where nobody else can change anything, and with an error where no connection can be had.
async fn hear(store: &Store) -> Result<(), StoreError> {
    let Some(mut listener) = store.listen().await? else { return Ok(()) };
    loop {
        listener.hear().await?;
    }
}

/// Keeps the lists of this process up with the store.
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
                tracing::warn!(error = %error, "the domain lists could not be read; the known ones stay in force");
            }
        }
        // Safe to be cancelled: what was changed is seen at the next look.
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
        tracing::info!(rules = list.len(), version, "domain lists taken over");
        rules.replace(DomainRules::new(list, allowlist_only), version);
        return Ok(version);
    }
    Ok(version)
}

/// Removes what has expired by the clock of the database, at start and then once per interval. `clock` is this machine's.
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
            // Safe to be dropped: each batch is a statement of its own.
            Ok(true) => tokio::select! {
                cleaned = store.cleanup_beside_work(clock.now()) => cleaned.map(Some),
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
                    tracing::info!(items = cleaned.items, pages = cleaned.evidence_sources, "removed what had expired");
                }
            }
            Err(error) => {
                tracing::warn!(error = %error, "clean-up failed; it is tried again soon");
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

/// For the next process that looks: what was begun is not done for a whole interval otherwise.
async fn give_cleanup_back(store: &Store, interval: Duration) {
    if let Err(error) = store.give_turn_back("last_cleanup", interval).await {
        tracing::debug!(%error, "the next clean-up is a turn later");
    }
}

/// Keeps one provider's material fresh, at start and then after each of its pauses.
pub(super) async fn keep_up(provider: Arc<dyn Provider>, interval: Duration, stop: CancellationToken) {
    loop {
        // Given up when the daemon stops: the next start does the whole round.
        let done = tokio::select! {
            () = stop.cancelled() => return,
            done = provider.keep_up() => done,
        };
        metrics::job_run("providers", done.is_ok());
        if let Err(error) = done {
            tracing::warn!(provider = provider.name(), error, "its material could not be brought up to date");
        }
        if pause(&stop, interval).await {
            return;
        }
    }
}

/// How often a process looks what the others found of the providers; where it listens, it looks at once.
const FLEET_INTERVAL: Duration = Duration::from_secs(1);
/// How long the end of a process waits for its leases to be given back. What is not is lost for the window's rest.
const GIVE_BACK_PATIENCE: Duration = Duration::from_secs(5);

/// Keeps the gates up with the fleet: gives back what they leased and did not use, tells the others what they found, and
/// takes over what those found.
pub(super) async fn follow_fleet(store: Store, followers: Vec<Follower>, stop: CancellationToken) {
    let changed = store.fleet_changed();
    loop {
        let mut done = true;
        for follower in &followers {
            if let Err(error) = follower.flush().await {
                done = false;
                tracing::debug!(%error, "what is owed to the fleet is kept");
                break;
            }
        }
        let learnt = super::build::learn(&store, &followers).await;
        metrics::job_run("fleet", done && learnt.is_ok());
        if let Err(error) = learnt {
            tracing::debug!(error = %error, "the fleet could not be looked at; what is known stays in force");
        }
        // Safe to be cancelled: what was changed is seen at the next look.
        tokio::select! {
            () = stop.cancelled() => return,
            () = changed.notified() => {}
            () = tokio::time::sleep(FLEET_INTERVAL) => {}
        }
    }
}

/// Gives back everything that was leased and not used.
pub(super) async fn give_back(followers: &[Follower]) {
    let given = tokio::time::timeout(GIVE_BACK_PATIENCE, async {
        for follower in followers {
            if let Err(error) = follower.close().await {
                tracing::warn!(%error, "reserved requests could not be given back; they count as used");
            }
        }
    });
    if given.await.is_err() {
        tracing::warn!("reserved requests could not be given back in time; they count as used");
    }
}

/// Writes usage to the store, and sets the gauges nobody else would keep fresh.
pub(super) async fn account(
    store: Store,
    usage: Arc<OutboundObserver>,
    tenants: Arc<Tenants>,
    queue: Arc<dyn Queue>,
    limits: SpendLimits,
    clock: Arc<dyn crate::domain::Clock>,
    stop: CancellationToken,
) {
    loop {
        let now = clock.now();
        let flushed = flush_usage(&store, &usage, &tenants, now).await;
        metrics::tenant_share_used(tenants.most_used());
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
            flush_usage(&store, &usage, &tenants, clock.now()).await;
            return;
        }
    }
}

/// Once a day in the whole fleet: the first process that sees it says so.
async fn warn_of_spending(store: &Store, today: f64, daily_budget: f64, now: DateTime<Utc>) {
    if today <= 0.0 || today < daily_budget {
        return;
    }
    match store.first_to_tell("daily_budget_told", now.date_naive()).await {
        Ok(true) => tracing::warn!(
            usd = today,
            budget = daily_budget,
            "today's spending has reached ENRICHMENT_DAILY_BUDGET_USD"
        ),
        Ok(false) => {}
        Err(error) => tracing::debug!(error = %error, "whether the daily budget was told of is not known"),
    }
}

/// False when the store did not take the figures; they are kept for the next time.
pub(super) async fn flush_usage(
    store: &Store,
    usage: &OutboundObserver,
    tenants: &Tenants,
    now: DateTime<Utc>,
) -> bool {
    let shared = share_out(store, tenants, now).await;
    // First the unconfirmed batch, then the newer figures.
    for _ in 0..2 {
        let batch = usage.hand_over();
        match store.add_usage(now, &batch).await {
            Ok(()) => {}
            Err(error) if error.is_of_values() => {
                tracing::error!(%error, figures = ?batch.figures, "usage figures refused by the store; they are lost");
            }
            Err(error) => {
                tracing::warn!(%error, "usage figures could not be written; they are kept");
                return false;
            }
        }
        usage.written(&batch.id);
    }
    shared
}

/// Writes what the tenants of this process spent, takes over what those of all did, and says once in a month whose share is
/// used up. False when the store did not take it.
async fn share_out(store: &Store, tenants: &Tenants, now: DateTime<Utc>) -> bool {
    if tenants.is_empty() {
        return true;
    }
    match store.add_tenant_spending(&tenants.hand_over()).await {
        Ok(stored) => tenants.learn(stored),
        Err(error) => {
            tracing::warn!(%error, "what the tenants spent could not be written; it is kept");
            return false;
        }
    }
    for (name, spent, may) in tenants.figures().into_iter().filter(|(_, spent, may)| spent >= may) {
        let month = now.date_naive().with_day(1).unwrap_or(now.date_naive());
        match store.first_to_tell(&format!("tenant_share_used:{name}"), month).await {
            Ok(true) => tracing::warn!(
                tenant = name,
                usd = spent,
                share = may,
                "this tenant's share of the month's cap is used up: whoever costs is not asked for its items"
            ),
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "whether a used share was spoken of is not known"),
        }
    }
    true
}
