//! What a reader of the results hears: every message on the results exchange, through whatever happens to the broker.

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

use crate::traffic::connect;

const RESULTS: &str = "enrichment.results";
const QUEUE: &str = "nights.results";
/// Messages fetched ahead.
const AHEAD: u16 = 500;
/// After so much silence the connection is looked after: a stalled broker closes nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// A whole result as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Result {
    pub(crate) enriched_at: String,
    /// Of the message that it answers.
    pub(crate) of: String,
}

/// Everything heard so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// By message id: what it says, as a hash of its key and body.
    pub(crate) bodies: HashMap<String, u64>,
    /// Of results, by what they say: the message id.
    ids: HashMap<u64, String>,
    /// Copies of what was heard before, under the same id.
    pub(crate) copies: u64,
    /// One id with two contents, or one result with two ids.
    pub(crate) confused: Vec<String>,
    /// Results of each item in the order they came, copies left out.
    pub(crate) results: HashMap<String, Vec<Result>>,
    /// Items that were reported as given up.
    pub(crate) failed: u64,
}

impl Heard {
    fn note(&mut self, delivery: &Delivery) {
        let id = delivery.properties.message_id().as_ref().map(ToString::to_string).unwrap_or_default();
        let key = delivery.routing_key.as_str();
        let mut hasher = DefaultHasher::new();
        (key, delivery.data.as_slice()).hash(&mut hasher);
        let says = hasher.finish();
        if self.bodies.get(&id) == Some(&says) {
            self.copies += 1;
            return;
        }
        if id.is_empty() || self.bodies.contains_key(&id) {
            self.confused.push(format!("{key} {id:?} came with two contents"));
        }
        // A result names its moment. Signals of two results of an item may say the same, word for word.
        if key == "item.enriched"
            && let Some(other) = self.ids.insert(says, id.clone())
        {
            self.confused.push(format!("{key} came as {other} and as {id}"));
        }
        self.bodies.insert(id, says);
        let body: serde_json::Value = serde_json::from_slice(&delivery.data).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        match key {
            "item.enriched" => {
                let result = Result { enriched_at: text("enriched_at"), of: text("message_id") };
                self.results.entry(text("item_id")).or_default().push(result);
            }
            "item.failed" => self.failed += 1,
            _ => {}
        }
    }
}

pub(crate) type Ears = Arc<Mutex<Heard>>;

/// Reads until it is stopped.
pub(crate) async fn listen(url: &str, ears: &Ears) {
    loop {
        // An end of the connection is part of a night; what was not acknowledged comes again.
        if let Err(_away) = listen_once(url, ears).await {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Declares what is listened to, so that nothing is missed once this has returned.
pub(crate) async fn prepare(url: &str) -> anyhow::Result<()> {
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

async fn listen_once(url: &str, ears: &Ears) -> anyhow::Result<()> {
    let connection = connect(url).await?;
    let opening = async {
        let channel = connection.create_channel().await?;
        channel.basic_qos(AHEAD, BasicQosOptions::default()).await?;
        let options = BasicConsumeOptions::default();
        channel.basic_consume(QUEUE.into(), "".into(), options, FieldTable::default()).await
    };
    let mut deliveries = tokio::time::timeout(SILENCE, opening).await.context("the broker does not answer")??;
    while let Some(delivery) = tokio::time::timeout(SILENCE, deliveries.next()).await? {
        let delivery = delivery?;
        // A panic elsewhere while it was held has left whole entries.
        ears.lock().unwrap_or_else(PoisonError::into_inner).note(&delivery);
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}
