//! Judges what each chosen passage says about the claim.
//! Steps: probabilities of the NLI model, comparison of numbers and dates by rule, then the figures for the verdict.
//! A passage below the relevance floor is judged by rule only.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::claims::Claim;
use super::normalise::NormalisedItem;
use super::page::PreparedPage;
use super::rank::Ranked;
use super::read::Pages;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use super::translate::TRANSLATED;
use crate::domain::Degradation;
use crate::domain::evidence::{JudgedPassage, MIN_SIDE_PROBABILITY, StanceProbabilities};
use crate::domain::result::PassageRules;
use crate::domain::verdict::{Origin, SourceType, Verdict};
use crate::inference::rules::RULES;
use crate::inference::{Judgement, Pair};
use crate::judging::agreement::agreement;
use crate::judging::caps;
use crate::judging::coverage::sentence_coverage;
use crate::judging::numbers::{self, NumberCheck};
use crate::judging::out_of_context::is_of_an_older_time;
use crate::judging::profile::{EmbeddingSpace, SentenceProfile, TextProfile};
use crate::judging::quality;

#[derive(Debug, Default)]
pub(crate) struct JudgedItem {
    pub(crate) claims: Vec<JudgedClaim>,
    /// Including unreadable pages.
    pub(crate) pages: Vec<Arc<PreparedPage>>,
    pub(crate) searched: bool,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct JudgedClaim {
    /// Judges of the passages on topic, each once.
    pub(crate) judges: Vec<Arc<str>>,
    /// Best rank first.
    pub(crate) passages: Vec<JudgedPassage>,
    /// Parallel to `passages`.
    pub(crate) checks: Vec<NumberCheck>,
    /// Rules that matched passages on topic.
    pub(crate) rules: Vec<PassageRules>,
    pub(crate) opinion: Option<Opinion>,
}

/// A language model's view of a claim. It decides nothing; its words are used if the cited passages support them and
/// the verdict is the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opinion {
    pub(crate) verdict: Verdict,
    /// `[N]` is a passage's position, from 1.
    pub(crate) justification: String,
}

/// Prefixes of adjudicator names: language models and custom ones.
const ADJUDICATORS: [&str; 2] = ["llm:", OWN];
pub(super) const OWN: &str = "own:";

pub(super) fn is_adjudicator(part: &str) -> bool {
    ADJUDICATORS.iter().any(|kind| part.starts_with(kind))
}

impl JudgedItem {
    pub(crate) fn nothing(claims: usize) -> Self {
        Self { claims: vec![JudgedClaim::default(); claims], pages: Vec::new(), searched: false }
    }
}

impl JudgedClaim {
    /// Returns the judge's name for results:
    ///
    /// * `model:<name>`, several if passages are in several languages;
    /// * `rules` if nothing was judged, `model:<name>+rules` if no model reads some passages;
    /// * `+llm:<name>` or `+own:<name>` with an adjudicator;
    /// * `+translated` with a translation.
    pub(crate) fn judge(&self) -> String {
        let parts = || self.judges.iter().flat_map(|judge| judge.split('+')).filter(|part| !part.is_empty());
        let is_model = |part: &&str| ![RULES, TRANSLATED].contains(part) && !is_adjudicator(part);
        // Sorted, so that the order of passages does not matter.
        let models: BTreeSet<&str> = parts().filter(is_model).collect();
        let rules = (models.is_empty() || parts().any(|part| part == RULES)).then_some(RULES);
        let translated = parts().any(|part| part == TRANSLATED).then_some(TRANSLATED);
        let adjudicator = parts().find(|part| is_adjudicator(part));
        models.into_iter().chain([rules, adjudicator, translated].into_iter().flatten()).collect::<Vec<_>>().join("+")
    }
}

