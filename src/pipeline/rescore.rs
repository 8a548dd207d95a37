//! Re-evaluates stored passages and reviews with current settings and domain lists, from the database only.
//!
//! No model runs. Stances, freshness and rank stay; credibility, quality, verdict and everything derived are computed
//! again. The same settings give the same result.

use chrono::{DateTime, Utc};
use url::Url;

use super::context;
use super::decide::{self, BY_FACT_CHECK, DecisionInput};
use super::events::{Events, ReplyAddress};
use super::judge::is_adjudicator;
use super::rounding::round;
use super::services::Listeners;
use super::shown::{self, ShowableCounts};
use crate::domain::Reason;
use crate::domain::evidence::JudgedPassage;
use crate::domain::result::{ClaimResult, Decision, EvidenceRow, Features, ItemResult, Posterior};
use crate::domain::rules::DomainRules;
use crate::domain::verdict::{Note, Origin, Tier, Verdict};
use crate::inference::rules::RULES;
use crate::judging::correction::ProposalSupport;
use crate::judging::credibility::credibility;
use crate::judging::decision::JudgeKind;
use crate::judging::numbers::{self, NumberCheck};
use crate::judging::profile::TextProfile;
use crate::judging::quality;
use crate::judging::scoring::Scoring;
use crate::judging::verdicts::{Assessment, ClaimContext, assess};
use crate::language::dates;
use crate::store::{
    JudgedWith, RejudgedClaim, Rewrite, RewriteOutcome, Store, StoreError, StoredClaim, StoredJudgement, StoredPassage,
};

#[derive(Debug, Clone)]
pub struct Terms {
    pub scoring: Scoring,
    pub rules: DomainRules,
    /// Per item.
    pub passages_shown: usize,
    pub claims_per_item: usize,
    pub listeners: Listeners,
    /// The parts that these terms replace.
    pub judged_with: JudgedWith,
}

#[derive(Debug, Clone)]
pub struct RescoredItem {
    pub result: ItemResult,
    pub claims: Vec<RescoredClaim>,
}

