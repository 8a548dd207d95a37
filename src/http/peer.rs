//! The client's address, and how it is counted.
//!
//! Forwarding headers are ignored.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The client's address; requests have it as `ConnectInfo`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// An IPv4 address, or the /64 network that one customer gets in IPv6.
pub(super) fn client(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            // The loopback address is counted alone.
            IpAddr::V6(if address.is_loopback() { address } else { Ipv6Addr::from_bits(network) })
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_household_is_one_client() {
        assert_eq!(client(address("2001:db8:1:2::1")), client(address("2001:db8:1:2:ffff::9")));
        assert_ne!(client(address("2001:db8:1:2::1")), client(address("2001:db8:1:3::1")));
        assert_eq!(client(address("::ffff:192.0.2.1")), address("192.0.2.1"));
        assert_eq!(client(address("::1")), address("::1"));
    }
}
