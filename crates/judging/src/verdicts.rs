//! Decides the verdict of a claim from judged passages and matched reviews, in the order of `docs/scoring.md`.
//!
//! Weighs both sides, chooses the verdict, then computes confidence, tier, notes and decisiveness. Pure: `rescore` gets
//! the same result from stored rows. To change a rule, edit `docs/scoring.md`, the step here and its test.

mod both;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use corroborate_domain::evidence::{JudgedPassage, MatchedReview};
use corroborate_domain::result::{Decision, Features, Posterior};
use corroborate_domain::verdict::{ClaimKind, Note, Stance, Tier, Verdict};

use super::citations;
use super::decision::{self, JudgeKind};
use super::fact_checks::{self, ReviewFinding};
use super::features::{self, groups_of};
use super::scoring::{Scoring, VerdictLimits};

pub use both::assess;

/// Weight of a fact-check at similarity 1; human reviewers err sometimes (`docs/scoring.md`, confidence).
const FACT_CHECK_WEIGHT: f64 = 0.95;
/// Evidence weight from which confidence in a reviewed claim is not reduced (`docs/scoring.md`, confidence).
const MIN_FULL_WEIGHT: f64 = 0.5;
/// Minimum ratio of the two sides for a decisive verdict.
const MIN_OUTWEIGHING_RATIO: f64 = 1.5;
/// Minimum distance of support and contradiction at two times, for a claim without a date. Reports on a running story
/// contradict each other for days and settle within a month.
const MIN_OUTDATED_DISTANCE: TimeDelta = TimeDelta::days(30);

/// Minimum independent sources for a high tier.
const MIN_CORROBORATING_SOURCES: usize = 2;

/// Posterior of "refuted" plus "contested" from which no tier is high (`docs/scoring.md`, tier).
const MAX_DOUBT: f64 = 0.20;

#[derive(Debug, Clone)]
pub struct ClaimContext {
    pub kind: ClaimKind,
    /// The claim's subject date, else its publication date.
    pub claim_date: Option<DateTime<Utc>>,
    /// Confidence from which a verdict is decisive, 0–1.
    pub confidence_threshold: f64,
    /// Whether a source or page failed.
    pub degraded: bool,
    /// Whether sources were searched. If not, finding nothing means nothing.
    pub searched: bool,
    pub judge: JudgeKind,
    pub scoring: Scoring,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "findings of their own, each stored under its name")]
pub struct Assessment {
    pub verdict: Verdict,
    pub decisive: bool,
    /// The verdict's posterior, 0–1; 0 without a side for lack of evidence.
    pub confidence: f64,
    /// 0–100; `None` if not verifiable or no passage is relevant enough.
    pub score: Option<u32>,
    pub tier: Tier,
    /// Mean similarity of the three best-ranked passages to the claim, 0–1.
    pub agreement: f64,
    pub contradiction: bool,
    pub notes: Vec<Note>,
    pub features: Features,
    /// `None` without a passage on topic.
    pub decision: Option<Decision>,
    /// Indices into the passages, strongest first, at most three.
    pub citations: Vec<usize>,
    pub by_fact_check: bool,
    pub searched: bool,
    /// Whether the figures include a language model's.
    pub by_both: bool,
}

struct WeighedEvidence<'a> {
    /// Passages on topic from non-social sources, best rank first.
    deciding: Vec<&'a JudgedPassage>,
    limits: VerdictLimits,
    features: Features,
    /// `None` if no passage may decide.
    decision: Option<Decision>,
    /// The posterior without sources on another time or place.
    in_context: Option<Posterior>,
    finding: ReviewFinding,
    /// Σ quality·relevance, each independent group once.
    support: f64,
    contradiction: f64,
    /// Σ 0.95·similarity of the reviews on each side, each publisher once.
    review_support: f64,
    review_contradiction: f64,
    review_misleading: f64,
    best_similarity: f64,
    /// Groups whose support fits the claim's time and place.
    groups_in_context: usize,
    is_in_context: bool,
}

