//! The configuration: three layers become one typed tree, or a list of all problems.
//!
//! 1. `config/default.toml` is built in. It has every key with reason and unit, and is the reference manual.
//! 2. The file of `--config` or `CORROBORATE_CONFIG`.
//! 3. The environment. Only this module reads it.
//!
//! This module uses no network and never prints. No message, `Debug` output or list contains a secret.
//!
//! To add a key, add a commented line to `config/default.toml`, a row to `names.rs` and a field to `model.rs` (or
//! `scoring.rs`). The tests name missing parts. A rule between keys goes into `checks.rs`. A new kind of value goes
//! into `kind.rs` (definition) and `value.rs` (reading). A list of tables (`[[providers.api.endpoints]]`) needs a
//! [`Shape`] as in `own.rs`.

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
pub use load::{DEFAULT_TOML, LoadOptions, LoadedConfig, load, show};
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
pub use reread::{Baseline, ReloadedConfig, TakenKeys};
pub use schema::{json_schema, reference_lines};
pub use scoring::{FeatureWeights, QualityWeights, ScoreCurve, ScoringConfig, VerdictThresholds};
pub use show::ShownKey;
pub use traces::TracesConfig;
pub use webhooks::{WebhookEndpoint, WebhooksConfig};

/// The exit code of configuration errors: `EX_CONFIG` of `sysexits.h`.
pub const EXIT_CODE: u8 = 78;

impl Config {
    /// Returns the built-in defaults, for the demo and tests.
    ///
    /// # Panics
    /// If the built-in defaults are invalid. Tests prevent this.
    pub fn built_in() -> Self {
        load(LoadOptions { file: None, env: [] }).expect("the built-in configuration is valid").config
    }
}

/// Returns the environment of this process. Text that is not UTF-8 gets replacement characters, which every kind of
/// value refuses.
pub fn process_env() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
}

/// Returns the log format for errors before the configuration is read.
pub fn log_format_of(env: impl Iterator<Item = (String, String)>) -> LogFormat {
    let is_json = |(name, value): (String, String)| name == "LOG_FORMAT" && value.trim().eq_ignore_ascii_case("json");
    if env.into_iter().any(is_json) { LogFormat::Json } else { LogFormat::Text }
}

/// Returns the configured folder, else the platform's data folder, else `.corroborate` for users without a home folder
/// (some containers).
pub fn data_dir(config: &Config) -> PathBuf {
    config.data_dir.clone().unwrap_or_else(|| {
        directories::ProjectDirs::from("", "", "corroborate")
            .map_or_else(|| PathBuf::from(".corroborate"), |folders| folders.data_dir().to_path_buf())
    })
}
