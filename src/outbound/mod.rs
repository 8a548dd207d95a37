//! The only HTTP client. Everything that leaves the process for a provider or a page goes through here.
//!
//! [`Gate`] is how a provider is asked: an even rate, a breaker that the error's class decides on, retries within the
//! caller's deadline, a daily account. [`pages::PageFetcher`] is how a page is fetched: from public addresses only,
//! checked at connect time and on every redirect. Both answer from recordings as well ([`replay`]).
//!
//! What this room never does: know a provider's format, put a key into a URL or an error, follow an API's redirect, use
//! a proxy of the environment, read more than the cap, or wait past a deadline.
//!
//! To add a provider, do not come here: build a [`Gate`] for it and write `providers/<name>`. To add a class of failure,
//! add it to [`AskError`] and to its table in the tests; the breaker and the degradation follow from there.

mod backoff_delays;
mod body;
mod breaker;
mod client;
mod error;
mod gate;
#[cfg(test)]
mod gate_tests;
pub mod guard;
mod limiter;
pub mod local;
mod observer;
#[cfg(test)]
mod page_tests;
pub mod pages;
pub mod replay;
pub mod retry_after;
#[cfg(test)]
mod script;
mod spend;
#[cfg(test)]
pub(crate) mod test_server;

pub use client::{ApiRequest, ApiResponse, BuildError, HttpClient};
#[cfg(test)]
pub(crate) use error::samples::all as every_ask_error;
pub use error::{AskError, excerpt};
pub use gate::{DayUsage, Gate, GateSettings, GateState, GateStatus};
pub use observer::{NoObserver, Observer};
pub use pages::{FetchError, Fetched, FetchedPage, PageFetcher, PageSettings, PageSource, Validators};
/// The vocabulary of HTTP, for the rooms above that must not depend on the client itself.
pub use reqwest::{Method, header};
pub use spend::{AskMeter, Asker, Spend};
