//! The re-evaluation job: judges stored items again when settings, lists, models or evidence changed.
//!
//! One process at a time handles due items, oldest first. It judges items from the store alone. Then it runs items that
//! need provider calls, within an hourly limit and a share of the monthly cap. New items have priority.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::jobs::pause;
use crate::broker::{Queue, QueueName};
use crate::config::{Config, RejudgeConfig};
use crate::domain::rules::DomainRules;
use crate::domain::{Clock as _, ItemResult, SystemClock, ids};
use crate::inference::llm::Purpose;
use crate::judging::scoring::Scoring;
use crate::pipeline::changed::has_changes;
use crate::pipeline::rescore::{Terms, judge_again};
use crate::pipeline::{self, Outcome, Rejudging, Request, Services};
use crate::store::{
    DueItem, JudgedBy, JudgingVersion, RejudgeLimits, ScanCriteria, StoreError, StoredJudgement, StoredRun,
};
use crate::telemetry::{item_span, metrics};

const TURN: &str = "last_rejudging";

/// Lease for judging from the store, which takes milliseconds. A short lease lets another process take over soon.
const LEASE: Duration = Duration::from_mins(2);
const LEASE_OF_A_RUN: Duration = Duration::from_mins(15);
/// Time limit of a full run. Shorter than the lease, so that no other process has the item.
const LONGEST_RUN: Duration = Duration::from_mins(10);

/// US dollars reserved for a run until the cost is known; most runs cost less.
const HELD_USD: f64 = 0.05;

const MOST_AT_ONCE: u32 = 200;

/// Full runs that may fail, or find less than is stored.
const MOST_ATTEMPTS: i32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RejudgeOutcome {
    Changed,
    Same,
    /// The item was deleted, was judged by another run, or cannot be judged.
    Left,
    /// The run failed or had fewer sources than the stored result.
    Later,
}

impl RejudgeOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Same => "same",
            Self::Left => "left",
            Self::Later => "later",
        }
    }

    fn of(before: &ItemResult, after: &ItemResult) -> Self {
        if has_changes(before, after) { Self::Changed } else { Self::Same }
    }
}

#[derive(Debug)]
pub(super) struct Rejudger {
    services: Arc<Services>,
    queue: Arc<dyn Queue>,
    settings: RejudgeConfig,
    allowlist_only: bool,
    /// US dollars a month; `None` if no service costs money.
    budget: Option<f64>,
    basis: JudgingVersion,
    is_announced: bool,
}

impl Rejudger {
    pub(super) fn new(services: &Arc<Services>, queue: &Arc<dyn Queue>, config: &Config) -> Self {
        let enrichment = &config.enrichment;
        Self {
            basis: services.basis.get_or_init(|| basis(services, enrichment.allowlist_only)).clone(),
            services: Arc::clone(services),
            queue: Arc::clone(queue),
            settings: config.rejudge.clone(),
            allowlist_only: enrichment.allowlist_only,
            budget: costs(services, config).then_some(config.rejudge.monthly_share * enrichment.monthly_cap_usd),
            is_announced: false,
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            // Cancel-safe: an item is written in one transaction, and its lease expires.
            let done = tokio::select! {
                () = stop.cancelled() => return,
                done = self.round() => done,
            };
            metrics::job_run("rejudging", done.is_ok());
            if let Err(error) = done {
                tracing::warn!(error = %error, "re-evaluation failed; retrying soon");
            }
            if pause(&stop, self.settings.interval).await {
                return;
            }
        }
    }

    async fn round(&mut self) -> Result<(), StoreError> {
        let store = &self.services.store;
        // A wrong clock would select wrong items.
        store.check_clock(SystemClock.now()).await?;
        let since = self.since();
        if !self.is_announced {
            if let Some(items) = store.judge_by(&self.basis, since).await? {
                tracing::info!(items, "settings or models changed; re-evaluating recent items");
            }
            self.is_announced = true;
        }
        metrics::rejudging_due(&store.due_counts().await?);
        // A process with older settings would restore old results.
        if !store.is_judged_by(&self.basis).await? || !store.take_turn(TURN, self.settings.interval).await? {
            return Ok(());
        }
        let similarity = self.services.settings.similar_item_threshold;
        // A failed search does not delay due items.
        match store.look_for_reasons(ScanCriteria { now: self.services.clock.now(), since, similarity }).await {
            Ok(0) => {}
            Ok(noted) => tracing::info!(items = noted, "items queued for re-evaluation"),
            Err(error) => tracing::warn!(%error, "search for re-evaluation reasons failed"),
        }
        self.judge_from_the_store().await?;
        let dropped = store.drop_outdated(since).await?;
        if dropped > 0 {
            tracing::info!(items = dropped, "items too old for re-evaluation skipped");
        }
        self.ask_providers().await
    }

