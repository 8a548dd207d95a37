//! Asks the NLI model whether passages support a proposed correction.
//! Steps: judge the rules' proposals; for the other claims, judge a language model's if enabled.
//! Unsupported texts are never used. The rules are in `judging`.

use std::sync::Arc;

use super::embedding::Embedding;
use super::language_model;
use super::rounding::round;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::evidence::JudgedPassage;
use crate::domain::result::BorneOut;
use crate::inference::Pair;
use crate::inference::llm::correction::{WrongClaim, question, read};
use crate::inference::llm::{LlmError, Purpose};
use crate::judging::correction::{self, CorrectionInput, Proposal, ProposalSupport, Subject, propose};
use crate::judging::numbers;
use crate::judging::profile::{EmbeddingSpace, TextProfile};
use crate::telemetry::metrics;

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
            metrics::llm_discarded(Purpose::Correct.as_str());
            journal.trace("correct: the language model's text was thrown away, for no cited passage bears it out");
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
    let model = services.language_model_for(Purpose::Correct)?;
    let (places, wrong): (Vec<usize>, Vec<WrongClaim<'_>>) = claims
        .iter()
        .zip(asked)
        .enumerate()
        .filter(|(_, (claim, asked))| !is_replaced(claim, asked.as_ref()))
        .filter_map(|(place, ((claim, found), _))| {
            let against = correction::to_word_from(found);
            let passages = against.iter().filter_map(|index| found.passages.get(*index));
            let passages: Vec<&str> = passages.map(|passage| passage.passage.as_str()).collect();
            (!passages.is_empty()).then_some((place, WrongClaim { text: claim.text, passages }))
        })
        .unzip();
    let question = question(&wrong)?;
    let is_read = |answer: &serde_json::Value| read(answer, wrong.len()).is_some();
    let answer = model.ask_believing(&question, &journal.llm, journal.judge_until, &is_read).await;
    let corrected = answer.and_then(|answer| {
        let unreadable =
            || LlmError::Unreadable { detail: "it words none of the claims it was asked about".to_owned() };
        read(&answer.value, wrong.len()).ok_or_else(unreadable)
    });
    match corrected {
        Ok(corrected) => {
            let mut texts: Vec<Option<String>> = claims.iter().map(|_| None).collect();
            for (place, text) in places.into_iter().zip(corrected) {
                if let Some(slot) = texts.get_mut(place) {
                    *slot = text;
                }
            }
            Some(texts)
        }
        Err(error) => {
            language_model::unworded(model.name(), "correct", &error, journal);
            None
        }
    }
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
