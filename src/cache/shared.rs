//! The store level of a cache: shared responses, and one request for a key among all processes.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::behind::WriteBehind;
use super::{FlightError, Question, TimedAnswer};
use crate::domain::{Clock, ids};
use crate::outbound::CacheResult;
use crate::store::{AnswerKey, AnswerLookup, AnswerNote, CachedAnswer, Store, StoreError};

/// Lifetime of an unrenewed claim: after a process is killed, its request is made again after this time.
const LONGEST_LEASE: Duration = Duration::from_secs(4);
/// Most responses arrive earlier and need no renewal of the claim.
const RENEWAL: Duration = Duration::from_millis(1_500);
/// Added to the caller's time, so that a response in the last moment can still be written.
const LEASE_MARGIN: Duration = Duration::from_millis(500);
/// Pauses between lookups while another process makes the request; they grow.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(300);
/// The store counts as unavailable if a statement takes longer than this.
const STORE_PATIENCE: Duration = Duration::from_secs(2);
/// Time without lookups after the store was unavailable.
const STORE_REST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Form<A> {
    /// Returns `None` for an incomplete response, which is not shared.
    pub write: fn(&A) -> serde_json::Result<Option<Value>>,
    pub read: fn(Value) -> serde_json::Result<A>,
}

impl<A> Clone for Form<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Form<A> {}

pub struct SharedLevel<A> {
    store: Store,
    behind: WriteBehind,
    clock: Arc<dyn Clock>,
    form: Form<A>,
    /// The store is not used until this time, because a statement failed.
    rests_until: Arc<Mutex<Option<Instant>>>,
}

impl<A> Clone for SharedLevel<A> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            behind: self.behind.clone(),
            clock: Arc::clone(&self.clock),
            form: self.form,
            rests_until: Arc::clone(&self.rests_until),
        }
    }
}

impl<A> fmt::Debug for SharedLevel<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLevel").field("embedded", &self.store.is_embedded()).finish_non_exhaustive()
    }
}

enum LookupOutcome<'a> {
    Cached(CachedAnswer),
    Claimed(Claim<'a>),
    Held,
    Unavailable,
}

impl<A> SharedLevel<A> {
    /// `behind` writes the responses; all caches of a process share one.
    pub fn new(store: Store, behind: WriteBehind, clock: Arc<dyn Clock>, form: Form<A>) -> Self {
        Self { store, behind, clock, form, rests_until: Arc::default() }
    }

