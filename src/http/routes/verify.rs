//! `POST /api/verify`: checks one claim and returns its verdict in the requested vocabulary (`docs/vocabularies.md`).
//!
//! With `Accept: text/event-stream`, it streams progress and then the result.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::on;
use futures::StreamExt as _;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Parameter, Route, TimeoutClass};
use crate::domain::ItemResult;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::{ClaimKind, Relation, Verdict};
use crate::http::App;
use crate::http::auth::Access;
use crate::http::checking::{self, CheckEvent, CheckRequest, named, streamed};
use crate::http::extract::{ApiJson, ApiQuery};
use crate::http::problem::Problem;
use crate::judging::vocabularies::{Vocabulary, word};

pub(crate) const ROUTES: &[Route] = &[Route::post("/api/verify", Access::Check, "verify", |method| on(method, verify))
    .about(
        "Check one claim; a known claim is answered from the store. With Accept: text/event-stream the events stage, \
              trace and degraded report progress, and answer or problem ends the stream",
    )
    .parameters(&[Parameter::query(
        "vocabulary",
        "vocabulary of the verdict if the body names none; ours by default",
        vocabularies,
    )])
    .body::<VerifyRequest>()
    .answer::<VerifyAnswer>("What was found")
    .timeout(TimeoutClass::Check)];

fn vocabularies() -> Schema {
    schemars::json_schema!({"type": "string", "enum": names()})
}

fn names() -> Vec<&'static str> {
    Vocabulary::ALL.iter().map(|vocabulary| vocabulary.as_str()).collect()
}

/// A claim to check. Unknown fields are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct VerifyRequest {
    /// The statement to check, up to 5,000 characters.
    #[schemars(length(min = 1, max = 5_000), extend("pattern" = r"\S"))]
    claim: String,
    /// ISO 639-1; detected from the claim if absent.
    #[serde(default)]
    #[schemars(extend("pattern" = "^[A-Za-z]{2,3}([-_].*)?$"))]
    language: Option<String>,
    /// Vocabulary of the verdict: ours (the default), module, loop, pipeline or rag.
    #[serde(default)]
    #[schemars(extend("pattern" = "^(ours|module|loop|pipeline|rag)$"))]
    vocabulary: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct VerifyQuery {
    vocabulary: Option<String>,
}

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyAnswer {
    /// The claim as checked, understandable alone.
    pub claim: String,
    /// A word of the requested vocabulary.
    pub verdict: &'static str,
    /// Whether the evidence is strong enough to act on. If false, a side is provisional. The same in every vocabulary.
    pub decisive: bool,
    /// Probability that the verdict is right, 0–1.
    pub confidence: f64,
    /// The justification, with `[N]` citations.
    pub reasoning: String,
    /// Deciding fact-checks, then passages, best first.
    pub evidence: Vec<VerifyEvidence>,
    /// What each stage did, one line each.
    pub steps: Vec<String>,
    /// `FACTUAL`, `OPINION`, `MIXED` or `AMBIGUOUS`.
    pub claim_type: &'static str,
    /// The claim as it was sent.
    pub original_claim: String,
    /// A UUID, different for each response.
    pub session_id: String,
    /// The whole result, in our vocabulary.
    pub result: ItemResult,
}

/// One piece of evidence.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerifyEvidence {
    pub text: String,
    /// URL of the page or fact-check.
    pub source: String,
    /// Relevance of a passage, or similarity of a reviewed claim, 0–1.
    pub score: f64,
    /// `kb`, `web`, `fact_check`, `corpus`, `api` or `database`.
    pub origin: &'static str,
}

async fn verify(
    State(app): State<App>,
    headers: HeaderMap,
    ApiQuery(query): ApiQuery<VerifyQuery>,
    ApiJson(request): ApiJson<VerifyRequest>,
) -> Result<Response, Problem> {
    let of_query = vocabulary_of(query.vocabulary.as_deref())?;
    let vocabulary = request.vocabulary.as_deref().map_or(Ok(of_query), |name| vocabulary_of(Some(name)))?;
    let asked = CheckRequest::new(&request.claim, request.language.as_deref())?;
    if !accepts_events(&headers) {
        let result = checking::check(&app, asked, None).await?;
        return Ok(Json(answer(result, &request.claim, vocabulary, session_id(rand::random()))).into_response());
    }
    Ok(streamed(checking::events(app, asked).map(move |event| match event {
        CheckEvent::Stage(stage) => named("stage", &json!({ "stage": stage })),
        CheckEvent::Trace(line) => named("trace", &json!({ "line": line })),
        CheckEvent::Degraded(cause) => named("degraded", &json!({ "cause": cause })),
        CheckEvent::Done(result) => {
            named("answer", &answer(*result, &request.claim, vocabulary, session_id(rand::random())))
        }
        CheckEvent::Failed(problem) => named("problem", &problem.shown()),
    })))
}

/// Whether the first accepted type is an event stream.
fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').next().is_some_and(|first| first.trim().starts_with("text/event-stream"))
}

