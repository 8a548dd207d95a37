//! Names and origins, as requests and settings write them.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header};
use url::{Host, Url};

/// The authority the client asked: of an absolute request line, else of the only `Host`.
pub(super) fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    if let Some(authority) = uri.authority() {
        return Some(authority.as_str());
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// `name:port`, `name`, `[::1]:port` or `[::1]`; the brackets stay.
pub(super) fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (name, rest) = authority.split_at_checked(end)?;
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().ok()?),
        None if rest.is_empty() => None,
        None => return None,
    };
    (!name.is_empty()).then_some((name, port))
}

/// `localhost` and the literals of the loopback network. No other name: whatever it resolves to, somebody else says so.
pub(super) fn is_loopback_name(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a page of that origin was served under the authority that is asked now. The scheme is left out: behind a proxy
/// that ends TLS the page's is https and ours is not; the port tells them apart.
pub(super) fn is_same_origin(origin: &str, authority: Option<&str>) -> bool {
    let same = || {
        let page = Url::parse(origin).ok()?;
        let default = page.port_or_known_default()?;
        let (name, port) = split_port(authority?)?;
        let asked = Host::parse(name).ok()?;
        Some(page.host()?.to_owned() == asked && port.unwrap_or(default) == default)
    };
    same().unwrap_or(false)
}

/// As a browser writes the origin of such an address: no path, no default port, lower case. A browser extension's has a scheme
/// of its own (`chrome-extension://<id>`), which the standard counts as "null"; every sandboxed page would be that as well.
pub fn origin_of(url: &Url) -> String {
    let origin = url.origin();
    if origin.is_tuple() {
        return origin.ascii_serialization();
    }
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()).to_lowercase()
}

/// The same of a configured text.
pub(super) fn plain_origin(configured: &str) -> String {
    Url::parse(configured).map_or_else(|_| configured.trim_end_matches('/').to_lowercase(), |url| origin_of(&url))
}
