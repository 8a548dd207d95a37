//! Whether what is already known settles a claim, so that nobody else need be asked. No language model: the judged
//! passages of stored pages are counted, and the answer is no unless everything speaks for yes.

use std::collections::BTreeSet;
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::evidence::JudgedPassage;
use crate::domain::verdict::Stance;
use crate::language::entities::Entity;

use super::features;
use super::profile::TextProfile;
use super::scoring::VerdictLimits;

/// A stored passage, judged for the claim.
#[derive(Debug, Clone, Copy)]
pub struct KnownPassage<'a> {
    pub judged: &'a JudgedPassage,
    /// Whether it names everything the claim names: see [`covers_names`].
    pub names_covered: bool,
    /// When the page was read.
    pub read_at: DateTime<Utc>,
}

/// The claim, as far as the gate looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The claim states quantities or dates.
    pub has_figures: bool,
    /// What the claim speaks of, or when it was made; `None` for a claim without any date.
    pub date: Option<DateTime<Utc>>,
    pub now: DateTime<Utc>,
    /// How fast evidence for the claim ages, days.
    pub half_life_days: f64,
    pub relevance_floor: f64,
    /// The quality bar: mean relevance from which what is known is good enough to look no further.
    pub relevance: f64,
    pub limits: VerdictLimits,
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
        .filter(|passage| passage.judged.relevance >= wanted.relevance_floor && !passage.judged.is_social())
        .collect();
    if on_topic.is_empty() {
        return Sufficiency::Lacking(Lack::Nothing);
    }
    // A doubt stands, whoever has it and however old it is.
    let against = on_topic.iter().any(|p| p.judged.contradict >= limits.conflict);
    let for_it = on_topic.iter().any(|p| p.judged.stance() == Stance::Supports);
    if against && for_it {
        return Sufficiency::Lacking(Lack::Conflict);
    }
    let side = if against { Stance::Contradicts } else { Stance::Supports };
    let clear = |p: &&KnownPassage<'_>| match side {
        Stance::Contradicts => p.judged.contradict >= limits.refute && p.judged.stance() == side,
        _ => p.judged.entail >= limits.support && p.judged.stance() == side,
    };
    let mut counted: Vec<&KnownPassage<'_>> = on_topic.into_iter().filter(clear).collect();
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
    if groups.len() < limits.groups.max(LEAST_GROUPS) {
        return Sufficiency::Lacking(Lack::OneSource);
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

/// One source is never enough, whatever is configured for verdicts.
const LEAST_GROUPS: usize = 2;

type Condition<'a> = (Lack, Box<dyn Fn(&KnownPassage<'_>) -> bool + 'a>);

