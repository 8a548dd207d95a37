//! Decides whether stored evidence settles a claim without a new search.
//!
//! Counts judged passages of stored pages, without a language model. Every condition must hold; [`Lack`] names the
//! first that fails. To add one, extend [`lack_of`] and [`Lack`].

use std::collections::BTreeSet;
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::verdict::Stance;
use corroborate_language::entities::Entity;
use corroborate_language::lexicon::Words;

use super::features;
use super::profile::TextProfile;
use super::scoring::SufficiencyLimits;

#[derive(Debug, Clone, Copy)]
pub struct KnownPassage<'a> {
    pub judged: &'a JudgedPassage,
    /// See [`covers_names`].
    pub names_covered: bool,
    pub read_at: DateTime<Utc>,
    /// A shipped fact; its reading time has no effect.
    pub lasting: bool,
}

impl KnownPassage<'_> {
    /// Compares publication dates if both exist, else reading times.
    fn is_newer_than(&self, other: &Self) -> bool {
        match (self.judged.published_at, other.judged.published_at) {
            (Some(ours), Some(theirs)) => ours > theirs,
            _ => self.read_at > other.read_at,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Requirements {
    pub has_figures: bool,
    /// Subject date, else the claim's own.
    pub date: Option<DateTime<Utc>>,
    /// See [`oldest_reading`].
    pub oldest_reading: DateTime<Utc>,
    pub relevance_floor: f64,
    /// Minimum mean relevance.
    pub relevance: f64,
    pub limits: SufficiencyLimits,
    /// Probability from which a side counts; two conflict.
    pub conflict: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sufficiency {
    /// Independent groups on that side, unopposed.
    Enough {
        side: Stance,
        groups: usize,
    },
    Lacking(Lack),
}

/// `Uncovered`, `ReadBefore` and `Stale` are in the order of their checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    Nothing,
    NothingClear,
    Conflict,
    /// A later passage does not take that side.
    Overtaken,
    /// A name or figure is missing.
    Uncovered,
    /// Read before the claim's date.
    ReadBefore,
    Stale,
    /// In any number of copies.
    OneSource,
    OffTopic,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing stored is about it",
            Self::NothingClear => "nothing stored says clearly whether it holds",
            Self::Conflict => "what is stored disagrees",
            Self::Overtaken => "something newer about it is stored that does not say the same",
            Self::Uncovered => "what is stored leaves out one of its names or figures",
            Self::ReadBefore => "what is stored was read before the time it speaks of",
            Self::Stale => "what is stored is too old for its topic",
            Self::OneSource => "one source only is stored",
            Self::OffTopic => "what is stored is only loosely about it",
        })
    }
}

/// Whether the text has the name by the same key. Stored evidence has many similar names of other events.
pub fn names(passage: &TextProfile, name: &Entity) -> bool {
    passage.entities.iter().any(|other| other.key == name.key)
}

pub fn covers_names(claim: &TextProfile, passage: &TextProfile) -> bool {
    claim.entities.iter().all(|name| names(passage, name))
}

/// Decides; order and copies have no effect.
pub fn sufficiency(known: &[KnownPassage<'_>], required: &Requirements) -> Sufficiency {
    let limits = &required.limits;
    let on_topic: Vec<&KnownPassage<'_>> = known
        .iter()
        .filter(|passage| passage.judged.relevance >= required.relevance_floor && !passage.judged.is_context())
        .collect();
    if on_topic.is_empty() {
        return Sufficiency::Lacking(Lack::Nothing);
    }
    // From any source and time.
    let against = on_topic.iter().any(|p| p.judged.contradict >= required.conflict);
    let for_it =
        on_topic.iter().any(|p| p.judged.entail >= required.conflict && p.judged.stance() != Stance::Contradicts);
    if against && for_it {
        return Sufficiency::Lacking(Lack::Conflict);
    }
    let side = if against { Stance::Contradicts } else { Stance::Supports };
    let clear = |p: &&KnownPassage<'_>| match side {
        Stance::Contradicts => p.judged.contradict >= limits.refute && p.judged.stance() == side,
        _ => p.judged.entail >= limits.support && p.judged.stance() == side,
    };
    let mut counted: Vec<&KnownPassage<'_>> = on_topic.iter().copied().filter(clear).collect();
    let lack = |passage: &&KnownPassage<'_>| lack_of(passage, required, side);
    // That of the passage that meets the most conditions.
    let nearest = counted.iter().filter_map(lack).max().unwrap_or(Lack::NothingClear);
    counted.retain(|passage| lack(passage).is_none());
    if counted.is_empty() {
        return Sufficiency::Lacking(nearest);
    }
    let groups: BTreeSet<&str> = counted.iter().map(|passage| passage.judged.independent_group.as_str()).collect();
    let least = limits.groups.max(MIN_GROUPS);
    if groups.len() < least {
        return Sufficiency::Lacking(Lack::OneSource);
    }
    if is_overtaken(&on_topic, &counted, side, least) {
        return Sufficiency::Lacking(Lack::Overtaken);
    }
    // Copies of a loose passage would change the mean.
    let best = groups.iter().map(|group| {
        let of_group = counted.iter().filter(|passage| passage.judged.independent_group == *group);
        of_group.map(|passage| passage.judged.relevance).fold(0.0, f64::max)
    });
    if features::mean(best) < required.relevance {
        return Sufficiency::Lacking(Lack::OffTopic);
    }
    Sufficiency::Enough { side, groups: groups.len() }
}

