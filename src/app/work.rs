//! Connects the worker to the pipeline: processes a delivery and reports items without a result to upstream.
//!
//! [`process`] runs the pipeline, [`probe`] tests the store, and [`announce`] publishes notices.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

use crate::broker::Queue;
use crate::pipeline::{self, Outcome, PipelineError, Request, Services};
use crate::store::Store;
use crate::telemetry::{item_ended, item_span, remote_parent};
use crate::worker::{Announcer, ItemProcessor, Load, Notice, Probe, ProcessError, ProcessOutcome, Work, announce_over};

/// Time limit for the store check after an item failed.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn process(services: Arc<Services>) -> ItemProcessor {
    Arc::new(move |work: Work| {
        let services = Arc::clone(&services);
        let parent = work.traceparent.as_deref().and_then(remote_parent);
        let span = item_span(&work.item.item_id, work.phase.as_str(), parent.as_ref());
        let worked = async move {
            let request = Request {
                item: work.item,
                phase: work.phase,
                message_id: work.message_id,
                reply_to: work.reply_to,
                reply_refused: work.reply_refused,
                correlation_id: work.correlation_id,
                sent_at: work.sent_at,
                redelivered: work.redelivered,
                personal: false,
                again: false,
                rejudging: None,
                shed: matches!(work.load, Load::Degrade),
                watcher: None,
            };
            let (outcome, done) = match pipeline::run(&services, &request).await {
                Ok(Outcome::Done(_)) => ("committed", Ok(ProcessOutcome::Committed)),
                Ok(Outcome::AlreadyDone { .. } | Outcome::Poorer(_)) => {
                    ("already_done", Ok(ProcessOutcome::AlreadyDone))
                }
                Err(error) => (error.label(), Err(classify(&error, &services.store).await)),
            };
            item_ended(outcome, done.is_err());
            done
        };
        Box::pin(worked.instrument(span))
    })
}

async fn classify(error: &PipelineError, store: &Store) -> ProcessError {
    let suspected = matches!(error, PipelineError::Store(error) if error.is_away());
    failure(error, suspected && !answers(store).await)
}

/// Converts the error for the worker. `away`: the store check failed too.
fn failure(error: &PipelineError, away: bool) -> ProcessError {
    use std::error::Error as _;
    let label = error.label();
    // Without payloads.
    let mut detail = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        detail.push_str(": ");
        detail.push_str(&cause.to_string());
        source = cause.source();
    }
    if away {
        ProcessError::Away { label, detail }
    } else if error.is_transient() {
        ProcessError::Transient { label, detail }
    } else {
        ProcessError::Permanent { label, detail }
    }
}

/// Returns true if the store accepts a write. Then the item may be the cause of its error, and the failure counts as an
/// attempt. Otherwise it would be retried without end and pay its providers each time.
async fn answers(store: &Store) -> bool {
    let answer = tokio::time::timeout(ANSWER_PATIENCE, store.check_writable()).await;
    matches!(answer, Ok(Ok(())))
}

pub(super) fn probe(store: Store) -> Probe {
    Arc::new(move || {
        let store = store.clone();
        Box::pin(async move {
            store.check_writable().await.map_err(|error| {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                format!("{error}{}", cause.unwrap_or_default())
            })
        })
    })
}

/// Publishes notices to the broker. Without a broker there is no reader, and the dead-letter table keeps the reason.
pub(super) fn announce(services: &Services, queue: Arc<dyn Queue>) -> Announcer {
    match &services.settings.results_exchange {
        Some(exchange) => announce_over(queue, exchange.clone(), Arc::clone(&services.clock)),
        None => Arc::new(|_notice: Notice| Box::pin(async { Ok(()) })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn an_error_counts_as_an_attempt_where_the_store_answers() {
        let busy = || sqlx::Error::PoolTimedOut;
        for error in [
            StoreError::Unreachable(busy()),
            StoreError::Statement(busy()),
            StoreError::NotPermitted { action: "write", source: busy() },
        ] {
            assert!(error.is_away(), "{error}");
            let error = PipelineError::Store(error);
            assert!(matches!(failure(&error, false), ProcessError::Transient { .. }), "{error}");
            assert!(matches!(failure(&error, true), ProcessError::Away { .. }), "{error}");
        }
        let error = PipelineError::Store(StoreError::Corrupt { detail: String::new() });
        assert!(matches!(failure(&error, false), ProcessError::Permanent { .. }));
    }
}
