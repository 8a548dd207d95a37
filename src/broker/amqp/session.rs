//! One life of the connection: two connections, their channels, the consumers. It ends as a whole; nothing is patched up.
//!
//! Two connections, because a broker in alarm (memory, disk) stops reading from connections that publish: on one
//! connection the acknowledgements would be stuck behind the results, and the queue could not drain.

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

/// How long closing politely may take before the connection is just dropped.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// What a consumer says: a message, or that it was cancelled (`None`).
type Consumed = (QueueName, lapin::Result<Option<lapin::message::Delivery>>);

type Deliveries = Pin<Box<dyn Stream<Item = Consumed> + Send>>;

/// What the consumers fetch, those that are started later too.
pub(super) struct Incoming {
    /// Goes first, whatever waits in the others.
    important: SelectAll<Deliveries>,
    /// Takes turns, so that a full queue cannot starve the other.
    streams: SelectAll<Deliveries>,
    started: mpsc::UnboundedReceiver<(QueueName, Deliveries)>,
}

impl Incoming {
    /// Waits for ever while nothing is consumed. Dropping it at any await loses nothing.
    pub(super) async fn next(&mut self) -> Consumed {
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

/// The channel that deliveries come on, and its consumers: none while nothing is consumed.
struct Consumers {
    /// Made for the first consumers, and kept: what it delivered is settled on it.
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
        // Per consumer: quorum queues know no prefetch for a whole channel.
        let qos = channel.basic_qos(plan.prefetch, BasicQosOptions { global: false }).await;
        qos.map_err(|error| (Stage::Connecting, error))?;
        for queue in QueueName::ALL {
            let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
            let at_broker = plan.names.queue(queue);
            let messages =
                channel.basic_consume(checked_name(at_broker), ShortString::default(), options, arguments).await;
            let messages = messages.map_err(|error| (Stage::Consuming(at_broker), error))?;
            self.tags.push(messages.tag());
            // The end of the stream says that the broker has cancelled the consumer.
            let ended = stream::once(async move { (queue, Ok(None)) });
            // The receiver lives as long as the session.
            let deliveries = messages.map(move |message| (queue, message.map(Some))).chain(ended).boxed();
            let _sent = self.started.send((queue, deliveries));
        }
        self.channel = Some(channel);
        Ok(())
    }
}

/// What opening a session takes.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) uri: AMQPUri,
    /// Host, port and vhost: all of the URL that may be shown.
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

/// A channel on which the broker confirms what it has.
async fn confirming(connection: &Connection) -> lapin::Result<Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}

pub(super) struct Session {
    consuming: BrokerConnection,
    publishing: BrokerConnection,
    /// For messages that no queue has to take. The broker closes it over one bad message, so it is opened again on demand.
    results: Mutex<Option<Channel>>,
    /// For messages that must reach a queue. One batch at a time, so that a returned message is known to be of it.
    pub(super) careful: Mutex<Channel>,
    consumers: Mutex<Consumers>,
    /// Locked by whoever waits for the next delivery.
    pub(super) deliveries: Mutex<Incoming>,
    /// Set once the session is of no more use.
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
        // Every step waits for an answer, and a broker that hangs gives none.
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
        // One after the other: a refusal is then said once.
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
            deliveries: Mutex::new(Incoming { important: SelectAll::new(), streams: SelectAll::new(), started }),
            lost: CancellationToken::new(),
            reason: OnceLock::new(),
        })
    }

    /// Declares the session useless. The first reason is kept.
    pub(super) fn lose(&self, reason: impl FnOnce() -> String) {
        if !self.lost.is_cancelled() {
            self.reason.get_or_init(reason);
            self.lost.cancel();
        }
    }

    /// Why it was lost.
    pub(super) fn reason(&self) -> &str {
        self.reason.get().map_or("unknown", String::as_str)
    }

    /// Looks at the connections' own state: a connection can die while nobody waits on it.
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

    /// Whether the broker has stopped taking messages (memory or disk alarm).
    pub(super) fn is_blocked(&self) -> bool {
        self.publishing.status().blocked()
    }

    /// The channel for results. Publishes share it, and may overlap on it.
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

    /// A channel of its own for questions that may fail: the broker closes a channel over a wrong question. Nothing may be
    /// published on it: it is one of the consuming connection, which a broker that takes no messages goes on answering.
    pub(super) async fn side_channel(&self, patience: Duration) -> Result<Channel, QueueError> {
        let action = "opening a channel";
        match timeout(patience, self.consuming.create_channel()).await {
            Ok(opened) => opened.map_err(|error| QueueError::Failed { action, detail: error.to_string() }),
            Err(_elapsed) => Err(QueueError::Failed { action, detail: "no answer from the broker".to_owned() }),
        }
    }

    /// Starts the consumers where there are none, and they are still wanted. What goes wrong ends the session; the next one
    /// consumes.
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

    /// Ends the consumers. Gives what they had fetched and nobody took, to be handed back. Where it is not certain that they
    /// ended, the session is lost: later ones would consume beside them.
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
            // Whatever is left goes back to the queue when the connection closes.
            self.lose(|| "the broker did not confirm in time that nothing more is consumed".to_owned());
        }
        fetched
    }

    /// Closes both connections, politely while that is quick.
    pub(super) async fn close(&self) {
        for connection in [&self.consuming, &self.publishing] {
            if connection.status().connected() {
                let closing = connection.close(200, prose("going away"));
                match timeout(CLOSE_PATIENCE, closing).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "closing a broker connection"),
                    Err(_elapsed) => tracing::debug!("closing a broker connection took too long"),
                }
            }
        }
        self.lost.cancel();
    }
}
