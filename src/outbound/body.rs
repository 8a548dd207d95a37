//! Reads a response's body with a cap on the bytes after decompression, so that neither an endless stream nor a
//! compression bomb fills the memory.

use std::error::Error as StdError;

use reqwest::Response;

use super::decode::Decoder;

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

/// The whole body, at most `max_bytes` before and after decompression. The time is the caller's to bound.
pub(super) async fn read(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, BodyError> {
    let mut decoder = Decoder::new(response.headers(), max_bytes)?;
    if response.content_length().is_some_and(|promised| promised > max_bytes as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut came = 0_usize;
    while let Some(piece) = response.chunk().await.map_err(|error| body_error(&error))? {
        came = came.saturating_add(piece.len());
        // Compressed bytes count too: a stream that gives nothing may go on for ever.
        if came > max_bytes {
            return Err(BodyError::TooLarge);
        }
        decoder.push(&piece)?;
    }
    packed_once(decoder.finish()?)
}

/// What was undone once must be plain: no text starts like gzip, in a body that names no coding or inside of the one it
/// names.
pub(super) fn packed_once(body: Vec<u8>) -> Result<Vec<u8>, BodyError> {
    if body.starts_with(&[0x1f, 0x8b]) {
        return Err(BodyError::Encoding("the body is compressed twice, or compressed without saying so".to_owned()));
    }
    Ok(body)
}

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
    chain(error).last().map(|cause| super::error::excerpt(&cause.to_string())).unwrap_or_default()
}