pub(super) async fn judge(
    services: &Services,
    normal: &NormalisedItem,
    claims: &[Claim],
    candidates: Vec<Vec<Ranked>>,
    pages: &Pages,
    journal: &Journal,
) -> Result<JudgedItem, PipelineError> {
    let claims: Vec<(&Claim, Vec<Ranked>)> = claims.iter().zip(candidates).collect();
    let judged = JudgedItem {
        claims: passages_of(services, normal, &claims, JudgingDepth::Closely, journal).await?,
        pages: pages.read.iter().map(|read| Arc::clone(&read.page)).collect(),
        searched: pages.searched,
    };
    let passages: usize = judged.claims.iter().map(|claim| claim.passages.len()).sum();
    let mut judges: Vec<&str> = judged.claims.iter().flat_map(|claim| &claim.judges).map(AsRef::as_ref).collect();
    judges.sort_unstable();
    judges.dedup();
    let judges = if judges.is_empty() { RULES.to_owned() } else { judges.join(" and ") };
    journal.trace(format!("judge: {passages} passage(s) by {judges}, numbers and dates by rule"));
    Ok(judged)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JudgingDepth {
    ByRule,
    /// Passages on topic by the model, the others by rule.
    ByModel,
    /// As `ByModel`; passages that take a side also get the similarity of their best sentence.
    Closely,
}

pub(super) async fn passages_of(
    services: &Services,
    normal: &NormalisedItem,
    claims: &[(&Claim, Vec<Ranked>)],
    look: JudgingDepth,
    journal: &Journal,
) -> Result<Vec<JudgedClaim>, PipelineError> {
    let stances = stances(services, claims, look, journal).await?;
    let pairs: Vec<&Pair> = claims.iter().flat_map(|(_, ranked)| ranked.iter().map(|entry| &entry.pair)).collect();
    // Each comparison costs a model run.
    let sided = pairs
        .iter()
        .zip(&stances)
        .map(|(pair, stance)| (look == JudgingDepth::Closely && stance.takes_a_side()).then_some(*pair));
    let near = best_sentences(services, &sided.collect::<Vec<_>>(), journal).await;
    let mut stances = stances.into_iter().zip(near);
    let mut judged = Vec::with_capacity(claims.len());
    for (claim, ranked) in claims {
        let mut one = JudgedClaim::default();
        for ((position, entry), (stance, near)) in ranked.iter().enumerate().zip(&mut stances) {
            let best = near.unwrap_or_else(|| agreement(&entry.pair.claim, &entry.pair.passage));
            let rank = u32::try_from(position + 1).unwrap_or(u32::MAX);
            let reference = claim.date.unwrap_or(normal.reference);
            let passage = figures(services, claim, (entry, &stance), reference, journal);
            let passage = JudgedPassage { agreement: best, rank, ..passage };
            if stance.on_topic {
                one.rules.extend(rules(&passage, entry, &stance.check));
                if !one.judges.contains(&stance.judge) {
                    one.judges.push(stance.judge);
                }
            }
            one.passages.push(passage);
            one.checks.push(stance.check);
        }
        judged.push(one);
    }
    Ok(judged)
}

struct PassageStance {
    on_topic: bool,
    /// After the number rule.
    probabilities: StanceProbabilities,
    check: NumberCheck,
    judge: Arc<str>,
}

impl PassageStance {
    fn takes_a_side(&self) -> bool {
        self.on_topic && self.probabilities.entail.max(self.probabilities.contradict) >= MIN_SIDE_PROBABILITY
    }
}

/// Judges every passage, in order.
async fn stances(
    services: &Services,
    claims: &[(&Claim, Vec<Ranked>)],
    look: JudgingDepth,
    journal: &Journal,
) -> Result<Vec<PassageStance>, PipelineError> {
    let entries = || claims.iter().flat_map(|(claim, ranked)| ranked.iter().map(move |entry| (*claim, entry)));
    // A passage below the floor decides nothing.
    let floor = services.settings.scoring.relevance_floor;
    let is_asked = |entry: &Ranked| look != JudgingDepth::ByRule && entry.relevance >= floor;
    let by_rule = entries().filter(|(_, entry)| !is_asked(entry));
    let by_rule: Vec<Pair> = by_rule.map(|(_, entry)| entry.pair.clone()).collect();
    let asked: Vec<(&Claim, &Ranked)> = entries().filter(|(_, entry)| is_asked(entry)).collect();
    let mut by_model = judged_once(services, &asked, journal).await?.into_iter();
    let mut by_rule = services.stances_by_rule(&by_rule).await?.into_iter();
    let mut stances = Vec::new();
    for (claim, entry) in entries() {
        let on_topic = entry.relevance >= floor;
        let Some(given) = (if is_asked(entry) { by_model.next() } else { by_rule.next() }) else { break };
        // In the original: translators change figures and dates most easily.
        let check = numbers::compare(&claim.profile, &entry.original);
        let probabilities = numbers::apply(given.probabilities, &check);
        stances.push(PassageStance { on_topic, probabilities, check, judge: given.judge });
    }
    Ok(stances)
}

fn rules(passage: &JudgedPassage, entry: &Ranked, check: &NumberCheck) -> Option<PassageRules> {
    let caps = caps::rule_ids(&entry.pair.claim, &entry.pair.passage);
    let rules: Vec<String> = caps.into_iter().chain(check.rule()).map(str::to_owned).collect();
    (!rules.is_empty()).then(|| PassageRules { evidence_id: passage.evidence_id.clone(), rules })
}

/// Returns one judgement per pair, in order; known pairs are not judged again.
async fn judged_once(
    services: &Services,
    asked: &[(&Claim, &Ranked)],
    journal: &Journal,
) -> Result<Vec<Judgement>, PipelineError> {
    let known: Vec<Option<Judgement>> = asked.iter().map(|(claim, entry)| claim.judgements.get(&entry.pair)).collect();
    let missing: Vec<&Ranked> =
        asked.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|((_, entry), _)| *entry).collect();
    let pairs: Vec<Pair> = missing.iter().map(|entry| entry.pair.clone()).collect();
    let judgements = services.stances(&pairs, journal).await?;
    let mut judgements =
        judgements.into_iter().zip(missing).map(|(judgement, entry)| mark_translated(judgement, entry));
    // A fallback is not kept, because the model may answer next time.
    let failed = |part: &str| journal.is_degraded_by(&Degradation::ModelFailed(part.to_owned()));
    let is_kept = !failed("stance") && !failed("translator");
    let judged = asked.iter().zip(known).map_while(|((claim, entry), known)| {
        let judgement = known.or_else(|| judgements.next())?;
        if is_kept {
            claim.judgements.keep(&entry.pair, &judgement);
        }
        Some(judgement)
    });
    Ok(judged.collect())
}

