//! Reads a body with a limit on its size before and after decompression, against endless streams and compression bombs.

use reqwest::Response;

use super::body_error::{BodyError, body_error};
use super::decode::Decoder;

/// Returns the whole body. The caller limits the time.
pub(super) async fn read(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, BodyError> {
    let mut decoder = Decoder::new(response.headers(), max_bytes)?;
    if response.content_length().is_some_and(|promised| promised > max_bytes as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut came = 0_usize;
    while let Some(piece) = response.chunk().await.map_err(|error| body_error(&error))? {
        came = came.saturating_add(piece.len());
        // Compressed bytes count too: a stream without output could be endless.
        if came > max_bytes {
            return Err(BodyError::TooLarge);
        }
        decoder.push(&piece)?;
    }
    packed_once(decoder.finish()?)
}

/// Rejects a body that is still gzip after decoding. No text starts like gzip.
pub(super) fn packed_once(body: Vec<u8>) -> Result<Vec<u8>, BodyError> {
    if body.starts_with(&[0x1f, 0x8b]) {
        return Err(BodyError::Encoding("the body is compressed twice, or compressed without saying so".to_owned()));
    }
    Ok(body)
}
