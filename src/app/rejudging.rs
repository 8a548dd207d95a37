//! The re-evaluation job: judges stored items again when settings, lists, models or evidence changed.
//!
//! One process at a time handles due items. It judges items from the store alone. Then it runs items that need provider
//! calls, within an hourly limit and a share of the monthly cap. New items have priority.

use std::collections::HashMap;
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
use crate::pipeline::events::has_changes;
use crate::pipeline::rescore::{Terms, judge_again};
use crate::pipeline::{self, Outcome, Rejudging, Request, Services};
use crate::store::{DueItem, JudgedWith, StoreError, StoredJudgement, StoredRun};
use crate::telemetry::{item_span, metrics};

const TURN: &str = "last_rejudging";
const TURN_OF_A_RUN: &str = "last_full_rejudging";

/// Lease for judging from the store, which takes milliseconds. A short lease lets another process take over soon.
const LEASE: Duration = Duration::from_mins(2);
const LEASE_OF_A_RUN: Duration = Duration::from_mins(15);
/// Time limit of a full run. Shorter than the lease, so that no other process has the item.
const RUN_TIMEOUT: Duration = Duration::from_mins(10);

/// US dollars assumed for a failed run, which may have made paid calls.
const ASSUMED_USD: f64 = 0.05;

/// Items per round judged from the store, which takes about a second.
const BATCH: u32 = 200;
const HOUR: Duration = Duration::from_hours(1);

/// Outdated items that are noted per round.
const MAX_NOTED: i64 = 5_000;
/// After the first rounds, only results of this age are compared with the current settings, models and lists: a process
/// with earlier ones may still write some.
const RECENT: TimeDelta = TimeDelta::hours(1);

/// Full runs that may fail, or find less than is stored.
const MAX_ATTEMPTS: i32 = 4;

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

    /// Returns an error only after an outage: other errors may concern this item alone, and the next ones are already
    /// leased.
    fn of_failure(due: &DueItem, error: StoreError) -> Result<Self, StoreError> {
        if error.is_outage() {
            return Err(error);
        }
        if error.is_transient() {
            tracing::warn!(item.id = due.item_id, %error, "reading or writing an item failed; retrying later");
            return Ok(Self::Later);
        }
        tracing::warn!(item.id = due.item_id, %error, "item kept unchanged: it cannot be read or written");
        Ok(Self::Left)
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
    own: JudgedWith,
    is_announced: bool,
    /// All results since `rejudge.max_age` were compared.
    is_compared: bool,
}

