//! Extracts self-contained claims from the item's texts.
//! Steps: find statements by rule, replace them by a language model's if those are supported ([`extracted`]), remove
//! duplicates, keep the most check-worthy.

mod extracted;
mod found;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, Utc};

use self::found::ItemStatement;
use super::embedding::Embedding;
use super::normalise::NormalisedItem;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::item::{EntityHint, ItemSourceKind, TypedText};
use crate::domain::verdict::ClaimKind;
use crate::domain::{Item, ids};
use crate::inference::{Judgement, Pair};
use crate::judging::profile::TextProfile;
use crate::language::{dates, detect, statements};

#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// Looked up and judged.
    pub(crate) text: String,
    /// The sentence at the start of `text` that the claim needs.
    pub(crate) lead: Option<String>,
    /// For readers; relative dates are followed by the day of writing.
    pub(crate) shown: String,
    pub(crate) kind: ClaimKind,
    pub(crate) source: usize,
    pub(crate) check_worthiness: f64,
    /// From a language model.
    pub(crate) entities: Vec<String>,
    pub(crate) why_checkable: Option<String>,
    pub(crate) profile: Arc<TextProfile>,
    pub(crate) forms: Forms,
    pub(crate) renderings: Renderings,
    pub(crate) judgements: JudgementCache,
    /// The date in the claim, otherwise the item's.
    pub(crate) date: Option<DateTime<Utc>>,
}

/// Lazy variants of a claim for comparison with other texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forms {
    /// For texts without another vector.
    pub(crate) by_words: OnceLock<Arc<TextProfile>>,
}

#[derive(Debug)]
pub(crate) struct Rendering {
    pub(crate) profile: Arc<TextProfile>,
    pub(crate) forms: Forms,
}

/// Translations by language code; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renderings(Arc<Mutex<HashMap<String, Arc<Rendering>>>>);

impl Renderings {
    pub(crate) fn get(&self, language: &str) -> Option<Arc<Rendering>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(language).map(Arc::clone)
    }

    /// Keeps and returns the first translation: judgements are stored by its address.
    pub(crate) fn keep(&self, language: &str, profile: TextProfile) -> Arc<Rendering> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rendering = || Arc::new(Rendering { profile: Arc::new(profile), forms: Forms::default() });
        Arc::clone(known.entry(language.to_owned()).or_insert_with(rendering))
    }
}

/// Judgements of pairs, which the gate and the verdict share. Clones share them too.
#[derive(Debug, Clone, Default)]
pub(crate) struct JudgementCache(Arc<Mutex<HashMap<PairAddress, (Pair, Judgement)>>>);

/// Addresses of claim and passage, unique while the pair is kept.
type PairAddress = [usize; 2];

impl JudgementCache {
    fn key(pair: &Pair) -> PairAddress {
        [Arc::as_ptr(&pair.claim).addr(), Arc::as_ptr(&pair.passage).addr()]
    }

    pub(crate) fn get(&self, pair: &Pair) -> Option<Judgement> {
        let judgements = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        judgements.get(&Self::key(pair)).map(|(_, judgement)| judgement.clone())
    }

    pub(crate) fn keep(&self, pair: &Pair, judgement: &Judgement) {
        let mut judgements = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        judgements.insert(Self::key(pair), (pair.clone(), judgement.clone()));
    }
}

impl Claim {
    /// Returns the claim without its lead.
    pub(crate) fn own(&self) -> &str {
        statements::own(&self.text, self.lead.as_deref())
    }

    /// Whether a passage can decide the claim: not for opinions and ambiguous claims.
    pub(crate) fn checkable(&self) -> bool {
        matches!(self.kind, ClaimKind::Factual | ClaimKind::Mixed)
    }
}

/// Returns the most check-worthy checkable claim, the first of equals.
pub(crate) fn main_claim(claims: &[Claim]) -> Option<usize> {
    let mut best: Option<(usize, bool, f64)> = None;
    for (position, claim) in claims.iter().enumerate() {
        let candidate = (position, claim.checkable(), claim.check_worthiness);
        let better = best.is_none_or(|(_, checkable, worthiness)| {
            (candidate.1 && !checkable) || (candidate.1 == checkable && candidate.2 > worthiness)
        });
        if better {
            best = Some(candidate);
        }
    }
    best.map(|(position, ..)| position)
}

pub(super) async fn claims(
    services: &Services,
    item: &Item,
    normal: &NormalisedItem,
    journal: &Journal,
) -> Result<Vec<Claim>, PipelineError> {
    let most = services.settings.claims_per_item;
    let (own, main_language) = (item.clone(), normal.language.clone());
    let by_rule = services.on_thread(move || by_rule(&own, main_language.as_deref(), most)).await?;
    let by_rule = item.typed_texts().zip(by_rule).map(|(typed, (language, found))| (typed, language, found)).collect();
    let found = extracted::instead(services, item, normal, by_rule, journal).await?;
    let found = services.on_thread(move || best_of(found, most)).await?;
    let texts: Vec<&str> = found.iter().map(|one| one.statement.text.as_str()).collect();
    let embeddings = services.embed(&texts, journal).await;
    let of = ClaimBuilder {
        item_id: item.item_id.clone(),
        published_at: item.published_at,
        reference: normal.reference,
        entities: item.entities.clone(),
    };
    let claims: Vec<Claim> = services
        .on_thread(move || found.into_iter().zip(embeddings).map(|(one, embedding)| of.claim(one, embedding)).collect())
        .await?;
    journal.trace(summary(&claims));
    Ok(claims)
}

