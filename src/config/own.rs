//! The operator's own sources: feeds, folders, endpoints and a database.
//!
//! Each list of tables has its type and its shape here.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::api_key::ApiKey;
use super::kind::{
    FILE, HEADER, KEY, Kind, LINES, NAME, PAGE_URLS, PAUSE, POSTGRES, RPM, SLUG, SPAN, Shape, TEXT, TEXTS, UNIT, count,
    table, words_of,
};
use crate::domain::verdict::words;

table! {
    FeedsConfig {
        enabled: bool = Kind::Flag,
        urls: Vec<Url> = PAGE_URLS,
        discover: bool = Kind::Flag,
        interval: Duration = PAUSE,
        keep: Duration = SPAN,
    }
}

table! {
    CorpusConfig {
        folder: Option<PathBuf> = FILE,
        name: String = SLUG,
        include: Vec<String> = TEXTS,
        exclude: Vec<String> = TEXTS,
        credibility: f64 = UNIT,
        /// Further folders; see [`CorpusConfig::folders`].
        folders: Vec<CorpusFolder> = Kind::Tables(&FOLDER),
    }
}

table! {
    CorpusFolder {
        name: String = SLUG,
        folder: PathBuf = FILE,
        /// Globs of files to read.
        #[serde(default)]
        include: Vec<String> = TEXTS,
        #[serde(default)]
        exclude: Vec<String> = TEXTS,
        /// Unset: the value for all folders.
        credibility: Option<f64> = UNIT,
    }
}

static FOLDER: Shape = Shape {
    what: "folder",
    secret_prefix: "ENRICHMENT_CORPUS",
    fields: CorpusFolder::FIELDS,
    required: &["name", "folder"],
};

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

table! {
    ApiConfig {
        endpoints: Vec<ApiEndpoint> = Kind::Tables(&ENDPOINT),
    }
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

table! {
    ApiEndpoint {
        name: String = SLUG,
        /// With {query} for the claim and {entity} for its first name.
        url: String = TEXT,
        /// Of the value in the answer, as a JSON Pointer: /a/b/0.
        path: String = TEXT,
        /// The sentence that {value} completes.
        statement: String = TEXT,
        /// How the value is compared.
        expected: Option<Expectation> = Kind::Word(words_of!(Expectation)),
        /// The expected value; {number} is the claim's first number.
        value: Option<String> = TEXT,
        /// Only claims with one of them are asked about. Empty: all.
        #[serde(default)]
        keywords: Vec<String> = TEXTS,
        #[serde(default = "trusted")]
        credibility: f64 = UNIT,
        #[serde(default = "one_a_second")]
        rpm: NonZeroU32 = RPM,
        key_header: Option<String> = HEADER,
        api_key: Option<ApiKey> = KEY,
    }
}

static ENDPOINT: Shape = Shape {
    what: "endpoint",
    secret_prefix: "ENRICHMENT_API",
    fields: ApiEndpoint::FIELDS,
    required: &["name", "url", "path", "statement"],
};

table! {
    DatabaseSourceConfig {
        url: Option<SecretString> = POSTGRES,
        name: String = SLUG,
        queries: Vec<DatabaseQuery> = Kind::Tables(&QUERY),
    }
}

words! {
    QueryParameter { Claim => "claim", Entity => "entity" }
}

table! {
    DatabaseQuery {
        name: String = SLUG,
        /// One SELECT, WITH, VALUES or TABLE with the parameter $1.
        sql: String = LINES,
        /// The sentence that {column} completes.
        statement: String = TEXT,
        #[serde(default = "claim")]
        parameter: QueryParameter = Kind::Word(words_of!(QueryParameter)),
        /// Only claims with one of them are asked about. Empty: all.
        #[serde(default)]
        keywords: Vec<String> = TEXTS,
        #[serde(default = "few")]
        limit: u32 = count(1, 100),
        /// The column with the date of the row.
        date_column: Option<String> = NAME,
        #[serde(default = "trusted")]
        credibility: f64 = UNIT,
    }
}

static QUERY: Shape = Shape {
    what: "query",
    secret_prefix: "ENRICHMENT_DATABASE",
    fields: DatabaseQuery::FIELDS,
    required: &["name", "sql", "statement"],
};

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
