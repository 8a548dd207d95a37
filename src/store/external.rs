//! The operator's own database as an evidence source: a separate server and pool.
//!
//! A query is a subquery of our `SELECT` with a bound parameter. It runs in a read-only transaction with limits on
//! time, rows and bytes, which is rolled back.

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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct BadQuery {
    what: String,
    fix: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadQuery {
    sql: String,
    takes_parameter: bool,
}

impl ReadQuery {
    /// Accepts one `SELECT`, `WITH`, `VALUES` or `TABLE` with at most the parameter `$1`. Only reports mistakes early;
    /// the read-only transaction prevents writes.
    pub fn new(sql: &str) -> Result<Self, BadQuery> {
        let bad = |what: String, fix| Err(BadQuery { what, fix });
        let words = words(sql).ok_or(BadQuery {
            what: "a quote, a comment or a parenthesis is not closed".to_owned(),
            fix: "close it",
        })?;
        let statement: &[Word] = match words.split_last() {
            Some((Word::Semicolon, rest)) => rest,
            _ => &words,
        };
        if statement.contains(&Word::Semicolon) {
            return bad("holds several statements".to_owned(), "write one; a query of its own for each");
        }
        let first = statement.first();
        let reads = |word: &Word| matches!(word, Word::Plain(word) if READING.contains(&word.as_str()));
        if !first.is_some_and(|word| *word == Word::Open || reads(word)) {
            return bad("is no statement that reads".to_owned(), "begin it with SELECT, WITH, VALUES or TABLE");
        }
        for word in statement {
            match word {
                Word::Plain(word) if WRITING.contains(&word.as_str()) => {
                    let fix = "only reading is allowed; a column of that name is written in double quotes";
                    return bad(format!("holds {}", word.to_uppercase()), fix);
                }
                Word::Parameter(number) if *number != 1 => {
                    return bad(format!("asks for ${number}"), "there is $1 alone, as often as you like");
                }
                _ => {}
            }
        }
        let takes_parameter = statement.contains(&Word::Parameter(1));
        let sql = if statement.len() < words.len() { without_end(sql) } else { sql.to_owned() };
        Ok(Self { sql, takes_parameter })
    }
}

const READING: [&str; 4] = ["select", "with", "values", "table"];
/// Words that are unquoted only in statements that write or lock.
const WRITING: [&str; 16] = [
    "insert", "update", "delete", "merge", "truncate", "create", "alter", "drop", "grant", "revoke", "copy", "into",
    "call", "do", "vacuum", "lock",
];

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Plain(String),
    Parameter(u32),
    Semicolon,
    Open,
    Other,
}

/// Removes the final semicolon and what follows.
fn without_end(sql: &str) -> String {
    // Searches from the end, because a comment may also contain a semicolon.
    let mut kept = sql.to_owned();
    while let Some(at) = kept.rfind(';') {
        let ended = kept.split_off(at);
        if words(&kept).is_some_and(|words| !words.contains(&Word::Semicolon))
            && words(&format!("{kept};{}", ended.trim_start_matches(';'))).is_some_and(|w| w.contains(&Word::Semicolon))
        {
            return kept;
        }
    }
    sql.to_owned()
}

/// Returns the words outside quotes and comments; `None` if one is not closed.
fn words(sql: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut depth = 0_i32;
    let mut rest = sql;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..)?;
        rest = match character {
            '\'' | '"' => {
                // `E'…'` has backslash escapes; a doubled quote reads as two quoted texts.
                let escapes = character == '\'' && matches!(words.last(), Some(Word::Plain(word)) if word == "e");
                words.push(Word::Other);
                after_quote(after, character, escapes)?
            }
            '-' if after.starts_with('-') => after.split_once('\n').map_or("", |(_, rest)| rest),
            '/' if after.starts_with('*') => after_comment(after.get(1..)?)?,
            '$' => after_dollar(after, &mut words)?,
            ';' => {
                words.push(Word::Semicolon);
                after
            }
            '(' | ')' => {
                depth += if character == '(' { 1 } else { -1 };
                if depth < 0 {
                    return None;
                }
                words.push(if character == '(' { Word::Open } else { Word::Other });
                after
            }
            _ if character.is_alphabetic() || character == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(rest.len());
                words.push(Word::Plain(rest.get(..end)?.to_lowercase()));
                rest.get(end..)?
            }
            _ if character.is_whitespace() => after,
            _ => {
                words.push(Word::Other);
                after
            }
        };
    }
    (depth == 0).then_some(words)
}

