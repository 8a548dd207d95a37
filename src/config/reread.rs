//! Reads the configuration again while the process runs.
//!
//! The environment of a process is fixed, so new keys come from `_FILE` files and new lists from the configuration
//! file. Other changes need a restart and are reported.

use std::path::PathBuf;

use super::api_key::ApiKey;
use super::load::{KEYED_TABLES, LoadOptions, LoadedConfig, load};
use super::problem::ConfigError;
use super::settings::Config;

/// Returns true for settings that a running process applies, in addition to the keys of `providers.api.endpoints`.
fn is_taken_over(path: &str) -> bool {
    path.ends_with(".api_key") || matches!(path, "enrichment.allowlist_domains" | "enrichment.denylist_domains")
}

#[derive(Debug, Clone)]
pub struct Baseline {
    file: Option<PathBuf>,
    marks: Vec<(&'static str, [u8; 32])>,
}

#[derive(Debug)]
pub struct ReloadedConfig {
    pub config: Config,
    /// Changed settings that need a restart.
    pub restart: Vec<&'static str>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct TakenKeys {
    pub replaced: Vec<String>,
    /// Added or removed keys: their users are built only at the start.
    pub restart: Vec<String>,
}

impl LoadedConfig {
    /// Returns the state for later comparisons. `file`: that of `--config`.
    pub fn baseline(&self, file: Option<PathBuf>) -> Baseline {
        Baseline { file, marks: self.marks.clone() }
    }
}

impl Baseline {
    /// Applies nothing. The error contains all problems.
    pub fn reread(&self, env: impl IntoIterator<Item = (String, String)>) -> Result<ReloadedConfig, ConfigError> {
        let loaded = load(LoadOptions { file: self.file.clone(), env })?;
        let both = self.marks.iter().zip(&loaded.marks);
        let differing = both.filter(|((_, before), (_, now))| before != now).map(|((path, _), _)| *path);
        let restart = differing.filter(|path| !is_taken_over(path)).collect();
        Ok(ReloadedConfig { config: loaded.config, restart })
    }
}

impl Config {
    fn api_keys(&self) -> Vec<(String, Option<&ApiKey>)> {
        let providers = self.providers.named();
        let mut keys: Vec<(String, Option<&ApiKey>)> = providers
            .iter()
            .map(|(name, provider)| (format!("providers.{name}.api_key"), provider.api_key.as_ref()))
            .collect();
        let endpoints = self.providers.api.endpoints.iter();
        keys.extend(endpoints.map(|one| (format!("{KEYED_TABLES}.{}.api_key", one.name), one.api_key.as_ref())));
        keys.push(("llm.api_key".to_owned(), self.llm.api_key.as_ref()));
        keys.push(("translate.api_key".to_owned(), self.translate.api_key.as_ref()));
        keys.push(("inference.api_key".to_owned(), self.inference.api_key.as_ref()));
        keys
    }

    /// Applies the later keys to all holders of this configuration's keys.
    pub fn take_keys(&self, later: &Self) -> TakenKeys {
        let (mut taken, mut later) = (TakenKeys::default(), later.api_keys());
        for (name, key) in self.api_keys() {
            let found = later.iter().position(|(other, _)| *other == name);
            let new = found.and_then(|place| later.swap_remove(place).1);
            match (key, new) {
                (Some(key), Some(new)) if key.replace(new) => taken.replaced.push(name),
                (Some(_), Some(_)) | (None, None) => {}
                (Some(_), None) | (None, Some(_)) => taken.restart.push(name),
            }
        }
        // New endpoints are reported with their table.
        taken
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::super::kind::KEYS;
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn sent(config: &Config) -> String {
        config.providers.brave.api_key.as_ref().unwrap().current().expose_secret().to_owned()
    }

    #[test]
    fn every_key_of_a_service_can_be_taken_over() {
        let named = Config::built_in();
        let keys: Vec<String> = named.api_keys().into_iter().map(|(name, _)| name).collect();
        let secrets: Vec<&str> =
            KEYS.iter().map(|key| key.path.as_str()).filter(|path| path.ends_with(".api_key")).collect();
        assert!(secrets.len() == keys.len() && keys.iter().all(|name| secrets.contains(&name.as_str())), "{keys:?}");
        assert!(KEYS.iter().any(|key| key.path == KEYED_TABLES));
    }

    #[test]
    fn a_new_key_in_its_file_is_taken_over_and_other_settings_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let key = write(&folder, "brave", "s3cret-old\n");
        let file = write(&folder, "corroborate.toml", "[enrichment]\nmax_sources = 4\n");
        let env = env(&[("ENRICHMENT_BRAVE_API_KEY_FILE", &key)]);
        let file = Some(PathBuf::from(file));
        let started = load(LoadOptions { file: file.clone(), env: env.clone() }).unwrap();
        let baseline = started.baseline(file);
        let again = baseline.reread(env.clone()).unwrap();
        assert!(again.restart.is_empty());
        assert_eq!(started.config.take_keys(&again.config), TakenKeys::default());

        write(&folder, "brave", "s3cret-new\n");
        write(&folder, "corroborate.toml", "[enrichment]\nmax_sources = 3\ndenylist_domains = [\"a.example\"]\n");
        let again = baseline.reread(env.clone()).unwrap();
        assert_eq!(again.restart, ["enrichment.max_sources"]);
        let taken = started.config.take_keys(&again.config);
        assert_eq!((taken.replaced, taken.restart), (vec!["providers.brave.api_key".to_owned()], vec![]));
        assert_eq!(sent(&started.config), "s3cret-new");
        let shown = format!("{baseline:?} {again:?}");
        assert!(!shown.contains("s3cret"), "{shown}");

        write(&folder, "brave", " \n");
        assert!(baseline.reread(env).is_err(), "an empty file is a mistake, not a key that is gone");
        assert_eq!(sent(&started.config), "s3cret-new");
    }

    #[test]
    fn a_key_of_an_endpoint_is_no_change_of_the_endpoint() {
        let folder = tempfile::tempdir().unwrap();
        let key = write(&folder, "rates", "s3cret-old");
        let endpoints = r#"[{"name":"rates","url":"https://rates.example/?q={query}","path":"a","statement":"It is {value}.","key_header":"X-Key"}]"#;
        let given = |endpoints: &str| {
            env(&[("CORROBORATE_PROVIDERS_API_ENDPOINTS", endpoints), ("ENRICHMENT_API_RATES_API_KEY_FILE", &key)])
        };
        let started = load(LoadOptions { file: None, env: given(endpoints) }).unwrap();
        let baseline = started.baseline(None);
        write(&folder, "rates", "s3cret-new");
        let again = baseline.reread(given(endpoints)).unwrap();
        assert!(again.restart.is_empty(), "{:?}", again.restart);
        let taken = started.config.take_keys(&again.config);
        assert_eq!(taken.replaced, ["providers.api.endpoints.rates.api_key"]);
        let moved = baseline.reread(given(&endpoints.replace("rates.example", "rates.test"))).unwrap();
        assert_eq!(moved.restart, [KEYED_TABLES]);
    }
}
