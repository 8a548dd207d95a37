//! The worked examples of the scoring rules on constructed evidence, one test per row.

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use proptest::prelude::*;

use corroborate_domain::evidence::{JudgedPassage, MatchedReview, StanceProbabilities};
use corroborate_domain::result::BorneOut;
use corroborate_domain::verdict::{
    ClaimKind, CorrectionType, Note, RatingClass, Relation, SourceType, Stance, Tier, Verdict,
};

use super::calibration::{Calibration, Logistic};
use super::correction::{CorrectionInput, ProposalSupport, Subject, correct, propose};
use super::numbers::{self, NumberCheck};
use super::profile::TextProfile;
use super::samples::{any_passages, any_reviews, context, passage, review};
use super::scoring::{Scoring, VerdictLimits};
use super::stance::agreement_stance;
use super::verdicts::{Assessment, ClaimContext, assess};

fn judged(passages: &[JudgedPassage], reviews: &[MatchedReview]) -> Assessment {
    assess(&context(), passages, reviews)
}

fn copies_of_one_wire(count: u32, entail: f64) -> Vec<JudgedPassage> {
    (0..count)
        .map(|n| JudgedPassage {
            independent_group: "wire:reuters".into(),
            rank: n + 1,
            ..passage(&format!("copy{n}"), entail, 0.02)
        })
        .collect()
}

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 20, 12, 0, 0).unwrap()
}

#[test]
fn one_supporter_is_a_lean() {
    let little = JudgedPassage { credibility: 0.5, ..passage("a", 0.97, 0.01) };
    let eager = ClaimContext { confidence_threshold: 0.0, ..context() };
    assert!(!assess(&eager, std::slice::from_ref(&little), &[]).decisive, "little credit");
    let found = judged(&[little], &[]);
    assert_eq!((found.verdict, found.tier, found.decisive), (Verdict::Supported, Tier::Medium, false));
    assert_eq!(found.notes, [Note::SingleSource]);
    assert!(found.score.is_some_and(|score| score <= 69));
}

#[test]
fn five_copies_of_one_wire_story_are_a_lean_too() {
    let copies: Vec<JudgedPassage> =
        copies_of_one_wire(5, 0.95).into_iter().map(|copy| JudgedPassage { credibility: 0.5, ..copy }).collect();
    let found = judged(&copies, &[]);
    assert_eq!((found.verdict, found.tier, found.decisive), (Verdict::Supported, Tier::Medium, false));
    assert_eq!(found.notes, [Note::SingleSource]);
    assert!(found.score.is_some_and(|score| score <= 69));
}

#[test]
fn two_independent_supporters_support() {
    let found = judged(&[passage("a", 0.9, 0.1), passage("b", 0.9, 0.05)], &[]);
    assert_eq!((found.verdict, found.tier), (Verdict::Supported, Tier::High));
    assert!(found.notes.is_empty());
    assert!(!found.contradiction);
    let firm = ClaimContext { confidence_threshold: found.confidence, ..context() };
    assert!(assess(&firm, &[passage("a", 0.9, 0.1), passage("b", 0.9, 0.05)], &[]).decisive);
    assert_eq!(found.citations.len(), 2);
}

#[test]
fn nothing_is_decisive_against_a_contradiction_of_some_weight() {
    let eager = ClaimContext { confidence_threshold: 0.0, ..context() };
    let three = ["a", "b", "c"].map(|id| passage(id, 0.9, 0.02));
    assert!(assess(&eager, &three, &[]).decisive);
    let found = assess(&eager, &[three.as_slice(), &[passage("d", 0.2, 0.45)]].concat(), &[]);
    assert_eq!((found.verdict, found.tier, found.decisive), (Verdict::Supported, Tier::Low, false));
    assert_eq!(found.notes, [Note::ConflictingSources]);
    let example = judged(&[passage("a", 0.72, 0.1), passage("b", 0.72, 0.1), passage("c", 0.2, 0.45)], &[]);
    assert_eq!((example.tier, example.decisive, example.notes), (Tier::Low, false, vec![Note::ConflictingSources]));
}

