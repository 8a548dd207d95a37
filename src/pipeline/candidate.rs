//! What a search found and is worth reading.

use url::Url;

use crate::providers::Hit;

/// Whether two canonical addresses are one page's: with `www.` before the name and without it, by either scheme.
pub(crate) fn same_page(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned());
    host(one) == host(other)
        && one.port_or_known_default() == other.port_or_known_default()
        && (one.path().trim_end_matches('/'), one.query()) == (other.path().trim_end_matches('/'), other.query())
        || one == other
}

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
