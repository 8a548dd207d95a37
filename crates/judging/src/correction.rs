//! Proposes a new wording for a claim that does not hold.
//!
//! * [`propose`] swaps in the figure or name that differs in a cited passage; [`worded`] takes a language model's
//!   sentence.
//! * The caller asks the judge whether the passage supports it.
//! * [`correct`] checks by rule that the passage states it without denial and with its figures. Otherwise it quotes the
//!   passage.
//!
//! Pure: the judge's answers are an argument and are stored with the correction.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use corroborate_domain::evidence::{JudgedPassage, MatchedReview};
use corroborate_domain::result::{BorneOut, Correction};
use corroborate_domain::verdict::{Apply, CorrectionType, Relation, Stance, Verdict};

use super::cited_text::{Source, hold_in_its_place};
use super::fact_checks::{self, ReviewFinding};
use super::numbers::{self, NumberCheck};
use super::profile::{SentenceProfile, TextProfile, Word};
use super::scoring::Scoring;
use super::stance;
use super::verdicts::Assessment;

/// Minimum entailment of a proposal, as for a verdict's surest support.
const MIN_SUPPORT: f64 = 0.7;

/// Minimum confidence for automatic application (`docs/scoring.md`, correction).
const MIN_AUTO_CONFIDENCE: f64 = 0.8;

/// Minimum independent groups for automatic application, unless one is credible enough alone.
const MIN_AUTO_GROUPS: usize = 2;

/// Maximum characters of a quoted sentence.
const MAX_QUOTED_CHARS: usize = 400;

/// Minimum share of the claim's words in a sentence about it.
const MIN_CLAIM_SHARE: f64 = 0.4;
/// Minimum share of a text's words, with names of other sentences, in a sentence that may state or deny it.
const MIN_TEXT_SHARE: f64 = 0.5;

#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub text: &'a str,
    pub language: Option<&'a str>,
    /// Base of relative dates.
    pub reference: Option<DateTime<Utc>>,
}

impl Subject<'_> {
    pub fn profile_of(&self, text: &str) -> TextProfile {
        TextProfile::new(text, self.language, self.reference, &[])
    }
}

#[derive(Debug, Clone, Copy)]
pub struct CorrectionInput<'a> {
    pub assessment: &'a Assessment,
    pub passages: &'a [JudgedPassage],
    /// Parallel to `passages`.
    pub checks: &'a [NumberCheck],
    pub reviews: &'a [MatchedReview],
    pub scoring: &'a Scoring,
}

/// A text that may replace the claim if supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub text: String,
    /// Passages for the judge, the origin first; at most three, of different groups.
    pub passages: Vec<usize>,
    note: String,
    /// A figure or date was swapped in, and no name.
    is_figure: bool,
    /// A language model's text: any passage may support it.
    is_worded: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProposalSupport {
    pub text: String,
    pub borne_out: Vec<BorneOut>,
}

/// Returns the claim with the differing figure or name of a cited contradiction, for the judge.
pub fn propose(claim: &Subject<'_>, found: &CorrectionInput<'_>) -> Option<Proposal> {
    kind_of(found.assessment)?;
    let against = contradicting(found);
    let of = |from: usize, text: String, note: String, is_figure: bool| {
        let others = against.iter().copied().filter(|index| *index != from);
        Proposal { text, passages: std::iter::once(from).chain(others).collect(), note, is_figure, is_worded: false }
    };
    let figure = against.iter().find_map(|index| {
        let passage = found.passages.get(*index)?;
        let (ours, theirs) = found.checks.get(*index)?.mismatch.as_ref()?;
        let note = format!("{} gives {} where the claim says {}.", passage.domain, theirs.trim(), ours.trim());
        Some(of(*index, swap(claim.text, ours, theirs)?, note, true))
    });
    let name = || {
        let from = *against.first()?;
        let passage = found.passages.get(from)?;
        let ours = claim.profile_of(claim.text);
        let theirs = profile(passage);
        let sentence = nearest(&ours, &theirs)?;
        let theirs =
            TextProfile::new(theirs.text.get(sentence.start..sentence.end)?, theirs.language.as_deref(), None, &[]);
        let (mine, other) = crate::names::differing_names(&ours, &theirs)?;
        let note = format!("{} names {other} where the claim names {mine}.", passage.domain);
        Some(of(from, swap(claim.text, &mine, &other)?, note, false))
    };
    figure.or_else(name).filter(|proposal| proposal.text.trim() != claim.text.trim())
}