#[test]
fn two_sources_that_say_the_opposite_are_contested_and_one_is_not() {
    let (supports, contradicts) = (passage("a", 0.9, 0.02), passage("b", 0.02, 0.9));
    let found = judged(&[supports.clone(), contradicts.clone()], &[]);
    assert_eq!((found.verdict, found.decisive, found.tier), (Verdict::Contested, false, Tier::Low));
    let same = JudgedPassage { independent_group: supports.independent_group.clone(), ..contradicts };
    assert_ne!(judged(&[supports.clone(), same], &[]).verdict, Verdict::Contested, "one of the two readings is wrong");
    let two = [("a", 0.9), ("b", 0.9), ("c", 0.1), ("d", 0.1)].map(|(id, entail)| passage(id, entail, 0.95 - entail));
    assert_eq!(judged(&two, &[]).verdict, Verdict::Contested, "two and two, which the table alone would refute");
    for against in [0.55, 0.9] {
        let two = [supports.clone(), passage("c", 0.9, 0.0), passage("d", 0.0, against)];
        assert_ne!(judged(&two, &[]).verdict, Verdict::Refuted, "as much support: {against}");
    }
}

#[test]
fn a_number_that_disagrees_refutes_and_is_replaced() {
    let check =
        NumberCheck { num_ok: Some(false), newer_total: false, mismatch: Some(("50".to_owned(), "70".to_owned())) };
    let p = numbers::apply(StanceProbabilities { entail: 0.9, contradict: 0.05, neutral: 0.05 }, &check);
    assert_eq!((p.entail, p.contradict), (0.3, 0.7));
    let source = JudgedPassage {
        num_ok: check.num_ok,
        passage: "The bridge is 70 metres long.".into(),
        ..passage("a", p.entail, p.contradict)
    };
    let found = judged(std::slice::from_ref(&source), &[]);
    assert_eq!((found.verdict, found.tier), (Verdict::Refuted, Tier::Low));
    assert!(found.score.is_some_and(|score| score <= 30));
    let claim = Subject { text: "The bridge is 50 metres long.", language: Some("en"), reference: None };
    let (sources, checks, scoring) = ([source], [check], Scoring::default());
    let all =
        CorrectionInput { assessment: &found, passages: &sources, checks: &checks, reviews: &[], scoring: &scoring };
    let borne_out = vec![BorneOut { evidence_id: "ev_a".into(), entail: 0.9 }];
    let asked = ProposalSupport { text: propose(&claim, &all).unwrap().text, borne_out };
    let correction = correct(&claim, &all, Some(&asked)).unwrap();
    assert_eq!(
        (correction.kind, correction.corrected.as_str()),
        (CorrectionType::Replace, "The bridge is 70 metres long.")
    );
}

#[test]
fn support_of_last_year_and_contradiction_of_today_is_outdated() {
    let dated =
        |id, entail, contradict, at| JudgedPassage { published_at: Some(at), ..passage(id, entail, contradict) };
    let last_year = now() - TimeDelta::days(365);
    let passages = [dated("old", 0.92, 0.02, last_year), dated("new", 0.02, 0.93, now())];
    let dated_claim = ClaimContext { claim_date: Some(last_year), ..context() };
    let found = assess(&dated_claim, &passages, &[]);
    assert_eq!((found.verdict, found.tier), (Verdict::Outdated, Tier::Low));
    assert_eq!(assess(&context(), &passages, &[]).verdict, Verdict::Outdated, "a year apart, without a claim date");
    let claim_of_today = ClaimContext { claim_date: Some(now()), ..context() };
    assert_ne!(assess(&claim_of_today, &passages, &[]).verdict, Verdict::Outdated);
    let still_supported = [dated("old", 0.92, 0.02, now() - TimeDelta::days(60)), passages[1].clone()];
    assert_ne!(
        assess(&dated_claim, &still_supported, &[]).verdict,
        Verdict::Outdated,
        "it was said after the claim too"
    );
    let undated = [passage("old", 0.92, 0.02), passages[1].clone()];
    assert_ne!(assess(&dated_claim, &undated, &[]).verdict, Verdict::Outdated);
    let same_week = [dated("old", 0.92, 0.02, now() - TimeDelta::days(3)), passages[1].clone()];
    assert_ne!(assess(&context(), &same_week, &[]).verdict, Verdict::Outdated);
}