fn after_quote(text: &str, quote: char, escapes: bool) -> Option<&str> {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if escapes && character == '\\' {
            escaped = true;
        } else if character == quote {
            return text.get(at + 1..);
        }
    }
    None
}

/// Comments nest.
fn after_comment(text: &str) -> Option<&str> {
    let mut depth = 1;
    let mut rest = text;
    loop {
        let at = rest.find(['*', '/'])?;
        let here = rest.get(at..)?;
        let step = if here.starts_with("*/") {
            depth -= 1;
            2
        } else if here.starts_with("/*") {
            depth += 1;
            2
        } else {
            1
        };
        rest = here.get(step..)?;
        if depth == 0 {
            return Some(rest);
        }
    }
}

/// `$1`, or a text between two `$tag$`.
fn after_dollar<'a>(text: &'a str, words: &mut Vec<Word>) -> Option<&'a str> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if digits > 0 {
        words.push(Word::Parameter(text.get(..digits)?.parse().unwrap_or(u32::MAX)));
        return text.get(digits..);
    }
    let (tag, body) = text.split_once('$')?;
    words.push(Word::Other);
    body.split_once(format!("${tag}$").as_str()).map(|(_, rest)| rest)
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
        let max_bytes = i64::try_from(self.settings.max_bytes).unwrap_or(i64::MAX);
        let (limit_place, bytes_place) = if query.takes_parameter { ("$2", "$3") } else { ("$1", "$2") };
        let text = format!(
            "SELECT CASE WHEN octet_length(row) <= {bytes_place} THEN row END FROM (SELECT to_jsonb(asked)::text AS row \
             FROM (\n{}\n) AS asked LIMIT {limit_place}) AS rows",
            query.sql
        );
        // Behind a pooler, the next transaction may use another connection without the prepared statement.
        let prepared = sqlx::query_scalar::<_, Option<String>>(sqlx::AssertSqlSafe(text)).persistent(false);
        let prepared =
            if query.takes_parameter { prepared.bind(super::storable(parameter).into_owned()) } else { prepared };
        let found = prepared.bind(i64::from(limit)).bind(max_bytes).fetch_all(&mut *transaction).await?;
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
    fn one_statement_that_reads_is_taken() {
        for sql in [
            "SELECT 1",
            " select a, $1 from t where b = 'it''s; fine' ; ",
            "WITH x AS (SELECT 1 AS a) SELECT a FROM x -- done; really",
            "VALUES (1), (2);",
            "TABLE t",
            "(SELECT 1) UNION (SELECT 2)",
            "SELECT \"update\", $tag$ ; delete $tag$ FROM t /* drop /* nested */ table */",
            "SELECT E'a\\'; drop' ; -- end",
        ] {
            let query = ReadQuery::new(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(!words(&query.sql).unwrap().contains(&Word::Semicolon), "{}", query.sql);
            assert_eq!(query.takes_parameter, sql.contains("$1"));
        }
    }

    #[test]
    fn query_is_refused_with_a_fix_when_it_is_not_one_read() {
        for (sql, expected) in [
            ("", "begin it with SELECT"),
            ("DELETE FROM t", "begin it with SELECT"),
            ("SELECT 1; DROP TABLE t", "several statements"),
            ("SELECT 1;;", "several statements"),
            ("WITH gone AS (DELETE FROM t RETURNING a) SELECT a FROM gone", "holds DELETE"),
            ("SELECT a INTO copy FROM t", "holds INTO"),
            ("SELECT a FROM t FOR UPDATE", "holds UPDATE"),
            ("SELECT $2", "asks for $2"),
            ("SELECT 'open", "not closed"),
            ("SELECT 1) AS a; SELECT (1", "not closed"),
            ("SELECT /* 1", "not closed"),
            ("SELECT $$ 1", "not closed"),
            ("EXPLAIN ANALYZE SELECT 1", "begin it with SELECT"),
        ] {
            let error = ReadQuery::new(sql).unwrap_err().to_string();
            assert!(error.contains(expected), "{sql}: {error}");
        }
    }
}
