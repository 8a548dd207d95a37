//! Upstream as it really is: it publishes items to the broker and listens to what comes of them.

use std::sync::Mutex;
use std::time::Instant;

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, ExchangeDeleteOptions,
    QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, ExchangeKind};
use serde_json::Value;

use super::daemon::{LOOK, PATIENCE};

/// The retry delays the tests' daemons have; short, so that a retry is no wait.
pub(crate) const RETRY_DELAYS: [&str; 3] = ["200ms", "1s", "4s"];

/// A queue of work with its retry queues.
fn with_retries(queue: &str) -> impl Iterator<Item = String> {
    std::iter::once(queue.to_owned()).chain(RETRY_DELAYS.map(|delay| format!("{queue}.retry.{delay}")))
}

/// A message that was heard.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) key: String,
    pub(crate) body: Value,
    pub(crate) correlation_id: Option<String>,
    pub(crate) message_id: Option<String>,
}

/// Names of its own at the broker, and a connection that is not the daemon's.
pub(crate) struct Upstream {
    url: String,
    prefix: String,
    connection: Connection,
    channel: Channel,
    results: String,
    replies: String,
    heard: Mutex<Vec<Heard>>,
}

/// The broker to use; says so when there is none.
#[expect(clippy::disallowed_methods, reason = "tests are told of their services by the environment")]
pub(crate) fn broker_url() -> Option<String> {
    let url = std::env::var("TEST_AMQP_URL").ok();
    if url.is_none() {
        super::skipped("TEST_AMQP_URL is not set; tests/run starts a broker and sets it");
    }
    url
}

impl Upstream {
    pub(crate) async fn connect(url: &str) -> Self {
        let prefix = format!("it-{:08x}", rand::random::<u32>());
        let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let exchange = format!("{prefix}.results");
        let declared =
            channel.exchange_declare(exchange.as_str().into(), ExchangeKind::Topic, durable, FieldTable::default());
        declared.await.unwrap();
        let mut queues = Vec::new();
        // Answers are sent to queues of this prefix.
        for name in [format!("{prefix}.heard"), format!("enrichment.reply.{prefix}")] {
            // Durable: what was heard must outlive this connection too.
            let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
            channel.queue_declare(name.as_str().into(), options, FieldTable::default()).await.unwrap();
            queues.push(name);
        }
        let (results, replies) = (queues.remove(0), queues.remove(0));
        let options = QueueBindOptions::default();
        let bound = channel.queue_bind(
            results.as_str().into(),
            exchange.as_str().into(),
            "#".into(),
            options,
            FieldTable::default(),
        );
        bound.await.unwrap();
        Self { url: url.to_owned(), prefix, connection, channel, results, replies, heard: Mutex::default() }
    }

    /// A second connection in place of one that was thrown out.
    pub(crate) async fn reconnect(&mut self) {
        self.connection = Connection::connect(&self.url, ConnectionProperties::default()).await.unwrap();
        self.channel = self.connection.create_channel().await.unwrap();
        self.channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    }