#[test]
fn a_fact_check_of_the_same_claim_refutes_alone() {
    let at = |similarity| judged(&[], &[review("snopes", Relation::Same, RatingClass::False, similarity)]);
    let found = at(0.9);
    assert_eq!((found.verdict, found.decisive, found.tier), (Verdict::Refuted, true, Tier::Low));
    assert!(found.by_fact_check);
    assert!((found.confidence - 0.855).abs() < 1e-9);
    assert_eq!(found.score, None, "nothing is above the floor");
    let further = at(0.89);
    assert_eq!((further.verdict, further.decisive), (Verdict::Refuted, false));
}

#[test]
fn fact_check_refutes_when_viral_copies_support_the_claim() {
    let found = judged(&copies_of_one_wire(4, 0.9), &[review("snopes", Relation::Same, RatingClass::False, 0.95)]);
    assert_eq!((found.verdict, found.tier), (Verdict::Refuted, Tier::Low));
    assert!(found.notes.contains(&Note::ConflictingSources));
    assert!(found.score.is_some_and(|score| score <= 30));
    let one = judged(&copies_of_one_wire(1, 0.9), &[review("snopes", Relation::Same, RatingClass::False, 0.95)]);
    assert!((found.confidence - one.confidence).abs() < 1e-9, "copies weigh as much as one");
}

#[test]
fn a_false_negation_supports() {
    let found = judged(&[], &[review("snopes", Relation::Opposite, RatingClass::False, 0.95)]);
    assert_eq!((found.verdict, found.tier, found.by_fact_check), (Verdict::Supported, Tier::Medium, true));
    let found = judged(&[], &[review("snopes", Relation::Related, RatingClass::False, 0.95)]);
    assert_eq!(found.verdict, Verdict::NotEnoughEvidence, "related decides nothing");
}

#[test]
fn misleading_rating_decides_when_passages_support_the_claim() {
    let found = judged(
        &[passage("a", 0.9, 0.02), passage("b", 0.9, 0.02)],
        &[review("afp", Relation::Same, RatingClass::Misleading, 0.95)],
    );
    assert_eq!(found.verdict, Verdict::Misleading);
}

#[test]
fn an_unknown_blog_refutes_and_decides_nothing() {
    let blog = JudgedPassage {
        credibility: 0.5,
        source_type: SourceType::Blog,
        quality: 0.9,
        relevance: 0.95,
        ..passage("blog", 0.1, 0.75)
    };
    let found = judged(&[blog], &[]);
    assert_eq!((found.verdict, found.decisive, found.tier), (Verdict::Refuted, false, Tier::Low));
    let eager = ClaimContext { confidence_threshold: 0.0, ..context() };
    let blog = JudgedPassage { credibility: 0.5, ..passage("blog", 0.1, 0.75) };
    assert!(!assess(&eager, &[blog], &[]).decisive, "one voice of little credit, however sure");
}

#[test]
fn nothing_found_while_providers_are_open_is_degraded() {
    let degraded = ClaimContext { degraded: true, ..context() };
    let off_topic = JudgedPassage { relevance: 0.1, ..passage("a", 0.9, 0.0) };
    for passages in [vec![], vec![off_topic]] {
        let found = assess(&degraded, &passages, &[]);
        assert_eq!((found.verdict, found.tier, found.score), (Verdict::NotEnoughEvidence, Tier::Low, None));
        assert_eq!(found.notes, [Note::Degraded]);
    }
    let silent = judged(&[passage("a", 0.1, 0.1)], &[]);
    assert_eq!((silent.verdict, silent.notes.contains(&Note::OnlyRelated)), (Verdict::NotEnoughEvidence, true));
    let asked = assess(&context(), &[], &[]);
    assert_eq!(asked.notes, [Note::NoCorroboration, Note::NoSources]);
}

