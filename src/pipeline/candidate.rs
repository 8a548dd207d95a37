//! Search results that are worth reading.

use url::Url;

use crate::providers::Hit;

/// Whether two canonical URLs are the same page, ignoring `www.` and the scheme.
pub(crate) fn same_page(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned());
    host(one) == host(other)
        && one.port_or_known_default() == other.port_or_known_default()
        && (one.path().trim_end_matches('/'), one.query()) == (other.path().trim_end_matches('/'), other.query())
        || one == other
}

/// A page to read, or a text that came with an answer.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Storage key: a page's canonical URL, or a text's own URL.
    pub(crate) url: Url,
    pub(crate) hit: Hit,
    pub(crate) domain: String,
    /// Whether title and snippet may be about the claim; true if both are empty.
    pub(crate) about: bool,
}
