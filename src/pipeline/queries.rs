//! Builds queries: two to four short ones per claim, and one per further language.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::claims::Claim;
use super::normalise::NormalisedItem;
use crate::config::LEAST_OWN_QUERIES;
use crate::domain::Item;
use crate::judging::profile::TextProfile;
use crate::language::queries::{QuerySubject, terms, wordings};
use crate::providers::Query;

/// Returns how many of a claim's `most` queries may be in other languages.
pub(crate) const fn room_for_others(most: usize) -> usize {
    most.saturating_sub(LEAST_OWN_QUERIES)
}

#[derive(Debug, Clone)]
pub(crate) struct ForeignQuery {
    pub(crate) query: Query,
    /// For comparison with pages in that language.
    pub(crate) profile: Arc<TextProfile>,
}

/// Returns the own queries, the claim itself first. Each of the `others` replaces one of the last.
pub(crate) fn queries(
    claim: &Claim,
    normal: &NormalisedItem,
    item: &Item,
    most: usize,
    others: usize,
    limit: usize,
) -> Vec<Query> {
    let about = QuerySubject {
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

pub(crate) fn translated(text: &str, language: &str, claim: &Claim, item: &Item, limit: usize) -> Option<ForeignQuery> {
    let profile = TextProfile::new(text, Some(language), item.published_at, &[]);
    let about = QuerySubject {
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
    Some(ForeignQuery { query, profile: Arc::new(profile) })
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
