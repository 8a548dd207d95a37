//! Whether what is already known settles a claim, so that nobody else need be asked. No language model: the judged
//! passages of stored pages are counted, and the answer is no unless everything speaks for yes.

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

/// A stored passage, judged for the claim.
#[derive(Debug, Clone, Copy)]
pub struct KnownPassage<'a> {
    pub judged: &'a JudgedPassage,
    /// Whether it names everything the claim names: see [`covers_names`].
    pub names_covered: bool,
    /// When the page was read.
    pub read_at: DateTime<Utc>,
    /// It holds whenever it was read: a well-established fact that came with the program.
    pub lasting: bool,
}

impl KnownPassage<'_> {
    /// Whether it tells of a later time than the other: by what the pages say of themselves where both do, else by when
    /// they were read.
    fn is_newer_than(&self, other: &Self) -> bool {
        match (self.judged.published_at, other.judged.published_at) {
            (Some(ours), Some(theirs)) => ours > theirs,
            _ => self.read_at > other.read_at,
        }
    }
}

/// The claim, as far as the gate looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The claim states quantities or dates.
    pub has_figures: bool,
    /// What the claim speaks of, or when it was made; `None` for a claim without any date.
    pub date: Option<DateTime<Utc>>,
    /// How long ago a page may have been read, at most: see [`oldest_reading`].
    pub oldest_reading: DateTime<Utc>,
    pub relevance_floor: f64,
    /// The quality bar: mean relevance from which what is known is good enough to look no further.
    pub relevance: f64,
    pub limits: SufficiencyLimits,
    /// Probability from which a side is heard at all: two sides that are heard conflict.
    pub conflict: f64,
}

/// What the gate decided, and on what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sufficiency {
    /// So many independent groups take that side, and nothing speaks against it.
    Enough {
        side: Stance,
        groups: usize,
    },
    Lacking(Lack),
}

/// Why what is known is not enough: the first thing that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Nothing stored is about the claim.
    Nothing,
    /// Nothing stored says clearly whether it holds.
    NothingClear,
    /// What is stored disagrees.
    Conflict,
    /// What was stored later is about it too, and does not say the same.
    Overtaken,
    /// What speaks of it leaves out one of its names or figures.
    Uncovered,
    /// It was read before what the claim speaks of.
    ReadBefore,
    /// It was read too long ago for such a topic.
    Stale,
    /// One source says it, in however many copies.
    OneSource,
    /// What says it is only loosely about it.
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

/// Whether the text names that, under the very key. What was stored of other events holds many names that are nearly this
/// one, so the likeness that is enough within a search's answer is not enough here.
pub fn names(passage: &TextProfile, name: &Entity) -> bool {
    passage.entities.iter().any(|other| other.key == name.key)
}

/// Whether the text names everything that the claim names.
pub fn covers_names(claim: &TextProfile, passage: &TextProfile) -> bool {
    claim.entities.iter().all(|name| names(passage, name))
}

/// Decides. The order of the passages changes nothing, and a copy adds nothing.
pub fn sufficiency(known: &[KnownPassage<'_>], wanted: &Wanted) -> Sufficiency {
    let limits = &wanted.limits;
    let on_topic: Vec<&KnownPassage<'_>> = known
        .iter()
        .filter(|passage| passage.judged.relevance >= wanted.relevance_floor && !passage.judged.is_context())
        .collect();
    if on_topic.is_empty() {
        return Sufficiency::Lacking(Lack::Nothing);
    }
    // A doubt stands, whoever has it and however old it is: also a page's about itself.
    let against = on_topic.iter().any(|p| p.judged.contradict >= wanted.conflict);
    let for_it =
        on_topic.iter().any(|p| p.judged.entail >= wanted.conflict && p.judged.stance() != Stance::Contradicts);
    if against && for_it {
        return Sufficiency::Lacking(Lack::Conflict);
    }
    let side = if against { Stance::Contradicts } else { Stance::Supports };
    let clear = |p: &&KnownPassage<'_>| match side {
        Stance::Contradicts => p.judged.contradict >= limits.refute && p.judged.stance() == side,
        _ => p.judged.entail >= limits.support && p.judged.stance() == side,
    };
    let mut counted: Vec<&KnownPassage<'_>> = on_topic.iter().copied().filter(clear).collect();
    for (lack, keeps) in conditions(wanted, side) {
        if counted.is_empty() {
            return Sufficiency::Lacking(Lack::NothingClear);
        }
        counted.retain(|passage| keeps(passage));
        if counted.is_empty() {
            return Sufficiency::Lacking(lack);
        }
    }
    let groups: BTreeSet<&str> = counted.iter().map(|passage| passage.judged.independent_group.as_str()).collect();
    let least = limits.groups.max(LEAST_GROUPS);
    if groups.len() < least {
        return Sufficiency::Lacking(Lack::OneSource);
    }
    if is_overtaken(&on_topic, &counted, side, least) {
        return Sufficiency::Lacking(Lack::Overtaken);
    }
    // Each group by its best passage, or copies of a loose one would pull the mean about.
    let best = groups.iter().map(|group| {
        let of_group = counted.iter().filter(|passage| passage.judged.independent_group == *group);
        of_group.map(|passage| passage.judged.relevance).fold(0.0, f64::max)
    });
    if features::mean(best) < wanted.relevance {
        return Sufficiency::Lacking(Lack::OffTopic);
    }
    Sufficiency::Enough { side, groups: groups.len() }
}

