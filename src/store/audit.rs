//! The audit log of administrators' actions.
//!
//! Edits of the domain lists have their own table and are merged on reading.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::FromRow;

use super::{Store, StoreError};

/// An action of a user.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, FromRow)]
pub struct AuditEntry {
    pub at: DateTime<Utc>,
    /// `ADMIN_TOKEN`, `token <name>` or `this machine`, with the address if known.
    pub who: String,
    /// `domain.add`, `provider.reset`, `dead.requeue`, `token.add`, …
    pub action: String,
    /// The object of the action, for example a domain.
    pub subject: String,
    pub detail: Option<serde_json::Value>,
}

impl Store {
    pub async fn note_audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO audit_log (at, who, action, subject, detail) VALUES ($1, $2, $3, $4, $5)")
            .bind(entry.at)
            .bind(super::storable(&entry.who).as_ref())
            .bind(&entry.action)
            .bind(super::storable(&entry.subject).as_ref())
            .bind(&entry.detail)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Returns actions and edits of the domain lists, latest first.
    pub async fn audit(&self, limit: i64) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(sqlx::query_as(
            "(SELECT at, who, action, subject, detail, id FROM audit_log ORDER BY id DESC LIMIT $1)
             UNION ALL
             (SELECT changed_at, who, 'domain.' || action, domain,
                  jsonb_strip_nulls(jsonb_build_object('before', before, 'after', after, 'why', why)), id
              FROM domain_rule_changes WHERE action <> 'install' ORDER BY id DESC LIMIT $1)
             ORDER BY at DESC, id DESC LIMIT $1",
        )
        .bind(limit)
        .fetch_all(&self.pool)
        .await?)
    }
}
