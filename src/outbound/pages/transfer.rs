//! Takes a body in: bounded in bytes before and after decompression, in pauses, and in how slowly it may come.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::super::body::packed_once;
use super::super::body_error::{BodyError, body_error};
use super::super::decode::Decoder;

/// Nothing for this long ends a fetch: a page that trickles is not worth its place.
const IDLE: Duration = Duration::from_secs(5);
/// For this long a body may come as it likes; afterwards it must have come at [`SLOWEST`] on average.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes a second, as sent. A modem was faster; what is slower holds a place to keep others out.
const SLOWEST: u64 = 512;

/// What happens where more comes than is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtCap {
    /// The page is too large.
    Refuse,
    /// What came so far is enough.
    Cut,
}

/// Reads a body. The total time is the caller's to bound. A promised length is only believed where it is too large.
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
        // Compressed bytes count too: a stream that gives nothing may go on for ever.
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
