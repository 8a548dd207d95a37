//! The operator's database: read-only queries whose rows become sentences.
//!
//! All rows of one query are one source, so they are one hit: `database://<name>/<query>`.

#[cfg(test)]
pub(super) mod tests;

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value};

use super::statement::{Keywords, Statement};
use super::wire::{clip, one_line};
use super::{Answer, Content, Hit, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, probe};
use crate::config::{DatabaseQuery, QueryParameter};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::outbound::{AskError, Asker, Gate, GateSettings, GateStatus};
use crate::store::{ExternalDatabase, ExternalError, ReadQuery};

const NAME: &str = "database";
const LONGEST_VALUE: usize = 500;
const PROBED: &str = "United Nations";
const SNIPPET: (usize, usize) = (300, 60);

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Own database",
    kind: ProviderKind::Own,
    source: SourceKind::Database,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: false,
    local: false,
    returns: "rows of your own Postgres as sentences",
    terms: "free: a database of your own, read only",
    configure: "set ENRICHMENT_DATABASE_URL and CORROBORATE_PROVIDERS_DATABASE_QUERIES",
};

/// The gate defaults; the configured query timeout replaces theirs.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        max_wait: Duration::from_secs(10),
        rpm: 6000,
        timeout: Duration::from_secs(5),
        max_bytes: usize::MAX,
        max_attempts: 2,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("query {query}: {key} {detail}")]
pub struct BadQuery {
    query: String,
    key: &'static str,
    detail: String,
}

#[derive(Debug)]
struct PreparedQuery {
    name: String,
    sql: ReadQuery,
    statement: Statement,
    parameter: QueryParameter,
    keywords: Keywords,
    limit: u32,
    date_column: Option<String>,
    credibility: f64,
}

#[derive(Debug)]
pub struct Database {
    name: String,
    queries: Vec<PreparedQuery>,
    external: ExternalDatabase,
    gate: Gate,
}

pub fn new(
    name: String,
    queries: Vec<DatabaseQuery>,
    external: ExternalDatabase,
    gate: Gate,
) -> Result<Database, BadQuery> {
    let queries = queries.into_iter().map(prepare).collect::<Result<_, _>>()?;
    Ok(Database { name, queries, external, gate })
}

fn prepare(config: DatabaseQuery) -> Result<PreparedQuery, BadQuery> {
    let bad = |key, detail| BadQuery { query: config.name.clone(), key, detail };
    let sql = ReadQuery::new(&config.sql).map_err(|error| bad("sql", error.to_string()))?;
    let statement = Statement::new(&config.statement).map_err(|detail| bad("statement", detail))?;
    if statement.places().next().is_none() {
        return Err(bad("statement", "names no column; write it like \"The budget is {amount}.\"".to_owned()));
    }
    Ok(PreparedQuery {
        sql,
        statement,
        parameter: config.parameter,
        keywords: Keywords::new(&config.keywords),
        limit: config.limit,
        date_column: config.date_column,
        credibility: config.credibility,
        name: config.name,
    })
}

type DatedText = (String, Option<DateTime<Utc>>);

impl PreparedQuery {
    /// Returns the value of `$1` for a claim; `None` if the query does not match the claim.
    fn parameter<'a>(&self, query: &'a Query) -> Option<&'a str> {
        let parameter = match self.parameter {
            QueryParameter::Claim => query.text.as_str(),
            QueryParameter::Entity => query.terms.first()?.as_str(),
        };
        let about = self.keywords.are_in(&query.text) || self.keywords.are_in(&query.terms.join(" "));
        about.then_some(parameter)
    }

    /// Returns the sentences of the rows and their latest date; `None` if there are no sentences.
    fn sentences(&self, rows: &[Map<String, Value>]) -> Result<Option<DatedText>, AskError> {
        if let Some(unknown) =
            rows.first().and_then(|row| self.statement.places().find(|name| !row.contains_key(*name)))
        {
            let detail = format!("query {} gives no column {unknown}, which its statement names", self.name);
            return Err(AskError::Refused { detail });
        }
        let mut sentences: Vec<String> = Vec::new();
        let mut latest = None;
        for row in rows {
            // A row without a required value has no sentence.
            let Some(sentence) = self.statement.fill(|name| shown(row.get(name)?)) else { continue };
            let date = self.date_column.as_ref().and_then(|column| date(row.get(column)?));
            latest = latest.max(date);
            let sentence = one_line(&sentence);
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        Ok((!sentences.is_empty()).then(|| (sentences.join("\n\n"), latest)))
    }
}

fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(one_line(&text).chars().take(LONGEST_VALUE).collect())
}

/// Parses a date or time in Postgres' JSON form; without a zone it is UTC.
fn date(value: &Value) -> Option<DateTime<Utc>> {
    super::wire::date(value.as_str()?)
}

impl Database {
    /// Runs all matching queries concurrently. A failure is an error only if no other query has rows.
    async fn search(&self, query: &Query) -> Result<Answer, AskError> {
        let asked = self.queries.iter().filter_map(|one| Some((one, one.parameter(query)?)));
        let asked = asked.map(|(one, parameter)| async move { (one, self.hit(one, parameter).await) });
        let (mut answer, mut failure) = (Answer::default(), None);
        for (one, outcome) in join_all(asked).await {
            match outcome {
                Ok(hit) => answer.hits.extend(hit),
                Err(error) => {
                    answer.lacks(NAME, &one.name, &error);
                    failure = failure.or(Some(error));
                }
            }
        }
        answer.hits.truncate(query.limit);
        match failure {
            Some(error) if answer.is_empty() => Err(error),
            _ => Ok(answer),
        }
    }

    async fn hit(&self, one: &PreparedQuery, parameter: &str) -> Result<Option<Hit>, AskError> {
        let rows =
            self.external.rows(&one.sql, parameter, one.limit).await.map_err(|error| ask_error(&one.name, &error))?;
        let Some((text, date)) = one.sentences(&rows)? else { return Ok(None) };
        let now = self.gate.now();
        Ok(Some(Hit {
            url: format!("database://{}/{}", self.name, one.name),
            title: format!("{}: {}", self.name, one.name),
            snippet: clip(&text, SNIPPET.0, SNIPPET.1),
            published_at: Some(date.map_or(now, |date| date.min(now))),
            language: crate::language::detect::detect(&text).language,
            provider: NAME,
            storage: PROFILE.storage,
            content: Some(Content {
                text,
                origin: Origin::Database,
                publisher: Some(self.name.clone()),
                credibility: Some(one.credibility),
            }),
        }))
    }
}

fn ask_error(query: &str, error: &ExternalError) -> AskError {
    match error {
        ExternalError::Timeout => AskError::Timeout,
        ExternalError::Unreachable(detail) => AskError::Connect { detail: detail.clone() },
        ExternalError::WrongPassword => AskError::BadKey { detail: error.to_string() },
        ExternalError::BadUrl => AskError::Disabled { detail: error.to_string() },
        ExternalError::Unreadable(detail) => AskError::Malformed { detail: detail.clone() },
        ExternalError::Refused(_) => AskError::Refused { detail: format!("query {query}: {error}") },
    }
}

impl Provider for Database {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn cost_usd(&self) -> f64 {
        0.0
    }

    fn cache_key(&self, query: &Query) -> String {
        let asked = self.queries.iter().filter_map(|one| Some(format!("{} {}", one.name, one.parameter(query)?)));
        let parts: Vec<String> = std::iter::once(NAME.to_owned()).chain(asked).collect();
        crate::cache::joined(parts.iter().map(String::as_str))
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        if self.queries.iter().all(|one| one.parameter(query).is_none()) {
            // Without a matching query no call is counted.
            return Box::pin(async { Ok(Answer::default()) });
        }
        Box::pin(self.gate.run(asker, move || self.search(query)))
    }

    /// Runs every query, also those whose keywords do not match.
    fn probe<'a>(&'a self, _paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        let queries = move || async move {
            let asked = self.queries.iter().map(|one| async move { (one, self.hit(one, PROBED).await) });
            let outcomes = join_all(asked).await.into_iter();
            probe::of_parts(outcomes.map(|(one, outcome)| (one.name.clone(), outcome.map(drop))).collect())
        };
        Box::pin(self.gate.run(asker, queries))
    }

    fn status(&self) -> GateStatus {
        self.gate.status()
    }
}