fn mark_translated(judgement: Judgement, entry: &Ranked) -> Judgement {
    if !entry.translated {
        return judgement;
    }
    Judgement { judge: Arc::from(format!("{}+{TRANSLATED}", judgement.judge)), ..judgement }
}

/// Sentences of a passage that are embedded per claim.
const SENTENCES: usize = 2;

/// Returns the similarity of each passage's best sentence, which a long passage must not hide.
async fn best_sentences(services: &Services, pairs: &[Option<&Pair>], journal: &Journal) -> Vec<Option<f64>> {
    let chosen: Vec<Vec<&str>> = pairs
        .iter()
        .map(|pair| pair.map(|pair| nearest_sentences(&pair.claim, &pair.passage)).unwrap_or_default())
        .collect();
    let by_words = |pair: &Pair| pair.passage.space == EmbeddingSpace::Words;
    let texts = pairs.iter().zip(&chosen).filter(|(pair, _)| pair.is_some_and(|pair| !by_words(pair)));
    let texts: Vec<&str> = texts.flat_map(|(_, texts)| texts).copied().collect();
    let mut embeddings = services.embed(&texts, journal).await.into_iter();
    let mut best = Vec::with_capacity(pairs.len());
    for (pair, sentences) in pairs.iter().zip(&chosen) {
        let Some(pair) = pair else {
            best.push(None);
            continue;
        };
        // A sentence with a pronoun lacks the passage's name.
        let mut nearest = agreement(&pair.claim, &pair.passage);
        for text in sentences {
            let embedding =
                if by_words(pair) { services.embed_words(text) } else { embeddings.next().unwrap_or_default() };
            let sentence = TextProfile::of_names(text, pair.passage.language.as_deref())
                .embedded(embedding.vector, embedding.space);
            nearest = nearest.max(agreement(&pair.claim, &sentence));
        }
        best.push(Some(nearest));
    }
    best
}

