//! The operator's database: read-only queries whose rows become sentences.
//!
//! All rows of one query are one source, so they are one hit: `database://<name>/<query>`.

#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::own::{BadSetting, Keywords, OwnSource, OwnText, Part, Statement, shown};
use super::wire::one_line;
use super::{Hit, Languages, Profile, ProviderKind, Query, Storage, usual_gate};
use crate::config::{DatabaseQuery, QueryParameter};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::outbound::{AskError, Asker, Gate, GateSettings};
use crate::store::{ExternalDatabase, ExternalError, ReadQuery};

const NAME: &str = "database";

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
    GateSettings { rpm: 6000, timeout: Duration::from_secs(5), ..usual_gate(NAME, cooldown) }
}

#[derive(Debug)]
pub struct PreparedQuery {
    config: DatabaseQuery,
    sql: ReadQuery,
    statement: Statement,
    keywords: Keywords,
    /// The operator's name of the database.
    database: Arc<str>,
    external: ExternalDatabase,
    gate: Arc<Gate>,
}

pub type Database = OwnSource<PreparedQuery>;

pub fn new(
    name: &str,
    queries: Vec<DatabaseQuery>,
    external: &ExternalDatabase,
    gate: Gate,
) -> Result<Database, BadSetting> {
    let (database, gate) = (Arc::from(name), Arc::new(gate));
    let prepare = |config: DatabaseQuery| {
        let bad = |key, detail| BadSetting { part: format!("query {}", config.name), key, detail };
        let sql = ReadQuery::new(&config.sql).map_err(|detail| bad("sql", detail))?;
        let statement = Statement::new(&config.statement).map_err(|detail| bad("statement", detail))?;
        if statement.places().next().is_none() {
            return Err(bad("statement", "names no column; write it like \"The budget is {amount}.\"".to_owned()));
        }
        let keywords = Keywords::new(&config.keywords);
        let (database, external, gate) = (Arc::clone(&database), external.clone(), Arc::clone(&gate));
        Ok(PreparedQuery { config, sql, statement, keywords, database, external, gate })
    };
    Ok(OwnSource::new(&PROFILE, queries.into_iter().map(prepare).collect::<Result<_, _>>()?))
}

type DatedText = (String, Option<DateTime<Utc>>);

impl PreparedQuery {
    /// Returns the value of `$1` for a claim.
    fn parameter<'a>(&self, query: &'a Query) -> Option<&'a str> {
        match self.config.parameter {
            QueryParameter::Claim => Some(&query.text),
            QueryParameter::Entity => query.terms.first().map(String::as_str),
        }
    }

    async fn hit(&self, parameter: &str) -> Result<Option<Hit>, AskError> {
        let name = &self.config.name;
        let rows = self.external.rows(&self.sql, parameter, self.config.limit).await;
        let rows = rows.map_err(|error| ask_error(name, &error))?;
        let Some((text, date)) = self.sentences(&rows)? else { return Ok(None) };
        let now = self.gate.now();
        let text = OwnText {
            origin: Origin::Database,
            url: format!("{NAME}://{}/{name}", self.database),
            title: format!("{}: {name}", self.database),
            text,
            published_at: Some(date.map_or(now, |date| date.min(now))),
            publisher: self.database.to_string(),
            credibility: self.config.credibility,
        };
        Ok(Some(text.hit(&PROFILE)))
    }

    /// Returns the sentences of the rows and their latest date; `None` if there are no sentences.
    fn sentences(&self, rows: &[Map<String, Value>]) -> Result<Option<DatedText>, AskError> {
        if let Some(unknown) =
            rows.first().and_then(|row| self.statement.places().find(|name| !row.contains_key(*name)))
        {
            let detail = format!("query {} gives no column {unknown}, which its statement names", self.config.name);
            return Err(AskError::Refused { detail });
        }
        let mut sentences: Vec<String> = Vec::new();
        let mut latest = None;
        for row in rows {
            // A row without a required value has no sentence.
            let Some(sentence) = self.statement.fill(|name| shown(row.get(name)?)) else { continue };
            let date =
                self.config.date_column.as_ref().and_then(|column| super::wire::date(row.get(column)?.as_str()?));
            latest = latest.max(date);
            let sentence = one_line(&sentence);
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        Ok((!sentences.is_empty()).then(|| (sentences.join("\n\n"), latest)))
    }
}

impl Part for PreparedQuery {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn key(&self, query: &Query) -> Option<String> {
        self.parameter(query).filter(|_| self.keywords.match_claim(query)).map(str::to_owned)
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Option<Hit>, AskError>> {
        Box::pin(async move {
            let Some(parameter) = self.parameter(query) else { return Ok(None) };
            self.gate.run(asker, || self.hit(parameter)).await
        })
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
