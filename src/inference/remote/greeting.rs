//! Finds out what a model server serves.
//!
//! Repeats the request while the server starts.

use tokio::time::{Instant, sleep_until};

use super::Patience;
use super::error::{RemoteError, words};
use super::info::{Info, read};
use super::server::{Answer, Server};
use crate::outbound::{AskError, Delays};

/// Requests `/info`; `None` if the server answers but has none.
pub(super) async fn look(server: &Server, patience: Patience) -> Result<Option<Info>, RemoteError> {
    let began = Instant::now();
    let mut pauses = Delays::new();
    let mut is_logged = false;
    loop {
        let (error, wait) = match server.info().await {
            Ok(Answer::Done(body)) => return Ok(read(&body)),
            // Other servers need a key for every path or do not have this one.
            Ok(Answer::Key(_) | Answer::Refused(_) | Answer::TooLong | Answer::TooMany(_)) => return Ok(None),
            Ok(Answer::Busy) => ("is overloaded".to_owned(), patience.loading),
            Err(error @ AskError::Server { .. }) => (words(&error), patience.loading),
            Err(error @ (AskError::Connect { .. } | AskError::Lost { .. })) => (words(&error), patience.starting),
            Err(error) => (words(&error), std::time::Duration::ZERO),
        };
        let again = Instant::now() + pauses.next();
        if again > began + wait {
            return Err(server.away(error));
        }
        if !is_logged {
            tracing::info!(server = %server.shown(), %error, "waiting for the model server");
            is_logged = true;
        }
        sleep_until(again).await;
    }
}