fn vocabulary_of(given: Option<&str>) -> Result<Vocabulary, Problem> {
    let Some(given) = given else { return Ok(Vocabulary::Ours) };
    Vocabulary::parse(given)
        .ok_or_else(|| Problem::invalid(format!("vocabulary is one of {} (got {given:?})", names().join(", "))))
}

/// The response: figures of the main claim, then the whole result.
pub fn answer(result: ItemResult, asked: &str, vocabulary: Vocabulary, session_id: String) -> VerifyAnswer {
    let main = result.main_claim();
    let (verdict, decisive) = main.map_or((Verdict::NotVerifiable, false), |claim| (claim.verdict, claim.decisive));
    let justification = main.map(|claim| claim.justification.clone()).filter(|text| !text.is_empty());
    let reasoning = justification
        .or_else(|| result.explanation.clone())
        .unwrap_or_else(|| "Nothing in the text could be checked.".to_owned());
    VerifyAnswer {
        claim: main.map_or_else(|| asked.trim().to_owned(), |claim| claim.text.clone()),
        verdict: word(vocabulary, verdict, decisive),
        decisive,
        confidence: main.map_or(0.0, |claim| claim.confidence),
        reasoning,
        evidence: main.map_or_else(Vec::new, |claim| evidence(&result, claim)),
        steps: result.trace.clone(),
        claim_type: capitals(main.map_or(ClaimKind::Ambiguous, |claim| claim.kind)),
        original_claim: asked.to_owned(),
        session_id,
        result,
    }
}

/// Fact-checks of the same or opposite claim decide before passages, so they come first.
fn evidence(result: &ItemResult, claim: &ClaimResult) -> Vec<VerifyEvidence> {
    let reviews = result
        .fact_checks
        .iter()
        .filter(|check| check.claim_id == claim.claim_id)
        .filter(|check| matches!(check.relation, Relation::Same | Relation::Opposite))
        .map(|check| VerifyEvidence {
            text: format!("{}: {} ({})", check.publisher, check.rating, check.claim),
            source: check.url.clone(),
            score: check.similarity,
            origin: "fact_check",
        });
    let passages = claim.evidence.iter().map(|row| VerifyEvidence {
        text: row.passage.clone(),
        source: row.url.clone(),
        score: row.relevance,
        origin: row.origin.as_str(),
    });
    reviews.chain(passages).collect()
}

const fn capitals(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Factual => "FACTUAL",
        ClaimKind::Opinion => "OPINION",
        ClaimKind::Mixed => "MIXED",
        ClaimKind::Ambiguous => "AMBIGUOUS",
    }
}

