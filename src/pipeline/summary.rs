//! Summarises an item with several claims by a language model, one line per claim.
//! The rules are in `judging::summaries`. If a line breaks them or the model fails, the counted summary stays.

use serde_json::Value;

use super::decide::DecidedClaim;
use super::language_model::{discarded, text_for_readers};
use super::normalise::NormalisedItem;
use super::run_context::Journal;
use super::services::Services;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::Verdict;
use crate::inference::llm::Purpose;
use crate::inference::llm::texts::{CitedClaim, read_by_claim, summary as question};
use crate::judging::summaries::{cited_rows, lined, place_of, rows_of, worded};
use crate::language::detect;

/// Claims with a verdict that an item needs for a summary.
const MIN_CLAIMS: usize = 2;

pub(super) async fn summary(
    services: &Services,
    normal: &NormalisedItem,
    decided: &[DecidedClaim],
    journal: &Journal,
) -> Option<String> {
    services.language_model_for(Purpose::Summary)?;
    let claims: Vec<ClaimResult> = decided.iter().map(|one| one.result.clone()).collect();
    if claims.iter().filter(|claim| claim.verdict != Verdict::NotVerifiable).count() < MIN_CLAIMS {
        return None;
    }
    let language = normal.language.as_deref();
    let lined = lined(&claims);
    let rows = cited_rows(&claims);
    let cited = |claim: &&ClaimResult| {
        let firmness = if claim.decisive { "conclusive" } else { "provisional" };
        let passages = rows_of(claim).filter_map(|row| Some((place_of(&rows, row)? + 1, row.passage.clone())));
        CitedClaim {
            text: claim.text.clone(),
            verdict: Some(format!("{}, {firmness}", claim.verdict.as_str().replace('_', " "))),
            passages: passages.collect(),
        }
    };
    let asked = question(&lined.iter().map(cited).collect::<Vec<_>>(), detect::english_name(language));
    let read = |answer: &Value| read_by_claim(answer, lined.len());
    let lines = text_for_readers(services, Purpose::Summary, asked, read, journal).await?;
    let is_cut = claims.len() >= services.settings.claims_per_item;
    match worded(&claims, &lines, language, is_cut) {
        Ok(summary) => Some(summary),
        Err(reason) => {
            discarded(Purpose::Summary, reason.label(), journal);
            None
        }
    }
}
