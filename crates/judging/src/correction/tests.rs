use proptest::prelude::*;

use super::super::samples::{any_passages, any_reviews, context, passage, review};
use super::super::verdicts::assess;
use super::*;
use corroborate_domain::evidence::StanceProbabilities;
use corroborate_domain::verdict::RatingClass;

fn contradiction(id: &str, text: &str) -> JudgedPassage {
    JudgedPassage { passage: text.to_owned(), quality: 0.9, ..passage(id, 0.1, 0.9) }
}

fn checks(claim: &TextProfile, passages: &[JudgedPassage]) -> Vec<NumberCheck> {
    passages.iter().map(|one| numbers::compare(claim, &profile(one))).collect()
}

/// A judge with this entailment for every text.
fn answered(proposal: &Proposal, passages: &[JudgedPassage], entail: f64) -> ProposalSupport {
    let of = |index: &usize| BorneOut { evidence_id: passages[*index].evidence_id.clone(), entail };
    ProposalSupport { text: proposal.text.clone(), borne_out: proposal.passages.iter().map(of).collect() }
}

fn corrected_where(claim: &str, language: &str, passages: &[JudgedPassage], entail: f64) -> Option<Correction> {
    let claim = Subject { text: claim, language: Some(language), reference: None };
    let checks = checks(&claim.profile_of(claim.text), passages);
    let assessment = assess(&context(), passages, &[]);
    let scoring = Scoring::default();
    let found = CorrectionInput { assessment: &assessment, passages, checks: &checks, reviews: &[], scoring: &scoring };
    let asked = propose(&claim, &found).map(|proposal| answered(&proposal, passages, entail));
    correct(&claim, &found, asked.as_ref())
}

fn corrected(claim: &str, passages: &[JudgedPassage]) -> Option<Correction> {
    corrected_where(claim, "en", passages, 0.95)
}

#[test]
fn the_figure_that_differs_is_swapped_in() {
    let claim = "The Orrin tower is 250 metres tall, and people work there.";
    let contradiction = |id: &str| contradiction(id, "The Orrin tower is 330 metres tall, and people work there.");
    let found = corrected(claim, &[contradiction("paper"), contradiction("other"), contradiction("third")]).unwrap();
    assert_eq!(found.corrected, "The Orrin tower is 330 metres tall, and people work there.");
    assert_eq!((found.kind, found.apply), (CorrectionType::Replace, Apply::Auto));
    assert!(found.confidence > MIN_AUTO_CONFIDENCE && found.confidence <= 0.9, "{}", found.confidence);
    assert_eq!(found.sources.len(), 3);
    assert!(found.borne_out.iter().all(|support| support.entail >= MIN_SUPPORT) && found.borne_out.len() == 3);
    let alone = corrected(claim, &[JudgedPassage { credibility: 0.7, ..contradiction("paper") }]).unwrap();
    assert_eq!((alone.kind, alone.apply), (CorrectionType::Replace, Apply::Review), "one source is a lean");
}

/// The date is of the board's statement; the passages state that nothing was closed.
#[test]
fn a_date_of_another_event_is_not_swapped_in() {
    let (one, other) = (
        "The St Brannock hospital in Pellworth will not close, the county health board said on 10 November 2026. Rumours \
         about a closure are untrue, the board added.",
        "St Brannock hospital in Pellworth stays open: the health board told reporters on 10 November 2026 that it would \
         not be closed.",
    );
    let found = corrected(
        "The St Brannock hospital in Pellworth was closed on 12 November 2026.",
        &[contradiction("one", one), contradiction("other", other)],
    )
    .unwrap();
    assert_eq!((found.kind, found.apply), (CorrectionType::Clarify, Apply::Review));
    assert!(one.contains(&found.corrected) || other.contains(&found.corrected), "{}", found.corrected);
    let passages = [
        contradiction("one", "Завод «Прометей» не закрыт, сообщила пресс-служба 9 ноября."),
        contradiction("other", "Завод «Прометей» не закрыт, заявил директор 9 ноября."),
    ];
    let found = corrected_where("Завод «Прометей» закрыт 5 ноября.", "ru", &passages, 0.95).unwrap();
    assert_eq!((found.kind, found.apply), (CorrectionType::Clarify, Apply::Review));
    assert!(found.corrected.contains("не закрыт"), "{}", found.corrected);
}

#[test]
fn a_text_that_the_judge_leaves_open_is_not_proposed() {
    let claim = "The Orrin tower is 250 metres tall.";
    let text = "The Orrin tower is 330 metres tall.";
    for entail in [0.0, 0.3, 0.69] {
        let found = corrected_where(claim, "en", &[contradiction("paper", text)], entail).unwrap();
        assert_eq!((found.kind, found.apply), (CorrectionType::Clarify, Apply::Review), "{entail}");
        assert_eq!(found.corrected, text, "it is the passage's own sentence");
        assert!(found.borne_out.is_empty());
    }
    // No judge was asked.
    let claim = Subject { text: claim, language: Some("en"), reference: None };
    let passages = [contradiction("paper", text)];
    let checks = checks(&claim.profile_of(claim.text), &passages);
    let assessment = assess(&context(), &passages, &[]);
    let scoring = Scoring::default();
    let found = CorrectionInput {
        assessment: &assessment,
        passages: &passages,
        checks: &checks,
        reviews: &[],
        scoring: &scoring,
    };
    assert!(propose(&claim, &found).is_some());
    assert_eq!(correct(&claim, &found, None).unwrap().kind, CorrectionType::Clarify);
}

