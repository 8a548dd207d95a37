//! A reader of the results: every message on the results exchange, across failures of the broker.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use lapin::ExchangeKind;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicQosOptions, ExchangeDeclareOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};

use crate::upstream::connect;

const RESULTS: &str = "enrichment.results";
const QUEUE: &str = "bench.results";
/// Messages fetched ahead.
const AHEAD: u16 = 500;
/// After this time without a message the connection is replaced: a stalled broker closes nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ItemResult {
    pub(crate) enriched_at: String,
    /// The id of the item's message.
    pub(crate) message: String,
}

/// All messages so far.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// A hash of routing key and body, by message id.
    pub(crate) bodies: HashMap<String, u64>,
    /// The message id of results, by hash.
    ids: HashMap<u64, String>,
    /// Copies with the same id.
    pub(crate) copies: u64,
    /// One id with two contents, or one result with two ids.
    pub(crate) conflicts: Vec<String>,
    /// Results of each item in the order they came, copies left out.
    pub(crate) results: HashMap<String, Vec<ItemResult>>,
    /// Items that were reported as failed.
    pub(crate) failed: u64,
}

impl Messages {
    fn add(&mut self, delivery: &Delivery) {
        let id = delivery.properties.message_id().as_ref().map(ToString::to_string).unwrap_or_default();
        let key = delivery.routing_key.as_str();
        let mut hasher = DefaultHasher::new();
        (key, delivery.data.as_slice()).hash(&mut hasher);
        let hash = hasher.finish();
        if self.bodies.get(&id) == Some(&hash) {
            self.copies += 1;
            return;
        }
        if id.is_empty() || self.bodies.contains_key(&id) {
            self.conflicts.push(format!("{key} {id:?} came with two contents"));
        }
        // A result contains its time. Signals of two results of an item may be equal.
        if key == "item.enriched"
            && let Some(other) = self.ids.insert(hash, id.clone())
        {
            self.conflicts.push(format!("{key} came as {other} and as {id}"));
        }
        self.bodies.insert(id, hash);
        let body: serde_json::Value = serde_json::from_slice(&delivery.data).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        match key {
            "item.enriched" => {
                let result = ItemResult { enriched_at: text("enriched_at"), message: text("message_id") };
                self.results.entry(text("item_id")).or_default().push(result);
            }
            "item.failed" => self.failed += 1,
            _ => {}
        }
    }
}

pub(crate) type SharedMessages = Arc<Mutex<Messages>>;

/// Reads until it is cancelled.
pub(crate) async fn read(url: &str, messages: &SharedMessages) {
    loop {
        // A lost connection is one of the faults; unacknowledged messages are delivered again.
        if let Err(_lost) = read_once(url, messages).await {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Declares the reader's queue, so that no later message is missed.
pub(crate) async fn declare_queue(url: &str) -> anyhow::Result<()> {
    let connection = connect(url).await?;
    let channel = connection.create_channel().await?;
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel.exchange_declare(RESULTS.into(), ExchangeKind::Topic, durable, FieldTable::default()).await?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    channel.queue_declare(QUEUE.into(), QueueDeclareOptions::durable(), arguments).await?;
    let options = QueueBindOptions::default();
    channel.queue_bind(QUEUE.into(), RESULTS.into(), "#".into(), options, FieldTable::default()).await?;
    connection.close(200, "done".into()).await.context("closing the connection")
}

async fn read_once(url: &str, messages: &SharedMessages) -> anyhow::Result<()> {
    let connection = connect(url).await?;
    let opening = async {
        let channel = connection.create_channel().await?;
        channel.basic_qos(AHEAD, BasicQosOptions::default()).await?;
        let options = BasicConsumeOptions::default();
        channel.basic_consume(QUEUE.into(), "".into(), options, FieldTable::default()).await
    };
    let mut deliveries = tokio::time::timeout(SILENCE, opening).await.context("the broker does not respond")??;
    while let Some(delivery) = tokio::time::timeout(SILENCE, deliveries.next()).await? {
        let delivery = delivery?;
        // A panic while it was locked has left complete entries.
        messages.lock().unwrap_or_else(PoisonError::into_inner).add(&delivery);
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}
