//! Exports spans to a collector that accepts OTLP over HTTP.
//!
//! A thread of the SDK takes finished spans from a bounded queue and sends them in batches, so that no item waits. A span
//! that does not fit into the queue is dropped. Spans that the collector does not accept in time are lost and counted.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::Handle;
use url::Url;

use super::client::{self, BuildError};
use crate::config::TracesConfig;
use crate::telemetry::{metrics, traces};

/// Appended to the configured OTLP address.
const PATH: &str = "v1/traces";

/// Maximum of waiting spans, about 1 kB each. An item has about 30, so at 100 items a second a collector may stop for a
/// second without loss.
const MAX_WAITING: usize = 4096;

/// Only later spans wait for a slow collector.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a batch waits for further spans.
const BATCH_INTERVAL: Duration = Duration::from_secs(2);

/// How long the end of the process waits for the last spans.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    #[error("{0}")]
    Client(#[from] BuildError),
    /// The headers are malformed. Never shows them, because they carry keys.
    #[error("its headers are not name=value,name=value, with anything unusual in a value percent-encoded")]
    Headers,
    #[error("{0}")]
    Exporter(#[from] ExporterBuildError),
}

/// Returns the recorder of spans for the configured collector; `None` without one. Needs a running runtime.
pub fn tracer_provider(config: &TracesConfig, user_agent: &str) -> Result<Option<SdkTracerProvider>, CollectorError> {
    let Some(endpoint) = &config.endpoint else { return Ok(None) };
    let headers = config.headers.as_ref().map(read_headers).transpose()?.unwrap_or_default();
    let client = client::client_builder(user_agent).default_headers(headers).timeout(COLLECTOR_TIMEOUT).build();
    let client =
        RuntimeClient { client: client.map_err(|error| BuildError::from_reqwest(&error))?, runtime: Handle::current() };
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(traces_url(endpoint))
        .with_timeout(COLLECTOR_TIMEOUT)
        .build()?;
    let exporter = CountedExporter { exporter, is_away: AtomicBool::new(false) };
    let batches =
        BatchConfigBuilder::default().with_max_queue_size(MAX_WAITING).with_scheduled_delay(BATCH_INTERVAL).build();
    let resource = Resource::builder_empty()
        .with_service_name(config.service_name.clone())
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            // Distinguishes processes of one service.
            KeyValue::new("service.instance.id", format!("{:016x}", rand::random::<u64>())),
        ])
        .build();
    let provider = SdkTracerProvider::builder()
        .with_sampler(traces::sampler(config.share))
        .with_resource(resource)
        .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
        .build();
    Ok(Some(provider))
}

/// Sends the last spans.
pub async fn close(provider: SdkTracerProvider) {
    // Blocks its thread.
    let closed = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(CLOSE_TIMEOUT)).await;
    if !matches!(closed, Ok(Ok(()))) {
        tracing::info!("last spans not exported in time and lost");
    }
}

fn traces_url(endpoint: &Url) -> String {
    let mut url = endpoint.clone();
    url.set_path(&format!("{}/{PATH}", endpoint.path().trim_end_matches('/')));
    url.into()
}

/// Reads headers in the form of the standard variable: `name=value`, comma-separated, values percent-encoded.
fn read_headers(headers: &SecretString) -> Result<HeaderMap, CollectorError> {
    let mut named = HeaderMap::new();
    for pair in headers.expose_secret().split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(CollectorError::Headers)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_no_name| CollectorError::Headers)?;
        let value = percent_encoding::percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let mut value = HeaderValue::from_bytes(&value).map_err(|_no_value| CollectorError::Headers)?;
        value.set_sensitive(true);
        named.insert(name, value);
    }
    Ok(named)
}

/// Sends on the program's runtime for the SDK's thread, which has none.
#[derive(Debug)]
struct RuntimeClient {
    client: reqwest::Client,
    runtime: Handle,
}

impl HttpClient for RuntimeClient {
    fn send_bytes<'client, 'response>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'response>>
    where
        'client: 'response,
        Self: 'response,
    {
        Box::pin(async move { self.runtime.block_on(self.client.send_bytes(request)) })
    }
}

/// Counts spans, and logs a failure and the recovery once.
#[derive(Debug)]
struct CountedExporter {
    exporter: opentelemetry_otlp::SpanExporter,
    /// The last batch failed.
    is_away: AtomicBool,
}

impl SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let done = self.exporter.export(batch).await;
        let was_away = self.is_away.swap(done.is_err(), Ordering::Relaxed);
        match &done {
            Ok(()) => {
                metrics::trace_spans("exported", spans);
                if was_away {
                    tracing::info!("span export resumed");
                }
            }
            Err(error) => {
                metrics::trace_spans("failed", spans);
                if !was_away {
                    tracing::warn!(
                        %error,
                        "span export failed; spans are dropped. The collector must accept OTLP over HTTP, usually on port 4318"
                    );
                }
            }
        }
        done
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_standard_writes_them_and_never_shown() {
        let read = |text: &str| read_headers(&text.to_owned().into());
        let headers = read("Authorization=Bearer%20s3cret, x-team = news,").unwrap();
        assert_eq!(headers.get("authorization").unwrap(), "Bearer s3cret");
        assert_eq!(headers.get("x-team").unwrap(), "news");
        assert!(!format!("{headers:?}").contains("s3cret"));
        for bad in ["s3cret", "a b=c", "a=b%0Ac"] {
            let error = read(bad).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn traces_url_appends_its_path_to_the_endpoint() {
        let at = |endpoint: &str| traces_url(&endpoint.parse().unwrap());
        assert_eq!(at("http://collector:4318"), "http://collector:4318/v1/traces");
        assert_eq!(at("https://otlp.example/otlp/"), "https://otlp.example/otlp/v1/traces");
    }
}
