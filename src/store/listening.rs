//! Receives `NOTIFY` messages of other processes on one connection.
//!
//! To add a channel, listen to it in [`Store::listen`] and wake its waiting tasks in [`Listener::receive`].

use std::time::Duration;

use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};

use tokio::time::timeout;

use super::{Store, StoreError, domains, fleet, pool};

/// Silence after which the connection is tested: a firewall may drop it unnoticed.
const SILENCE: Duration = Duration::from_secs(30);
const ROUND_TRIP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Listener {
    listener: PgListener,
    store: Store,
}

impl Listener {
    /// Waits for a change by another process and notifies the waiting tasks. After a reconnect it notifies all, because
    /// messages may be lost.
    ///
    /// # Errors
    /// If the connection is lost and cannot be replaced; call [`Store::listen`] again.
    pub async fn receive(&mut self) -> Result<(), StoreError> {
        let notification = loop {
            // Cancel-safe: received messages are kept for the next call.
            match timeout(SILENCE, self.listener.try_recv()).await {
                Ok(notification) => break notification?,
                Err(_elapsed) => self.is_there().await?,
            }
        };
        let channel = notification.as_ref().map(PgNotification::channel);
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
        let listening = timeout(ROUND_TRIP, listener.listen_all([domains::CHANNEL, fleet::CHANNEL])).await;
        listening.unwrap_or_else(|_elapsed| Err(pool::silence())).map_err(direct)?;
        // Earlier changes are read now; later ones are notified.
        self.wake_rules.notify_one();
        self.wake_fleet.notify_one();
        Ok(Some(Listener { listener, store: self.clone() }))
    }
}