/// A UUID of version 4.
fn session_id(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::check_item;

    fn result() -> ItemResult {
        let claim = |id: &str, score: u32, verdict: &str, decisive: bool| {
            json!({"claim_id": id, "text": format!("claim {id}"), "kind": "factual", "source": 0, "judge": "rules",
                "verdict": verdict, "decisive": decisive, "confidence": 0.8, "score": score, "tier": "low",
                "agreement": 0.5, "contradiction": true, "notes": [], "features": {"e_max": 0.0, "e_mean3": 0.0,
                "c_max": 0.9, "agree_dom": 0, "rel_avg": 0.5, "rec_max": 0.5, "num_ok": null},
                "justification": "They disagree [1].", "citations": [1], "correction": null, "evidence": [{
                "n": 1, "evidence_id": "ev_1", "url": "https://a.example/1", "domain": "a.example", "title": null,
                "published_at": null, "language": "en", "passage": "It is not so.", "stance": "contradicts",
                "entail": 0.0, "contradict": 0.9, "neutral": 0.1, "agreement": 0.5, "relevance": 0.75, "quality": 0.5,
                "credibility": 0.5, "origin": "web", "provider": "gdelt", "independent_group": "g",
                "extraction_failed": false}]})
        };
        let check = |claim_id: &str, relation: &str| {
            json!({"claim": "It is so", "url": "https://check.example/1", "publisher": "Check", "rating": "False",
                "rating_class": "false", "review_date": null, "similarity": 0.95, "claim_id": claim_id,
                "relation": relation, "language": "en"})
        };
        serde_json::from_value(json!({
            "schema": 1, "item_id": "check:1", "message_id": null, "enriched_at": "2026-11-18T07:15:00Z",
            "status": "complete", "degraded": [], "language": "en", "tier": "low", "score": 12, "agreement": 0.5,
            "contradiction": true, "notes": [], "also_reported_by": [], "explanation": null, "overall_summary": null,
            "sources_checked": [], "fact_checks": [check("b", "same"), check("b", "related"), check("a", "same")],
            "claims": [claim("a", 40, "supported", false), claim("b", 12, "refuted", false)],
            "main_claim": "b",
            "context": {"evidence": [], "background": [], "digest_lines": []},
            "cost": {"usd": 0.0, "provider_calls": {}, "llm_calls": 0, "llm_tokens": 0, "millis": 1},
            "trace": ["search: 1 page(s) to read"]
        }))
        .unwrap()
    }

    #[test]
    fn the_answer_has_the_shape_of_the_contract() {
        let answer = answer(result(), " It is so. ", Vocabulary::Rag, "s".into());
        let value = serde_json::to_value(&answer).unwrap();
        let names: Vec<&String> = value.as_object().unwrap().keys().collect();
        for name in [
            "claim",
            "verdict",
            "decisive",
            "confidence",
            "reasoning",
            "evidence",
            "steps",
            "claim_type",
            "original_claim",
            "session_id",
            "result",
        ] {
            assert!(names.iter().any(|known| *known == name), "{name} is missing");
        }
        assert_eq!(names.len(), 11);
        assert_eq!(value["claim"], "claim b", "the claim whose figures are the item's");
        assert_eq!((&value["verdict"], &value["claim_type"]), (&json!("False"), &json!("FACTUAL")));
        assert_eq!(value["original_claim"], " It is so. ");
        assert_eq!(
            value["evidence"],
            json!([
                {"text": "Check: False (It is so)", "source": "https://check.example/1", "score": 0.95, "origin": "fact_check"},
                {"text": "It is not so.", "source": "https://a.example/1", "score": 0.75, "origin": "web"}
            ])
        );
        assert_eq!(value["steps"], json!(["search: 1 page(s) to read"]));
        assert_eq!(value["result"]["claims"][1]["verdict"], "refuted", "the result keeps our words");
    }

    #[test]
    fn vocabulary_is_ours_when_none_is_named() {
        assert_eq!(vocabulary_of(None).unwrap(), Vocabulary::Ours);
    }

    #[test]
    fn answer_carries_decisive_in_every_vocabulary() {
        for vocabulary in Vocabulary::ALL {
            for decisive in [true, false] {
                let mut result = result();
                result.claims[1].decisive = decisive;
                let value = serde_json::to_value(answer(result, "x", *vocabulary, String::new())).unwrap();
                assert_eq!(value["decisive"], json!(decisive), "{}", vocabulary.as_str());
            }
        }
    }

    #[test]
    fn the_vocabulary_chooses_the_word() {
        let verdict_in = |vocabulary| answer(result(), "x", vocabulary, String::new()).verdict;
        assert_eq!(verdict_in(Vocabulary::Loop), "PARTIAL");
        assert_eq!(verdict_in(Vocabulary::Pipeline), "Falso");
        assert_eq!(verdict_in(Vocabulary::Ours), "refuted");
        assert!(format!("{:?}", vocabulary_of(Some("RAG")).unwrap_err()).contains("ours, module, loop, pipeline, rag"));
    }

    #[test]
    fn a_text_without_a_claim_is_answered_with_the_reason() {
        let mut empty = result();
        empty.claims.clear();
        empty.explanation = Some("It is a question.".into());
        let answer = answer(empty, "Why? ", Vocabulary::Rag, String::new());
        assert_eq!((answer.verdict, answer.claim_type, answer.confidence), ("Not Verifiable", "AMBIGUOUS", 0.0));
        assert_eq!((answer.reasoning.as_str(), answer.claim.as_str()), ("It is a question.", "Why?"));
        assert_eq!(answer.evidence, []);
    }

    #[test]
    fn the_same_question_is_the_same_item() {
        assert_eq!(check_item(" A b. ", None), check_item("A b.", None));
        let whole = check_item("The government cut subsidies.", None);
        for broken in ["The govern-\nment cut sub- sidies.", "The govern\u{AD}ment cut sub\u{AD}sidies."] {
            assert_eq!(check_item(broken, None), whole);
        }
        assert_ne!(check_item("A b.", None).item_id, check_item("A c.", None).item_id);
        assert_ne!(check_item("A b.", Some("en")).item_id, check_item("A b.", Some("pt")).item_id);
        assert!(check_item("A b.", None).item_id.starts_with("check:"));
    }

    #[test]
    fn problem_names_cause_when_question_is_bad() {
        let rows = [
            (json!({"claim": "  "}), "empty"),
            (json!({"claim": "x".repeat(5001)}), "/api/items"),
            (json!({"claim": "a\u{0}b"}), "NUL"),
            (json!({"claim": "a", "language": "English"}), "ISO 639-1"),
            (json!({"claim": "a", "language": ""}), "ISO 639-1"),
        ];
        for (body, words) in rows {
            let request: VerifyRequest = serde_json::from_value(body.clone()).unwrap();
            let error = format!("{:?}", CheckRequest::new(&request.claim, request.language.as_deref()).unwrap_err());
            assert!(error.contains(words), "{body}: {error}");
        }
        let request: VerifyRequest =
            serde_json::from_value(json!({"claim": "a", "language": "pt_BR", "session": 1})).unwrap();
        let asked = CheckRequest::new(&request.claim, request.language.as_deref()).unwrap();
        assert_eq!(asked.item().language.as_deref(), Some("pt"));
        assert!(serde_json::from_value::<VerifyRequest>(Value::Null).is_err());
    }

    #[test]
    fn a_session_is_a_uuid() {
        assert_eq!(session_id(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(session_id(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