impl<'a> WeighedEvidence<'a> {
    fn new(passages: &'a [JudgedPassage], reviews: &[MatchedReview], context: &ClaimContext) -> Self {
        let scoring = &context.scoring;
        let table = scoring.decision.of(context.judge);
        let deciding = features::deciding(passages, scoring.relevance_floor);
        // A reprint without a date, or with today's date, does not make an old story new.
        let elsewhere: BTreeSet<&str> =
            deciding.iter().filter(|p| p.out_of_context).map(|p| p.independent_group.as_str()).collect();
        let in_context: Vec<&JudgedPassage> =
            deciding.iter().copied().filter(|p| !elsewhere.contains(p.independent_group.as_str())).collect();
        let review_weight = |side| fact_checks::weight_by_publisher(reviews, side) * FACT_CHECK_WEIGHT;
        Self {
            limits: scoring.limits,
            features: features::features_of(&deciding),
            decision: (!deciding.is_empty()).then(|| table.decision(context.judge, &deciding)),
            in_context: (!in_context.is_empty())
                .then(|| table.posterior(&decision::figures(context.judge, &in_context))),
            finding: fact_checks::combined_finding(reviews),
            support: weight(&deciding, Stance::Supports),
            contradiction: weight(&deciding, Stance::Contradicts),
            review_support: review_weight(ReviewFinding::Supported),
            review_contradiction: review_weight(ReviewFinding::Refuted),
            review_misleading: review_weight(ReviewFinding::Misleading),
            best_similarity: fact_checks::best_similarity(reviews),
            groups_in_context: groups_of(&in_context, Stance::Supports).len(),
            is_in_context: in_context.iter().any(|passage| passage.entail > passage.contradict),
            deciding,
        }
    }

    fn any(&self, stance: Stance) -> bool {
        self.deciding.iter().any(|passage| passage.stance() == stance)
    }
}

/// Σ quality·relevance of a side. Each independent group counts once, by its best passage, because copies are one
/// source.
fn weight(deciding: &[&JudgedPassage], stance: Stance) -> f64 {
    let mut by_group: BTreeMap<&str, f64> = BTreeMap::new();
    for passage in deciding.iter().filter(|passage| passage.stance() == stance) {
        let best = by_group.entry(passage.independent_group.as_str()).or_insert(0.0);
        *best = best.max(passage.quality * passage.relevance);
    }
    by_group.values().sum()
}

/// Judges one claim by the figures of one judge or combined ones.
fn assess_by_one(context: &ClaimContext, passages: &[JudgedPassage], reviews: &[MatchedReview]) -> Assessment {
    let weighed = WeighedEvidence::new(passages, reviews, context);
    let (verdict, by_fact_check) = verdict(context, &weighed);
    let confidence = match context.scoring.calibration {
        // The curves were fitted on verdicts from passages only.
        Some(fitted) if !by_fact_check => fitted.confidence(verdict, confidence(verdict, false, &weighed)),
        _ => confidence(verdict, by_fact_check, &weighed),
    };
    let unverifiable = verdict == Verdict::NotVerifiable;
    let tier = tier(verdict, by_fact_check, context.degraded, &weighed);
    let decisive = decisive(verdict, confidence, by_fact_check, context, &weighed);
    let top = weighed.deciding.get(..3).unwrap_or(&weighed.deciding);
    let against =
        matches!(weighed.finding, ReviewFinding::Refuted | ReviewFinding::Contested | ReviewFinding::Misleading);
    Assessment {
        verdict,
        decisive,
        confidence,
        score: (!unverifiable && !weighed.deciding.is_empty())
            .then(|| features::score(&weighed.features, verdict, decisive, &context.scoring)),
        tier,
        agreement: features::mean(top.iter().map(|passage| passage.agreement)),
        contradiction: !unverifiable
            && (against || weighed.features.c_max >= weighed.limits.conflict || weighed.any(Stance::Contradicts)),
        notes: notes(verdict, by_fact_check, context, passages, &weighed),
        searched: context.searched,
        citations: if unverifiable {
            Vec::new()
        } else {
            citations::choose(verdict, passages, context.scoring.relevance_floor)
        },
        features: weighed.features,
        decision: weighed.decision,
        by_fact_check,
        by_both: false,
    }
}

/// The first matching step of `docs/scoring.md`, and whether a review decided.
fn verdict(context: &ClaimContext, weighed: &WeighedEvidence<'_>) -> (Verdict, bool) {
    if matches!(context.kind, ClaimKind::Opinion | ClaimKind::Ambiguous) {
        return (Verdict::NotVerifiable, false);
    }
    match weighed.finding {
        ReviewFinding::Supported => return (Verdict::Supported, true),
        ReviewFinding::Refuted => return (Verdict::Refuted, true),
        ReviewFinding::Misleading => return (Verdict::Misleading, true),
        ReviewFinding::Contested => return (Verdict::Contested, true),
        ReviewFinding::Nothing => {}
    }
    (verdict_of_passages(context, weighed), false)
}

