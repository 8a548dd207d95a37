//! `evidence`: what stands behind an item.

use std::fmt::Write as _;
use std::sync::Arc;

use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach, segment};
use super::render;
use crate::config::Config;
use crate::domain::ItemResult;
use crate::judging::vocabularies::Vocabulary;
use crate::outbound::Method;
use crate::store::StoredEvidence;

pub(super) async fn run(config: Arc<Config>, item_id: &str, output: Output) -> Result<(), Failure> {
    let found: Option<(ItemResult, serde_json::Value)> = match reach::store(&config).await? {
        Reach::Here(opened) => {
            let item = opened.store.item(item_id).await?;
            let evidence: Vec<StoredEvidence> = opened.store.item_evidence(item_id).await?;
            opened.close().await?;
            let evidence = serde_json::to_value(evidence)?;
            item.map(|item| (item.result, evidence))
        }
        Reach::Daemon(daemon) => {
            let path = format!("/api/items/{}", segment(item_id));
            match daemon.call(Method::GET, &path, None).await {
                Ok(result) => {
                    let evidence = daemon.call(Method::GET, &format!("{path}/evidence"), None).await?;
                    let result = serde_json::from_value(result)
                        .map_err(|error| Failure::failed(format!("the daemon's answer cannot be read: {error}")))?;
                    Some((result, evidence))
                }
                Err(crate::outbound::local::LocalError::Refused { status: 404, .. }) => None,
                Err(error) => return Err(error.into()),
            }
        }
    };
    let Some((result, evidence)) = found else {
        return Err(Failure::failed(format!(
            "nothing is stored of an item {item_id:?}: it may still be waiting in the queue, or its id is another one; \
             GET /api/items lists those that are done"
        )));
    };
    if output.json {
        return output.value(&serde_json::json!({ "result": result, "evidence": evidence }));
    }
    let rows = evidence.get("items").unwrap_or(&evidence).as_array().map_or(0, Vec::len);
    let mut text = render::result(&result, Vocabulary::Ours, output);
    let _infallible = write!(text, "\n{rows} judged passage(s) are stored; --json shows all of them\n");
    output.text(&text)
}