/// Returns nothing for a passage of one sentence.
fn nearest_sentences<'a>(claim: &TextProfile, passage: &'a TextProfile) -> Vec<&'a str> {
    if passage.sentences.len() < 2 {
        return Vec::new();
    }
    let mut ranked: Vec<(f64, &SentenceProfile)> =
        passage.sentences.iter().map(|sentence| (sentence_coverage(claim, sentence), sentence)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let texts = ranked.into_iter().filter_map(|(_, sentence)| passage.text.get(sentence.start..sentence.end));
    texts.take(SENTENCES).collect()
}

/// Returns the passage without agreement and rank.
fn figures(
    services: &Services,
    claim: &Claim,
    (entry, stance): (&Ranked, &PassageStance),
    reference: DateTime<Utc>,
    journal: &Journal,
) -> JudgedPassage {
    let (page, given) = (&entry.read.page, stance.probabilities);
    let half_life = quality::half_life_days(&claim.profile, &services.settings.scoring.half_lives);
    let dated = page.published_at.max(page.changed_at);
    let fresh = quality::freshness(reference, dated, journal.evaluated_at, half_life);
    let specificity = quality::specificity(&entry.pair.claim, &entry.pair.passage);
    let source_type = page.source_type(&services.rules.current());
    JudgedPassage {
        evidence_id: page.id.clone(),
        url: page.url.to_string(),
        domain: page.domain.clone(),
        title: page.title.clone(),
        published_at: page.published_at,
        language: page.language.clone(),
        passage: entry.text.clone(),
        // Adding zero turns -0.0 into 0.0.
        entail: given.entail + 0.0,
        contradict: given.contradict + 0.0,
        neutral: given.neutral + 0.0,
        agreement: 0.0,
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
        num_ok: stance.check.num_ok,
        independent_group: entry.group.clone(),
        source_type,
        origin: match entry.read.origin() {
            Origin::Web if source_type == SourceType::FactChecker => Origin::FactCheck,
            origin => origin,
        },
        provider: entry.read.provider.to_owned(),
        rank: 0,
        out_of_context: is_of_an_older_time(&claim.profile, page.published_at),
        judge: Some(stance.judge.as_ref().to_owned()),
        adjudication: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_names_each_kind_of_judge_when_several_judged() {
        let by = |judges: &[&str]| {
            let judges = judges.iter().map(|judge| Arc::from(*judge)).collect();
            JudgedClaim { judges, ..JudgedClaim::default() }.judge()
        };
        assert_eq!(by(&[]), "rules", "there was nothing to judge");
        assert_eq!(by(&["rules"]), "rules");
        assert_eq!(by(&["model:minilm"]), "model:minilm");
        assert_eq!(by(&["rules", "model:minilm"]), "model:minilm+rules");
        assert_eq!(by(&["model:minilm+translated"]), "model:minilm+translated");
        assert_eq!(by(&["rules+translated", "model:minilm"]), "model:minilm+rules+translated");
        assert_eq!(by(&["rules+translated"]), "rules+translated");
        assert_eq!(by(&["rules", "llm:qwen"]), "rules+llm:qwen");
        assert_eq!(by(&["model:minilm", "rules", "llm:qwen"]), "model:minilm+rules+llm:qwen");
    }

    #[test]
    fn the_sentences_that_share_most_words_are_the_ones_embedded() {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        let claim = profile("The mayor of Odesa resigned on Monday.");
        let passage = profile("It rained. The council met. The mayor of Odesa resigned. On Monday the mayor spoke.");
        assert_eq!(nearest_sentences(&claim, &passage), ["The mayor of Odesa resigned.", "On Monday the mayor spoke."]);
        assert!(nearest_sentences(&claim, &profile("The mayor resigned.")).is_empty(), "it is the passage");
    }
}
