//! Publishing items and hearing of their results, as upstream does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions, QueueBindOptions,
    QueueDeclareOptions, QueuePurgeOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, Consumer};
use serde::Deserialize;

const QUEUE: &str = "enrichment_queue";
const EXCHANGE: &str = "enrichment";
const RESULTS: &str = "enrichment.results";
/// Publishes that may wait for their confirm at once: enough to keep the broker busy.
const UNCONFIRMED: usize = 256;
/// No result for this long means that none will come.
const SILENCE: Duration = Duration::from_mins(1);

pub(crate) async fn connect(url: &str) -> anyhow::Result<Connection> {
    Connection::connect(url, ConnectionProperties::default()).await.context("connecting to the broker")
}

/// Refuses a broker that holds somebody's items: they would be enriched with simulated evidence.
pub(crate) async fn refuse_foreign_work(url: &str) -> anyhow::Result<()> {
    let waiting = queue_length(url).await?.unwrap_or(0);
    ensure!(waiting == 0, "{QUEUE} holds {waiting} messages; give a broker that is there for this measurement alone");
    Ok(())
}

/// Messages in the daemon's queue; none when there is no such queue.
pub(crate) async fn queue_length(url: &str) -> anyhow::Result<Option<u32>> {
    let connection = connect(url).await?;
    let channel = connection.create_channel().await?;
    let passive = QueueDeclareOptions { passive: true, durable: true, ..QueueDeclareOptions::default() };
    // A missing queue closes the channel, nothing else.
    let queue = channel.queue_declare(QUEUE.into(), passive, FieldTable::default()).await;
    let length = queue.ok().map(|queue| queue.message_count());
    connection.close(200, "done".into()).await.context("closing the connection")?;
    Ok(length)
}

/// Empties the daemon's queue. What is in it was put there by this program.
pub(crate) async fn purge(url: &str) -> anyhow::Result<()> {
    let connection = connect(url).await?;
    let channel = connection.create_channel().await?;
    channel.queue_purge(QUEUE.into(), QueuePurgeOptions::default()).await.context("emptying the queue")?;
    connection.close(200, "done".into()).await.context("closing the connection")
}

/// What is read of a result.
#[derive(Debug, Deserialize)]
struct Outcome {
    item_id: String,
    status: String,
    #[serde(default)]
    degraded: Vec<String>,
    #[serde(default)]
    claims: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    #[serde(default)]
    evidence: Vec<serde_json::Value>,
}

/// What came of a batch of items.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// From the first publish to the last result.
    pub(crate) elapsed: Duration,
    /// Publish to result of each item, in milliseconds, sorted.
    pub(crate) millis: Vec<f64>,
    /// Items by status, with the causes of degradation.
    pub(crate) statuses: HashMap<String, u64>,
    /// Evidence rows of all claims.
    pub(crate) evidence: u64,
    /// Some result bodies, for the raw limits.
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Batch {
    pub(crate) fn rate(&self) -> f64 {
        self.millis.len() as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    /// Statuses in words, e.g. `2000 complete`.
    pub(crate) fn statuses(&self) -> String {
        let mut statuses: Vec<String> =
            self.statuses.iter().map(|(status, count)| format!("{count} {status}")).collect();
        statuses.sort();
        statuses.join(", ")
    }
}

/// Upstream's side of the broker.
pub(crate) struct Upstream {
    connection: Connection,
    publisher: Channel,
    results: Consumer,
}

impl Upstream {
    /// Needs the daemon to have declared its exchanges.
    pub(crate) async fn connect(url: &str) -> anyhow::Result<Self> {
        let connection = connect(url).await?;
        let publisher = connection.create_channel().await?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(1000, BasicQosOptions::default()).await?;
        let own = QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
        let queue = channel.queue_declare("".into(), own, FieldTable::default()).await?;
        for key in ["item.enriched", "item.skipped", "item.failed"] {
            let options = QueueBindOptions::default();
            channel
                .queue_bind(queue.name().clone(), RESULTS.into(), key.into(), options, FieldTable::default())
                .await
                .context("binding to the results; has the daemon declared them?")?;
        }
        let unacknowledged = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let results =
            channel.basic_consume(queue.name().clone(), "".into(), unacknowledged, FieldTable::default()).await?;
        Ok(Self { connection, publisher, results })
    }

    /// Publishes items and waits until the broker has taken them.
    pub(crate) async fn publish(&self, items: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
        let publisher = &self.publisher;
        publish_all(publisher, EXCHANGE, "item.new", items.iter().map(|(_, body)| body.as_slice())).await
    }

    /// Publishes items and waits for all their results.
    pub(crate) async fn run(&mut self, items: &[(String, Vec<u8>)]) -> anyhow::Result<Batch> {
        self.run_as("item.new", items).await
    }

    /// The same under another routing key.
    pub(crate) async fn run_as(&mut self, key: &str, items: &[(String, Vec<u8>)]) -> anyhow::Result<Batch> {
        let begin = Instant::now();
        let mut sent: HashMap<String, Instant> = items.iter().map(|(id, _)| (id.clone(), begin)).collect();
        let publisher = &self.publisher;
        let bodies = items.iter().map(|(_, body)| body.as_slice());
        let publishing = publish_all(publisher, EXCHANGE, key, bodies);
        let results = &mut self.results;
        let hearing = async {
            let mut batch = Batch::default();
            while !sent.is_empty() {
                let delivery = tokio::time::timeout(SILENCE, results.next()).await;
                let delivery =
                    delivery.with_context(|| format!("no result for a minute, {} items are out", sent.len()))?;
                let delivery = delivery.context("the consumer of the results was cancelled")??;
                let outcome: Outcome = serde_json::from_slice(&delivery.data).context("reading a result")?;
                // A result of another batch, e.g. of one that was given up, is not counted.
                if let Some(published) = sent.remove(&outcome.item_id) {
                    batch.millis.push(published.elapsed().as_secs_f64() * 1000.0);
                    let status = [&[outcome.status], outcome.degraded.as_slice()].concat().join("|");
                    *batch.statuses.entry(status).or_default() += 1;
                    batch.evidence += outcome.claims.iter().map(|claim| claim.evidence.len() as u64).sum::<u64>();
                    if batch.bodies.len() < 500 {
                        batch.bodies.push(delivery.data);
                    }
                }
            }
            batch.elapsed = begin.elapsed();
            anyhow::Ok(batch)
        };
        // Together, so that results are taken while items are still being sent.
        let ((), mut batch) = futures::future::try_join(publishing, hearing).await?;
        batch.millis.sort_by(f64::total_cmp);
        Ok(batch)
    }

    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.connection.close(200, "done".into()).await.context("closing the connection")
    }
}

/// Publishes bodies, persistent and confirmed, many in flight.
pub(crate) async fn publish_all(
    channel: &Channel,
    exchange: &str,
    key: &str,
    bodies: impl Iterator<Item = &[u8]>,
) -> anyhow::Result<()> {
    stream::iter(bodies.map(anyhow::Ok))
        .try_for_each_concurrent(UNCONFIRMED, |body| async move {
            let properties =
                BasicProperties::default().with_content_type("application/json".into()).with_delivery_mode(2);
            let confirm = channel
                .basic_publish(exchange.into(), key.into(), BasicPublishOptions::default(), body, properties)
                .await?;
            ensure!(!confirm.await?.is_nack(), "the broker refused a message");
            Ok(())
        })
        .await
}
