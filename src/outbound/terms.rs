//! On what terms a provider is asked, and what it is to us right now.

use std::time::Duration;

use serde::Serialize;

use super::ledger::BreakerKind;

/// How a provider may be asked.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// The provider's name, as in metrics and results.
    pub name: &'static str,
    /// Calls a minute, spaced evenly.
    pub rpm: u32,
    /// The longest an attempt waits for its slot under that rate; a longer queue makes the provider one that cannot be
    /// asked now, so that waiting does not eat the caller's whole time.
    pub max_wait: Duration,
    /// For one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Of a body, after decompression.
    pub max_bytes: usize,
    /// Attempts in all for one question, at least 1.
    pub max_attempts: u32,
    /// How long the provider is left alone when it does not say itself.
    pub cooldown: Duration,
    /// Failures in a row that open the breaker.
    pub failures_to_open: u32,
    /// Attempts per UTC day, of the whole fleet.
    pub daily_limit: Option<u32>,
    /// US dollars per call.
    pub cost_usd: f64,
}

/// What a provider is to us right now.
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