    /// What tells the daemon of these names.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let name = |suffix: &str| format!("{}.{suffix}", self.prefix);
        [
            ("AMQP_URL", self.url.clone()),
            ("CORROBORATE_AMQP_EXCHANGE", name("enrichment")),
            ("CORROBORATE_AMQP_IMPORTANT_QUEUE", name("enrichment_important")),
            ("CORROBORATE_AMQP_ENRICHMENT_QUEUE", name("enrichment_queue")),
            ("CORROBORATE_AMQP_FACTCHECK_QUEUE", name("factcheck")),
            ("CORROBORATE_AMQP_DEAD_EXCHANGE", name("dlx")),
            ("CORROBORATE_AMQP_DEAD_QUEUE", name("dead")),
            ("CORROBORATE_AMQP_RESULTS_EXCHANGE", name("results")),
            ("CORROBORATE_QUEUE_RETRY_DELAYS", RETRY_DELAYS.join(",")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// A queue that hears some of the results, is full, and refuses whatever comes.
    pub(crate) async fn full_queue(&self, key: &str) -> String {
        let name = format!("{}.full", self.prefix);
        let mut limits = FieldTable::default();
        limits.insert("x-max-length".into(), AMQPValue::LongInt(1));
        limits.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(name.as_str().into(), durable, limits).await.unwrap();
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let sent = self.channel.basic_publish("".into(), name.as_str().into(), options, b"full", properties);
        assert!(sent.await.unwrap().await.unwrap().is_ack());
        let exchange = format!("{}.results", self.prefix);
        let (options, arguments) = (QueueBindOptions::default(), FieldTable::default());
        let bound =
            self.channel.queue_bind(name.as_str().into(), exchange.as_str().into(), key.into(), options, arguments);
        bound.await.unwrap();
        name
    }

    pub(crate) async fn delete_queue(&self, name: &str) {
        self.channel.queue_delete(name.into(), QueueDeleteOptions::default()).await.unwrap();
    }

    /// The name at the broker of, e.g., `enrichment_queue`.
    pub(crate) fn name(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.prefix)
    }

    pub(crate) fn reply_to(&self) -> &str {
        &self.replies
    }

    pub(crate) async fn publish(&self, key: &str, item: &Value) {
        self.publish_bytes(key, item.to_string().as_bytes()).await;
    }

    pub(crate) async fn publish_bytes(&self, key: &str, body: &[u8]) {
        self.publish_as(key, body, |properties| properties).await;
    }

    /// Returns when the broker has it.
    pub(crate) async fn publish_as(&self, key: &str, body: &[u8], with: impl Fn(BasicProperties) -> BasicProperties) {
        let kind = BasicProperties::default().with_delivery_mode(2).with_content_type("application/json".into());
        let exchange = format!("{}.enrichment", self.prefix);
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let sent =
            self.channel.basic_publish(exchange.as_str().into(), key.into(), options, body, with(kind)).await.unwrap();
        assert!(matches!(sent.await.unwrap(), Confirmation::Ack(None)), "no queue wants {key}");
    }

    async fn take(&self, queue: &str) -> Option<lapin::message::BasicGetMessage> {
        self.channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await.unwrap()
    }

    /// Takes what has come to the results exchange meanwhile.
    async fn listen(&self) {
        while let Some(message) = self.take(&self.results).await {
            let delivery = message.delivery;
            let heard = Heard {
                key: delivery.routing_key.to_string(),
                body: serde_json::from_slice(&delivery.data).unwrap(),
                correlation_id: delivery.properties.correlation_id().as_ref().map(ToString::to_string),
                message_id: delivery.properties.message_id().as_ref().map(ToString::to_string),
            };
            self.heard.lock().unwrap().push(heard);
        }
    }

    /// Everything heard so far that fits, in the order it came.
    pub(crate) async fn all(&self, fits: impl Fn(&Heard) -> bool) -> Vec<Heard> {
        self.listen().await;
        self.heard.lock().unwrap().iter().filter(|heard| fits(heard)).cloned().collect()
    }

    /// Waits for `count` messages that fit.
    pub(crate) async fn hear(&self, what: &str, count: usize, fits: impl Fn(&Heard) -> bool) -> Vec<Heard> {
        let since = Instant::now();
        loop {
            let heard = self.all(&fits).await;
            if heard.len() >= count {
                return heard;
            }
            let keys: Vec<String> =
                self.heard.lock().unwrap().iter().map(|one| format!("{} {}", one.key, one.body["item_id"])).collect();
            assert!(since.elapsed() < PATIENCE, "{} of {count} came: {what}; heard {keys:?}", heard.len());
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits for the result of an item, the `count`th one.
    pub(crate) async fn result(&self, item: &str, count: usize) -> Value {
        let heard = self.hear(item, count, |heard| heard.key == "item.enriched" && heard.body["item_id"] == item).await;
        assert_eq!(heard.len(), count, "more results of {item} than asked for");
        heard.into_iter().last().unwrap().body
    }

    /// The next answer sent to this upstream alone.
    pub(crate) async fn reply(&self) -> Heard {
        let since = Instant::now();
        loop {
            if let Some(message) = self.take(&self.replies).await {
                let delivery = message.delivery;
                return Heard {
                    key: delivery.routing_key.to_string(),
                    body: serde_json::from_slice(&delivery.data).unwrap(),
                    correlation_id: delivery.properties.correlation_id().as_ref().map(ToString::to_string),
                    message_id: delivery.properties.message_id().as_ref().map(ToString::to_string),
                };
            }
            assert!(since.elapsed() < PATIENCE, "nobody answered");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Puts messages among the dead letters, as if the daemon had given them up for `label`.
    pub(crate) async fn bury(&self, label: &str, bodies: impl Iterator<Item = Vec<u8>>) {
        let mut headers = FieldTable::default();
        headers.insert("x-error-label".into(), AMQPValue::LongString(label.into()));
        headers.insert("x-origin-queue".into(), AMQPValue::LongString(self.name("enrichment_queue").into()));
        let properties = BasicProperties::default().with_delivery_mode(2).with_headers(headers);
        let (queue, options) = (self.name("dead"), BasicPublishOptions::default());
        for body in bodies {
            let sent = self.channel.basic_publish("".into(), queue.as_str().into(), options, &body, properties.clone());
            assert!(sent.await.unwrap().await.unwrap().is_ack());
        }
    }

    /// The next dead letter: its headers as text, and its body.
    pub(crate) async fn dead(&self) -> (Vec<(String, String)>, Vec<u8>) {
        let since = Instant::now();
        loop {
            if let Some(message) = self.take(&format!("{}.dead", self.prefix)).await {
                let headers = message.delivery.properties.headers().clone().unwrap_or_default();
                let text = |value: &AMQPValue| match value {
                    AMQPValue::LongString(text) => text.to_string(),
                    other => format!("{other:?}"),
                };
                let headers = headers.inner().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
                return (headers, message.delivery.data.clone());
            }
            assert!(since.elapsed() < PATIENCE, "no dead letter");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Messages in a queue that nobody holds, e.g. `enrichment_queue`.
    pub(crate) async fn waiting(&self, suffix: &str) -> u32 {
        let name = format!("{}.{suffix}", self.prefix);
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(name.as_str().into(), options, FieldTable::default()).await.unwrap().message_count()
    }

    /// Every queue of work is empty. To be asked when no daemon holds unacknowledged messages any more, since those
    /// are not counted.
    pub(crate) async fn assert_drained(&self) {
        for queue in ["enrichment_important", "enrichment_queue", "factcheck"] {
            for name in with_retries(queue) {
                assert_eq!(self.waiting(&name).await, 0, "{name} is not empty");
            }
        }
    }

    /// Items that wait, for a worker or for a retry.
    pub(crate) async fn queued(&self) -> u32 {
        let mut count = 0;
        for queue in ["enrichment_important", "enrichment_queue", "factcheck"] {
            for name in with_retries(queue) {
                count += self.waiting(&name).await;
            }
        }
        count
    }

    /// Leaves the broker as it was.
    pub(crate) async fn clear(&self) {
        let mut queues = vec![self.results.clone(), self.replies.clone(), format!("{}.dead", self.prefix)];
        for queue in ["enrichment_important", "enrichment_queue", "factcheck"] {
            queues.extend(with_retries(queue).map(|name| format!("{}.{name}", self.prefix)));
        }
        for queue in queues {
            self.channel.queue_delete(queue.as_str().into(), QueueDeleteOptions::default()).await.unwrap();
        }
        for exchange in ["enrichment", "dlx", "results"] {
            let name = format!("{}.{exchange}", self.prefix);
            self.channel.exchange_delete(name.as_str().into(), ExchangeDeleteOptions::default()).await.unwrap();
        }
    }
}
