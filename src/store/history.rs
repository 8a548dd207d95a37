//! Earlier answers of re-evaluated items, and items as they were sent.
//!
//! The stored request is the input of a re-evaluation.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sqlx::{PgConnection, Row as _};

use super::{Store, StoreError};
use crate::domain::{Item, Reason};

/// An answer that a later one replaced.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EarlierVerdict {
    pub evaluated_at: DateTime<Utc>,
    pub claim: String,
    pub verdict: String,
    pub decisive: bool,
    pub confidence: f64,
    pub tier: String,
    pub score: Option<i32>,
    pub judge: String,
    /// Reason of the later answer; `None` if the item was sent again or a user requested it.
    pub why: Option<Reason>,
}

pub(super) async fn keep(
    connection: &mut PgConnection,
    item_id: &str,
    why: Reason,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO verdict_history (item_id, evaluated_at, position, claim_text, verdict, decisive, confidence, tier,
             score, judge, why, told_at)
         SELECT item_id, evaluated_at, position, claim_text, verdict, decisive, confidence, tier::text, score, judge, $2, $3
         FROM claims WHERE item_id = $1 ON CONFLICT DO NOTHING",
    )
    .bind(item_id)
    .bind(why.as_str())
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the item as JSON, without the text if the column `text` has it.
pub(super) fn request(item: &Item, stored_text: &str) -> Result<String, StoreError> {
    let mut request = super::commit::json(item)?;
    if let Some(fields) = request.as_object_mut() {
        if item.text.as_deref() == Some(stored_text) {
            fields.insert("text".to_owned(), Value::Bool(true));
        }
        fields.retain(|_, value| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)));
    }
    Ok(super::commit::without_nul(request.to_string()))
}

impl Store {
    /// Returns an item's earlier answers, latest first.
    pub async fn verdict_history(&self, item_id: &str) -> Result<Vec<EarlierVerdict>, StoreError> {
        let rows = sqlx::query(
            "SELECT evaluated_at, claim_text, verdict, decisive, confidence, tier, score, judge, why FROM verdict_history
             WHERE item_id = $1 ORDER BY replaced_at DESC, position LIMIT 200",
        )
        .bind(item_id)
        .fetch_all(&self.pool)
        .await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            found.push(EarlierVerdict {
                evaluated_at: row.try_get("evaluated_at")?,
                claim: row.try_get("claim_text")?,
                verdict: row.try_get("verdict")?,
                decisive: row.try_get("decisive")?,
                confidence: row.try_get("confidence")?,
                tier: row.try_get("tier")?,
                score: row.try_get("score")?,
                judge: row.try_get("judge")?,
                // An unknown reason of a later version becomes `None`.
                why: row.try_get::<Option<&str>, _>("why")?.and_then(Reason::parse),
            });
        }
        Ok(found)
    }

    /// Returns a stored item as it was sent, with its send time if known. A later edit then wins, even if it is stored
    /// during the re-evaluation.
    pub async fn item_as_sent(&self, item_id: &str) -> Result<Option<(Item, Option<DateTime<Utc>>)>, StoreError> {
        let row = sqlx::query(
            "SELECT text, sent_at, request, jsonb_build_object('schema', 1, 'item_id', item_id, 'title', title, 'url', url,
                 'channel', channel, 'language', language, 'published_at', published_at, 'importance', importance,
                 'cluster_id', cluster_id, 'cluster_members', cluster_members) AS columns
             FROM items WHERE item_id = $1",
        )
        .bind(item_id)
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let (text, kept): (String, Option<Value>) = (row.try_get("text")?, row.try_get("request")?);
        let is_whole = kept.as_ref().is_some_and(|kept| kept.get("text") != Some(&Value::Bool(true)));
        let mut sent = match kept {
            Some(kept) => kept,
            None => row.try_get("columns")?,
        };
        if !is_whole && let Some(fields) = sent.as_object_mut() {
            fields.insert("text".to_owned(), Value::String(text));
        }
        let item = serde_json::from_value(sent).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
        Ok(Some((item, row.try_get("sent_at")?)))
    }
}
