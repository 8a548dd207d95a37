//! What other processes of the fleet say through the database: one connection hears all of it.

use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};

use super::{Store, StoreError, domains, fleet};

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
    /// When no connection can be had.
    pub async fn hear(&mut self) -> Result<(), StoreError> {
        let said = self.listener.try_recv().await?;
        let channel = said.as_ref().map(PgNotification::channel);
        if channel != Some(fleet::CHANNEL) {
            self.store.wake_rules.notify_one();
        }
        if channel != Some(domains::CHANNEL) {
            self.store.wake_fleet.notify_one();
        }
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
        listener.listen_all([domains::CHANNEL, fleet::CHANNEL]).await.map_err(direct)?;
        // What was changed before this moment is looked up now, and nothing after it is missed.
        self.wake_rules.notify_one();
        self.wake_fleet.notify_one();
        Ok(Some(Listener { listener, store: self.clone() }))
    }
}
