//! Guards against server-side request forgery (SSRF): which addresses a page may be fetched from, public ones only.
//!
//! Pages and their links are written by strangers. The check happens on the addresses that are connected to, in the
//! client's own resolver, so that a name that answers differently the second time gains nothing.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Whether an address belongs to the public internet.
///
/// Refused: this network, private, loopback, link-local (with the metadata services), carrier-grade NAT, protocol
/// assignments, documentation, benchmarking, multicast, reserved and broadcast; of IPv6 everything outside `2000::/3`
/// (so mapped, compatible, NAT64, unique-local, link-local) and within it documentation, ORCHID and benchmarking, and
/// 6to4 and Teredo where they wrap an IPv4 address that is itself refused.
/// Source: IANA's special-purpose address registries (RFC 6890 and its successors).
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            // Protocol assignments, documentation, the retired 6to4 relay.
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, third, fourth, .., seventh, eighth] = ip.segments();
    if first & 0xe000 != 0x2000 {
        return false;
    }
    match (first, second) {
        // Teredo: the server's address in the clear, the client's inverted.
        (0x2001, 0) => is_public_v4(v4(third, fourth)) && is_public_v4(v4(!seventh, !eighth)),
        // Benchmarking, ORCHID and its successor, documentation.
        (0x2001, 2 | 0x10..=0x2f | 0x0db8) | (0x3fff, 0..=0x0fff) => false,
        // 6to4.
        (0x2002, _) => is_public_v4(v4(second, third)),
        _ => true,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// Which addresses may be connected to: [`is_public`], unless private ones are opened.
pub(super) type Rule = fn(IpAddr) -> bool;

/// A name or address that is not on the public internet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} is not a public address")]
pub struct AddressRefused {
    pub host: String,
}

/// Checks a host that is an address itself: those never reach the resolver. `Url` has already turned the decimal, octal
/// and hexadecimal ways to write an IPv4 address into one.
pub(super) fn check_literal(url: &Url, rule: Rule) -> Result<(), AddressRefused> {
    let ip = match url.host() {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if rule(ip) { Ok(()) } else { Err(AddressRefused { host: ip.to_string() }) }
}

/// The same for a host as a URL writes it, with `localhost` and what is below it: those names are never public.
pub(super) fn check_literal_host(host: &str, rule: Rule) -> Result<(), AddressRefused> {
    let refused = || AddressRefused { host: host.to_owned() };
    match Host::parse(host) {
        Ok(Host::Ipv4(ip)) if !rule(IpAddr::V4(ip)) => Err(refused()),
        Ok(Host::Ipv6(ip)) if !rule(IpAddr::V6(ip)) => Err(refused()),
        Ok(Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => Err(refused()),
        _ => Ok(()),
    }
}

/// How names become addresses: `names`, or a table in tests.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// A resolver that hands out public addresses only. The connection is made to the very addresses it checked.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    lookup: Lookup,
    rule: Rule,
}

impl fmt::Debug for GuardedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedResolver")
    }
}

impl GuardedResolver {
    pub(super) fn new(lookup: Lookup, rule: Rule) -> Self {
        Self { lookup, rule }
    }

