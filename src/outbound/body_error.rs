//! Why a body was not read to its end, and what the client's errors say underneath.

use std::error::Error as StdError;

use super::excerpt::excerpt;

/// Why a body was not read to its end.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge,
    /// Nothing came for that long.
    Idle,
    /// It came, and too slowly to wait for its end.
    TooSlow,
    /// Compressed in a way that was not asked for, nested, or broken.
    Encoding(String),
    /// The connection ended before the body did.
    Cut(String),
}

/// What an error of the client means for the body that was being read.
pub(super) fn body_error(error: &reqwest::Error) -> BodyError {
    let detail = innermost(error);
    // A cut connection is reported through the decoder too, as an I/O error of its source.
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

/// An error and its causes, outermost first.
pub(super) fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

/// The words of the innermost cause, which name what happened; the outer ones name the URL.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    chain(error).last().map(|cause| excerpt(&cause.to_string())).unwrap_or_default()
}
