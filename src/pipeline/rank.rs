//! Ranks the passages for every claim.
//! Steps: choose by static vectors, embed, ask the reranker, translate the best ones for the NLI model, and pick.
//! Places per independent source are limited, so copies never fill the list.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;

use super::claims::{Claim, Rendering};
use super::embedding::Embedding;
use super::page::{Origins, Passage, PreparedPage};
use super::read::{Pages, ReadPage};
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use super::translate;
use crate::domain::Degradation;
use crate::domain::rules::DomainRules;
use crate::inference::Pair;
use crate::judging::independence::{ItemText, groups_of};
use crate::judging::profile::TextProfile;
use crate::judging::quality;

/// Per claim. More do not change the verdict, and judging costs most.
const JUDGED_PASSAGES: usize = 8;

/// Of these per independent source. Copies of one wire story are one source.
const PASSAGES_PER_GROUP: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    pub(crate) read: ReadPage,
    pub(crate) group: String,
    pub(crate) text: String,
    /// The claim is in the passage's language if a translation exists.
    pub(crate) pair: Pair,
    pub(crate) translated: bool,
    /// Untranslated, for figures and dates.
    pub(crate) original: Arc<TextProfile>,
    pub(crate) relevance: f64,
    pub(crate) credibility: f64,
    pub(crate) rank: f64,
}

struct Shelf<'a> {
    pages: Vec<&'a ReadPage>,
    /// Parallel to `pages`.
    groups: Vec<String>,
    rules: &'a DomainRules,
}

pub(super) async fn rank(
    services: &Services,
    claims: &[Claim],
    pages: &Pages,
    journal: &Journal,
) -> Result<Vec<Vec<Ranked>>, PipelineError> {
    let settings = &services.settings;
    let item: Vec<ItemText<'_>> = pages
        .item_texts
        .iter()
        .map(|own| ItemText { url: own.url.as_deref(), channel: pages.item_channel.as_deref(), text: &own.text })
        .collect();
    let readable = pages.read.iter().filter(|read| read.page.failure.is_none()).collect();
    let shelf = Shelf::new(readable, &pages.rules, &item);
    let checkable: Vec<&Claim> = claims.iter().filter(|claim| claim.checkable()).collect();
    let per_page = settings.passages_per_claim().div_ceil(settings.max_sources.max(1));
    let scored = scored(services, &checkable, &shelf, per_page, settings.passages_per_claim(), journal).await?;
    let mut scored = scored.into_iter();
    let mut ranked: Vec<Vec<Ranked>> = claims
        .iter()
        .map(|claim| if claim.checkable() { scored.next().unwrap_or_default() } else { Vec::new() })
        .map(|all| pick(all, JUDGED_PASSAGES, PASSAGES_PER_GROUP))
        .collect();
    let claims: Vec<&Claim> = claims.iter().collect();
    made_readable(services, &claims, &mut ranked, journal).await?;
    let total: usize = ranked.iter().map(Vec::len).sum();
    journal.trace(format!("rank: {total} passage(s) to judge, by {}", services.models.reranker.name()));
    Ok(ranked)
}

/// Ratio of cosines (see [`closest`]) from which a passage is skipped for a better one of its page: each costs an
/// embedder run.
const SKIP_RATIO: f32 = 5.0;

/// Added to the number of passages when their mean is computed. Otherwise the vector of a page's only passage would be 0.
const MEAN_PRIOR: f32 = 3.0;

/// Passages per stored page: one that states the claim, one that may qualify it.
const KNOWN_PER_PAGE: usize = 2;

