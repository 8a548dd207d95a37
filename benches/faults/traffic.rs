//! Upstream's messages: items, edits of some of them, and a few that are no items. Each is sent again until the broker has
//! confirmed it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use corroborate::domain::{Clock as _, SystemClock};
use futures::{TryStreamExt as _, stream};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Channel, Confirmation, Connection};

use crate::simulator::EventWorld;
use crate::upstream::{RESPONSE_TIMEOUT, connect};

const EXCHANGE: &str = "enrichment";
/// One of so many items is edited.
const EDITED: u64 = 20;
/// So many messages lie between an item and its edit, at least.
const BEFORE_EDIT: usize = 200;
/// One of so many messages is no item.
const BROKEN: u64 = 500;
/// Confirmed together. Few, so that not much is sent again.
const BATCH: usize = 40;
/// Items of one event share pages, so that a run does not mostly read pages.
const ITEMS_PER_EVENT: u64 = 50;
/// The edit of an item has the story of the item this many numbers later.
const EDIT_OFFSET: u64 = 10_000_000;

pub(crate) const WORLD: EventWorld = EventWorld { items_per_event: ITEMS_PER_EVENT, offset: 0 };

/// A message with an id of its own.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// None: it is no item.
    pub(crate) item: Option<String>,
    /// 2 is an edit.
    pub(crate) version: u8,
    pub(crate) id: String,
    pub(crate) text: String,
    body: Vec<u8>,
}

fn item(number: u64, version: u8) -> Message {
    let story = if version == 2 { number + EDIT_OFFSET } else { number };
    let mut item = WORLD.item(story);
    let id = format!("bench:{number}");
    item["item_id"] = id.clone().into();
    let text = item["text"].as_str().unwrap_or_default().to_owned();
    let body = item.to_string().into_bytes();
    Message { id: format!("{id}:v{version}"), item: Some(id), version, text, body }
}

fn broken(number: u64) -> Message {
    let body = format!("this is no item, it is message {number}").into_bytes();
    Message { item: None, version: 1, id: format!("broken:{number}"), text: String::new(), body }
}

/// All messages of a run, in their order. Items are numbered from `first`.
pub(crate) fn messages(first: u64, items: u64) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut edits = VecDeque::new();
    for number in first..first + items {
        messages.push(item(number, 1));
        if number % EDITED == 0 {
            edits.push_back((messages.len() + BEFORE_EDIT, number));
        }
        if number % BROKEN == BROKEN / 2 {
            messages.push(broken(number));
        }
        while let Some((_, edited)) = edits.pop_front_if(|(due, _)| *due <= messages.len()) {
            messages.push(item(edited, 2));
        }
    }
    // The last edits come closer behind their items than the others.
    messages.extend(edits.into_iter().map(|(_, edited)| item(edited, 2)));
    messages
}

/// A connection to publish on; replaced when it fails.
struct Wire {
    _connection: Connection,
    channel: Channel,
}

impl Wire {
    async fn open(url: &str) -> anyhow::Result<Self> {
        let connection = connect(url).await?;
        let opening = async {
            let channel = connection.create_channel().await?;
            channel.confirm_select(ConfirmSelectOptions::default()).await?;
            anyhow::Ok(channel)
        };
        let channel =
            tokio::time::timeout(RESPONSE_TIMEOUT, opening).await.context("the broker opens no channel")??;
        Ok(Self { _connection: connection, channel })
    }

    /// Sends what is not confirmed yet, in order. `sent_at` is the first try's time: an edit stays the later one.
    async fn send(&self, batch: &[Message], sent_at: u64, confirmed: &[AtomicBool]) -> anyhow::Result<()> {
        let sending = stream::iter(batch.iter().zip(confirmed).map(anyhow::Ok)).try_for_each_concurrent(
            BATCH,
            |(message, is_confirmed)| async move {
                if is_confirmed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let properties = BasicProperties::default()
                    .with_content_type("application/json".into())
                    .with_delivery_mode(2)
                    .with_timestamp(sent_at)
                    .with_message_id(message.id.as_str().into());
                let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
                let sent =
                    self.channel.basic_publish(EXCHANGE.into(), "item.new".into(), options, &message.body, properties);
                let confirm = sent.await?.await?;
                // With a message in it the confirm says that no queue wanted it.
                ensure!(
                    matches!(confirm, Confirmation::Ack(None)),
                    "the broker refused a message or has no queue for it"
                );
                is_confirmed.store(true, Ordering::Relaxed);
                Ok(())
            },
        );
        tokio::time::timeout(RESPONSE_TIMEOUT, sending).await.context("the broker confirms nothing")?
    }
}

/// Publishes everything, spread evenly over a span, through whatever happens. Counts what is confirmed.
pub(crate) async fn publish(url: &str, messages: &[Message], span: Duration, count: &AtomicU64) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut wire: Option<Wire> = None;
    let mut sent = 0;
    for batch in messages.chunks(BATCH) {
        let due = span.mul_f64(sent as f64 / messages.len() as f64);
        tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
        let confirmed: Vec<_> = batch.iter().map(|_| AtomicBool::new(false)).collect();
        let sent_at = u64::try_from(SystemClock.now().timestamp_millis())?;
        loop {
            let trying = async {
                let open = match wire.take() {
                    Some(open) => open,
                    None => Wire::open(url).await?,
                };
                open.send(batch, sent_at, &confirmed).await?;
                anyhow::Ok(open)
            };
            match trying.await {
                Ok(open) => {
                    wire = Some(open);
                    break;
                }
                Err(_away) => tokio::time::sleep(Duration::from_millis(500)).await,
            }
        }
        sent += batch.len();
        count.store(sent as u64, Ordering::Relaxed);
    }
    Ok(())
}
