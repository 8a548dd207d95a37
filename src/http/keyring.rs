//! Tokens: those of the configuration, and those of the store, cached for [`CACHE_TIME`].
//!
//! The cache saves a query per request, and revocation still takes effect within seconds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use moka::future::Cache;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::HttpSettings;
use super::auth::Scope;
use super::limit::PeerLimit;
use super::problem::Problem;
use crate::store::{SessionToken, Store, StoreError, StoredToken};

/// A revoked token ends within it.
const CACHE_TIME: Duration = Duration::from_secs(5);
/// More than there are tokens, because guesses are cached too.
const CACHE_SIZE: u64 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiToken {
    /// `None`: a token of the configuration.
    pub(crate) id: Option<i64>,
    /// For the audit log: `ADMIN_TOKEN`, `token <name>`.
    pub(crate) name: Arc<str>,
    pub(crate) scope: Scope,
    per_minute: Option<u32>,
}

impl ApiToken {
    pub(crate) fn configured(name: &str, scope: Scope) -> Self {
        Self { id: None, name: name.into(), scope, per_minute: None }
    }

    pub(crate) fn of_session(token: &SessionToken, scope: Scope) -> Self {
        Self::stored(token.id, &token.name, scope, token.requests_per_minute)
    }

    fn stored(id: i64, name: &str, scope: Scope, per_minute: Option<u32>) -> Self {
        Self { id: Some(id), name: format!("token {name}").into(), scope, per_minute }
    }
}

#[derive(Debug)]
pub(crate) struct Keyring {
    /// By digest: comparing digests also hides a token's length. Empty: no token is required.
    configured: Vec<([u8; 32], ApiToken)>,
    store: Option<Store>,
    /// By digest.
    known: Cache<[u8; 32], Option<ApiToken>>,
    /// Of tokens with their own limit, by id.
    limits: Mutex<HashMap<i64, (u32, Arc<PeerLimit>)>>,
}

impl Keyring {
    pub(crate) fn new(settings: &HttpSettings, store: Option<Store>) -> Self {
        let token =
            |secret: &SecretString, name, scope| (digest(secret.expose_secret()), ApiToken::configured(name, scope));
        let admin = settings.admin_token.as_ref().map(|secret| token(secret, "ADMIN_TOKEN", Scope::Admin));
        let read = settings.read_token.as_ref().map(|secret| token(secret, "http.read_token", Scope::Read));
        let configured = if admin.is_some() { admin.into_iter().chain(read).collect() } else { Vec::new() };
        let known = Cache::builder().max_capacity(CACHE_SIZE).time_to_live(CACHE_TIME).build();
        Self { configured, store, known, limits: Mutex::default() }
    }

    /// Whether the server requires a token, so that people can sign in.
    pub(crate) const fn requires_token(&self) -> bool {
        !self.configured.is_empty()
    }

    pub(crate) const fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Returns the token of the configuration.
    pub(crate) fn configured(&self, secret: &str) -> Option<&ApiToken> {
        let given = digest(secret);
        // The first match may end the search: an attacker does not choose which token exists.
        let same = |known: &&([u8; 32], ApiToken)| !secret.is_empty() && bool::from(known.0.ct_eq(&given));
        self.configured.iter().find(same).map(|(_, token)| token)
    }

    /// Returns the digest and the token of the configuration with this scope.
    pub(crate) fn configured_for(&self, scope: Scope) -> Option<&([u8; 32], ApiToken)> {
        self.configured.iter().find(|(_, token)| token.scope == scope)
    }

    /// Returns the token of the store.
    pub(crate) async fn stored(&self, secret: &str) -> Result<Option<ApiToken>, Problem> {
        let Some(store) = self.store.as_ref().filter(|_| !secret.is_empty()) else { return Ok(None) };
        let digest = digest(secret);
        let found = self.known.try_get_with(digest, async {
            let stored = store.token_of(digest).await?;
            Ok::<_, StoreError>(stored.as_ref().and_then(token_of))
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
        let (Some(id), Some(per_minute)) = (token.id, token.per_minute) else { return Ok(()) };
        let limit = {
            let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
            let known = limits.get(&id).filter(|(rate, _)| *rate == per_minute).map(|(_, limit)| Arc::clone(limit));
            match known.or_else(|| PeerLimit::new(per_minute).map(Arc::new)) {
                Some(limit) => {
                    limits.insert(id, (per_minute, Arc::clone(&limit)));
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

fn token_of(stored: &StoredToken) -> Option<ApiToken> {
    let scope = Scope::parse(&stored.scope)?;
    Some(ApiToken::stored(stored.id, &stored.name, scope, stored.requests_per_minute))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