    /// Returns the shared response or that of `ask`. A lookup costs one statement; the response is written later. An
    /// error releases the claim, so that the next waiting caller makes the request.
    pub(super) async fn get_or_ask<E, F, R>(
        &self,
        question: &Question<'_>,
        ttl: impl Fn(&A) -> Duration,
        ask: F,
    ) -> Result<(TimedAnswer<A>, CacheResult), E>
    where
        E: FlightError,
        F: Fn() -> R,
        R: Future<Output = Result<A, E>>,
    {
        let hash = ids::question_hash(question.key);
        let key = AnswerKey { hash: &hash, provider: question.provider, claim: question.claim };
        let mut pause = FIRST_PAUSE;
        let mut waited = false;
        loop {
            let now = self.clock.now();
            match self.look(key, question.until).await {
                LookupOutcome::Cached(cached) => match (self.form.read)(cached.answer) {
                    Ok(answer) => {
                        let left = (cached.expires_at - now).to_std().unwrap_or_default();
                        let result = if waited { CacheResult::Waited } else { CacheResult::HitShared };
                        return Ok((TimedAnswer { answer: Arc::new(answer), ttl: left }, result));
                    }
                    // Another version wrote this response: request and overwrite it.
                    Err(error) => {
                        tracing::debug!(provider = question.provider, %error, "cached provider response has another format");
                        return self.ask(key, None, &ttl, &ask).await;
                    }
                },
                LookupOutcome::Claimed(claim) => return self.ask(key, Some(claim), &ttl, &ask).await,
                LookupOutcome::Unavailable => {
                    let answer = ask().await?;
                    let ttl = ttl(&answer);
                    return Ok((TimedAnswer { answer: Arc::new(answer), ttl }, CacheResult::MissUnshared));
                }
                LookupOutcome::Held => {
                    waited = true;
                    // Random, so that waiting processes do not look at the same time.
                    let next = pause.mul_f64(0.75 + rand::random::<f64>() / 2.0);
                    if Instant::now() + next >= question.until {
                        return Err(E::deadline());
                    }
                    sleep(next).await;
                    pause = (pause * 3 / 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn ask<E, F, R>(
        &self,
        key: AnswerKey<'_>,
        claim: Option<Claim<'_>>,
        ttl: impl Fn(&A) -> Duration,
        ask: F,
    ) -> Result<(TimedAnswer<A>, CacheResult), E>
    where
        F: Fn() -> R,
        R: Future<Output = Result<A, E>>,
    {
        let answer = match claim.as_ref().and_then(|claim| claim.holder.clone()) {
            Some(holder) => self.holding(key, &holder, ask()).await?,
            None => ask().await?,
        };
        let ttl = ttl(&answer);
        match (self.form.write)(&answer) {
            // Not shared. The claim is released, so that the next caller requests all parts.
            Ok(None) => {}
            Ok(Some(value)) => {
                let cached_at = self.clock.now();
                let expires_at = cached_at + TimeDelta::from_std(ttl).unwrap_or(TimeDelta::zero());
                let holder = claim.map(Claim::answered);
                let note = note(key, holder.flatten(), Some(value), cached_at, expires_at);
                self.behind.write(note);
            }
            Err(error) => {
                tracing::warn!(provider = key.provider, %error, "provider response cannot be serialized and is not shared");
            }
        }
        Ok((TimedAnswer { answer: Arc::new(answer), ttl }, CacheResult::Miss))
    }

    /// Waits for the response and renews the claim. If a renewal fails, the next one follows, or the claim expires and
    /// another caller also makes the request.
    async fn holding<T>(&self, key: AnswerKey<'_>, holder: &str, asking: impl Future<Output = T>) -> T {
        tokio::pin!(asking);
        loop {
            if let Ok(outcome) = timeout(RENEWAL, asking.as_mut()).await {
                return outcome;
            }
            // Cancel-safe: the statement takes effect completely or not at all.
            tokio::select! {
                outcome = asking.as_mut() => return outcome,
                renewed = self.store.renew_claim(key, holder, LONGEST_LEASE + LEASE_MARGIN) => {
                    if let Err(error) = renewed {
                        tracing::debug!(provider = key.provider, %error, "cache claim could not be renewed");
                    }
                }
            }
        }
    }

    /// Looks up the response or claims the request. An embedded store has only one process, so no claim must be
    /// released.
    async fn look<'a>(&'a self, key: AnswerKey<'a>, until: Instant) -> LookupOutcome<'a> {
        if self.rests() {
            return LookupOutcome::Unavailable;
        }
        let now = self.clock.now();
        let lease = until.saturating_duration_since(Instant::now()).min(LONGEST_LEASE) + LEASE_MARGIN;
        let holder = format!("{:032x}", rand::random::<u128>());
        // Created before the statement, because a cancelled statement may have stored the claim.
        let held = (!self.store.is_embedded()).then(|| holder.clone());
        let mut claim = Claim { level: &self.behind, key, holder: held, now };
        match self.patiently(self.store.answer_or_claim(key, now, &holder, lease)).await {
            Some(AnswerLookup::Cached(cached)) => {
                claim.holder = None;
                LookupOutcome::Cached(cached)
            }
            Some(AnswerLookup::Claimed) => LookupOutcome::Claimed(claim),
            Some(AnswerLookup::Held) => {
                claim.holder = None;
                LookupOutcome::Held
            }
            None => LookupOutcome::Unavailable,
        }
    }

    /// Returns `None` if the store is unavailable.
    async fn patiently<T>(&self, statement: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let failure = match timeout(STORE_PATIENCE, statement).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => format!("no answer within {} s", STORE_PATIENCE.as_secs()),
        };
        let mut rests = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if rests.is_none_or(|until| until <= now) {
            tracing::warn!(
                error = failure,
                rest.s = STORE_REST.as_secs(),
                "reading cached provider responses failed; querying providers"
            );
        }
        *rests = Some(now + STORE_REST);
        None
    }

    fn rests(&self) -> bool {
        let rests = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        rests.is_some_and(|until| Instant::now() < until)
    }
}

/// The right to make the request. A drop without a response (error or cancellation) releases it at once.
struct Claim<'a> {
    level: &'a WriteBehind,
    key: AnswerKey<'a>,
    holder: Option<String>,
    now: chrono::DateTime<chrono::Utc>,
}

impl Claim<'_> {
    /// Returns the holder for the note that stores the response and releases the claim.
    fn answered(mut self) -> Option<String> {
        self.holder.take()
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(holder) = self.holder.take() {
            self.level.write(note(self.key, Some(holder), None, self.now, self.now));
        }
    }
}

fn note(
    key: AnswerKey<'_>,
    holder: Option<String>,
    answer: Option<Value>,
    cached_at: chrono::DateTime<chrono::Utc>,
    expires_at: chrono::DateTime<chrono::Utc>,
) -> AnswerNote {
    AnswerNote {
        key: key.hash.to_owned(),
        provider: key.provider.to_owned(),
        claim: key.claim.map(str::to_owned),
        answer,
        cached_at,
        expires_at,
        holder,
    }
}

/// Whether the `ask` of this caller's own flight has started.
#[derive(Debug, Default)]
pub(super) struct StartFlag(AtomicBool);

impl StartFlag {
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
