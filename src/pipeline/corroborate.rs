//! Finds other channels with the same report: upstream's clusters, otherwise recent similar items.

use std::collections::HashSet;

use chrono::TimeDelta;

use super::normalise::NormalisedItem;
use super::run_context::Journal;
use super::services::{PipelineError, Services, plain};
use crate::domain::Item;
use crate::telemetry::metrics;

/// Channels that are searched for; three are shown.
const MAX_CHANNELS: i64 = 10;

/// Longest time between items of different channels that report one story.
const SIMILAR_ITEM_WINDOW: TimeDelta = TimeDelta::hours(48);

/// Returns the other channels in upstream's order or by similarity, each once.
pub(super) async fn channels(
    services: &Services,
    item: &Item,
    normal: &NormalisedItem,
    journal: &Journal,
) -> Result<Vec<String>, PipelineError> {
    let own = plain(item.channel.as_deref().unwrap_or_default());
    let found: Vec<String> = if !item.cluster_members.is_empty() {
        journal.trace(format!("corroboration: {} cluster member(s) from upstream", item.cluster_members.len()));
        item.cluster_members.iter().map(|member| member.channel.clone()).collect()
    } else if item.channel.is_some() && normal.embedding.iter().any(|value| *value != 0.0) {
        let settings = &services.settings;
        let similar = services
            .store
            .similar_items(
                &normal.embedding,
                &normal.embedder,
                &own,
                &item.item_id,
                journal.evaluated_at - SIMILAR_ITEM_WINDOW,
                settings.similar_item_threshold,
                MAX_CHANNELS,
            )
            .await?;
        journal.trace(format!("corroboration: {} similar recent item(s) of other channels", similar.len()));
        similar.into_iter().map(|near| near.channel).collect()
    } else {
        // Without a channel, an item cannot be distinguished from its copies.
        Vec::new()
    };
    let channels = each_once(&found, &own);
    metrics::channel_corroboration(!channels.is_empty());
    Ok(channels)
}

/// Removes duplicates and the item's own channel: `@News` and `news` are the same.
fn each_once(found: &[String], own: &str) -> Vec<String> {
    let mut seen = HashSet::from([own.to_owned(), String::new()]);
    found.iter().filter(|channel| seen.insert(plain(channel))).map(|channel| channel.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_channel_is_the_same_with_or_without_its_sign_and_case() {
        let found = ["@Own", " @News", "news", "", "@", "Other"].map(str::to_owned).to_vec();
        assert_eq!(super::each_once(&found, "own"), ["@News", "Other"]);
    }
}
