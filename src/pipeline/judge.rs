//! Judging: what does each chosen passage say of the claim? The model's probabilities, then the numbers and dates
//! compared by rule, then every figure the verdict is made of.

use std::sync::Arc;

use super::claims::Claim;
use super::normalise::Normal;
use super::page::PreparedPage;
use super::rank::Ranked;
use super::read::Pages;
use super::{Journal, PipelineError, Services};
use crate::domain::evidence::JudgedPassage;
use crate::domain::verdict::{Origin, SourceType};
use crate::inference::Pair;
use crate::judging::agreement::agreement;
use crate::judging::numbers::{self, NumberCheck};
use crate::judging::profile::TextProfile;
use crate::judging::quality;
use crate::language::sentences::sentences;

/// All judged passages, per claim, with what the number rule saw.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) claims: Vec<JudgedClaim>,
    /// Every page that was fetched for the item, readable or not.
    pub(crate) pages: Vec<Arc<PreparedPage>>,
    pub(crate) judge: String,
    /// Whether sources were searched at all.
    pub(crate) searched: bool,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct JudgedClaim {
    /// Best rank first.
    pub(crate) passages: Vec<JudgedPassage>,
    /// Parallel to `passages`.
    pub(crate) checks: Vec<NumberCheck>,
}

impl Judged {
    /// Phase 1: nothing was searched.
    pub(crate) fn nothing(claims: usize) -> Self {
        Self {
            claims: vec![JudgedClaim::default(); claims],
            pages: Vec::new(),
            judge: "rules".to_owned(),
            searched: false,
        }
    }
}

pub(super) async fn judge(
    services: &Services,
    normal: &Normal,
    claims: &[Claim],
    candidates: Vec<Vec<Ranked>>,
    pages: &Pages,
    journal: &Journal,
) -> Result<Judged, PipelineError> {
    let mut judged = Judged {
        claims: Vec::with_capacity(claims.len()),
        pages: pages.read.iter().map(|read| Arc::clone(&read.page)).collect(),
        judge: services.models.stance.name().to_owned(),
        searched: pages.searched,
    };
    for (claim, ranked) in claims.iter().zip(candidates) {
        judged.claims.push(passages_of(services, normal, claim, ranked, true, journal).await?);
    }
    let passages: usize = judged.claims.iter().map(|claim| claim.passages.len()).sum();
    journal.trace(format!("judge: {passages} passage(s) by {}, numbers and dates by rule", judged.judge));
    Ok(judged)
}

/// One claim's passages, in the order given. `closely` takes the agreement from the best sentence, which is embedded for
/// it, and not from the passage as a whole.
pub(super) async fn passages_of(
    services: &Services,
    normal: &Normal,
    claim: &Claim,
    ranked: Vec<Ranked>,
    closely: bool,
    journal: &Journal,
) -> Result<JudgedClaim, PipelineError> {
    let pairs: Vec<Pair> = ranked
        .iter()
        .map(|entry| Pair { claim: Arc::clone(&claim.profile), passage: Arc::clone(&entry.profile) })
        .collect();
    let judgements = services.stances(&pairs).await?;
    let mut one = JudgedClaim::default();
    for (position, (entry, given)) in ranked.into_iter().zip(judgements).enumerate() {
        let check = numbers::compare(&claim.profile, &entry.profile);
        let settled = numbers::apply(given.probabilities, &check);
        let best = if closely {
            best_sentence(services, claim, &entry).await?
        } else {
            agreement(&claim.profile, &entry.profile)
        };
        let rank = u32::try_from(position + 1).unwrap_or(u32::MAX);
        let passage = figures(services, normal, claim, &entry, settled, best, check.num_ok, rank, journal);
        one.passages.push(passage);
        one.checks.push(check);
    }
    Ok(one)
}

/// Agreement with the passage's best single sentence: a long passage must not drown the one sentence that says it.
async fn best_sentence(services: &Services, claim: &Claim, entry: &Ranked) -> Result<f64, PipelineError> {
    let parts = sentences(&entry.text);
    let whole = agreement(&claim.profile, &entry.profile);
    if parts.len() < 2 {
        return Ok(whole);
    }
    let embeddings = services.embed(&parts).await?;
    let language = entry.profile.language.as_deref();
    let best = parts
        .iter()
        .zip(embeddings)
        .map(|(text, embedding)| {
            agreement(&claim.profile, &TextProfile::new(text, language, None, &[]).with_embedding(embedding))
        })
        .fold(0.0_f64, f64::max);
    // A sentence that names its subject with a pronoun loses the name that the passage holds.
    Ok(best.max(whole))
}

#[expect(clippy::too_many_arguments, reason = "each is one figure of the passage; a struct would only rename them")]
fn figures(
    services: &Services,
    normal: &Normal,
    claim: &Claim,
    entry: &Ranked,
    given: crate::domain::evidence::StanceProbabilities,
    agreement: f64,
    num_ok: Option<bool>,
    rank: u32,
    journal: &Journal,
) -> JudgedPassage {
    let page = &entry.read.page;
    let reference = claim.date.unwrap_or(normal.reference);
    let half_life = quality::half_life_days(&claim.profile, &services.settings.scoring.half_lives);
    let fresh = quality::freshness(reference, page.published_at, journal.evaluated_at, half_life);
    let specificity = quality::specificity(&claim.profile, &entry.profile);
    let source_type = page.source_type(&services.rules.current());
    JudgedPassage {
        evidence_id: page.id.clone(),
        url: page.url.to_string(),
        domain: page.domain.clone(),
        title: page.title.clone(),
        published_at: page.published_at,
        language: page.language.clone(),
        passage: entry.text.clone(),
        // Adding zero turns a negative zero into a plain one.
        entail: given.entail + 0.0,
        contradict: given.contradict + 0.0,
        neutral: given.neutral + 0.0,
        agreement,
        relevance: entry.relevance,
        credibility: entry.credibility,
        freshness: fresh,
        specificity,
        quality: quality::quality(
            &services.settings.scoring.quality,
            entry.credibility,
            fresh,
            entry.relevance,
            specificity,
        ),
        num_ok,
        independent_group: entry.group.clone(),
        source_type,
        origin: match entry.read.origin() {
            Origin::Web if source_type == SourceType::FactChecker => Origin::FactCheck,
            origin => origin,
        },
        provider: entry.read.provider.to_owned(),
        rank,
        out_of_context: false,
    }
}
