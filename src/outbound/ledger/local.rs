//! The in-memory ledger of a single process, with the database's rules.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{
    BreakerKind, LeaseAnswer, LeaseDecision, LeaseResponse, LeaseTerms, Ledger, LedgerError, Limit, Opening,
    ReturnedPermits, SharedBreaker,
};
use crate::domain::Clock;

/// A breaker with absolute times instead of the remaining ones of [`SharedBreaker`].
#[derive(Debug, Clone)]
struct Breaker {
    state: SharedBreaker,
    until: Instant,
    probe_until: Instant,
}

impl Breaker {
    fn shown(&self, now: Instant) -> SharedBreaker {
        let mut shown = self.state.clone();
        shown.until_in = self.until.saturating_duration_since(now);
        shown.probe_in = Some(self.probe_until.saturating_duration_since(now)).filter(|left| !left.is_zero());
        shown
    }
}

#[derive(Debug, Default)]
struct LedgerState {
    next: HashMap<Arc<str>, Instant>,
    days: HashMap<(Arc<str>, NaiveDate), u64>,
    months: HashMap<(Arc<str>, NaiveDate), u64>,
    spent: HashMap<NaiveDate, f64>,
    breakers: HashMap<(Arc<str>, String), Breaker>,
}

/// Keeps limits in memory. They do not outlast the process.
#[derive(Debug)]
pub struct LocalLedger {
    clock: Arc<dyn Clock>,
    books: Mutex<LedgerState>,
}

impl LocalLedger {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, books: Mutex::default() }
    }

    /// US dollars spent this month.
    pub fn spent_usd(&self) -> f64 {
        let month = month_of(self.clock.now());
        self.lock().spent.get(&month).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        // Each change is complete before a panic can occur.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, terms: &LeaseTerms) -> LeaseResponse {
        let (now, utc) = (Instant::now(), self.clock.now());
        let mut books = self.lock();
        if let Some(back) = &terms.back {
            books.take_back(&terms.provider, back);
        }
        let decision = books.decide(terms, now, utc);
        let breaker = books.breakers.get(&(Arc::clone(&terms.provider), terms.identity.clone()));
        let breaker = breaker.map_or_else(SharedBreaker::default, |breaker| breaker.shown(now));
        LeaseResponse { sent: now, received: now, answer: LeaseAnswer { decision, breaker } }
    }
}

impl LedgerState {
    fn take_back(&mut self, provider: &str, back: &ReturnedPermits) {
        let (day, month) = (back.leased_for.date_naive(), month_of(back.leased_for));
        let provider: Arc<str> = Arc::from(provider);
        let days = self.days.get_mut(&(Arc::clone(&provider), day));
        for used in [days, self.months.get_mut(&(provider, month))].into_iter().flatten() {
            *used = used.saturating_sub(u64::from(back.slots));
        }
        if let Some(spent) = self.spent.get_mut(&month) {
            *spent = (*spent - back.usd).max(0.0);
        }
    }

