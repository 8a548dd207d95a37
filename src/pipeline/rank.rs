//! Ranking: for every claim the passages most about it, at most two per independent group, the best few to be judged.

use std::sync::Arc;

use super::claims::Claim;
use super::page::stem_hash;
use super::read::{Pages, ReadPage};
use super::{Journal, PipelineError, Services};
use crate::domain::rules::DomainRules;
use crate::inference::Pair;
use crate::judging::independence::{SourceText, groups};
use crate::judging::profile::TextProfile;
use crate::judging::quality;

/// A passage chosen for judging.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    pub(crate) read: ReadPage,
    pub(crate) group: String,
    pub(crate) text: String,
    pub(crate) profile: Arc<TextProfile>,
    pub(crate) relevance: f64,
    pub(crate) credibility: f64,
    pub(crate) rank: f64,
}

pub(super) async fn rank(
    services: &Services,
    claims: &[Claim],
    pages: &Pages,
    journal: &Journal,
) -> Result<Vec<Vec<Ranked>>, PipelineError> {
    let readable: Vec<&ReadPage> = pages.read.iter().filter(|read| read.page.failure.is_none()).collect();
    let groups = independent_groups(&readable, &pages.rules);
    let mut ranked = Vec::with_capacity(claims.len());
    for claim in claims {
        ranked.push(if claim.checkable() {
            let settings = &services.settings;
            let per_page = settings.passages_per_claim.div_ceil(settings.max_sources.max(1));
            let all = scored(services, claim, &readable, &groups, &pages.rules, per_page).await?;
            pick(all, settings.judged_passages, settings.passages_per_group)
        } else {
            Vec::new()
        });
    }
    let total: usize = ranked.iter().map(Vec::len).sum();
    journal.trace(format!("rank: {total} passage(s) to judge, by {}", services.models.reranker.name()));
    Ok(ranked)
}

/// Passages the sufficiency gate looks at of each stored page: one that says it, and one that may take it back.
const KNOWN_PER_PAGE: usize = 2;

/// Every passage on topic of one claim's stored pages, best first: what the sufficiency gate looks at. None is left out
/// for its group or its place, since any of them may be the one that speaks against the others.
pub(super) async fn among_known(
    services: &Services,
    claim: &Claim,
    known: &[ReadPage],
    rules: &DomainRules,
) -> Result<Vec<Ranked>, PipelineError> {
    let readable: Vec<&ReadPage> = known.iter().collect();
    let groups = independent_groups(&readable, rules);
    let mut ranked = scored(services, claim, &readable, &groups, rules, KNOWN_PER_PAGE).await?;
    ranked.retain(|entry| entry.relevance >= services.settings.scoring.relevance_floor);
    Ok(ranked)
}

fn independent_groups(pages: &[&ReadPage], rules: &DomainRules) -> Vec<String> {
    let sources: Vec<SourceText<'_>> = pages
        .iter()
        .map(|read| SourceText {
            evidence_id: &read.page.id,
            url: read.page.url.as_str(),
            domain: &read.page.domain,
            text: &read.page.text,
            canonical: read.page.canonical.as_deref(),
            based_on: &read.page.based_on,
            publisher: read.page.publisher.as_deref(),
            // Every article of a reference work is a source of its own.
            reference_work: read.page.counts_by_article(rules),
        })
        .collect();
    groups(&sources)
}

/// The `per_page` passages of each page that are nearest to the claim, best rank first.
async fn scored(
    services: &Services,
    claim: &Claim,
    pages: &[&ReadPage],
    groups: &[String],
    rules: &DomainRules,
    per_page: usize,
) -> Result<Vec<Ranked>, PipelineError> {
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut bare: Vec<(usize, usize)> = Vec::new();
    for (position, read) in pages.iter().enumerate() {
        bare.extend(closer_look(claim, read, per_page).into_iter().map(|passage| (position, passage)));
    }
    embed(services, pages, &bare).await?;
    for (position, passage) in bare {
        let (Some(read), Some(group)) = (pages.get(position), groups.get(position)) else { continue };
        let Some(passage) = read.page.passages.get(passage) else { continue };
        let profile = passage.profile_or(|| profile_of(&passage.text, read, Vec::new()));
        ranked.push(Ranked {
            read: (*read).clone(),
            group: group.clone(),
            text: passage.text.clone(),
            profile,
            relevance: 0.0,
            credibility: read.page.credibility(rules).0,
            rank: 0.0,
        });
    }
    let pairs: Vec<Pair> = ranked
        .iter()
        .map(|entry| Pair { claim: Arc::clone(&claim.profile), passage: Arc::clone(&entry.profile) })
        .collect();
    let relevance = services.relevance(&pairs).await?;
    for (entry, relevance) in ranked.iter_mut().zip(relevance) {
        entry.relevance = relevance;
        entry.rank = quality::rank(relevance, entry.credibility, entry.read.access_count, entry.read.is_known());
    }
    ranked.sort_by(|a, b| b.rank.total_cmp(&a.rank).then_with(|| a.text.cmp(&b.text)));
    Ok(ranked)
}

/// The `most` passages of a page that share most words with the claim. A page that shares none still gets its best ones
/// looked at: another language shares no words.
fn closer_look(claim: &Claim, read: &ReadPage, most: usize) -> Vec<usize> {
    let words: Vec<u64> = claim.profile.words.iter().map(|word| stem_hash(&word.stem)).collect();
    let passages = read.page.passages.iter().enumerate();
    let mut shared: Vec<(usize, usize)> =
        passages.map(|(position, passage)| (passage.shares(&words), position)).collect();
    shared.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    shared.into_iter().take(most).map(|(_, position)| position).collect()
}

fn profile_of(text: &str, read: &ReadPage, embedding: Vec<f32>) -> TextProfile {
    TextProfile::new(text, read.page.language.as_deref(), read.page.published_at, &[]).with_embedding(embedding)
}

/// Profiles and embeds, in one batch, the passages that nobody looked at closely before.
async fn embed(services: &Services, pages: &[&ReadPage], wanted: &[(usize, usize)]) -> Result<(), PipelineError> {
    let fresh: Vec<(&ReadPage, usize)> = wanted
        .iter()
        .filter_map(|(page, passage)| pages.get(*page).map(|read| (*read, *passage)))
        .filter(|(read, passage)| read.page.passages.get(*passage).is_some_and(|piece| !piece.is_profiled()))
        .collect();
    let texts: Vec<&str> = fresh
        .iter()
        .filter_map(|(read, passage)| read.page.passages.get(*passage).map(|piece| piece.text.as_str()))
        .collect();
    if texts.is_empty() {
        return Ok(());
    }
    let embeddings = services.embed(&texts).await?;
    for ((read, passage), embedding) in fresh.into_iter().zip(embeddings) {
        if let Some(piece) = read.page.passages.get(passage) {
            piece.profile_or(|| profile_of(&piece.text, read, embedding));
        }
    }
    Ok(())
}

/// The best `most`, at most `per_group` of one group, repeats left out.
fn pick(ranked: Vec<Ranked>, most: usize, per_group: usize) -> Vec<Ranked> {
    let mut chosen: Vec<Ranked> = Vec::with_capacity(most);
    for entry in ranked {
        if chosen.len() >= most {
            break;
        }
        let of_group = chosen.iter().filter(|known| known.group == entry.group).count();
        let repeat = chosen.iter().any(|known| known.text == entry.text && known.read.page.id == entry.read.page.id);
        if of_group < per_group && !repeat {
            chosen.push(entry);
        }
    }
    chosen
}
