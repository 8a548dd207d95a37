//! Reads a response's body with a cap on the bytes after decompression, so that neither an endless stream nor a
//! compression bomb fills the memory.

use std::error::Error as StdError;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use tokio::time::timeout;

/// Bytes reserved ahead at most, whatever a `Content-Length` promises.
const RESERVED: usize = 64 * 1024;

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

/// The whole body, at most `max_bytes` after decompression. `idle` bounds the pause between two pieces; the total time
/// is the caller's to bound.
pub(super) async fn read(mut response: Response, max_bytes: usize, idle: Duration) -> Result<Vec<u8>, BodyError> {
    plain_encoding(response.headers()).map_err(BodyError::Encoding)?;
    let promised = response.content_length().unwrap_or(0);
    if promised > max_bytes as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::with_capacity(usize::try_from(promised).unwrap_or(0).min(RESERVED));
    loop {
        let piece = timeout(idle, response.chunk()).await.map_err(|_elapsed| BodyError::Idle)?;
        match piece {
            Ok(Some(piece)) if body.len() + piece.len() > max_bytes => return Err(BodyError::TooLarge),
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => break,
            Err(error) => return Err(body_error(&error)),
        }
    }
    // Two headers of the same coding are undone once: what is left is still compressed. No text starts like this.
    if body.starts_with(&[0x1f, 0x8b]) {
        return Err(BodyError::Encoding("the body is compressed twice, or compressed without saying so".to_owned()));
    }
    Ok(body)
}

/// The client takes away the header of a coding it undoes. What is still there was not undone.
pub(super) fn plain_encoding(headers: &HeaderMap) -> Result<(), String> {
    for value in headers.get_all(CONTENT_ENCODING) {
        let coding = String::from_utf8_lossy(value.as_bytes());
        if !coding.trim().is_empty() && !coding.trim().eq_ignore_ascii_case("identity") {
            return Err(format!("content-encoding {} was not asked for", super::error::excerpt(&coding)));
        }
    }
    Ok(())
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
