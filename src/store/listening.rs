//! Receives `NOTIFY` messages about the domain lists from other processes, on one connection.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};

use tokio::time::timeout;

use super::{Store, StoreError, domains, pool};

/// Silence after which the connection is tested: a firewall may drop it unnoticed.
const SILENCE: Duration = Duration::from_secs(30);
const ROUND_TRIP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Listener {
    listener: PgListener,
    store: Store,
}

impl Listener {
    /// Waits for a change by another process and notifies the waiting tasks, also after a reconnect, because messages may
    /// be lost.
    ///
    /// # Errors
    /// If the connection is lost and cannot be replaced; call [`Store::listen`] again.
    pub async fn receive(&mut self) -> Result<(), StoreError> {
        loop {
            // Cancel-safe: received messages are kept for the next call.
            match timeout(SILENCE, self.listener.try_recv()).await {
                Ok(notification) => {
                    notification?;
                    self.store.wake_rules.notify_one();
                    return Ok(());
                }
                Err(_elapsed) => self.is_there().await?,
            }
        }
    }

    async fn is_there(&mut self) -> Result<(), StoreError> {
        let asked = timeout(ROUND_TRIP, sqlx::query("SELECT 1").execute(&mut self.listener)).await;
        asked.unwrap_or_else(|_elapsed| Err(pool::silence()))?;
        Ok(())
    }
}

impl Store {
    /// Starts to listen; `None` for the embedded store, which has one process.
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
        let listening = timeout(ROUND_TRIP, listener.listen(domains::CHANNEL)).await;
        listening.unwrap_or_else(|_elapsed| Err(pool::silence())).map_err(direct)?;
        // Earlier changes are read now; later ones are notified.
        self.wake_rules.notify_one();
        Ok(Some(Listener { listener, store: self.clone() }))
    }
}
