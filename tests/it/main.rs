//! The integration tests, in one binary: it links once, and they share what is in `support`.

mod broker;
mod commands;
mod daemon;
mod demo;
mod simulator;
mod store;
mod support;
mod tidy;
