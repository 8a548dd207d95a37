//! Asks the NLI model whether passages support a proposed correction.
//! Steps: judge the rules' proposals; for the other claims, judge a language model's if enabled.
//! Unsupported texts are never used. The rules are in `judging`.

use std::sync::Arc;

use serde_json::Value;

use super::embedding::Embedding;
use super::language_model::{discarded, text_for_readers};
use super::rounding::round;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::evidence::JudgedPassage;
use crate::domain::result::BorneOut;
use crate::inference::Pair;
use crate::inference::llm::Purpose;
use crate::inference::llm::texts::{CitedClaim, correction as correction_of, read_by_claim};
use crate::judging::correction::{self, CorrectionInput, Proposal, ProposalSupport, Subject, propose};
use crate::judging::numbers;
use crate::judging::profile::{EmbeddingSpace, TextProfile};

/// A proposed text and up to three passages for it.
#[derive(Debug)]
struct Question<'a> {
    claim: Subject<'a>,
    proposal: Proposal,
    passages: Vec<&'a JudgedPassage>,
}

impl<'a> Question<'a> {
    fn new(claim: Subject<'a>, found: &CorrectionInput<'a>, proposal: Proposal) -> Self {
        let passages = proposal.passages.iter().filter_map(|index| found.passages.get(*index)).collect();
        Self { claim, proposal, passages }
    }
}

/// Returns the judged proposal per claim, in order; `None` without a proposal.
pub(super) async fn ask(
    services: &Services,
    claims: &[(Subject<'_>, CorrectionInput<'_>)],
    journal: &Journal,
) -> Result<Vec<Option<ProposalSupport>>, PipelineError> {
    let by_rule: Vec<Option<Question<'_>>> = claims
        .iter()
        .map(|(claim, found)| propose(claim, found).map(|proposal| Question::new(*claim, found, proposal)))
        .collect();
    let mut asked = judged(services, &by_rule, journal).await?;
    let Some(texts) = texts_by_model(services, claims, &asked, journal).await else { return Ok(asked) };
    let worded: Vec<Option<Question<'_>>> = claims
        .iter()
        .zip(&texts)
        .map(|((claim, found), text)| {
            let proposal = correction::worded(claim, found, text.as_deref()?);
            Some(Question::new(*claim, found, proposal?))
        })
        .collect();
    let answers = judged(services, &worded, journal).await?;
    for (((slot, answer), claim), text) in asked.iter_mut().zip(answers).zip(claims).zip(&texts) {
        let holds = is_replaced(claim, answer.as_ref());
        if holds {
            *slot = answer;
        } else if text.is_some() {
            discarded(Purpose::Correct, "no cited passage supports it", journal);
        }
    }
    Ok(asked)
}

/// Whether the proposal replaces the claim, not only quotes a passage.
fn is_replaced((claim, found): &(Subject<'_>, CorrectionInput<'_>), asked: Option<&ProposalSupport>) -> bool {
    asked.is_some() && correction::correct(claim, found, asked).is_some_and(|text| !text.borne_out.is_empty())
}

/// Returns a language model's texts for claims without a valid proposal; `None` if it failed.
async fn texts_by_model(
    services: &Services,
    claims: &[(Subject<'_>, CorrectionInput<'_>)],
    asked: &[Option<ProposalSupport>],
    journal: &Journal,
) -> Option<Vec<Option<String>>> {
    services.language_model_for(Purpose::Correct)?;
    let wrong = claims.iter().zip(asked).enumerate().filter_map(|(place, (one, asked))| {
        let (claim, found) = one;
        let against = correction::to_word_from(found).into_iter().filter_map(|index| found.passages.get(index));
        let passages: Vec<(usize, String)> = (1..).zip(against.map(|passage| passage.passage.clone())).collect();
        let is_open = !passages.is_empty() && !is_replaced(one, asked.as_ref());
        is_open.then(|| (place, CitedClaim { text: claim.text.to_owned(), verdict: None, passages }))
    });
    let (places, wrong): (Vec<usize>, Vec<CitedClaim>) = wrong.unzip();
    let read = |answer: &Value| read_by_claim(answer, wrong.len());
    let corrected = text_for_readers(services, Purpose::Correct, correction_of(&wrong), read, journal).await?;
    let mut texts: Vec<Option<String>> = vec![None; claims.len()];
    for (place, text) in places.into_iter().zip(corrected) {
        if let Some(slot) = texts.get_mut(place) {
            *slot = text;
        }
    }
    Some(texts)
}

/// Judges all proposals in one batch.
async fn judged(
    services: &Services,
    questions: &[Option<Question<'_>>],
    journal: &Journal,
) -> Result<Vec<Option<ProposalSupport>>, PipelineError> {
    let wanted = || questions.iter().flatten();
    let texts: Vec<&str> = wanted()
        .flat_map(|question| {
            let passages = question.passages.iter().map(|passage| passage.passage.as_str());
            std::iter::once(question.proposal.text.as_str()).chain(passages)
        })
        .collect();
    if texts.is_empty() {
        return Ok(questions.iter().map(|_| None).collect());
    }
    let mut embeddings = services.embed(&texts, journal).await.into_iter();
    let mut pairs = Vec::with_capacity(texts.len());
    for question in wanted() {
        let text = question.claim.profile_of(&question.proposal.text);
        let own = embeddings.next().unwrap_or_default();
        for passage in &question.passages {
            let theirs = embeddings.next().unwrap_or_default();
            pairs.push(pair(services, text.clone(), own.clone(), passage, theirs));
        }
    }
    let mut judged = services.stances(&pairs, journal).await?.into_iter().zip(&pairs).map(|(judgement, pair)| {
        numbers::apply(judgement.probabilities, &numbers::compare(&pair.claim, &pair.passage)).entail
    });
    let mut answer = |question: &Question<'_>| ProposalSupport {
        text: question.proposal.text.clone(),
        borne_out: question
            .passages
            .iter()
            .zip(&mut judged)
            .map(|(passage, entail)| BorneOut { evidence_id: passage.evidence_id.clone(), entail: round(entail) })
            .collect(),
    };
    Ok(questions.iter().map(|question| question.as_ref().map(&mut answer)).collect())
}

/// Pairs the texts; by hashed words if the embedder reads only one of them.
fn pair(services: &Services, text: TextProfile, own: Embedding, passage: &JudgedPassage, theirs: Embedding) -> Pair {
    let (own, theirs) = if own.space == theirs.space {
        (own, theirs)
    } else {
        let by_words = |embedding: Embedding, text: &str| match embedding.space {
            EmbeddingSpace::Words => embedding,
            EmbeddingSpace::Meaning => services.embed_words(text),
        };
        (by_words(own, &text.text), by_words(theirs, &passage.passage))
    };
    let other = TextProfile::new(&passage.passage, passage.language.as_deref(), passage.published_at, &[]);
    Pair {
        claim: Arc::new(text.embedded(own.vector, own.space)),
        passage: Arc::new(other.embedded(theirs.vector, theirs.space)),
    }
}
