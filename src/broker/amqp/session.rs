//! One session: two connections, their channels and the consumers. A fault ends the whole session; `driver` opens a new
//! one.
//!
//! A broker in alarm (memory, disk) stops reading from publishing connections. On one connection, acknowledgements
//! would wait behind results and the queue could not drain. Therefore consuming has its own connection.

use std::fmt;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::stream::{self, SelectAll, Stream, StreamExt};
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions, ConfirmSelectOptions};
use lapin::types::{FieldTable, ShortString};
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connection::BrokerConnection;
use super::names::{checked_name, prose};
use super::refusal::{Stage, explain};
use super::topology::{self, Step};
use super::{AmqpNames, AmqpSettings};
use crate::broker::{QueueError, QueueName};

/// How long a clean close may take before the connection is dropped.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// A message, or `None` if the consumer was cancelled.
type ConsumerEvent = (QueueName, lapin::Result<Option<lapin::message::Delivery>>);

type Deliveries = Pin<Box<dyn Stream<Item = ConsumerEvent> + Send>>;

pub(super) struct IncomingDeliveries {
    /// Polled before all others.
    important: SelectAll<Deliveries>,
    /// Polled in turn, so that a full queue cannot starve the other.
    streams: SelectAll<Deliveries>,
    started: mpsc::UnboundedReceiver<(QueueName, Deliveries)>,
}

impl IncomingDeliveries {
    /// Waits without end while nothing is consumed. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> ConsumerEvent {
        loop {
            tokio::select! {
                biased;
                Some((queue, stream)) = self.started.recv() => match queue {
                    QueueName::Important => self.important.push(stream),
                    QueueName::Enrichment | QueueName::Factcheck => self.streams.push(stream),
                },
                Some(consumed) = self.important.next(), if !self.important.is_empty() => return consumed,
                Some(consumed) = self.streams.next(), if !self.streams.is_empty() => return consumed,
                else => std::future::pending::<()>().await,
            }
        }
    }
}

/// No tags while nothing is consumed.
struct Consumers {
    /// Kept after the first consumers, because their deliveries must be settled on it.
    channel: Option<Channel>,
    tags: Vec<ShortString>,
    started: mpsc::UnboundedSender<(QueueName, Deliveries)>,
}

impl Consumers {
    async fn start<'a>(&mut self, connection: &Connection, plan: &'a Plan) -> Result<(), (Stage<'a>, lapin::Error)> {
        let channel = match &self.channel {
            Some(channel) => channel.clone(),
            None => connection.create_channel().await.map_err(|error| (Stage::Connecting, error))?,
        };
        // Per consumer: quorum queues do not support a prefetch for a whole channel.
        let qos = channel.basic_qos(plan.prefetch, BasicQosOptions { global: false }).await;
        qos.map_err(|error| (Stage::Connecting, error))?;
        for queue in QueueName::ALL {
            let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
            let at_broker = plan.names.queue(queue);
            let messages =
                channel.basic_consume(checked_name(at_broker), ShortString::default(), options, arguments).await;
            let messages = messages.map_err(|error| (Stage::Consuming(at_broker), error))?;
            self.tags.push(messages.tag());
            let ended = stream::once(async move { (queue, Ok(None)) });
            // Sending cannot fail: the receiver lives as long as the session.
            let deliveries = messages.map(move |message| (queue, message.map(Some))).chain(ended).boxed();
            let _sent = self.started.send((queue, deliveries));
        }
        self.channel = Some(channel);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) uri: AMQPUri,
    /// Host, port and vhost: the parts of the URL that may be shown.
    pub(super) address: String,
    pub(super) names: AmqpNames,
    pub(super) steps: Vec<Step>,
    pub(super) prefetch: u16,
    pub(super) connect_timeout: Duration,
    pub(super) reconnect_max: Duration,
}

impl Plan {
    pub(super) fn new(settings: &AmqpSettings, uri: AMQPUri, address: String) -> Self {
        Self {
            uri,
            address,
            names: settings.names.clone(),
            steps: topology::steps(&settings.names, &settings.retry_delays, settings.delivery_limit),
            prefetch: settings.prefetch,
            connect_timeout: settings.connect_timeout,
            reconnect_max: settings.reconnect_max,
        }
    }
}

