//! Turns passages and reviews of each claim into a result: verdict, tier, score, justification and correction.
//! Steps: assess each claim, select the shown passages, judge corrections, build the results.
//! The rules are in `judging`; this module only calls them. `words` checks a language model's justification.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

mod words;

use super::claims::Claim;
use super::correct;
use super::fact_check::Reviews;
use super::judge::{JudgedClaim, JudgedItem};
use super::normalise::NormalisedItem;
use super::rounding::round;
use super::run_context::RunContext;
use super::services::PipelineError;
use super::shown::{self, ShowableCounts};
use crate::domain::evidence::{JudgedPassage, MatchedReview};
use crate::domain::result::{ClaimResult, Decision, EvidenceRow, PassageRules, Posterior};
use crate::domain::verdict::{ClaimKind, Note, Phase, Stance};
use crate::judging::cited_text::renumbered;
use crate::judging::correction::{self, CorrectionInput, ProposalSupport, Subject};
use crate::judging::decision::JudgeKind;
use crate::judging::explanations::{UncheckedPart, explain};
use crate::judging::justification;
use crate::judging::labels::ReaderLanguage;
use crate::judging::numbers::NumberCheck;
use crate::judging::scoring::Scoring;
use crate::judging::verdicts::{Assessment, ClaimContext, assess};

/// The judge if a published review decided.
pub const BY_FACT_CHECK: &str = "fact_check";

#[derive(Debug)]
pub(crate) struct DecidedClaim {
    pub(crate) result: ClaimResult,
    pub(crate) claim_date: Option<DateTime<Utc>>,
    pub(crate) check_worthiness: f64,
    pub(crate) checkable: bool,
}

impl DecidedClaim {
    fn of(claim: &Claim, result: ClaimResult) -> Self {
        let Claim { date, check_worthiness, .. } = *claim;
        Self { result, claim_date: date, check_worthiness, checkable: claim.checkable() }
    }
}

pub(super) async fn decide(
    run: RunContext<'_>,
    normal: &NormalisedItem,
    claims: &[Claim],
    judged: &JudgedItem,
    reviews: &Reviews,
) -> Result<Vec<DecidedClaim>, PipelineError> {
    let RunContext { services, request, phase, journal } = run;
    let empty = JudgedClaim::default();
    let scoring = &services.settings.scoring;
    let context = |claim: &Claim, seen: &JudgedClaim| ClaimContext {
        kind: claim.kind,
        claim_date: claim.date,
        confidence_threshold: request.item.options.confidence_threshold(),
        degraded: !journal.degraded().is_empty(),
        searched: judged.searched,
        judge: JudgeKind::of(&seen.judge()),
        scoring: *scoring,
    };
    let language = normal.language.as_deref();
    let assessed = |(position, claim)| {
        let seen = judged.claims.get(position).unwrap_or(&empty);
        let reviews: &[MatchedReview] = reviews.get(position).map_or(&[], Vec::as_slice);
        let mut assessment = assess(&context(claim, seen), &seen.passages, reviews);
        let words = words::take_over(claim, seen, &mut assessment, language, scoring, journal);
        let passages = words::with_deciding_stances(&assessment, &seen.judge(), scoring, &seen.passages);
        AssessedClaim { claim, seen, reviews, assessment, words, passages }
    };
    let assessed: Vec<AssessedClaim<'_>> = claims.iter().enumerate().map(assessed).collect();
    let floor = scoring.relevance_floor;
    let showable: Vec<ShowableCounts> =
        assessed.iter().map(|one| ShowableCounts::of(&one.passages, &one.assessment, floor)).collect();
    let shares = shown::shares(&showable, services.settings.passages_shown);
    let wanted = request.item.options.auto_correct();
    let wrong: Vec<(Subject<'_>, CorrectionInput<'_>)> =
        assessed.iter().filter(|_| wanted).map(|one| one.to_correct(scoring)).collect();
    let asked = correct::ask(services, &wrong, journal).await?;
    let mut decided = Vec::with_capacity(claims.len());
    for (position, (one, share)) in assessed.iter().zip(shares).enumerate() {
        let AssessedClaim { claim, seen, .. } = *one;
        let input = DecisionInput {
            claim_id: &claim.id,
            text: &claim.text,
            shown: &claim.shown,
            kind: claim.kind,
            source: claim.source,
            entities: &claim.entities,
            why_checkable: claim.why_checkable.as_deref(),
            judge: seen.judge(),
            only_fact_checks: phase == Phase::One,
            language,
            auto_correct: wanted,
            reference: claim.profile.reference,
            claim_language: claim.profile.language.as_deref(),
            asked: asked.get(position).and_then(Option::as_ref),
            words: one.words.as_deref(),
            passages: &seen.passages,
            checks: &seen.checks,
            rules: &seen.rules,
            reviews: one.reviews,
        };
        let result = result(&input, &one.assessment, scoring, share);
        journal.trace(line(&result, &claim.text));
        decided.push(DecidedClaim::of(claim, result));
    }
    Ok(decided)
}

