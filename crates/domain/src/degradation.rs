//! Why a result is less than it could be. "We could not ask" is a value of its own, never an empty list.

use std::fmt;

/// One cause. `Display` gives the stored form (`provider_open:gdelt`), [`Degradation::label`] the metric label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Degradation {
    /// The breaker of that provider is open, or it refused to be asked now (throttled, exhausted).
    ProviderOpen(String),
    /// That provider is well, but the slots of its rate limit were taken by others for too long.
    ProviderBusy(String),
    /// That provider was asked and failed (5xx, timeout, nonsense at status 200).
    ProviderFailed(String),
    /// That provider's key is refused.
    ProviderDisabled(String),
    /// That provider was not asked: the store, which shares out the slots of its rate limit, could not be reached.
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
    /// Those that concern nobody by name.
    pub const BARE: &'static [Self] =
        &[Self::Deadline, Self::Budget, Self::Overload, Self::NoPageRead, Self::PagesFailed, Self::NoProvider];

    /// The cause of that stored form; `None` for any other text, as a later version may have written it.
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

    /// The provider or model it concerns; `None` where it concerns the item as a whole.
    pub fn of_whom(&self) -> Option<&str> {
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
        match self.of_whom() {
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
