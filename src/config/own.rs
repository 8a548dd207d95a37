//! The operator's own sources: feeds, folders, endpoints and a database.
//!
//! Each kind of source has its keys, the shape of its tables and its types here.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::api_key::ApiKey;
use super::deserialize::{api_key, secret};
use super::key::{ANSWER, CALL, Key, MIB, PAUSE, RPM, SPAN, UNIT, count};
use super::kind::{Field, Kind, SecretKind, Shape};
use crate::domain::verdict::words;

const EXPECTATIONS: &[&str] = &["equals", "greater", "less", "contains", "exists"];

static FOLDER: Shape = Shape {
    what: "folder",
    secret_prefix: "ENRICHMENT_CORPUS",
    fields: &[
        Field::required("name", Kind::Slug, "a short name, part of the addresses in results"),
        Field::required("folder", Kind::Path, "the folder"),
        Field::optional("include", Kind::Texts, "globs of files to read"),
        Field::optional("exclude", Kind::Texts, "globs of files to leave out"),
        Field::optional("credibility", UNIT, "how far it is trusted"),
    ],
};

static ENDPOINT: Shape = Shape {
    what: "endpoint",
    secret_prefix: "ENRICHMENT_API",
    fields: &[
        Field::required("name", Kind::Slug, "a short name"),
        Field::required("url", Kind::Text, "the address; {query} and {entity} stand for the claim and its first name"),
        Field::required("path", Kind::Text, "where the value is in the answer, as a JSON Pointer: /a/b/0"),
        Field::required("statement", Kind::Text, "the sentence that {value} completes"),
        Field::optional("expected", Kind::Word(EXPECTATIONS), "how the value is compared"),
        Field::optional("value", Kind::Text, "what with; {number} is the claim's first number"),
        Field::optional("keywords", Kind::Texts, "asked only for claims with one of them"),
        Field::optional("credibility", UNIT, "how far it is trusted"),
        Field::optional("rpm", RPM, "requests a minute"),
        Field::optional("key_header", Kind::Header, "the header that carries the key"),
        Field::optional("api_key", Kind::Secret(SecretKind::Header), "key of the endpoint"),
    ],
};

static QUERY: Shape = Shape {
    what: "query",
    secret_prefix: "ENRICHMENT_DATABASE",
    fields: &[
        Field::required("name", Kind::Slug, "a short name, part of the address in results"),
        Field::required("sql", Kind::Lines, "one SELECT, WITH, VALUES or TABLE; $1 is the claim, or its first name"),
        Field::required("statement", Kind::Text, "the sentence that {column} completes"),
        Field::optional("parameter", Kind::Word(&["claim", "entity"]), "what $1 is"),
        Field::optional("keywords", Kind::Texts, "asked only for claims with one of them"),
        Field::optional("limit", count(1, 100), "rows taken"),
        Field::optional("date_column", Kind::Name, "the column that says of when the row is"),
        Field::optional("credibility", UNIT, "how far it is trusted"),
    ],
};

/// Of `enrichment.language_rules`.
pub(super) static LANGUAGE_RULE: Shape = Shape {
    what: "rule",
    secret_prefix: "ENRICHMENT_LANGUAGE_RULE",
    fields: &[
        Field::required("name", Kind::Slug, "a short name, shown in traces"),
        Field::required("languages", Kind::Texts, "two-letter codes of the languages to search in as well"),
        Field::optional("channels", Kind::Texts, "for items of these channels"),
        Field::optional(
            "keywords",
            Kind::Texts,
            "for items with one of these words; several words count next to each other",
        ),
    ],
};

/// Returns the keys in the order of `config/default.toml`.
pub(super) fn keys() -> Vec<Key> {
    let mut keys = feed_and_corpus_keys();
    keys.extend([
        Key::own("providers.api.endpoints", Kind::Tables(&ENDPOINT), "JSON endpoints asked about claims"),
        Key::own("providers.api.timeout", CALL, "longest time one call may take"),
        Key::own("providers.api.max_bytes", ANSWER, "largest answer"),
        Key::named(
            "providers.database.url",
            "ENRICHMENT_DATABASE_URL",
            Kind::Secret(SecretKind::Postgres),
            "the Postgres that is asked about claims",
        ),
        Key::named("providers.database.name", "ENRICHMENT_DATABASE_NAME", Kind::Slug, "what it is called in results"),
        Key::own("providers.database.queries", Kind::Tables(&QUERY), "what it is asked"),
        Key::own("providers.database.pool_size", count(1, 100), "connections at most"),
        Key::own("providers.database.timeout", CALL, "longest time of one query"),
        Key::own("providers.database.max_bytes", ANSWER, "most that one query may give"),
    ]);
    keys
}

