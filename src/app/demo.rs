//! The demo: runs the real pipeline on recorded answers, offline and in an embedded store of its own.
//!
//! [`open()`] builds the parts; [`run`] sends every item through the queue.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{App, AppError, Purpose, Recorded, demo_data};
use crate::broker::{DeadBody, QueueName, Settlement};
use crate::config::{self, Config, SearchProvider};
use crate::domain::{Item, ItemResult};
use crate::outbound::replay::Archive;
use crate::pipeline::{self, Outcome, Request};

#[derive(Debug)]
pub struct DemoItem {
    pub item: Item,
    pub result: ItemResult,
    /// True if an earlier run stored the result.
    pub reused: bool,
}

#[derive(Debug)]
pub struct DemoReport {
    pub items: Vec<DemoItem>,
    pub folder: PathBuf,
    pub took: Duration,
}

fn folder(config: &Config) -> PathBuf {
    config::data_dir(config).join("demo")
}

/// Opens an app with its own store, recorded answers and the clock of the recordings.
pub async fn open(config: &Config) -> Result<App, AppError> {
    Box::pin(open_with(config, Arc::new(demo_data::archive()))).await
}

pub(super) async fn open_with(config: &Config, archive: Arc<Archive>) -> Result<App, AppError> {
    let mut built_in = Config::built_in();
    // The recordings were made with a fact-check key and a search server.
    built_in.providers.google.api_key = Some("recorded".to_owned().into());
    built_in.providers.searxng.base_url = url::Url::parse("http://searxng.example").ok();
    // Recordings need no rate limit.
    for provider in [&mut built_in.providers.google, &mut built_in.providers.gdelt, &mut built_in.providers.searxng] {
        provider.rpm = std::num::NonZeroU32::MAX;
    }
    built_in.providers.feeds.enabled = false;
    // There are no recordings of it.
    built_in.enrichment.providers.retain(|provider| *provider != SearchProvider::Wikipedia);
    built_in.http = config.http.clone();
    built_in.database.url = None;
    built_in.amqp.url = None;
    App::open(Arc::new(built_in), Purpose::Recorded(Recorded { archive, folder: folder(config) })).await
}

/// Runs every item through queue and pipeline. Calls `progress` with (done, total) after each.
pub async fn run(config: &Config, mut progress: impl FnMut(usize, usize)) -> Result<DemoReport, AppError> {
    let started = tokio::time::Instant::now();
    let folder = folder(config);
    let app = Box::pin(open(config)).await?;
    let items = demo_data::items();
    let bodies: Vec<Vec<u8>> = items.iter().filter_map(|item| serde_json::to_vec(item).ok()).collect();
    app.queue.publish_items(QueueName::Enrichment, &bodies).await?;
    let total = items.len();
    let mut done: HashMap<String, DemoItem> = HashMap::with_capacity(total);
    // A killed demo leaves messages in the queue.
    while done.len() < total || app.queue.depth().await?.enrichment > 0 {
        let delivery = app.queue.receive().await?;
        match Item::parse(&delivery.body) {
            Ok(item) => {
                let one = one(&app, item).await?;
                app.queue.settle(&delivery, Settlement::Ack).await?;
                // An item can have two messages; the first result is shown.
                done.entry(one.item.item_id.clone()).or_insert(one);
            }
            Err(reject) => {
                let (label, error) = (reject.label().to_owned(), reject.to_string());
                app.queue.settle(&delivery, Settlement::Dead { label, error, body: DeadBody::Whole }).await?;
            }
        }
        progress(done.len().min(total), total);
    }
    let done = items.iter().filter_map(|item| done.remove(&item.item_id)).collect();
    app.close().await?;
    Ok(DemoReport { items: done, folder, took: started.elapsed() })
}

pub(super) async fn one(app: &App, item: Item) -> Result<DemoItem, AppError> {
    let mut request = Request::personal(item.clone());
    // Reuses the stored result, also a degraded one.
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