/// The cited passages for rewording a wrong claim.
pub fn to_word_from(found: &CorrectionInput<'_>) -> Vec<usize> {
    let is_wrong = matches!(found.assessment.verdict, Verdict::Refuted | Verdict::Outdated | Verdict::Misleading);
    if is_wrong { contradicting(found) } else { Vec::new() }
}

/// Returns a language model's sentence as proposal. Its figures and names must be in a cited contradiction or the
/// claim.
pub fn worded(claim: &Subject<'_>, found: &CorrectionInput<'_>, text: &str) -> Option<Proposal> {
    let passages = to_word_from(found);
    let first = found.passages.get(*passages.first()?)?;
    let sources: Vec<Source<'_>> =
        passages.iter().filter_map(|index| found.passages.get(*index)).map(Source::from).collect();
    let own = Source { text: claim.text, language: claim.language, day: claim.reference, ..Source::default() };
    let holds = hold_in_its_place(text, &sources, &own, claim.language).is_ok();
    (holds && text.trim() != claim.text.trim()).then(|| Proposal {
        text: text.to_owned(),
        passages,
        note: format!("A language model worded it from what {} says.", first.domain),
        is_figure: false,
        is_worded: true,
    })
}

/// Returns the correction: refuted → replace, outdated → update, contested, misleading and provisional → clarify. A
/// differing figure is always replaced. `asked` has the judge's answers; an unjudged text never replaces the claim.
/// `None` if no evidence contradicts or states the fact.
pub fn correct(
    claim: &Subject<'_>,
    found: &CorrectionInput<'_>,
    asked: Option<&ProposalSupport>,
) -> Option<Correction> {
    let kind = kind_of(found.assessment)?;
    let against = contradicting(found);
    if against.is_empty() {
        return from_review(claim, found);
    }
    replaced(claim, found, asked, kind).or_else(|| quoted(claim, found, &against))
}

fn replaced(
    claim: &Subject<'_>,
    found: &CorrectionInput<'_>,
    asked: Option<&ProposalSupport>,
    kind: CorrectionType,
) -> Option<Correction> {
    let asked = asked?;
    let by_rule = propose(claim, found).filter(|proposal| proposal.text == asked.text);
    let proposal = by_rule.or_else(|| worded(claim, found, &asked.text))?;
    let text = claim.profile_of(&proposal.text);
    let entailed = |index: &usize| {
        let passage = found.passages.get(*index)?;
        let support = asked.borne_out.iter().find(|support| support.evidence_id == passage.evidence_id)?;
        (support.entail >= MIN_SUPPORT && is_stated_by_rule(&text, &profile(passage), proposal.is_figure))
            .then_some((passage, support.entail))
    };
    let from = if proposal.is_worded { proposal.passages.as_slice() } else { proposal.passages.get(..1)? };
    let (source, entail) = from.iter().find_map(entailed)?;
    let supporting: Vec<&JudgedPassage> =
        proposal.passages.iter().filter_map(entailed).map(|(passage, _)| passage).collect();
    let groups: BTreeSet<&str> = supporting.iter().map(|passage| passage.independent_group.as_str()).collect();
    let is_enough = groups.len() >= MIN_AUTO_GROUPS || source.credibility >= found.scoring.limits.lone_credibility;
    let confidence = confidence(found).min(entail);
    let exact = match found.assessment.verdict {
        Verdict::Refuted if proposal.is_figure => CorrectionType::Replace,
        Verdict::Outdated if proposal.is_figure => CorrectionType::Update,
        _ => kind,
    };
    // A name keeps the passage's grammatical case, so a person reads it first.
    let is_sure = found.assessment.decisive && proposal.is_figure && confidence > MIN_AUTO_CONFIDENCE;
    Some(Correction {
        kind: exact,
        original: claim.text.to_owned(),
        corrected: proposal.text,
        confidence,
        note: proposal.note,
        apply: if is_sure && is_enough { Apply::Auto } else { Apply::Review },
        sources: supporting.iter().map(|passage| passage.url.clone()).collect(),
        borne_out: asked.borne_out.clone(),
    })
}