#[test]
fn a_plain_denial_does_not_support_by_agreement() {
    let pairs = [
        ("Vaccines cause autism.", "Vaccines don't cause autism."),
        ("Vaccines do not cause autism.", "Vaccines cause autism."),
        ("vaccines cause autism", "There is no evidence that vaccines cause autism."),
        ("Вакцины вызывают аутизм.", "Вакцины не вызывают аутизм."),
        ("Вакцини спричиняють аутизм.", "Вакцини не спричиняють аутизму."),
    ];
    let embedder = corroborate_language::hashed::HashedEmbedder::default();
    for (claim, denial) in pairs {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]).with_embedding(embedder.embed_one(text));
        let p = agreement_stance(&profile(claim), &profile(denial), 0.65);
        assert!(p.entail < 0.6, "{claim} / {denial}: {p:?}");
        assert!(
            agreement_stance(&profile(claim), &profile(claim), 0.65).entail >= 0.6,
            "a claim supports itself: {claim}"
        );
    }
}

#[test]
fn support_that_holds_elsewhere_is_misleading() {
    let elsewhere = |id| JudgedPassage { out_of_context: true, ..passage(id, 0.9, 0.02) };
    assert_eq!(judged(&[elsewhere("a"), elsewhere("b")], &[]).verdict, Verdict::Misleading);
    let mixed = judged(&[elsewhere("a"), passage("b", 0.9, 0.02)], &[]);
    assert_eq!(mixed.tier, Tier::Medium);
    assert_eq!(mixed.notes, [Note::SingleSource]);
    let alone = judged(&[passage("b", 0.9, 0.02)], &[]);
    assert_eq!((mixed.verdict, mixed.confidence), (alone.verdict, alone.confidence), "as sure as what fits the time");
    let enough = judged(&[elsewhere("a"), passage("b", 0.9, 0.02), passage("c", 0.9, 0.02)], &[]);
    assert_eq!(enough.verdict, Verdict::Supported);
}

#[test]
fn a_newer_larger_total_makes_a_claim_outdated_and_never_decisively() {
    let check = NumberCheck { num_ok: Some(false), newer_total: true, mismatch: None };
    let p = numbers::apply(StanceProbabilities { entail: 0.9, contradict: 0.05, neutral: 0.05 }, &check);
    let total = JudgedPassage { num_ok: Some(false), ..passage("a", p.entail, p.contradict) };
    let found = judged(std::slice::from_ref(&total), &[]);
    assert_eq!((found.verdict, found.decisive), (Verdict::Outdated, false));
    let with_support = judged(&[total.clone(), passage("b", 0.9, 0.02)], &[]);
    assert_eq!(with_support.verdict, Verdict::Outdated);
    let refuting = judged(&[total, passage("c", 0.02, 0.9)], &[]);
    assert_eq!(refuting.verdict, Verdict::Refuted);
}

#[test]
fn opinions_are_not_verifiable_whatever_is_found() {
    for kind in [ClaimKind::Opinion, ClaimKind::Ambiguous] {
        let found = assess(
            &ClaimContext { kind, ..context() },
            &[passage("a", 0.9, 0.0), passage("b", 0.9, 0.0)],
            &[review("snopes", Relation::Same, RatingClass::False, 1.0)],
        );
        assert_eq!((found.verdict, found.score, found.decisive), (Verdict::NotVerifiable, None, false));
    }
    let mixed = ClaimContext { kind: ClaimKind::Mixed, ..context() };
    assert_eq!(assess(&mixed, &[passage("a", 0.9, 0.0), passage("b", 0.9, 0.0)], &[]).verdict, Verdict::Supported);
}

#[test]
fn social_posts_are_context_and_never_agreement() {
    let post = |id, e, c| JudgedPassage { source_type: SourceType::Social, ..passage(id, e, c) };
    let found = judged(&[post("a", 0.9, 0.0), post("b", 0.9, 0.0)], &[]);
    assert_eq!((found.verdict, found.tier, found.score), (Verdict::NotEnoughEvidence, Tier::Low, None));
    assert!(found.notes.contains(&Note::SocialOnly));
    assert_eq!(judged(&[post("a", 0.0, 0.95)], &[]).verdict, Verdict::NotEnoughEvidence);
    assert_eq!(judged(&[post("a", 0.9, 0.0), passage("b", 0.9, 0.0)], &[]).tier, Tier::Medium);
}

#[test]
fn a_degraded_item_is_never_high() {
    let degraded = ClaimContext { degraded: true, ..context() };
    let found = assess(&degraded, &[passage("a", 0.9, 0.0), passage("b", 0.9, 0.0)], &[]);
    assert_eq!((found.verdict, found.tier), (Verdict::Supported, Tier::Medium));
    assert_eq!(found.notes, [Note::Degraded]);
}