    fn since(&self) -> DateTime<Utc> {
        let age = TimeDelta::from_std(self.settings.max_age).ok();
        let since = age.and_then(|age| self.services.clock.now().checked_sub_signed(age));
        since.unwrap_or(DateTime::UNIX_EPOCH)
    }

    fn allowance(&self, per_hour: u32, lease: Duration) -> RejudgeLimits {
        RejudgeLimits { at_once: at_once(per_hour, self.settings.interval), per_hour, lease }
    }

    async fn judge_from_the_store(&self) -> Result<(), StoreError> {
        let store = &self.services.store;
        let due = store.take_due(false, &self.basis, self.allowance(self.settings.per_hour, LEASE)).await?;
        if due.is_empty() {
            return Ok(());
        }
        // This process may not have the edited lists yet.
        let (rules, version) = store.domain_rules().await?;
        let settings = &self.services.settings;
        let terms = Terms {
            scoring: settings.scoring,
            rules: DomainRules::new(rules, self.allowlist_only),
            passages_shown: settings.passages_shown,
            claims_per_item: settings.claims_per_item,
            listeners: settings.listeners(),
            judged_by: JudgedBy { lists: Some(version), basis: Some(self.basis.clone()) },
        };
        let ids: Vec<String> = due.iter().map(|one| one.item_id.clone()).collect();
        let page = store.judgements_of_items(&ids).await?;
        for one in &due {
            let stored = page.read.iter().find(|stored| stored.result.item_id == one.item_id);
            if let Some(error) = page.unreadable.get(&one.item_id) {
                tracing::warn!(item.id = one.item_id, %error, "item kept unchanged: it cannot be read");
            }
            let judged = async {
                match stored {
                    Some(stored) if one.attempts <= MOST_ATTEMPTS => self.judge(one, stored, &terms).await,
                    _ => Ok(RejudgeOutcome::Left),
                }
            };
            let done = AssertUnwindSafe(judged).catch_unwind().await.unwrap_or_else(|_panic| {
                tracing::error!(item.id = one.item_id, "re-evaluation of an item panicked; retrying later");
                Ok(RejudgeOutcome::Later)
            });
            self.settle(one, done?).await?;
        }
        Ok(())
    }

    async fn judge(
        &self,
        due: &DueItem,
        stored: &StoredJudgement,
        terms: &Terms,
    ) -> Result<RejudgeOutcome, StoreError> {
        let Some(rescored) = judge_again(stored, terms) else { return Ok(RejudgeOutcome::Same) };
        let (store, now) = (&self.services.store, self.services.clock.now());
        match rescored.write(store, stored, (due.reason, terms), now, false).await {
            Ok(true) => Ok(RejudgeOutcome::of(&stored.result, &rescored.result)),
            Ok(false) => Ok(RejudgeOutcome::Left),
            Err(error) => after_failure(due, error),
        }
    }

    async fn ask_providers(&self) -> Result<(), StoreError> {
        let store = &self.services.store;
        let allowance = self.allowance(self.settings.asked_per_hour, LEASE_OF_A_RUN);
        for _ in 0..allowance.at_once {
            if !self.may_ask().await? {
                return Ok(());
            }
            let taken = store.take_due(true, &self.basis, RejudgeLimits { at_once: 1, ..allowance }).await?;
            let Some(due) = taken.first() else { return Ok(()) };
            let done = self.read_and_ask(due).await?;
            self.settle(due, done).await?;
        }
        Ok(())
    }

    async fn read_and_ask(&self, due: &DueItem) -> Result<RejudgeOutcome, StoreError> {
        // Attempts that ended the process or hung.
        if due.attempts > MOST_ATTEMPTS {
            return Ok(RejudgeOutcome::Left);
        }
        match self.services.store.stored_run(&due.item_id).await {
            Ok(Some(stored)) if self.is_too_old(&stored) => Ok(RejudgeOutcome::Left),
            Ok(Some(stored)) => self.ask(due, stored).await,
            Ok(None) => Ok(RejudgeOutcome::Left),
            Err(error) => after_failure(due, error),
        }
    }

    /// Returns true if the budget allows a run and no new item waits.
    async fn may_ask(&self) -> Result<bool, StoreError> {
        if let Some(budget) = self.budget
            && (budget <= 0.0 || self.services.store.rejudging_spent().await? >= budget)
        {
            return Ok(false);
        }
        // An unknown queue length counts as busy.
        let depth = self.queue.depth().await.ok();
        Ok(depth.is_some_and(|depth| QueueName::ALL.iter().all(|queue| depth.of(*queue) == 0)))
    }

    fn is_too_old(&self, stored: &StoredRun) -> bool {
        stored.item.published_at.unwrap_or(stored.evaluated_at) < self.since()
    }

