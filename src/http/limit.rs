//! The rate limit per client and the timeout per request.
//!
//! Client addresses are those of connections; forwarding headers are never trusted.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

use super::problem::Problem;

/// A page sends several requests at once, so a burst is a quarter of a minute's requests or at least this number.
const SMALLEST_BURST: u32 = 10;

/// Interval, in requests, for removing idle addresses from the table.
const FORGET_EVERY: u32 = 1024;

/// Probes: never counted, and answered on reserved connections.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Static files: not counted, because they use no store.
const STATIC_FILES: &str = "/assets/";

pub(super) fn is_probe(path: &str) -> bool {
    PROBES.contains(&path)
}

fn is_counted(path: &str) -> bool {
    !is_probe(path) && !path.starts_with(STATIC_FILES)
}

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

/// Time since server start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuntimeClock(Instant);

impl Clock for RuntimeClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        // Enough for 584 years.
        Nanos::new(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Requests per connection address. Clients can forge `X-Forwarded-For`, so behind a proxy all share one limit.
#[derive(Debug)]
pub(crate) struct PeerLimit<C: Clock<Instant = Nanos> = RuntimeClock> {
    limiter: RateLimiter<IpAddr, HashMapStateStore<IpAddr>, C, NoOpMiddleware<Nanos>>,
    clock: C,
    seen: AtomicU32,
}

impl PeerLimit {
    /// Creates a limit; `None` for 0, which means no limit.
    pub(crate) fn new(per_minute: u32) -> Option<Self> {
        Self::with_clock(per_minute, RuntimeClock(Instant::now()))
    }
}

impl<C: Clock<Instant = Nanos> + Clone> PeerLimit<C> {
    fn with_clock(per_minute: u32, clock: C) -> Option<Self> {
        let rate = NonZeroU32::new(per_minute)?;
        let burst = NonZeroU32::new((per_minute / 4).max(SMALLEST_BURST).min(per_minute)).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_minute(rate).allow_burst(burst);
        Some(Self { limiter: RateLimiter::hashmap_with_clock(quota, clock.clone()), clock, seen: AtomicU32::new(0) })
    }

    /// Counts one request; the error is the time to wait.
    pub(super) fn take(&self, peer: IpAddr) -> Result<(), Duration> {
        if self.seen.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter.check_key(&client(peer)).map_err(|refused| refused.wait_time_from(self.clock.now()))
    }
}

/// The client address; unspecified without a connection.
pub(crate) fn peer(request: &Request) -> IpAddr {
    request
        .extensions()
        .get::<ConnectInfo<Peer>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(Peer(address))| address.ip())
}

/// The layer that refuses a client above its rate.
pub(crate) async fn rate(State(limit): State<Arc<PeerLimit>>, request: Request, next: Next) -> Response {
    if is_counted(request.uri().path())
        && let Err(wait) = limit.take(peer(&request))
    {
        return Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-many-requests",
            "this address asks too often; wait as long as Retry-After says, or send many items in one request",
        )
        .retry_after(wait)
        .into_response();
    }
    next.run(request).await
}

/// The timeout layer. A slow request is dropped; transactions roll back.
pub(crate) async fn patience(State(longest): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(longest, next.run(request)).await {
        Ok(response) => response,
        Err(_elapsed) => Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "too-slow",
            format!("no answer was ready within {} seconds; try again later", longest.as_secs()),
        )
        .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_passes_then_the_rate_holds_and_others_are_unharmed() {
        let clock = FakeRelativeClock::default();
        let limit = PeerLimit::with_clock(40, clock.clone()).unwrap();
        let hasty = address("192.0.2.1");
        for number in 0..10 {
            assert!(limit.take(hasty).is_ok(), "request {number} is within the burst");
        }
        let wait = limit.take(hasty).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(1500), "{wait:?}");
        assert!(limit.take(address("192.0.2.2")).is_ok());
        clock.advance(wait);
        assert!(limit.take(hasty).is_ok(), "the wait that was named is enough");
        assert!(limit.take(hasty).is_err());
    }

    #[test]
    fn quiet_addresses_are_forgotten() {
        let clock = FakeRelativeClock::default();
        let limit = PeerLimit::with_clock(600, clock.clone()).unwrap();
        for number in 0..FORGET_EVERY - 1 {
            assert!(limit.take(IpAddr::V4(Ipv4Addr::from_bits(number))).is_ok());
        }
        clock.advance(Duration::from_mins(2));
        assert!(limit.take(address("198.51.100.7")).is_ok());
        assert_eq!(limit.limiter.len(), 1);
    }

    #[test]
    fn only_probes_and_static_files_are_not_counted() {
        for free in ["/healthz", "/readyz", "/metrics", "/assets/0123/style.css"] {
            assert!(!is_counted(free), "{free}");
        }
        for counted in ["/", "/items", "/items/export", "/evidence/a", "/metrics/x", "/healthzz", "/openapi.json", "/x"]
        {
            assert!(is_counted(counted), "{counted}");
        }
    }

    #[test]
    fn a_small_rate_is_its_own_burst_and_zero_is_none() {
        assert!(PeerLimit::new(0).is_none());
        let limit = PeerLimit::new(1).unwrap();
        assert!(limit.take(address("::1")).is_ok());
        assert!(limit.take(address("::1")).is_err());
    }

    #[test]
    fn a_household_is_one_client() {
        assert_eq!(client(address("2001:db8:1:2::1")), client(address("2001:db8:1:2:ffff::9")));
        assert_ne!(client(address("2001:db8:1:2::1")), client(address("2001:db8:1:3::1")));
        assert_eq!(client(address("::ffff:192.0.2.1")), address("192.0.2.1"));
        assert_eq!(client(address("::1")), address("::1"));
    }
}
