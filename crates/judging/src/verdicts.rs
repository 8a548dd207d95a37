//! From judged passages and matched reviews to a verdict, in the order that `docs/scoring.md` gives. Pure: `rescore` calls it on
//! stored rows and gets the same answer.

mod both;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use corroborate_domain::evidence::{JudgedPassage, MatchedReview};
use corroborate_domain::result::{Decision, Features, Posterior};
use corroborate_domain::verdict::{ClaimKind, Note, Stance, Tier, Verdict};

use super::citations;
use super::decision::{self, JudgeKind};
use super::fact_checks::{self, ReviewSays};
use super::features::{self, groups_of};
use super::scoring::{Scoring, VerdictLimits};

pub use both::assess;

/// Weight of a fact-check at similarity 1: people checked it, and they err now and then (`docs/scoring.md`, confidence).
const FACT_CHECK_WEIGHT: f64 = 0.95;
/// Evidence weight from which the confidence in a reviewed claim is no longer held down for want of evidence (`docs/scoring.md`,
/// confidence).
const FULL_WEIGHT: f64 = 0.5;
/// One side outweighs the other from this ratio on; below it a verdict is never decisive.
const OUTWEIGHS: f64 = 1.5;
/// Where the claim has no date, support and contradiction this far apart speak of two times. Reports on a running
/// story contradict each other for days and are settled within a month.
const OUTDATED_MARGIN: TimeDelta = TimeDelta::days(30);

/// Independent groups of a high tier: one source is a report.
const CORROBORATING: usize = 2;

/// Posterior of "refuted" and "contested" together from which no tier is high (`docs/scoring.md`, tier).
const DOUBTED: f64 = 0.20;

/// What is known of a claim besides its evidence.
#[derive(Debug, Clone)]
pub struct ClaimContext {
    pub kind: ClaimKind,
    /// The date the claim speaks of, else was published.
    pub claim_date: Option<DateTime<Utc>>,
    /// Confidence from which a verdict is decisive, 0–1.
    pub confidence_threshold: f64,
    /// Whether something could not be asked or read.
    pub degraded: bool,
    /// Whether sources were searched at all. Where they were not, an empty hand says nothing.
    pub searched: bool,
    /// Who judged the passages.
    pub judge: JudgeKind,
    /// The operator's numbers.
    pub scoring: Scoring,
}

/// What the evidence comes to.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "findings of their own, each stored under its name")]
pub struct Assessment {
    pub verdict: Verdict,
    pub decisive: bool,
    /// 0–1, the posterior of the verdict; 0 for verdicts that take no side for want of evidence.
    pub confidence: f64,
    /// 0–100; `None` for what cannot be verified and where nothing is above the floor.
    pub score: Option<u32>,
    pub tier: Tier,
    /// Mean similarity of the three best-ranked passages to the claim, 0–1.
    pub agreement: f64,
    /// Whether a source says otherwise.
    pub contradiction: bool,
    pub notes: Vec<Note>,
    pub features: Features,
    /// What the decision model made of the passages on topic; `None` without any.
    pub decision: Option<Decision>,
    /// Indices into the passages, the strongest first; three at most.
    pub citations: Vec<usize>,
    /// Whether a published review decided.
    pub by_fact_check: bool,
    /// Whether sources were searched at all.
    pub searched: bool,
    /// Whether a language model was heard beside the judge, and the figures are those of both.
    pub by_both: bool,
}

/// The two sides and what may sit on them.
struct Weighed<'a> {
    /// On topic, not social, best rank first.
    deciding: Vec<&'a JudgedPassage>,
    limits: VerdictLimits,
    features: Features,
    /// `None` where nothing may decide.
    decision: Option<Decision>,
    /// The posterior without what tells of the fact at another time or place.
    in_context: Option<Posterior>,
    says: ReviewSays,
    /// Σ quality·relevance, each independent group once.
    support: f64,
    contradiction: f64,
    /// Σ 0.95·similarity of the reviews on each side, each publisher once.
    review_support: f64,
    review_contradiction: f64,
    review_misleading: f64,
    /// The nearest review that says something.
    best_similarity: f64,
    /// Groups whose support fits the claim's own time and place.
    groups_in_context: usize,
    /// Whether anything that leans to the claim fits its time and place.
    is_in_context: bool,
}