/// Returns all passages on topic of stored pages, best first. None is dropped for group or rank, because any may
/// contradict.
pub(super) async fn among_known(
    services: &Services,
    claim: &Claim,
    known: &[ReadPage],
    item: &[ItemText<'_>],
    rules: &DomainRules,
    journal: &Journal,
) -> Result<Vec<Ranked>, PipelineError> {
    let shelf = Shelf::new(known.iter().collect(), rules, item);
    let mut scored = scored(services, &[claim], &shelf, KNOWN_PER_PAGE, usize::MAX, journal).await?;
    made_readable(services, &[claim], &mut scored, journal).await?;
    let mut ranked = scored.into_iter().next().unwrap_or_default();
    ranked.retain(|entry| entry.relevance >= services.settings.scoring.relevance_floor);
    Ok(ranked)
}

impl<'a> Shelf<'a> {
    /// Sorts the pages by id, so that the order of discovery does not matter.
    fn new(mut pages: Vec<&'a ReadPage>, rules: &'a DomainRules, item: &[ItemText<'_>]) -> Self {
        pages.sort_by(|a, b| a.page.id.cmp(&b.page.id));
        let groups = independent_groups(&pages, rules, item);
        Self { pages, groups, rules }
    }
}

fn independent_groups(pages: &[&ReadPage], rules: &DomainRules, item: &[ItemText<'_>]) -> Vec<String> {
    let by_article: Vec<bool> = pages.iter().map(|read| read.page.counts_by_article(rules)).collect();
    let kept = pages.iter().zip(&by_article).map(|(read, by_article)| {
        let origins = read.page.origins.get_or_init(|| Origins::of(&read.page, *by_article));
        // The domain lists changed since.
        if origins.reads_as(*by_article) { None } else { Some(Origins::of(&read.page, *by_article)) }
    });
    let anew: Vec<Option<Origins>> = kept.collect();
    let prints = pages
        .iter()
        .zip(&anew)
        .filter_map(|(read, anew)| Some(anew.as_ref().or_else(|| read.page.origins.get())?.of_page(&read.page)));
    groups_of(&prints.collect::<Vec<_>>(), item)
}

/// Returns each claim's nearest passages by static vectors, at most `per_page` and `most`. One model batch for all claims
/// is far cheaper.
async fn scored(
    services: &Services,
    claims: &[&Claim],
    shelf: &Shelf<'_>,
    per_page: usize,
    most: usize,
    journal: &Journal,
) -> Result<Vec<Vec<Ranked>>, PipelineError> {
    let told = claims.iter().map(|claim| translate::in_languages_of(services, claim, &shelf.pages, journal));
    let worded: Vec<Worded<'_>> =
        claims.iter().zip(join_all(told).await).map(|(claim, others)| Worded { claim, others }).collect();
    let texts = worded.iter().map(|claim| shelf.pages.iter().map(|read| claim.text_for(read)).collect()).collect();
    let pages = shelf.pages.iter().map(|read| Arc::clone(&read.page)).collect();
    let chosen: Vec<Vec<(usize, usize)>> = nearest(services, texts, pages, per_page, journal)
        .await
        .into_iter()
        .map(|of_pages| preselected(of_pages, most))
        .collect();
    embed(services, &shelf.pages, chosen.iter().flatten(), journal).await;
    let mut ranked: Vec<Vec<Ranked>> = Vec::with_capacity(claims.len());
    for (claim, passages) in worded.iter().zip(chosen) {
        let one = |(page, passage): (usize, usize)| claim.candidate(services, shelf, page, passage);
        ranked.push(passages.into_iter().filter_map(one).collect());
    }
    let all: Vec<&mut Ranked> = ranked.iter_mut().flatten().collect();
    place(services, all, journal).await?;
    for entries in &mut ranked {
        sort(entries);
    }
    Ok(ranked)
}

async fn place(services: &Services, entries: Vec<&mut Ranked>, journal: &Journal) -> Result<(), PipelineError> {
    let pairs: Vec<Pair> = entries.iter().map(|entry| entry.pair.clone()).collect();
    for (entry, relevance) in entries.into_iter().zip(services.relevance(&pairs, journal).await?) {
        entry.relevance = relevance;
        let (access_count, is_known) = (entry.read.access_count, entry.read.is_known());
        entry.rank = quality::rank(relevance, entry.credibility, access_count, is_known);
    }
    Ok(())
}

fn sort(entries: &mut [Ranked]) {
    let place = |entry: &Ranked| (entry.text.clone(), entry.read.page.id.clone());
    entries.sort_by(|a, b| b.rank.total_cmp(&a.rank).then_with(|| place(a).cmp(&place(b))));
}

/// Translates the best passages for the NLI model and ranks them again. By words alone they would be off topic.
async fn made_readable(
    services: &Services,
    claims: &[&Claim],
    ranked: &mut [Vec<Ranked>],
    journal: &Journal,
) -> Result<(), PipelineError> {
    let asked: Vec<(&Claim, &Pair)> = claims
        .iter()
        .zip(ranked.iter())
        .flat_map(|(claim, entries)| entries.iter().map(|entry| (*claim, &entry.pair)))
        .collect();
    let readable = translate::readable(services, &asked, journal).await;
    let mut anew: Vec<&mut Ranked> = Vec::new();
    for (entry, readable) in ranked.iter_mut().flatten().zip(readable) {
        entry.translated = readable.translated;
        if let Some(pair) = readable.pair {
            entry.pair = pair;
            anew.push(entry);
        }
    }
    if anew.is_empty() {
        return Ok(());
    }
    place(services, anew, journal).await?;
    for entries in ranked {
        sort(entries);
    }
    Ok(())
}

struct Worded<'a> {
    claim: &'a Claim,
    others: Vec<(String, Arc<Rendering>)>,
}

impl Worded<'_> {
    fn rendering(&self, read: &ReadPage) -> Option<&Rendering> {
        let language = read.page.language.as_deref()?;
        self.others.iter().find(|(known, _)| known == language).map(|(_, rendering)| rendering.as_ref())
    }

    /// The claim in the page's language if it was translated.
    fn text_for(&self, read: &ReadPage) -> String {
        self.rendering(read).map_or(&self.claim.profile, |rendering| &rendering.profile).text.clone()
    }

    fn candidate(&self, services: &Services, shelf: &Shelf<'_>, page: usize, passage: usize) -> Option<Ranked> {
        let (read, group) = (*shelf.pages.get(page)?, shelf.groups.get(page)?);
        let piece = read.page.passages.get(passage)?;
        let profile = piece.profile_or(|| profile_of(&piece.text, read, Embedding::default()));
        let mut pair = match self.rendering(read) {
            Some(rendering) => services.compared(&rendering.profile, &rendering.forms, &profile),
            None => services.comparable(self.claim, &profile),
        };
        // "The bridge was closed in May": the title says which bridge.
        if let Some(behind) = read.page.title.as_deref().and_then(|title| pair.passage.behind_title(title, &pair.claim))
        {
            pair.passage = Arc::new(behind);
        }
        Some(Ranked {
            read: read.clone(),
            group: group.clone(),
            text: piece.text.clone(),
            pair,
            translated: false,
            original: profile,
            relevance: 0.0,
            credibility: read.page.credibility(shelf.rules).0,
            rank: 0.0,
        })
    }
}

/// Returns for each claim and page up to `most` passages as (cosine, position), the closest first. `claims`: the claim's
/// text for each page. Tokenising all pages takes milliseconds, so it runs on a blocking thread.
async fn nearest(
    services: &Services,
    claims: Vec<Vec<String>>,
    pages: Vec<Arc<PreparedPage>>,
    most: usize,
    journal: &Journal,
) -> Vec<Vec<Vec<(f32, usize)>>> {
    let embedder = Arc::clone(&services.models.embedder);
    let first = |page: &Arc<PreparedPage>| (0..page.passages.len().min(most)).map(|at| (0.0, at)).collect();
    let (number, first) = (claims.len(), pages.iter().map(first).collect::<Vec<Vec<(f32, usize)>>>());
    let work = tokio::task::spawn_blocking(move || {
        let passages: Vec<Vec<&[f32]>> = pages
            .iter()
            .map(|page| page.passages.iter().map(|passage| passage.static_vector(embedder.as_ref())).collect())
            .collect();
        claims
            .iter()
            .map(|texts| {
                let near =
                    |(text, passages): (&String, &Vec<&[f32]>)| closest(&embedder.static_vector(text), passages, most);
                texts.iter().zip(&passages).map(near).collect()
            })
            .collect()
    });
    work.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "preselection failed; continuing with the first passages of each page");
        journal.degrade(Degradation::ModelFailed("static_vectors".to_owned()));
        vec![first; number]
    })
}

