//! Guards against server-side request forgery (SSRF): which addresses and ports a page may be fetched from.
//!
//! Pages and links are untrusted. They come from public addresses and web ports, never from this machine. The client's
//! resolver checks addresses at connect time, so a name with a different second answer gains nothing. To refuse another
//! range, extend [`is_public`] and its tests.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, LazyLock};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Whether an address belongs to the public internet.
///
/// Refused IPv4: this network, private, loopback, link-local (metadata services), carrier-grade NAT, protocol
/// assignments, documentation, benchmarking, multicast, reserved, broadcast.
/// Refused IPv6: everything outside `2000::/3` (mapped, compatible, NAT64, unique-local, link-local); within it
/// documentation, ORCHID and benchmarking, and 6to4 and Teredo with a refused IPv4 address.
/// Source: IANA's special-purpose address registries (RFC 6890 and successors).
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

const WEB_PORTS: [u16; 2] = [80, 443];

/// Documentation addresses, which no machine has (RFC 5737, RFC 3849).
const UNASSIGNED: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];

/// Whether this machine has the address. Services on its public address, such as metrics and databases, may trust it.
///
/// The system binds sockets to its own addresses only, so no list can become outdated. If `net.ipv4.ip_nonlocal_bind`
/// is set, nothing is refused, and one warning is logged. An address that a router translates to this machine is not
/// found.
pub(super) fn is_own(ip: IpAddr) -> bool {
    static BINDS_TO_ANY: LazyLock<bool> = LazyLock::new(|| {
        let binds_to_any = UNASSIGNED.into_iter().any(can_bind);
        if binds_to_any {
            tracing::warn!(
                "sockets can be bound to foreign addresses (ip_nonlocal_bind); links to this machine's own public addresses \
                 are not refused"
            );
        }
        binds_to_any
    });
    can_bind(ip) && !*BINDS_TO_ANY
}

/// Whether a socket can be bound. False without a free descriptor, but then no connection is made either.
fn can_bind(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

#[derive(Debug, Clone)]
pub(super) struct Guard {
    is_public: fn(IpAddr) -> bool,
    is_own: fn(IpAddr) -> bool,
    /// `None`: any port.
    ports: Option<Arc<[u16]>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefused {
    #[error("{host} is not a public address")]
    NotPublic { host: String },
    #[error("{host} is an address of this machine")]
    Own { host: String },
    #[error("port {port} of {host} is not one of a public website")]
    Port { host: String, port: u16 },
}

impl Guard {
    /// Public addresses except this machine's own, at ports 80, 443 and `extra_ports`.
    pub(super) fn public(extra_ports: &[u16]) -> Self {
        let ports = WEB_PORTS.iter().chain(extra_ports).copied().collect();
        Self { is_public, is_own, ports: Some(ports) }
    }

    pub(super) fn open() -> Self {
        Self { is_public: |_any| true, is_own: |_any| false, ports: None }
    }

    #[cfg(test)]
    pub(super) fn of(is_public: fn(IpAddr) -> bool) -> Self {
        Self { is_public, ..Self::open() }
    }

    #[cfg(test)]
    pub(super) fn without_own(self, is_own: fn(IpAddr) -> bool) -> Self {
        Self { is_own, ..self }
    }

    #[cfg(test)]
    pub(super) fn at_ports(self, extra_ports: &[u16]) -> Self {
        Self { ports: Self::public(extra_ports).ports, ..self }
    }

    fn check_address(&self, ip: IpAddr, host: impl FnOnce() -> String) -> Result<(), AddressRefused> {
        if !(self.is_public)(ip) {
            return Err(AddressRefused::NotPublic { host: host() });
        }
        if (self.is_own)(ip) {
            return Err(AddressRefused::Own { host: host() });
        }
        Ok(())
    }

    /// Checks a URL's port, and its host if it is an address, which never reaches the resolver. `Url` has already
    /// normalised decimal, octal and hexadecimal IPv4 forms.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), AddressRefused> {
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(Host::Domain(_)) | None => None,
        };
        if let Some(ip) = ip {
            self.check_address(ip, || ip.to_string())?;
        }
        let Some(port) = url.port_or_known_default() else { return Ok(()) };
        if self.ports.as_ref().is_none_or(|ports| ports.contains(&port)) {
            return Ok(());
        }
        Err(AddressRefused::Port { host: url.host_str().unwrap_or_default().to_owned(), port })
    }
}

/// Whether a URL's host is a non-public address, `localhost`, or a name below it.
pub(super) fn is_private_host(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Ipv4(ip)) => !is_public(IpAddr::V4(ip)),
        Ok(Host::Ipv6(ip)) => !is_public(IpAddr::V6(ip)),
        Ok(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Err(_no_host) => false,
    }
}

