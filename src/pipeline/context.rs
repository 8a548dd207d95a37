//! Assembles the result: the main claim's figures, and lines for digests and prompts.
//! It calls no provider and no model; the caller sets explanation and summary.
//! To add a digest line, extend `lines`.

use super::decide::DecidedClaim;
use super::fact_check::Reviews;
use super::normalise::NormalisedItem;
use super::rounding::round;
use super::run_context::RunContext;
use crate::domain::result::{ClaimResult, Context, EvidenceRow, FactCheck, ItemResult};
use crate::domain::verdict::{Note, Relation, Stance, Status, Tier};
use crate::judging::labels::ReaderLanguage;
use crate::judging::summaries::counted;

const MAX_CHANNELS_SHOWN: usize = 3;

/// Bullets each of evidence and background.
const MAX_BULLETS: usize = 2;

/// Maximum length in characters.
const BULLET_CHARS: usize = 280;

pub(super) fn assemble(
    run: RunContext<'_>,
    normal: &NormalisedItem,
    decided: &[DecidedClaim],
    reviews: &Reviews,
    also_reported_by: Vec<String>,
) -> ItemResult {
    let RunContext { services, request, journal, .. } = run;
    let degraded = journal.degraded();
    let claims: Vec<ClaimResult> = decided.iter().map(|one| one.result.clone()).collect();
    let fact_checks = fact_checks(&claims, reviews);
    let (trace, sources_checked, cost) = journal.finish();
    let mut result = ItemResult {
        schema: 1,
        item_id: request.item.item_id.clone(),
        message_id: request.message_id.clone(),
        enriched_at: journal.evaluated_at,
        status: if degraded.is_empty() { Status::Complete } else { Status::Degraded },
        degraded: degraded.iter().map(ToString::to_string).collect(),
        language: normal.language.clone(),
        tier: None,
        score: None,
        agreement: 0.0,
        contradiction: false,
        notes: Vec::new(),
        also_reported_by,
        // Set by the caller.
        explanation: None,
        overall_summary: None,
        sources_checked,
        main_claim: main_result(decided).map(|claim| claim.claim_id.clone()),
        fact_checks,
        claims,
        context: Context::default(),
        cost,
        trace,
    };
    carry(&mut result, services.settings.claims_per_item);
    result
}

/// Sets everything that follows from the claims. `claims_per_item` is the limit.
pub(super) fn carry(result: &mut ItemResult, claims_per_item: usize) {
    let is_degraded = !result.degraded.is_empty();
    let main = result.main_claim().cloned();
    let mut notes: Vec<Note> = main.as_ref().map_or_else(Vec::new, |claim| claim.notes.clone());
    if result.claims.is_empty() {
        notes.push(Note::NoClaims);
    }
    if is_degraded && !notes.contains(&Note::Degraded) {
        notes.push(Note::Degraded);
    }
    result.notes = notes;
    result.tier = Some(main.as_ref().map_or(Tier::Low, |claim| claim.tier));
    result.score = main.as_ref().and_then(|claim| claim.score);
    result.agreement = main.as_ref().map_or(0.0, |claim| claim.agreement);
    result.contradiction = main.as_ref().is_some_and(|claim| claim.contradiction);
    let is_cut = result.claims.len() >= claims_per_item;
    result.overall_summary = counted(&result.claims, is_cut, ReaderLanguage::of(result.language.as_deref()));
    let ItemResult { claims, fact_checks, also_reported_by, .. } = &*result;
    result.context = lines(claims, main.as_ref(), fact_checks, also_reported_by, is_degraded);
}

/// Returns the most check-worthy checkable claim, the first of equals; otherwise the first claim.
pub(super) fn main_result(decided: &[DecidedClaim]) -> Option<&ClaimResult> {
    let mut best: Option<&DecidedClaim> = None;
    for one in decided {
        let better = best.is_none_or(|known| {
            (one.checkable && !known.checkable)
                || (one.checkable == known.checkable && one.check_worthiness > known.check_worthiness)
        });
        if better {
            best = Some(one);
        }
    }
    best.map(|one| &one.result)
}

fn fact_checks(claims: &[ClaimResult], reviews: &Reviews) -> Vec<FactCheck> {
    let mut found: Vec<FactCheck> = Vec::new();
    for (claim, reviews) in claims.iter().zip(reviews) {
        for matched in reviews {
            found.push(FactCheck {
                claim: matched.review.claim.clone(),
                url: matched.review.url.clone(),
                publisher: matched.review.publisher.clone(),
                rating: matched.review.rating.clone(),
                rating_class: matched.rating_class,
                review_date: matched.review.review_date,
                similarity: round(matched.similarity),
                claim_id: claim.claim_id.clone(),
                relation: matched.relation,
                language: matched.review.language.clone(),
            });
        }
    }
    found
}