impl Rejudger {
    pub(super) fn new(services: &Arc<Services>, queue: &Arc<dyn Queue>, config: &Config) -> Self {
        let enrichment = &config.enrichment;
        Self {
            own: services.judged_with.get_or_init(|| judged_with(services, enrichment.allowlist_only)).clone(),
            services: Arc::clone(services),
            queue: Arc::clone(queue),
            settings: config.rejudge.clone(),
            allowlist_only: enrichment.allowlist_only,
            budget: costs(services, config).then_some(config.rejudge.monthly_share * enrichment.monthly_cap_usd),
            is_announced: false,
            is_compared: false,
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
        if !self.is_announced {
            store.announce_judged_with(&self.own).await?;
            self.is_announced = true;
        }
        metrics::rejudging_due(&store.due_counts().await?);
        // A process with older settings would restore old results.
        if !store.is_judged_with(&self.own).await? || !store.take_turn(TURN, self.settings.interval).await? {
            return Ok(());
        }
        let now = self.services.clock.now();
        let oldest_news = self.oldest_news();
        let since = if self.is_compared { oldest_news.max(now - RECENT) } else { oldest_news };
        // A failed search does not delay items that are due.
        match store.note_outdated(&self.own, since, oldest_news, MAX_NOTED).await {
            Ok(0) => self.is_compared = true,
            Ok(noted) => tracing::info!(items = noted, "items queued for re-evaluation"),
            Err(error) => tracing::warn!(%error, "search for outdated results failed"),
        }
        self.judge_from_the_store().await?;
        let dropped = store.drop_outdated(oldest_news).await?;
        if dropped > 0 {
            tracing::info!(items = dropped, "items too old for re-evaluation skipped");
        }
        self.ask_providers().await
    }

    fn oldest_news(&self) -> DateTime<Utc> {
        let age = TimeDelta::from_std(self.settings.max_age).ok();
        let since = age.and_then(|age| self.services.clock.now().checked_sub_signed(age));
        since.unwrap_or(DateTime::UNIX_EPOCH)
    }

    async fn judge_from_the_store(&self) -> Result<(), StoreError> {
        let store = &self.services.store;
        let due = store.take_due(false, BATCH, LEASE).await?;
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
            judged_with: JudgedWith { settings: self.own.settings.clone(), models: None, lists: Some(version) },
        };
        let ids: Vec<String> = due.iter().map(|one| one.item_id.clone()).collect();
        let page = store.judgements_of_items(&ids).await?;
        let read: HashMap<&str, &StoredJudgement> =
            page.read.iter().map(|stored| (stored.result.item_id.as_str(), stored)).collect();
        for one in &due {
            if let Some(error) = page.unreadable.get(&one.item_id) {
                tracing::warn!(item.id = one.item_id, %error, "item kept unchanged: it cannot be read");
            }
            let judged = async {
                match read.get(one.item_id.as_str()) {
                    Some(stored) if one.attempts <= MAX_ATTEMPTS => self.judge(one, stored, &terms).await,
                    _ => Ok(RejudgeOutcome::Left),
                }
            };
            let done = AssertUnwindSafe(judged).catch_unwind().await.unwrap_or_else(|_panic| {
                tracing::error!(item.id = one.item_id, "re-evaluation of an item panicked; retrying later");
                Ok(RejudgeOutcome::Later)
            });
            let evaluated_at = read.get(one.item_id.as_str()).map(|stored| stored.evaluated_at);
            self.settle(one, done?, &terms.judged_with, evaluated_at).await?;
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
            Err(error) => RejudgeOutcome::of_failure(due, error),
        }
    }

    async fn ask_providers(&self) -> Result<(), StoreError> {
        let store = &self.services.store;
        let judged_with = JudgedWith { models: self.own.models.clone(), ..JudgedWith::default() };
        for _ in 0..runs_per_round(self.settings.asked_per_hour, self.settings.interval) {
            if !self.may_ask().await? {
                return Ok(());
            }
            let taken = store.take_due(true, 1, LEASE_OF_A_RUN).await?;
            let Some(due) = taken.first() else { return Ok(()) };
            let (done, evaluated_at) = match store.stored_run(&due.item_id).await {
                Ok(Some(stored)) if due.attempts <= MAX_ATTEMPTS => {
                    let evaluated_at = stored.evaluated_at;
                    (self.ask(due, stored).await?, Some(evaluated_at))
                }
                // Gone, or its attempts ended the process or hung.
                Ok(_) => (RejudgeOutcome::Left, None),
                Err(error) => (RejudgeOutcome::of_failure(due, error)?, None),
            };
            self.settle(due, done, &judged_with, evaluated_at).await?;
        }
        Ok(())
    }

    /// Returns true if the hourly limit and the budget allow a run and no new item waits.
    async fn may_ask(&self) -> Result<bool, StoreError> {
        let store = &self.services.store;
        // A round may be long, and a newer process may have started meanwhile.
        if !store.is_judged_with(&self.own).await? {
            return Ok(false);
        }
        if let Some(budget) = self.budget
            && (budget <= 0.0 || store.rejudging_spent().await? >= budget)
        {
            return Ok(false);
        }
        // An unknown queue length counts as busy.
        let depth = self.queue.depth().await.ok();
        let is_idle = depth.is_some_and(|depth| QueueName::ALL.iter().all(|queue| depth.of(*queue) == 0));
        // Several runs of one round share its turn.
        let pace = HOUR / self.settings.asked_per_hour.max(1);
        Ok(is_idle && (pace < self.settings.interval || store.take_turn(TURN_OF_A_RUN, pace).await?))
    }

