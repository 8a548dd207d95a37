//! `evidence`: shows the evidence of an item.

use std::fmt::Write as _;
use std::sync::Arc;

use super::api::{Api, segment};
use super::failure::Failure;
use super::output::Output;
use super::render;
use crate::config::Config;
use crate::domain::ItemResult;
use crate::judging::vocabularies::Vocabulary;
use crate::store::StoredEvidence;

pub(super) struct StoredAnswer {
    pub(super) result: ItemResult,
    pub(super) evidence: Vec<StoredEvidence>,
}

/// `None` if no finished item has this id.
pub(super) async fn stored(api: &Api, item_id: &str) -> Result<Option<StoredAnswer>, Failure> {
    let path = format!("/api/items/{}", segment(item_id));
    let Some(result) = api.find(&path).await? else { return Ok(None) };
    Ok(Some(StoredAnswer { result, evidence: api.list(&format!("{path}/evidence")).await? }))
}

pub(super) async fn run(config: Arc<Config>, item_id: &str, output: Output) -> Result<(), Failure> {
    let api = Api::administer(&config, false).await?;
    let found = stored(&api, item_id).await;
    let Some(StoredAnswer { result, evidence }) = api.close_after(found).await? else {
        return Err(Failure::failed(format!(
            "nothing is stored of an item {item_id:?}: it may still be waiting in the queue, or its id is another one; \
             GET /api/items lists those that are done"
        )));
    };
    if output.json {
        return output.value(&serde_json::json!({ "result": result, "evidence": evidence }));
    }
    let rows = evidence.len();
    let mut text = render::result(&result, Vocabulary::Ours, output);
    let _infallible = write!(text, "\n{rows} judged passage(s) are stored; --json shows all of them\n");
    output.text(&text)
}