/// What a passage must have to be counted, in the order it is told.
fn conditions(wanted: &Wanted, side: Stance) -> [Condition<'_>; 3] {
    let figures = move |judged: &JudgedPassage| match (wanted.has_figures, side) {
        (false, _) => true,
        // A figure that differs is what contradicts; one that is missing leaves the claim's own untouched.
        (true, Stance::Contradicts) => judged.num_ok.is_some(),
        (true, _) => judged.num_ok == Some(true),
    };
    let seconds = (wanted.half_life_days * 86_400.0).clamp(0.0, 1e11) as i64;
    let oldest = wanted.now.checked_sub_signed(TimeDelta::seconds(seconds)).unwrap_or(DateTime::<Utc>::MIN_UTC);
    [
        (Lack::Uncovered, Box::new(move |p: &KnownPassage<'_>| p.names_covered && figures(p.judged))),
        (Lack::ReadBefore, Box::new(|p: &KnownPassage<'_>| wanted.date.is_none_or(|date| p.read_at >= date))),
        (Lack::Stale, Box::new(move |p: &KnownPassage<'_>| p.read_at >= oldest)),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::passage;
    use super::*;

    fn day(number: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000 + number)
    }

    fn wanted() -> Wanted {
        Wanted {
            has_figures: true,
            date: Some(day(-5)),
            now: day(0),
            half_life_days: 3.0,
            relevance_floor: 0.3,
            relevance: 0.6,
            limits: VerdictLimits::default(),
        }
    }

    /// A passage of that group on topic, read yesterday.
    fn judged(group: &str, entail: f64, contradict: f64) -> JudgedPassage {
        JudgedPassage { num_ok: Some(contradict < 0.5), ..passage(group, entail, contradict) }
    }

    fn decide(passages: &[JudgedPassage], wanted: &Wanted) -> Sufficiency {
        let known: Vec<KnownPassage<'_>> =
            passages.iter().map(|judged| KnownPassage { judged, names_covered: true, read_at: day(-1) }).collect();
        sufficiency(&known, wanted)
    }

    #[test]
    fn only_two_independent_clear_and_current_sources_are_enough() {
        let (a, b) = (judged("a", 0.9, 0.0), judged("b", 0.9, 0.0));
        let with = |change: fn(&mut JudgedPassage)| {
            let mut changed = b.clone();
            change(&mut changed);
            vec![a.clone(), changed]
        };
        let lacking = Sufficiency::Lacking;
        let enough = |side| Sufficiency::Enough { side, groups: 2 };
        let cases = [
            ("both say so", vec![a.clone(), b.clone()], enough(Stance::Supports)),
            ("both deny it", vec![judged("a", 0.0, 0.8), judged("b", 0.1, 0.75)], enough(Stance::Contradicts)),
            ("an empty store", vec![], lacking(Lack::Nothing)),
            ("one source", vec![a.clone()], lacking(Lack::OneSource)),
            ("five copies", vec![a.clone(); 5], lacking(Lack::OneSource)),
            ("they disagree", vec![a.clone(), b.clone(), judged("c", 0.0, 0.8)], lacking(Lack::Conflict)),
            ("a doubt", vec![a.clone(), b.clone(), judged("c", 0.2, 0.45)], lacking(Lack::Conflict)),
            ("a half-hearted second", vec![a.clone(), judged("b", 0.65, 0.0)], lacking(Lack::OneSource)),
            ("nothing clear", vec![judged("a", 0.5, 0.1), judged("b", 0.65, 0.0)], lacking(Lack::NothingClear)),
            ("off topic", with(|p| p.relevance = 0.2), lacking(Lack::OneSource)),
            ("loosely about it", with(|p| p.relevance = 0.35), lacking(Lack::OffTopic)),
            ("without the figure", with(|p| p.num_ok = None), lacking(Lack::OneSource)),
            ("a post", with(|p| p.source_type = crate::domain::verdict::SourceType::Social), lacking(Lack::OneSource)),
        ];
        for (what, passages, expected) in cases {
            assert_eq!(decide(&passages, &wanted()), expected, "{what}");
        }
    }

    #[test]
    fn what_was_read_earlier_cannot_settle_a_newer_claim() {
        let passages = [judged("a", 0.9, 0.0), judged("b", 0.9, 0.0)];
        let read = |first: i64, second: i64, wanted: &Wanted| {
            let known = [(&passages[0], first), (&passages[1], second)].map(|(judged, read)| KnownPassage {
                judged,
                names_covered: true,
                read_at: day(read),
            });
            sufficiency(&known, wanted)
        };
        let enough = Sufficiency::Enough { side: Stance::Supports, groups: 2 };
        let newer = Wanted { date: Some(day(-1)), ..wanted() };
        assert_eq!(read(-1, -1, &newer), enough);
        assert_eq!(read(-2, -2, &newer), Sufficiency::Lacking(Lack::ReadBefore));
        assert_eq!(read(-1, -2, &newer), Sufficiency::Lacking(Lack::OneSource), "one of them is too old to count");
        let undated = Wanted { date: None, ..wanted() };
        assert_eq!(read(-2, -3, &undated), enough);
        assert_eq!(read(-4, -4, &undated), Sufficiency::Lacking(Lack::Stale), "breaking news age in days");
        let lasting = Wanted { half_life_days: 3_650.0, ..undated };
        assert_eq!(read(-400, -400, &lasting), enough, "science does not");
    }

    #[test]
    fn every_name_of_the_claim_must_be_there() {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        let claim = profile("Olena Kovalenko opened the hospital in Poltava.");
        assert!(covers_names(&claim, &profile("In Poltava a hospital was opened by Olena Kovalenko on Monday.")));
        assert!(!covers_names(&claim, &profile("Olena Kovalenko opened the hospital on Monday.")));
        assert!(!covers_names(&profile("Ships left Velmora."), &profile("Ships left Velmara.")), "another port");
        let judged = [judged("a", 0.9, 0.0), judged("b", 0.9, 0.0)];
        let known: Vec<_> =
            judged.iter().map(|judged| KnownPassage { judged, names_covered: false, read_at: day(-1) }).collect();
        assert_eq!(sufficiency(&known, &wanted()), Sufficiency::Lacking(Lack::Uncovered));
    }

    fn any_known() -> impl Strategy<Value = Vec<(JudgedPassage, bool, i64)>> {
        let one = (
            0..4usize,
            0.0..1.0f64,
            0.0..1.0f64,
            0.0..1.0f64,
            prop::option::of(any::<bool>()),
            any::<bool>(),
            -9..1i64,
        );
        let one = one.prop_map(|(group, entail, contradict, relevance, num_ok, names, read)| {
            let passage = JudgedPassage {
                relevance,
                num_ok,
                ..judged(["a", "b", "c", "d"][group], entail, contradict * (1.0 - entail))
            };
            (passage, names, read)
        });
        prop::collection::vec(one, 0..7)
    }

    fn of(rows: &[(JudgedPassage, bool, i64)]) -> Sufficiency {
        let known: Vec<KnownPassage<'_>> = rows
            .iter()
            .map(|(judged, names_covered, read)| KnownPassage {
                judged,
                names_covered: *names_covered,
                read_at: day(*read),
            })
            .collect();
        sufficiency(&known, &wanted())
    }

    proptest! {
        #[test]
        fn enough_means_two_groups_of_one_mind(rows in any_known()) {
            if let Sufficiency::Enough { side, groups } = of(&rows) {
                let of_side: BTreeSet<&str> = rows
                    .iter()
                    .filter(|(p, names, read)| p.stance() == side && *names && *read >= -5 && p.relevance >= 0.3)
                    .map(|(p, ..)| p.independent_group.as_str())
                    .collect();
                prop_assert!(groups >= 2 && of_side.len() >= groups);
                let other = if side == Stance::Supports { Stance::Contradicts } else { Stance::Supports };
                prop_assert!(rows.iter().all(|(p, ..)| p.relevance < 0.3 || p.stance() != other));
            }
        }

        #[test]
        fn neither_order_nor_copies_change_the_answer(rows in any_known(), turn in any::<prop::sample::Index>()) {
            let straight = of(&rows);
            let mut turned = rows.clone();
            if !turned.is_empty() {
                let by = turn.index(turned.len());
                turned.rotate_left(by);
                turned.reverse();
                turned.push(turned[0].clone());
            }
            prop_assert_eq!(straight, of(&turned));
        }

        #[test]
        fn a_voice_against_never_makes_it_enough(rows in any_known()) {
            let before = of(&rows);
            let mut more = rows;
            more.push((judged("e", 0.0, 0.9), true, -1));
            if matches!(of(&more), Sufficiency::Enough { side: Stance::Supports, .. }) {
                prop_assert!(false, "it was {:?}", before);
            }
        }
    }
}
