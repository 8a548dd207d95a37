use proptest::prelude::*;

use super::*;
use crate::samples::passage;

fn day(number: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000 + number)
}

fn requirements() -> Requirements {
    Requirements {
        has_figures: true,
        date: Some(day(-5)),
        oldest_reading: day(-3),
        relevance_floor: 0.3,
        relevance: 0.6,
        limits: SufficiencyLimits::default(),
        conflict: 0.40,
    }
}

/// An on-topic passage of the group, read yesterday.
fn judged(group: &str, entail: f64, contradict: f64) -> JudgedPassage {
    JudgedPassage { num_ok: Some(contradict < 0.5), ..passage(group, entail, contradict) }
}

fn decide(passages: &[JudgedPassage], required: &Requirements) -> Sufficiency {
    let known: Vec<KnownPassage<'_>> = passages
        .iter()
        .map(|judged| KnownPassage { judged, names_covered: true, read_at: day(-1), lasting: false })
        .collect();
    sufficiency(&known, required)
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
        if out_of_reach(&known, &requirements()).is_some() {
            prop_assert!(matches!(sufficiency(&known, &requirements()), Sufficiency::Lacking(_)));
        }
    }
}

#[test]
fn judge_is_asked_only_when_it_can_change_the_result() {
    let reach = |passages: &[JudgedPassage]| {
        let known: Vec<KnownPassage<'_>> = passages
            .iter()
            .map(|judged| KnownPassage { judged, names_covered: true, read_at: day(-1), lasting: false })
            .collect();
        out_of_reach(&known, &requirements())
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
        ("a post", with(|p| p.source_type = corroborate_domain::verdict::SourceType::Social), lacking(Lack::OneSource)),
    ];
    for (what, passages, expected) in cases {
        assert_eq!(decide(&passages, &requirements()), expected, "{what}");
    }
}

#[test]
fn what_was_read_earlier_cannot_settle_a_newer_claim() {
    let passages = [judged("a", 0.9, 0.0), judged("b", 0.9, 0.0)];
    let read = |first: i64, second: i64, required: &Requirements| {
        let known = [(&passages[0], first), (&passages[1], second)].map(|(judged, read)| KnownPassage {
            judged,
            names_covered: true,
            read_at: day(read),
            lasting: false,
        });
        sufficiency(&known, required)
    };
    let enough = Sufficiency::Enough { side: Stance::Supports, groups: 2 };
    let newer = Requirements { date: Some(day(-1)), ..requirements() };
    assert_eq!(read(-1, -1, &newer), enough);
    assert_eq!(read(-2, -2, &newer), Sufficiency::Lacking(Lack::ReadBefore));
    assert_eq!(read(-1, -2, &newer), Sufficiency::Lacking(Lack::OneSource), "one of them is too old to count");
    let undated = Requirements { date: None, ..requirements() };
    assert_eq!(read(-2, -3, &undated), enough);
    assert_eq!(read(-4, -4, &undated), Sufficiency::Lacking(Lack::Stale), "breaking news age in days");
    let lasting = Requirements { oldest_reading: day(-3_650), ..undated };
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
    let now = |text: &str| is_about_present(&TextProfile::new(text, None, None, &[]));
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
    let with = |more: JudgedPassage| decide(&[&old[..], &[more]].concat(), &requirements());
    let enough = |groups| Sufficiency::Enough { side: Stance::Supports, groups };
    assert_eq!(with(dated("d", 0.0, 0.9, -1)), Sufficiency::Lacking(Lack::Conflict));
    assert_eq!(with(dated("d", 0.2, 0.2, -1)), Sufficiency::Lacking(Lack::Overtaken), "it takes no side");
    let of_then = dated("d", 0.2, 0.2, -29);
    assert_eq!(with(of_then.clone()), enough(3), "two sources say it as late as that");
    let pages = [dated("a", 0.9, 0.0, -30), dated("b", 0.9, 0.0, -28), of_then];
    assert_eq!(
        decide(&pages, &requirements()),
        Sufficiency::Lacking(Lack::Overtaken),
        "one says it later, one is no two"
    );
}

#[test]
fn a_page_that_says_both_settles_nothing() {
    let both = JudgedPassage { evidence_id: "ev_a".into(), ..judged("a", 0.1, 0.5) };
    let passages = [judged("a", 0.9, 0.0), judged("b", 0.9, 0.0), both];
    assert_eq!(decide(&passages, &requirements()), Sufficiency::Lacking(Lack::Conflict));
    let denied = [judged("a", 0.0, 0.9), judged("b", 0.0, 0.9), judged("c", 0.5, 0.3)];
    assert_eq!(decide(&denied, &requirements()), Sufficiency::Lacking(Lack::Conflict), "a doubt counts on either side");
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
        sufficiency(&known, &Requirements { date: None, ..requirements() })
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
    assert_eq!(sufficiency(&known, &requirements()), Sufficiency::Lacking(Lack::Uncovered));
}

fn any_known() -> impl Strategy<Value = Vec<(JudgedPassage, bool, i64)>> {
    let one =
        (0..4usize, 0.0..1.0f64, 0.0..1.0f64, 0.0..1.0f64, prop::option::of(any::<bool>()), any::<bool>(), -9..1i64);
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
    sufficiency(&known, &requirements())
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
