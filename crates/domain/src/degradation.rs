//! Causes of a degraded result. Being unable to query a source is recorded as a cause, never as an empty list.

use std::fmt;

/// One cause of a degraded result. `Display` writes the stored form (`provider_open:gdelt`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Degradation {
    /// The provider's circuit breaker is open, or it refuses calls now (throttled, quota exhausted).
    ProviderOpen(String),
    /// The provider is available, but no rate-limit permit became free in time.
    ProviderBusy(String),
    /// The call failed (5xx, timeout, or an invalid body with status 200).
    ProviderFailed(String),
    /// The provider rejected its key.
    ProviderDisabled(String),
    /// The store, which issues rate-limit permits, was unreachable, so that the provider was not called.
    StoreAway(String),
    /// The model (`embedder`, `stance`, `reranker`) failed and was replaced by word comparison and rules.
    ModelFailed(String),
    /// The item's time ended before everything was queried and read.
    Deadline,
    /// The monthly cap stopped a paid call.
    Budget,
    /// The daemon was overloaded and skipped phase 2.
    Overload,
    /// Pages were found, but none could be read.
    NoPageRead,
    /// At least half of the pages found could not be read.
    PagesFailed,
    /// No search provider is configured.
    NoProvider,
}

impl Degradation {
    /// Causes without a name.
    pub const BARE: &'static [Self] =
        &[Self::Deadline, Self::Budget, Self::Overload, Self::NoPageRead, Self::PagesFailed, Self::NoProvider];

    /// Parses the stored form. `None` for other texts, which a later version may write.
    pub fn parse(stored: &str) -> Option<Self> {
        let Some((label, name)) = stored.split_once(':') else {
            return Self::BARE.iter().find(|cause| cause.label() == stored).cloned();
        };
        let name = name.to_owned();
        Some(match label {
            "provider_open" => Self::ProviderOpen(name),
            "provider_busy" => Self::ProviderBusy(name),
            "provider_failed" => Self::ProviderFailed(name),
            "provider_disabled" => Self::ProviderDisabled(name),
            "store_away" => Self::StoreAway(name),
            "model_failed" => Self::ModelFailed(name),
            _ => return None,
        })
    }

    /// The provider or model; `None` if the cause concerns the whole item.
    pub fn component(&self) -> Option<&str> {
        match self {
            Self::ProviderOpen(name)
            | Self::ProviderBusy(name)
            | Self::ProviderFailed(name)
            | Self::ProviderDisabled(name)
            | Self::StoreAway(name)
            | Self::ModelFailed(name) => Some(name),
            Self::Deadline
            | Self::Budget
            | Self::Overload
            | Self::NoPageRead
            | Self::PagesFailed
            | Self::NoProvider => None,
        }
    }

    /// The metric label, from a closed set.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::ProviderOpen(_) => "provider_open",
            Self::ProviderBusy(_) => "provider_busy",
            Self::ProviderFailed(_) => "provider_failed",
            Self::ProviderDisabled(_) => "provider_disabled",
            Self::StoreAway(_) => "store_away",
            Self::ModelFailed(_) => "model_failed",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::Overload => "overload",
            Self::NoPageRead => "no_page_read",
            Self::PagesFailed => "pages_failed",
            Self::NoProvider => "no_provider",
        }
    }
}

impl fmt::Display for Degradation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.component() {
            Some(name) => write!(f, "{}:{name}", self.label()),
            None => f.write_str(self.label()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_cause_is_read_back_as_what_it_was() {
        let named: [fn(String) -> Degradation; 6] = [
            Degradation::ProviderOpen,
            Degradation::ProviderBusy,
            Degradation::ProviderFailed,
            Degradation::ProviderDisabled,
            Degradation::StoreAway,
            Degradation::ModelFailed,
        ];
        let named = named.map(|cause| cause("gdelt".to_owned()));
        for cause in named.iter().chain(Degradation::BARE) {
            assert_eq!(Degradation::parse(&cause.to_string()).as_ref(), Some(cause));
        }
        for other in ["provider_open", "deadline:gdelt", "another:gdelt", ""] {
            assert_eq!(Degradation::parse(other), None, "{other}");
        }
    }
}
