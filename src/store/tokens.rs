//! Named access tokens.
//!
//! Only digests are stored. The database's clock decides validity.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::FromRow;

use super::{Store, StoreError};

/// A token in lists, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, FromRow)]
pub struct StoredToken {
    /// Never reused.
    pub id: i64,
    /// Unique among valid tokens.
    pub name: String,
    /// `read`, `check` or `admin`.
    pub scope: String,
    /// Null: the server's default for clients.
    #[sqlx(json(nullable))]
    pub requests_per_minute: Option<u32>,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    /// To the minute; null until it is used.
    pub used_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Copy)]
pub struct NewToken<'a> {
    pub name: &'a str,
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    pub scope: &'a str,
    pub requests_per_minute: Option<u32>,
    pub created_by: &'a str,
    /// Days until it expires; `None`: never.
    pub days: Option<u32>,
}

macro_rules! columns {
    () => {
        // As JSON, because Postgres has no unsigned integers.
        "id, name, scope, to_jsonb(requests_per_minute) AS requests_per_minute, created_by, created_at, expires_at, revoked_at, used_at"
    };
}

impl Store {
    /// Stores a token; `None` if a valid one has that name.
    pub async fn add_token(&self, new: &NewToken<'_>) -> Result<Option<StoredToken>, StoreError> {
        // Frees the name of an expired token.
        sqlx::query(
            "UPDATE access_tokens SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL AND expires_at <= now()",
        )
        .bind(new.name)
        .execute(&self.pool)
        .await?;
        let integer = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        Ok(sqlx::query_as(concat!(
            "INSERT INTO access_tokens (name, digest, scope, requests_per_minute, created_by, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, now(), now() + make_interval(days => $6))
             ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING RETURNING ",
            columns!()
        ))
        .bind(new.name)
        .bind(new.digest.as_slice())
        .bind(new.scope)
        .bind(new.requests_per_minute.map(integer))
        .bind(new.created_by)
        .bind(new.days.map(integer))
        .fetch_optional(&self.pool)
        .await?)
    }

    pub async fn tokens(&self) -> Result<Vec<StoredToken>, StoreError> {
        Ok(sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM access_tokens ORDER BY revoked_at IS NOT NULL, name, id"
        ))
        .fetch_all(&self.pool)
        .await?)
    }

    /// Returns the valid token with that digest and records its use.
    pub async fn token_of(&self, digest: [u8; 32]) -> Result<Option<StoredToken>, StoreError> {
        let found: Option<StoredToken> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM access_tokens
             WHERE digest = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())"
        ))
        .bind(digest.as_slice())
        .fetch_optional(&self.pool)
        .await?;
        let Some(found) = found else { return Ok(None) };
        // At most one write per minute.
        sqlx::query(
            "UPDATE access_tokens SET used_at = now()
             WHERE id = $1 AND (used_at IS NULL OR used_at < now() - interval '1 minute')",
        )
        .bind(found.id)
        .execute(&self.pool)
        .await?;
        Ok(Some(found))
    }

    /// Revokes a token and thus its sessions; `None` if no valid one has that name.
    pub async fn revoke_token(&self, name: &str) -> Result<Option<StoredToken>, StoreError> {
        Ok(sqlx::query_as(concat!(
            "UPDATE access_tokens SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL RETURNING ",
            columns!()
        ))
        .bind(name)
        .fetch_optional(&self.pool)
        .await?)
    }
}