#[test]
fn one_source_of_little_credit_is_left_to_a_person() {
    let claim = "The Orrin tower is 250 metres tall.";
    let little =
        |id: &str| JudgedPassage { credibility: 0.6, ..contradiction(id, "The Orrin tower is 330 metres tall.") };
    let alone = corrected(claim, &[little("one")]).unwrap();
    assert_eq!((alone.kind, alone.apply), (CorrectionType::Replace, Apply::Review));
    let two = corrected(claim, &[little("one"), little("other")]).unwrap();
    assert_eq!((two.apply, two.sources.len()), (Apply::Auto, 2));
    let copies = [little("one"), JudgedPassage { independent_group: "one".into(), ..little("copy") }];
    assert_eq!(corrected(claim, &copies).unwrap().apply, Apply::Review, "a copy is no second source");
}

#[test]
fn a_figure_inside_another_is_left_alone() {
    assert_eq!(swap("1250 and 250", "250", "330").unwrap(), "1250 and 330");
    assert_eq!(swap("1250", "250", "330"), None);
    assert_eq!(swap("x", "", "y"), None);
}

#[test]
fn without_a_figure_the_sentence_that_says_how_it_was_is_quoted() {
    let text = "Critics were pleased. The film was never shown in Berlin. Tickets sold out.";
    let found = corrected("The film was shown in Berlin.", &[contradiction("paper", text)]).unwrap();
    assert_eq!(found.corrected, "The film was never shown in Berlin.");
    assert_eq!(found.kind, CorrectionType::Clarify);
}

#[test]
fn what_the_passage_takes_back_or_asks_is_not_quoted() {
    for text in ["The film was shown in Berlin. That is not true.", "Was the film shown in Berlin?"] {
        let found = corrected("The film was shown in Berlin.", &[contradiction("paper", text)]);
        assert!(found.is_none(), "{text}: {found:?}");
    }
    let built = "The Orrin Bridge took seven years to build.";
    let opened = "The Orrin Bridge opened on 4 October 2026 in front of a crowd.";
    assert_eq!(
        corrected(built, &[contradiction("paper", opened)]),
        None,
        "it speaks of the bridge and not of its building"
    );
}

#[test]
fn nothing_that_contradicts_means_nothing_to_correct() {
    assert_eq!(corrected("A claim.", &[passage("a", 0.9, 0.0)]), None);
    assert_eq!(corrected("A claim.", &[]), None);
}

#[test]
fn a_review_alone_offers_its_title_to_a_person() {
    let by_review = |title: &str| {
        let mut checked = review("snopes", Relation::Same, RatingClass::False, 1.0);
        checked.review.title = Some(title.into());
        let reviews = [checked];
        let (assessment, scoring) = (assess(&context(), &[], &reviews), Scoring::default());
        let claim = Subject { text: "The moon is made of cheese.", language: Some("en"), reference: None };
        let found = CorrectionInput {
            assessment: &assessment,
            passages: &[],
            checks: &[],
            reviews: &reviews,
            scoring: &scoring,
        };
        correct(&claim, &found, None)
    };
    let found = by_review("No, the moon is not made of cheese").unwrap();
    assert_eq!(found.corrected, "No, the moon is not made of cheese");
    assert_eq!((found.kind, found.apply), (CorrectionType::Clarify, Apply::Review));
    assert_eq!(by_review("Is the moon made of cheese?"), None, "a question says nothing");
    assert_eq!(by_review("The moon is made of cheese"), None, "it repeats the claim");
}

/// Sentences about one bridge: stated, denied, planned or reported, with various figures.
fn any_sentence() -> impl Strategy<Value = String> {
    let what = prop::sample::select(vec!["is 250 metres long", "is 330 metres long", "cost 40 million euros"]);
    let event = prop::sample::select(vec!["was closed", "will be closed", "was not closed", "may have been closed"]);
    let day = 1..28u32;
    prop_oneof![
        what.clone().prop_map(|what| format!("The Orrin Bridge {what}.")),
        what.prop_map(|what| format!("It is false that the Orrin Bridge {what}.")),
        (event.clone(), day.clone()).prop_map(|(event, day)| format!("The Orrin Bridge {event} on {day} May 2026.")),
        (event, day.clone())
            .prop_map(|(event, day)| format!("The Orrin Bridge {event}, the council said on {day} May 2026.")),
        day.prop_map(|day| format!("Rumours said that the Orrin Bridge was closed on {day} May 2026.")),
        Just("That is not true.".to_owned()),
        Just("Was the Orrin Bridge closed?".to_owned()),
    ]
}

