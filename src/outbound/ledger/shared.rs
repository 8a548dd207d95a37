//! The ledger of a fleet, in the shared store.

use std::future::Future;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{LeaseResponse, LeaseTerms, Ledger, LedgerError, Opening, ReturnedPermits, SharedBreaker};
use crate::store::{Store, StoreError};

/// Pauses before retries, as for reads of the store.
const PAUSES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(100)];

#[derive(Debug)]
pub struct StoreLedger {
    store: Store,
}

impl StoreLedger {
    pub const fn new(store: Store) -> Self {
        Self { store }
    }

    async fn lease_once(&self, terms: &LeaseTerms) -> Result<LeaseResponse, LeaseError> {
        let connection = self.store.fleet_connection().await;
        let mut connection = connection.map_err(|error| LeaseError { error, may_be_done: false })?;
        let sent = Instant::now();
        let answer = connection.lease(terms).await.map_err(|error| LeaseError { error, may_be_done: true })?;
        Ok(LeaseResponse { sent, received: Instant::now(), answer })
    }
}

struct LeaseError {
    error: StoreError,
    may_be_done: bool,
}

fn ledger_error(error: &StoreError, may_be_done: bool) -> LedgerError {
    LedgerError { detail: error.to_string(), may_be_done }
}

async fn execute<T>(statement: impl Future<Output = Result<T, StoreError>>) -> Result<T, LedgerError> {
    statement.await.map_err(|error| ledger_error(&error, true))
}

impl Ledger for StoreLedger {
    fn lease(&self, terms: LeaseTerms) -> BoxFuture<'_, Result<LeaseResponse, LedgerError>> {
        async move {
            let mut terms = terms;
            for pause in PAUSES {
                match self.lease_once(&terms).await {
                    Err(LeaseError { error, .. }) if error.lost_its_connection() => {}
                    once => return once.map_err(|LeaseError { error, may_be_done }| ledger_error(&error, may_be_done)),
                }
                // A database restart cuts every connection and is no reason to leave out a provider. A lost lease's
                // permits expire unused, and its refund is not repeated.
                terms.back = None;
                tokio::time::sleep(pause).await;
            }
            self.lease_once(&terms).await.map_err(|LeaseError { error, .. }| ledger_error(&error, true))
        }
        .boxed()
    }

    fn give_back<'a>(&'a self, provider: &'a str, back: ReturnedPermits) -> BoxFuture<'a, Result<(), LedgerError>> {
        async move { execute(self.store.give_back(provider, &back)).await }.boxed()
    }

    fn open<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>> {
        async move { execute(self.store.open_breaker(provider, identity, &opening)).await }.boxed()
    }

    fn close<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        version: i64,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>> {
        execute(self.store.close_breaker(provider, identity, version)).boxed()
    }
}
