//! Progress reports for a client that waits.

use std::fmt;
use std::sync::Arc;

use crate::domain::Degradation;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Start of a stage from the metrics catalogue.
    Stage(&'static str),
    Trace(String),
    Degraded(Degradation),
}

/// Receiver of progress. It must not block, because the pipeline calls it directly.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Fn(Progress) + Send + Sync>);

impl Watcher {
    pub fn new(report: Arc<dyn Fn(Progress) + Send + Sync>) -> Self {
        Self(report)
    }

    pub(crate) fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}
