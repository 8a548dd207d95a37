use chrono::{NaiveDate, Utc};

use super::*;
use crate::domain::verdict::{Origin, SourceType};
use crate::judging::numbers;
use crate::judging::profile::TextProfile;
use crate::judging::scoring::Scoring;
use crate::language::dates;

fn says(passage: &str) -> JudgedPassage {
    JudgedPassage {
        evidence_id: "ev_1".into(),
        url: "https://paper.example/1".into(),
        domain: "paper.example".into(),
        title: None,
        published_at: None,
        language: Some("en".into()),
        passage: passage.to_owned(),
        entail: 0.05,
        contradict: 0.9,
        neutral: 0.05,
        agreement: 0.7,
        relevance: 0.9,
        credibility: 0.85,
        freshness: 0.9,
        specificity: 0.8,
        quality: 0.9,
        num_ok: Some(false),
        independent_group: "domain:paper.example".into(),
        source_type: SourceType::News,
        origin: Origin::Web,
        provider: "test".into(),
        rank: 1,
        out_of_context: false,
    }
}

/// The day a claim was written is told to readers; what is corrected is what the item says.
#[test]
fn the_day_of_writing_is_shown_and_never_corrected() {
    let written = NaiveDate::from_ymd_opt(2026, 11, 17).unwrap().and_hms_opt(12, 0, 0).unwrap().and_local_timezone(Utc);
    let written = written.unwrap();
    let text = "On Tuesday 17 people died in the mine near Oslo.";
    let shown = dates::with_written(text, Some("en"), written);
    assert_ne!(shown, text);
    let passages = [says("On Tuesday 25 people died in the mine near Oslo.")];
    let claim = TextProfile::new(text, Some("en"), Some(written), &[]);
    let checks: Vec<NumberCheck> = passages
        .iter()
        .map(|one| numbers::compare(&claim, &TextProfile::new(&one.passage, Some("en"), Some(written), &[])))
        .collect();
    let context = ClaimContext {
        kind: ClaimKind::Factual,
        claim_date: None,
        confidence_threshold: 0.85,
        degraded: false,
        searched: true,
        scoring: Scoring::default(),
    };
    let told = Told {
        claim_id: "claim",
        text,
        shown: &shown,
        kind: ClaimKind::Factual,
        source: 0,
        judge: "rules".into(),
        only_fact_checks: false,
        language: Some("en"),
        auto_correct: true,
        passages: &passages,
        checks: &checks,
        reviews: &[],
    };
    let result = result(&told, &assess(&context, &passages, &[]), 0.3, 5);
    assert_eq!(result.text, shown);
    let correction = result.correction.unwrap();
    assert_eq!(correction.original, text);
    assert_eq!(correction.corrected, "On Tuesday 25 people died in the mine near Oslo.");
}