struct AssessedClaim<'a> {
    claim: &'a Claim,
    seen: &'a JudgedClaim,
    reviews: &'a [MatchedReview],
    assessment: Assessment,
    /// Accepted justification of a language model.
    words: Option<String>,
    /// With the stances of the judges that decided.
    passages: Cow<'a, [JudgedPassage]>,
}

impl AssessedClaim<'_> {
    fn to_correct<'a>(&'a self, scoring: &'a Scoring) -> (Subject<'a>, CorrectionInput<'a>) {
        let profile = &self.claim.profile;
        let language = profile.language.as_deref();
        let found = CorrectionInput {
            assessment: &self.assessment,
            passages: &self.passages,
            checks: &self.seen.checks,
            reviews: self.reviews,
            scoring,
        };
        (Subject { text: &self.claim.text, language, reference: profile.reference }, found)
    }
}

fn line(result: &ClaimResult, text: &str) -> String {
    format!(
        "decide: {} ({}, {}) for {:?}",
        result.verdict,
        if result.decisive { "decisive" } else { "not decisive" },
        result.judge,
        text.chars().take(60).collect::<String>(),
    )
}

#[derive(Debug)]
pub(super) struct DecisionInput<'a> {
    pub(super) claim_id: &'a str,
    /// As judged.
    pub(super) text: &'a str,
    /// As shown to readers.
    pub(super) shown: &'a str,
    pub(super) kind: ClaimKind,
    pub(super) source: usize,
    /// From the language model that found the claim.
    pub(super) entities: &'a [String],
    pub(super) why_checkable: Option<&'a str>,
    pub(super) judge: String,
    /// Phase 1: no source was searched.
    pub(super) only_fact_checks: bool,
    /// The item's.
    pub(super) language: Option<&'a str>,
    pub(super) auto_correct: bool,
    /// Relative dates count from here.
    pub(super) reference: Option<DateTime<Utc>>,
    pub(super) claim_language: Option<&'a str>,
    pub(super) asked: Option<&'a ProposalSupport>,
    /// Accepted justification; `[N]` is a position in `passages`, from 1.
    pub(super) words: Option<&'a str>,
    pub(super) passages: &'a [JudgedPassage],
    /// Parallel to `passages`.
    pub(super) checks: &'a [NumberCheck],
    pub(super) rules: &'a [PassageRules],
    pub(super) reviews: &'a [MatchedReview],
}