/// Resolves names: `names`, or a table in tests.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// A resolver that returns allowed addresses only. The client connects to exactly the checked addresses.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    lookup: Lookup,
    guard: Guard,
}

impl fmt::Debug for GuardedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedResolver")
    }
}

impl GuardedResolver {
    pub(super) fn new(lookup: Lookup, guard: Guard) -> Self {
        Self { lookup, guard }
    }

    /// Returns all addresses of a name. One refused address refuses the name: an honest site has no mixed answer.
    pub(super) async fn addresses(
        &self,
        name: String,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let addresses = (self.lookup)(name.clone()).await?;
        if addresses.is_empty() {
            return Err(Box::new(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
        }
        for address in &addresses {
            self.guard.check_address(address.ip(), || name.clone())?;
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
            let refused = Guard::public(&[]).check_url(&Url::parse(url).unwrap());
            assert!(matches!(refused, Err(AddressRefused::NotPublic { .. })), "{url}");
        }
        for url in ["http://8.8.8.8/", "http://localhost/"] {
            let allowed = Guard::public(&[]).check_url(&Url::parse(url).unwrap());
            assert_eq!(allowed, Ok(()), "{url}: names are the resolver's to check");
        }
    }

    #[test]
    fn guard_refuses_ports_that_are_not_configured() {
        let guard = Guard::public(&[8443]);
        let refused = |url: &str| guard.check_url(&Url::parse(url).unwrap()).err();
        for url in ["http://a.example/", "https://a.example/", "http://a.example:443/", "https://a.example:8443/"] {
            assert_eq!(refused(url), None, "{url}");
        }
        for (url, port) in [
            ("http://a.example:6379/", 6379),
            ("http://a.example:22/", 22),
            ("http://a.example:8080/", 8080),
            ("https://8.8.8.8:9090/", 9090),
            ("http://[2606:4700:4700::1111]:1/", 1),
        ] {
            assert!(matches!(refused(url), Some(AddressRefused::Port { port: found, .. }) if found == port), "{url}");
        }
        assert_eq!(Guard::open().check_url(&Url::parse("http://127.0.0.1:6379/").unwrap()), Ok(()));
    }

    #[test]
    fn is_own_accepts_only_local_addresses() {
        for own in ["127.0.0.1", "127.0.0.77"] {
            assert!(is_own(own.parse().unwrap()), "{own}");
        }
        for foreign in ["8.8.8.8", "192.0.2.1", "2606:4700:4700::1111"] {
            assert!(!is_own(foreign.parse().unwrap()), "{foreign}");
        }
        // The address that this machine sends from, if it has a route.
        let sender = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("8.8.8.8:9")?;
            socket.local_addr()
        });
        if let Ok(sender) = sender {
            assert!(is_own(sender.ip()), "{sender}");
        }
    }

    #[tokio::test]
    async fn guard_refuses_this_machines_public_address() {
        let guard = Guard::public(&[]).without_own(|ip| ip == IpAddr::from([93, 184, 215, 14]));
        let own = AddressRefused::Own { host: "93.184.215.14".to_owned() };
        assert_eq!(guard.check_url(&Url::parse("http://93.184.215.14/metrics").unwrap()), Err(own));
        let lookup: Lookup = Arc::new(|_name| Box::pin(async { Ok(vec![SocketAddr::from(([93, 184, 215, 14], 0))]) }));
        let error = GuardedResolver::new(lookup, guard).addresses("me.example".to_owned()).await.unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&AddressRefused::Own { host: "me.example".to_owned() }));
        assert_eq!(error.to_string(), "me.example is an address of this machine");
    }

    fn resolver(addresses: &'static [&'static str], guard: Guard) -> GuardedResolver {
        let lookup: Lookup = Arc::new(move |_name| {
            let found = addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect();
            Box::pin(async move { Ok(found) })
        });
        GuardedResolver::new(lookup, guard)
    }

    #[tokio::test]
    async fn one_private_address_among_public_ones_refuses_the_name() {
        let mixed = resolver(&["8.8.8.8", "127.0.0.1"], Guard::public(&[]));
        let error = mixed.addresses("mixed.example".into()).await.unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&AddressRefused::NotPublic { host: "mixed.example".into() }));
        let public = resolver(&["8.8.8.8", "2606:4700:4700::1111"], Guard::public(&[]));
        assert_eq!(public.addresses("public.example".into()).await.unwrap().len(), 2);
        let opened = resolver(&["127.0.0.1"], Guard::open());
        assert_eq!(opened.addresses("local.example".into()).await.unwrap().len(), 1);
        let empty = resolver(&[], Guard::open());
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