    /// All addresses of a name. One that is not public refuses the whole name: an honest site has no mixed answer.
    pub(super) async fn addresses(
        &self,
        name: String,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let addresses = (self.lookup)(name.clone()).await?;
        if addresses.is_empty() {
            return Err(Box::new(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
        }
        if !addresses.iter().all(|address| (self.rule)(address.ip())) {
            return Err(Box::new(AddressRefused { host: name }));
        }
        Ok(addresses)
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        let name = name.as_str().to_owned();
        Box::pin(async move {
            let addresses: Addrs = Box::new(resolver.addresses(name).await?.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn special_addresses_are_refused() {
        let refused = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "169.254.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "3fff:0fff::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:2f:ffff::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2002:a9fe:a9fe::1",
            // Teredo with a private server, and with a private client.
            "2001:0:a00:1::f7f7:f7f7",
            "2001:0:808:808::80ff:fffe",
        ];
        for address in refused {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn neighbours_of_special_ranges_are_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.1.1.1",
            "128.0.0.1",
            "169.253.1.1",
            "169.255.1.1",
            "172.15.255.255",
            "172.32.0.1",
            "191.255.1.1",
            "192.0.1.1",
            "192.0.3.1",
            "192.88.98.1",
            "192.167.1.1",
            "192.169.1.1",
            "198.17.1.1",
            "198.20.0.1",
            "198.51.99.1",
            "203.0.112.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "2001:4860:4860::8888",
            "2001:db7::1",
            "2001:db9::1",
            "2001:3::1",
            "2001:30::1",
            "3ffe::1",
            "3fff:1000::1",
            "2002:808:808::1",
            "2001:0:808:808::f7f7:f7f7",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn every_way_to_write_an_address_is_checked() {
        let refused = [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://017700000001/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest",
            "http://1２7.0.0.1/",
            "http://127.0.0.1./",
        ];
        for url in refused {
            assert!(check_literal(&Url::parse(url).unwrap(), is_public).is_err(), "{url}");
        }
        assert!(check_literal(&Url::parse("http://8.8.8.8/").unwrap(), is_public).is_ok());
        assert!(
            check_literal(&Url::parse("http://localhost/").unwrap(), is_public).is_ok(),
            "names are the resolver's to check"
        );
    }

    fn resolver(addresses: &'static [&'static str], rule: Rule) -> GuardedResolver {
        let lookup: Lookup = Arc::new(move |_name| {
            let found = addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect();
            Box::pin(async move { Ok(found) })
        });
        GuardedResolver::new(lookup, rule)
    }

    #[tokio::test]
    async fn one_private_address_among_public_ones_refuses_the_name() {
        let mixed = resolver(&["8.8.8.8", "127.0.0.1"], is_public);
        let error = mixed.addresses("mixed.example".into()).await.unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&AddressRefused { host: "mixed.example".into() }));
        let public = resolver(&["8.8.8.8", "2606:4700:4700::1111"], is_public);
        assert_eq!(public.addresses("public.example".into()).await.unwrap().len(), 2);
        let opened = resolver(&["127.0.0.1"], |_| true);
        assert_eq!(opened.addresses("local.example".into()).await.unwrap().len(), 1);
        let empty = resolver(&[], |_| true);
        assert!(empty.addresses("empty.example".into()).await.is_err());
    }

    fn refused_v4() -> impl Strategy<Value = u32> {
        let range = |first: [u8; 4], last: [u8; 4]| u32::from_be_bytes(first)..=u32::from_be_bytes(last);
        prop_oneof![
            range([10, 0, 0, 0], [10, 255, 255, 255]),
            range([127, 0, 0, 0], [127, 255, 255, 255]),
            range([169, 254, 0, 0], [169, 254, 255, 255]),
            range([172, 16, 0, 0], [172, 31, 255, 255]),
            range([192, 168, 0, 0], [192, 168, 255, 255]),
            range([100, 64, 0, 0], [100, 127, 255, 255]),
            range([224, 0, 0, 0], [255, 255, 255, 255]),
            range([0, 0, 0, 0], [0, 255, 255, 255]),
        ]
    }

    proptest! {
        /// No IPv6 form lets a refused IPv4 address through.
        #[test]
        fn no_wrapping_makes_a_refused_address_public(bits in refused_v4()) {
            let inner = Ipv4Addr::from(bits);
            prop_assert!(!is_public_v4(inner));
            let (high, low) = ((bits >> 16) as u16, bits as u16);
            let wrapped = [
                inner.to_ipv6_mapped(),
                inner.to_ipv6_compatible(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 1, 2, 3, 4, 5),
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !0x0808, !0x0808),
                Ipv6Addr::new(0x2001, 0, 0x0808, 0x0808, 0, 0, !high, !low),
            ];
            for ip in wrapped {
                prop_assert!(!is_public(ip.into()), "{ip}");
            }
        }
    }
}