#[test]
fn a_low_threshold_does_not_make_a_balance_decisive() {
    let eager = ClaimContext { confidence_threshold: 0.1, ..context() };
    let weighty = JudgedPassage { quality: 1.0, relevance: 1.0, ..passage("a", 0.65, 0.0) };
    let refuting = JudgedPassage { quality: 0.9, relevance: 1.0, ..passage("b", 0.0, 0.8) };
    let found = assess(&eager, &[weighty, refuting], &[]);
    assert!(!found.decisive, "{} {}", found.verdict, found.confidence);
}

/// Curves with 0.9 for every score and a reduced confidence.
fn fitted() -> Calibration {
    let sober = Logistic { slope: 2.0, offset: -2.0 };
    Calibration {
        score: Logistic { slope: 0.0, offset: 9.0f64.ln() },
        supported: Some(sober),
        refuted: Some(sober),
        contested: Some(sober),
    }
}

#[test]
fn fitted_curves_stand_in_for_the_sigmoid_and_the_confidence_of_passages() {
    let calibrated =
        ClaimContext { scoring: Scoring { calibration: Some(fitted()), ..Scoring::default() }, ..context() };
    let supporting = [passage("a", 0.9, 0.1), passage("b", 0.9, 0.05)];
    let found = assess(&calibrated, &supporting, &[]);
    assert_eq!((found.verdict, found.score), (Verdict::Supported, Some(69)), "a lean");
    let plain = ClaimContext { confidence_threshold: judged(&supporting, &[]).confidence, ..context() };
    assert!(assess(&plain, &supporting, &[]).decisive, "sure enough by the posterior");
    let sober = ClaimContext { confidence_threshold: plain.confidence_threshold, ..calibrated.clone() };
    assert!(found.confidence < plain.confidence_threshold, "{}", found.confidence);
    assert!(!assess(&sober, &supporting, &[]).decisive, "what is decisive goes by the calibrated confidence");
    let refuted = assess(&calibrated, &[passage("c", 0.1, 0.75)], &[]);
    assert_eq!((refuted.verdict, refuted.score), (Verdict::Refuted, Some(30)), "the caps stand");
    let review = [review("snopes", Relation::Same, RatingClass::False, 0.9)];
    let (by_review, uncalibrated) = (assess(&calibrated, &[], &review), judged(&[], &review));
    assert_eq!(by_review.confidence.to_bits(), uncalibrated.confidence.to_bits(), "nothing was measured of reviews");
    assert_eq!(assess(&calibrated, &[], &[]).confidence.to_bits(), 0.0f64.to_bits());
}

/// Properties need all cases among the draws.
#[test]
fn every_verdict_and_tier_and_many_ties_and_copies_are_drawn() {
    use std::collections::BTreeMap;

    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    const SAMPLE_COUNT: usize = 2_000;
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut note = |what: &str, holds: bool| *seen.entry(what.to_owned()).or_default() += usize::from(holds);
    for _ in 0..SAMPLE_COUNT {
        let passages = any_passages().new_tree(&mut runner).unwrap().current();
        let found = judged(&passages, &[]);
        for verdict in Verdict::ALL.iter().filter(|verdict| **verdict != Verdict::NotVerifiable) {
            note(verdict.as_str(), found.verdict == *verdict);
        }
        for tier in Tier::ALL {
            note(tier.as_str(), found.tier == *tier);
        }
        note("decisive", found.decisive);
        let of =
            |stance| passages.iter().filter(move |p| p.relevance >= 0.3 && !p.is_context() && p.stance() == stance);
        note("both sides", of(Stance::Supports).next().is_some() && of(Stance::Contradicts).next().is_some());
        let groups = |stance| of(stance).map(|p| &p.independent_group).collect::<std::collections::BTreeSet<_>>().len();
        note("copies that support", of(Stance::Supports).count() > groups(Stance::Supports).max(1));
        let tied = |a: &JudgedPassage, b: &JudgedPassage| a.rank == b.rank && a.evidence_id != b.evidence_id;
        note("tied ranks", passages.iter().enumerate().any(|(n, a)| passages[..n].iter().any(|b| tied(a, b))));
        let equal = |a: &JudgedPassage, b: &JudgedPassage| a.entail.to_bits() == b.entail.to_bits() && a.entail > 0.5;
        note("equal scores", passages.iter().enumerate().any(|(n, a)| passages[..n].iter().any(|b| equal(a, b))));
    }
    println!("drawn: {seen:?}");
    for (what, count) in &seen {
        assert!(*count >= SAMPLE_COUNT / 200, "{what}: {count} of {SAMPLE_COUNT}");
    }
}

