//! The operator's own database as an evidence source: a separate server and pool.
//!
//! A query is a subquery of our `SELECT` with a bound parameter. It runs in a read-only transaction with limits on
//! time, rows and bytes, which is rolled back. So the server refuses to write, and several statements.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

#[derive(Debug, Clone)]
pub struct ExternalSettings {
    pub pool_size: u32,
    /// The server cancels longer queries.
    pub timeout: Duration,
    /// Limit for all rows of a query, as JSON.
    pub max_bytes: usize,
}

/// Errors; no message contains a part of the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalError {
    #[error("its address is not a Postgres address; write it like postgres://reader:password@host:5432/name")]
    BadUrl,
    #[error("it refused the user or password")]
    WrongPassword,
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("the query took too long")]
    Timeout,
    /// The query is invalid or not permitted.
    #[error("it refused the query: {0}")]
    Refused(String),
    #[error("a row could not be read: {0}")]
    Unreadable(String),
}

/// A statement that reads, with at most the parameter `$1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadQuery {
    sql: String,
    takes_parameter: bool,
}

const READING: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];

impl ReadQuery {
    /// Accepts a `SELECT`, `WITH`, `VALUES` or `TABLE`. Only reports a mistake early: the server refuses other
    /// parameters, several statements, and writing in a read-only transaction.
    ///
    /// # Errors
    /// A message for the operator.
    pub fn new(sql: &str) -> Result<Self, String> {
        let sql = without_end(sql.trim());
        let first = without_comments(sql)
            .trim_start_matches(|letter: char| letter == '(' || letter.is_whitespace())
            .split(|letter: char| !letter.is_alphabetic())
            .next();
        if !first.is_some_and(|word| READING.iter().any(|reading| word.eq_ignore_ascii_case(reading))) {
            return Err("is no statement that reads; begin it with SELECT, WITH, VALUES or TABLE".to_owned());
        }
        Ok(Self { sql: sql.to_owned(), takes_parameter: sql.contains("$1") })
    }
}

/// Returns the statement without a semicolon at its end, which a line comment may follow. A tail with quotes may be part of
/// a literal and stays.
fn without_end(sql: &str) -> &str {
    let Some((statement, tail)) = sql.rsplit_once(';') else { return sql };
    let tail = tail.trim();
    let is_comment = tail.starts_with("--") && !tail.contains(['\n', '\'', '"']);
    if tail.is_empty() || is_comment { statement.trim_end() } else { sql }
}

/// Returns the statement without the comments before it.
fn without_comments(sql: &str) -> &str {
    let mut sql = sql.trim_start();
    loop {
        let line = sql.strip_prefix("--").map(|rest| rest.split_once('\n').map_or("", |(_, rest)| rest));
        let block = || sql.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map(|(_, rest)| rest);
        let Some(rest) = line.or_else(block) else { return sql };
        sql = rest.trim_start();
    }
}

#[derive(Debug, Clone)]
pub struct ExternalDatabase {
    pool: PgPool,
    settings: ExternalSettings,
}

impl ExternalDatabase {
    /// Connects on first use.
    pub fn new(url: &SecretString, settings: ExternalSettings) -> Result<Self, ExternalError> {
        let options: PgConnectOptions =
            url.expose_secret().parse().map_err(|_error: sqlx::Error| ExternalError::BadUrl)?;
        // PgBouncer refuses unknown startup parameters, so limits are set in each transaction.
        let options = options.application_name("corroborate").extra_float_digits(None);
        let pool = PgPoolOptions::new()
            .max_connections(settings.pool_size)
            .acquire_timeout(settings.timeout)
            .idle_timeout(Some(Duration::from_mins(5)))
            .connect_lazy_with(options);
        Ok(Self { pool, settings })
    }

    /// Returns at most `limit` rows as JSON objects by column name, within the byte limit.
    pub async fn rows(
        &self,
        query: &ReadQuery,
        parameter: &str,
        limit: u32,
    ) -> Result<Vec<serde_json::Map<String, serde_json::Value>>, ExternalError> {
        let millis = self.settings.timeout.as_millis();
        let begin = format!(
            "BEGIN READ ONLY; SET LOCAL statement_timeout = {millis}; \
             SET LOCAL idle_in_transaction_session_timeout = {}",
            millis * 2
        );
        let mut transaction = self.pool.begin_with(sqlx::AssertSqlSafe(begin)).await?;
        // The line break ends a comment in the query. A row that is too large is not sent.
        let text = format!(
            "SELECT CASE WHEN octet_length(row) <= {} THEN row END FROM (SELECT to_jsonb(asked)::text AS row \
             FROM (\n{}\n) AS asked LIMIT {limit}) AS rows",
            self.settings.max_bytes, query.sql
        );
        // Behind a pooler, the next transaction may use another connection without the prepared statement.
        let prepared = sqlx::query_scalar::<_, Option<String>>(sqlx::AssertSqlSafe(text)).persistent(false);
        let prepared =
            if query.takes_parameter { prepared.bind(super::storable(parameter).into_owned()) } else { prepared };
        let found = prepared.fetch_all(&mut *transaction).await?;
        transaction.rollback().await?;
        let mut left = self.settings.max_bytes;
        let mut rows = Vec::with_capacity(found.len());
        for row in found.into_iter().flatten() {
            let Some(rest) = left.checked_sub(row.len()) else { break };
            left = rest;
            rows.push(serde_json::from_str(&row).map_err(|error| ExternalError::Unreadable(error.to_string()))?);
        }
        Ok(rows)
    }
}

impl From<sqlx::Error> for ExternalError {
    fn from(error: sqlx::Error) -> Self {
        let sqlx::Error::Database(database) = &error else {
            return match error {
                sqlx::Error::PoolTimedOut => Self::Unreachable("no connection in time".to_owned()),
                sqlx::Error::Io(error) => Self::Unreachable(error.kind().to_string()),
                sqlx::Error::Tls(_) => Self::Unreachable("TLS failed".to_owned()),
                sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                    Self::Unreachable("the connection broke".to_owned())
                }
                other => Self::Unreadable(other.to_string()),
            };
        };
        match database.code().as_deref().unwrap_or_default() {
            "28P01" | "28000" => Self::WrongPassword,
            "57014" => Self::Timeout,
            // Another parameter than $1.
            "08P01" => Self::Refused(database.message().to_owned()),
            code if ["08", "53", "57", "3D"].iter().any(|class| code.starts_with(class)) => {
                Self::Unreachable(database.message().to_owned())
            }
            // Deadlocks and serialization failures pass.
            code if code.starts_with("40") => Self::Unreachable(database.message().to_owned()),
            _ => Self::Refused(database.message().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_that_reads_is_accepted_without_its_end() {
        for (sql, kept, takes_parameter) in [
            (" select a from t where b = $1 ; ", "select a from t where b = $1", true),
            ("WITH x AS (SELECT 1 AS a)\nSELECT a FROM x;", "WITH x AS (SELECT 1 AS a)\nSELECT a FROM x", false),
            ("((SELECT 1)) UNION (SELECT 2)", "((SELECT 1)) UNION (SELECT 2)", false),
        ] {
            assert_eq!(ReadQuery::new(sql), Ok(ReadQuery { sql: kept.to_owned(), takes_parameter }));
        }
        for sql in ["", "DELETE FROM t", "EXPLAIN ANALYZE SELECT 1", "selected"] {
            assert!(ReadQuery::new(sql).unwrap_err().contains("begin it with SELECT"), "{sql}");
        }
    }
}