fn by_rule(item: &Item, main_language: Option<&str>, most: usize) -> Vec<(Option<String>, Vec<ItemStatement>)> {
    let of_text = |typed: TypedText<'_>| {
        let title = item.title.as_deref().filter(|_| typed.position == 0);
        let language = language_of(typed, main_language);
        // Cleaning would remove the marks of list points.
        let (text, most) = if typed.kind == ItemSourceKind::LinkContext {
            (head(typed.text), most.min(LINKED_CLAIMS))
        } else {
            (typed.text, most)
        };
        let found = statements::statements(text, title, language.as_deref(), most).into_iter();
        let found =
            found.map(|statement| ItemStatement::by_rule(typed.position, language.clone(), statement)).collect();
        (language, found)
    };
    item.typed_texts().map(of_text).collect()
}

fn best_of(found: Vec<Vec<ItemStatement>>, most: usize) -> Vec<ItemStatement> {
    let mut seen = HashSet::new();
    let mut found: Vec<ItemStatement> =
        found.into_iter().flatten().filter(|one| seen.insert(one.statement.text.to_lowercase())).collect();
    found::each_once(&mut found);
    keep_best(&mut found, most);
    found
}

struct ClaimBuilder {
    item_id: String,
    published_at: Option<DateTime<Utc>>,
    /// Relative dates count from here.
    reference: DateTime<Utc>,
    entities: Vec<EntityHint>,
}

impl ClaimBuilder {
    fn claim(&self, found: ItemStatement, embedding: Embedding) -> Claim {
        let ItemStatement { source, statement, language, entities, why_checkable, .. } = found;
        let language = language.as_deref();
        let named = entities.iter().map(|name| EntityHint { text: name.clone(), kind: None });
        let hints: Vec<EntityHint> = self.entities.iter().cloned().chain(named).collect();
        let profile = TextProfile::new(&statement.text, language, Some(self.reference), &hints)
            .embedded(embedding.vector, embedding.space);
        Claim {
            id: ids::claim_id(&self.item_id, &statement.text),
            date: claim_date(&statement.text, self.reference).or(self.published_at),
            kind: statement.kind,
            source,
            check_worthiness: statement.check_worthiness,
            entities,
            why_checkable,
            profile: Arc::new(profile),
            forms: Forms::default(),
            renderings: Renderings::default(),
            judgements: JudgementCache::default(),
            // Other texts have no known date.
            shown: self.published_at.filter(|_| source == 0).map_or_else(
                || statement.text.clone(),
                |written| dates::with_written(&statement.text, language, written),
            ),
            lead: statement.lead,
            text: statement.text,
        }
    }
}

fn summary(claims: &[Claim]) -> String {
    let kinds: Vec<&str> = claims.iter().map(|claim| claim.kind.as_str()).collect();
    match kinds.as_slice() {
        [] => "claims: no statement that could be checked".to_owned(),
        kinds => format!("claims: {} ({})", kinds.len(), kinds.join(", ")),
    }
}

/// Limits for a linked page, in characters and claims, which must not displace the item's own.
const LINKED_CHARS: usize = 1_500;
const LINKED_CLAIMS: usize = 2;

/// Cuts a page, at the end of a line if one is near.
fn head(text: &str) -> &str {
    let Some((end, _)) = text.char_indices().nth(LINKED_CHARS) else { return text };
    let cut = text.get(..end).unwrap_or(text);
    cut.rfind('\n').filter(|line| *line > end / 2).and_then(|line| cut.get(..line)).unwrap_or(cut)
}

/// Minimum confidence; less certain guesses are ignored.
const MIN_LANGUAGE_CONFIDENCE: f64 = 0.8;
const LANGUAGE_CHARS: usize = 1_000;

/// Returns the item's language, unless the text is clearly in another one.
fn language_of(typed: TypedText<'_>, main_language: Option<&str>) -> Option<String> {
    let own = || main_language.map(str::to_owned);
    if typed.position == 0 {
        return own();
    }
    let head: String = typed.text.chars().take(LANGUAGE_CHARS).collect();
    let detected = detect::detect(&head);
    detected.language.filter(|_| detected.confidence >= MIN_LANGUAGE_CONFIDENCE).or_else(own)
}

/// Keeps the most check-worthy claims, in text order.
fn keep_best(found: &mut Vec<ItemStatement>, most: usize) {
    if found.len() <= most {
        return;
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| {
        let worthiness = |position: usize| found.get(position).map_or(0.0, |one| one.statement.check_worthiness);
        worthiness(b).total_cmp(&worthiness(a)).then(a.cmp(&b))
    });
    let kept: HashSet<usize> = order.into_iter().take(most).collect();
    let mut position = 0;
    found.retain(|_| {
        position += 1;
        kept.contains(&(position - 1))
    });
}

/// Returns the end of the latest date: "2019" is the whole year.
fn claim_date(text: &str, reference: DateTime<Utc>) -> Option<DateTime<Utc>> {
    dates::dates(text, Some(reference))
        .into_iter()
        .map(|mention| mention.end)
        .max()
        .and_then(|day| day.and_hms_opt(23, 59, 59))
        .map(|moment| moment.and_utc())
}

#[cfg(test)]
mod blocking_tests;
