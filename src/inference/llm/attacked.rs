//! Tests that no attack of the corpus leaves its fence or reaches the instruction.
//!
//! Covers every question and every position of untrusted text.

use chrono::NaiveDate;
use serde_json::Value;

use super::retrieval::{StoredPassage, search, sufficiency};
use super::texts::{CitedClaim, correction, explanation, summary};
use super::{Question, adjudication, claims};
use crate::domain::item::ItemSourceKind;
use crate::inference::steps::{ClaimData, ItemData, PassageData, TextData};
use crate::inference::translation::translation_question;

const CORPUS: &str = include_str!("../../../tests/data/injections.jsonl");

fn day() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 26).unwrap()
}

/// Returns all questions with this text at every untrusted position.
fn questions(text: &str) -> Vec<Question> {
    let data = TextData {
        kind: ItemSourceKind::OriginalText,
        text,
        title: Some(text),
        written: day(),
        language: "English",
        most: 5,
    };
    let passage = PassageData {
        text,
        title: Some(text),
        domain: text,
        published: Some(day()),
        is_fact_checker: false,
        credibility: 0.5,
        group: text,
    };
    let claim = ClaimData { text, date: Some(day()), passages: vec![passage] };
    let item = ItemData { today: day(), language: "English", additional_context: Some(text) };
    let cited = [CitedClaim {
        text: text.to_owned(),
        verdict: Some("refuted".to_owned()),
        passages: vec![(1, text.to_owned())],
    }];
    let stored = StoredPassage { text, domain: text, published: None };
    [
        claims::question(&data),
        explanation(text, "opinion", "English"),
        summary(&cited, "English"),
        correction(&cited),
        sufficiency(text, &[stored], day()),
        search(day(), &[(text, Some(day()))]),
        translation_question(text, "uk"),
        adjudication::question(&item, &[claim]).map(|asked| asked.question),
    ]
    .into_iter()
    .map(|question| question.expect("a text with letters is asked about"))
    .collect()
}

#[test]
fn no_attack_leaves_its_fence_in_any_question() {
    let mut attacks = 0;
    for line in CORPUS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        for text in ["claim", "text", "html"].iter().filter_map(|key| row[*key].as_str()) {
            if !text.chars().any(char::is_alphabetic) {
                continue;
            }
            attacks += 1;
            for Question { purpose, system, user, .. } in questions(text) {
                let nonce = system.split("NONCE is ").nth(1).and_then(|rest| rest.split(['.', ' ', '\n']).next());
                let nonce = nonce.unwrap_or_else(|| panic!("{purpose} names its nonce: {system}"));
                let opened = user.matches(&format!("<data {nonce} ")).count();
                let closed = user.matches(&format!("\n</data {nonce}>")).count();
                assert!(opened > 0 && opened == closed, "{purpose}: {user}");
                assert_eq!(user.matches(nonce).count(), 2 * opened, "{purpose}: the nonce stands in no text");
                // Nothing outside the fences holds the attack's beginning.
                let outside: String =
                    user.split(&format!("</data {nonce}>")).filter_map(|part| part.split("<data ").next()).collect();
                let first: String = text.chars().filter(|c| c.is_alphabetic() || *c == ' ').take(24).collect();
                let is_outside = first.trim().len() > 12 && outside.contains(first.trim());
                assert!(!is_outside && !system.contains(first.trim()), "{purpose}: {outside}");
                let is_hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}');
                assert!(!user.chars().any(is_hidden), "{purpose}: {user}");
            }
        }
    }
    assert!(attacks > 90, "{attacks}");
}
