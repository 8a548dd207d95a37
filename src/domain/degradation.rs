//! Why a result is less than it could be. "We could not ask" is a value of its own, never an empty list.

use std::fmt;

/// One cause. `Display` gives the stored form (`provider_open:gdelt`), [`Degradation::label`] the metric label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Degradation {
    /// The breaker of that provider is open, or it refused to be asked now (throttled, exhausted).
    ProviderOpen(String),
    /// That provider is well, but the turns of its rate limit were taken by others for too long.
    ProviderBusy(String),
    /// That provider was asked and failed (5xx, timeout, nonsense at status 200).
    ProviderFailed(String),
    /// That provider's key is refused.
    ProviderDisabled(String),
    /// That provider was not asked: the store, which shares out the turns, could not be reached.
    StoreAway(String),
    /// That model (`embedder`, `stance`, `reranker`) failed: its work was done by words and rules.
    ModelFailed(String),
    /// The item's time was up before everything was asked or read.
    Deadline,
    /// The spending cap stopped a paid call.
    Budget,
    /// The daemon was overloaded: Phase 2 was left out.
    Overload,
    /// Pages were found and none could be read.
    NoPageRead,
    /// More than half of the pages found could not be read.
    PagesFailed,
    /// No search provider is configured at all.
    NoProvider,
}

impl Degradation {
    /// A label from a closed set.
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
        match self {
            Self::ProviderOpen(name)
            | Self::ProviderBusy(name)
            | Self::ProviderFailed(name)
            | Self::ProviderDisabled(name)
            | Self::StoreAway(name)
            | Self::ModelFailed(name) => {
                write!(f, "{}:{name}", self.label())
            }
            _ => f.write_str(self.label()),
        }
    }
}
