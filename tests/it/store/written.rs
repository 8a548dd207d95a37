//! What the tests of the store write.

use chrono::{DateTime, TimeDelta, Utc};
use corroborate::domain::evidence::JudgedPassage;
use corroborate::domain::result::{ClaimResult, Context, Cost, Features, ItemResult};
use corroborate::domain::verdict::{ClaimKind, Origin, Phase, SourceType, Status, Tier, Verdict};
use corroborate::domain::{Item, ids};
use corroborate::store::{
    ClaimCommit, Commit, CommitOutcome, EvidenceClaimRow, OutboxDraft, RunStart, Source, Store, StoreError,
};

pub(super) const EMBEDDER: &str = "hashed-ngrams";
pub(super) const TEXT: &str = "The bridge opened.";
const REVIEWS: [&str; 1] = [r#"{"claim": "It fell.", "url": "https://c.example", "publisher": "C", "rating": "True"}"#];

pub(super) fn day(number: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_760_000_000, 0).unwrap() + TimeDelta::days(number)
}

pub(super) fn vector(direction: usize) -> Vec<f32> {
    (0..384).map(|position| if position % 7 == direction % 7 { 0.135 } else { -0.01 }).collect()
}

pub(super) fn source(url: &str, now: DateTime<Utc>) -> Source {
    Source {
        id: ids::evidence_id(url),
        url: url.to_owned(),
        domain: "example.org".to_owned(),
        title: Some("A title".to_owned()),
        published_at: None,
        language: Some("en".to_owned()),
        raw_text: "The bridge opened.\u{0} Twice.".to_owned(),
        source_type: "news".to_owned(),
        content_hash: None,
        independent_group: None,
        canonical: None,
        final_url: None,
        based_on: vec![],
        claim_reviews: REVIEWS.map(|text| serde_json::from_str(text).unwrap()).to_vec(),
        publisher: None,
        extraction_failed: false,
        failure: None,
        etag: None,
        last_modified: None,
        origin: Origin::Web,
        fetched_at: now,
        expires_at: now + TimeDelta::days(30),
    }
}

pub(super) fn passage(url: &str, entail: f64, contradict: f64) -> JudgedPassage {
    JudgedPassage {
        evidence_id: ids::evidence_id(url),
        url: url.to_owned(),
        domain: "example.org".to_owned(),
        title: None,
        published_at: None,
        language: None,
        passage: "The bridge opened.".to_owned(),
        entail,
        contradict,
        neutral: 0.0,
        agreement: 0.9,
        relevance: 0.9,
        credibility: 0.5,
        freshness: 0.5,
        specificity: 0.9,
        quality: 0.6,
        num_ok: None,
        independent_group: "g1".to_owned(),
        source_type: SourceType::News,
        origin: Origin::Web,
        provider: "searxng".to_owned(),
        rank: 1,
        judge: Some("model:test".into()),
        out_of_context: false,
        adjudication: None,
    }
}

pub(super) fn claim(item: &str, verdict: Verdict) -> ClaimResult {
    ClaimResult {
        claim_id: ids::claim_id(item, "The bridge opened."),
        text: "The bridge opened.".to_owned(),
        kind: ClaimKind::Factual,
        source: 0,
        entities: Vec::new(),
        why_checkable: None,
        judge: "rules".to_owned(),
        verdict,
        decisive: false,
        confidence: 0.5,
        score: Some(60),
        tier: Tier::Medium,
        agreement: 0.9,
        contradiction: false,
        notes: vec![],
        features: Features::default(),
        decision: None,
        justification: String::new(),
        citations: vec![1],
        evidence: vec![],
        correction: None,
    }
}

