//! Who else reported an item.

use std::collections::HashSet;

use crate::domain::item::ClusterMember;
use crate::store::StoredItem;

/// Channels named at most.
const MOST: usize = 3;

/// The channels upstream named, then those the daemon found, then those whose items joined the cluster since. Each once
/// (`@Name` and `name` are one channel), never the item's own.
pub(crate) fn channels(item: &StoredItem, cluster: Vec<String>) -> Vec<String> {
    // Rows of an older shape have nobody to name.
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
