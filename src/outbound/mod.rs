//! The only HTTP client. Everything that leaves the process for a provider or a page goes through here.
//!
//! [`Gate`] is how a provider is asked: in a slot of the fleet's rate, quotas and money (leased from a [`ledger`]), past
//! a breaker that the error's class decides on and all processes share, with retries within the caller's deadline.
//! [`pages::PageFetcher`] is how a page is fetched: from public addresses only, checked at connect time and on every
//! redirect, as the site's `robots.txt` allows. Both answer from recordings as well ([`replay`]).
//!
//! What this room never does: know a provider's format, put a key into a URL or an error, follow an API's redirect, use
//! a proxy of the environment, read more than the cap, or wait past a deadline.
//!
//! To add a provider, do not come here: build a [`Gate`] for it and write `providers/<name>`. To add a class of failure,
//! add it to [`AskError`] and to its table in the tests; the breaker and the degradation follow from there.

mod backoff_delays;
mod block;
mod body;
mod body_error;
mod breaker;
mod call_scheduler;
mod client;
mod decode;
mod error;
mod excerpt;
mod fetch_error;
mod fleet;
mod gate;
#[cfg(test)]
mod gate_tests;
pub mod hub;
mod identity;
mod inquiry;
#[cfg(test)]
mod key_change_tests;
mod key_fields;
pub mod ledger;
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
mod tenants;
mod terms;
#[cfg(test)]
pub(crate) mod test_server;
pub mod webhook;

pub use backoff_delays::Delays;
pub use client::{BuildError, HttpClient};
pub use error::AskError;
#[cfg(test)]
pub(crate) use error::samples::all as every_ask_error;
pub use excerpt::excerpt;
pub use fetch_error::FetchError;
#[cfg(test)]
pub(crate) use fetch_error::samples::all as every_fetch_error;
pub use fleet::{Fleet, Follower};
pub use gate::{Gate, GateStatus};
pub use identity::Identity;
pub use inquiry::Inquiry;
pub use observer::{CacheResult, NoObserver, Observer};
pub use pages::{Fetched, FetchedPage, PageFetcher, PageSettings, PageSource, Validators};
pub use request::ApiRequest;
/// The vocabulary of HTTP, for the rooms above that must not depend on the client itself.
pub use reqwest::{Method, header};
pub use response::ApiResponse;
pub use spend::{AskMeter, Asker};
pub(crate) use tenants::Purse;
pub use tenants::{Tenant, Tenants};
pub use terms::{GateSettings, GateState};
