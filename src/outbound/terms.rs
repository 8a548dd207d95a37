//! The limits for calls to a provider, and its state.

use std::time::Duration;

use serde::Serialize;

use super::ledger::BreakerKind;

#[derive(Debug, Clone)]
pub struct GateSettings {
    /// As in metrics and results.
    pub name: &'static str,
    /// Calls a minute, evenly spaced.
    pub rpm: u32,
    /// Maximum wait for a permit. With a longer queue the provider is busy, so that the wait does not use up the
    /// caller's time.
    pub max_wait: Duration,
    /// Maximum time for one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Maximum body size after decompression.
    pub max_bytes: usize,
    /// Maximum attempts for one question, at least 1.
    pub max_attempts: u32,
    /// Cool-down if the provider names none.
    pub cooldown: Duration,
    /// Successive failures that open the breaker.
    pub failures_to_open: u32,
    /// Attempts per UTC day, over the fleet.
    pub daily_limit: Option<u32>,
    /// US dollars per call.
    pub cost_usd: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    Ready,
    Open,
    Exhausted,
    Disabled,
}

impl GateState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Open => "open",
            Self::Exhausted => "exhausted",
            Self::Disabled => "disabled",
        }
    }
}

impl From<BreakerKind> for GateState {
    fn from(kind: BreakerKind) -> Self {
        match kind {
            BreakerKind::Ready => Self::Ready,
            BreakerKind::Open => Self::Open,
            BreakerKind::Exhausted => Self::Exhausted,
            BreakerKind::Disabled => Self::Disabled,
        }
    }
}

impl From<GateState> for BreakerKind {
    fn from(state: GateState) -> Self {
        match state {
            GateState::Ready => Self::Ready,
            GateState::Open => Self::Open,
            GateState::Exhausted => Self::Exhausted,
            GateState::Disabled => Self::Disabled,
        }
    }
}