fn lines(
    claims: &[ClaimResult],
    main: Option<&ClaimResult>,
    fact_checks: &[FactCheck],
    also_reported_by: &[String],
    is_degraded: bool,
) -> Context {
    let mut context = Context::default();
    if let Some(line) = digest_also_reported(also_reported_by) {
        context.digest_lines.push(line);
    }
    if let Some(related) = fact_checks.iter().find(|check| check.relation != Relation::Other) {
        context.digest_lines.push(format!("Related fact-check: {}", related.url));
    }
    let Some(main) = main else { return context };
    let deciding = deciding(main);
    let DigestEvidence { supporting, contradicting } = digest_evidence(main);
    if let count @ 1.. = sources_of(&deciding, supporting, contradicting) {
        let word = if count == 1 { "source" } else { "sources" };
        let mut line = format!("Evidence: {count} {word}, confidence: {}", tier_word(main.tier));
        match (supporting > 0, contradicting > 0) {
            (true, true) => line.push_str(", conflicting"),
            (false, true) => line.push_str(", contradicting"),
            _ => {}
        }
        if is_degraded {
            line.push_str(", not every provider could be asked");
        }
        context.digest_lines.push(line);
    }
    // Prompts contain only statements of sources.
    context.evidence = deciding.iter().take(MAX_BULLETS).map(|row| bullet(row)).collect();
    context.background = claims
        .iter()
        .flat_map(|claim| &claim.evidence)
        .filter(|row| row.stance == Stance::Neutral && row.relevance >= 0.5)
        .take(MAX_BULLETS)
        .map(bullet)
        .collect();
    context
}

/// Independent sources on each side of a claim, for a digest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DigestEvidence {
    pub supporting: usize,
    pub contradicting: usize,
}

/// Counts sources per side. Fewer passages may be shown than support the claim.
pub fn digest_evidence(claim: &ClaimResult) -> DigestEvidence {
    let deciding = deciding(claim);
    let groups = |stance: Stance| {
        let of_stance = deciding.iter().filter(|row| row.stance == stance);
        of_stance.map(|row| row.independent_group.as_str()).collect::<std::collections::HashSet<&str>>().len()
    };
    let (supporting, contradicting) = (groups(Stance::Supports), groups(Stance::Contradicts));
    let supporting = if supporting > 0 { supporting.max(claim.features.agree_dom as usize) } else { 0 };
    DigestEvidence { supporting, contradicting }
}

/// Posts on social platforms never make a side count.
fn deciding(claim: &ClaimResult) -> Vec<&EvidenceRow> {
    let counts = |row: &&EvidenceRow| match row.stance {
        Stance::Supports => claim.features.agree_dom > 0,
        Stance::Contradicts => claim.contradiction,
        Stance::Neutral => false,
    };
    claim.evidence.iter().filter(counts).collect()
}

/// Counts independent sources; one that takes both sides counts once.
fn sources_of(deciding: &[&EvidenceRow], supporting: usize, contradicting: usize) -> usize {
    if contradicting == 0 {
        return supporting;
    }
    deciding.iter().map(|row| row.independent_group.as_str()).collect::<std::collections::HashSet<&str>>().len()
}

fn bullet(row: &EvidenceRow) -> String {
    let mut text: String = row.passage.chars().take(BULLET_CHARS).collect();
    if text.len() < row.passage.len() {
        text.push('…');
    }
    format!("{text} ({}, {})", row.domain, row.url)
}

fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::High => "High",
        Tier::Medium => "Medium",
        Tier::Low => "Low",
    }
}

/// Returns "Also reported by: @a, @b, @c", at most three.
pub fn digest_also_reported(channels: &[String]) -> Option<String> {
    channels_shown(channels).map(|shown| format!("Also reported by: {shown}"))
}

/// Returns the first three channels; `None` if there are none.
pub fn channels_shown(channels: &[String]) -> Option<String> {
    let shown: Vec<&str> = channels.iter().take(MAX_CHANNELS_SHOWN).map(String::as_str).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_names_three_channels_at_most() {
        let channels: Vec<String> = ["@a", "@b", "@c", "@d"].map(str::to_owned).to_vec();
        assert_eq!(digest_also_reported(&channels).unwrap(), "Also reported by: @a, @b, @c");
        assert_eq!(digest_also_reported(&[]), None);
    }
}