fn feed_and_corpus_keys() -> Vec<Key> {
    vec![
        Key::named("providers.feeds.enabled", "ENRICHMENT_FEEDS_ENABLED", Kind::Flag, "whether feeds are read"),
        Key::named("providers.feeds.urls", "ENRICHMENT_FEEDS_URLS", Kind::PageUrls, "addresses of feeds"),
        Key::named(
            "providers.feeds.discover",
            "ENRICHMENT_FEEDS_DISCOVER",
            Kind::Flag,
            "look for feeds on the home pages of the trusted domains",
        ),
        Key::named("providers.feeds.interval", "ENRICHMENT_FEEDS_INTERVAL", PAUSE, "pause between reads of a feed"),
        Key::named("providers.feeds.keep", "ENRICHMENT_FEEDS_KEEP", SPAN, "how long entries are kept"),
        Key::named("providers.corpus.folder", "ENRICHMENT_CORPUS_FOLDER", Kind::Path, "folder of documents or code"),
        Key::named("providers.corpus.name", "ENRICHMENT_CORPUS_NAME", Kind::Slug, "its name in results"),
        Key::named("providers.corpus.include", "ENRICHMENT_CORPUS_INCLUDE", Kind::Texts, "globs of files to read"),
        Key::named("providers.corpus.exclude", "ENRICHMENT_CORPUS_EXCLUDE", Kind::Texts, "globs of files to leave out"),
        Key::named("providers.corpus.credibility", "ENRICHMENT_CORPUS_CREDIBILITY", UNIT, "how far it is trusted"),
        Key::own("providers.corpus.folders", Kind::Tables(&FOLDER), "further folders"),
        Key::own("providers.corpus.max_file_bytes", Kind::Bytes { min: 1024, max: 64 * MIB }, "largest file"),
        Key::own(
            "providers.corpus.max_bytes",
            Kind::Bytes { min: 64 * 1024, max: 16 * 1024 * MIB },
            "text held of a folder",
        ),
        Key::own("providers.corpus.rescan", PAUSE, "pause between looks for changed files"),
    ]
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedsConfig {
    pub enabled: bool,
    pub urls: Vec<Url>,
    pub discover: bool,
    #[serde(with = "humantime_serde")]
    pub interval: Duration,
    #[serde(with = "humantime_serde")]
    pub keep: Duration,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusConfig {
    pub folder: Option<PathBuf>,
    pub name: String,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub credibility: f64,
    folders: Vec<CorpusFolder>,
    /// Bytes.
    pub max_file_bytes: u64,
    /// Per folder.
    pub max_bytes: usize,
    #[serde(with = "humantime_serde")]
    pub rescan: Duration,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusFolder {
    pub name: String,
    pub folder: PathBuf,
    #[serde(default)]
    pub include: Vec<String>,
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Unset: the value for all folders.
    pub credibility: Option<f64>,
}

impl CorpusConfig {
    /// Returns the folder with keys of its own, then the list.
    pub fn folders(&self) -> Vec<CorpusFolder> {
        let single = self.folder.clone().map(|folder| CorpusFolder {
            name: self.name.clone(),
            folder,
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            credibility: None,
        });
        single.into_iter().chain(self.folders.iter().cloned()).collect()
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiConfig {
    pub endpoints: Vec<ApiEndpoint>,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    pub max_bytes: usize,
}

words! {
    Expectation {
        Equals => "equals",
        Greater => "greater",
        Less => "less",
        Contains => "contains",
        Exists => "exists",
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiEndpoint {
    pub name: String,
    pub url: String,
    pub path: String,
    pub statement: String,
    pub expected: Option<Expectation>,
    pub value: Option<String>,
    #[serde(default)]
    pub keywords: Vec<String>,
    #[serde(default = "trusted")]
    pub credibility: f64,
    #[serde(default = "one_a_second")]
    pub rpm: NonZeroU32,
    pub key_header: Option<String>,
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSourceConfig {
    #[serde(default, deserialize_with = "secret")]
    pub url: Option<SecretString>,
    pub name: String,
    pub queries: Vec<DatabaseQuery>,
    pub pool_size: u32,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    pub max_bytes: usize,
}

words! {
    QueryParameter { Claim => "claim", Entity => "entity" }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseQuery {
    pub name: String,
    pub sql: String,
    pub statement: String,
    #[serde(default = "claim")]
    pub parameter: QueryParameter,
    #[serde(default)]
    pub keywords: Vec<String>,
    #[serde(default = "few")]
    pub limit: u32,
    pub date_column: Option<String>,
    #[serde(default = "trusted")]
    pub credibility: f64,
}

/// Returns the highest credibility of an allowed domain, for own sources.
const fn trusted() -> f64 {
    0.9
}

const fn one_a_second() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(59)
}

const fn claim() -> QueryParameter {
    QueryParameter::Claim
}

const fn few() -> u32 {
    5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_tables_are_the_words_of_the_tree() {
        let expectations: Vec<&str> = Expectation::ALL.iter().map(|word| word.as_str()).collect();
        assert_eq!(expectations, EXPECTATIONS);
        let parameters: Vec<&str> = QueryParameter::ALL.iter().map(|word| word.as_str()).collect();
        let field = QUERY.fields.iter().find(|field| field.name == "parameter").unwrap();
        assert!(matches!(field.kind, Kind::Word(words) if words == parameters));
    }
}
