//! Trace export: `[traces]`.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::deserialize::secret;
use super::key::{CALL, Key, UNIT};
use super::kind::{Kind, SecretKind};

/// Returns the keys. The first three have the standard OpenTelemetry names.
pub(super) fn keys() -> Vec<Key> {
    vec![
        Key::named("traces.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", Kind::Url, "collector that takes OTLP over HTTP"),
        Key::named(
            "traces.headers",
            "OTEL_EXPORTER_OTLP_HEADERS",
            Kind::Secret(SecretKind::Header),
            "headers that it wants",
        ),
        Key::named("traces.service_name", "OTEL_SERVICE_NAME", Kind::Text, "name of this service in traces"),
        Key::own("traces.share", UNIT, "share of the items without a trace of their own that get one"),
        Key::own("traces.timeout", CALL, "longest time of one request to the collector"),
    ]
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracesConfig {
    /// Without `/v1/traces`. Unset: no spans are recorded.
    #[serde(default)]
    pub endpoint: Option<Url>,
    #[serde(default, deserialize_with = "secret")]
    pub headers: Option<SecretString>,
    pub service_name: String,
    pub share: f64,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
}
