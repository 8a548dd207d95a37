//! Commits the result, its evidence, the idempotency key and all messages in one transaction.
//! If another run was committed meanwhile, it commits again with a later date, or drops the result.
//! The module never sends a message.

use std::sync::atomic::Ordering;

use chrono::TimeDelta;

use super::decide::DecidedClaim;
use super::events::{Events, Rejudging, ReplyAddress};
use super::fact_check::Reviews;
use super::judge::JudgedItem;
use super::normalise::NormalisedItem;
use super::page::PreparedPage;
use super::run_context::{Request, RunContext};
use super::services::{PipelineError, Services};
use crate::domain::result::ItemResult;
use crate::domain::verdict::{Origin, Stance};
use crate::domain::{Item, MessageId, ids};
use crate::providers::knowledge;
use crate::store::{
    ClaimCommit, Commit, CommitOutcome, EvidenceClaimRow, EvidenceUse, OutboxDraft, RunStart, WebhookDraft,
};

/// Smallest step between dates of messages: one millisecond.
pub(super) const NEXT: TimeDelta = TimeDelta::milliseconds(1);

/// Sentences per page for the evidence store: the most relevant ones.
const SENTENCES_PER_PAGE: usize = 3;

/// What the stages before made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Findings<'a> {
    /// The item without the pages of its links.
    pub(super) sent: &'a Item,
    pub(super) start: &'a RunStart,
    pub(super) hash: &'a str,
    pub(super) normal: &'a NormalisedItem,
    pub(super) decided: &'a [DecidedClaim],
    pub(super) judged: &'a JudgedItem,
    pub(super) reviews: &'a Reviews,
}

pub(super) async fn commit(
    run: RunContext<'_>,
    findings: Findings<'_>,
    result: &mut ItemResult,
) -> Result<CommitOutcome, PipelineError> {
    let RunContext { services, request, phase, .. } = run;
    let Findings { sent, start, hash, normal, decided, judged, reviews } = findings;
    let rules = services.rules.current();
    let threshold = request.item.options.confidence_threshold();
    loop {
        let claims = decided
            .iter()
            .enumerate()
            .map(|(position, one)| ClaimCommit {
                claim: &one.result,
                claim_date: one.claim_date,
                confidence_threshold: threshold,
                searched: judged.searched,
                auto_correct: request.item.options.auto_correct(),
                passages: judged.claims.get(position).map_or(&[], |claim| claim.passages.as_slice()),
                reviews: reviews.get(position).map_or(&[], Vec::as_slice),
            })
            .collect();
        let fresh: Vec<&std::sync::Arc<PreparedPage>> =
            judged.pages.iter().filter(|page| !page.stored.load(Ordering::Relaxed)).collect();
        let now = services.clock.now();
        let (outbox, webhooks) = outgoing(services, request, result)?;
        let commit = Commit {
            item: &request.item,
            sent,
            text: normal.main_text(),
            phase,
            content_hash: hash,
            start,
            sent_at: request.sent_at,
            message_id: request.message_id.as_deref(),
            why: request.rejudging.as_ref().map(|rejudging| rejudging.why),
            embedding: &normal.embedding,
            result,
            claims,
            sources: fresh.iter().map(|page| page.row(&rules, now)).collect(),
            evidence_claims: evidence_claims(services, &normal.embedder, &fresh, judged),
            uses: uses(services.settings.scoring.relevance_floor, decided, judged),
            embedder: &normal.embedder,
            same_sentence: services.settings.dedup_similarity,
            similar_item: services.settings.similar_item_threshold,
            outbox,
            webhooks,
            keep: TimeDelta::from_std(services.settings.evidence_ttl).unwrap_or(TimeDelta::days(30)),
            now,
        };
        match services.store.commit(&commit).await? {
            // Terminates: each repetition means that another run was written.
            CommitOutcome::TooEarly(last) => {
                result.enriched_at = services.clock.now().max(last + NEXT);
            }
            committed => {
                for page in fresh.iter().filter(|_| committed == CommitOutcome::Written) {
                    page.stored.store(true, Ordering::Relaxed);
                }
                return Ok(committed);
            }
        }
    }
}