/// Returns up to `most` passages as (cosine, position), the closest first. All vectors have unit length.
///
/// The mean of the passages is subtracted from all vectors. It is the page's subject, which the claim shares with every
/// passage, so that otherwise long passages about the subject would come before the one that answers.
fn closest(claim: &[f32], passages: &[&[f32]], most: usize) -> Vec<(f32, usize)> {
    #[expect(clippy::cast_precision_loss, reason = "a page has far fewer than 2^24 passages")]
    let all = passages.len() as f32 + MEAN_PRIOR;
    let mean: Vec<f32> =
        (0..claim.len()).map(|at| passages.iter().filter_map(|vector| vector.get(at)).sum::<f32>() / all).collect();
    let centred = |vector: &[f32]| -> Vec<f32> { vector.iter().zip(&mean).map(|(value, mean)| value - mean).collect() };
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let own = centred(claim);
    let cosine = |other: &[f32]| {
        let lengths = (dot(&own, &own) * dot(other, other)).sqrt();
        if lengths > 0.0 { dot(&own, other) / lengths } else { 0.0 }
    };
    let mut near: Vec<(f32, usize)> = passages.iter().map(|vector| cosine(&centred(vector))).zip(0..).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    near.truncate(most);
    // A distant passage is off topic if another one is near.
    let best = near.first().map_or(0.0, |(cosine, _)| *cosine);
    near.retain(|(cosine, _)| best <= 0.0 || cosine * SKIP_RATIO >= best);
    near
}

