//! The bridge from the worker to the pipeline: what is done with one delivery, and how upstream hears of one that got no
//! result.

use std::sync::Arc;

use tracing::Instrument as _;

use crate::broker::Queue;
use crate::pipeline::{self, Outcome, PipelineError, Request, Services};
use crate::telemetry::{TraceParent, item_span};
use crate::worker::{Announce, Load, Notice, Process, ProcessError, Processed, Work, announce_over};

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
                correlation_id: work.correlation_id,
                redelivered: work.redelivered,
                personal: false,
                shed: matches!(work.load, Load::Degrade),
            };
            match pipeline::run(&services, &request).await {
                Ok(Outcome::Done(_)) => Ok(Processed::Committed),
                Ok(Outcome::AlreadyDone) => Ok(Processed::AlreadyDone),
                Err(error) => Err(classify(&error)),
            }
        };
        Box::pin(worked.instrument(span))
    })
}

fn classify(error: &PipelineError) -> ProcessError {
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
    if error.is_transient() {
        ProcessError::Transient { label, detail }
    } else {
        ProcessError::Permanent { label, detail }
    }
}

/// Notices go straight to the broker; without one nobody would collect them, and the dead-letter table keeps the reason.
pub(super) fn announce(services: &Services, queue: Arc<dyn Queue>) -> Announce {
    match &services.settings.results_exchange {
        Some(exchange) => announce_over(queue, exchange.clone(), Arc::clone(&services.clock)),
        None => Arc::new(|_notice: Notice| Box::pin(async { Ok(()) })),
    }
}
