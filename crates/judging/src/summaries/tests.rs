use serde_json::json;

use super::*;

fn row(n: u32, domain: &str, passage: &str) -> serde_json::Value {
    json!({"n": n, "evidence_id": format!("ev_{domain}"), "url": format!("https://{domain}/a"), "domain": domain,
        "title": null, "published_at": null, "language": "en", "passage": passage, "stance": "contradicts",
        "llm_stance": null, "entail": 0.0, "contradict": 0.9, "neutral": 0.1, "agreement": 0.5, "relevance": 0.9,
        "quality": 0.8, "credibility": 0.8, "origin": "web", "provider": "test", "independent_group": domain,
        "extraction_failed": false})
}

fn claim(text: &str, verdict: &str, citations: &[u32], evidence: &[serde_json::Value]) -> ClaimResult {
    serde_json::from_value(json!({"claim_id": text, "text": text, "kind": "factual", "source": 0, "judge": "rules",
        "verdict": verdict, "decisive": verdict == "refuted", "confidence": 0.9, "score": null, "tier": "low",
        "agreement": 0.0, "contradiction": false, "notes": [],
        "features": {"e_max": 0.0, "e_mean3": 0.0, "c_max": 0.0, "agree_dom": 0, "rel_avg": 0.0, "rec_max": 0.0,
            "num_ok": null},
        "justification": "", "citations": citations, "evidence": evidence, "correction": null}))
    .unwrap()
}

fn item() -> [ClaimResult; 3] {
    [
        claim(
            "Forty people died in Oslo.",
            "refuted",
            &[2],
            &[row(1, "other.example", "It rained."), row(2, "bbc.co.uk", "Police in Oslo counted 12 dead.")],
        ),
        claim("The mine was closed.", "supported", &[1], &[row(1, "paper.example", "The mine in Oslo was closed.")]),
        claim("Nobody slept.", "not_enough_evidence", &[], &[]),
    ]
}

fn summary_of(first: &str, second: &str) -> Result<String, CitedTextError> {
    worded(&item(), &[Some(first.to_owned()), Some(second.to_owned()), None], Some("en"), false)
}

#[test]
fn summary_has_a_line_with_verdict_and_sources_for_each_claim() {
    let summary = summary_of("Police counted 12 dead [1].", "The mine was closed [2].").unwrap();
    assert_eq!(
        summary,
        "Refuted, conclusive: Police counted 12 dead [1].\n\
         Supported, provisional: The mine was closed [2].\n\
         Not enough evidence: Nobody slept.\n\
         [1] bbc.co.uk, [2] paper.example"
    );
}

#[test]
fn lines_that_do_not_hold_throw_the_summary_away() {
    let mine = "The mine was closed [2].";
    assert_eq!(summary_of("Police counted 13 dead [1].", mine), Err(CitedTextError::Figure));
    assert_eq!(summary_of("The mine was closed [2].", mine), Err(CitedTextError::NoSuchPassage), "of another claim");
    assert_eq!(summary_of("Police counted 12 dead [3].", mine), Err(CitedTextError::NoSuchPassage));
    assert_eq!(summary_of("Supported: police counted 12 dead [1].", mine), Err(CitedTextError::Verdict));
    assert_eq!(summary_of("Полиция насчитала 12 погибших в городе [1].", mine), Err(CitedTextError::Language));
    assert_eq!(worded(&item(), &[None, None, None], Some("en"), false), Err(CitedTextError::Uncited));
}

#[test]
fn the_counted_summary_is_in_the_readers_language() {
    let summary_in = |reader| counted(&item(), false, reader).unwrap();
    assert_eq!(summary_in(ReaderLanguage::English), "Claims: 3. Supported: 1; Refuted: 1; Not enough evidence: 1.");
    assert_eq!(
        summary_in(ReaderLanguage::Ukrainian),
        "Тверджень: 3. Підтверджується: 1; Спростовується: 1; Недостатньо даних: 1."
    );
    assert!(counted(&item(), true, ReaderLanguage::Russian).unwrap().contains("(выбраны самые важные для проверки)"));
    assert_eq!(counted(&item()[..1], false, ReaderLanguage::English), None);
}

#[test]
fn of_many_claims_three_have_lines_and_all_are_counted() {
    let many: Vec<ClaimResult> = item().into_iter().chain(item()).collect();
    let kept = lined(&many);
    assert_eq!(
        kept.iter().map(|one| one.verdict).collect::<Vec<_>>(),
        [Verdict::Refuted, Verdict::Supported, Verdict::Refuted]
    );
    let lines = ["Police counted 12 dead [1].", "The mine was closed [2].", "Police counted 12 dead [1]."];
    let summary = worded(&many, &lines.map(|line| Some(line.to_owned())), Some("en"), false).unwrap();
    assert!(summary.contains("\nClaims: 6. Supported: 2;") && summary.ends_with("\n[1] bbc.co.uk, [2] paper.example"));
}
