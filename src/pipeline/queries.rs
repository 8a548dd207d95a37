//! Query building: two to four short queries a claim, and one in each further language the item is to be searched in.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::claims::Claim;
use super::normalise::Normal;
use crate::config::LEAST_OWN_QUERIES;
use crate::domain::Item;
use crate::judging::profile::TextProfile;
use crate::language::queries::{About, terms, wordings};
use crate::providers::Query;

/// Of so many queries a claim has in all, those that may be in other languages.
pub(crate) const fn room_for_others(most: usize) -> usize {
    most.saturating_sub(LEAST_OWN_QUERIES)
}

/// A claim in another language.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    pub(crate) query: Query,
    /// What pages of that language are held against: they share few words with the claim's own.
    pub(crate) profile: Arc<TextProfile>,
}

/// The queries for one claim in its own words, the claim itself first. `others` is how many queries in other languages come
/// on top: they take the place of the last ones.
pub(crate) fn queries(
    claim: &Claim,
    normal: &Normal,
    item: &Item,
    most: usize,
    others: usize,
    limit: usize,
) -> Vec<Query> {
    let about = About {
        text: claim.own(),
        lead: claim.lead.as_deref(),
        language: normal.language.as_deref(),
        entities: &claim.profile.entities,
        dates: &claim.profile.dates,
        tags: &normal.tags,
        published: item.published_at.map(|moment| moment.date_naive()),
        summary: item.summary.as_deref(),
        channel: item.channel.as_deref(),
    };
    let most = most.saturating_sub(others).max(LEAST_OWN_QUERIES.min(most));
    let language = (!normal.mixed).then(|| normal.language.clone()).flatten();
    let terms = terms(&about);
    wordings(&about, most)
        .into_iter()
        .map(|text| query(text, terms.clone(), language.clone(), claim.date, item, limit))
        .collect()
}

/// The same claim in another language, as a translator put it.
pub(crate) fn translated(text: &str, language: &str, claim: &Claim, item: &Item, limit: usize) -> Option<Foreign> {
    let profile = TextProfile::new(text, Some(language), item.published_at, &[]);
    let about = About {
        text,
        lead: None,
        language: Some(language),
        entities: &profile.entities,
        dates: &profile.dates,
        tags: &[],
        published: None,
        summary: None,
        channel: None,
    };
    let wording = wordings(&about, 1).pop()?;
    let query = query(wording, terms(&about), Some(language.to_owned()), claim.date, item, limit);
    Some(Foreign { query, profile: Arc::new(profile) })
}

fn query(
    text: String,
    terms: Vec<String>,
    language: Option<String>,
    around: Option<DateTime<Utc>>,
    item: &Item,
    limit: usize,
) -> Query {
    let source_document = item.source_document.clone();
    Query { text, terms, language, domains: Vec::new(), around, limit, source_document }
}
