//! The pause while the store is away: nothing is consumed, no attempt counts, and work goes on by itself afterwards.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;

/// Asks whether the store takes what is written to it. Asked only during a pause.
pub type Probe = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Whether work is paused, and why.
#[derive(Debug)]
pub(super) struct Pause(watch::Sender<Option<String>>);

impl Pause {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Pauses work; nothing changes where it is paused already.
    pub(super) fn begin(&self, why: &str) {
        self.0.send_if_modified(|paused| {
            let begins = paused.is_none();
            if begins {
                *paused = Some(why.to_owned());
            }
            begins
        });
    }

    /// Returns when work is not paused.
    pub(super) async fn over(&self) {
        let mut paused = self.0.subscribe();
        // The sender is in `self`: it cannot be gone.
        let _closed = paused.wait_for(Option::is_none).await;
    }

    /// Returns when work is paused, with the reason.
    pub(super) async fn begun(&self) -> String {
        let mut paused = self.0.subscribe();
        match paused.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_closed) => String::new(),
        }
    }

    pub(super) fn end(&self) {
        self.0.send_replace(None);
    }
}