async fn confirming(connection: &Connection) -> lapin::Result<Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}

pub(super) struct Session {
    consuming: BrokerConnection,
    publishing: BrokerConnection,
    /// For messages that need not reach a queue. The broker closes it after one bad message; it is reopened on demand.
    results: Mutex<Option<Channel>>,
    /// For messages that must reach a queue. One batch at a time, so that a returned message belongs to it.
    pub(super) careful: Mutex<Channel>,
    consumers: Mutex<Consumers>,
    pub(super) deliveries: Mutex<IncomingDeliveries>,
    pub(super) lost: CancellationToken,
    reason: OnceLock<String>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("lost", &self.lost.is_cancelled()).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects, declares everything, and starts to consume if `consume` is set.
    pub(super) async fn open(plan: &Plan, consume: bool) -> Result<Self, QueueError> {
        // Every step waits for an answer, and a hanging broker sends none.
        timeout(plan.connect_timeout, Self::open_patiently(plan, consume)).await.unwrap_or_else(|_elapsed| {
            Err(QueueError::Unreachable {
                address: plan.address.clone(),
                detail: format!("no answer within {:?}", plan.connect_timeout),
            })
        })
    }

    async fn open_patiently(plan: &Plan, consume: bool) -> Result<Self, QueueError> {
        let explained = |stage| move |error| explain(&error, &plan.address, &plan.uri, stage);
        let connect = |role: &'static str| BrokerConnection::open(&plan.uri, role);
        // Sequential, so that a refusal is reported once.
        let publishing = connect("publishing").await.map_err(explained(Stage::Connecting))?;
        let consuming = connect("consuming").await.map_err(explained(Stage::Connecting))?;

        let careful = publishing.create_channel().await.map_err(explained(Stage::Connecting))?;
        if let Err((step, error)) = topology::declare(&careful, &plan.steps).await {
            return Err(explain(&error, &plan.address, &plan.uri, Stage::Declaring(&step)));
        }
        careful.confirm_select(ConfirmSelectOptions::default()).await.map_err(explained(Stage::Connecting))?;
        let results = confirming(&publishing).await.map_err(explained(Stage::Connecting))?;

        let (starting, started) = mpsc::unbounded_channel();
        let mut consumers = Consumers { channel: None, tags: Vec::new(), started: starting };
        if consume {
            let begun = consumers.start(&consuming, plan).await;
            begun.map_err(|(stage, error)| explain(&error, &plan.address, &plan.uri, stage))?;
        }
        Ok(Self {
            consuming,
            publishing,
            results: Mutex::new(Some(results)),
            careful: Mutex::new(careful),
            consumers: Mutex::new(consumers),
            deliveries: Mutex::new(IncomingDeliveries {
                important: SelectAll::new(),
                streams: SelectAll::new(),
                started,
            }),
            lost: CancellationToken::new(),
            reason: OnceLock::new(),
        })
    }

    /// Marks the session as lost; the first reason is kept.
    pub(super) fn lose(&self, reason: impl FnOnce() -> String) {
        if !self.lost.is_cancelled() {
            self.reason.get_or_init(reason);
            self.lost.cancel();
        }
    }

    pub(super) fn reason(&self) -> &str {
        self.reason.get().map_or("unknown", String::as_str)
    }

    /// Checks the state of connections and channels: one can fail while no task waits on it.
    pub(super) fn check(&self) {
        for (role, connection) in [("consuming", &self.consuming), ("publishing", &self.publishing)] {
            if !connection.status().connected() {
                self.lose(|| format!("the {role} connection was closed"));
            }
        }
        let connected = |consumers: &Consumers| consumers.channel.as_ref().is_none_or(|it| it.status().connected());
        let consumer_open = self.consumers.try_lock().map_or(true, |consumers| connected(&consumers));
        let careful_open = self.careful.try_lock().map_or(true, |channel| channel.status().connected());
        if !(consumer_open && careful_open) {
            self.lose(|| "the broker closed a channel".to_owned());
        }
    }

