//! What other processes of the fleet say through the database: one connection hears all of it.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};

use tokio::time::timeout;

use super::{Store, StoreError, bounded, domains, fleet};

/// After so long without a word it is asked whether the connection still carries one: a firewall that forgot it says nothing.
const SILENCE: Duration = Duration::from_secs(30);
/// The answer to that takes a moment.
const ROUND_TRIP: Duration = Duration::from_secs(5);

/// A connection of its own, beside the pool.
#[derive(Debug)]
pub struct Listener {
    listener: PgListener,
    store: Store,
}

impl Listener {
    /// Waits for the next change by another process, and wakes whoever waits for it here. A lost connection is made anew by
    /// itself, and all are woken then: something may have been said meanwhile.
    ///
    /// # Errors
    /// When no connection can be had, or this one carries nothing any more: listen anew.
    pub async fn hear(&mut self) -> Result<(), StoreError> {
        let said = loop {
            // Safe to be cut off: what came in meanwhile is kept for the next call.
            match timeout(SILENCE, self.listener.try_recv()).await {
                Ok(said) => break said?,
                Err(_elapsed) => self.is_there().await?,
            }
        };
        let channel = said.as_ref().map(PgNotification::channel);
        if channel != Some(fleet::CHANNEL) {
            self.store.wake_rules.notify_one();
        }
        if channel != Some(domains::CHANNEL) {
            self.store.wake_fleet.notify_one();
        }
        Ok(())
    }

    async fn is_there(&mut self) -> Result<(), StoreError> {
        let asked = timeout(ROUND_TRIP, sqlx::query("SELECT 1").execute(&mut self.listener)).await;
        asked.unwrap_or_else(|_elapsed| Err(bounded::silence()))?;
        Ok(())
    }
}

impl Store {
    /// Begins to listen; `None` on the embedded store, which nobody else writes to.
    pub async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        if self.embedded {
            return Ok(None);
        }
        let options = self.direct.clone().unwrap_or_else(|| self.pool.connect_options());
        let own = PgPoolOptions::new().max_connections(1).connect_lazy_with(options.as_ref().clone());
        let direct = |error: sqlx::Error| match self.direct {
            Some(_) => StoreError::Direct(Box::new(error.into())),
            None => error.into(),
        };
        let mut listener = PgListener::connect_with(&own).await.map_err(direct)?;
        let listening = timeout(ROUND_TRIP, listener.listen_all([domains::CHANNEL, fleet::CHANNEL])).await;
        listening.unwrap_or_else(|_elapsed| Err(bounded::silence())).map_err(direct)?;
        // What was changed before this moment is looked up now, and nothing after it is missed.
        self.wake_rules.notify_one();
        self.wake_fleet.notify_one();
        Ok(Some(Listener { listener, store: self.clone() }))
    }
}
