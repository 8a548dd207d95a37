//! Correction: the judge that decided is asked whether a cited passage bears out the text that is proposed in a claim's place.
//! The rules around that are in `judging`.

use std::sync::Arc;

use super::embedding::Embedding;
use super::rounding::round;
use super::{Journal, PipelineError, Services};
use crate::domain::evidence::JudgedPassage;
use crate::domain::result::BorneOut;
use crate::inference::Pair;
use crate::judging::correction::{Asked, Found, Proposal, Subject, propose};
use crate::judging::numbers;
use crate::judging::profile::{EmbeddingSpace, TextProfile};

/// A proposed text and the passages that are to bear it out: three at most.
#[derive(Debug)]
pub(super) struct Question<'a> {
    claim: Subject<'a>,
    proposal: Proposal,
    passages: Vec<&'a JudgedPassage>,
}

impl<'a> Question<'a> {
    /// `None` where nothing is proposed.
    pub(super) fn new(claim: Subject<'a>, found: &Found<'a>) -> Option<Self> {
        let proposal = propose(&claim, found)?;
        let passages = proposal.passages.iter().filter_map(|index| found.passages.get(*index)).collect();
        Some(Self { claim, proposal, passages })
    }
}

/// What the judge says of each question, in order. All pairs are put to it at once.
pub(super) async fn ask(
    services: &Services,
    questions: &[Option<Question<'_>>],
    journal: &Journal,
) -> Result<Vec<Option<Asked>>, PipelineError> {
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
    let mut answer = |question: &Question<'_>| Asked {
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

/// The two texts with vectors that may be compared: by hashed words where the embedder reads only one of them.
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
