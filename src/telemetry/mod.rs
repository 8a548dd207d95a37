//! What the daemon says of itself: metrics, logs and traces. It never decides anything, and never holds a text, a key
//! or a person's data.
//!
//! Metrics macros are used in this room alone, so that the catalogue stays whole. To add a metric: a row in
//! `catalogue.rs`, a function in `metrics.rs`, a line in the exporter's test, and a panel in `grafana/` where an operator
//! would look for it. The tests hold the four against each other.

pub mod catalogue;
pub mod exporter;
pub mod logging;
pub mod memory;
pub mod metrics;
pub mod trace_context;
pub mod traces;

#[cfg(test)]
mod grafana_tests;

pub use exporter::Exporter;
pub use logging::{Audience, item_ended, item_span};
pub use metrics::CircuitState;
pub use trace_context::TraceParent;
