//! A result as people read it.

use std::fmt::Write as _;

use super::output::{Colour, Output};
use crate::domain::result::{ClaimResult, EvidenceRow, FactCheck, ItemResult};
use crate::domain::verdict::{CorrectionType, Stance, Tier, Verdict};
use crate::judging::vocabularies::label;

/// Everything a person wants to know, some ten lines a claim.
pub(super) fn result(result: &ItemResult, output: Output) -> String {
    let mut text = String::new();
    let language = result.language.as_deref().unwrap_or("en");
    let _infallible = writeln!(text, "{}", output.paint(&result.item_id, Colour::Dim));
    for claim in &result.claims {
        text.push_str(&one_claim(claim, language, output));
    }
    if let Some(explanation) = &result.explanation {
        let _infallible = writeln!(text, "   {explanation}");
    }
    if result.claims.len() > 1
        && let Some(summary) = &result.overall_summary
    {
        let _infallible = writeln!(text, "   {summary}");
    }
    for check in &result.fact_checks {
        let _infallible = writeln!(text, "   {}", fact_check(check));
    }
    if !result.degraded.is_empty() {
        let causes = result.degraded.join(", ");
        let line =
            format!("degraded: {causes}: not everything could be asked, so \"nothing found\" may mean \"not asked\"");
        let _infallible = writeln!(text, "   {}", output.paint(&line, Colour::Yellow));
    }
    for line in &result.context.digest_lines {
        let _infallible = writeln!(text, "   digest: {line}");
    }
    text
}

fn one_claim(claim: &ClaimResult, language: &str, output: Output) -> String {
    let mut text = String::new();
    let colour = match claim.verdict {
        Verdict::Supported => Colour::Green,
        Verdict::Refuted => Colour::Red,
        Verdict::Contested | Verdict::Misleading | Verdict::Outdated => Colour::Yellow,
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => Colour::Dim,
    };
    let _infallible = writeln!(text, "{}", output.paint(&claim.text, Colour::Bold));
    let score = claim.score.map_or_else(|| "no score".to_owned(), |score| format!("score {score}/100"));
    let notes: Vec<&str> = claim.notes.iter().map(|note| note.as_str()).collect();
    let _infallible = writeln!(
        text,
        "   {} · {} · tier {} · {score} · confidence {:.2}{}",
        output.paint(label(claim.verdict, language), colour),
        if claim.decisive { "decisive" } else { "not decisive" },
        tier(claim.tier),
        claim.confidence,
        if notes.is_empty() { String::new() } else { format!(" · {}", notes.join(", ")) },
    );
    if !claim.justification.is_empty() {
        let _infallible = writeln!(text, "   {}", claim.justification);
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
        let _infallible =
            writeln!(text, "   {verb} ({}, {:.2}): {}", correction.apply, correction.confidence, correction.corrected);
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
    format!(
        "   [{}] {} · {} · {date} · e {:.2} c {:.2} relevance {:.2}\n       {}\n       \u{201c}{passage}{cut}\u{201d}\n",
        row.n,
        output.paint(word, colour),
        row.domain,
        row.entail,
        row.contradict,
        row.relevance,
        output.paint(&row.url, Colour::Dim),
    )
}

fn fact_check(check: &FactCheck) -> String {
    let date = check.review_date.map_or_else(String::new, |date| format!(", {}", date.format("%Y-%m-%d")));
    format!(
        "fact-check ({} claim, similarity {:.2}): {} rates \u{201c}{}\u{201d}: {}{date}\n       {}",
        check.relation, check.similarity, check.publisher, check.claim, check.rating, check.url
    )
}

const fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::High => "high",
        Tier::Medium => "medium",
        Tier::Low => "low",
    }
}
