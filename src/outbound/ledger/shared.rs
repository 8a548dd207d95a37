//! The ledger of a fleet: in the store all its processes share.

use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{LeaseTerms, Leased, Ledger, LedgerError, Opening, Returned, SharedBreaker};
use crate::store::{Store, StoreError};

/// In the store.
#[derive(Debug)]
pub struct StoreLedger {
    store: Store,
}

impl StoreLedger {
    pub const fn new(store: Store) -> Self {
        Self { store }
    }
}

fn unknown(error: &StoreError) -> LedgerError {
    LedgerError { detail: error.to_string(), may_be_done: true }
}

async fn told<T>(statement: impl Future<Output = Result<T, StoreError>>) -> Result<T, LedgerError> {
    statement.await.map_err(|error| unknown(&error))
}

impl Ledger for StoreLedger {
    fn lease(&self, terms: LeaseTerms) -> BoxFuture<'_, Result<Leased, LedgerError>> {
        async move {
            let connection = self.store.fleet_connection().await;
            let mut connection =
                connection.map_err(|error| LedgerError { detail: error.to_string(), may_be_done: false })?;
            let sent = Instant::now();
            let answer = told(connection.lease(&terms)).await?;
            Ok(Leased { sent, received: Instant::now(), answer })
        }
        .boxed()
    }

    fn give_back<'a>(&'a self, provider: &'a str, back: Returned) -> BoxFuture<'a, Result<(), LedgerError>> {
        async move { told(self.store.give_back(provider, &back)).await }.boxed()
    }

    fn open<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>> {
        async move { told(self.store.open_breaker(provider, identity, &opening)).await }.boxed()
    }

    fn close<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        version: i64,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>> {
        told(self.store.close_breaker(provider, identity, version)).boxed()
    }
}
