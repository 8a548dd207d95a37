//! Recorded exchanges, answered instead of the network.

use url::Url;

/// One recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedResponse {
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// No recording answers this request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no recording for {method} {url}; record it, or ask without replay")]
pub struct MissingRecording {
    pub method: String,
    pub url: String,
}

/// A set of recordings.
#[derive(Debug, Default)]
pub struct Archive {}

impl Archive {
    /// The recorded answer to a request. `url` never holds a key.
    pub fn answer(&self, method: &str, url: &Url) -> Result<RecordedResponse, MissingRecording> {
        Err(MissingRecording { method: method.to_owned(), url: url.to_string() })
    }
}