impl<'a> Weighed<'a> {
    fn new(passages: &'a [JudgedPassage], reviews: &[MatchedReview], context: &ClaimContext) -> Self {
        let scoring = &context.scoring;
        let table = scoring.decision.of(context.judge);
        let deciding = features::deciding(passages, scoring.relevance_floor);
        // A reprint without a date, or with today's, makes no news of an old story.
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
            says: fact_checks::says(reviews),
            support: weight(&deciding, Stance::Supports),
            contradiction: weight(&deciding, Stance::Contradicts),
            review_support: review_weight(ReviewSays::Supported),
            review_contradiction: review_weight(ReviewSays::Refuted),
            review_misleading: review_weight(ReviewSays::Misleading),
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

/// Σ quality·relevance over a side. Copies are one source, so each independent group counts once, by its best passage.
fn weight(deciding: &[&JudgedPassage], stance: Stance) -> f64 {
    let mut by_group: BTreeMap<&str, f64> = BTreeMap::new();
    for passage in deciding.iter().filter(|passage| passage.stance() == stance) {
        let best = by_group.entry(passage.independent_group.as_str()).or_insert(0.0);
        *best = best.max(passage.quality * passage.relevance);
    }
    by_group.values().sum()
}

/// Judges one claim by the figures of one judge, or of both as if they were one's.
fn assess_by_one(context: &ClaimContext, passages: &[JudgedPassage], reviews: &[MatchedReview]) -> Assessment {
    let weighed = Weighed::new(passages, reviews, context);
    let (verdict, by_fact_check) = verdict(context, &weighed);
    let confidence = match context.scoring.calibration {
        // The curves are of verdicts that rest on passages: nothing was measured of reviews.
        Some(fitted) if !by_fact_check => fitted.confidence(verdict, confidence(verdict, false, &weighed)),
        _ => confidence(verdict, by_fact_check, &weighed),
    };
    let unverifiable = verdict == Verdict::NotVerifiable;
    let tier = tier(verdict, by_fact_check, context.degraded, &weighed);
    let decisive = decisive(verdict, confidence, by_fact_check, context, &weighed);
    let top = weighed.deciding.get(..3).unwrap_or(&weighed.deciding);
    let against = matches!(weighed.says, ReviewSays::Refuted | ReviewSays::Contested | ReviewSays::Misleading);
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

/// The steps of `docs/scoring.md`, first match wins. The flag says whether a review decided.
fn verdict(context: &ClaimContext, weighed: &Weighed<'_>) -> (Verdict, bool) {
    if matches!(context.kind, ClaimKind::Opinion | ClaimKind::Ambiguous) {
        return (Verdict::NotVerifiable, false);
    }
    match weighed.says {
        ReviewSays::Supported => return (Verdict::Supported, true),
        ReviewSays::Refuted => return (Verdict::Refuted, true),
        ReviewSays::Misleading => return (Verdict::Misleading, true),
        ReviewSays::Contested => return (Verdict::Contested, true),
        ReviewSays::Nothing => {}
    }
    (verdict_of_passages(context, weighed), false)
}

/// Steps 3 to 6.
fn verdict_of_passages(context: &ClaimContext, weighed: &Weighed<'_>) -> Verdict {
    let lean = weighed.limits.lean;
    let Some(Decision { posterior, .. }) = &weighed.decision else { return Verdict::NotEnoughEvidence };
    let overtaken = || newest_is_a_running_total(weighed) || is_outdated(context.claim_date, &weighed.deciding);
    let (for_it, against_it) = said_plainly(weighed);
    let side = if disagree(for_it, against_it, weighed) {
        Some(Verdict::Contested)
    } else {
        posterior.side(lean).map(|(side, _)| side).filter(|side| is_shown(*side, weighed))
    };
    match side {
        // Every support is older than a larger total of the same count.
        Some(Verdict::Supported) if newest_is_a_running_total(weighed) => Verdict::Outdated,
        Some(Verdict::Supported) if !weighed.is_in_context => {
            // "Misleading" says that the fact holds elsewhere, so a passage must state the fact.
            if weighed.any(Stance::Supports) { Verdict::Misleading } else { Verdict::NotEnoughEvidence }
        }
        // Without the sources on another time or place the support is too weak: those speak of another event.
        Some(Verdict::Supported) if !weighed.in_context.is_some_and(|own| own.supported >= lean) => {
            Verdict::NotEnoughEvidence
        }
        Some(Verdict::Refuted | Verdict::Contested) if overtaken() => Verdict::Outdated,
        Some(side) => side,
        // What contradicts and supports at once is one claim at two times.
        None if posterior.refuted + posterior.contested >= lean
            && overtaken()
            && is_shown(Verdict::Refuted, weighed) =>
        {
            Verdict::Outdated
        }
        // Neither side is likely enough, and both were found: the reader has to know that sources disagree.
        None if posterior.open < lean && for_it > 0 && against_it > 0 => Verdict::Contested,
        None => Verdict::NotEnoughEvidence,
    }
}

/// Probability from which a source says so plainly.
const PLAINLY: f64 = 0.6;

/// Whether two sources and more say so plainly, as many plainly not, and neither side outweighs the other. What the tables make
/// of that is an average over claims. Of one source each, one is mostly misread (`docs/quality.md`), and the table knows which;
/// two and two are hardly misread alike.
fn disagree(for_it: usize, against_it: usize, weighed: &Weighed<'_>) -> bool {
    let (support, against) = (weighed.support, weighed.contradiction);
    for_it.min(against_it) > 1 && support <= OUTWEIGHS * against && against <= OUTWEIGHS * support
}

/// Sources that say so plainly, and those that plainly say it is not so; of one that seems to say both, one of the two readings is
/// wrong, so that it counts on neither side.
fn said_plainly(weighed: &Weighed<'_>) -> (usize, usize) {
    let plainly = |stance, probability: fn(&JudgedPassage) -> f64| -> BTreeSet<&str> {
        let said =
            weighed.deciding.iter().filter(|passage| passage.stance() == stance && probability(passage) >= PLAINLY);
        said.map(|passage| passage.independent_group.as_str()).collect()
    };
    let supporting = plainly(Stance::Supports, |passage| passage.entail);
    let contradicting = plainly(Stance::Contradicts, |passage| passage.contradict);
    (supporting.difference(&contradicting).count(), contradicting.difference(&supporting).count())
}

/// Whether a passage can be cited for that side: a posterior may rest on what leans a little in many passages, and an answer
/// needs one that a reader can be shown.
fn is_shown(side: Verdict, weighed: &Weighed<'_>) -> bool {
    let leans = |test: fn(&JudgedPassage) -> bool| weighed.deciding.iter().any(|passage| test(passage));
    let supports = || leans(|passage| passage.entail > passage.contradict);
    let contradicts = || leans(|passage| passage.contradict > passage.entail);
    // Passages that merely lean towards the claim do not support it while another one contradicts it outright.
    let is_outright = || weighed.any(Stance::Supports) || !weighed.any(Stance::Contradicts);
    match side {
        Verdict::Supported => supports() && is_outright(),
        Verdict::Refuted => contradicts(),
        _ => supports() && contradicts(),
    }
}

/// True where something contradicts, and all that does is a newer and larger count of the same thing, or a newer level of
/// what moves.
fn only_running_totals(weighed: &Weighed<'_>) -> bool {
    let mut contradicting = weighed.deciding.iter().filter(|p| p.stance() == Stance::Contradicts).peekable();
    contradicting.peek().is_some() && contradicting.all(|passage| features::is_running_total(passage))
}

/// The same where no support is newer than those: who still tells of fewer days later has not merely been overtaken.
fn newest_is_a_running_total(weighed: &Weighed<'_>) -> bool {
    let newest = |stance| {
        let dated = weighed.deciding.iter().filter(move |passage| passage.stance() == stance);
        dated.filter_map(|passage| passage.published_at).map(|date| date.date_naive()).max()
    };
    only_running_totals(weighed) && newest(Stance::Supports) <= newest(Stance::Contradicts)
}

/// True if every supporting passage is older and a contradicting one newer than the claim, to the day; where the claim
/// has no date, if all support is older than a contradiction by [`OUTDATED_MARGIN`]. A passage without a date is
/// neither older nor newer.
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
        None => newest_contradiction.signed_duration_since(newest_support) >= OUTDATED_MARGIN,
    }
}

/// Confidence in the verdict, 0–1 (`docs/scoring.md`): its posterior where passages decide.
fn confidence(verdict: Verdict, by_fact_check: bool, weighed: &Weighed<'_>) -> f64 {
    if by_fact_check {
        return confidence_of_reviews(verdict, weighed);
    }
    let Some(Decision { posterior, .. }) = &weighed.decision else { return 0.0 };
    match verdict {
        // As sure as what fits the claim's own time and place.
        Verdict::Supported => {
            weighed.in_context.map_or(posterior.supported, |own| own.supported.min(posterior.supported))
        }
        Verdict::Misleading => posterior.supported,
        Verdict::Refuted => posterior.refuted,
        // Both sides are true, each in its time.
        Verdict::Outdated => posterior.refuted + posterior.contested,
        Verdict::Contested => posterior.contested,
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => 0.0,
    }
}

/// The same where published reviews decided. One that stands alone is no surer than its match to the claim.
fn confidence_of_reviews(verdict: Verdict, weighed: &Weighed<'_>) -> f64 {
    let (mut s, c) = (weighed.support + weighed.review_support, weighed.contradiction + weighed.review_contradiction);
    let alone = match verdict {
        Verdict::Supported => weighed.support <= 0.0,
        Verdict::Refuted => weighed.contradiction <= 0.0,
        // Passages that bear the fact out do not make it surer that it misleads.
        _ => true,
    };
    let most = if alone { FACT_CHECK_WEIGHT * weighed.best_similarity } else { 1.0 };
    // "Misleading" grants that the fact holds: support is on its side.
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
    (own / total * (total / FULL_WEIGHT).min(1.0)).clamp(0.0, 1.0).min(most)
}

/// Whether the verdict may be acted on: sure enough, not on one group of little credit, on passages of that very stance, and
/// one side outweighing the other. What is not is a lean.
fn decisive(
    verdict: Verdict,
    confidence: f64,
    by_fact_check: bool,
    context: &ClaimContext,
    weighed: &Weighed<'_>,
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
        // Both sides are true, each in its time: neither has to outweigh the other.
        Verdict::Outdated => (Stance::Contradicts, 1.0, 0.0),
        Verdict::Contested | Verdict::NotEnoughEvidence | Verdict::NotVerifiable => return false,
    };
    let groups = groups_of(&weighed.deciding, side);
    let most_credible = weighed
        .deciding
        .iter()
        .filter(|passage| passage.stance() == side)
        .map(|passage| passage.credibility)
        .fold(0.0, f64::max);
    let is_shown = !groups.is_empty() && (groups.len() > 1 || most_credible >= weighed.limits.lone_credibility);
    let conflict = weighed.limits.conflict;
    let is_disputed = match verdict {
        Verdict::Supported | Verdict::Misleading => weighed.features.c_max >= conflict,
        Verdict::Refuted => weighed.deciding.iter().any(|p| p.entail >= conflict && p.entail > p.contradict),
        _ => false,
    };
    confidence > 0.0
        && confidence >= context.confidence_threshold
        && (by_fact_check || (is_shown && !is_disputed))
        && own > OUTWEIGHS * other
}