/// Returns the messages. A re-evaluation only sends changes with their reason.
fn outgoing(
    services: &Services,
    request: &Request,
    result: &ItemResult,
) -> Result<(Vec<OutboxDraft>, Vec<WebhookDraft>), PipelineError> {
    let listeners = services.settings.listeners();
    let (events, reply) = if let Some(Rejudging { why, before, .. }) = &request.rejudging {
        (Events::of_change(before, result, *why, result.enriched_at), ReplyAddress::default())
    } else {
        let (reply_to, correlation_id) = (request.reply_to.as_deref(), request.correlation_id.as_deref());
        (Events::of_result(result)?, ReplyAddress { reply_to, correlation_id })
    };
    Ok((events.outbox(&listeners, reply), events.webhooks(&listeners)))
}

/// Sends the stored result to the reply address.
pub(super) async fn answer_again(services: &Services, request: &Request) -> Result<(), PipelineError> {
    let (Some(reply_to), true) = (&request.reply_to, services.settings.results_exchange.is_some()) else {
        return Ok(());
    };
    let Some(stored) = services.store.item(&request.item.item_id).await? else { return Ok(()) };
    let now = services.clock.now();
    let body = serde_json::to_string(&stored.result)
        .map_err(|error| crate::store::StoreError::Corrupt { detail: error.to_string() })?;
    let draft = OutboxDraft {
        exchange: None,
        routing_key: reply_to.clone(),
        body,
        correlation_id: request.correlation_id.clone(),
        message_id: MessageId::new(format!("{}:{}:again", request.item.item_id, now.timestamp_micros())),
    };
    services.store.write_outbox(&[draft], now).await?;
    Ok(())
}

/// Returns each new page's best passages. Vectors of another embedder are left out, because they would be stored under
/// the wrong name.
fn evidence_claims(
    services: &Services,
    embedder: &str,
    fresh: &[&std::sync::Arc<PreparedPage>],
    judged: &JudgedItem,
) -> Vec<EvidenceClaimRow> {
    let mut rows: Vec<EvidenceClaimRow> = Vec::new();
    // Own texts are queried directly.
    for page in fresh.iter().filter(|page| page.origin == Origin::Web) {
        let mut of_page: Vec<&crate::domain::evidence::JudgedPassage> = judged
            .claims
            .iter()
            .flat_map(|claim| &claim.passages)
            .filter(|passage| passage.evidence_id == page.id)
            .collect();
        of_page.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then_with(|| a.passage.cmp(&b.passage)));
        of_page.dedup_by(|a, b| a.passage == b.passage);
        for passage in of_page.into_iter().take(SENTENCES_PER_PAGE) {
            let Some(piece) = page.passages.iter().find(|piece| piece.text == passage.passage) else { continue };
            let Some(profile) = piece.profile() else { continue };
            if services.embedder_of(&profile.text, profile.space) != embedder {
                continue;
            }
            rows.push(EvidenceClaimRow {
                evidence_id: page.id.clone(),
                claim_text: passage.passage.clone(),
                embedding: profile.embedding.clone(),
                entities: profile.entities.iter().map(|entity| entity.key.clone()).collect(),
                relevance: passage.relevance,
            });
        }
    }
    rows
}

/// Returns the judged passages of the evidence store. One is deciding if it and the verdict take a side.
fn uses(floor: f64, decided: &[DecidedClaim], judged: &JudgedItem) -> Vec<EvidenceUse> {
    let claims = decided.iter().zip(&judged.claims);
    claims
        .flat_map(|(one, seen)| {
            let takes_a_side = one.result.verdict.needs_evidence();
            seen.passages.iter().map(move |passage| (takes_a_side, passage))
        })
        .filter(|(_, passage)| passage.provider == knowledge::NAME && passage.relevance >= floor)
        .map(|(takes_a_side, passage)| EvidenceUse {
            evidence_id: passage.evidence_id.clone(),
            claim_hash: ids::sentence_hash(&passage.passage),
            passage_hash: ids::passage_hash(&passage.passage),
            relevance: passage.relevance,
            deciding: takes_a_side && passage.stance() != Stance::Neutral,
        })
        .collect()
}
