//! Classes of provider errors.
//!
//! The class decides about retries, billing, the breaker and the degraded result. To add a class, extend [`AskError`],
//! its methods, and the table in the tests.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::redact::redacted;
use super::replay::MissingRecording;
use crate::domain::Degradation;

/// Why a provider gave no answer. "Nothing found" is never an error.
///
/// Details are short, single-line and free of keys: [`super::Gate`] redacts them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    #[error("the provider rate-limits us{}", after(*retry_after))]
    Throttled { retry_after: Option<Duration> },
    #[error("the quota at the provider is used up{}", until_text(*until))]
    QuotaGone { until: Option<DateTime<Utc>> },
    #[error(
        "the provider refuses the key: {detail}; check it, then restart with the right one, or run `corroborate providers reset`"
    )]
    BadKey { detail: String },
    #[error("the provider failed with status {status}")]
    Server { status: u16 },
    #[error("the provider did not respond in time")]
    Timeout,
    #[error("the provider could not be reached: {detail}")]
    Connect { detail: String },
    /// The connection broke during the request: the provider may have worked and charged.
    #[error("the connection to the provider was interrupted: {detail}")]
    Lost { detail: String },
    #[error("the provider's answer could not be read: {detail}")]
    Malformed { detail: String },
    /// For this query only: retrying it is pointless, other queries work.
    #[error("the provider refuses this query: {detail}")]
    Refused { detail: String },
    /// The response was no answer: prose, a web page, failed engines.
    #[error("the provider could not be queried: {detail}")]
    CouldNotAsk { detail: String },
    /// The provider works, but has no data to search.
    #[error("the provider has nothing to search: {detail}")]
    NotReady { detail: String },
    #[error("the provider's answer is larger than allowed")]
    TooLarge,
    /// Not called: the breaker is open.
    #[error("the provider is in cool-down until {until}")]
    Open { until: DateTime<Utc> },
    /// Not called: no permit comes before the deadline.
    #[error("the provider's request limit is used up until {until}, and this item cannot wait that long")]
    Busy { until: DateTime<Utc> },
    /// The provider rejects our setup (API switched off for the project, JSON not allowed …).
    #[error("the provider is disabled: {detail}")]
    Disabled { detail: String },
    /// Not called: our daily limit.
    #[error("our daily limit for this provider is reached")]
    DailyLimit,
    /// Not called: our monthly limit.
    #[error("our monthly limit for this provider is reached")]
    MonthlyLimit,
    /// Not called: the call costs more than the rest of the budget.
    #[error("the month's spending cap is reached")]
    Budget,
    /// Not called: the permit store is unavailable.
    #[error("the shared request limit could not be read from the database: {detail}")]
    StoreAway { detail: String },
    /// Not called or cancelled: the caller's time ended.
    #[error("the item's time ran out before the provider responded")]
    Deadline,
    #[error(transparent)]
    NoRecording(#[from] MissingRecording),
}

fn after(wait: Option<Duration>) -> String {
    wait.map(|wait| format!(" for {} s", wait.as_secs_f64())).unwrap_or_default()
}

fn until_text(until: Option<DateTime<Utc>>) -> String {
    until.map(|until| format!(" until {until}")).unwrap_or_default()
}

impl AskError {
    /// A metrics label from a closed set.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Throttled { .. } => "throttled",
            Self::QuotaGone { .. } => "quota_gone",
            Self::BadKey { .. } => "bad_key",
            Self::Server { .. } => "server_error",
            Self::Timeout => "timeout",
            Self::Connect { .. } => "connect",
            Self::Lost { .. } => "connection_lost",
            Self::Malformed { .. } => "malformed",
            Self::Refused { .. } => "refused",
            Self::CouldNotAsk { .. } => "could_not_ask",
            Self::NotReady { .. } => "not_ready",
            Self::TooLarge => "too_large",
            Self::Open { .. } => "open",
            Self::Busy { .. } => "busy",
            Self::Disabled { .. } => "disabled",
            Self::DailyLimit => "daily_limit",
            Self::MonthlyLimit => "monthly_limit",
            Self::StoreAway { .. } => "store_away",
            Self::Budget => "budget",
            Self::Deadline => "deadline",
            Self::NoRecording(_) => "no_recording",
        }
    }

    /// Whether it counts towards opening the breaker. Throttles, used-up quotas and refused keys open it at once.
    pub const fn counts_for_breaker(&self) -> bool {
        matches!(
            self,
            Self::Server { .. }
                | Self::Timeout
                | Self::Connect { .. }
                | Self::Lost { .. }
                | Self::Malformed { .. }
                | Self::CouldNotAsk { .. }
                | Self::TooLarge
        )
    }

    /// Whether the same request may succeed shortly. A throttle only if the provider named its duration.
    pub const fn retryable(&self) -> bool {
        matches!(
            self,
            Self::Server { .. }
                | Self::Timeout
                | Self::Connect { .. }
                | Self::Lost { .. }
                | Self::Malformed { .. }
                | Self::Throttled { retry_after: Some(_) }
        )
    }

    /// Whether the provider may have charged. In doubt yes, so that a budget is never exceeded.
    pub const fn may_be_billed(&self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::Lost { .. }
                | Self::Server { .. }
                | Self::Malformed { .. }
                | Self::CouldNotAsk { .. }
                | Self::TooLarge
                | Self::Deadline
        )
    }

    /// The `degraded` entry for a result without this provider.
    pub fn degradation(&self, provider: &str) -> Degradation {
        match self {
            Self::Throttled { .. }
            | Self::QuotaGone { .. }
            | Self::Open { .. }
            | Self::DailyLimit
            | Self::MonthlyLimit => Degradation::ProviderOpen(provider.to_owned()),
            Self::Busy { .. } => Degradation::ProviderBusy(provider.to_owned()),
            Self::BadKey { .. } | Self::Disabled { .. } => Degradation::ProviderDisabled(provider.to_owned()),
            Self::Budget => Degradation::Budget,
            Self::StoreAway { .. } => Degradation::StoreAway(provider.to_owned()),
            Self::Deadline => Degradation::Deadline,
            Self::Server { .. }
            | Self::Timeout
            | Self::Connect { .. }
            | Self::Lost { .. }
            | Self::Malformed { .. }
            | Self::Refused { .. }
            | Self::CouldNotAsk { .. }
            | Self::NotReady { .. }
            | Self::TooLarge
            | Self::NoRecording(_) => Degradation::ProviderFailed(provider.to_owned()),
        }
    }

    /// Redacts every secret: providers repeat keys in their messages.
    #[must_use]
    pub(super) fn without(mut self, secrets: &[String]) -> Self {
        if let Self::BadKey { detail }
        | Self::Connect { detail }
        | Self::Lost { detail }
        | Self::Malformed { detail }
        | Self::Refused { detail }
        | Self::CouldNotAsk { detail }
        | Self::NotReady { detail }
        | Self::Disabled { detail } = &mut self
        {
            *detail = redacted(detail, secrets);
        }
        self
    }
}