/// Builds the result. Passages below the relevance floor are shown only if cited.
pub(super) fn result(
    input: &DecisionInput<'_>,
    assessment: &Assessment,
    scoring: &Scoring,
    shown: usize,
) -> ClaimResult {
    let DecisionInput { checks, reviews, .. } = *input;
    let kind = JudgeKind::of(&input.judge);
    let judged = words::with_deciding_stances(assessment, &input.judge, scoring, input.passages);
    let passages = &*judged;
    let floor = scoring.relevance_floor;
    let correct = || {
        let claim = Subject { text: input.text, language: input.claim_language, reference: input.reference };
        let found = CorrectionInput { assessment, passages, checks, reviews, scoring };
        correction::correct(&claim, &found, input.asked)
    };
    let correction = input.auto_correct.then(correct).flatten();
    let mut notes = assessment.notes.clone();
    if input.only_fact_checks {
        notes.push(Note::Phase1Only);
    }
    let on_topic = passages.iter().any(|passage| passage.relevance >= floor);
    if on_topic && !assessment.by_fact_check && !assessment.by_both && kind == JudgeKind::Rules {
        notes.push(Note::WordsOnly);
    }
    let order = shown::order(passages, assessment, floor, shown);
    // Numbers are positions among the shown passages.
    let passages_shown: Vec<JudgedPassage> =
        order.iter().filter_map(|position| passages.get(*position)).cloned().collect();
    let as_shown = Assessment {
        citations: assessment
            .citations
            .iter()
            .filter_map(|cited| order.iter().position(|shown| shown == cited))
            .collect(),
        ..assessment.clone()
    };
    ClaimResult {
        claim_id: input.claim_id.to_owned(),
        text: input.shown.to_owned(),
        kind: input.kind,
        source: input.source,
        entities: input.entities.to_vec(),
        why_checkable: input.why_checkable.map(str::to_owned),
        judge: if assessment.by_fact_check { BY_FACT_CHECK.to_owned() } else { input.judge.clone() },
        verdict: assessment.verdict,
        decisive: assessment.decisive,
        confidence: round(assessment.confidence),
        score: assessment.score,
        tier: assessment.tier,
        agreement: round(assessment.agreement),
        contradiction: assessment.contradiction,
        notes,
        features: assessment.features,
        decision: assessment.decision.as_ref().map(|decision| rounded(decision, input.rules)),
        justification: justification(input, &as_shown, &passages_shown, &order),
        citations: as_shown.citations.iter().filter_map(|cited| u32::try_from(cited + 1).ok()).collect(),
        evidence: order
            .iter()
            .filter_map(|position| Some((input.passages.get(*position)?, passages.get(*position)?)))
            .enumerate()
            .map(|(number, (own, read))| evidence_row(number, own, read.stance()))
            .collect(),
        correction,
    }
}

/// Explains the verdict, or why there is no check. `order` lists the shown passages.
fn justification(
    input: &DecisionInput<'_>,
    assessment: &Assessment,
    passages: &[JudgedPassage],
    order: &[usize],
) -> String {
    if let Some(words) = input.words {
        // Readers of other languages see only the notes.
        let reader = ReaderLanguage::of(input.language);
        let is_read = reader != ReaderLanguage::English || input.language.is_none_or(|code| code.starts_with("en"));
        let caveats = if is_read { justification::caveats(assessment, passages, reader) } else { Vec::new() };
        return std::iter::once(renumbered(words, order)).chain(caveats).collect::<Vec<_>>().join(" ");
    }
    match UncheckedPart::of(input.kind, input.text) {
        Some(unchecked @ (UncheckedPart::Opinion | UncheckedPart::Ambiguous)) => explain(unchecked, input.language),
        _ => justification::justify(assessment, passages, input.reviews, input.language),
    }
}

/// Figures are the passage judge's; `stance` is that of the deciding judges.
fn evidence_row(number: usize, passage: &JudgedPassage, stance: Stance) -> EvidenceRow {
    EvidenceRow {
        n: u32::try_from(number + 1).unwrap_or(u32::MAX),
        evidence_id: passage.evidence_id.clone(),
        url: passage.url.clone(),
        domain: passage.domain.clone(),
        title: passage.title.clone(),
        published_at: passage.published_at,
        language: passage.language.clone(),
        passage: passage.passage.clone(),
        stance,
        judge: passage.judge.clone(),
        llm_stance: passage.adjudication.map(|one| one.stance),
        entail: round(passage.entail),
        contradict: round(passage.contradict),
        neutral: round(passage.neutral),
        agreement: round(passage.agreement),
        relevance: round(passage.relevance),
        quality: round(passage.quality),
        credibility: passage.credibility,
        origin: passage.origin,
        provider: passage.provider.clone(),
        independent_group: passage.independent_group.clone(),
        extraction_failed: false,
    }
}

fn rounded(decision: &Decision, rules: &[PassageRules]) -> Decision {
    let Posterior { supported, refuted, contested, open } = decision.posterior;
    Decision {
        table: decision.table.clone(),
        support: decision.support.map(round),
        against: decision.against.map(round),
        posterior: Posterior {
            supported: round(supported),
            refuted: round(refuted),
            contested: round(contested),
            open: round(open),
        },
        rules: rules.to_vec(),
    }
}

#[cfg(test)]
mod tests;