proptest! {
    /// For any judge, a replacement is stated by its passage by rule, and a quotation is in it and not denied by a sentence about it.
    #[test]
    fn no_correction_contradicts_or_is_left_open_by_the_passage_it_names(
        claim in any_sentence(),
        texts in prop::collection::vec(prop::collection::vec(any_sentence(), 1..4), 1..3),
        entail in 0.0..=1.0f64,
    ) {
        let passages: Vec<JudgedPassage> = texts
            .iter()
            .enumerate()
            .map(|(at, sentences)| contradiction(&format!("p{at}"), &sentences.join(" ")))
            .collect();
        if let Some(found) = corrected_where(&claim, "en", &passages, entail) {
            let source = passages.iter().find(|one| Some(&one.url) == found.sources.first()).unwrap();
            let (text, there) = (TextProfile::new(&found.corrected, Some("en"), None, &[]), profile(source));
            prop_assert!(is_stated_in(&text, &there), "{found:?} / {}", source.passage);
            if found.kind == CorrectionType::Clarify {
                prop_assert!(source.passage.contains(&found.corrected) && found.apply == Apply::Review);
            } else {
                let given = StanceProbabilities { entail, contradict: 0.0, neutral: 1.0 - entail };
                let settled = numbers::apply(given, &numbers::compare(&text, &there));
                prop_assert!(settled.entail >= MIN_SUPPORT, "{found:?} / {}", source.passage);
                let by_rule = stance::agreement_stance(&text, &there, 0.0);
                prop_assert!(by_rule.contradict < stance::MIN_SIDE, "{found:?} / {}", source.passage);
            }
        }
    }

    #[test]
    fn a_correction_is_never_surer_than_its_verdict(passages in any_passages(), reviews in any_reviews(), entail in 0.0..=1.0f64) {
        let checks = vec![
            NumberCheck { num_ok: Some(false), newer_total: false, mismatch: Some(("5".into(), "7".into())) };
            passages.len()
        ];
        let (assessment, scoring) = (assess(&context(), &passages, &reviews), Scoring::default());
        let claim = Subject { text: "A claim of 5 things.", language: Some("en"), reference: None };
        let found = CorrectionInput {
            assessment: &assessment,
            passages: &passages,
            checks: &checks,
            reviews: &reviews,
            scoring: &scoring,
        };
        let asked = propose(&claim, &found).map(|proposal| answered(&proposal, &passages, entail));
        if let Some(made) = correct(&claim, &found, asked.as_ref()) {
            prop_assert!(made.confidence <= assessment.confidence + 1e-12);
            prop_assert!(made.apply == Apply::Review || made.confidence > MIN_AUTO_CONFIDENCE && assessment.decisive);
            prop_assert!(!made.sources.is_empty());
            prop_assert!(!matches!(assessment.verdict, Verdict::Supported | Verdict::NotVerifiable));
        }
    }
}

fn worded_where(claim: &str, text: &str, entail: f64) -> Option<Correction> {
    let passages = [
        contradiction("paper", "Police in Oslo said that nobody died when the mine near Oslo flooded on 3 May 2026."),
        contradiction("other", "Nobody died in the flooded mine near Oslo, the operator Norsk Gruve said."),
    ];
    let claim = Subject { text: claim, language: Some("en"), reference: None };
    let checks = checks(&claim.profile_of(claim.text), &passages);
    let assessment = assess(&context(), &passages, &[]);
    let scoring = Scoring::default();
    let found = CorrectionInput {
        assessment: &assessment,
        passages: &passages,
        checks: &checks,
        reviews: &[],
        scoring: &scoring,
    };
    let asked = answered(&worded(&claim, &found, text)?, &passages, entail);
    correct(&claim, &found, Some(&asked)).filter(|correction| !correction.borne_out.is_empty())
}

#[test]
fn a_text_that_a_language_model_worded_waits_for_a_person_and_has_nothing_of_its_own() {
    let claim = "Miners died when the mine near Oslo flooded on 3 May 2026.";
    let right = "Nobody died when the mine near Oslo flooded on 3 May 2026.";
    let found = worded_where(claim, right, 0.95).unwrap();
    assert_eq!((found.corrected.as_str(), found.apply), (right, Apply::Review));
    assert!(found.note.contains("language model") && !found.sources.is_empty());
    assert_eq!(worded_where(claim, right, 0.5), None, "the judge does not find it there");
    for wrong in [
        "Nobody died when the mine near Oslo flooded on 4 May 2026.",
        "Nobody died when the mine near Bergen flooded on 3 May 2026.",
        "Nobody died when the mine near Oslo flooded. It was on 3 May 2026.",
        "Nobody died when the mine near Oslo flooded on 3 May 2026 [1].",
        "В шахте около Осло при наводнении никто не погиб.",
        claim,
    ] {
        assert_eq!(worded_where(claim, wrong, 0.95), None, "{wrong}");
    }
}
