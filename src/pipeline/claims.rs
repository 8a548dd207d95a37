//! Claims: self-contained statements taken from the item's texts, each with its kind and its profile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, Utc};

use super::normalise::Normal;
use super::{Journal, PipelineError, Services};
use crate::domain::verdict::ClaimKind;
use crate::domain::{Item, ids};
use crate::inference::{Judgement, Pair};
use crate::judging::profile::TextProfile;
use crate::language::{dates, statements};

/// A claim on its way to a verdict.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// As it is looked up and judged.
    pub(crate) text: String,
    /// The sentence before it that `text` begins with, where the claim says nothing without it.
    pub(crate) lead: Option<String>,
    /// As it is stored and shown: where it says "yesterday", with the day it was written.
    pub(crate) shown: String,
    pub(crate) kind: ClaimKind,
    pub(crate) source: usize,
    pub(crate) check_worthiness: f64,
    pub(crate) profile: Arc<TextProfile>,
    pub(crate) forms: Forms,
    /// The claim in other languages.
    pub(crate) renderings: Renderings,
    /// What passages were found to say of it.
    pub(crate) heard: Heard,
    /// The date the claim speaks of, when it names one; freshness and "outdated" go by it.
    pub(crate) date: Option<DateTime<Utc>>,
}

/// What a claim's words become when they are held against texts of another kind; each made when first needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forms {
    /// Embedded by hashed words: for a text that has no other vector.
    pub(crate) by_words: OnceLock<Arc<TextProfile>>,
    /// A Ukrainian claim in the words that Russian shares with it.
    pub(crate) in_russian: OnceLock<Arc<TextProfile>>,
}

/// A claim in another language, as a translator put it.
#[derive(Debug)]
pub(crate) struct Rendering {
    pub(crate) profile: Arc<TextProfile>,
    pub(crate) forms: Forms,
}

/// The claim in other languages, by their codes. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renderings(Arc<Mutex<HashMap<String, Arc<Rendering>>>>);

impl Renderings {
    pub(crate) fn get(&self, language: &str) -> Option<Arc<Rendering>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(language).map(Arc::clone)
    }

    /// The one that is kept: the first, for what was judged is remembered by it.
    pub(crate) fn keep(&self, language: &str, profile: TextProfile) -> Arc<Rendering> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rendering = || Arc::new(Rendering { profile: Arc::new(profile), forms: Forms::default() });
        Arc::clone(known.entry(language.to_owned()).or_insert_with(rendering))
    }
}

/// Judgements of one item's pairs: the gate puts those of stored pages before anybody is searched, and the verdict puts
/// them again. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<HashMap<Place, (Pair, Judgement)>>>);

/// Where a claim and a passage are kept: nothing else is there while the pair is held.
type Place = [usize; 2];

impl Heard {
    fn key(pair: &Pair) -> Place {
        [Arc::as_ptr(&pair.claim).addr(), Arc::as_ptr(&pair.passage).addr()]
    }

    pub(crate) fn get(&self, pair: &Pair) -> Option<Judgement> {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(&Self::key(pair)).map(|(_, judgement)| judgement.clone())
    }

    pub(crate) fn keep(&self, pair: &Pair, judgement: &Judgement) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.insert(Self::key(pair), (pair.clone(), judgement.clone()));
    }
}

impl Claim {
    /// What it claims, without the sentence it leans on.
    pub(crate) fn own(&self) -> &str {
        statements::own(&self.text, self.lead.as_deref())
    }

    /// Opinions and ambiguities are not looked up: no passage could settle them.
    pub(crate) fn checkable(&self) -> bool {
        matches!(self.kind, ClaimKind::Factual | ClaimKind::Mixed)
    }
}

/// Position of the main claim: the most check-worthy checkable one, the first on a tie.
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
    normal: &Normal,
    journal: &Journal,
) -> Result<Vec<Claim>, PipelineError> {
    let language = normal.language.as_deref();
    let most = services.settings.claims_per_item;
    let mut found: Vec<(usize, statements::Statement)> = Vec::new();
    // As they were sent: which lines are points of a digest shows in the marks that cleaning takes off.
    for (source, text) in item.texts() {
        let title = item.title.as_deref().filter(|_| source == 0);
        for statement in statements::statements(text, title, language, most) {
            if !found.iter().any(|(_, known)| known.text.to_lowercase() == statement.text.to_lowercase()) {
                found.push((source, statement));
            }
        }
    }
    keep_best(&mut found, most);
    let texts: Vec<&str> = found.iter().map(|(_, statement)| statement.text.as_str()).collect();
    let embeddings = services.embed(&texts, journal).await;
    let mut claims = Vec::with_capacity(found.len());
    for ((source, statement), embedding) in found.into_iter().zip(embeddings) {
        let profile = TextProfile::new(&statement.text, language, Some(normal.reference), &item.entities)
            .embedded(embedding.vector, embedding.space);
        claims.push(Claim {
            id: ids::claim_id(&item.item_id, &statement.text),
            date: claim_date(&statement.text, normal.reference).or(item.published_at),
            kind: statement.kind,
            source,
            check_worthiness: statement.check_worthiness,
            profile: Arc::new(profile),
            forms: Forms::default(),
            renderings: Renderings::default(),
            heard: Heard::default(),
            // Only the item's own text is known to be of its date.
            shown: item.published_at.filter(|_| source == 0).map_or_else(
                || statement.text.clone(),
                |written| dates::with_written(&statement.text, language, written),
            ),
            lead: statement.lead,
            text: statement.text,
        });
    }
    journal.trace(match claims.len() {
        0 => "claims: no statement that could be checked".to_owned(),
        count => format!(
            "claims: {count} ({})",
            claims.iter().map(|claim| claim.kind.as_str()).collect::<Vec<_>>().join(", ")
        ),
    });
    Ok(claims)
}

/// Keeps the most check-worthy, in the order of the text.
fn keep_best(found: &mut Vec<(usize, statements::Statement)>, most: usize) {
    if found.len() <= most {
        return;
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| {
        let worthiness = |position: usize| found.get(position).map_or(0.0, |(_, statement)| statement.check_worthiness);
        worthiness(b).total_cmp(&worthiness(a)).then(a.cmp(&b))
    });
    let kept: std::collections::HashSet<usize> = order.into_iter().take(most).collect();
    let mut position = 0;
    found.retain(|_| {
        position += 1;
        kept.contains(&(position - 1))
    });
}

/// The last day of the latest date the claim names: a claim about 2019 speaks of the whole year.
fn claim_date(text: &str, reference: DateTime<Utc>) -> Option<DateTime<Utc>> {
    dates::dates(text, Some(reference))
        .into_iter()
        .map(|mention| mention.end)
        .max()
        .and_then(|day| day.and_hms_opt(23, 59, 59))
        .map(|moment| moment.and_utc())
}