/// Selects `most` passages as (page, passage): first the best of each page, so that a verbose page does not displace
/// others.
fn preselected(near: Vec<Vec<(f32, usize)>>, most: usize) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, f32, usize, usize)> = near
        .into_iter()
        .enumerate()
        .flat_map(|(page, passages)| {
            let ranked = passages.into_iter().enumerate();
            ranked.map(move |(place, (cosine, passage))| (place, cosine, page, passage))
        })
        .collect();
    places.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    places.into_iter().take(most).map(|(_, _, page, passage)| (page, passage)).collect()
}

fn profile_of(text: &str, read: &ReadPage, embedding: Embedding) -> TextProfile {
    TextProfile::new(text, read.page.language.as_deref(), read.page.published_at, &[])
        .embedded(embedding.vector, embedding.space)
}

async fn embed(
    services: &Services,
    pages: &[&ReadPage],
    wanted: impl Iterator<Item = &(usize, usize)>,
    journal: &Journal,
) {
    let once: BTreeSet<&(usize, usize)> = wanted.collect();
    let fresh: Vec<(&ReadPage, &Passage)> = once
        .into_iter()
        .filter_map(|(page, passage)| {
            let read = *pages.get(*page)?;
            Some((read, read.page.passages.get(*passage).filter(|piece| !piece.is_profiled())?))
        })
        .collect();
    let texts: Vec<&str> = fresh.iter().map(|(_, piece)| piece.text.as_str()).collect();
    let embeddings = services.embed(&texts, journal).await;
    for ((read, piece), embedding) in fresh.into_iter().zip(embeddings) {
        piece.profile_or(|| profile_of(&piece.text, read, embedding));
    }
}

/// Picks the best `most` passages, at most `per_group`. A second page of a group only fills free places, so that a
/// copy does not displace a contradiction. Further passages of a page fill the last ones: headline and lead are often the
/// nearest to a claim, and another sentence answers it.
fn pick(ranked: Vec<Ranked>, most: usize, per_group: usize) -> Vec<Ranked> {
    let mut chosen: Vec<Ranked> = Vec::with_capacity(most);
    let (mut copies, mut further): (Vec<Ranked>, Vec<Ranked>) = Default::default();
    for entry in ranked {
        let of_group = || chosen.iter().filter(|known| known.group == entry.group);
        let is_of_page = |known: &Ranked| known.read.page.id == entry.read.page.id;
        if chosen.len() >= most {
            break;
        }
        if of_group().count() >= per_group {
            if of_group().all(is_of_page) && !of_group().any(|known| known.text == entry.text) {
                further.push(entry);
            }
        } else if !of_group().all(is_of_page) {
            copies.push(entry);
        } else if !of_group().any(|known| known.text == entry.text) {
            chosen.push(entry);
        }
    }
    for (entries, limit) in [(copies, per_group), (further, 2 * per_group)] {
        for entry in entries {
            let of_group = chosen.iter().filter(|known| known.group == entry.group).count();
            if chosen.len() < most && of_group < limit {
                chosen.push(entry);
            }
        }
    }
    chosen.sort_by(|a, b| b.rank.total_cmp(&a.rank));
    chosen
}