/// The side of a decisive verdict.
fn side(verdict: Verdict) -> Stance {
    if matches!(verdict, Verdict::Supported | Verdict::Misleading) { Stance::Supports } else { Stance::Contradicts }
}

#[test]
fn reprints_make_no_news_of_an_old_story() {
    let old = |id: &str| JudgedPassage { out_of_context: true, ..passage(id, 0.9, 0.0) };
    let reprint = |id: &str, of: &str| JudgedPassage {
        independent_group: passage(of, 0.9, 0.0).independent_group,
        ..passage(id, 0.9, 0.0)
    };
    assert_eq!(judged(&[old("a"), old("b")], &[]).verdict, Verdict::Misleading);
    let found = judged(&[old("a"), old("b"), reprint("c", "a"), reprint("d", "b")], &[]);
    assert_eq!((found.verdict, found.tier), (Verdict::Misleading, Tier::Medium), "copies of both, dated anew");
}

#[test]
fn a_total_that_later_support_does_not_reach_is_not_outdated() {
    let day = |day: u32| Some(chrono::NaiveDate::from_ymd_opt(2026, 11, day)?.and_hms_opt(12, 0, 0)?.and_utc());
    let total = JudgedPassage { published_at: day(3), num_ok: Some(false), ..passage("total", 0.1, 0.65) };
    let supports = |id: &str, on: u32| JudgedPassage { published_at: day(on), ..passage(id, 0.9, 0.0) };
    assert_eq!(judged(&[total.clone(), supports("a", 1), supports("b", 2)], &[]).verdict, Verdict::Outdated);
    assert_ne!(judged(&[total, supports("a", 10), supports("b", 12)], &[]).verdict, Verdict::Outdated);
}