/// The first cited sentence that states the fact; a person decides.
fn quoted(claim: &Subject<'_>, found: &CorrectionInput<'_>, against: &[usize]) -> Option<Correction> {
    let ours = claim.profile_of(claim.text);
    let (source, sentence) = against.iter().find_map(|index| {
        let passage = found.passages.get(*index)?;
        Some((passage, quotable_sentence(&ours, &profile(passage))?))
    })?;
    let mut sources = vec![source.url.clone()];
    for passage in against.iter().filter_map(|index| found.passages.get(*index)) {
        if !sources.contains(&passage.url) {
            sources.push(passage.url.clone());
        }
    }
    Some(Correction {
        kind: CorrectionType::Clarify,
        original: claim.text.to_owned(),
        corrected: sentence,
        confidence: confidence(found),
        note: format!("{} puts it this way.", source.domain),
        apply: Apply::Review,
        sources,
        borne_out: Vec::new(),
    })
}

fn kind_of(assessment: &Assessment) -> Option<CorrectionType> {
    match assessment.verdict {
        Verdict::Refuted if assessment.decisive => Some(CorrectionType::Replace),
        Verdict::Outdated if assessment.decisive => Some(CorrectionType::Update),
        Verdict::Refuted | Verdict::Outdated | Verdict::Contested | Verdict::Misleading => {
            Some(CorrectionType::Clarify)
        }
        // Provisional support leaves nothing to correct.
        Verdict::Supported | Verdict::NotEnoughEvidence | Verdict::NotVerifiable => None,
    }
}

/// The cited contradictions (for "misleading", passages of another time or place), strongest first.
fn contradicting(found: &CorrectionInput<'_>) -> Vec<usize> {
    let is_against =
        |index: &usize| found.passages.get(*index).is_some_and(|passage| contradicts_claim(found.assessment, passage));
    found.assessment.citations.iter().copied().filter(is_against).collect()
}

fn contradicts_claim(assessment: &Assessment, passage: &JudgedPassage) -> bool {
    passage.stance() == Stance::Contradicts || (assessment.verdict == Verdict::Misleading && passage.out_of_context)
}

/// The lower of the verdict's confidence and the evidence's mean quality.
fn confidence(found: &CorrectionInput<'_>) -> f64 {
    let floor = found.scoring.relevance_floor;
    let is_against =
        |p: &&JudgedPassage| p.relevance >= floor && !p.is_context() && contradicts_claim(found.assessment, p);
    let mean_quality = super::features::mean(found.passages.iter().filter(is_against).map(|p| p.quality));
    found.assessment.confidence.min(mean_quality).clamp(0.0, 1.0)
}

fn profile(passage: &JudgedPassage) -> TextProfile {
    TextProfile::new(&passage.passage, passage.language.as_deref(), passage.published_at, &[])
}

/// Whether the passage states the text by rule: no denial, and the same figures of the same event.
fn is_stated_by_rule(text: &TextProfile, passage: &TextProfile, is_figure: bool) -> bool {
    let figures = numbers::compare(text, passage).num_ok;
    is_stated_in(text, passage) && if is_figure { figures == Some(true) } else { figures != Some(false) }
}

/// Whether some sentences are about the text, and none of them asks or denies it.
fn is_stated_in(text: &TextProfile, passage: &TextProfile) -> bool {
    let mut about =
        by_coverage(text, passage).into_iter().filter(|(_, coverage)| *coverage >= MIN_TEXT_SHARE).peekable();
    let states = |sentence: &SentenceProfile| !sentence.question && sentence.denials % 2 == text.negations % 2;
    about.peek().is_some() && about.all(|(sentence, _)| states(sentence))
}

