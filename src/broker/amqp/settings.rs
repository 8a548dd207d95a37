//! Settings of the AMQP connection, their checks, and parsing of `AMQP_URL`.
//!
//! Errors never contain the URL, which has a password. To add a setting, extend [`AmqpSettings`] and its `check`.

use std::time::Duration;

use lapin::uri::AMQPUri;
use secrecy::{ExposeSecret, SecretString};

use super::names::AmqpNames;
use crate::broker::QueueError;

/// Longest time to live in a quorum queue, milliseconds (unsigned 32-bit).
const LONGEST_RETRY_DELAY: Duration = Duration::from_millis(4_294_967_295);

/// Seconds, unless the URL sets one. Two missed ones end a connection: a silent broker is noticed in half a minute.
const HEARTBEAT_SECONDS: u16 = 15;

#[derive(Debug, Clone)]
pub struct AmqpSettings {
    /// `amqp://user:password@host:port/vhost` or `amqps://…`. Default vhost `/%2f`; an empty vhost means the same.
    pub url: SecretString,
    pub names: AmqpNames,
    /// Allowed prefixes of `reply_to` queue names. An empty prefix allows every queue except the daemon's own.
    pub reply_to_prefixes: Vec<String>,
    /// Prefetched deliveries per consumed queue: the worker's concurrency.
    pub prefetch: u16,
    /// Possible retry delays, ascending. Each is one broker queue per consumed queue.
    pub retry_delays: Vec<Duration>,
    /// Deliveries after which the broker dead-letters a message. Crashes, lost connections and returns count. Retries
    /// are new messages.
    pub delivery_limit: u32,
    pub confirm_timeout: Duration,
    /// Time limit for opening a session.
    pub connect_timeout: Duration,
    pub reconnect_max: Duration,
    /// How long [`super::AmqpQueue::connect`] tries before it fails.
    pub start_patience: Duration,
    /// False for processes that only publish or list.
    pub consume: bool,
}

impl AmqpSettings {
    pub fn new(url: SecretString, prefetch: u16) -> Self {
        Self {
            url,
            names: AmqpNames::default(),
            reply_to_prefixes: ["amq.gen-", "amq.rabbitmq.reply-to.", "enrichment.reply."].map(str::to_owned).to_vec(),
            prefetch,
            retry_delays: [5, 30, 120, 600].map(Duration::from_secs).to_vec(),
            delivery_limit: 20,
            confirm_timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(20),
            reconnect_max: Duration::from_secs(15),
            start_patience: Duration::from_secs(15),
            consume: true,
        }
    }

    pub(super) fn check(&self) -> Result<(), QueueError> {
        self.names.check()?;
        let bad = |key, detail: &str| Err(QueueError::BadSettings { key, detail: detail.to_owned() });
        if self.prefetch == 0 {
            return bad("prefetch", "0 means without limit; give 1 or more");
        }
        if self.retry_delays.is_empty() {
            return bad("retry_delays", "it is empty; give at least one delay");
        }
        if !self.retry_delays.is_sorted_by(|earlier, later| earlier < later) {
            return bad("retry_delays", "each delay must be longer than the one before");
        }
        let whole = |delay: &Duration| *delay == Duration::from_millis(delay.as_millis() as u64) && !delay.is_zero();
        if !self.retry_delays.iter().all(|delay| whole(delay) && *delay <= LONGEST_RETRY_DELAY) {
            return bad("retry_delays", "a delay must be whole milliseconds, more than 0 and less than 50 days");
        }
        Ok(())
    }
}

/// Parses the URL; also returns its parts that may be shown.
pub(super) fn parse_url(url: &SecretString) -> Result<(AMQPUri, String), QueueError> {
    let bad = |detail: &str| QueueError::BadSettings {
        key: "AMQP_URL",
        detail: format!("{detail}; write amqp://user:password@host:5672/%2f"),
    };
    let parsed = url::Url::parse(url.expose_secret()).map_err(|error| bad(&format!("it is no URL ({error})")))?;
    if !["amqp", "amqps"].contains(&parsed.scheme()) {
        return Err(bad("it does not start with amqp:// or amqps://"));
    }
    let mut uri: AMQPUri = url.expose_secret().parse().map_err(|_shows_the_url: String| bad("it cannot be read"))?;
    // The client's parser drops IPv6 addresses and connects to localhost instead.
    if let Some(url::Host::Ipv6(address)) = parsed.host() {
        uri.authority.host = address.to_string();
    }
    if uri.vhost.is_empty() {
        // `amqp://host/` names the vhost "", which does not exist; users mean the default vhost.
        "/".clone_into(&mut uri.vhost);
    }
    uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
    let address = format!("{}:{} (vhost {})", uri.authority.host, uri.authority.port, uri.vhost);
    Ok((uri, address))
}
