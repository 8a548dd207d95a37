//! A JSON client for this product's own daemon on loopback, for commands while the daemon holds the data folder.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{BuildError, Method};

/// Maximum response time: a check waits for providers.
const PATIENCE: Duration = Duration::from_mins(3);

#[derive(Debug, Clone)]
pub struct LocalDaemon {
    client: reqwest::Client,
    /// `host:port`.
    address: String,
    token: Option<SecretString>,
}

#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error("the daemon at {address} does not respond: {detail}")]
    Unreachable { address: String, detail: String },
    /// A refusal with the daemon's own message.
    #[error("the daemon at {address} answered {status}: {detail}")]
    Refused { address: String, status: u16, detail: String },
}

impl LocalDaemon {
    pub fn new(address: String, token: Option<SecretString>) -> Result<Self, BuildError> {
        Ok(Self {
            client: super::client::client_builder("corroborate")
                .timeout(PATIENCE)
                .build()
                .map_err(|error| BuildError::from_reqwest(&error))?,
            address,
            token,
        })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes one call. `path` starts with a slash and is already encoded. Returns JSON, null for an empty body.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, LocalError> {
        self.send(method, path, body.map(|value| (value.to_string().into_bytes(), "application/json"))).await
    }

    /// Like [`LocalDaemon::call`], with a body of another type.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(Vec<u8>, &'static str)>,
    ) -> Result<Value, LocalError> {
        let mut request = self.client.request(method, format!("http://{}{path}", self.address));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        if let Some((bytes, kind)) = body {
            request = request.header(reqwest::header::CONTENT_TYPE, kind).body(bytes);
        }
        let unreachable = |error: reqwest::Error| LocalError::Unreachable {
            address: self.address.clone(),
            detail: error.to_string(),
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(unreachable)?;
        let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(value);
        }
        let detail = value
            .get("detail")
            .and_then(Value::as_str)
            .map_or_else(|| String::from_utf8_lossy(&bytes).chars().take(200).collect(), str::to_owned);
        Err(LocalError::Refused { address: self.address.clone(), status: status.as_u16(), detail })
    }
}