#[cfg(test)]
mod tests {
    use super::{closest, preselected};

    #[test]
    fn every_page_is_heard_before_one_is_heard_twice() {
        let near = vec![vec![(0.5, 2), (0.4, 0), (0.4, 1)], vec![(0.0, 0), (0.0, 1)], vec![(0.3, 7)]];
        assert_eq!(preselected(near.clone(), 4), [(0, 2), (2, 7), (1, 0), (0, 0)]);
        assert_eq!(preselected(near, usize::MAX).len(), 6);
    }

    #[test]
    fn passage_that_answers_comes_before_longer_ones_about_the_subject() {
        // The first value is the subject, the second what the claim states about it.
        let (claim, subject, answer) = ([0.8, 0.6, 0.0], [1.0, 0.0, 0.0], [0.5, 0.7, 0.5]);
        let near = closest(&claim, &[&subject, &subject, &answer, &subject, &subject], 2);
        assert_eq!(near.first().map(|(_, position)| *position), Some(2), "{near:?}");
        assert_eq!(closest(&claim, &[&answer], 4).len(), 1, "a page of one passage");
        assert!(closest(&claim, &[], 4).is_empty());
        let off_topic = [0.0, 0.0, 1.0];
        assert_eq!(closest(&claim, &[&claim, &off_topic], 4).len(), 1);
    }

    /// Prints how often the evidence of a claim is among the four passages that are preselected of its page, by the shipped
    /// static vectors and by hashed words. `fm2`: 1,169 claims; a page is what its claims' authors and a retrieval chose.
    #[cfg(feature = "models")]
    #[test]
    fn evidence_is_preselected_by_static_vectors() {
        use std::collections::{BTreeMap, BTreeSet};

        use serde_json::Value;

        use crate::inference::hashed::{DEFAULT_DIMENSION, HashedEmbedder};
        use crate::inference::local::LocalEmbedder;
        use crate::inference::{Embedder, ModelFolder};

        let Some(lines) = corroborate_labelled::read("fm2/dev.jsonl") else { return };
        let rows: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let texts = |row: &Value, field: &str| -> Vec<String> {
            let list = row[field].as_array().cloned().unwrap_or_default();
            list.iter().filter_map(|one| one["text"].as_str()).map(str::to_owned).collect()
        };
        let mut pages: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for row in &rows {
            let page = pages.entry(row["wikipedia_page"].as_str().unwrap_or_default()).or_default();
            page.extend(texts(row, "gold_evidence").into_iter().chain(texts(row, "retrieved_evidence")));
        }
        let folder =
            ModelFolder::bundled().into_iter().find(|folder| folder.manifest.static_vectors.is_some()).unwrap();
        let (model, words) = (LocalEmbedder::load(&folder).unwrap(), HashedEmbedder::new(DEFAULT_DIMENSION));
        let found = |embedder: &dyn Embedder| {
            let among_four = |row: &&Value| {
                let page: Vec<&String> = pages[row["wikipedia_page"].as_str().unwrap_or_default()].iter().collect();
                let vectors: Vec<Vec<f32>> = page.iter().map(|text| embedder.static_vector(text)).collect();
                let claim = embedder.static_vector(row["text"].as_str().unwrap_or_default());
                let gold = texts(row, "gold_evidence");
                let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
                closest(&claim, &vectors, 4).iter().any(|(_, at)| gold.contains(page[*at]))
            };
            rows.iter().filter(among_four).count()
        };
        let (by_pieces, by_words) = (found(&model), found(&words));
        println!(
            "evidence among four passages: {by_pieces} by static vectors, {by_words} by hashed words, of {}",
            rows.len()
        );
        assert!(by_pieces * 100 >= rows.len() * 50, "{by_pieces}");
    }
}
