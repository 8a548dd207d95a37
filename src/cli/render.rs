//! A result as people read it. What others wrote is made plain first: a page's title must not move the cursor, colour the
//! terminal or turn the line around.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::output::{Colour, Output};
use crate::domain::result::{ClaimResult, EvidenceRow, FactCheck, ItemResult};
use crate::domain::verdict::{CorrectionType, Stance, Tier, Verdict};
use crate::judging::vocabularies::{ModuleFeatures, Vocabulary, label, word};

/// Other people's text in one line: breaks become spaces, other control characters and those that change the direction of
/// writing are shown by their code.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let is_break = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(|c: char| c.is_control() || is_break(c) || turns(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            c if is_break(c) => safe.push(' '),
            c if c.is_control() || turns(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Everything a person wants to know, some ten lines a claim. The verdict is a label in the item's language, or the word of
/// another vocabulary.
pub(super) fn result(result: &ItemResult, vocabulary: Vocabulary, output: Output) -> String {
    let mut text = String::new();
    let language = result.language.as_deref().unwrap_or("en");
    let _infallible = writeln!(text, "{}", output.paint(&plain(&result.item_id), Colour::Dim));
    for claim in &result.claims {
        let verdict = match vocabulary {
            Vocabulary::Ours => label(claim.verdict, language),
            other => word(other, claim.verdict, claim.decisive),
        };
        text.push_str(&one_claim(claim, verdict, output));
        if matches!(vocabulary, Vocabulary::Module) {
            let _infallible = writeln!(text, "   {}", features(&ModuleFeatures::from(&claim.features)));
        }
    }
    // Of an opinion alone the claim has said it already.
    let said = |text: &String| result.claims.iter().any(|claim| claim.justification == *text);
    if let Some(explanation) = result.explanation.as_ref().filter(|explanation| !said(explanation)) {
        let _infallible = writeln!(text, "   {}", plain(explanation));
    }
    if result.claims.len() > 1
        && let Some(summary) = &result.overall_summary
    {
        let _infallible = writeln!(text, "   {}", plain(summary));
    }
    for check in &result.fact_checks {
        let _infallible = writeln!(text, "   {}", fact_check(check));
    }
    if !result.degraded.is_empty() {
        let causes = result.degraded.join(", ");
        let line =
            format!("degraded: {causes}: not everything could be asked, so \"nothing found\" may mean \"not asked\"");
        let _infallible = writeln!(text, "   {}", output.paint(&plain(&line), Colour::Yellow));
        // Why, in the providers' own words: whoever reads this may be the one who can mend it.
        let mut told: Vec<&String> = result.trace.iter().filter(|line| line.contains("could not be asked:")).collect();
        told.dedup();
        for line in told {
            let _infallible = writeln!(text, "     {}", plain(line));
        }
    }
    for line in &result.context.digest_lines {
        let _infallible = writeln!(text, "   digest: {}", plain(line));
    }
    text
}

/// The features in a line, under the names the module vocabulary gives them.
fn features(of: &ModuleFeatures) -> String {
    let figures = match of.num_ok {
        Some(true) => "agree",
        Some(false) => "disagree",
        None => "none to compare",
    };
    format!(
        "entail_max {:.2} · entail_mean3 {:.2} · contradict_max {:.2} · agree_domain_count {} · relevance_score_avg {:.2} · \
         recency_weight_max {:.2} · figures {figures}",
        of.entail_max,
        of.entail_mean3,
        of.contradict_max,
        of.agree_domain_count,
        of.relevance_score_avg,
        of.recency_weight_max,
    )
}

fn one_claim(claim: &ClaimResult, verdict: &str, output: Output) -> String {
    let mut text = String::new();
    let colour = match claim.verdict {
        Verdict::Supported => Colour::Green,
        Verdict::Refuted => Colour::Red,
        Verdict::Contested | Verdict::Misleading | Verdict::Outdated => Colour::Yellow,
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => Colour::Dim,
    };
    let _infallible = writeln!(text, "{}", output.paint(&plain(&claim.text), Colour::Bold));
    let score = claim.score.map_or_else(|| "no score".to_owned(), |score| format!("score {score}/100"));
    let notes: Vec<&str> = claim.notes.iter().map(|note| note.as_str()).collect();
    // Where nothing could be said, there is nothing to be sure of.
    let confidence = match claim.verdict {
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => String::new(),
        _ => format!(" · confidence {:.2}", claim.confidence),
    };
    let _infallible = writeln!(
        text,
        "   {} · tier {} · {} · {score}{confidence}{}",
        output.paint(verdict, colour),
        tier(claim.tier),
        if claim.decisive { "decisive" } else { "not decisive" },
        if notes.is_empty() { String::new() } else { format!(" · {}", notes.join(", ")) },
    );
    if !claim.justification.is_empty() {
        let _infallible = writeln!(text, "   {}", plain(&claim.justification));
    }
    for row in &claim.evidence {
        text.push_str(&evidence(row, output));
    }
    if let Some(correction) = &claim.correction {
        let verb = match correction.kind {
            CorrectionType::Replace => "correction",
            CorrectionType::Update => "update",
            CorrectionType::Clarify => "clarification",
        };
        let corrected = plain(&correction.corrected);
        let _infallible = writeln!(text, "   {verb} ({}, {:.2}): {corrected}", correction.apply, correction.confidence);
    }
    text
}

fn evidence(row: &EvidenceRow, output: Output) -> String {
    let (word, colour) = match row.stance {
        Stance::Supports => ("supports", Colour::Green),
        Stance::Contradicts => ("contradicts", Colour::Red),
        Stance::Neutral => ("neutral", Colour::Dim),
    };
    let date = row.published_at.map_or_else(|| "no date".to_owned(), |date| date.format("%Y-%m-%d").to_string());
    let passage: String = row.passage.chars().take(240).collect();
    let cut = if passage.len() < row.passage.len() { "…" } else { "" };
    let passage = plain(&passage);
    format!(
        "   [{}] {} · {} · {date} · e {:.2} c {:.2} relevance {:.2}\n       {}\n       \u{201c}{passage}{cut}\u{201d}\n",
        row.n,
        output.paint(word, colour),
        plain(&row.domain),
        row.entail,
        row.contradict,
        row.relevance,
        output.paint(&plain(&row.url), Colour::Dim),
    )
}

fn fact_check(check: &FactCheck) -> String {
    let date = check.review_date.map_or_else(String::new, |date| format!(", {}", date.format("%Y-%m-%d")));
    format!(
        "fact-check ({} claim, similarity {:.2}): {} rates \u{201c}{}\u{201d}: {}{date}\n       {}",
        check.relation,
        check.similarity,
        plain(&check.publisher),
        plain(&check.claim),
        plain(&check.rating),
        plain(&check.url)
    )
}

const fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::High => "high",
        Tier::Medium => "medium",
        Tier::Low => "low",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use chrono::{DateTime, Utc};
    use serde_json::json;

    use super::*;
    use crate::domain::result::Features;

    const PLAIN: Output = Output { json: false, quiet: true, colour: false };

    /// A result without claims.
    pub(in crate::cli) fn result(id: &str) -> ItemResult {
        serde_json::from_value(json!({
            "schema": 1, "item_id": id, "message_id": null, "enriched_at": DateTime::<Utc>::UNIX_EPOCH, "status": "complete",
            "degraded": [], "language": "en", "tier": null, "score": null, "agreement": 0.0, "contradiction": false,
            "notes": [], "also_reported_by": [], "explanation": null, "overall_summary": null, "sources_checked": [],
            "fact_checks": [], "claims": [],
            "context": {"evidence": [], "background": [], "digest_lines": []},
            "cost": {"usd": 0.0, "provider_calls": {}, "llm_calls": 0, "llm_tokens": 0, "millis": 0}, "trace": []
        }))
        .unwrap()
    }

    /// The same with one claim and a passage; `said` stands wherever others' words stand.
    pub(in crate::cli) fn with_claim(verdict: Verdict, said: &str) -> ItemResult {
        let mut result = result(said);
        let claim = json!({
            "claim_id": "c", "text": said, "kind": "factual", "source": 0, "judge": "rules", "verdict": verdict,
            "decisive": true, "confidence": 0.5, "score": null, "tier": "low", "agreement": 0.0, "contradiction": false,
            "notes": [], "features": Features::default(), "justification": said, "citations": [], "correction": {
                "type": "replace", "original": said, "corrected": said, "confidence": 0.5, "note": said,
                "apply": "review", "sources": [said]
            },
            "evidence": [{
                "n": 1, "evidence_id": "e", "url": said, "domain": said, "title": said, "published_at": null,
                "language": null, "passage": said, "stance": "neutral", "entail": 0.0, "contradict": 0.0, "neutral": 1.0,
                "agreement": 0.0, "relevance": 0.0, "quality": 0.0, "credibility": 0.0, "origin": "web", "provider": "x",
                "independent_group": "g", "extraction_failed": false
            }]
        });
        result.claims = vec![serde_json::from_value(claim).unwrap()];
        result
    }

    #[test]
    fn nothing_that_others_wrote_reaches_the_terminal_as_a_command() {
        let evil = "a\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}b\u{2066}c\u{200f}\rd\ne\u{0}";
        let mut one = with_claim(Verdict::Refuted, evil);
        one.explanation = Some(format!("Why: {evil}"));
        one.degraded = vec![evil.to_owned()];
        one.context.digest_lines = vec![evil.to_owned()];
        one.fact_checks = vec![
            serde_json::from_value(json!({
                "claim": evil, "url": evil, "publisher": evil, "rating": evil, "rating_class": "false",
                "review_date": null, "similarity": 0.5, "claim_id": "c", "relation": "same", "language": null
            }))
            .unwrap(),
        ];
        let text = super::result(&one, Vocabulary::Ours, PLAIN);
        let bad: Vec<char> =
            text.chars().filter(|c| (c.is_control() && *c != '\n') || matches!(*c, '\u{200f}'..='\u{2069}')).collect();
        assert!(bad.iter().all(|c| matches!(c, '\u{201c}' | '\u{201d}' | '\u{2026}')), "{bad:?} in {text}");
        assert!(text.contains("a\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{202e}b\\u{2066}c\\u{200f} d e\\u{0}"), "{text}");
        assert!(matches!(plain("Україна \u{201c}ok\u{201d}"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_verdict_is_said_in_the_words_that_were_asked_for() {
        let one = with_claim(Verdict::Refuted, "A b.");
        assert!(super::result(&one, Vocabulary::Loop, PLAIN).contains("   CONTRADICTED · tier low · decisive"));
        assert!(super::result(&one, Vocabulary::Ours, PLAIN).contains("   Refuted · tier low"));
    }

    #[test]
    fn an_explanation_that_a_claim_gives_is_not_repeated() {
        let mut one = with_claim(Verdict::NotVerifiable, "It is an opinion.");
        let without = super::result(&one, Vocabulary::Ours, PLAIN);
        one.explanation = Some("It is an opinion.".into());
        assert_eq!(super::result(&one, Vocabulary::Ours, PLAIN), without);
        one.explanation = Some("It is a question.".into());
        assert!(super::result(&one, Vocabulary::Ours, PLAIN).contains("   It is a question.\n"));
    }

    #[test]
    fn confidence_is_left_out_where_nothing_could_be_said() {
        let shows =
            |verdict| super::result(&with_claim(verdict, "A b."), Vocabulary::Ours, PLAIN).contains("confidence");
        assert!(shows(Verdict::Supported));
        assert!(!shows(Verdict::NotEnoughEvidence) && !shows(Verdict::NotVerifiable));
    }
}
