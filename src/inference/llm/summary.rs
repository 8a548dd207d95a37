//! Overall summary: a language model writes a line per claim from verdicts and cited passages.
//!
//! The verdict's word is added by rule, and `judging` checks the line against the passages.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::fence::Fence;
use super::{Purpose, Question, prompts};

/// Maximum of a passage and of a claim.
const PASSAGE_CHARS: usize = 1_200;
const CLAIM_CHARS: usize = 600;
/// Answer tokens per claim.
const TOKENS_LINE: u32 = 160;

/// A claim with its verdict and cited passages, numbered as in the summary.
#[derive(Debug, Clone)]
pub struct CheckedClaim<'a> {
    pub text: &'a str,
    /// As stored: `refuted`.
    pub verdict: &'a str,
    pub decisive: bool,
    pub passages: Vec<(usize, &'a str)>,
}

/// Returns the question; `None` if no claim has a passage. `language`: English name.
pub fn question(claims: &[CheckedClaim<'_>], language: &str) -> Option<Question> {
    let prompt = prompts::named("summary")?;
    let texts = claims.iter().flat_map(|claim| {
        let passages = claim.passages.iter().map(|(_, passage)| *passage);
        std::iter::once(claim.text).chain(passages)
    });
    let fence = Fence::around(texts);
    let mut user = String::new();
    for (number, claim) in claims.iter().enumerate() {
        let sure = if claim.decisive { "conclusive" } else { "provisional" };
        let verdict = claim.verdict.replace('_', " ");
        let _infallible = writeln!(user, "Claim {}, verdict: {verdict}, {sure}", number + 1);
        let _infallible = writeln!(user, "{}", fence.data("claim", claim.text, CLAIM_CHARS));
        for (n, passage) in &claim.passages {
            let _infallible = writeln!(user, "[{n}]\n{}", fence.data("passage", passage, PASSAGE_CHARS));
        }
    }
    let line = json!({
        "type": "object", "additionalProperties": false, "required": ["claim", "text"],
        "properties": {"claim": {"type": "integer"}, "text": {"type": "string"}},
    });
    claims.iter().any(|claim| !claim.passages.is_empty()).then(|| Question {
        purpose: Purpose::Summary,
        version: prompt.version,
        system: prompt.text.replace("{nonce}", fence.nonce()).replace("{language}", language),
        user,
        schema: json!({
            "type": "object", "additionalProperties": false, "required": ["lines"],
            "properties": {"lines": {"type": "array", "items": line}},
        }),
        max_tokens: TOKENS_LINE * u32::try_from(claims.len()).unwrap_or(u32::MAX / TOKENS_LINE),
    })
}

/// Returns one line per claim, in order; `None` without any.
pub fn read(answer: &Value, claims: usize) -> Option<Vec<Option<String>>> {
    texts(answer.get("lines")?, claims)
}

/// Reads `[{"claim": N, "text": …}]`. Two texts for a claim cancel each other.
pub(super) fn texts(list: &Value, claims: usize) -> Option<Vec<Option<String>>> {
    let mut found: Vec<Option<String>> = vec![None; claims];
    let mut seen = vec![0_usize; claims];
    for one in list.as_array()? {
        let number = one.get("claim").and_then(|n| n.as_u64().or_else(|| n.as_str()?.trim().parse().ok()));
        let place = number.and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        let text = one.get("text").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let (Some(place), Some(text)) = (place, text) else { continue };
        if let (Some(slot), Some(count)) = (found.get_mut(place), seen.get_mut(place)) {
            *count += 1;
            *slot = (*count == 1).then(|| text.to_owned());
        }
    }
    found.iter().any(Option::is_some).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_the_verdicts_and_every_text_as_data() {
        let claim = |passages| CheckedClaim {
            text: "The dam broke.",
            verdict: "not_enough_evidence",
            decisive: false,
            passages,
        };
        let question = question(&[claim(vec![(3, "The dam held.")])], "English").unwrap();
        assert!(!question.system.contains("dam") && !question.system.contains('{'), "{}", question.system);
        assert!(
            question.user.contains("Claim 1, verdict: not enough evidence, provisional")
                && question.user.contains("[3]\n")
        );
        assert!(super::question(&[claim(Vec::new())], "English").is_none());
    }

    #[test]
    fn lines_find_their_claims_and_two_of_one_are_none() {
        let answer =
            json!({"lines": [{"claim": "2", "text": "b"}, {"claim": 1, "text": "a"}, {"claim": 9, "text": "c"}]});
        assert_eq!(read(&answer, 2), Some(vec![Some("a".to_owned()), Some("b".to_owned())]));
        let twice = json!({"lines": [{"claim": 1, "text": "a"}, {"claim": 1, "text": "b"}, {"claim": 2, "text": "c"}]});
        assert_eq!(read(&twice, 2), Some(vec![None, Some("c".to_owned())]));
        for nothing in [json!({}), json!({"lines": "x"}), json!({"lines": []}), json!({"lines": [{"claim": 1}]})] {
            assert_eq!(read(&nothing, 2), None, "{nothing}");
        }
    }
}