    /// Returns true if the broker stopped taking messages (memory or disk alarm).
    pub(super) fn is_blocked(&self) -> bool {
        self.publishing.status().blocked()
    }

    /// Returns the channel for results. Concurrent publishes may share it.
    pub(super) async fn results(&self, patience: Duration) -> Result<Channel, QueueError> {
        let mut results = self.results.lock().await;
        if let Some(channel) = results.as_ref().filter(|channel| channel.status().connected()) {
            return Ok(channel.clone());
        }
        let action = "opening a channel for results";
        match timeout(patience, confirming(&self.publishing)).await {
            Ok(Ok(channel)) => Ok(results.insert(channel).clone()),
            Ok(Err(error)) => Err(QueueError::Failed { action, detail: error.to_string() }),
            Err(_elapsed) => Err(QueueError::Failed { action, detail: "no answer from the broker".to_owned() }),
        }
    }

    /// Opens a channel for requests that may fail, because the broker closes a channel after a failed one. Never
    /// publish on it: the consuming connection must work while the broker refuses messages.
    pub(super) async fn side_channel(&self, patience: Duration) -> Result<Channel, QueueError> {
        let action = "opening a channel";
        match timeout(patience, self.consuming.create_channel()).await {
            Ok(opened) => opened.map_err(|error| QueueError::Failed { action, detail: error.to_string() }),
            Err(_elapsed) => Err(QueueError::Failed { action, detail: "no answer from the broker".to_owned() }),
        }
    }

    /// Starts the consumers if none run and `wanted` returns true. A failure ends the session.
    pub(super) async fn start_consuming(&self, plan: &Plan, wanted: impl Fn() -> bool) {
        let mut consumers = self.consumers.lock().await;
        if !consumers.tags.is_empty() || !wanted() {
            return;
        }
        match timeout(plan.connect_timeout, consumers.start(&self.consuming, plan)).await {
            Ok(Ok(())) => {}
            Ok(Err((_, error))) => self.lose(|| format!("consuming again failed: {error}")),
            Err(_elapsed) => self.lose(|| "the broker did not let us consume again in time".to_owned()),
        }
    }

    /// Stops the consumers and returns the prefetched messages. If the stop is not confirmed, the session is lost,
    /// because new consumers would run in parallel.
    pub(super) async fn stop_consuming(&self) -> Vec<(QueueName, lapin::message::Delivery)> {
        let mut fetched = Vec::new();
        let mut consumers = self.consumers.lock().await;
        let Some(channel) = consumers.channel.clone() else { return fetched };
        let tags = std::mem::take(&mut consumers.tags);
        let cancelled = AtomicBool::new(false);
        let stopping = async {
            for tag in &tags {
                if let Err(error) = channel.basic_cancel(tag.clone(), BasicCancelOptions::default()).await {
                    return self.lose(|| format!("cancelling a consumer failed: {error}"));
                }
            }
            cancelled.store(true, Ordering::Relaxed);
            let mut open = tags.len();
            let mut deliveries = self.deliveries.lock().await;
            while open > 0 {
                match deliveries.next().await {
                    (queue, Ok(Some(message))) => fetched.push((queue, message)),
                    (_, Ok(None)) => open -= 1,
                    (queue, Err(error)) => return self.lose(|| format!("consuming {queue} failed: {error}")),
                }
            }
        };
        if timeout(CLOSE_PATIENCE, stopping).await.is_err() && !cancelled.load(Ordering::Relaxed) {
            // The remaining messages return to the queue when the connection closes.
            self.lose(|| "the broker did not confirm in time that nothing more is consumed".to_owned());
        }
        fetched
    }

    /// Closes both connections, cleanly if that takes at most [`CLOSE_PATIENCE`].
    pub(super) async fn close(&self) {
        for connection in [&self.consuming, &self.publishing] {
            if connection.status().connected() {
                let closing = connection.close(200, prose("going away"));
                match timeout(CLOSE_PATIENCE, closing).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "closing a broker connection"),
                    Err(_elapsed) => tracing::debug!("closing a broker connection timed out"),
                }
            }
        }
        self.lost.cancel();
    }
}
