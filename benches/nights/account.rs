//! Holding what came of a night against what was sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::PoisonError;

use anyhow::Context as _;
use lapin::options::{BasicAckOptions, BasicGetOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection};
use sqlx::{PgPool, Row as _};

use crate::heard::{Ears, Heard};
use crate::line::Line;
use crate::stage::RETRY_DELAYS;
use crate::traffic::{Message, connect};

const QUEUES: [&str; 3] = ["enrichment_important", "enrichment_queue", "factcheck"];
const DEAD: &str = "enrichment.dead";
/// Items that a failure names.
const NAMED: usize = 5;

/// An item as it is stored.
#[derive(Debug)]
pub(crate) struct Stored {
    text: String,
    status: String,
    degraded: Vec<String>,
    enriched_at: String,
    /// What is to be heard of it: the result and a signal for each claim.
    signals: Vec<String>,
}

pub(crate) async fn count(pool: &PgPool) -> anyhow::Result<u64> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM items").fetch_one(pool).await?;
    Ok(u64::try_from(count)?)
}

/// Messages that are not published yet.
pub(crate) async fn left(pool: &PgPool) -> anyhow::Result<u64> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox").fetch_one(pool).await?;
    Ok(u64::try_from(count)?)
}

pub(crate) async fn stored(pool: &PgPool) -> anyhow::Result<HashMap<String, Stored>> {
    let rows = sqlx::query(
        "SELECT i.item_id, i.result ->> 'message_id' AS message, i.text, i.status, i.degraded,
             i.result ->> 'enriched_at' AS enriched_at,
             (extract(epoch FROM i.enriched_at) * 1000000)::bigint::text AS micros,
             coalesce(array_agg(c.claim_id) FILTER (WHERE c.claim_id IS NOT NULL), '{}') AS claims
         FROM items i LEFT JOIN claims c USING (item_id) GROUP BY i.item_id",
    )
    .fetch_all(pool)
    .await
    .context("reading what is stored")?;
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

/// A look at the broker.
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

    /// Messages in the queues of work that nobody holds, and those that wait for a retry.
    pub(crate) async fn waiting(&self) -> anyhow::Result<u64> {
        let mut count = 0;
        for queue in QUEUES {
            let retries = RETRY_DELAYS.map(|delay| format!("{queue}.retry.{delay}"));
            for name in std::iter::once(queue.to_owned()).chain(retries) {
                let passive = QueueDeclareOptions { passive: true, durable: true, ..QueueDeclareOptions::default() };
                let declared = self.channel.queue_declare(name.as_str().into(), passive, FieldTable::default()).await;
                count += u64::from(declared.with_context(|| format!("looking at {name}"))?.message_count());
            }
        }
        Ok(count)
    }

    /// Empties the queue of dead letters: the reason of each, by its message id.
    pub(crate) async fn dead(&self) -> anyhow::Result<Vec<(String, String)>> {
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

fn counted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

/// Fails with a count and some of the names, where there are any.
fn none_of(line: &mut Line, names: &[String], what: &str) {
    line.insists(names.is_empty(), || {
        format!("{} {what}, e.g. {}", names.len(), names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "))
    });
}

/// Checks that every message ended once, that an item's latest text is what is stored, and that readers got every result.
pub(crate) fn hold(
    messages: &[Message],
    stored: &HashMap<String, Stored>,
    dead: &[(String, String)],
    ears: &Ears,
    line: &mut Line,
) {
    let heard = ears.lock().unwrap_or_else(PoisonError::into_inner);
    let ends: HashMap<&str, &str> = dead.iter().map(|(id, reason)| (id.as_str(), reason.as_str())).collect();
    let mut latest: HashMap<&str, &Message> = HashMap::new();
    let (mut lost, mut old, mut alive) = (Vec::new(), Vec::new(), Vec::new());
    for message in messages {
        let Some(item) = message.item.as_deref() else {
            if !ends.contains_key(message.id.as_str()) {
                alive.push(message.id.clone());
            }
            continue;
        };
        let is_dead = ends.contains_key(message.id.as_str());
        if !stored.contains_key(item) && !is_dead {
            lost.push(message.id.clone());
        }
        if !is_dead {
            let newest = latest.entry(item).or_insert(message);
            if message.version >= newest.version {
                *newest = message;
            }
        }
    }
    for (item, message) in &latest {
        if stored.get(*item).is_some_and(|row| row.text != message.text) {
            old.push((*item).to_owned());
        }
    }
    let known: BTreeSet<&str> = messages.iter().filter_map(|message| message.item.as_deref()).collect();
    let strangers: Vec<String> = stored.keys().filter(|id| !known.contains(id.as_str())).cloned().collect();
    let edited = messages.iter().filter(|message| message.version == 2).count();
    line.figure("items", known.len());
    line.figure("edits", edited);
    line.figure("items by status:", format!("({})", counted(stored.values().map(|row| row.status.as_str()))));
    let causes = stored.values().flat_map(|row| row.degraded.iter().map(String::as_str));
    line.figure("causes of degradation:", format!("({})", counted(causes)));
    line.figure("dead letters:", format!("({})", counted(dead.iter().map(|(_, reason)| reason.as_str()))));
    none_of(line, &lost, "messages are lost");
    none_of(line, &old, "items are stored with an old text");
    none_of(line, &alive, "messages that are no items are not among the dead letters");
    none_of(line, &strangers, "stored items were never sent");
    let unnamed: Vec<String> = dead
        .iter()
        .filter(|(id, reason)| id.is_empty() || reason.is_empty())
        .map(|(id, _)| format!("{id:?}"))
        .collect();
    none_of(line, &unnamed, "dead letters have no reason");
    let odd = stored.iter().filter(|(_, row)| (row.status == "degraded") == row.degraded.is_empty());
    let odd: Vec<String> = odd.map(|(id, row)| format!("{id} ({} {:?})", row.status, row.degraded)).collect();
    none_of(line, &odd, "items are degraded without a cause, or have one and are not");
    told(stored, &heard, line);
}

/// Signals at least once, with one id each; whoever keeps the latest result of an item has the one that is stored.
fn told(stored: &HashMap<String, Stored>, heard: &Heard, line: &mut Line) {
    let wanted = stored.values().flat_map(|row| &row.signals);
    let unheard: Vec<String> = wanted.filter(|id| !heard.bodies.contains_key(*id)).cloned().collect();
    none_of(line, &unheard, "signals of stored items were never heard");
    none_of(line, &heard.confused, "messages share an id or have two");
    let (mut misled, mut late) = (Vec::new(), 0);
    for (item, results) in &heard.results {
        let Some(row) = stored.get(item) else {
            misled.push(format!("{item} (not stored)"));
            continue;
        };
        let newest = results.iter().map(|result| moment(&result.enriched_at)).max();
        if newest != Some(moment(&row.enriched_at)) {
            let all: Vec<String> = results.iter().map(|one| format!("{} of {}", one.enriched_at, one.of)).collect();
            misled.push(format!("{item} (stored {}, heard {})", row.enriched_at, all.join(" and ")));
        }
        late += usize::from(results.last().map(|last| moment(&last.enriched_at)) != newest);
    }
    none_of(line, &misled, "items have a stored result that is not the latest one heard");
    line.figure("messages heard", heard.bodies.len());
    line.figure("copies", heard.copies);
    line.figure("items whose last message was not their latest result", late);
    line.figure("reported as given up", heard.failed);
}

/// Comparable whatever the number of its decimals.
fn moment(text: &str) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    chrono::DateTime::parse_from_rfc3339(text).ok()
}