/// Steps 3 to 6.
fn verdict_of_passages(context: &ClaimContext, weighed: &WeighedEvidence<'_>) -> Verdict {
    let lean = weighed.limits.lean;
    let Some(Decision { posterior, .. }) = &weighed.decision else { return Verdict::NotEnoughEvidence };
    let overtaken = || newest_is_a_running_total(weighed) || is_outdated(context.claim_date, &weighed.deciding);
    let (for_it, against_it) = plain_sources(weighed);
    let side = if disagree(for_it, against_it, weighed) {
        Some(Verdict::Contested)
    } else {
        posterior.side(lean).map(|(side, _)| side).filter(|side| is_shown(*side, weighed))
    };
    match side {
        // All support is older than a larger total of the same count.
        Some(Verdict::Supported) if newest_is_a_running_total(weighed) => Verdict::Outdated,
        Some(Verdict::Supported) if !weighed.is_in_context => {
            // "Misleading" claims that the fact holds elsewhere, so a passage must state the fact.
            if weighed.any(Stance::Supports) { Verdict::Misleading } else { Verdict::NotEnoughEvidence }
        }
        // Support without the sources on another event is too weak.
        Some(Verdict::Supported) if !weighed.in_context.is_some_and(|own| own.supported >= lean) => {
            Verdict::NotEnoughEvidence
        }
        Some(Verdict::Refuted | Verdict::Contested) if overtaken() => Verdict::Outdated,
        Some(side) => side,
        // Contradiction and support are one claim at two times.
        None if posterior.refuted + posterior.contested >= lean
            && overtaken()
            && is_shown(Verdict::Refuted, weighed) =>
        {
            Verdict::Outdated
        }
        // Both sides exist, so the reader must see the disagreement.
        None if posterior.open < lean && for_it > 0 && against_it > 0 => Verdict::Contested,
        None => Verdict::NotEnoughEvidence,
    }
}

/// Probability from which a source is plain about a side.
const MIN_PLAIN_PROBABILITY: f64 = 0.6;

/// Whether two or more sources are plain on each side, in equal number, without one side outweighing. The tables only
/// give an average. With one source a side, one is mostly misread (`docs/quality.md`); two and two rarely are.
fn disagree(for_it: usize, against_it: usize, weighed: &WeighedEvidence<'_>) -> bool {
    let (support, against) = (weighed.support, weighed.contradiction);
    for_it.min(against_it) > 1
        && support <= MIN_OUTWEIGHING_RATIO * against
        && against <= MIN_OUTWEIGHING_RATIO * support
}

/// Numbers of plainly supporting and plainly contradicting sources; a source on both was misread and counts on neither.
fn plain_sources(weighed: &WeighedEvidence<'_>) -> (usize, usize) {
    let plainly = |stance, probability: fn(&JudgedPassage) -> f64| -> BTreeSet<&str> {
        let taking = weighed
            .deciding
            .iter()
            .filter(|passage| passage.stance() == stance && probability(passage) >= MIN_PLAIN_PROBABILITY);
        taking.map(|passage| passage.independent_group.as_str()).collect()
    };
    let supporting = plainly(Stance::Supports, |passage| passage.entail);
    let contradicting = plainly(Stance::Contradicts, |passage| passage.contradict);
    (supporting.difference(&contradicting).count(), contradicting.difference(&supporting).count())
}

/// Whether a passage can be cited for that side. A posterior may come from many weak passages, but a reader needs one.
fn is_shown(side: Verdict, weighed: &WeighedEvidence<'_>) -> bool {
    let leans = |test: fn(&JudgedPassage) -> bool| weighed.deciding.iter().any(|passage| test(passage));
    let supports = || leans(|passage| passage.entail > passage.contradict);
    let contradicts = || leans(|passage| passage.contradict > passage.entail);
    // A lean does not support the claim against an outright contradiction.
    let is_outright = || weighed.any(Stance::Supports) || !weighed.any(Stance::Contradicts);
    match side {
        Verdict::Supported => supports() && is_outright(),
        Verdict::Refuted => contradicts(),
        _ => supports() && contradicts(),
    }
}

/// Whether all contradictions are newer totals or levels, and there is one.
fn only_running_totals(weighed: &WeighedEvidence<'_>) -> bool {
    let mut contradicting = weighed.deciding.iter().filter(|p| p.stance() == Stance::Contradicts).peekable();
    contradicting.peek().is_some() && contradicting.all(|passage| features::is_running_total(passage))
}

