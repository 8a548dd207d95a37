//! Resolves names by asynchronous DNS with the system's configuration.
//!
//! The system's resolver blocks a thread while a name server is silent, so a few links to dead domains would hold every
//! thread. This one reads `/etc/hosts` and `/etc/resolv.conf` (on Windows the registry), but not mDNS or LDAP, which
//! know no public page. Results are untrusted: `ssrf_guard` checks every address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{Resolver, TokioResolver};
use tokio::time::Instant;

use super::ssrf_guard::Lookup;

/// Maximum cached responses. Every hop of a page needs one.
const KEPT: u64 = 1024;
/// Minimum age at which a failure reloads the configuration: a changed network has other name servers.
const READ_AGAIN: Duration = Duration::from_secs(30);
/// Maximum concurrent requests to a name server; more than concurrent pages.
const MOST_AT_ONCE: usize = 256;

pub(super) fn system_lookup() -> Lookup {
    lookup_by(system_resolver)
}

fn lookup_by(build: fn() -> Result<TokioResolver, NetError>) -> Lookup {
    let names = Arc::new(Names { build, current: Mutex::default() });
    Arc::new(move |name| {
        let names = Arc::clone(&names);
        Box::pin(async move { names.addresses(name).await })
    })
}

struct Names {
    build: fn() -> Result<TokioResolver, NetError>,
    current: Mutex<Option<(TokioResolver, Instant)>>,
}

impl Names {
    async fn addresses(&self, name: String) -> io::Result<Vec<SocketAddr>> {
        let resolver = self.resolver().map_err(io::Error::other)?;
        match resolver.lookup_ip(absolute(name)).await {
            Ok(found) => {
                // More hosts can reach IPv4; the connection tries IPv6 soon after.
                let mut found: Vec<IpAddr> = found.iter().collect();
                found.sort_by_key(IpAddr::is_ipv6);
                // Replaced by the URL's port.
                Ok(found.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect())
            }
            Err(error) => {
                if !error.is_no_records_found() {
                    self.doubt();
                }
                Err(io::Error::other(error))
            }
        }
    }

    fn resolver(&self) -> Result<TokioResolver, NetError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((resolver, _)) = &*current {
            return Ok(resolver.clone());
        }
        let resolver = (self.build)()?;
        *current = Some((resolver.clone(), Instant::now()));
        Ok(resolver)
    }

    /// Discards an old configuration after a failure: the name server may have changed.
    fn doubt(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|(_, read_at)| read_at.elapsed() >= READ_AGAIN) {
            *current = None;
        }
    }
}

/// Makes a name with a dot absolute, so that the system's search list, such as a cluster's domains, never answers a
/// stranger's link.
fn absolute(mut name: String) -> String {
    if name.contains('.') && !name.ends_with('.') {
        name.push('.');
    }
    name
}

fn system_resolver() -> Result<TokioResolver, NetError> {
    let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|error| {
        // As the C library does. Never an unconfigured public server.
        tracing::warn!(%error, "reading the system's name servers failed; using the local one");
        let local = NameServerConfig::udp_and_tcp(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![local]);
        Resolver::builder_with_config(config, TokioRuntimeProvider::default())
    });
    adapt(builder.options_mut());
    builder.build()
}

fn adapt(options: &mut ResolverOpts) {
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = KEPT;
    options.max_active_requests = MOST_AT_ONCE;
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::sync::LazyLock;

    use hickory_resolver::config::ConnectionConfig;

    use super::super::ssrf_guard::{Guard, GuardedResolver};
    use super::*;

    /// Takes every question and never answers.
    static SILENT: LazyLock<UdpSocket> = LazyLock::new(|| UdpSocket::bind(("127.0.0.1", 0)).unwrap());
    /// Answers every question with a private address.
    static LYING: LazyLock<u16> = LazyLock::new(|| {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                socket.send_to(&private_answer(&question[..length]), from).unwrap();
            }
        });
        port
    });

    /// The question with one record for its name: 10.0.0.1 for an A question, nothing for any other.
    fn private_answer(question: &[u8]) -> Vec<u8> {
        let mut end = 12;
        while question[end] != 0 {
            end += usize::from(question[end]) + 1;
        }
        let is_a = question[end + 1..end + 3] == [0, 1];
        let mut answer = question[..end + 5].to_vec();
        answer[2..4].copy_from_slice(&[0x81, 0x80]);
        answer[6..12].copy_from_slice(&[0, u8::from(is_a), 0, 0, 0, 0]);
        if is_a {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1]);
        }
        answer
    }

    fn at(port: u16) -> Result<TokioResolver, NetError> {
        let mut connection = ConnectionConfig::udp();
        connection.port = port;
        let mut server = NameServerConfig::udp(IpAddr::V4(Ipv4Addr::LOCALHOST));
        server.connections = vec![connection];
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        let mut builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
        adapt(builder.options_mut());
        builder.build()
    }

    fn silent() -> Result<TokioResolver, NetError> {
        at(SILENT.local_addr().unwrap().port())
    }

    fn lying() -> Result<TokioResolver, NetError> {
        at(*LYING)
    }

    /// With the system's blocking resolver this one thread belongs to the first of the names.
    #[test]
    fn resolver_holds_no_thread_when_name_server_is_silent() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let lookup = lookup_by(silent);
            let mut waiting: Vec<_> = (0..32).map(|number| lookup(format!("{number}.dead.example"))).collect();
            for lookup in &mut waiting {
                assert!(futures::poll!(lookup).is_pending());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            let thread = tokio::task::spawn_blocking(|| ());
            tokio::time::timeout(Duration::from_secs(2), thread).await.expect("a thread is free").unwrap();
            for lookup in &mut waiting {
                assert!(futures::poll!(lookup).is_pending(), "they still wait, without a thread");
            }
        });
    }

    #[tokio::test]
    async fn resolver_checks_addresses_when_name_server_answers() {
        let lookup = lookup_by(lying);
        let found = lookup("rebound.example".to_owned()).await.unwrap();
        assert_eq!(found, [SocketAddr::from(([10, 0, 0, 1], 0))]);
        let guarded = GuardedResolver::new(lookup, Guard::public(&[]));
        let refused = guarded.addresses("rebound.example".to_owned()).await.unwrap_err();
        assert!(refused.to_string().contains("not a public address"), "{refused}");
    }

    #[tokio::test]
    async fn the_file_of_hosts_is_read() {
        let found = system_lookup()("localhost".to_owned()).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
    }

    #[test]
    fn links_are_never_looked_up_below_the_domains_of_this_network() {
        assert_eq!(absolute("news.example".to_owned()), "news.example.");
        assert_eq!(absolute("news.example.".to_owned()), "news.example.");
        assert_eq!(absolute("mirror".to_owned()), "mirror");
    }
}