/// For tests with a table.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) fn all() -> Vec<AskError> {
        let detail = || "why".to_owned();
        vec![
            AskError::Throttled { retry_after: None },
            AskError::Throttled { retry_after: Some(Duration::from_secs(2)) },
            AskError::QuotaGone { until: None },
            AskError::BadKey { detail: detail() },
            AskError::Server { status: 503 },
            AskError::Timeout,
            AskError::Connect { detail: detail() },
            AskError::Lost { detail: detail() },
            AskError::Malformed { detail: detail() },
            AskError::Refused { detail: detail() },
            AskError::CouldNotAsk { detail: detail() },
            AskError::NotReady { detail: detail() },
            AskError::TooLarge,
            AskError::Open { until: DateTime::UNIX_EPOCH },
            AskError::Busy { until: DateTime::UNIX_EPOCH },
            AskError::Disabled { detail: detail() },
            AskError::DailyLimit,
            AskError::MonthlyLimit,
            AskError::StoreAway { detail: detail() },
            AskError::Budget,
            AskError::Deadline,
            AskError::NoRecording(MissingRecording { method: "GET".into(), url: "http://a/".into() }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::samples::all;
    use super::*;

    #[test]
    fn error_class_decides_as_in_table_when_breaker_counts() {
        // label, counts for the breaker, retryable, degradation
        let table = [
            ("throttled", false, false, "provider_open:p"),
            ("throttled", false, true, "provider_open:p"),
            ("quota_gone", false, false, "provider_open:p"),
            ("bad_key", false, false, "provider_disabled:p"),
            ("server_error", true, true, "provider_failed:p"),
            ("timeout", true, true, "provider_failed:p"),
            ("connect", true, true, "provider_failed:p"),
            ("connection_lost", true, true, "provider_failed:p"),
            ("malformed", true, true, "provider_failed:p"),
            ("refused", false, false, "provider_failed:p"),
            ("could_not_ask", true, false, "provider_failed:p"),
            ("not_ready", false, false, "provider_failed:p"),
            ("too_large", true, false, "provider_failed:p"),
            ("open", false, false, "provider_open:p"),
            ("busy", false, false, "provider_busy:p"),
            ("disabled", false, false, "provider_disabled:p"),
            ("daily_limit", false, false, "provider_open:p"),
            ("monthly_limit", false, false, "provider_open:p"),
            ("store_away", false, false, "store_away:p"),
            ("budget", false, false, "budget"),
            ("deadline", false, false, "deadline"),
            ("no_recording", false, false, "provider_failed:p"),
        ];
        for (error, (label, counts, retryable, degradation)) in all().iter().zip(table) {
            assert_eq!(error.label(), label);
            assert_eq!(error.counts_for_breaker(), counts, "{label}");
            assert_eq!(error.retryable(), retryable, "{label}");
            assert_eq!(error.degradation("p").to_string(), degradation, "{label}");
        }
        assert_eq!(all().len(), table.len());
    }

    #[test]
    fn a_key_echoed_by_the_provider_is_redacted() {
        let secrets = ["s3cret".to_owned(), String::new()];
        let error = AskError::BadKey { detail: "key s3cret is wrong, s3cret!".into() }.without(&secrets);
        assert_eq!(error, AskError::BadKey { detail: "key [key] is wrong, [key]!".into() });
    }
}
