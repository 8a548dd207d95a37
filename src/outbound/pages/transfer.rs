//! Reads a body with limits on its size before and after decompression, its pauses and its speed.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::super::body::packed_once;
use super::super::body_error::{BodyError, body_error};
use super::super::decode::Decoder;

/// Maximum time without data.
const IDLE: Duration = Duration::from_secs(5);
/// Time after which the average speed must be at least [`SLOWEST`].
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes a second, as sent. A slower server would block a place.
const SLOWEST: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtCap {
    /// The page is too large.
    Refuse,
    /// The first part is enough.
    Cut,
}

/// The caller limits the total time. An announced length only counts if it is too large.
pub(super) async fn read(mut response: Response, cap: usize, at_cap: AtCap) -> Result<Vec<u8>, BodyError> {
    let mut decoder = Decoder::new(response.headers(), cap)?;
    if at_cap == AtCap::Refuse && response.content_length().is_some_and(|promised| promised > cap as u64) {
        return Err(BodyError::TooLarge);
    }
    let begun = Instant::now();
    let mut came = 0_u64;
    loop {
        let piece = timeout(IDLE, response.chunk()).await.map_err(|_elapsed| BodyError::Idle)?;
        let Some(piece) = piece.map_err(|error| body_error(&error))? else { break };
        came += piece.len() as u64;
        let taken = decoder.push(&piece);
        // Compressed bytes count too: a stream without output could be endless.
        match if came > cap as u64 { taken.and(Err(BodyError::TooLarge)) } else { taken } {
            Err(BodyError::TooLarge) if at_cap == AtCap::Cut => return Ok(decoder.taken()),
            outcome => outcome?,
        }
        let took = begun.elapsed();
        if took > PATIENCE && came < took.as_secs() * SLOWEST {
            return Err(BodyError::TooSlow);
        }
    }
    packed_once(decoder.finish()?)
}
