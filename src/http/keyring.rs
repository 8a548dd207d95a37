//! Stored tokens, cached for [`BELIEVED`].
//!
//! The cache saves a query per request, and revocation still takes effect within seconds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use moka::future::Cache;

use super::limit::PeerLimit;
use super::problem::Problem;
use super::scope::Scope;
use crate::store::{SessionToken, Store, StoreError, StoredToken};

/// Cache time; a revoked token ends within it.
const BELIEVED: Duration = Duration::from_secs(5);
/// Cache size; more than there are tokens, because guesses are cached too.
const MOST_KNOWN: u64 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiToken {
    pub(crate) id: i64,
    pub(crate) name: Arc<str>,
    pub(crate) scope: Scope,
    per_minute: Option<u32>,
}

impl ApiToken {
    pub(crate) fn of_session(token: SessionToken, scope: Scope) -> Self {
        Self { id: token.id, name: token.name.into(), scope, per_minute: token.requests_per_minute }
    }
}

#[derive(Debug)]
pub(crate) struct TokenStore {
    store: Store,
    /// By digest.
    known: Cache<[u8; 32], Option<ApiToken>>,
    /// Of tokens with their own limit, by id.
    limits: Mutex<HashMap<i64, (u32, Arc<PeerLimit>)>>,
}

impl TokenStore {
    pub(crate) fn new(store: Store) -> Self {
        let known = Cache::builder().max_capacity(MOST_KNOWN).time_to_live(BELIEVED).build();
        Self { store, known, limits: Mutex::default() }
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) async fn of_digest(&self, digest: [u8; 32]) -> Result<Option<ApiToken>, Problem> {
        let found = self.known.try_get_with(digest, async {
            let stored = self.store.token_of(digest).await?;
            Ok::<_, StoreError>(stored.as_ref().and_then(named))
        });
        // Concurrent lookups share the error, so it cannot be matched by value.
        found.await.map_err(|error| {
            tracing::warn!(%error, "token lookup failed");
            Problem::unavailable(
                "store-away",
                "the store that knows the tokens cannot be reached at the moment; try again",
            )
        })
    }

    /// Counts a request of a token with its own limit.
    pub(crate) fn take(&self, token: &ApiToken) -> Result<(), Problem> {
        let Some(per_minute) = token.per_minute else { return Ok(()) };
        let limit = {
            let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
            let known =
                limits.get(&token.id).filter(|(rate, _)| *rate == per_minute).map(|(_, limit)| Arc::clone(limit));
            match known.or_else(|| PeerLimit::new(per_minute).map(Arc::new)) {
                Some(limit) => {
                    limits.insert(token.id, (per_minute, Arc::clone(&limit)));
                    limit
                }
                None => return Ok(()),
            }
        };
        // All bearers count as one client.
        limit.take(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).map_err(|wait| {
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                format!("this token may ask {per_minute} times a minute; wait as long as Retry-After says"),
            )
            .retry_after(wait)
        })
    }
}

fn named(stored: &StoredToken) -> Option<ApiToken> {
    let scope = Scope::parse(&stored.scope)?;
    Some(ApiToken { id: stored.id, name: stored.name.as_str().into(), scope, per_minute: stored.requests_per_minute })
}
