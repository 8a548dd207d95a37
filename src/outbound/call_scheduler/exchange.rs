//! Requests from the call scheduler to the ledger: leases, breaker news and refunds.
//!
//! A lease sends breaker news first, then requests permits and refunds unused ones in one round trip. Requests never
//! overlap.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{CallScheduler, PAUSE, Pause, SchedulerSettings};
use crate::outbound::block::{Block, RoundTrip};
use crate::outbound::breaker::News;
use crate::outbound::error::AskError;
use crate::outbound::ledger::{LeaseDecision, LeaseResponse, LeaseTerms, LedgerError};

/// A block contains at least the permits of this time: at high rates the ledger gets about seven requests a second, not
/// a thousand.
const SHORTEST_BLOCK: Duration = Duration::from_millis(150);
/// A block contains at most the permits of this time, because a process that dies takes them from the others.
const LONGEST_BLOCK: Duration = Duration::from_secs(3);
/// How long a caller waits for the ledger. A slower one counts as unavailable.
const LEDGER_PATIENCE: Duration = Duration::from_secs(5);
/// Marks the end of a lease, also after a panic, so that the next may begin.
struct LeaseEndGuard<'a>(&'a CallScheduler);

impl Drop for LeaseEndGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().leasing = false;
        self.0.answered.send_modify(|count| *count += 1);
    }
}

impl CallScheduler {
    pub(super) async fn lease(self: &Arc<Self>, waiting: u32, deadline: Instant) -> Result<(), AskError> {
        let asked = Instant::now();
        let mut answered = self.answered.subscribe();
        let begin = !std::mem::replace(&mut self.lock().leasing, true);
        if begin {
            self.detach(Arc::clone(self).fetch(waiting, deadline)).await;
        }
        let patience = asked + LEDGER_PATIENCE;
        if let Ok(_changed) = timeout_at(deadline.min(patience), answered.changed()).await {
            return Ok(());
        }
        let now = Instant::now();
        if now < asked + PAUSE {
            return Err(AskError::Deadline);
        }
        let detail = "it did not answer in time".to_owned();
        self.lock().pause = Some(Pause::Away { detail: detail.clone(), until: now + PAUSE });
        Err(AskError::StoreAway { detail })
    }

    /// Completes work even if the caller leaves: inline until it must wait, then on a task.
    async fn detach(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work = Box::pin(work);
        if futures::poll!(work.as_mut()).is_pending() {
            self.tasks.spawn(work);
        }
    }

    async fn fetch(self: Arc<Self>, waiting: u32, deadline: Instant) {
        let _ends = LeaseEndGuard(&self);
        let _wire = self.wire.lock().await;
        // The ledger must have local news before it decides.
        if let Err(error) = self.send_news().await {
            return self.away(error);
        }
        let terms = self.terms(waiting, deadline);
        let (back, identity) = (terms.back, terms.identity.clone());
        match self.ledger.lease(terms).await {
            Ok(leased) => self.deposit(leased, &identity),
            Err(error) => {
                // In doubt the refund counts as done: a little is lost, but no limit is exceeded.
                if let Some(back) = back.filter(|_| !error.may_be_done) {
                    self.lock().owed.put_back(&back, self.settings.usd);
                }
                self.away(error);
            }
        }
    }

    fn away(&self, error: LedgerError) {
        tracing::debug!(provider = self.settings.name, %error, "leasing permits failed");
        self.lock().pause = Some(Pause::Away { detail: error.detail, until: Instant::now() + PAUSE });
    }

    fn terms(&self, waiting: u32, deadline: Instant) -> LeaseTerms {
        let settings = &self.settings;
        let period = settings.pace.period();
        let hold =
            |span: Duration| u32::try_from(span.as_nanos() / period.as_nanos().max(1)).unwrap_or(u32::MAX).max(1);
        let now = Instant::now();
        let mut inner = self.lock();
        LeaseTerms {
            provider: Arc::clone(&settings.account),
            identity: inner.identity.to_string(),
            wanted: waiting.max(hold(SHORTEST_BLOCK)).min(hold(LONGEST_BLOCK)),
            period,
            patience: deadline.saturating_duration_since(now),
            horizon: settings.max_wait,
            day_limit: settings.day_limit,
            month_limit: settings.month_limit,
            usd: settings.usd,
            cap_usd: settings.cap_usd,
            held_probe: inner.breaker.held_probe(),
            probe_time: settings.probe_time,
            back: inner.owed.take(settings.usd),
        }
    }