proptest! {
    #[test]
    fn nothing_is_decisive_without_an_on_topic_passage_or_a_matched_review(
        passages in any_passages(), reviews in any_reviews(), threshold in 0.0..=1.0f64, kind in 0..ClaimKind::ALL.len(), degraded: bool,
    ) {
        let context = ClaimContext { kind: ClaimKind::ALL[kind], confidence_threshold: threshold, degraded, ..context() };
        let found = assess(&context, &passages, &reviews);
        if found.verdict.needs_evidence() {
            let matched = reviews.iter().any(|r| matches!(r.relation, Relation::Same | Relation::Opposite));
            let any = |test: &dyn Fn(&JudgedPassage) -> bool| {
                passages.iter().any(|p| p.relevance >= 0.3 && !p.is_context() && test(p))
            };
            let leans = |stance| match stance {
                Stance::Supports => any(&|p| p.entail > p.contradict),
                _ => any(&|p| p.contradict > p.entail),
            };
            let behind = match found.verdict {
                Verdict::Contested => leans(Stance::Supports) && leans(Stance::Contradicts),
                verdict if found.decisive => any(&|p| p.stance() == side(verdict)),
                verdict => leans(side(verdict)),
            };
            prop_assert!(if found.by_fact_check { matched } else { behind }, "{found:?}");
        }
        if found.decisive {
            prop_assert!(found.verdict.needs_evidence() && found.verdict != Verdict::Contested);
            prop_assert!(found.confidence >= threshold);
        }
    }

    #[test]
    fn copies_of_a_source_change_neither_verdict_nor_tier(
        passages in any_passages(), reviews in any_reviews(), at in any::<prop::sample::Index>(),
        copies in prop::collection::vec((1..9u32, 0.0..=1.0f64, 0.0..=1.0f64), 1..6), eager: bool,
    ) {
        prop_assume!(!passages.is_empty());
        let judge = |passages: &[JudgedPassage]| {
            assess(&ClaimContext { confidence_threshold: if eager { 0.1 } else { 0.85 }, ..context() }, passages, &reviews)
        };
        let before = judge(&passages);
        let copied = &passages[at.index(passages.len())];
        let mut more = passages.clone();
        for (number, (rank, credibility, quality)) in copies.into_iter().enumerate() {
            more.push(JudgedPassage {
                evidence_id: format!("{}_copy{number}", copied.evidence_id),
                url: format!("{}?copy{number}", copied.url),
                rank,
                // A more credible copy would be another source.
                credibility: copied.credibility.min(credibility),
                quality: copied.quality.min(quality),
                ..copied.clone()
            });
        }
        let after = judge(&more);
        // `Tier` is declared from high to low.
        prop_assert!(after.tier >= before.tier, "{:?} became {:?}", before.tier, after.tier);
        prop_assert_eq!(after.verdict, before.verdict);
        prop_assert_eq!(after.decisive, before.decisive);
        prop_assert_eq!(after.features.agree_dom, before.features.agree_dom);
        prop_assert!((after.confidence - before.confidence).abs() < 1e-9);
    }

    #[test]
    fn the_order_of_evidence_changes_nothing(
        (passages, turned) in any_passages().prop_flat_map(|passages| (Just(passages.clone()), Just(passages).prop_shuffle())),
        reviews in any_reviews(),
    ) {
        let before = judged(&passages, &reviews);
        let mut reviews_turned = reviews.clone();
        reviews_turned.reverse();
        let after = judged(&turned, &reviews_turned);
        let cited = |found: &Assessment, of: &[JudgedPassage]| -> Vec<JudgedPassage> {
            found.citations.iter().map(|index| of[*index].clone()).collect()
        };
        let same_citations = cited(&before, &passages) == cited(&after, &turned);
        prop_assert!(same_citations);
        let rounded = |found: Assessment| {
            let f = found.features;
            let figures = [found.confidence, found.agreement, f.e_max, f.e_mean3, f.c_max, f.rel_avg, f.rec_max];
            let figures = figures.map(|figure| (figure * 1e9).round() as i64);
            (found.verdict, found.decisive, found.score, found.tier, found.contradiction, found.notes, figures, f.agree_dom, f.num_ok)
        };
        prop_assert_eq!(rounded(before), rounded(after));
    }

    #[test]
    fn a_calibration_changes_figures_and_neither_verdict_nor_tier(passages in any_passages(), reviews in any_reviews()) {
        let before = judged(&passages, &reviews);
        let scoring = Scoring { calibration: Some(fitted()), ..Scoring::default() };
        let after = assess(&ClaimContext { scoring, ..context() }, &passages, &reviews);
        prop_assert_eq!((after.verdict, after.tier, &after.notes), (before.verdict, before.tier, &before.notes));
        prop_assert_eq!(after.confidence > 0.0, before.confidence > 0.0);
        prop_assert!((0.0..=1.0).contains(&after.confidence) && after.score.is_some() == before.score.is_some());
        prop_assert!(!after.decisive || before.decisive, "the curves are soberer");
    }

    #[test]
    fn figures_stay_within_their_bounds(passages in any_passages(), reviews in any_reviews()) {
        let found = judged(&passages, &reviews);
        prop_assert!((0.0..=1.0).contains(&found.confidence));
        prop_assert!((0.0..=1.0).contains(&found.agreement));
        prop_assert!(found.score.is_none_or(|score| score <= 100));
        prop_assert!(found.tier != Tier::High || (found.verdict == Verdict::Supported && found.features.agree_dom >= 2));
        prop_assert!(found.tier == Tier::Low || found.features.c_max < 0.4);
        prop_assert!(found.tier != Tier::Low || !found.notes.is_empty(), "low says why: {:?}", found.verdict);
        let limits = VerdictLimits { lean: 0.0, ..VerdictLimits::default() };
        let eager = ClaimContext { scoring: Scoring { limits, ..Scoring::default() }, ..context() };
        let found = assess(&eager, &passages, &reviews);
        prop_assert!(found.tier != Tier::High || found.features.agree_dom >= 2, "one source is a report");
    }
}