/// The same, if no support is newer: a later smaller figure is a disagreement.
fn newest_is_a_running_total(weighed: &WeighedEvidence<'_>) -> bool {
    let newest = |stance| {
        let dated = weighed.deciding.iter().filter(move |passage| passage.stance() == stance);
        dated.filter_map(|passage| passage.published_at).map(|date| date.date_naive()).max()
    };
    only_running_totals(weighed) && newest(Stance::Supports) <= newest(Stance::Contradicts)
}

/// Whether all support is older and a contradiction newer than the claim, to the day; without a claim date, apart by
/// [`MIN_OUTDATED_DISTANCE`]. Undated passages are neither.
fn is_outdated(claim_date: Option<DateTime<Utc>>, deciding: &[&JudgedPassage]) -> bool {
    let days = |stance| -> Option<Vec<NaiveDate>> {
        let of_stance = deciding.iter().filter(|passage| passage.stance() == stance);
        of_stance.map(|passage| passage.published_at.map(|date| date.date_naive())).collect()
    };
    let Some(newest_support) = days(Stance::Supports).and_then(|dates| dates.into_iter().max()) else {
        return false;
    };
    let newest_contradiction = deciding
        .iter()
        .filter(|passage| passage.stance() == Stance::Contradicts)
        .filter_map(|passage| passage.published_at)
        .max()
        .map(|date| date.date_naive());
    let Some(newest_contradiction) = newest_contradiction else {
        return false;
    };
    match claim_date.map(|date| date.date_naive()) {
        Some(claimed) => newest_support <= claimed && newest_contradiction > claimed,
        None => newest_contradiction.signed_duration_since(newest_support) >= MIN_OUTDATED_DISTANCE,
    }
}

/// The posterior if passages decide, 0–1 (`docs/scoring.md`).
fn confidence(verdict: Verdict, by_fact_check: bool, weighed: &WeighedEvidence<'_>) -> f64 {
    if by_fact_check {
        return confidence_of_reviews(verdict, weighed);
    }
    let Some(Decision { posterior, .. }) = &weighed.decision else { return 0.0 };
    match verdict {
        // Limited to the sources of the claim's time and place.
        Verdict::Supported => {
            weighed.in_context.map_or(posterior.supported, |own| own.supported.min(posterior.supported))
        }
        Verdict::Misleading => posterior.supported,
        Verdict::Refuted => posterior.refuted,
        // Both sides are true, each at its time.
        Verdict::Outdated => posterior.refuted + posterior.contested,
        Verdict::Contested => posterior.contested,
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => 0.0,
    }
}

/// Confidence if reviews decided; a single one is no surer than its match.
fn confidence_of_reviews(verdict: Verdict, weighed: &WeighedEvidence<'_>) -> f64 {
    let (mut s, c) = (weighed.support + weighed.review_support, weighed.contradiction + weighed.review_contradiction);
    let alone = match verdict {
        Verdict::Supported => weighed.support <= 0.0,
        Verdict::Refuted => weighed.contradiction <= 0.0,
        // Passages that support the fact do not make "misleading" surer.
        _ => true,
    };
    let most = if alone { FACT_CHECK_WEIGHT * weighed.best_similarity } else { 1.0 };
    // "Misleading" grants the fact.
    if verdict == Verdict::Misleading {
        s += weighed.review_misleading;
    }
    let total = s + c;
    if total <= 0.0 {
        return 0.0;
    }
    let own = match verdict {
        Verdict::Supported | Verdict::Misleading => s,
        Verdict::Refuted => c,
        Verdict::Contested | Verdict::Outdated => return (1.0 - (s - c).abs() / total).clamp(0.0, 1.0),
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => return 0.0,
    };
    (own / total * (total / MIN_FULL_WEIGHT).min(1.0)).clamp(0.0, 1.0).min(most)
}

/// Passages that the NLI model judged. Those of a claim may have several judges.
fn read_by_model<'a>(deciding: &[&'a JudgedPassage]) -> Vec<&'a JudgedPassage> {
    let is_read =
        |passage: &&&JudgedPassage| passage.judge.as_deref().is_none_or(|judge| JudgeKind::of(judge).is_model());
    deciding.iter().filter(is_read).copied().collect()
}

