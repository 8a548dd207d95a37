//! corroborate: evidence beside the news. Modules are listed in reading order, top of the house first.

pub mod cli;
pub mod app;
pub mod http;
pub mod worker;
pub mod pipeline;
pub mod providers;
pub mod inference;
pub mod judging;
pub mod reading;
pub mod language;
pub mod outbound;
pub mod cache;
pub mod broker;
pub mod store;
pub mod telemetry;
pub mod config;
pub mod domain;
