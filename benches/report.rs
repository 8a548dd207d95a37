//! What a run prints: figures with their targets, what was skipped, and what failed.

use std::time::Instant;

use serde_json::{Value, json};

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    Below(f64),
    /// The figure explains others.
    None,
}

#[derive(Debug)]
struct Figure {
    name: String,
    value: Value,
    unit: &'static str,
    target: Target,
    remarks: String,
}

/// All figures of a run.
#[derive(Debug)]
pub(crate) struct Report {
    began: Instant,
    figures: Vec<Figure>,
    skipped: Vec<String>,
    failures: Vec<String>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), figures: Vec::new(), skipped: Vec::new(), failures: Vec::new() }
    }

    /// Adds a measured figure, and a failure if it misses its target. Progress is printed at once, so that a run of hours
    /// that is interrupted has shown its figures.
    pub(crate) fn measure(
        &mut self,
        name: &str,
        value: f64,
        unit: &'static str,
        target: Target,
        remarks: impl Into<String>,
    ) {
        let remarks = remarks.into();
        eprintln!("measured: {name}: {} {unit}; {remarks}", number(value));
        let is_met = match target {
            Target::AtLeast(bound) => value >= bound,
            Target::Below(bound) => value < bound,
            Target::None => true,
        };
        self.require(is_met, || format!("{name}: {} {unit}, target {}", number(value), target.text()));
        self.figures.push(Figure { name: name.to_owned(), value: json!(value), unit, target, remarks });
    }

    /// Adds a figure without a target: a count or a text.
    pub(crate) fn note(&mut self, name: &str, value: impl Into<Value>) {
        let (name, value) = (name.to_owned(), value.into());
        self.figures.push(Figure { name, value, unit: "", target: Target::None, remarks: String::new() });
    }

    /// Adds what could not be tried here, with the reason.
    pub(crate) fn skip(&mut self, what: String) {
        eprintln!("skipped: {what}");
        self.skipped.push(what);
    }

    /// Adds a violated guarantee.
    pub(crate) fn fail(&mut self, what: String) {
        eprintln!("FAILED: {what}");
        self.failures.push(what);
    }

    /// Adds a failure if the condition does not hold.
    pub(crate) fn require(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.fail(otherwise());
        }
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn json(&self) -> String {
        let figures: Vec<Value> = self
            .figures
            .iter()
            .map(|figure| {
                json!({ "name": figure.name, "value": figure.value, "unit": figure.unit,
                    "target": figure.target.text(), "remarks": figure.remarks })
            })
            .collect();
        json!({ "ok": self.is_ok(), "seconds": self.began.elapsed().as_secs(), "cores": cores(), "figures": figures,
            "skipped": self.skipped, "failures": self.failures })
        .to_string()
    }

    pub(crate) fn text(&self) -> String {
        let width = self.figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or(0);
        let mut lines: Vec<String> = self
            .figures
            .iter()
            .map(|Figure { name, value, unit, target, remarks }| {
                let value = match value {
                    Value::String(text) => text.clone(),
                    value => value.as_f64().map_or_else(|| value.to_string(), number),
                };
                let target = target.text();
                let target = if target.is_empty() { target } else { format!("(target {target})") };
                format!("{name:width$}  {value} {unit} {target}  {remarks}").trim_end().to_owned()
            })
            .collect();
        lines.extend(self.skipped.iter().map(|what| format!("skipped: {what}")));
        lines.extend(self.failures.iter().map(|what| format!("FAILED: {what}")));
        let outcome = if self.is_ok() { "ok" } else { "FAILED" };
        lines.push(format!("{outcome} in {} s on {} cores", self.began.elapsed().as_secs(), cores()));
        lines.join("\n")
    }
}

impl Target {
    fn text(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("≥ {bound}"),
            Self::Below(bound) => format!("< {bound:.0}"),
            Self::None => String::new(),
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, std::num::NonZero::get)
}

pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 || value >= 1000.0 {
        format!("{value:.0}")
    } else if value.abs() < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}

/// The value below which `share` of the sorted values lie; 0 of none.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}
