//! How the broker is reached, and what may be wrong with that.

use std::time::Duration;

use lapin::uri::AMQPUri;
use secrecy::{ExposeSecret, SecretString};

use super::names::AmqpNames;
use crate::broker::QueueError;

/// Longest time to live of a quorum queue's messages `RabbitMQ` takes, milliseconds (an unsigned 32-bit number).
const LONGEST_RETRY_DELAY: Duration = Duration::from_millis(4_294_967_295);

/// Heartbeat unless the URL sets one, seconds. Two missed ones end a connection: a broker that vanished without a word is
/// noticed within half a minute.
const HEARTBEAT_SECONDS: u16 = 15;

/// How to reach the broker and what to declare there.
#[derive(Debug, Clone)]
pub struct AmqpSettings {
    /// `amqp://user:password@host:port/vhost` or `amqps://…`; the default vhost is `/%2f`, an empty one means the same.
    pub url: SecretString,
    pub names: AmqpNames,
    /// Allowed prefixes of the queue names that a message's `reply_to` may name. An empty one allows every queue but the
    /// daemon's own.
    pub reply_to_prefixes: Vec<String>,
    /// Deliveries handed out ahead, per consumed queue; the worker's concurrency.
    pub prefetch: u16,
    /// The delays a retry can have, growing. Each is a queue at the broker for each consumed queue.
    pub retry_delays: Vec<Duration>,
    /// Deliveries after which the broker itself gives a message up. Crashes, lost connections and hand-backs count,
    /// retries do not: they are new messages.
    pub delivery_limit: u32,
    /// How long the broker may take to say that it has a message.
    pub confirm_timeout: Duration,
    /// How long opening a session may take.
    pub connect_timeout: Duration,
    /// The longest pause between two attempts to reach a broker that is away.
    pub reconnect_max: Duration,
    /// How long the first connection is tried before [`super::AmqpQueue::connect`] gives up.
    pub start_patience: Duration,
    /// Whether deliveries are wanted at all. Who only publishes or looks must not take messages away from the workers.
    pub consume: bool,
}

impl AmqpSettings {
    /// The contract's names and sensible times.
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

/// Reads the URL, and what of it may be shown. The error never holds the URL: it has a password in it.
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
    // The client's own reading leaves IPv6 addresses out and connects to localhost instead.
    if let Some(url::Host::Ipv6(address)) = parsed.host() {
        uri.authority.host = address.to_string();
    }
    if uri.vhost.is_empty() {
        // "amqp://host/" names the vhost "", which nobody has; people mean the default one.
        "/".clone_into(&mut uri.vhost);
    }
    uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
    let address = format!("{}:{} (vhost {})", uri.authority.host, uri.authority.port, uri.vhost);
    Ok((uri, address))
}
