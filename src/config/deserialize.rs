//! Deserializers for secrets, keys and lists of durations.

use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize as _, Deserializer};

use super::api_key::ApiKey;

pub(super) fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}

pub(super) fn api_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ApiKey>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(ApiKey::from))
}

/// Durations such as `["5s", "30s"]`.
pub(super) fn durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
    let spans = Vec::<humantime_serde::Serde<Duration>>::deserialize(deserializer)?;
    Ok(spans.into_iter().map(humantime_serde::Serde::into_inner).collect())
}
