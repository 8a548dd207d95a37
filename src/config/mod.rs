//! Configuration: three layers in, one typed tree out, or a list of everything that is wrong.
//!
//! The layers are `config/default.toml` (built in; every key with its reason and unit: it is the reference manual), the
//! file of `--config` or `CORROBORATE_CONFIG`, and the environment. The only room that reads the environment. It never
//! talks to a network, never prints, and never lets a secret into a message, a `Debug` or a list.
//!
//! To add a key: a commented line in `config/default.toml`, a row in `names.rs`, a field in `model.rs` (or `scoring.rs`).
//! The tests name what is missing. A rule between keys goes into `checks.rs`, a new kind of value into `kind.rs` (what it
//! is) and `value.rs` (how it is read), a list of tables (`[[providers.api.endpoints]]`) gets a [`Shape`] as in `own.rs`.

mod api_key;
mod checks;
mod deserialize;
mod environment;
mod gathered;
mod key;
mod kind;
mod language_model;
mod links;
mod load;
mod mark;
mod model;
mod names;
mod own;
mod problem;
mod rejudge;
mod reread;
mod schema;
mod scoring;
mod show;
mod tables;
mod tenants;
#[cfg(test)]
mod tests;
mod token;
mod traces;
mod value;
mod webhooks;

use std::path::PathBuf;

pub use api_key::ApiKey;
pub use checks::LEAST_OWN_QUERIES;
pub use gathered::Source;
pub use key::Key;
pub use kind::{Bare, Field, Kind, SecretKind, Shape};
pub use language_model::LlmConfig;
pub use links::LinksConfig;
pub use load::{DEFAULT_TOML, LoadOptions, Loaded, load, show};
pub use model::{
    AmqpConfig, CacheConfig, Config, DatabaseConfig, DomainEntry, EnrichmentConfig, FactCheckConfig, FetchConfig,
    HttpConfig, InferenceConfig, JobsConfig, LanguageRule, LogConfig, LogFormat, OpenSearchBackend, Overload,
    ProviderConfig, ProvidersConfig, QueueConfig, SearchProvider, TranslateConfig, WorkerConfig,
};
pub use names::{CONFIG_FILE_ENV, FILE_TWIN, KEYS};
pub use own::{
    ApiConfig, ApiEndpoint, CorpusConfig, CorpusFolder, DatabaseQuery, DatabaseSourceConfig, Expectation, FeedsConfig,
    QueryParameter,
};
pub use problem::{ConfigError, Problem};
pub use rejudge::RejudgeConfig;
pub use reread::{Baseline, Reread, TakenKeys};
pub use schema::{json_schema, reference_lines};
pub use scoring::{FeatureWeights, QualityWeights, ScoreCurve, ScoringConfig, VerdictThresholds};
pub use show::ShownKey;
pub use tenants::{TenantShare, TenantsConfig};
pub use traces::TracesConfig;
pub use webhooks::{WebhookEndpoint, WebhooksConfig};

/// The exit code for configuration errors: `EX_CONFIG` of `sysexits.h`.
pub const EXIT_CODE: u8 = 78;

impl Config {
    /// The built-in defaults alone: no file, no environment. For the demo and for tests.
    ///
    /// # Panics
    /// Never in a program that passed its tests: the defaults are part of it.
    pub fn built_in() -> Self {
        load(LoadOptions { file: None, env: [] }).expect("the built-in configuration is valid").config
    }
}

/// The environment of this process. Text that is not UTF-8 is passed on with replacement characters, which every kind
/// of value refuses. The one place that reads the environment.
pub fn process_env() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
}

/// The log's format as far as the environment says it; for errors that come before the whole configuration is read.
pub fn log_format_of(env: impl Iterator<Item = (String, String)>) -> LogFormat {
    let is_json = |(name, value): (String, String)| name == "LOG_FORMAT" && value.trim().eq_ignore_ascii_case("json");
    if env.into_iter().any(is_json) { LogFormat::Json } else { LogFormat::Text }
}

/// The folder of the embedded database: the configured one, else the platform's data folder, else `.corroborate` in the
/// current folder where the user has no home (some containers).
pub fn data_dir(config: &Config) -> PathBuf {
    config.data_dir.clone().unwrap_or_else(|| {
        directories::ProjectDirs::from("", "", "corroborate")
            .map_or_else(|| PathBuf::from(".corroborate"), |folders| folders.data_dir().to_path_buf())
    })
}
