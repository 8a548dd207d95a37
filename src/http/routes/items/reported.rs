//! Other channels that reported an item.
//!
//! Computed at each request, because clusters grow.

use std::collections::HashSet;

use crate::domain::item::ClusterMember;
use crate::store::StoredItem;

const MOST: usize = 3;

/// First the channels that upstream named, then those that the daemon found, then later members of the cluster. Without
/// duplicates (`@Name` is `name`) and the item's own.
pub(crate) fn channels(item: &StoredItem, cluster: Vec<String>) -> Vec<String> {
    // Rows of an older format have no members.
    let members: Vec<ClusterMember> = serde_json::from_value(item.cluster_members.clone()).unwrap_or_default();
    let mut seen: HashSet<String> = item.channel.as_deref().map(key).into_iter().collect();
    members
        .into_iter()
        .map(|member| member.channel)
        .chain(item.result.also_reported_by.iter().cloned())
        .chain(cluster)
        .filter(|channel| !key(channel).is_empty() && seen.insert(key(channel)))
        .take(MOST)
        .collect()
}

fn key(channel: &str) -> String {
    channel.trim().trim_start_matches('@').to_lowercase()
}
