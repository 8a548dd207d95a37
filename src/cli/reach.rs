//! Reaching the store: opened here, or, where a daemon holds the data folder, through that daemon's HTTP.

use std::sync::Arc;

use super::failure::Failure;
use crate::app::{App, AppError, Exchanges, OpenStore, Purpose, Upkeep};
use crate::config::Config;
use crate::outbound::local::{LocalDaemon, LocalError};

/// Either of the two ways.
pub(super) enum Reach<T> {
    Here(T),
    Daemon(LocalDaemon),
}

/// The store alone.
pub(super) async fn store(config: &Config) -> Result<Reach<OpenStore>, Failure> {
    match OpenStore::open(config, Upkeep::Command).await {
        Ok(opened) => Ok(Reach::Here(opened)),
        Err(error) => daemon(config, error),
    }
}

/// Everything; with [`Purpose::Check`] without the broker.
pub(super) async fn app(config: &Arc<Config>, purpose: Purpose) -> Result<Reach<App>, Failure> {
    app_with(config, purpose, &Exchanges::Live).await
}

/// The same with exchanges recorded or replayed, which only this process can do: a daemon that is in the way is named.
pub(super) async fn app_with(
    config: &Arc<Config>,
    purpose: Purpose,
    exchanges: &Exchanges,
) -> Result<Reach<App>, Failure> {
    match App::open_with(Arc::clone(config), purpose, exchanges.clone()).await {
        Ok(app) => Ok(Reach::Here(app)),
        Err(error @ AppError::DataFolderBusy { .. }) if !matches!(exchanges, Exchanges::Live) => {
            Err(Failure::unavailable(format!("{error}; stop it, or give this run another CORROBORATE_DATA_DIR")))
        }
        Err(error) => daemon(config, error),
    }
}

fn daemon<T>(config: &Config, error: AppError) -> Result<Reach<T>, Failure> {
    match error {
        AppError::DataFolderBusy { http: Some(address), .. } => {
            let daemon = LocalDaemon::new(address, config.http.admin_token.clone())
                .map_err(|error| Failure::unavailable(error.to_string()))?;
            Ok(Reach::Daemon(daemon))
        }
        other => Err(other.into()),
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::Unreachable { .. } => Self::unavailable(error.to_string()),
            LocalError::Refused { .. } => Self::failed(error.to_string()),
        }
    }
}

/// An id or domain as one segment of a path.
pub(super) fn segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _infallible = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_becomes_one_path_segment() {
        assert_eq!(super::segment("tg:a/b ї"), "tg%3Aa%2Fb%20%D1%97");
    }
}
