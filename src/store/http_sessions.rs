//! Sessions of the web UI, by the digest of their secret.
//!
//! All times are the database's. The secret itself is never stored.

use super::{Store, StoreError};

/// From sign-in to expiry. An SQL literal.
const LIFETIME: &str = "interval '12 hours'";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOrigin {
    Token(i64),
    /// A token of the server's configuration: its MAC, keyed with the session's secret.
    ServerToken([u8; 32]),
}

#[derive(Debug, Clone, Copy)]
pub struct NewSession<'a> {
    /// SHA-256 of the secret.
    pub digest: [u8; 32],
    pub csrf_token: &'a str,
    pub scope: &'a str,
    pub origin: SessionOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    pub csrf_token: String,
    pub scope: String,
    /// `None`: a token of the server's configuration.
    pub token: Option<SessionToken>,
    /// Set if `token` is `None`.
    pub server_token_mac: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToken {
    pub id: i64,
    pub name: String,
    pub requests_per_minute: Option<u32>,
}

impl Store {
    pub async fn begin_session(&self, new: &NewSession<'_>) -> Result<(), StoreError> {
        let (token_id, mac) = match new.origin {
            SessionOrigin::Token(id) => (Some(id), None),
            SessionOrigin::ServerToken(mac) => (None, Some(mac)),
        };
        let insert = format!(
            "INSERT INTO http_sessions (digest, csrf_token, scope, token_id, server_token_mac, expires_at)
             VALUES ($1, $2, $3, $4, $5, now() + {LIFETIME})"
        );
        sqlx::query(sqlx::AssertSqlSafe(insert))
            .bind(new.digest.as_slice())
            .bind(new.csrf_token)
            .bind(new.scope)
            .bind(token_id)
            .bind(mac.as_ref().map(<[u8; 32]>::as_slice))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Returns the valid session; `None` if it or its token is missing, expired or revoked.
    pub async fn session(&self, digest: [u8; 32]) -> Result<Option<StoredSession>, StoreError> {
        type Row = (String, String, Option<Vec<u8>>, Option<i64>, Option<String>, Option<i32>);
        let row: Option<Row> = sqlx::query_as(
            "SELECT s.csrf_token, s.scope, s.server_token_mac, t.id, t.name, t.requests_per_minute
             FROM http_sessions AS s LEFT JOIN access_tokens AS t ON t.id = s.token_id
             WHERE s.digest = $1 AND s.expires_at > now()
                 AND (s.token_id IS NULL
                     OR t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))",
        )
        .bind(digest.as_slice())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|(csrf_token, scope, server_token_mac, id, name, rate)| StoredSession {
            csrf_token,
            scope,
            token: id.zip(name).map(|(id, name)| SessionToken {
                id,
                name,
                requests_per_minute: rate.and_then(|rate| u32::try_from(rate).ok()),
            }),
            server_token_mac,
        }))
    }

    pub async fn end_session(&self, digest: [u8; 32]) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM http_sessions WHERE digest = $1").bind(digest.as_slice()).execute(&self.pool).await?;
        Ok(())
    }

    /// Removes sessions that expired or whose token is invalid. Returns their number.
    pub async fn remove_expired_sessions(&self) -> Result<u64, StoreError> {
        let removed = sqlx::query(
            "DELETE FROM http_sessions AS s WHERE s.expires_at <= now() OR EXISTS (
                 SELECT FROM access_tokens AS t
                 WHERE t.id = s.token_id AND (t.revoked_at IS NOT NULL OR t.expires_at <= now()))",
        )
        .execute(&self.pool)
        .await?;
        Ok(removed.rows_affected())
    }
}