fn nearest<'a>(claim: &TextProfile, passage: &'a TextProfile) -> Option<&'a SentenceProfile> {
    by_coverage(claim, passage).into_iter().next().map(|(sentence, _)| sentence)
}

/// The sentences with their share of the claim's words, highest first.
fn by_coverage<'a>(claim: &TextProfile, passage: &'a TextProfile) -> Vec<(&'a SentenceProfile, f64)> {
    let mut all: Vec<(&SentenceProfile, f64)> = passage
        .sentences
        .iter()
        .map(|sentence| (sentence, crate::coverage::coverage_of_sentence(claim, passage, sentence)))
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// A usable sentence about the claim: no question, not retracted by its neighbours, not just the claim.
fn quotable_sentence(claim: &TextProfile, passage: &TextProfile) -> Option<String> {
    by_coverage(claim, passage).into_iter().find_map(|(sentence, coverage)| {
        let text = passage.text.get(sentence.start..sentence.end)?.trim();
        let is_about_claim = coverage >= MIN_CLAIM_SHARE && shares_more_than_names(claim, sentence);
        if !is_about_claim || sentence.question || text.is_empty() || text.chars().count() > MAX_QUOTED_CHARS {
            return None;
        }
        let own = TextProfile::new(text, passage.language.as_deref(), passage.reference, &[]);
        let repeats =
            text == claim.text.trim() || stance::agreement_stance(claim, &own, 0.0).entail >= stance::MIN_SIDE;
        (!repeats && is_stated_in(&own, passage)).then(|| text.to_owned())
    })
}

/// Whether a word other than a name is shared; always true for a claim of names only.
fn shares_more_than_names(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let is_name = |word: &&Word| claim.name_stems.iter().flatten().any(|name| *name == word.stem);
    let mut others = claim.words.iter().filter(|word| !is_name(word)).peekable();
    others.peek().is_none() || others.any(|word| sentence.stems.binary_search(&word.stem).is_ok())
}

/// The text with the first whole-word occurrence of `from` replaced.
fn swap(text: &str, from: &str, to: &str) -> Option<String> {
    let (from, to) = (from.trim(), to.trim());
    if from.is_empty() || to.is_empty() {
        return None;
    }
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(from).find_map(|(at, _)| {
        let (before, rest) = text.split_at_checked(at)?;
        let after = rest.strip_prefix(from)?;
        let joined_before = inside(before.chars().next_back()) && inside(from.chars().next());
        let joined_after = inside(after.chars().next()) && inside(from.chars().next_back());
        let alone = !joined_before && !joined_after;
        alone.then(|| format!("{before}{to}{after}"))
    })
}

/// Uses a contradicting review's title, unless it asks or repeats the claim. A person decides.
fn from_review(claim: &Subject<'_>, found: &CorrectionInput<'_>) -> Option<Correction> {
    if !found.assessment.by_fact_check {
        return None;
    }
    let nearest = [ReviewFinding::Refuted, ReviewFinding::Misleading]
        .into_iter()
        .find_map(|side| fact_checks::nearest(found.reviews, side))?;
    let title = nearest.review.title.as_deref().map(str::trim).filter(|title| !title.is_empty())?;
    let (ours, theirs) = (claim.profile_of(claim.text), claim.profile_of(title));
    if title.ends_with('?') || fact_checks::relation(&ours, &theirs).0 == Relation::Same {
        return None;
    }
    Some(Correction {
        kind: CorrectionType::Clarify,
        original: claim.text.to_owned(),
        corrected: title.to_owned(),
        confidence: found.assessment.confidence,
        note: format!(
            "{} rated the claim “{}”; this is the title of its review.",
            nearest.review.publisher, nearest.review.rating
        ),
        apply: Apply::Review,
        sources: vec![nearest.review.url.clone()],
        borne_out: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
