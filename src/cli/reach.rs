//! Opens the store, or connects to the daemon that holds the data folder.

use std::sync::Arc;

use super::failure::Failure;
use crate::app::{App, AppError, Exchanges, OpenStore, Purpose, Upkeep};
use crate::config::Config;
use crate::outbound::local::{LocalDaemon, LocalError};

pub(super) enum Reach<T> {
    Here(T),
    Daemon(LocalDaemon),
}

pub(super) async fn store(config: &Config) -> Result<Reach<OpenStore>, Failure> {
    match OpenStore::open(config, Upkeep::Command).await {
        Ok(opened) => Ok(Reach::Here(opened)),
        Err(error) => daemon(config, error),
    }
}

/// Opens all parts; without the broker for [`Purpose::Check`].
pub(super) async fn app(config: &Arc<Config>, purpose: Purpose) -> Result<Reach<App>, Failure> {
    app_with(config, purpose, &Exchanges::Live).await
}

/// Refuses a busy folder, because a daemon cannot record or replay.
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
    #[test]
    fn an_id_becomes_one_path_segment() {
        assert_eq!(super::segment("tg:a/b ї"), "tg%3Aa%2Fb%20%D1%97");
    }
}
