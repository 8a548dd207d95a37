//! What an item's answers were before it was judged again, and the item itself, so that it can be.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sqlx::{PgConnection, Row as _};

use super::{Store, StoreError};
use crate::domain::{Item, Reason};

/// An answer that a later one took the place of.
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
    /// Why the later one came; `None` where the item was sent again, or somebody wanted it judged again.
    pub why: Option<Reason>,
}

/// Keeps an item's answers as they stand, just before others take their place.
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

/// An item as it is kept: without the text that stands in a column of its own.
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
    /// Earlier answers of an item, the latest first.
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
                // A word of a later version is no reason to withhold the answer.
                why: row.try_get::<Option<&str>, _>("why")?.and_then(Reason::parse),
            });
        }
        Ok(found)
    }

    /// A stored item as it was sent, so that it can be judged again, and when that was, where it is known: an edit that was sent
    /// later stays, though its result may be written while this one is judged.
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
