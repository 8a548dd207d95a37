//! Sends item spans to the configured trace collector.
//!
//! No work waits for it. Spans that the collector does not accept in time are dropped and counted.

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

/// Attempts per batch. With pauses they take some seconds, during which the queue collects spans.
const TRIES: u32 = 4;

/// Only later spans wait for a slow collector. Spans that exceed the queue are dropped and counted.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// How long shutdown waits to send the last spans.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct TraceExport {
    queue: SpanQueue,
    collector: TraceCollector,
    resource: Resource,
    /// The last batch failed. The failure and the recovery are logged once.
    is_away: bool,
}

/// Returns `None` if spans are not recorded.
pub(super) fn export(config: &Config) -> Result<Option<TraceExport>, AppError> {
    let traces = &config.traces;
    let Some(endpoint) = &traces.endpoint else { return Ok(None) };
    let Some(queue) = take_queue() else { return Ok(None) };
    let collector = TraceCollector::new(&config.fetch.user_agent, endpoint, traces.headers.as_ref(), COLLECTOR_TIMEOUT)
        .map_err(|error| setup("traces.endpoint", error))?;
    let resource =
        Resource { service: traces.service_name.clone(), instance: format!("{:016x}", rand::random::<u64>()) };
    Ok(Some(TraceExport { queue, collector, resource, is_away: false }))
}

async fn after(stop: &CancellationToken, patience: Duration) {
    stop.cancelled().await;
    sleep(patience).await;
}

impl TraceExport {
    /// Sends batches until stopped, then the rest for at most [`LAST_PATIENCE`].
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::new();
        // A cancelled request may have arrived, but counts as lost.
        let in_time = tokio::select! {
            biased;
            () = self.send_all(&mut batch, &stop) => true,
            () = after(&stop, LAST_PATIENCE) => false,
        };
        if !in_time {
            let left = batch.len() + self.queue.waiting();
            metrics::trace_spans("failed", left);
            tracing::info!(spans = left, "last spans not exported in time and lost");
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

    /// Sends a batch until it is accepted, rejected or out of attempts; once during shutdown.
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
            tracing::info!("span export resumed");
        }
    }

    fn lost(&mut self, spans: usize, error: &ExportError) {
        metrics::trace_spans("failed", spans);
        if !std::mem::replace(&mut self.is_away, true) {
            tracing::warn!(
                %error,
                "span export failed; spans are dropped. The collector must accept OTLP over HTTP, usually on port 4318"
            );
        }
    }
}