impl RescoredItem {
    /// Writes the result and its messages, dated `now` or just after the item's last message. Returns false if the
    /// item was judged again or removed meanwhile. `dry_run` keeps nothing.
    pub async fn write(
        &self,
        store: &Store,
        stored: &StoredJudgement,
        (why, terms): (Reason, &Terms),
        now: DateTime<Utc>,
        dry_run: bool,
    ) -> Result<bool, StoreError> {
        let rows: Vec<RejudgedClaim<'_>> =
            self.claims.iter().map(|one| RejudgedClaim { claim: &one.after, passages: &one.passages }).collect();
        let mut at = now;
        loop {
            let events = Events::of_change(&stored.result, &self.result, why, at);
            let rewrite = Rewrite {
                result: &self.result,
                evaluated_at: stored.evaluated_at,
                claims: &rows,
                why,
                outbox: &events.outbox(&terms.listeners, ReplyAddress::default()),
                webhooks: &events.webhooks(&terms.listeners),
                judged_with: &terms.judged_with,
                now: at,
                dry_run,
            };
            match store.write_rejudged(rewrite).await? {
                RewriteOutcome::Written => return Ok(true),
                RewriteOutcome::Overtaken => return Ok(false),
                // Terminates: each repetition means that another message was written.
                RewriteOutcome::TooEarly(last) => at = last + super::commit::NEXT,
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct RescoredClaim {
    pub before: ClaimResult,
    pub after: ClaimResult,
    /// Those with changed figures, also of denied domains.
    pub passages: Vec<JudgedPassage>,
}

/// Returns `None` if nothing changes.
pub fn judge_again(stored: &StoredJudgement, terms: &Terms) -> Option<RescoredItem> {
    let mut result = stored.result.clone();
    let is_degraded = !result.degraded.is_empty();
    let language = result.language.clone();
    let again: Vec<ReassessedClaim> = stored
        .claims
        .iter()
        .filter_map(|claim| {
            let before = result.claims.iter().find(|one| one.claim_id == claim.claim_id)?;
            Some(ReassessedClaim::assess(before.clone(), claim, terms, is_degraded))
        })
        .collect();
    let floor = terms.scoring.relevance_floor;
    let showable: Vec<ShowableCounts> =
        again.iter().map(|claim| ShowableCounts::of(&claim.passages, &claim.assessment, floor)).collect();
    let shares = shown::shares(&showable, terms.passages_shown);
    let mut changed = Vec::new();
    for (claim, share) in again.into_iter().zip(shares) {
        let Some(rescored) = claim.changed(terms, share, language.as_deref()) else { continue };
        if let Some(before) = result.claims.iter_mut().find(|one| one.claim_id == rescored.before.claim_id) {
            *before = rescored.after.clone();
        }
        changed.push(rescored);
    }
    if changed.is_empty() {
        return None;
    }
    context::carry(&mut result, terms.claims_per_item);
    for RescoredClaim { before, after, .. } in &changed {
        result.trace.push(format!("rescore: {} was {}, {}", after.verdict, before.verdict, before.tier));
    }
    Some(RescoredItem { result, claims: changed })
}

struct ReassessedClaim<'a> {
    before: ClaimResult,
    stored: &'a StoredClaim,
    /// Without denied domains.
    passages: Vec<JudgedPassage>,
    assessment: Assessment,
    changed: Vec<JudgedPassage>,
}

/// Returns who judged. If a review decided, the stored table names the judge.
fn judge_kind(before: &ClaimResult) -> JudgeKind {
    JudgeKind::of(before.decision.as_ref().map_or(before.judge.as_str(), |decision| decision.table.as_str()))
}

impl<'a> ReassessedClaim<'a> {
    fn assess(before: ClaimResult, stored: &'a StoredClaim, terms: &Terms, degraded: bool) -> Self {
        let context = ClaimContext {
            kind: before.kind,
            claim_date: stored.claim_date,
            confidence_threshold: stored.confidence_threshold,
            degraded,
            judge: judge_kind(&before),
            searched: stored.searched.unwrap_or(!before.notes.contains(&Note::Phase1Only)),
            scoring: terms.scoring,
        };
        let today: Vec<(bool, JudgedPassage)> = stored.passages.iter().map(|one| weighed(one, terms)).collect();
        let passages: Vec<JudgedPassage> =
            today.iter().filter(|(denied, _)| !denied).map(|(_, passage)| passage.clone()).collect();
        let assessment = assess(&context, &passages, &stored.reviews);
        let changed: Vec<JudgedPassage> = today
            .into_iter()
            .zip(&stored.passages)
            .filter(|((_, now), then)| figures(now) != figures(&then.passage))
            .map(|((_, now), _)| now)
            .collect();
        Self { before, stored, passages, assessment, changed }
    }

    /// Returns `None` if nothing differs. `shown` passages are shown.
    fn changed(self, terms: &Terms, shown: usize, language: Option<&str>) -> Option<RescoredClaim> {
        let Self { before, stored, passages, assessment, changed } = self;
        let input = DecisionInput {
            claim_id: &before.claim_id,
            text: dates::without_written(&before.text),
            shown: &before.text,
            kind: before.kind,
            source: before.source,
            entities: &before.entities,
            why_checkable: before.why_checkable.as_deref(),
            judge: if before.judge == BY_FACT_CHECK { RULES.to_owned() } else { before.judge.clone() },
            only_fact_checks: before.notes.contains(&Note::Phase1Only),
            language,
            auto_correct: false,
            reference: reference(&before, stored),
            claim_language: language,
            asked: None,
            words: None,
            passages: &passages,
            checks: &[],
            rules: before.decision.as_ref().map_or(&[], |decision| decision.rules.as_slice()),
            reviews: &stored.reviews,
        };
        let after = decide::result(&input, &assessment, &terms.scoring, shown);
        if same(&before, &after, &assessment, &passages) && changed.is_empty() {
            return None;
        }
        // Corrections need a number check of every passage, so most claims return before.
        let checks = checks(&before, stored, &passages, language);
        // Only the stored text was judged.
        let asked = before.correction.as_ref().map(|correction| ProposalSupport {
            text: correction.corrected.clone(),
            borne_out: correction.borne_out.clone(),
        });
        let auto_correct = stored.auto_correct.unwrap_or(true);
        let input = DecisionInput { auto_correct, checks: &checks, asked: asked.as_ref(), ..input };
        let after = decide::result(&input, &assessment, &terms.scoring, shown);
        Some(RescoredClaim { before, after, passages: changed })
    }
}

/// Returns the day of writing, from which relative dates count.
fn reference(claim: &ClaimResult, stored: &StoredClaim) -> Option<DateTime<Utc>> {
    dates::written_on(&claim.text).or(stored.claim_date).or(Some(stored.evaluated_at))
}

fn checks(
    claim: &ClaimResult,
    stored: &StoredClaim,
    passages: &[JudgedPassage],
    language: Option<&str>,
) -> Vec<NumberCheck> {
    let text = dates::without_written(&claim.text);
    let claim = TextProfile::new(text, language, reference(claim, stored), &[]);
    let check = |passage: &JudgedPassage| {
        let profile = TextProfile::new(&passage.passage, passage.language.as_deref(), passage.published_at, &[]);
        numbers::compare(&claim, &profile)
    };
    passages.iter().map(check).collect()
}

/// Returns whether the domain is denied, and the passage with current figures.
fn weighed(stored: &StoredPassage, terms: &Terms) -> (bool, JudgedPassage) {
    let mut passage = stored.passage.clone();
    let mut denied = false;
    // Own texts keep their stated credibility, whatever their URL.
    if matches!(passage.origin, Origin::Web | Origin::FactCheck | Origin::Kb)
        && let Ok(address) = Url::parse(&stored.answered)
        && matches!(address.scheme(), "http" | "https")
        && let Some(host) = address.host_str()
    {
        denied = terms.rules.is_denied(host);
        (passage.credibility, passage.source_type) = credibility(host, &terms.rules);
    }
    let JudgedPassage { credibility, freshness, relevance, specificity, .. } = passage;
    passage.quality = quality::quality(&terms.scoring.quality, credibility, freshness, relevance, specificity);
    (denied, passage)
}

/// Figures that a re-evaluation can change.
fn figures(passage: &JudgedPassage) -> (i64, i64, &'static str) {
    (exact(passage.credibility), exact(passage.quality), passage.source_type.as_str())
}

/// Rounds to twelve digits: the last bit may change in a text.
fn exact(figure: f64) -> i64 {
    (figure * 1e12).round() as i64
}

/// Whether the result equals the stored one. Texts follow from figures. A language model's citations stay while their
/// passages exist.
fn same(before: &ClaimResult, after: &ClaimResult, assessment: &Assessment, passages: &[JudgedPassage]) -> bool {
    type Answer<'a> = (Verdict, bool, Tier, Option<u32>, bool, &'a [Note]);
    fn answer(claim: &ClaimResult) -> Answer<'_> {
        let ClaimResult { verdict, decisive, tier, score, contradiction, notes, .. } = claim;
        (*verdict, *decisive, *tier, *score, *contradiction, notes)
    }
    let is_there = |row: &EvidenceRow| passages.iter().any(|one| one.evidence_id == row.evidence_id);
    let is_by_model = before.judge.split('+').any(is_adjudicator);
    let shown = |claim: &ClaimResult| -> Vec<String> {
        claim.evidence.iter().map(|row| format!("{} {}", row.evidence_id, row.passage)).collect()
    };
    answer(before) == answer(after)
        && exact(before.confidence) == exact(after.confidence)
        && exact(round(before.agreement)) == exact(round(assessment.agreement))
        && close(&before.features, &after.features)
        && same_decision(before.decision.as_ref(), after.decision.as_ref())
        && if is_by_model {
            before.evidence.iter().all(is_there)
        } else {
            before.citations == after.citations && shown(before) == shown(after)
        }
}

/// Posteriors are rounded to four digits, of which the last may differ.
fn same_decision(before: Option<&Decision>, after: Option<&Decision>) -> bool {
    let posterior = |decision: &Decision| {
        let Posterior { supported, refuted, contested, open } = decision.posterior;
        [supported, refuted, contested, open]
    };
    match (before, after) {
        (None, None) => true,
        (Some(before), Some(after)) => {
            before.table == after.table
                && posterior(before).iter().zip(posterior(after)).all(|(then, now)| (then - now).abs() < 2e-4)
        }
        _ => false,
    }
}

fn close(a: &Features, b: &Features) -> bool {
    let all = |f: &Features| [f.e_max, f.e_mean3, f.c_max, f.rel_avg, f.rec_max].map(exact);
    all(a) == all(b) && (a.agree_dom, a.num_ok) == (b.agree_dom, b.num_ok)
}
