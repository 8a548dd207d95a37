//! The configuration: three layers become one typed tree, or a list of all problems.
//!
//! 1. `config/default.toml` is built in. It has every key with its default, variable, reason and unit, and is the
//!    reference manual.
//! 2. The file of `--config` or `CORROBORATE_CONFIG`.
//! 3. The environment. Only this module reads it.
//!
//! This module uses no network and never prints. No message, `Debug` output or list contains a secret.
//!
//! To add a key, add a commented line to `config/default.toml` and a field with its kind to `settings.rs` (or `own.rs`).
//! The comment names the variable and is the help text; the tests name missing parts. A rule between keys goes into
//! `checks.rs`, a new kind of value into `kind.rs` (definition) and `value.rs` (reading).

mod api_key;
mod checks;
mod kind;
mod load;
mod own;
mod problem;
mod reread;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
mod value;

use std::path::PathBuf;

pub use api_key::ApiKey;
pub use checks::LEAST_OWN_QUERIES;
pub use kind::{KEYS, Key, Kind};
pub use load::{LoadOptions, LoadedConfig, ShownKey, Source, load, show};
pub use own::{
    ApiConfig, ApiEndpoint, CorpusConfig, CorpusFolder, DatabaseQuery, DatabaseSourceConfig, Expectation, FeedsConfig,
    QueryParameter,
};
pub use problem::{ConfigError, Problem};
pub use reread::{Baseline, ReloadedConfig, TakenKeys};
pub use schema::json_schema;
pub use settings::{
    AmqpConfig, CacheConfig, Config, DatabaseConfig, DomainEntry, EnrichmentConfig, FactCheckConfig, FetchConfig,
    HttpConfig, InferenceConfig, JobsConfig, LanguageRule, LinksConfig, LlmConfig, LogConfig, LogFormat,
    OpenSearchBackend, Overload, ProviderConfig, ProvidersConfig, QueueConfig, RejudgeConfig, ScoringConfig,
    SearchProvider, TracesConfig, TranslateConfig, WebhookEndpoint, WebhooksConfig, WorkerConfig,
};

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
