//! The one line that a night prints.

use std::time::Instant;

use serde_json::{Map, Value, json};

/// Filled while a night goes on.
#[derive(Debug)]
pub(crate) struct Line {
    night: &'static str,
    began: Instant,
    figures: Vec<(String, Value)>,
    skipped: Vec<String>,
    failures: Vec<String>,
}

impl Line {
    pub(crate) fn of(night: &'static str) -> Self {
        Self { night, began: Instant::now(), figures: Vec::new(), skipped: Vec::new(), failures: Vec::new() }
    }

    /// A figure, in words that stand behind it.
    pub(crate) fn figure(&mut self, name: &str, value: impl Into<Value>) {
        self.figures.push((name.to_owned(), value.into()));
    }

    /// Something that could not be tried here, with the reason.
    pub(crate) fn skips(&mut self, what: String) {
        eprintln!("{}: skipped: {what}", self.night);
        self.skipped.push(what);
    }

    /// A promise that did not hold.
    pub(crate) fn fails(&mut self, what: String) {
        eprintln!("{}: FAILED: {what}", self.night);
        self.failures.push(what);
    }

    /// Fails where something does not hold.
    pub(crate) fn insists(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.fails(otherwise());
        }
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn text(&self) -> String {
        let figures: Vec<String> = self
            .figures
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name} {text}"),
                value => format!("{value} {name}"),
            })
            .collect();
        let mut text = format!(
            "{}: {} in {} s: {}",
            self.night,
            if self.is_ok() { "ok" } else { "FAILED" },
            self.began.elapsed().as_secs(),
            figures.join(", ")
        );
        for (word, parts) in [("; failures: ", &self.failures), ("; skipped: ", &self.skipped)] {
            if !parts.is_empty() {
                text.push_str(word);
                text.push_str(&parts.join("; "));
            }
        }
        // One line, whatever a daemon's log or an error has in it.
        text.replace(['\n', '\r'], " | ")
    }

    pub(crate) fn json(&self) -> String {
        let figures: Map<String, Value> = self.figures.iter().cloned().collect();
        json!({
            "night": self.night, "ok": self.is_ok(), "seconds": self.began.elapsed().as_secs(), "figures": figures,
            "failures": self.failures, "skipped": self.skipped,
        })
        .to_string()
    }
}