/// Whether the verdict may be acted on: confident, cited, not from one weak group, and with one side outweighing. Never by
/// the agreement rule, which does not read meaning.
fn decisive(
    verdict: Verdict,
    confidence: f64,
    by_fact_check: bool,
    context: &ClaimContext,
    weighed: &WeighedEvidence<'_>,
) -> bool {
    let (side, own, other) = match verdict {
        Verdict::Supported | Verdict::Misleading => (
            Stance::Supports,
            weighed.support + weighed.review_support + weighed.review_misleading,
            weighed.contradiction + weighed.review_contradiction,
        ),
        Verdict::Refuted => (
            Stance::Contradicts,
            weighed.contradiction + weighed.review_contradiction,
            weighed.support + weighed.review_support,
        ),
        // Both sides are true, each at its time.
        Verdict::Outdated => (Stance::Contradicts, 1.0, 0.0),
        Verdict::Contested | Verdict::NotEnoughEvidence | Verdict::NotVerifiable => return false,
    };
    let read = read_by_model(&weighed.deciding);
    let groups = groups_of(&read, side);
    let most_credible =
        read.iter().filter(|passage| passage.stance() == side).map(|passage| passage.credibility).fold(0.0, f64::max);
    let is_shown = !groups.is_empty() && (groups.len() > 1 || most_credible >= weighed.limits.lone_credibility);
    let conflict = weighed.limits.conflict;
    let is_disputed = match verdict {
        Verdict::Supported | Verdict::Misleading => weighed.features.c_max >= conflict,
        Verdict::Refuted => weighed.deciding.iter().any(|p| p.entail >= conflict && p.entail > p.contradict),
        _ => false,
    };
    confidence > 0.0
        && confidence >= context.confidence_threshold
        && (by_fact_check || (context.judge.is_model() && is_shown && !is_disputed))
        && own > MIN_OUTWEIGHING_RATIO * other
}

/// The corroboration tier, which counts sources and says nothing about truth.
fn tier(verdict: Verdict, by_fact_check: bool, degraded: bool, weighed: &WeighedEvidence<'_>) -> Tier {
    let contradicted = weighed.features.c_max >= weighed.limits.conflict
        || matches!(weighed.finding, ReviewFinding::Refuted | ReviewFinding::Contested | ReviewFinding::Misleading)
        || matches!(verdict, Verdict::Refuted | Verdict::Contested | Verdict::Outdated);
    if verdict == Verdict::NotVerifiable || contradicted {
        return Tier::Low;
    }
    let independent = weighed.groups_in_context >= MIN_CORROBORATING_SOURCES;
    let doubt = weighed.in_context.map_or(0.0, |own| own.refuted + own.contested);
    if verdict == Verdict::Supported && independent && doubt < MAX_DOUBT && !degraded {
        return Tier::High;
    }
    let agreed = weighed.features.agree_dom >= 1 || (by_fact_check && verdict == Verdict::Supported);
    if agreed { Tier::Medium } else { Tier::Low }
}

fn notes(
    verdict: Verdict,
    by_fact_check: bool,
    context: &ClaimContext,
    passages: &[JudgedPassage],
    weighed: &WeighedEvidence<'_>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if context.degraded {
        notes.push(Note::Degraded);
    }
    if verdict == Verdict::NotVerifiable {
        return notes;
    }
    let supported = weighed.any(Stance::Supports) || weighed.finding == ReviewFinding::Supported;
    let contradicted = weighed.features.c_max >= weighed.limits.conflict
        || matches!(weighed.finding, ReviewFinding::Refuted | ReviewFinding::Misleading);
    let undecided = matches!(verdict, Verdict::NotEnoughEvidence | Verdict::Contested);
    if verdict == Verdict::Contested || (contradicted && (supported || undecided)) {
        notes.push(Note::ConflictingSources);
    }
    let groups = groups_of(&weighed.deciding, Stance::Supports).len();
    let against = groups_of(&weighed.deciding, Stance::Contradicts).len();
    let one_source = match verdict {
        Verdict::Supported | Verdict::NotEnoughEvidence => {
            groups == 1 || (groups > 1 && weighed.groups_in_context == 1)
        }
        Verdict::Refuted | Verdict::Outdated => against == 1,
        _ => false,
    };
    if one_source && !by_fact_check {
        notes.push(Note::SingleSource);
    }
    let nothing = weighed.deciding.is_empty();
    if verdict == Verdict::NotEnoughEvidence && !nothing && groups + against == 0 {
        notes.push(Note::OnlyRelated);
    }
    // After a failed or missing search, an empty result means nothing.
    let unasked = (context.degraded || !context.searched) && nothing;
    if groups == 0 && !(by_fact_check && verdict == Verdict::Supported) && !unasked {
        notes.push(Note::NoCorroboration);
        if passages.is_empty() && !by_fact_check {
            notes.push(Note::NoSources);
        }
    }
    let on_topic_social =
        passages.iter().any(|passage| passage.is_social() && passage.relevance >= context.scoring.relevance_floor);
    if nothing && on_topic_social {
        notes.push(Note::SocialOnly);
    }
    notes
}
