//! The bridge from the worker to the pipeline: what is done with one delivery, and how upstream hears of one that got no
//! result.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

use crate::broker::Queue;
use crate::pipeline::{self, Outcome, PipelineError, Request, Services};
use crate::store::Store;
use crate::telemetry::{TraceParent, item_ended, item_span};
use crate::worker::{Announce, Load, Notice, Probe, Process, ProcessError, Processed, Work, announce_over};

/// How long the store may take to answer after an item failed at it.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);

/// Runs the pipeline on one item.
pub(super) fn process(services: Arc<Services>) -> Process {
    Arc::new(move |work: Work| {
        let services = Arc::clone(&services);
        let trace = work.traceparent.as_deref().and_then(TraceParent::parse);
        let span = item_span(&work.item.item_id, work.phase.as_str(), trace.as_ref());
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
                Ok(Outcome::Done(_)) => ("committed", Ok(Processed::Committed)),
                Ok(Outcome::AlreadyDone { .. } | Outcome::Poorer(_)) => ("already_done", Ok(Processed::AlreadyDone)),
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

/// What the worker hears of an error. `away`: whether the store was asked, and did not answer either.
fn failure(error: &PipelineError, away: bool) -> ProcessError {
    use std::error::Error as _;
    let label = error.label();
    // The chain, without payloads: what failed and what the database said of it.
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

/// Returns true when the store takes what is written to it. An item that fails at such a store, by a connection that
/// broke, a table it may not write or memory that ran out, may itself be the cause. That counts as an attempt: otherwise
/// the item would come again without end, and pay its providers each time.
async fn answers(store: &Store) -> bool {
    let answer = tokio::time::timeout(ANSWER_PATIENCE, store.check_writable()).await;
    matches!(answer, Ok(Ok(())))
}

/// Whether the store is back.
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

/// Notices go straight to the broker; without one nobody would collect them, and the dead-letter table keeps the reason.
pub(super) fn announce(services: &Services, queue: Arc<dyn Queue>) -> Announce {
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
