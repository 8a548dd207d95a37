//! The store level of a cache: responses that another or an earlier process received.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{Question, TimedAnswer};
use crate::domain::ids;
use crate::outbound::CacheResult;
use crate::store::{AnswerKey, Store, StoreError};

/// The store counts as unavailable if a statement takes longer than this.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time without statements after the store was unavailable.
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
    form: Form<A>,
    /// The store is not used until this time, because a statement failed.
    rests_until: Arc<Mutex<Option<Instant>>>,
}

impl<A> Clone for SharedLevel<A> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), form: self.form, rests_until: Arc::clone(&self.rests_until) }
    }
}

impl<A> fmt::Debug for SharedLevel<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLevel").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<A> SharedLevel<A> {
    pub fn new(store: Store, form: Form<A>) -> Self {
        Self { store, form, rests_until: Arc::default() }
    }

    /// Returns the shared response or that of `ask`, which it then stores: a statement each.
    pub(super) async fn get_or_ask<E, F, R>(
        &self,
        question: &Question<'_>,
        ttl: impl Fn(&A) -> Duration,
        ask: F,
    ) -> Result<(TimedAnswer<A>, CacheResult), E>
    where
        F: Fn() -> R,
        R: Future<Output = Result<A, E>>,
    {
        let hash = ids::question_hash(question.key);
        let key = AnswerKey { hash: &hash, provider: question.provider, claim: question.claim };
        let result = match self.within_limits(self.store.cached_answer(key)).await {
            Some(Some(cached)) => match (self.form.read)(cached.answer) {
                Ok(answer) => {
                    let cached = TimedAnswer { answer: Arc::new(answer), ttl: cached.expires_in };
                    return Ok((cached, CacheResult::HitShared));
                }
                // Another version wrote this response: request and overwrite it.
                Err(error) => {
                    tracing::debug!(provider = key.provider, %error, "cached provider response has another format");
                    CacheResult::Miss
                }
            },
            Some(None) => CacheResult::Miss,
            None => CacheResult::MissUnshared,
        };
        let answer = ask().await?;
        let ttl = ttl(&answer);
        match (self.form.write)(&answer) {
            Ok(Some(value)) => {
                let _is_stored = self.within_limits(self.store.keep_answer(key, &value, ttl)).await;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(provider = key.provider, %error, "provider response cannot be serialized and is not shared");
            }
        }
        Ok((TimedAnswer { answer: Arc::new(answer), ttl }, result))
    }

    /// Returns `None` if the store is unavailable, or refused the values.
    async fn within_limits<T>(&self, statement: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let now = Instant::now();
        if self.rests_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| now < until) {
            return None;
        }
        let failure = match timeout(STORE_TIMEOUT, statement).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) if error.is_of_values() => {
                tracing::warn!(label = error.label(), %error, "provider response rejected by the store");
                return None;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => format!("no answer within {} s", STORE_TIMEOUT.as_secs()),
        };
        tracing::warn!(
            error = failure,
            rest.s = STORE_REST.as_secs(),
            "reading cached provider responses failed; querying providers"
        );
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + STORE_REST);
        None
    }
}
