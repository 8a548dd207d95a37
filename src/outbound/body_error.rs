//! Errors in reading a body, and the causes of client errors.

use std::error::Error as StdError;

use super::excerpt::excerpt;

#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge,
    /// No data came for too long.
    Idle,
    /// The data came too slowly.
    TooSlow,
    /// An unrequested, nested or broken compression.
    Encoding(String),
    Cut(String),
}

pub(super) fn body_error(error: &reqwest::Error) -> BodyError {
    let detail = innermost(error);
    // The decoder also reports a cut connection, as an I/O error in its causes.
    let cut = chain(error).any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| matches!(io.kind(), std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe))
    });
    if error.is_decode() && !cut && !detail.contains("end of file before message") && !detail.contains("connection") {
        BodyError::Encoding(detail)
    } else {
        BodyError::Cut(detail)
    }
}

/// Returns an error and its causes, outermost first.
pub(super) fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

/// Text of the innermost cause, which names the failure; outer ones name the URL.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    chain(error).last().map(|cause| excerpt(&cause.to_string())).unwrap_or_default()
}
