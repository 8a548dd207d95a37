//! A bed for one test: names of its own at the broker, and an upstream that publishes and listens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corroborate::broker::{AmqpNames, AmqpQueue, AmqpSettings, Clocks, Delivery, Observer, Queue, QueueError};
use corroborate::domain::SystemClock;
use corroborate::supervisor::Supervisor;
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeleteOptions, QueueBindOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use tokio_util::task::TaskTracker;

/// Longer than anything here takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Counts what is of interest here.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) reconnects: AtomicUsize,
}

impl Observer for Counts {
    fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::SeqCst);
    }
}

pub(super) struct Bed {
    pub(super) url: url::Url,
    pub(super) names: AmqpNames,
    pub(super) channel: Channel,
    pub(super) counts: Arc<Counts>,
    pub(super) tracker: TaskTracker,
    pub(super) supervisor: Supervisor,
    connection: Connection,
}

/// The broker to use; says so when there is none.
#[expect(clippy::disallowed_methods, reason = "tests are told of their services by the environment")]
pub(super) fn amqp_url(test: &str) -> Option<url::Url> {
    let url = std::env::var("TEST_AMQP_URL").ok();
    if url.is_none() {
        crate::support::skipped(&format!(
            "broker::{test}: TEST_AMQP_URL is not set; tests/run starts a broker and sets it"
        ));
    }
    url.map(|url| url.parse().unwrap())
}

impl Bed {
    /// `None`: skip.
    pub(super) async fn new(test: &str) -> Option<Self> {
        Some(Self::at(amqp_url(test)?, test).await)
    }

    pub(super) async fn at(url: url::Url, test: &str) -> Self {
        let prefix = format!("test-{:08x}.{test}", rand::random::<u32>());
        let name = |name: &str| format!("{prefix}.{name}");
        let names = AmqpNames {
            exchange: name("enrichment"),
            important_queue: name("enrichment_important"),
            enrichment_queue: name("enrichment_queue"),
            factcheck_queue: name("factcheck"),
            dead_exchange: name("enrichment.dlx"),
            dead_queue: name("enrichment.dead"),
            results_exchange: name("enrichment.results"),
            ..AmqpNames::default()
        };
        let connection = Connection::connect(url.as_str(), ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        Self {
            url,
            names,
            channel,
            counts: Arc::default(),
            tracker: TaskTracker::new(),
            supervisor: Supervisor::default(),
            connection,
        }
    }

    /// The same bed with a new connection of upstream's.
    pub(super) async fn again(self) -> Self {
        let fresh = Self::at(self.url.clone(), "again").await;
        Self { names: self.names, counts: self.counts, tracker: self.tracker, supervisor: self.supervisor, ..fresh }
    }

    pub(super) fn settings(&self) -> AmqpSettings {
        AmqpSettings {
            names: self.names.clone(),
            retry_delays: [200, 1_000].map(Duration::from_millis).to_vec(),
            confirm_timeout: PATIENCE,
            ..AmqpSettings::new(self.url.to_string().into(), 4)
        }
    }

    pub(super) async fn try_connect(&self, settings: AmqpSettings) -> Result<AmqpQueue, QueueError> {
        let observer: Arc<dyn Observer> = Arc::clone(&self.counts) as Arc<dyn Observer>;
        AmqpQueue::connect(settings, Clocks::one(Arc::new(SystemClock)), observer, &self.supervisor).await
    }

    pub(super) async fn connect(&self) -> AmqpQueue {
        self.try_connect(self.settings()).await.unwrap()
    }

    pub(super) async fn receive(&self, queue: &AmqpQueue) -> Delivery {
        tokio::time::timeout(PATIENCE, queue.receive()).await.unwrap().unwrap()
    }

    pub(super) async fn publish(&self, key: &str, body: &[u8]) {
        self.publish_as(key, body, |properties| properties).await;
    }

    /// As upstream does it; returns when the broker has it in a queue (or knows that no queue wants it).
    pub(super) async fn publish_as(&self, key: &str, body: &[u8], with: impl Fn(BasicProperties) -> BasicProperties) {
        let properties = with(BasicProperties::default().with_delivery_mode(2));
        let exchange = self.names.exchange.as_str();
        let sent =
            self.channel.basic_publish(exchange.into(), key.into(), BasicPublishOptions::default(), body, properties);
        assert!(sent.await.unwrap().await.unwrap().is_ack());
    }

    /// Puts so many different letters among the dead, as if this daemon had given them up.
    pub(super) async fn put_dead(&self, origin: &str, letters: u32) {
        let mut headers = FieldTable::default();
        headers.insert("x-origin-queue".into(), AMQPValue::LongString(origin.into()));
        let mut confirms = Vec::new();
        for number in 0..letters {
            let properties = BasicProperties::default().with_delivery_mode(2).with_headers(headers.clone());
            let options = BasicPublishOptions::default();
            let (dead, body) = (self.names.dead_queue.as_str(), number.to_string());
            let sent = self.channel.basic_publish("".into(), dead.into(), options, body.as_bytes(), properties);
            confirms.push(sent.await.unwrap());
        }
        for confirm in confirms {
            assert!(confirm.await.unwrap().is_ack());
        }
    }

    /// A queue of the test's own.
    pub(super) async fn temporary_queue(&self) -> String {
        let options = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
        let queue = self.channel.queue_declare("".into(), options, FieldTable::default()).await.unwrap();
        queue.name().as_str().to_owned()
    }

    /// A queue that hears what is published to the results exchange.
    pub(super) async fn listen(&self, key: &str) -> String {
        let queue = self.temporary_queue().await;
        let (name, exchange) = (queue.as_str().into(), self.names.results_exchange.as_str().into());
        let bound =
            self.channel.queue_bind(name, exchange, key.into(), QueueBindOptions::default(), FieldTable::default());
        bound.await.unwrap();
        queue
    }

    /// Waits for a message in a queue and takes it.
    pub(super) async fn get(&self, queue: &str) -> lapin::message::Delivery {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            let got = self.channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await.unwrap();
            if let Some(message) = got {
                return message.delivery;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nothing came to {queue}");
    }

    /// Declares a durable queue on a channel that may die of it.
    pub(super) async fn declare<'a>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = &'a (&'static str, AMQPValue)>,
    ) -> lapin::Result<()> {
        let channel = self.connection.create_channel().await?;
        let mut table = FieldTable::default();
        for (key, value) in arguments {
            table.insert((*key).into(), value.clone());
        }
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(name.into(), options, table).await.map(drop)
    }

    pub(super) async fn delete_queue(&self, name: &str) {
        self.channel.queue_delete(name.into(), QueueDeleteOptions::default()).await.unwrap();
    }

    /// Waits until something holds.
    pub(super) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let since = Instant::now();
        while !holds().await {
            assert!(since.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Leaves the broker as it was.
    pub(super) async fn clear(&self) {
        let names = &self.names;
        for queue in [&names.important_queue, &names.enrichment_queue, &names.factcheck_queue] {
            for suffix in ["", ".retry.200ms", ".retry.1s"] {
                self.delete_queue(&format!("{queue}{suffix}")).await;
            }
        }
        self.delete_queue(&names.dead_queue).await;
        for exchange in [&names.exchange, &names.dead_exchange, &names.results_exchange] {
            self.channel.exchange_delete(exchange.as_str().into(), ExchangeDeleteOptions::default()).await.unwrap();
        }
    }
}
