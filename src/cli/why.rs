//! `why` explains a claim's verdict from its stored passages; `evidence` shows the evidence of an item.
//!
//! They judge nothing again.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Api, segment};
use super::failure::Failure;
use super::output::{Colour, Output};
use super::render;
use crate::config::Config;
use crate::domain::ItemResult;
use crate::domain::result::ClaimResult;
use crate::judging::plain::plain;
use crate::judging::vocabularies::Vocabulary;
use crate::store::StoredEvidence;

const CLAIM: &str = "clm_";

struct StoredAnswer {
    result: ItemResult,
    evidence: Vec<StoredEvidence>,
}

/// `None` if no finished item has this id.
async fn stored_answer(api: &Api, item_id: &str) -> Result<Option<StoredAnswer>, Failure> {
    let path = format!("/api/items/{}", segment(item_id));
    let Some(result) = api.find(&path).await? else { return Ok(None) };
    Ok(Some(StoredAnswer { result, evidence: api.list(&format!("{path}/evidence")).await? }))
}

/// `evidence`: shows the evidence of an item.
pub(super) async fn evidence(config: Arc<Config>, item_id: &str, output: Output) -> Result<(), Failure> {
    let api = Api::administer(&config, false).await?;
    let found = stored_answer(&api, item_id).await;
    let Some(StoredAnswer { result, evidence }) = api.close_after(found).await? else {
        return Err(Failure::failed(format!(
            "nothing is stored of an item {item_id:?}: it may still be waiting in the queue, or its id is another one; \
             GET /api/items lists those that are done"
        )));
    };
    if output.json {
        return output.value(&json!({ "result": result, "evidence": evidence }));
    }
    let rows = evidence.len();
    let mut text = render::result(&result, Vocabulary::Ours, output);
    let _infallible = write!(text, "\n{rows} judged passage(s) are stored; --json shows all of them\n");
    output.text(&text)
}

/// Accepts a claim's or an item's id.
pub(super) async fn why(config: Arc<Config>, id: &str, output: Output) -> Result<(), Failure> {
    let api = Api::administer(&config, false).await?;
    let found = stored(&api, id).await;
    let Some((StoredAnswer { result, evidence }, is_claim)) = api.close_after(found).await? else {
        return Err(Failure::failed(format!(
            "nothing is stored of {id:?}: give an item's id as it was sent, or a claim's as `evidence ITEM --json` prints it"
        )));
    };
    let claims: Vec<&ClaimResult> = result.claims.iter().filter(|claim| !is_claim || claim.claim_id == id).collect();
    let of = |claim: &ClaimResult| -> Vec<&StoredEvidence> {
        evidence.iter().filter(|row| row.claim_id == claim.claim_id).collect()
    };
    if output.json {
        let rows: Vec<_> = claims.iter().map(|claim| json!({ "claim": claim, "passages": of(claim) })).collect();
        return output.value(&json!({ "item_id": result.item_id, "claims": rows }));
    }
    output.text(&claims.iter().map(|claim| chain(claim, &of(claim), output)).collect::<Vec<_>>().join("\n"))
}

/// Returns the stored answer, and whether the id is a claim's. Upstream chooses item ids, so an id that looks like a
/// claim's may be an item's.
async fn stored(api: &Api, id: &str) -> Result<Option<(StoredAnswer, bool)>, Failure> {
    let claim: Option<Value> =
        if id.starts_with(CLAIM) { api.find(&format!("/api/claims/{}", segment(id))).await? } else { None };
    let item_id = claim.as_ref().and_then(|claim| claim.get("item_id")).and_then(Value::as_str);
    let answer = stored_answer(api, item_id.unwrap_or(id)).await?;
    Ok(answer.map(|answer| (answer, item_id.is_some())))
}

fn chain(claim: &ClaimResult, passages: &[&StoredEvidence], output: Output) -> String {
    let firm = if claim.decisive { "conclusive" } else { "not conclusive" };
    let mut text = format!(
        "{}  {}\n  verdict     {} ({firm}, confidence {:.2}), judged by {}\n",
        output.paint(&claim.claim_id, Colour::Dim),
        plain(&claim.text),
        claim.verdict,
        claim.confidence,
        claim.judge,
    );
    if let Some(decision) = &claim.decision {
        let p = decision.posterior;
        let _infallible = writeln!(
            text,
            "  posterior   supported {:.2}, refuted {:.2}, contested {:.2}, open {:.2} (table: {})\n  support     {}\n  against     {}",
            p.supported,
            p.refuted,
            p.contested,
            p.open,
            decision.table,
            strongest(&decision.support),
            strongest(&decision.against),
        );
    }
    let f = &claim.features;
    let _infallible = writeln!(
        text,
        "  features    e_max {:.2}, e_mean3 {:.2}, c_max {:.2}, agree_dom {}, rel_avg {:.2}, rec_max {:.2}, num_ok {}",
        f.e_max,
        f.e_mean3,
        f.c_max,
        f.agree_dom,
        f.rel_avg,
        f.rec_max,
        f.num_ok.map_or("-", |agrees| if agrees { "yes" } else { "no" }),
    );
    if !claim.notes.is_empty() {
        let notes: Vec<&str> = claim.notes.iter().map(|note| note.as_str()).collect();
        let _infallible = writeln!(text, "  notes       {}", notes.join(", "));
    }
    for row in passages {
        let _infallible = writeln!(
            text,
            "  passage {:<3} {:<11} entail {:.2}, contradict {:.2}, relevance {:.2}, credibility {:.2}, source {}{}\n              {}",
            row.rank,
            row.stance,
            row.entail,
            row.contradict,
            row.relevance,
            row.credibility,
            plain(&row.independent_group),
            row.judge.as_deref().map(|judge| format!(", by {judge}")).unwrap_or_default(),
            plain(&row.url),
        );
        let rules = claim.decision.as_ref().map_or(&[][..], |decision| decision.rules.as_slice());
        if let Some(held) = rules.iter().find(|held| held.evidence_id == row.evidence_id) {
            let _infallible = writeln!(text, "              rules {}", held.rules.join(", "));
        }
    }
    text
}

fn strongest(figures: &[f64; 3]) -> String {
    let told: Vec<String> =
        figures.iter().filter(|figure| **figure > 0.0).map(|figure| format!("{figure:.2}")).collect();
    if told.is_empty() {
        return "no independent source above the floor".to_owned();
    }
    format!("{} (strongest independent sources, log-odds above the floor)", told.join(", "))
}
