//! Sends the spans of items to the collector, where one is configured.
//!
//! Nothing waits for this: what the collector does not take in time is dropped and counted.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::AppError;
use super::build::setup;
use crate::config::Config;
use crate::outbound::Delays;
use crate::outbound::otlp::{ExportError, TraceCollector};
use crate::telemetry::metrics;
use crate::telemetry::traces::{FinishedSpan, Resource, SpanQueue, export_request, take_queue};

/// Times a batch is offered. With pauses in between that is some seconds, in which the queue holds what comes.
const TRIES: u32 = 4;

/// How long the end of the daemon waits for a collector to take the last spans.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Sends what the recorder records.
#[derive(Debug)]
pub(super) struct TraceExport {
    queue: SpanQueue,
    collector: TraceCollector,
    resource: Resource,
    /// Whether the last batch was not taken: it is said once, and once that it is over.
    is_away: bool,
}

/// `None` where spans are not recorded.
pub(super) fn export(config: &Config) -> Result<Option<TraceExport>, AppError> {
    let traces = &config.traces;
    let Some(endpoint) = &traces.endpoint else { return Ok(None) };
    let Some(queue) = take_queue() else { return Ok(None) };
    let collector = TraceCollector::new(&config.fetch.user_agent, endpoint, traces.headers.as_ref(), traces.timeout)
        .map_err(|error| setup("traces.endpoint", error))?;
    let resource =
        Resource { service: traces.service_name.clone(), instance: format!("{:016x}", rand::random::<u64>()) };
    Ok(Some(TraceExport { queue, collector, resource, is_away: false }))
}

/// How long sending may take after the daemon was asked to stop.
async fn after(stop: &CancellationToken, patience: Duration) {
    stop.cancelled().await;
    sleep(patience).await;
}

impl TraceExport {
    /// Runs until it is stopped; what is left then is offered once, for a bounded time.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::new();
        // An offer that is given up may have arrived all the same; it is counted as lost.
        let in_time = tokio::select! {
            biased;
            () = self.send_all(&mut batch, &stop) => true,
            () = after(&stop, LAST_PATIENCE) => false,
        };
        if !in_time {
            let left = batch.len() + self.queue.waiting();
            metrics::trace_spans("failed", left);
            tracing::info!(spans = left, "the collector did not take the last spans in time; they are lost");
        }
    }

    async fn send_all(&mut self, batch: &mut Vec<FinishedSpan>, stop: &CancellationToken) {
        while self.queue.gather(batch, stop).await.is_some() {
            self.send(batch, stop).await;
            batch.clear();
        }
        loop {
            self.queue.rest(batch);
            if batch.is_empty() {
                return;
            }
            self.send(batch, stop).await;
            batch.clear();
        }
    }

    /// Offers a batch until it is taken, refused, or tried often enough; once where the daemon stops.
    async fn send(&mut self, batch: &[FinishedSpan], stop: &CancellationToken) {
        let body = export_request(&self.resource, batch);
        let mut pauses = Delays::new();
        let mut tries = 1;
        let error = loop {
            let error = match self.collector.send(body.clone()).await {
                Ok(()) => return self.taken(batch.len()),
                Err(error) => error,
            };
            if !error.is_passing() || tries >= TRIES || stop.is_cancelled() {
                break error;
            }
            tries += 1;
            // Both arms only wait.
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(pauses.next()) => {}
            }
        };
        self.lost(batch.len(), &error);
    }

    fn taken(&mut self, spans: usize) {
        metrics::trace_spans("exported", spans);
        if std::mem::take(&mut self.is_away) {
            tracing::info!("the collector takes spans again");
        }
    }

    fn lost(&mut self, spans: usize, error: &ExportError) {
        metrics::trace_spans("failed", spans);
        if !std::mem::replace(&mut self.is_away, true) {
            tracing::warn!(
                %error,
                "the collector does not take spans; they are dropped until it does. It has to speak OTLP over HTTP, port 4318 as a rule"
            );
        }
    }
}
