//! Host names and origins as text.
//!
//! No function resolves a name.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header};
use url::{Host, Url};

/// The authority: of an absolute request line, else of the only `Host`.
pub(super) fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    if let Some(authority) = uri.authority() {
        return Some(authority.as_str());
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// Splits `name:port`, `name`, `[::1]:port` or `[::1]`; the brackets stay.
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

/// Whether a name is `localhost` or a loopback address. Others are excluded, because foreign DNS decides what they
/// resolve to.
pub(super) fn is_loopback_name(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a page of this origin came from this authority. Schemes are ignored, because a proxy may end TLS; ports
/// differ.
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

/// The origin as browsers write it: no path, no default port, lower case. Browser extensions keep their scheme
/// (`chrome-extension://<id>`), because the standard's "null" also matches sandboxed pages.
pub fn origin_of(url: &Url) -> String {
    let origin = url.origin();
    if origin.is_tuple() {
        return origin.ascii_serialization();
    }
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()).to_lowercase()
}

pub(super) fn plain_origin(configured: &str) -> String {
    Url::parse(configured).map_or_else(|_| configured.trim_end_matches('/').to_lowercase(), |url| origin_of(&url))
}
