//! The only HTTP client: all requests to providers and pages go through this module.
//!
//! * [`Gate`] calls a provider: with a permit for the provider's rate, quotas and money, through a circuit breaker that
//!   all processes share, with retries until the caller's deadline.
//! * [`pages::PageFetcher`] fetches a page: from public addresses only, checked at connect time and on every redirect,
//!   if `robots.txt` allows it.
//!
//! Both can answer from recordings ([`replay`]).
//!
//! This module never parses a provider's format, puts a key into a URL or an error, or follows an API's redirect. It
//! never uses a proxy of the environment, reads more than the size limit, or waits past a deadline.
//!
//! To add a provider, build a [`Gate`] and write `providers/<name>`. To add a class of failure, extend [`AskError`] and
//! its table in the tests; breaker and degraded results follow from it.

mod backoff_delays;
mod body;
mod body_error;
mod breaker;
mod call_control;
mod client;
mod decode;
mod error;
mod excerpt;
mod fetch_error;
mod gate;
#[cfg(test)]
mod gate_tests;
mod identity;
#[cfg(test)]
mod key_change_tests;
mod key_fields;
mod limiter;
pub mod local;
mod names;
mod observer;
pub mod otlp;
pub mod pages;
pub mod record;
mod redact;
pub mod replay;
mod request;
mod response;
pub mod retry_after;
mod robots;
#[cfg(test)]
mod script;
mod secrets;
mod spend;
pub mod ssrf_guard;
#[cfg(test)]
pub(crate) mod test_server;
pub mod webhook;

pub use crate::store::GateState;
pub use backoff_delays::Delays;
pub use call_control::{BreakerSync, Fleet, Pace};
pub use client::{BuildError, HttpClient};
pub use error::AskError;
#[cfg(test)]
pub(crate) use error::samples::all as every_ask_error;
pub use excerpt::excerpt;
pub use fetch_error::FetchError;
#[cfg(test)]
pub(crate) use fetch_error::samples::all as every_fetch_error;
pub use gate::{Gate, GateSettings, GateStatus, Inquiry};
pub use identity::Identity;
pub use observer::{CacheResult, NoObserver, Observer};
pub use pages::{FetchOutcome, FetchedPage, PageFetcher, PageSettings, PageSource, Validators};
pub use request::ApiRequest;
/// HTTP types for modules that must not depend on the client.
pub use reqwest::{Method, header};
pub use response::ApiResponse;
pub use spend::{AskMeter, Asker};
