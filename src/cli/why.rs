//! `why`: explains a claim's verdict from its stored passages.
//!
//! It judges nothing again.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use super::evidence::{self, Found};
use super::failure::Failure;
use super::output::{Colour, Output};
use super::reach::{self, Reach};
use crate::config::Config;
use crate::domain::result::ClaimResult;
use crate::judging::plain::plain;
use crate::store::StoredEvidence;

const CLAIM: &str = "clm_";

enum Meant {
    /// May look like a claim's id.
    Item,
    /// With its item.
    ClaimOf(String),
    /// The daemon that holds the data folder only finds items.
    Unclear,
}

/// Accepts a claim's or an item's id.
pub(super) async fn run(config: Arc<Config>, id: &str, output: Output) -> Result<(), Failure> {
    let meant = meant(&config, id).await?;
    let item_id = if let Meant::ClaimOf(item_id) = &meant { item_id.as_str() } else { id };
    let Some(Found { result, evidence }) = evidence::stored(config, item_id).await? else {
        return Err(Failure::failed(if matches!(meant, Meant::Unclear) {
            format!(
                "nothing is stored of an item {id:?}: if it is a claim, give the item's id in place of the claim's, for a \
                 running daemon holds the data folder and answers by item"
            )
        } else {
            format!(
                "nothing is stored of {id:?}: give an item's id as it was sent, or a claim's as `evidence ITEM --json` prints it"
            )
        }));
    };
    let is_claim = matches!(meant, Meant::ClaimOf(_));
    let claims: Vec<&ClaimResult> = result.claims.iter().filter(|claim| !is_claim || claim.claim_id == id).collect();
    let of = |claim: &ClaimResult| -> Vec<&StoredEvidence> {
        evidence.iter().filter(|row| row.claim_id == claim.claim_id).collect()
    };
    if output.json {
        let told: Vec<_> = claims.iter().map(|claim| json!({ "claim": claim, "passages": of(claim) })).collect();
        return output.value(&json!({ "item_id": result.item_id, "claims": told }));
    }
    output.text(&claims.iter().map(|claim| chain(claim, &of(claim), output)).collect::<Vec<_>>().join("\n"))
}

/// Looks the id up. Upstream chooses item ids, so an id that looks like a claim's may be an item's.
async fn meant(config: &Config, id: &str) -> Result<Meant, Failure> {
    if !id.starts_with(CLAIM) {
        return Ok(Meant::Item);
    }
    match reach::store(config).await? {
        Reach::Here(opened) => {
            let item = opened.store.item_of_claim(id).await?;
            opened.close().await?;
            Ok(item.map_or(Meant::Item, Meant::ClaimOf))
        }
        Reach::Daemon(_) => Ok(Meant::Unclear),
    }
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
