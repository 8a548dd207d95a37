//! Reads a response's body with a cap on the bytes after decompression, so that neither an endless stream nor a
//! compression bomb fills the memory.

use reqwest::Response;

use super::body_error::{BodyError, body_error};
use super::decode::Decoder;

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
