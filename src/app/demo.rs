//! The demo: the real pipeline on recorded answers, in an embedded store of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{App, AppError, Purpose, Recorded, demo_data};
use crate::broker::{DeadBody, QueueName, Settle};
use crate::config::{self, Config};
use crate::domain::{Item, ItemResult};
use crate::pipeline::{self, Outcome, Request};

/// One item of the demo with what came of it.
#[derive(Debug)]
pub struct DemoItem {
    pub item: Item,
    pub result: ItemResult,
    /// It was stored by an earlier run and not asked again.
    pub reused: bool,
}

/// A finished demo.
#[derive(Debug)]
pub struct DemoReport {
    pub items: Vec<DemoItem>,
    pub folder: PathBuf,
    pub took: Duration,
}

/// Where the demo keeps its store.
fn folder(config: &Config) -> PathBuf {
    config::data_dir(config).join("demo")
}

/// Everything the demo runs on: its own store, recorded answers, the clock of the recordings.
pub async fn open(config: &Config) -> Result<App, AppError> {
    let mut built_in = Config::built_in();
    // The recordings are those of a daemon with a fact-check key and a search server; nothing leaves the machine.
    built_in.providers.google.api_key = Some("recorded".to_owned().into());
    built_in.providers.searxng.base_url = url::Url::parse("http://searxng.example").ok();
    // Recordings answer at once, and nobody is spared by asking them slowly.
    for provider in [&mut built_in.providers.google, &mut built_in.providers.gdelt, &mut built_in.providers.searxng] {
        provider.rpm = std::num::NonZeroU32::MAX;
    }
    built_in.providers.feeds.enabled = false;
    built_in.http = config.http.clone();
    built_in.database.url = None;
    built_in.amqp.url = None;
    let recorded =
        Recorded { archive: Arc::new(demo_data::archive()), folder: folder(config), now: demo_data::evaluated_at() };
    App::open(Arc::new(built_in), Purpose::Recorded(recorded)).await
}

/// Runs every item through queue and pipeline; `progress` hears (done, of) after each.
pub async fn run(config: &Config, mut progress: impl FnMut(usize, usize)) -> Result<DemoReport, AppError> {
    let started = tokio::time::Instant::now();
    let folder = folder(config);
    let app = open(config).await?;
    let items = demo_data::items();
    let bodies: Vec<Vec<u8>> = items.iter().filter_map(|item| serde_json::to_vec(item).ok()).collect();
    app.queue.publish_items(QueueName::Enrichment, &bodies).await?;
    let total = items.len();
    let mut done: HashMap<String, DemoItem> = HashMap::with_capacity(total);
    // Until the queue is empty: a demo that was killed left messages behind, and they are done with now.
    while done.len() < total || app.queue.depth().await?.enrichment > 0 {
        let delivery = app.queue.receive().await?;
        match Item::parse(&delivery.body) {
            Ok(item) => {
                let one = one(&app, item).await?;
                app.queue.settle(&delivery, Settle::Ack).await?;
                // The second message of an item finds it done; what the first one made is what is shown.
                done.entry(one.item.item_id.clone()).or_insert(one);
            }
            Err(reject) => {
                let (label, error) = (reject.label().to_owned(), reject.to_string());
                app.queue.settle(&delivery, Settle::Dead { label, error, body: DeadBody::Whole }).await?;
            }
        }
        progress(done.len().min(total), total);
    }
    let done = items.iter().filter_map(|item| done.remove(&item.item_id)).collect();
    app.close().await?;
    Ok(DemoReport { items: done, folder, took: started.elapsed() })
}

async fn one(app: &App, item: Item) -> Result<DemoItem, AppError> {
    let mut request = Request::personal(item.clone());
    // The same message on every run: what is stored is used again, a degraded result too.
    request.message_id = Some(format!("demo:{}", item.item_id));
    request.redelivered = true;
    match pipeline::run(&app.services, &request).await? {
        Outcome::Done(result) => Ok(DemoItem { item, result: *result, reused: false }),
        Outcome::AlreadyDone { .. } | Outcome::Poorer(_) => {
            let stored = app.store.item(&item.item_id).await?.ok_or_else(|| crate::store::StoreError::Corrupt {
                detail: format!("{} is done and not stored", item.item_id),
            })?;
            Ok(DemoItem { item, result: stored.result, reused: true })
        }
    }
}
