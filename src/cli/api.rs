//! The HTTP API as commands use it: the API of the daemon that holds the data folder, or a router in this process.
//!
//! A command has one implementation for both cases. [`Api::administer`] opens the store and the queue without models and
//! providers; [`Api::open`] opens all parts.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Failure;
use crate::app::{App, AppError, Exchanges, Purpose};
use crate::config::Config;
use crate::http::InProcess;
use crate::outbound::Method;
use crate::outbound::local::{LocalDaemon, LocalError};

#[derive(Debug)]
pub(super) enum Api {
    Process { router: InProcess, app: Box<App> },
    Daemon(LocalDaemon),
}

#[derive(Debug)]
pub(super) enum ApiError {
    Unreachable(LocalError),
    Refused { status: u16, message: String },
}

impl Api {
    /// Opens the store for an administrative command; with `broker` also the configured broker.
    pub(super) async fn administer(config: &Arc<Config>, broker: bool) -> Result<Self, Failure> {
        Self::open(config, Purpose::Command { broker }, &Exchanges::Live).await
    }

    /// Refuses a data folder in use if exchanges are recorded or replayed, because a daemon can do neither.
    pub(super) async fn open(config: &Arc<Config>, purpose: Purpose, exchanges: &Exchanges) -> Result<Self, Failure> {
        match App::open_with(Arc::clone(config), purpose, exchanges.clone()).await {
            Ok(app) => Ok(Self::Process { router: app.api(), app: Box::new(app) }),
            Err(error @ AppError::DataFolderBusy { .. }) if !matches!(exchanges, Exchanges::Live) => {
                Err(Failure::unavailable(format!("{error}; stop it, or give this run another CORROBORATE_DATA_DIR")))
            }
            Err(AppError::DataFolderBusy { http: Some(address), .. }) => {
                let daemon = LocalDaemon::new(address, config.http.admin_token.clone());
                daemon.map(Self::Daemon).map_err(|error| Failure::unavailable(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a request. `path` starts with a slash and is already encoded. Returns the JSON body.
    pub(super) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, ApiError> {
        self.send(method, path, body.map(|value| (value.to_string().into_bytes(), "application/json"))).await
    }

    /// Works like [`Api::call`], with a body of another media type.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(Vec<u8>, &'static str)>,
    ) -> Result<Value, ApiError> {
        match self {
            Self::Daemon(daemon) => daemon.send(method, path, body).await.map_err(|error| match error {
                LocalError::Refused { status, .. } => ApiError::Refused { status, message: error.to_string() },
                unreachable @ LocalError::Unreachable { .. } => ApiError::Unreachable(unreachable),
            }),
            Self::Process { router, .. } => {
                let (status, value) = router.send(method, path, body).await;
                if (200..300).contains(&status) {
                    return Ok(value);
                }
                let text = |name: &str| value.get(name).and_then(Value::as_str);
                let message = text("cause").or_else(|| text("detail"));
                let message = message.map_or_else(|| format!("the request failed with status {status}"), str::to_owned);
                Err(ApiError::Refused { status, message })
            }
        }
    }

    /// Reads a resource; `None` if it does not exist.
    pub(super) async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failure> {
        match self.call(Method::GET, path, None).await {
            Ok(value) => read(value).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the rows of a list.
    pub(super) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        let mut page = self.call(Method::GET, path, None).await?;
        read(page.get_mut("items").map(Value::take).unwrap_or_default())
    }

    pub(super) async fn close(self) -> Result<(), Failure> {
        match self {
            Self::Daemon(_) => Ok(()),
            Self::Process { router, app } => {
                // The router shares the queue and the services, which end before the store.
                drop(router);
                Ok(app.close().await?)
            }
        }
    }

    /// Closes after a command. Its own failure is more important than that of closing.
    pub(super) async fn close_after<T>(self, done: Result<T, Failure>) -> Result<T, Failure> {
        let closed = self.close().await;
        let done = done?;
        closed.map(|()| done)
    }
}

/// Returns a text field of a row.
pub(super) fn text_of<'a>(row: &'a Value, field: &str) -> Option<&'a str> {
    row.get(field).and_then(Value::as_str)
}

/// Reads a response body.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| Failure::failed(format!("the response cannot be read: {error}")))
}

impl ApiError {
    pub(super) const fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Unreachable(error) => Self::unavailable(error.to_string()),
            ApiError::Refused { status: 400 | 413 | 422, message } => Self::new(2, message),
            ApiError::Refused { status: 429 | 502..=504, message } => Self::unavailable(message),
            ApiError::Refused { message, .. } => Self::failed(message),
        }
    }
}

/// Encodes a text as one segment of a path.
pub(super) fn segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _infallible = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_becomes_one_path_segment() {
        assert_eq!(segment("tg:a/b ї"), "tg%3Aa%2Fb%20%D1%97");
    }

    #[test]
    fn refusal_has_the_exit_code_of_its_cause() {
        for (status, code) in [(400, 2), (422, 2), (404, 1), (409, 1), (500, 1), (429, 69), (503, 69), (504, 69)] {
            let refused = ApiError::Refused { status, message: "no".to_owned() };
            assert_eq!((refused.is_not_found(), Failure::from(refused).code()), (status == 404, code), "{status}");
        }
    }
}