    /// Applies the ledger's response. `identity` is the key of the lease.
    fn deposit(&self, leased: LeaseResponse, identity: &str) {
        let LeaseResponse { sent, received, answer } = leased;
        let trip = RoundTrip { sent, received };
        let mut inner = self.lock();
        if *inner.identity != *identity {
            // The key changed: the old key's breaker does not matter, and waiting callers lease again.
            if let LeaseDecision::Granted { slots, leased_for, .. } = answer.decision {
                inner.owed.slots(leased_for, slots);
            }
            return;
        }
        inner.pause = None;
        let mut learnt = None;
        match answer.decision {
            LeaseDecision::Granted { slots, first_in, day_ends_in, leased_for, probe } => {
                if probe {
                    inner.breaker.may_probe(&answer.breaker, received);
                } else {
                    learnt = inner.breaker.learn(&answer.breaker, received, true);
                }
                inner.limited = None;
                inner.discard();
                let block = Block::new(trip, &self.settings.pace, slots, first_in, day_ends_in).of(leased_for, probe);
                inner.block = Some(block);
                self.observer.leased(self.settings.name, slots);
            }
            LeaseDecision::NotBefore(wait) => {
                learnt = inner.breaker.learn(&answer.breaker, received, true);
                inner.pause = Some(Pause::Rate { until: received + wait });
            }
            LeaseDecision::LeftAlone => learnt = inner.breaker.left_alone(&answer.breaker, received),
            LeaseDecision::Limited(limit, ends_in) => {
                learnt = inner.breaker.learn(&answer.breaker, received, true);
                let ends = received + ends_in;
                inner.limited = Some((limit, ends));
                inner.pause = Some(Pause::Limited { limit, until: ends.min(received + PAUSE) });
            }
        }
        self.report(inner, learnt);
    }

    pub(in crate::outbound) async fn announce(self: &Arc<Self>) {
        let this = Arc::clone(self);
        self.detach(async move {
            let _wire = this.wire.lock().await;
            if let Err(error) = this.send_news().await {
                tracing::debug!(provider = this.settings.name, %error, "sharing a circuit breaker failed");
            }
        })
        .await;
    }

    /// Sends breaker news. The caller holds `wire`.
    async fn send_news(&self) -> Result<(), LedgerError> {
        let (news, identity) = {
            let mut inner = self.lock();
            let Some(news) = inner.breaker.take_news() else { return Ok(()) };
            (news, Arc::clone(&inner.identity))
        };
        let SchedulerSettings { account, .. } = &self.settings;
        let outcome = match (&news, news.opening(Instant::now())) {
            (_, Some(opening)) => self.ledger.open(account, &identity, opening).await,
            (News::Closed { version }, None) => self.ledger.close(account, &identity, *version).await,
            _ => return Ok(()),
        };
        let mut inner = self.lock();
        let is_current = inner.identity == identity;
        match outcome {
            _ if !is_current => outcome.map(drop),
            Ok(shared) => {
                let learnt = inner.breaker.learn(&shared, Instant::now(), true);
                self.report(inner, learnt);
                Ok(())
            }
            Err(error) => {
                inner.breaker.put_back(news);
                Err(error)
            }
        }
    }

    /// Sends news and refunds expired permits.
    pub(in crate::outbound) async fn flush(&self) -> Result<(), LedgerError> {
        let _wire = self.wire.lock().await;
        self.send_news().await?;
        {
            let mut inner = self.lock();
            self.drop_passed(&mut inner, Instant::now());
        }
        let usd = self.settings.usd;
        loop {
            let Some(back) = self.lock().owed.take(usd) else { return Ok(()) };
            if let Err(error) = self.ledger.give_back(&self.settings.account, back).await {
                if !error.may_be_done {
                    self.lock().owed.put_back(&back, usd);
                }
                return Err(error);
            }
        }
    }

    /// Refunds everything unused. Must be the last call.
    pub(in crate::outbound) async fn close(&self) -> Result<(), LedgerError> {
        self.tasks.close();
        self.tasks.wait().await;
        self.lock().discard();
        self.flush().await
    }
}
