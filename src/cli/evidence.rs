//! `evidence`: shows the evidence of an item.

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

pub(super) struct Found {
    pub(super) result: ItemResult,
    pub(super) evidence: Vec<StoredEvidence>,
}

/// Reads from the store, or from the daemon that holds the data folder.
pub(super) async fn stored(config: Arc<Config>, item_id: &str) -> Result<Option<Found>, Failure> {
    match reach::store(&config).await? {
        Reach::Here(opened) => {
            let item = opened.store.item(item_id).await?;
            let evidence = opened.store.item_evidence(item_id).await?;
            opened.close().await?;
            Ok(item.map(|item| Found { result: item.result, evidence }))
        }
        Reach::Daemon(daemon) => {
            let path = format!("/api/items/{}", segment(item_id));
            let unreadable =
                |error: serde_json::Error| Failure::failed(format!("the daemon's answer cannot be read: {error}"));
            match daemon.call(Method::GET, &path, None).await {
                Ok(result) => {
                    let evidence = daemon.call(Method::GET, &format!("{path}/evidence"), None).await?;
                    let rows = evidence.get("items").unwrap_or(&evidence).clone();
                    Ok(Some(Found {
                        result: serde_json::from_value(result).map_err(unreadable)?,
                        evidence: serde_json::from_value(rows).map_err(unreadable)?,
                    }))
                }
                Err(crate::outbound::local::LocalError::Refused { status: 404, .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
    }
}

pub(super) async fn run(config: Arc<Config>, item_id: &str, output: Output) -> Result<(), Failure> {
    let Some(Found { result, evidence }) = stored(config, item_id).await? else {
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