    async fn ask(&self, due: &DueItem, stored: StoredRun) -> Result<RejudgeOutcome, StoreError> {
        let StoredRun { item, result, phase, sent_at, evaluated_at } = stored;
        let Some(before) = result.map(Arc::new) else {
            tracing::warn!(item.id = due.item_id, "item kept unchanged: its result cannot be read");
            return Ok(RejudgeOutcome::Left);
        };
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
        let running = AssertUnwindSafe(pipeline::run(&self.services, &request).instrument(span)).catch_unwind();
        // Cancel-safe: a run commits in one transaction.
        let (outcome, usd) = match timeout(RUN_TIMEOUT, running).await {
            Ok(Ok(Ok(Outcome::Done(after)))) => (RejudgeOutcome::of(&before, &after), after.cost.usd),
            Ok(Ok(Ok(Outcome::Poorer(after)))) => (RejudgeOutcome::Later, after.cost.usd),
            Ok(Ok(Ok(Outcome::AlreadyDone { usd }))) => (RejudgeOutcome::Left, usd),
            Ok(Ok(Err(error))) if error.is_transient() => {
                tracing::warn!(item.id = due.item_id, %error, "full run of an item failed; retrying later");
                (RejudgeOutcome::Later, ASSUMED_USD)
            }
            Ok(Ok(Err(error))) => {
                tracing::warn!(item.id = due.item_id, %error, "item kept unchanged: its full run failed");
                (RejudgeOutcome::Left, ASSUMED_USD)
            }
            Ok(Err(_)) | Err(_) => {
                tracing::error!(item.id = due.item_id, "full run of an item panicked or timed out; retrying later");
                (RejudgeOutcome::Later, ASSUMED_USD)
            }
        };
        if self.budget.is_some() {
            self.services.store.add_rejudging_cost(usd).await?;
        }
        Ok(outcome)
    }

    /// Removes a due item. An item to retry stays until its lease ends.
    async fn settle(
        &self,
        due: &DueItem,
        done: RejudgeOutcome,
        judged_with: &JudgedWith,
        evaluated_at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        metrics::rejudged(due.reason, done.as_str());
        if done == RejudgeOutcome::Later && due.attempts < MAX_ATTEMPTS {
            return Ok(());
        }
        self.services.store.settle_due(due, judged_with, evaluated_at).await
    }
}

fn runs_per_round(per_hour: u32, interval: Duration) -> u32 {
    let part = f64::from(per_hour) * interval.as_secs_f64() / HOUR.as_secs_f64();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 200")]
    let part = part.clamp(1.0, f64::from(BATCH)) as u32;
    part.min(per_hour)
}

/// Changes of a release are excluded; `corroborate rescore` applies those.
pub(super) fn judged_with(services: &Services, allowlist_only: bool) -> JudgedWith {
    let settings = &services.settings;
    // Default settings stay equal if a release changes the defaults.
    let scoring = Some(settings.scoring).filter(|scoring| *scoring != Scoring::default());
    let numbers = (scoring, allowlist_only, settings.passages_shown, settings.claims_per_item);
    let models = &services.models;
    let adjudicator = services.language_model_for(Purpose::Adjudicate).map_or("", |model| model.name());
    let names = [models.embedder.name(), models.stance.name(), models.reranker.name(), adjudicator];
    JudgedWith {
        settings: Some(ids::content_hash(&[&format!("{numbers:?}")])),
        models: Some(names.join(" ")),
        lists: None,
    }
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
    fn full_runs_are_spread_over_the_hour_and_zero_is_none() {
        let minute = Duration::from_mins(1);
        assert_eq!(runs_per_round(3000, minute), 50);
        assert_eq!(runs_per_round(30, minute), 1, "each of them in its own turn");
        assert_eq!(runs_per_round(0, minute), 0);
        assert_eq!(runs_per_round(1_000_000, minute), BATCH);
        assert_eq!(runs_per_round(3, Duration::from_hours(24)), 3);
    }
}
