//! What a search found and is worth reading.

use url::Url;

use crate::providers::Hit;

/// A page worth reading, or a text that a provider brought along.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The key under which it is stored and shared: a page's canonical address, a text's own.
    pub(crate) url: Url,
    pub(crate) hit: Hit,
    pub(crate) domain: String,
    /// Whether what the search says of it may be about the claim; true where it says nothing.
    pub(crate) about: bool,
}
