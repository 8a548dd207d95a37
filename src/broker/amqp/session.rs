//! One life of the connection: two connections, their channels, the consumers. It ends as a whole; nothing is patched up.
//!
//! Two connections, because a broker in alarm (memory, disk) stops reading from connections that publish: on one
//! connection the acknowledgements would be stuck behind the results, and the queue could not drain.

use std::fmt;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt};
use lapin::options::{
    BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, ConfirmSelectOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection, ConnectionProperties};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::names::short;
use super::refusal::{Stage, explain};
use super::topology::{self, Step};
use super::{AmqpNames, AmqpSettings};
use crate::broker::{QueueError, QueueName};

/// How long closing politely may take before the connection is just dropped.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// What a consumer says: a message, or that it was cancelled (`None`).
type Consumed = (QueueName, lapin::Result<Option<lapin::message::Delivery>>);

pub(super) type Deliveries = Pin<Box<dyn Stream<Item = Consumed> + Send>>;

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

pub(super) struct Session {
    consuming: Connection,
    publishing: Connection,
    /// For messages that nobody has to want. Shared: publishes overlap.
    pub(super) results: Channel,
    /// For messages that must reach a queue. One batch at a time, so that a returned message is known to be of it.
    pub(super) careful: Mutex<Channel>,
    consumer: Option<(Channel, Vec<ShortString>)>,
    /// Locked by whoever waits for the next delivery.
    pub(super) deliveries: Mutex<Deliveries>,
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
        let connect = |role: &str| {
            let properties = ConnectionProperties::default().with_connection_name(format!("corroborate {role}").into());
            Connection::connect_uri(plan.uri.clone(), properties)
        };
        // One after the other: a refusal is then said once.
        let publishing = connect("publishing").await.map_err(explained(Stage::Connecting))?;
        let consuming = connect("consuming").await.map_err(explained(Stage::Connecting))?;

        let careful = publishing.create_channel().await.map_err(explained(Stage::Connecting))?;
        if let Err((step, error)) = topology::declare(&careful, &plan.steps).await {
            return Err(explain(&error, &plan.address, &plan.uri, Stage::Declaring(&step)));
        }
        let results = publishing.create_channel().await.map_err(explained(Stage::Connecting))?;
        for channel in [&careful, &results] {
            channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(explained(Stage::Connecting))?;
        }

        let mut streams: Vec<Deliveries> = Vec::new();
        let mut consumer = None;
        if consume {
            let channel = consuming.create_channel().await.map_err(explained(Stage::Connecting))?;
            // Per consumer: quorum queues know no prefetch for a whole channel.
            let options = BasicQosOptions { global: false };
            channel.basic_qos(plan.prefetch, options).await.map_err(explained(Stage::Connecting))?;
            let mut tags = Vec::new();
            for name in QueueName::ALL {
                let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
                let queue = short(plan.names.queue(name));
                let messages = channel.basic_consume(queue, ShortString::default(), options, arguments).await;
                let messages = messages.map_err(explained(Stage::Consuming(plan.names.queue(name))))?;
                tags.push(messages.tag());
                // The end of the stream is news of its own: the broker has cancelled the consumer.
                let ended = stream::once(async move { (name, Ok(None)) });
                streams.push(messages.map(move |message| (name, message.map(Some))).chain(ended).boxed());
            }
            consumer = Some((channel, tags));
        }
        Ok(Self {
            consuming,
            publishing,
            results,
            careful: Mutex::new(careful),
            consumer,
            // Takes turns, so that a full queue cannot starve the other.
            deliveries: Mutex::new(stream::select_all(streams).chain(stream::pending()).boxed()),
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
        let consumer_open = self.consumer.as_ref().is_none_or(|(channel, _)| channel.status().connected());
        let careful_open = self.careful.try_lock().map_or(true, |channel| channel.status().connected());
        if !(consumer_open && careful_open && self.results.status().connected()) {
            self.lose(|| "the broker closed a channel".to_owned());
        }
    }

    /// Whether the broker has stopped taking messages (memory or disk alarm).
    pub(super) fn is_blocked(&self) -> bool {
        self.publishing.status().blocked()
    }

    /// A channel of its own for questions that may fail: the broker closes a channel over a wrong question.
    pub(super) async fn side_channel(&self) -> Result<Channel, QueueError> {
        self.publishing
            .create_channel()
            .await
            .map_err(|error| QueueError::Failed { action: "opening a channel", detail: error.to_string() })
    }

    /// Ends the consumers and hands back what they had fetched and nobody took.
    pub(super) async fn stop_consuming(&self) {
        let Some((channel, tags)) = &self.consumer else { return };
        let hand_back = async {
            for tag in tags {
                if let Err(error) = channel.basic_cancel(tag.clone(), BasicCancelOptions::default()).await {
                    return self.lose(|| format!("cancelling a consumer failed: {error}"));
                }
            }
            let mut open = tags.len();
            let mut deliveries = self.deliveries.lock().await;
            while open > 0 {
                match deliveries.next().await {
                    Some((_, Ok(Some(message)))) => {
                        let options = BasicNackOptions { requeue: true, multiple: false };
                        if message.acker.nack(options).await.is_err() {
                            return;
                        }
                    }
                    Some((_, Ok(None))) => open -= 1,
                    Some((_, Err(_))) | None => return,
                }
            }
        };
        if timeout(CLOSE_PATIENCE, hand_back).await.is_err() {
            // Whatever is left goes back to the queue when the connection closes.
            tracing::warn!("the broker did not confirm in time that nothing more is consumed");
        }
    }

    /// Closes both connections, politely while that is quick.
    pub(super) async fn close(&self) {
        for connection in [&self.consuming, &self.publishing] {
            if connection.status().connected() {
                let closing = connection.close(200, short("going away"));
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
