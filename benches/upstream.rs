//! Publishing items and waiting for their results, as upstream does.

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

use crate::simulator::EventWorld;

const QUEUE: &str = "enrichment_queue";
const EXCHANGE: &str = "enrichment";
const RESULTS: &str = "enrichment.results";
/// Publishes that may wait for their confirm at once: enough to keep the broker busy.
const MAX_UNCONFIRMED: usize = 256;
/// After this time without a response a connection to the broker counts as dead.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// No result for this long means that none will come.
const RESULT_TIMEOUT: Duration = Duration::from_mins(1);

/// An item's id and body.
pub(crate) type Item = (String, Vec<u8>);

/// The items of a world with these numbers.
pub(crate) fn items(world: EventWorld, numbers: impl Iterator<Item = u64>) -> Vec<Item> {
    let item = |number| {
        let item = world.item(number);
        (item["item_id"].as_str().unwrap_or_default().to_owned(), item.to_string().into_bytes())
    };
    numbers.map(item).collect()
}

pub(crate) async fn connect(url: &str) -> anyhow::Result<Connection> {
    let connecting = Connection::connect(url, ConnectionProperties::default());
    let connection = tokio::time::timeout(RESPONSE_TIMEOUT, connecting).await.context("the broker does not respond")?;
    connection.context("connecting to the broker")
}

/// Refuses a broker with items of others: they would be enriched with simulated evidence.
pub(crate) async fn require_empty_queue(url: &str) -> anyhow::Result<()> {
    let waiting = queue_length(url).await?.unwrap_or(0);
    ensure!(waiting == 0, "{QUEUE} holds {waiting} messages; give a broker that is there for this measurement alone");
    Ok(())
}

/// Messages in the daemon's queue; none if there is no such queue.
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

/// Empties the daemon's queue; this program published everything in it.
pub(crate) async fn purge(url: &str) -> anyhow::Result<()> {
    let connection = connect(url).await?;
    let channel = connection.create_channel().await?;
    channel.queue_purge(QUEUE.into(), QueuePurgeOptions::default()).await.context("emptying the queue")?;
    connection.close(200, "done".into()).await.context("closing the connection")
}

/// The fields of a result that are read.
#[derive(Debug, Deserialize)]
struct Outcome {
    item_id: String,
    status: String,
    #[serde(default)]
    claims: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    #[serde(default)]
    evidence: Vec<serde_json::Value>,
}

/// The results of a batch of items.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// From the first publish to the last result.
    pub(crate) elapsed: Duration,
    /// Publish to result of each item, in milliseconds, sorted.
    pub(crate) millis: Vec<f64>,
    statuses: HashMap<String, u64>,
    /// Evidence rows of all claims.
    pub(crate) evidence: u64,
}

impl Batch {
    pub(crate) fn rate(&self) -> f64 {
        self.millis.len() as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    pub(crate) fn complete(&self) -> u64 {
        self.statuses.get("complete").copied().unwrap_or(0)
    }

    /// Counts by status, e.g. `2000 complete`.
    pub(crate) fn statuses(&self) -> String {
        let statuses = self.statuses.iter().map(|(status, count)| format!("{count} {status}"));
        let mut statuses: Vec<String> = statuses.collect();
        statuses.sort();
        statuses.join(", ")
    }

    /// Fails if items are degraded or have no evidence: such a measurement would be worthless.
    pub(crate) fn require_evidence(&self) -> anyhow::Result<()> {
        let items = self.millis.len() as u64;
        ensure!(self.complete() * 100 >= items * 98, "too few of {items} items are complete ({})", self.statuses());
        let evidence = self.evidence;
        ensure!(evidence >= items, "{evidence} pieces of evidence for {items} items: the pages were not used");
        Ok(())
    }
}

/// Upstream's side of the broker.
pub(crate) struct Upstream {
    connection: Connection,
    publisher: Channel,
    results: Consumer,
}

impl Upstream {
    /// The daemon must have declared its exchanges.
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

    /// Publishes items and waits for the broker's confirms.
    pub(crate) async fn publish(&self, items: &[Item]) -> anyhow::Result<()> {
        publish(&self.publisher, "item.new", items).await
    }

    /// Publishes items and waits for all their results.
    pub(crate) async fn run(&mut self, key: &str, items: &[Item]) -> anyhow::Result<Batch> {
        let begin = Instant::now();
        let mut pending: HashMap<String, Instant> = items.iter().map(|(id, _)| (id.clone(), begin)).collect();
        let mut batch = Batch::default();
        let (publisher, results) = (&self.publisher, &mut self.results);
        // Results are read while items are still being published.
        let reading = async {
            while !pending.is_empty() {
                let delivery = tokio::time::timeout(RESULT_TIMEOUT, results.next()).await;
                let delivery =
                    delivery.with_context(|| format!("no result for a minute, {} items are pending", pending.len()))?;
                let delivery = delivery.context("the consumer of the results was cancelled")??;
                let outcome: Outcome = serde_json::from_slice(&delivery.data).context("reading a result")?;
                // A result of another batch, e.g. of an abandoned one, is not counted.
                if let Some(published) = pending.remove(&outcome.item_id) {
                    batch.millis.push(published.elapsed().as_secs_f64() * 1000.0);
                    *batch.statuses.entry(outcome.status).or_default() += 1;
                    batch.evidence += outcome.claims.iter().map(|claim| claim.evidence.len() as u64).sum::<u64>();
                }
            }
            anyhow::Ok(())
        };
        futures::future::try_join(publish(publisher, key, items), reading).await?;
        batch.elapsed = begin.elapsed();
        batch.millis.sort_by(f64::total_cmp);
        Ok(batch)
    }

    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.connection.close(200, "done".into()).await.context("closing the connection")
    }
}

/// Publishes items, persistent and confirmed, many in flight.
async fn publish(publisher: &Channel, key: &str, items: &[Item]) -> anyhow::Result<()> {
    stream::iter(items.iter().map(anyhow::Ok))
        .try_for_each_concurrent(MAX_UNCONFIRMED, |(_, body)| async move {
            let properties =
                BasicProperties::default().with_content_type("application/json".into()).with_delivery_mode(2);
            let confirm = publisher
                .basic_publish(EXCHANGE.into(), key.into(), BasicPublishOptions::default(), body, properties)
                .await?;
            ensure!(!confirm.await?.is_nack(), "the broker refused a message");
            Ok(())
        })
        .await
}
