//! Commits the result, its evidence, the idempotency key and all messages in one transaction.
//! If another run was committed meanwhile, it commits again with a later date, or drops the result.
//! The module never sends a message.

use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use serde_json::json;

use super::changed::{Messages, Rejudging};
use super::decide::DecidedClaim;
use super::fact_check::Reviews;
use super::judge::JudgedItem;
use super::normalise::NormalisedItem;
use super::page::PreparedPage;
use super::services::WebhookTarget;
use super::{PipelineError, Request, Services};
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::verdict::{Origin, Phase, Stance, Verdict};
use crate::domain::{Event, Item, MessageId, ids};
use crate::providers::knowledge;
use crate::store::{
    ClaimCommit, Commit, CommitOutcome, EvidenceClaimRow, EvidenceUse, OutboxDraft, RunStart, WebhookDraft,
};

/// Smallest step between dates of messages: one millisecond.
pub(super) const NEXT: TimeDelta = TimeDelta::milliseconds(1);

/// Sentences per page for the evidence store: the most relevant ones.
const SENTENCES_PER_PAGE: usize = 3;

#[expect(clippy::too_many_arguments, reason = "the last stage takes what every stage before it made")]
pub(super) async fn commit(
    services: &Services,
    request: &Request,
    sent: &Item,
    phase: Phase,
    start: &RunStart,
    hash: &str,
    normal: &NormalisedItem,
    decided: &[DecidedClaim],
    judged: &JudgedItem,
    reviews: &Reviews,
    result: &mut ItemResult,
) -> Result<CommitOutcome, PipelineError> {
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
            outbox,
            webhooks,
            keep: TimeDelta::from_std(services.settings.evidence_ttl).unwrap_or(TimeDelta::days(30)),
            now,
        };
        match services.store.commit(&commit, services.settings.dedup_similarity).await? {
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

/// Builds the messages. A re-evaluation only sends changes with their reason.
fn outgoing(
    services: &Services,
    request: &Request,
    result: &ItemResult,
) -> Result<(Vec<OutboxDraft>, Vec<WebhookDraft>), PipelineError> {
    if let Some(Rejudging { why, before, .. }) = &request.rejudging {
        let changed = Messages::of(before, result, *why, result.enriched_at, &services.settings.listeners());
        return Ok((changed.outbox, changed.webhooks));
    }
    let outgoing = OutgoingEvent::all(result)?;
    Ok((messages(services, request, result, &outgoing), hooks(services, result, &outgoing)))
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

struct OutgoingEvent {
    event: Event,
    /// JSON text.
    body: String,
    suffix: String,
}

impl OutgoingEvent {
    /// Returns an id that is stable per message, so that receivers can detect copies.
    fn id(result: &ItemResult, suffix: &str) -> MessageId {
        MessageId::new(format!("{}:{}:{suffix}", result.item_id, result.enriched_at.timestamp_micros()))
    }

    /// Returns the result first.
    fn all(result: &ItemResult) -> Result<Vec<Self>, PipelineError> {
        let whole = serde_json::to_string(result)
            .map_err(|error| crate::store::StoreError::Corrupt { detail: error.to_string() })?;
        let mut all = vec![Self { event: Event::ItemEnriched, body: whole, suffix: "result".to_owned() }];
        for claim in &result.claims {
            let body = signal(result, claim).to_string();
            all.push(Self { event: signal_event(claim), body, suffix: claim.claim_id.clone() });
            if let Some(correction) = &claim.correction {
                let body = json!({
                    "schema": 1, "item_id": result.item_id, "claim_id": claim.claim_id, "verdict": claim.verdict,
                    "confidence": claim.confidence, "correction": correction,
                });
                let suffix = format!("{}:correction", claim.claim_id);
                all.push(Self { event: Event::CorrectionGenerated, body: body.to_string(), suffix });
            }
        }
        Ok(all)
    }
}

/// Sends the result to `reply_to` too.
fn messages(
    services: &Services,
    request: &Request,
    result: &ItemResult,
    outgoing: &[OutgoingEvent],
) -> Vec<OutboxDraft> {
    let Some(exchange) = &services.settings.results_exchange else { return Vec::new() };
    let draft = |exchange: Option<&str>, key: &str, outgoing: &OutgoingEvent, suffix: &str| OutboxDraft {
        exchange: exchange.map(str::to_owned),
        routing_key: key.to_owned(),
        body: outgoing.body.clone(),
        correlation_id: request.correlation_id.clone(),
        message_id: OutgoingEvent::id(result, suffix),
    };
    let reply = request.reply_to.as_deref().zip(outgoing.first()).map(|(to, result)| draft(None, to, result, "reply"));
    let published =
        outgoing.iter().map(|outgoing| draft(Some(exchange), outgoing.event.as_str(), outgoing, &outgoing.suffix));
    reply.into_iter().chain(published).collect()
}

fn hooks(services: &Services, result: &ItemResult, outgoing: &[OutgoingEvent]) -> Vec<WebhookDraft> {
    let at = result.enriched_at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let draft = |webhook: &WebhookTarget, outgoing: &OutgoingEvent| WebhookDraft {
        webhook: webhook.name.clone(),
        event: outgoing.event,
        // The parts are JSON or need no escaping.
        body: format!(r#"{{"type":"{}","timestamp":"{at}","data":{}}}"#, outgoing.event, outgoing.body),
        message_id: OutgoingEvent::id(result, &outgoing.suffix),
    };
    let wanted = services.settings.webhooks.iter().flat_map(|webhook| {
        outgoing
            .iter()
            .filter(|outgoing| webhook.subscribes_to(outgoing.event))
            .map(move |outgoing| (webhook, outgoing))
    });
    wanted.map(|(webhook, outgoing)| draft(webhook, outgoing)).collect()
}

pub fn signal_event(claim: &ClaimResult) -> Event {
    match claim.verdict {
        Verdict::Supported if claim.decisive => Event::ClaimVerified,
        Verdict::Refuted if claim.decisive => Event::ClaimContradicted,
        Verdict::Outdated if claim.decisive => Event::ClaimOutdated,
        Verdict::Outdated | Verdict::Supported | Verdict::Refuted | Verdict::Contested | Verdict::Misleading => {
            Event::ClaimContested
        }
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => Event::ClaimUnverifiable,
    }
}

fn signal(result: &ItemResult, claim: &ClaimResult) -> serde_json::Value {
    let key = |stance: Stance| claim.evidence.iter().find(|row| row.stance == stance);
    let mut signal = json!({
        "schema": 1, "item_id": result.item_id, "claim_id": claim.claim_id, "verdict": claim.verdict,
        "confidence": claim.confidence,
    });
    let own = match claim.verdict {
        Verdict::Supported => json!({ "key_evidence": key(Stance::Supports) }),
        Verdict::Refuted => json!({ "contradiction": key(Stance::Contradicts).map(|row| &row.passage),
            "key_evidence": key(Stance::Contradicts) }),
        Verdict::Outdated => json!({ "contradiction": key(Stance::Contradicts).map(|row| &row.passage),
            "was_true_until": key(Stance::Contradicts).and_then(|row| row.published_at) }),
        Verdict::Contested | Verdict::Misleading => json!({ "key_evidence": key(Stance::Supports),
            "contradiction": key(Stance::Contradicts).map(|row| &row.passage) }),
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => {
            json!({ "sources_checked": result.sources_checked.len() })
        }
    };
    if let (Some(signal), serde_json::Value::Object(own)) = (signal.as_object_mut(), own) {
        signal.extend(own);
    }
    signal
}