    async fn ask(&self, due: &DueItem, stored: StoredRun) -> Result<RejudgeOutcome, StoreError> {
        let StoredRun { item, result, phase, sent_at, evaluated_at } = stored;
        let before = Arc::new(result);
        let request = Request {
            phase,
            sent_at,
            // A check by a person skips the gates.
            personal: item.item_id.starts_with("check:"),
            again: true,
            rejudging: Some(Rejudging { why: due.reason, before: Arc::clone(&before), evaluated_at }),
            ..Request::personal(item)
        };
        let span = item_span(&due.item_id, phase.as_str(), None);
        // Reserved first: a failed run may have paid calls but reports no cost.
        let held = if self.budget.is_some() { HELD_USD } else { 0.0 };
        let store = &self.services.store;
        store.add_rejudging_cost(held).await?;
        let running = AssertUnwindSafe(pipeline::run(&self.services, &request).instrument(span)).catch_unwind();
        // Cancel-safe: a run commits in one transaction.
        let Ok(Ok(ended)) = timeout(LONGEST_RUN, running).await else {
            tracing::error!(item.id = due.item_id, "full run of an item panicked or timed out; retrying later");
            return Ok(RejudgeOutcome::Later);
        };
        match ended {
            Ok(Outcome::Done(after)) => {
                store.add_rejudging_cost(after.cost.usd - held).await?;
                Ok(RejudgeOutcome::of(&before, &after))
            }
            Ok(Outcome::Poorer(after)) => {
                store.add_rejudging_cost(after.cost.usd - held).await?;
                Ok(RejudgeOutcome::Later)
            }
            Ok(Outcome::AlreadyDone { usd }) => {
                store.add_rejudging_cost(usd - held).await?;
                Ok(RejudgeOutcome::Left)
            }
            Err(error) if error.is_transient() => {
                tracing::warn!(item.id = due.item_id, %error, "full run of an item failed; retrying later");
                Ok(RejudgeOutcome::Later)
            }
            Err(error) => {
                tracing::warn!(item.id = due.item_id, %error, "item kept unchanged: its full run failed");
                Ok(RejudgeOutcome::Left)
            }
        }
    }

    /// Removes a due item. An item to retry stays until its lease ends.
    async fn settle(&self, due: &DueItem, done: RejudgeOutcome) -> Result<(), StoreError> {
        metrics::rejudged(due.reason, done.as_str());
        if done == RejudgeOutcome::Later && due.attempts < MOST_ATTEMPTS {
            return Ok(());
        }
        self.services.store.settle_due(due).await
    }
}

/// Ends the round only after an outage: other errors may concern this item alone, and the next ones are already leased.
fn after_failure(due: &DueItem, error: StoreError) -> Result<RejudgeOutcome, StoreError> {
    if error.is_outage() {
        return Err(error);
    }
    if error.is_transient() {
        tracing::warn!(item.id = due.item_id, %error, "reading or writing an item failed; retrying later");
        return Ok(RejudgeOutcome::Later);
    }
    tracing::warn!(item.id = due.item_id, %error, "item kept unchanged: it cannot be read or written");
    Ok(RejudgeOutcome::Left)
}

fn at_once(per_hour: u32, interval: Duration) -> u32 {
    let part = f64::from(per_hour) * interval.as_secs_f64() / 3600.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 200")]
    let part = part.ceil().clamp(1.0, f64::from(MOST_AT_ONCE)) as u32;
    part.min(per_hour)
}

/// Changes of a release are excluded; `corroborate rescore` applies those.
fn basis(services: &Services, allowlist_only: bool) -> JudgingVersion {
    let settings = &services.settings;
    // Default settings stay equal if a release changes the defaults.
    let scoring = Some(settings.scoring).filter(|scoring| *scoring != Scoring::default());
    let numbers = (scoring, allowlist_only, settings.passages_shown, settings.claims_per_item);
    let models = &services.models;
    let adjudicator = services.language_model_for(Purpose::Adjudicate).map_or("", |model| model.name());
    let names = [models.embedder.name(), models.stance.name(), models.reranker.name(), adjudicator];
    JudgingVersion { settings: ids::content_hash(&[&format!("{numbers:?}")]), models: names.join(" ") }
}

fn costs(services: &Services, config: &Config) -> bool {
    let model = services.language_model.as_ref();
    // A service with a key may charge, and that cost is not measured.
    let has_bills = config.translate.api_key.is_some() || config.inference.api_key.is_some();
    has_bills
        || services.providers.configured().any(|provider| provider.paid())
        || model.is_some_and(|model| model.is_paid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hours_items_are_done_in_equal_parts_and_zero_is_none() {
        let minute = Duration::from_mins(1);
        assert_eq!(at_once(3000, minute), 50);
        assert_eq!(at_once(30, minute), 1, "the hourly number bounds it");
        assert_eq!(at_once(0, minute), 0);
        assert_eq!(at_once(1_000_000, minute), MOST_AT_ONCE);
        assert_eq!(at_once(3, Duration::from_hours(24)), 3);
    }
}
