//! Compares the stored items and the published results with the messages that were sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::PoisonError;

use anyhow::Context as _;
use lapin::options::{BasicAckOptions, BasicGetOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection};
use sqlx::{AssertSqlSafe, PgPool, Row as _};

use super::RETRY_DELAYS;
use super::results::{Messages, SharedMessages};
use super::traffic::Message;
use crate::report::Report;
use crate::upstream::connect;

const QUEUES: [&str; 3] = ["enrichment_important", "enrichment_queue", "factcheck"];
const DEAD: &str = "enrichment.dead";
/// Items that a failure names.
const MAX_NAMES: usize = 5;

/// An item as it is stored.
#[derive(Debug)]
pub(crate) struct Stored {
    text: String,
    status: String,
    degraded: Vec<String>,
    enriched_at: String,
    /// Ids of the messages that must be published: the result and a signal for each claim.
    signals: Vec<String>,
}

/// The rows of a table.
pub(crate) async fn count(pool: &PgPool, table: &str) -> anyhow::Result<u64> {
    let statement = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    let count: i64 = sqlx::query_scalar(statement).fetch_one(pool).await?;
    Ok(u64::try_from(count)?)
}

pub(crate) async fn stored(pool: &PgPool) -> anyhow::Result<HashMap<String, Stored>> {
    let rows = sqlx::query(
        "SELECT i.item_id, i.text, i.status, i.degraded, i.result ->> 'enriched_at' AS enriched_at,
             (extract(epoch FROM i.enriched_at) * 1000000)::bigint::text AS micros,
             coalesce(array_agg(c.claim_id) FILTER (WHERE c.claim_id IS NOT NULL), '{}') AS claims
         FROM items i LEFT JOIN claims c USING (item_id) GROUP BY i.item_id",
    )
    .fetch_all(pool)
    .await
    .context("reading the stored items")?;
    let mut stored = HashMap::new();
    for row in rows {
        let (id, micros): (String, String) = (row.get("item_id"), row.get("micros"));
        let claims: Vec<String> = row.get("claims");
        let parts = std::iter::once("result".to_owned()).chain(claims);
        let signals = parts.map(|part| format!("{id}:{micros}:{part}")).collect();
        let (text, status, degraded) = (row.get("text"), row.get("status"), row.get("degraded"));
        stored.insert(id, Stored { text, status, degraded, enriched_at: row.get("enriched_at"), signals });
    }
    Ok(stored)
}

/// A connection that inspects queues.
pub(crate) struct Broker {
    _connection: Connection,
    channel: Channel,
}

impl Broker {
    pub(crate) async fn connect(url: &str) -> anyhow::Result<Self> {
        let connection = connect(url).await?;
        let channel = connection.create_channel().await?;
        Ok(Self { _connection: connection, channel })
    }

    /// Ready messages in the work queues and in the retry queues.
    pub(crate) async fn waiting(&self) -> anyhow::Result<u64> {
        let mut count = 0;
        for queue in QUEUES {
            let retries = RETRY_DELAYS.map(|delay| format!("{queue}.retry.{delay}"));
            for name in std::iter::once(queue.to_owned()).chain(retries) {
                let passive = QueueDeclareOptions { passive: true, durable: true, ..QueueDeclareOptions::default() };
                let declared = self.channel.queue_declare(name.as_str().into(), passive, FieldTable::default()).await;
                count += u64::from(declared.with_context(|| format!("inspecting {name}"))?.message_count());
            }
        }
        Ok(count)
    }

    /// Empties the queue of dead letters: message ids and reasons.
    pub(crate) async fn dead_letters(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut dead = Vec::new();
        while let Some(message) = self.channel.basic_get(DEAD.into(), BasicGetOptions::default()).await? {
            let properties = &message.delivery.properties;
            let id = properties.message_id().as_ref().map(ToString::to_string).unwrap_or_default();
            let headers = properties.headers().clone().unwrap_or_default();
            let text = |name: &str| match headers.inner().get(name) {
                Some(AMQPValue::LongString(text)) => Some(text.to_string()),
                _ => None,
            };
            // The daemon's own reason, else the broker's.
            let reason = text("x-error-label").or_else(|| text("x-first-death-reason")).unwrap_or_default();
            dead.push((id, reason));
            message.delivery.ack(BasicAckOptions::default()).await?;
        }
        Ok(dead)
    }
}

fn counts<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

