//! A failed command: one line and an exit code.
//!
//! The codes are listed in the header of `cli`.

use std::error::Error;
use std::fmt;

use crate::app::AppError;
use crate::config::ConfigError;

#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    code: u8,
    broken_pipe: bool,
}

impl Failure {
    pub(super) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { message: message.into(), code, broken_pipe: false }
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(1, message)
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(69, message)
    }

    pub(super) fn configuration(error: &ConfigError) -> Self {
        Self::misconfigured(error.to_string())
    }

    pub(super) fn misconfigured(message: impl Into<String>) -> Self {
        Self::new(crate::config::EXIT_CODE, message)
    }

    pub(super) const fn code(&self) -> u8 {
        self.code
    }

    pub(super) const fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Leaves repeated causes out, because many libraries include the cause in their text.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        Self::new(error.exit_code(), chain(&error))
    }
}

impl From<crate::store::StoreError> for Failure {
    fn from(error: crate::store::StoreError) -> Self {
        AppError::from(error).into()
    }
}

impl From<crate::broker::QueueError> for Failure {
    fn from(error: crate::broker::QueueError) -> Self {
        AppError::from(error).into()
    }
}

impl From<crate::pipeline::PipelineError> for Failure {
    fn from(error: crate::pipeline::PipelineError) -> Self {
        AppError::from(error).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let broken_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self { message: format!("writing or reading failed: {error}"), code: 1, broken_pipe }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        if error.io_error_kind() == Some(std::io::ErrorKind::BrokenPipe) {
            return std::io::Error::from(std::io::ErrorKind::BrokenPipe).into();
        }
        Self::failed(format!("JSON could not be made: {error}"))
    }
}
