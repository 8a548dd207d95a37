//! What somebody who waits is told while an item is worked on.

use std::fmt;
use std::sync::Arc;

use crate::domain::Degradation;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A stage began; one of the catalogue's.
    Stage(&'static str),
    /// A line of the trace.
    Trace(String),
    /// Something could not be asked or used.
    Degraded(Degradation),
}

/// Who is told. Telling must not wait: it happens between the lines of the work.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Fn(Progress) + Send + Sync>);

impl Watcher {
    pub fn new(tell: Arc<dyn Fn(Progress) + Send + Sync>) -> Self {
        Self(tell)
    }

    pub(crate) fn tell(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}