pub(super) fn result(item: &str, claims: Vec<ClaimResult>, now: DateTime<Utc>) -> ItemResult {
    ItemResult {
        schema: 1,
        item_id: item.to_owned(),
        message_id: None,
        enriched_at: now,
        status: Status::Complete,
        degraded: vec![],
        language: Some("en".to_owned()),
        tier: Some(Tier::Medium),
        score: Some(60),
        agreement: 0.9,
        contradiction: false,
        notes: vec![],
        also_reported_by: vec![],
        explanation: None,
        overall_summary: None,
        sources_checked: vec![],
        fact_checks: vec![],
        claims,
        main_claim: None,
        context: Context::default(),
        cost: Cost::default(),
        trace: vec![],
    }
}

fn sentence(url: &str) -> EvidenceClaimRow {
    let (evidence_id, claim_text) = (ids::evidence_id(url), "The bridge opened.".to_owned());
    EvidenceClaimRow { evidence_id, claim_text, embedding: vector(1), entities: vec![], relevance: 0.9 }
}

pub(super) struct Written<'a> {
    pub(super) item: &'a str,
    pub(super) channel: Option<&'a str>,
    pub(super) verdict: Verdict,
    pub(super) passages: Vec<JudgedPassage>,
    pub(super) now: DateTime<Utc>,
}

pub(super) async fn write(store: &Store, written: Written<'_>) -> Result<(), StoreError> {
    write_with(store, written, &[URL]).await
}

pub(super) async fn write_with(store: &Store, written: Written<'_>, urls: &[&str]) -> Result<(), StoreError> {
    let run =
        Run { start: &store.begin(written.item).await?, text: TEXT, phase: Phase::Two, degraded: &[], sent_at: None };
    assert_eq!(commit(store, run, written, urls).await?, CommitOutcome::Written);
    Ok(())
}

/// One run of the pipeline on an item.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) start: &'a RunStart,
    pub(super) text: &'a str,
    pub(super) phase: Phase,
    pub(super) degraded: &'a [&'a str],
    pub(super) sent_at: Option<DateTime<Utc>>,
}

pub(super) async fn commit(
    store: &Store,
    run: Run<'_>,
    written: Written<'_>,
    urls: &[&str],
) -> Result<CommitOutcome, StoreError> {
    commit_for(store, run, written, urls, TimeDelta::days(30)).await
}

/// The same for an item and pages that are kept for so long.
pub(super) async fn commit_for(
    store: &Store,
    run: Run<'_>,
    written: Written<'_>,
    urls: &[&str],
    keep: TimeDelta,
) -> Result<CommitOutcome, StoreError> {
    let page = |url: &&str| Source { expires_at: written.now + keep, ..source(url, written.now) };
    let mut item = Item::from_claim(written.item.to_owned(), run.text);
    item.channel = written.channel.map(str::to_owned);
    let mut result = result(written.item, vec![claim(written.item, written.verdict)], written.now);
    result.degraded = run.degraded.iter().map(|&cause| cause.to_owned()).collect();
    let commit = Commit {
        item: &item,
        sent: &item,
        text: run.text,
        phase: run.phase,
        content_hash: &item.content_hash(),
        start: run.start,
        sent_at: run.sent_at,
        message_id: Some("m1"),
        why: None,
        embedding: &vector(1),
        result: &result,
        claims: vec![ClaimCommit {
            claim: &result.claims[0],
            claim_date: None,
            confidence_threshold: 0.85,
            searched: true,
            auto_correct: true,
            passages: &written.passages,
            reviews: &[],
        }],
        sources: urls.iter().map(page).collect(),
        uses: vec![],
        embedder: EMBEDDER,
        same_sentence: 0.98,
        similar_item: 0.9,
        evidence_claims: urls.iter().map(|url| sentence(url)).collect(),
        webhooks: Vec::new(),
        outbox: vec![OutboxDraft {
            exchange: Some("results".to_owned()),
            routing_key: "item.enriched".to_owned(),
            body: "{}".to_owned(),
            correlation_id: None,
            message_id: item.item_id.clone().into(),
        }],
        keep,
        now: written.now,
    };
    store.commit(&commit).await
}

pub(super) const URL: &str = "https://example.org/bridge";
