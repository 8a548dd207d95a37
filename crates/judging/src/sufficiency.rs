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
            oldest_reading: day(-3),
            relevance_floor: 0.3,
            relevance: 0.6,
            limits: SufficiencyLimits::default(),
            conflict: 0.40,
        }
    }

    /// A passage of that group on topic, read yesterday.
    fn judged(group: &str, entail: f64, contradict: f64) -> JudgedPassage {
        JudgedPassage { num_ok: Some(contradict < 0.5), ..passage(group, entail, contradict) }
    }

    fn decide(passages: &[JudgedPassage], wanted: &Wanted) -> Sufficiency {
        let known: Vec<KnownPassage<'_>> = passages
            .iter()
            .map(|judged| KnownPassage { judged, names_covered: true, read_at: day(-1), lasting: false })
            .collect();
        sufficiency(&known, wanted)
    }

    proptest! {
        #[test]
        fn what_is_out_of_reach_suffices_by_no_judgement(
            drawn in prop::collection::vec(
                ((0.0..1.0f64, 0.0..1.0f64), "[ab]", (0.0..1.0f64, any::<bool>()), prop::option::of(any::<bool>()), -9i64..0),
                0..6
            )
        ) {
            let judged: Vec<JudgedPassage> = drawn
                .iter()
                .map(|((e, c), group, (relevance, _), num_ok, _)| {
                    let whole = (e + c).max(1.0);
                    JudgedPassage { relevance: *relevance, num_ok: *num_ok, ..passage(group, e / whole, c / whole) }
                })
                .collect();
            let known: Vec<KnownPassage<'_>> = judged
                .iter()
                .zip(&drawn)
                .map(|(judged, (_, _, (_, named), _, read))| {
                    KnownPassage { judged, names_covered: *named, read_at: day(*read), lasting: false }
                })
                .collect();
            if out_of_reach(&known, &wanted()).is_some() {
                prop_assert!(matches!(sufficiency(&known, &wanted()), Sufficiency::Lacking(_)));
            }
        }
    }

    #[test]
    fn a_judge_is_heard_only_where_it_could_matter() {
        let reach = |passages: &[JudgedPassage]| {
            let known: Vec<KnownPassage<'_>> = passages
                .iter()
                .map(|judged| KnownPassage { judged, names_covered: true, read_at: day(-1), lasting: false })
                .collect();
            out_of_reach(&known, &wanted())
        };
        let open = |group: &str| judged(group, 0.1, 0.1);
        assert_eq!(reach(&[open("a"), open("b")]), None, "what they say is still to be asked");
        assert_eq!(reach(&[open("a"), open("a")]), Some(Lack::OneSource));
        assert_eq!(reach(&[]), Some(Lack::Nothing));
        let figureless = |group: &str| JudgedPassage { num_ok: None, ..open(group) };
        assert_eq!(reach(&[figureless("a"), figureless("b")]), Some(Lack::Uncovered));
        let differing = |group: &str| JudgedPassage { num_ok: Some(false), ..open(group) };
        assert_eq!(reach(&[differing("a"), differing("b")]), None, "they may contradict it");
        let loose = |group: &str| JudgedPassage { relevance: 0.35, ..open(group) };
        assert_eq!(reach(&[open("a"), open("b"), loose("c")]), None, "the nearest two may be the ones that speak");
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
            (
                "a post",
                with(|p| p.source_type = corroborate_domain::verdict::SourceType::Social),
                lacking(Lack::OneSource),
            ),
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
                lasting: false,
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
        let lasting = Wanted { oldest_reading: day(-3_650), ..undated };
        assert_eq!(read(-400, -400, &lasting), enough, "science does not");
    }

    #[test]
    fn what_may_change_any_day_rests_on_readings_of_a_day() {
        let oldest = |enduring, half_life| oldest_reading(day(0), enduring, half_life, TimeDelta::days(1));
        assert_eq!(oldest(false, 365.0), day(-1), "an office is held until it is not");
        assert_eq!(oldest(true, 365.0), day(-365), "an event of a past day");
        assert_eq!(oldest(true, 3_650.0), day(-3_650), "science");
        assert_eq!(oldest(false, 0.5), day(0) - TimeDelta::hours(12), "never longer than its topic lasts");
        assert_eq!(oldest(true, f64::INFINITY), day(0) - TimeDelta::seconds(100_000_000_000));
        let now = |text: &str| speaks_of_now(&TextProfile::new(text, None, None, &[]));
        for text in [
            "Ana Silva has been minister since 2019.",
            "Ана Силва до сих пор министр.",
            "Міст досі закрито.",
            "O porto ainda está fechado.",
        ] {
            assert!(now(text), "{text}");
        }
        assert!(!now("The port shipped 4200 tonnes of grain in October 2026."));
    }

    fn dated(group: &str, entail: f64, contradict: f64, published: i64) -> JudgedPassage {
        JudgedPassage { published_at: Some(day(published)), ..judged(group, entail, contradict) }
    }

    #[test]
    fn a_newer_page_that_does_not_say_the_same_reopens_the_question() {
        let old = [dated("a", 0.9, 0.0, -30), dated("b", 0.9, 0.0, -29), dated("c", 0.9, 0.0, -28)];
        let with = |more: JudgedPassage| decide(&[&old[..], &[more]].concat(), &wanted());
        let enough = |groups| Sufficiency::Enough { side: Stance::Supports, groups };
        assert_eq!(with(dated("d", 0.0, 0.9, -1)), Sufficiency::Lacking(Lack::Conflict));
        assert_eq!(with(dated("d", 0.2, 0.2, -1)), Sufficiency::Lacking(Lack::Overtaken), "it takes no side");
        let of_then = dated("d", 0.2, 0.2, -29);
        assert_eq!(with(of_then.clone()), enough(3), "two sources say it as late as that");
        let pages = [dated("a", 0.9, 0.0, -30), dated("b", 0.9, 0.0, -28), of_then];
        assert_eq!(
            decide(&pages, &wanted()),
            Sufficiency::Lacking(Lack::Overtaken),
            "one says it later, one is no two"
        );
    }

    #[test]
    fn a_page_that_says_both_settles_nothing() {
        let both = JudgedPassage { evidence_id: "ev_a".into(), ..judged("a", 0.1, 0.5) };
        let passages = [judged("a", 0.9, 0.0), judged("b", 0.9, 0.0), both];
        assert_eq!(decide(&passages, &wanted()), Sufficiency::Lacking(Lack::Conflict));
        let denied = [judged("a", 0.0, 0.9), judged("b", 0.0, 0.9), judged("c", 0.5, 0.3)];
        assert_eq!(decide(&denied, &wanted()), Sufficiency::Lacking(Lack::Conflict), "a doubt counts on either side");
    }

    #[test]
    fn a_fact_that_came_with_the_program_does_not_go_stale() {
        let (fact, page) = (judged("a", 0.9, 0.0), judged("b", 0.9, 0.0));
        let settled = |lasting| {
            let known = [(&fact, -300, lasting), (&page, -1, false)].map(|(judged, read, lasting)| KnownPassage {
                judged,
                names_covered: true,
                read_at: day(read),
                lasting,
            });
            sufficiency(&known, &Wanted { date: None, ..wanted() })
        };
        assert_eq!(settled(true), Sufficiency::Enough { side: Stance::Supports, groups: 2 });
        assert_eq!(settled(false), Sufficiency::Lacking(Lack::OneSource));
    }

    #[test]
    fn every_name_of_the_claim_must_be_there() {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        let claim = profile("Olena Kovalenko opened the hospital in Poltava.");
        assert!(covers_names(&claim, &profile("In Poltava a hospital was opened by Olena Kovalenko on Monday.")));
        assert!(!covers_names(&claim, &profile("Olena Kovalenko opened the hospital on Monday.")));
        assert!(!covers_names(&profile("Ships left Velmora."), &profile("Ships left Velmara.")), "another port");
        let judged = [judged("a", 0.9, 0.0), judged("b", 0.9, 0.0)];
        let known: Vec<_> = judged
            .iter()
            .map(|judged| KnownPassage { judged, names_covered: false, read_at: day(-1), lasting: false })
            .collect();
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
                lasting: false,
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