/// Fails with a count and some of the names, if there are any.
fn require_none(report: &mut Report, names: &[String], what: &str) {
    report.require(names.is_empty(), || {
        format!("{} {what}, e.g. {}", names.len(), names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", "))
    });
}

/// Checks that every message ended once, that an item's latest text is stored, and that readers got every result.
pub(crate) fn check(
    messages: &[Message],
    stored: &HashMap<String, Stored>,
    dead: &[(String, String)],
    published: &SharedMessages,
    report: &mut Report,
) {
    let dead_ids: BTreeSet<&str> = dead.iter().map(|(id, _)| id.as_str()).collect();
    let mut latest: HashMap<&str, &Message> = HashMap::new();
    let (mut lost, mut accepted) = (Vec::new(), Vec::new());
    for message in messages {
        let is_dead = dead_ids.contains(message.id.as_str());
        match message.item.as_deref() {
            None if !is_dead => accepted.push(message.id.clone()),
            Some(item) if !is_dead => {
                if !stored.contains_key(item) {
                    lost.push(message.id.clone());
                }
                let newest = latest.entry(item).or_insert(message);
                if message.version >= newest.version {
                    *newest = message;
                }
            }
            _ => {}
        }
    }
    let is_old = |item: &str, message: &Message| stored.get(item).is_some_and(|row| row.text != message.text);
    let old = latest.iter().filter(|(item, message)| is_old(item, message));
    let old: Vec<String> = old.map(|(item, _)| (*item).to_owned()).collect();
    let sent: BTreeSet<&str> = messages.iter().filter_map(|message| message.item.as_deref()).collect();
    let unsent: Vec<String> = stored.keys().filter(|id| !sent.contains(id.as_str())).cloned().collect();
    report.note("items", sent.len());
    report.note("edits", messages.iter().filter(|message| message.version == 2).count());
    report.note("items by status", counts(stored.values().map(|row| row.status.as_str())));
    let causes = stored.values().flat_map(|row| row.degraded.iter().map(String::as_str));
    report.note("causes of degradation", counts(causes));
    report.note("dead letters", counts(dead.iter().map(|(_, reason)| reason.as_str())));
    require_none(report, &lost, "messages are lost");
    require_none(report, &old, "items are stored with an old text");
    require_none(report, &accepted, "messages that are no items are not among the dead letters");
    require_none(report, &unsent, "stored items were never sent");
    let unnamed = dead.iter().filter(|(id, reason)| id.is_empty() || reason.is_empty());
    let unnamed: Vec<String> = unnamed.map(|(id, _)| format!("{id:?}")).collect();
    require_none(report, &unnamed, "dead letters have no reason");
    let odd = stored.iter().filter(|(_, row)| (row.status == "degraded") == row.degraded.is_empty());
    let odd: Vec<String> = odd.map(|(id, row)| format!("{id} ({} {:?})", row.status, row.degraded)).collect();
    require_none(report, &odd, "items are degraded without a cause, or have one and are not");
    check_published(stored, &published.lock().unwrap_or_else(PoisonError::into_inner), report);
}

/// Signals are published at least once, with one id each; the latest published result of an item is the stored one.
fn check_published(stored: &HashMap<String, Stored>, published: &Messages, report: &mut Report) {
    let signals = stored.values().flat_map(|row| &row.signals);
    let missing: Vec<String> = signals.filter(|id| !published.bodies.contains_key(*id)).cloned().collect();
    require_none(report, &missing, "signals of stored items were never published");
    require_none(report, &published.conflicts, "messages share an id or have two");
    let mut different = Vec::new();
    for (item, results) in &published.results {
        let Some(row) = stored.get(item) else {
            different.push(format!("{item} (not stored)"));
            continue;
        };
        let newest = results.iter().map(|result| time(&result.enriched_at)).max();
        if newest != Some(time(&row.enriched_at)) {
            let all: Vec<String> =
                results.iter().map(|one| format!("{} of {}", one.enriched_at, one.message)).collect();
            different.push(format!("{item} (stored {}, published {})", row.enriched_at, all.join(" and ")));
        }
    }
    require_none(report, &different, "items have a stored result that is not the latest published one");
    report.note("messages published", published.bodies.len());
    report.note("copies", published.copies);
    report.note("items reported as failed", published.failed);
}

/// Comparable for any number of decimals.
fn time(text: &str) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    chrono::DateTime::parse_from_rfc3339(text).ok()
}
