use chrono::{NaiveDate, Utc};

use super::*;
use crate::domain::result::BorneOut;
use crate::judging::numbers;
use crate::judging::profile::TextProfile;
use crate::judging::samples::{context, passage};
use crate::language::dates;

fn judged_passage(text: &str) -> JudgedPassage {
    JudgedPassage { passage: text.to_owned(), num_ok: Some(false), ..passage("paper", 0.05, 0.9) }
}

#[test]
fn the_day_of_writing_is_shown_and_never_corrected() {
    let written = NaiveDate::from_ymd_opt(2026, 11, 17).unwrap().and_hms_opt(12, 0, 0).unwrap().and_local_timezone(Utc);
    let written = written.unwrap();
    let text = "On Tuesday 17 people died in the mine near Oslo.";
    let shown = dates::with_written(text, Some("en"), written);
    assert_ne!(shown, text);
    let passages = [judged_passage("On Tuesday 25 people died in the mine near Oslo.")];
    let claim = TextProfile::new(text, Some("en"), Some(written), &[]);
    let checks: Vec<NumberCheck> = passages
        .iter()
        .map(|one| numbers::compare(&claim, &TextProfile::new(&one.passage, Some("en"), Some(written), &[])))
        .collect();
    let borne_out = vec![BorneOut { evidence_id: passages[0].evidence_id.clone(), entail: 0.9 }];
    let asked = ProposalSupport { text: "On Tuesday 25 people died in the mine near Oslo.".into(), borne_out };
    let input = DecisionInput {
        claim_id: "claim",
        text,
        shown: &shown,
        kind: ClaimKind::Factual,
        source: 0,
        entities: &[],
        why_checkable: None,
        judge: "rules".into(),
        only_fact_checks: false,
        language: Some("en"),
        auto_correct: true,
        reference: Some(written),
        claim_language: Some("en"),
        asked: Some(&asked),
        words: None,
        passages: &passages,
        checks: &checks,
        rules: &[],
        reviews: &[],
    };
    let result = result(&input, &assess(&context(), &passages, &[]), &Scoring::default(), 5);
    assert_eq!(result.text, shown);
    let correction = result.correction.unwrap();
    assert_eq!(correction.original, text);
    assert_eq!(correction.corrected, "On Tuesday 25 people died in the mine near Oslo.");
}
