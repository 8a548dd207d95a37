//! Metrics, logs and traces of the daemon. Telemetry decides nothing and never contains a text, a key or personal data.
//!
//! Only this module uses metrics macros, so that the catalogue is complete. To add a metric, add a row to
//! `catalogue.rs`, a function to `metrics.rs`, a line to the exporter's test, and a panel to `grafana/`. Tests compare
//! the four.

pub mod catalogue;
pub mod exporter;
pub mod logging;
pub mod memory;
pub mod metrics;
pub mod traces;

#[cfg(test)]
mod tests;

pub use exporter::Exporter;
pub use logging::Audience;
pub use metrics::CircuitState;
pub use traces::{item_ended, item_span, remote_parent};