/// Returns what is missing even if all passages took one side plainly; `None` if a judge must decide.
pub fn out_of_reach(known: &[KnownPassage<'_>], required: &Requirements) -> Option<Lack> {
    let lack_if_all = |entail: f64, contradict: f64| {
        let plain =
            |passage: &KnownPassage<'_>| JudgedPassage { entail, contradict, neutral: 0.0, ..passage.judged.clone() };
        let judged: Vec<JudgedPassage> = known.iter().map(plain).collect();
        let known: Vec<KnownPassage<'_>> =
            known.iter().zip(&judged).map(|(passage, judged)| KnownPassage { judged, ..*passage }).collect();
        match sufficiency(&known, required) {
            // Fewer passages may be closer to the claim than all together.
            Sufficiency::Enough { .. } | Sufficiency::Lacking(Lack::OffTopic) => None,
            Sufficiency::Lacking(lack) => Some(lack),
        }
    };
    lack_if_all(1.0, 0.0).filter(|_| lack_if_all(0.0, 1.0).is_some())
}

/// Minimum groups, whatever the settings for verdicts.
const MIN_GROUPS: usize = 2;

/// Whether a page about the claim on neither side is newer than too many sources.
fn is_overtaken(on_topic: &[&KnownPassage<'_>], counted: &[&KnownPassage<'_>], side: Stance, least: usize) -> bool {
    let taking: BTreeSet<&str> =
        on_topic.iter().filter(|p| p.judged.stance() == side).map(|p| p.judged.evidence_id.as_str()).collect();
    on_topic.iter().filter(|p| !p.lasting && !taking.contains(p.judged.evidence_id.as_str())).any(|newer| {
        let standing = counted.iter().filter(|p| p.lasting || !newer.is_newer_than(p));
        standing.map(|p| p.judged.independent_group.as_str()).collect::<BTreeSet<&str>>().len() < least
    })
}

/// Words about the present: "has led it since 2019".
static PRESENT_WORDS: Words = Words::of("sufficiency.of_now");

pub fn is_about_present(claim: &TextProfile) -> bool {
    claim.sentences.iter().any(|sentence| {
        let words: Vec<&str> = sentence.words.iter().map(|word| word.text.as_str()).collect();
        words.iter().any(|word| PRESENT_WORDS.has(word)) || PRESENT_WORDS.has_phrase_outside(&words, &[])
    })
}

/// Returns the earliest valid reading. Past days and slow facts (`enduring`) allow one half-life, others up to `most`.
pub fn oldest_reading(now: DateTime<Utc>, enduring: bool, half_life_days: f64, most: TimeDelta) -> DateTime<Utc> {
    let half_life = TimeDelta::seconds((half_life_days * 86_400.0).clamp(0.0, 1e11) as i64);
    let age = if enduring { half_life } else { half_life.min(most) };
    now.checked_sub_signed(age).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// Returns the first condition that a clear passage does not meet.
fn lack_of(passage: &KnownPassage<'_>, required: &Requirements, side: Stance) -> Option<Lack> {
    let has_figures = match side {
        _ if !required.has_figures => true,
        // A different figure contradicts; a missing one says nothing.
        Stance::Contradicts => passage.judged.num_ok.is_some(),
        _ => passage.judged.num_ok == Some(true),
    };
    if !(passage.names_covered && has_figures) {
        Some(Lack::Uncovered)
    } else if required.date.is_some_and(|date| passage.read_at < date) {
        Some(Lack::ReadBefore)
    } else if !passage.lasting && passage.read_at < required.oldest_reading {
        Some(Lack::Stale)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