    /// Applies the rules of the database function in its order.
    fn decide(&mut self, terms: &LeaseTerms, now: Instant, utc: DateTime<Utc>) -> LeaseDecision {
        let key = (Arc::clone(&terms.provider), terms.identity.clone());
        let breaker = self.breakers.get(&key).filter(|breaker| breaker.state.kind != BreakerKind::Ready);
        let probe = breaker.is_some();
        if let Some(breaker) = breaker {
            let out = breaker.probe_until > now && terms.held_probe != Some(breaker.state.version);
            if breaker.until > now || out {
                return LeaseDecision::LeftAlone;
            }
        }
        let first = self.next.get(&terms.provider).copied().unwrap_or(now).max(now);
        let first_in = first - now;
        if first_in > terms.patience {
            return LeaseDecision::NotBefore(first_in);
        }
        let leased_for =
            utc.checked_add_signed(chrono::Duration::from_std(first_in).unwrap_or_default()).unwrap_or(utc);
        let of = |window: NaiveDate| (Arc::clone(&terms.provider), window);
        let (day, month) = (of(leased_for.date_naive()), of(month_of(leased_for)));
        let left = |limit: Option<u32>, used: Option<&u64>| {
            limit.map_or(u64::MAX, |limit| u64::from(limit).saturating_sub(used.copied().unwrap_or(0)))
        };
        let day_left = left(terms.day_limit, self.days.get(&day));
        let month_left = left(terms.month_limit, self.months.get(&month));
        if day_left == 0 {
            return LeaseDecision::Limited(Limit::Day, until(utc, next_day(leased_for)));
        }
        if month_left == 0 {
            return LeaseDecision::Limited(Limit::Month, until(utc, next_month(leased_for)));
        }
        let spent = self.spent.entry(month.1).or_default();
        let affordable = match terms.cap_usd {
            // Tolerates rounding; the lowest price is some millionths.
            Some(cap) if terms.usd > 0.0 => ((cap - *spent) / terms.usd + 1e-9).floor().max(0.0) as u64,
            _ => u64::MAX,
        };
        if affordable == 0 {
            return LeaseDecision::Limited(Limit::Cap, until(utc, next_month(leased_for)));
        }
        let wanted = if probe { 1 } else { u64::from(terms.wanted) };
        let nanos = terms.period.as_nanos().max(1);
        let in_time = 1 + terms.horizon.saturating_sub(first_in).as_nanos() / nanos;
        let slots =
            wanted.min(u64::try_from(in_time).unwrap_or(u64::MAX)).min(day_left).min(month_left).min(affordable);
        let slots = u32::try_from(slots).unwrap_or(u32::MAX);
        *spent += terms.usd * f64::from(slots);
        *self.days.entry(day).or_default() += u64::from(slots);
        *self.months.entry(month).or_default() += u64::from(slots);
        self.next.insert(Arc::clone(&terms.provider), first + terms.period * slots);
        if let Some(breaker) = self.breakers.get_mut(&key).filter(|_| probe) {
            breaker.probe_until = first + terms.probe_time;
            breaker.state.version += 1;
        }
        let day_ends_in = until(utc, next_day(leased_for));
        LeaseDecision::Granted { slots, first_in, day_ends_in, leased_for, probe }
    }

    fn open(&mut self, key: (Arc<str>, String), opening: Opening, now: Instant) -> SharedBreaker {
        let until = now + opening.wait;
        let breaker = self.breakers.entry(key).or_insert_with(|| Breaker {
            state: SharedBreaker::default(),
            until: now,
            probe_until: now,
        });
        let fresh = breaker.state.kind == BreakerKind::Ready || breaker.state.version == opening.version;
        if fresh || until > breaker.until {
            breaker.until = until;
            breaker.state.kind = opening.kind;
            breaker.state.reason = Some(opening.reason);
            breaker.state.error = Some(opening.error.to_owned());
            breaker.state.version += 1;
        }
        if fresh {
            breaker.state.trips += 1;
            breaker.probe_until = now;
        }
        breaker.shown(now)
    }
}

impl Ledger for LocalLedger {
    fn lease(&self, terms: LeaseTerms) -> BoxFuture<'_, Result<LeaseResponse, LedgerError>> {
        ready(Ok(self.answer(&terms))).boxed()
    }

    fn give_back<'a>(&'a self, provider: &'a str, back: ReturnedPermits) -> BoxFuture<'a, Result<(), LedgerError>> {
        self.lock().take_back(provider, &back);
        ready(Ok(())).boxed()
    }

    fn open<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>> {
        ready(Ok(self.lock().open((Arc::from(provider), identity.to_owned()), opening, Instant::now()))).boxed()
    }

    fn close<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        version: i64,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>> {
        let now = Instant::now();
        let mut books = self.lock();
        let shown = books.breakers.get_mut(&(Arc::from(provider), identity.to_owned())).map(|breaker| {
            if breaker.state.version == version {
                breaker.state = SharedBreaker { version: version + 1, ..SharedBreaker::default() };
                (breaker.until, breaker.probe_until) = (now, now);
            }
            breaker.shown(now)
        });
        drop(books);
        ready(Ok(shown.unwrap_or_default())).boxed()
    }
}

fn month_of(utc: DateTime<Utc>) -> NaiveDate {
    let day = utc.date_naive();
    day.with_day(1).unwrap_or(day)
}

fn next_day(utc: DateTime<Utc>) -> NaiveDate {
    let day = utc.date_naive();
    day.succ_opt().unwrap_or(day)
}

fn next_month(utc: DateTime<Utc>) -> NaiveDate {
    let month = month_of(utc);
    month.checked_add_months(chrono::Months::new(1)).unwrap_or(month)
}

fn until(utc: DateTime<Utc>, day: NaiveDate) -> Duration {
    let midnight = day.and_time(chrono::NaiveTime::MIN).and_utc();
    (midnight - utc).to_std().unwrap_or_default()
}