/// What is missing however plainly every one of them spoke, for either side; `None` where a judge has to be heard. What the
/// passages say is left aside: only their names, figures, times, groups and topics are looked at.
pub fn out_of_reach(known: &[KnownPassage<'_>], wanted: &Wanted) -> Option<Lack> {
    let if_all_said = |entail: f64, contradict: f64| {
        let plain =
            |passage: &KnownPassage<'_>| JudgedPassage { entail, contradict, neutral: 0.0, ..passage.judged.clone() };
        let judged: Vec<JudgedPassage> = known.iter().map(plain).collect();
        let known: Vec<KnownPassage<'_>> =
            known.iter().zip(&judged).map(|(passage, judged)| KnownPassage { judged, ..*passage }).collect();
        match sufficiency(&known, wanted) {
            // Fewer of them may be nearer to the claim than all together.
            Sufficiency::Enough { .. } | Sufficiency::Lacking(Lack::OffTopic) => None,
            Sufficiency::Lacking(lack) => Some(lack),
        }
    };
    if_all_said(1.0, 0.0).filter(|_| if_all_said(0.0, 1.0).is_some())
}

/// One source is never enough, whatever is configured for verdicts.
const LEAST_GROUPS: usize = 2;

/// Whether a page about the claim that does not take that side is newer than what too many of the sources say.
fn is_overtaken(on_topic: &[&KnownPassage<'_>], counted: &[&KnownPassage<'_>], side: Stance, least: usize) -> bool {
    let taking: BTreeSet<&str> =
        on_topic.iter().filter(|p| p.judged.stance() == side).map(|p| p.judged.evidence_id.as_str()).collect();
    on_topic.iter().filter(|p| !p.lasting && !taking.contains(p.judged.evidence_id.as_str())).any(|newer| {
        let standing = counted.iter().filter(|p| p.lasting || !newer.is_newer_than(p));
        standing.map(|p| p.judged.independent_group.as_str()).collect::<BTreeSet<&str>>().len() < least
    })
}

/// Words by which a claim speaks of the present whatever date it names: "has led it since 2019" is no claim about 2019.
static OF_NOW: Words = Words::of("sufficiency.of_now");

/// Whether the claim says that something is so now.
pub fn speaks_of_now(claim: &TextProfile) -> bool {
    claim.sentences.iter().any(|sentence| {
        let spoken: Vec<&str> = sentence.spoken.iter().map(|word| word.text.as_str()).collect();
        spoken.iter().any(|word| OF_NOW.has(word)) || OF_NOW.has_phrase_beside(&spoken, &[])
    })
}

/// When a page must have been read, at the earliest, to settle a claim. What speaks of a day that is past and what
/// changes slowly (`enduring`) may rest on readings of up to one half-life; all else may change any day, and rests on
/// readings of up to `most`.
pub fn oldest_reading(now: DateTime<Utc>, enduring: bool, half_life_days: f64, most: TimeDelta) -> DateTime<Utc> {
    let half_life = TimeDelta::seconds((half_life_days * 86_400.0).clamp(0.0, 1e11) as i64);
    let age = if enduring { half_life } else { half_life.min(most) };
    now.checked_sub_signed(age).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

type Condition<'a> = (Lack, Box<dyn Fn(&KnownPassage<'_>) -> bool + 'a>);

/// What a passage must have to be counted, in the order it is told.
fn conditions(wanted: &Wanted, side: Stance) -> [Condition<'_>; 3] {
    let figures = move |judged: &JudgedPassage| match (wanted.has_figures, side) {
        (false, _) => true,
        // A figure that differs is what contradicts; one that is missing leaves the claim's own untouched.
        (true, Stance::Contradicts) => judged.num_ok.is_some(),
        (true, _) => judged.num_ok == Some(true),
    };
    [
        (Lack::Uncovered, Box::new(move |p: &KnownPassage<'_>| p.names_covered && figures(p.judged))),
        (Lack::ReadBefore, Box::new(|p: &KnownPassage<'_>| wanted.date.is_none_or(|date| p.read_at >= date))),
        (Lack::Stale, Box::new(|p: &KnownPassage<'_>| p.lasting || p.read_at >= wanted.oldest_reading)),
    ]
}

#[cfg(test)]
mod tests;