/// High, medium or low: it speaks of corroboration, not of truth.
fn tier(verdict: Verdict, by_fact_check: bool, degraded: bool, weighed: &Weighed<'_>) -> Tier {
    let contradicted = weighed.features.c_max >= weighed.limits.conflict
        || matches!(weighed.says, ReviewSays::Refuted | ReviewSays::Contested | ReviewSays::Misleading)
        || matches!(verdict, Verdict::Refuted | Verdict::Contested | Verdict::Outdated);
    if verdict == Verdict::NotVerifiable || contradicted {
        return Tier::Low;
    }
    let independent = weighed.groups_in_context >= CORROBORATING;
    let doubt = weighed.in_context.map_or(0.0, |own| own.refuted + own.contested);
    if verdict == Verdict::Supported && independent && doubt < DOUBTED && !degraded {
        return Tier::High;
    }
    let agreed = weighed.features.agree_dom >= 1 || (by_fact_check && verdict == Verdict::Supported);
    if agreed { Tier::Medium } else { Tier::Low }
}

/// The reasons beside the tier.
fn notes(
    verdict: Verdict,
    by_fact_check: bool,
    context: &ClaimContext,
    passages: &[JudgedPassage],
    weighed: &Weighed<'_>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if context.degraded {
        notes.push(Note::Degraded);
    }
    if verdict == Verdict::NotVerifiable {
        return notes;
    }
    let supported = weighed.any(Stance::Supports) || weighed.says == ReviewSays::Supported;
    let contradicted = weighed.features.c_max >= weighed.limits.conflict
        || matches!(weighed.says, ReviewSays::Refuted | ReviewSays::Misleading);
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
    // Where something could not be asked, or nobody was, an empty hand says nothing about who reports it.
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
