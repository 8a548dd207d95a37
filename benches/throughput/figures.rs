//! The figures and how they are shown.

use serde::Serialize;

/// What a figure should be.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtLeast(f64),
    Below(f64),
    /// Shown for what it explains.
    None,
}

/// One measured figure.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) target: Target,
    pub(crate) met: Option<bool>,
    /// What publishing and consuming the same bodies reaches, items a second.
    pub(crate) raw_broker: Option<f64>,
    /// What inserting the same rows reaches, items a second.
    pub(crate) raw_inserts: Option<f64>,
    /// How the figure came about: counts, percentiles, processor time.
    pub(crate) remarks: String,
}

impl Figure {
    pub(crate) fn new(name: &str, value: f64, unit: &'static str, target: Target) -> Self {
        let met = match target {
            Target::AtLeast(bound) => Some(value >= bound),
            Target::Below(bound) => Some(value < bound),
            Target::None => None,
        };
        Self {
            name: name.to_owned(),
            value,
            unit,
            target,
            met,
            raw_broker: None,
            raw_inserts: None,
            remarks: String::new(),
        }
    }

    pub(crate) fn remark(mut self, remarks: impl Into<String>) -> Self {
        self.remarks = remarks.into();
        self
    }
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<Figure>);

impl Figures {
    /// Prints it at once as well, so that a run of hours that is cut off has shown what it measured until then.
    pub(crate) fn push(&mut self, figure: Figure) {
        eprintln!("measured: {}: {} {}; {}", figure.name, number(figure.value), figure.unit, figure.remarks);
        self.0.push(figure);
    }

    pub(crate) fn all_met(&self) -> bool {
        self.0.iter().all(|figure| figure.met != Some(false))
    }

    pub(crate) fn json(&self) -> String {
        serde_json::json!({ "figures": self.0, "cores": cores(), "all_met": self.all_met() }).to_string()
    }

    pub(crate) fn table(&self) -> String {
        let header = ["figure", "measured", "target", "met", "raw broker", "raw inserts", "remarks"].map(str::to_owned);
        let mut rows = vec![header];
        for figure in &self.0 {
            let rate = |limit: Option<f64>| match limit {
                Some(limit) => format!("{limit:.0} /s ({:.0} %)", figure.value / limit * 100.0),
                None => "–".to_owned(),
            };
            rows.push([
                figure.name.clone(),
                format!("{} {}", number(figure.value), figure.unit),
                match figure.target {
                    Target::AtLeast(bound) => format!("≥ {bound}"),
                    Target::Below(bound) => format!("< {bound}"),
                    Target::None => "–".to_owned(),
                },
                figure.met.map_or("–", |met| if met { "yes" } else { "NO" }).to_owned(),
                rate(figure.raw_broker),
                rate(figure.raw_inserts),
                figure.remarks.clone(),
            ]);
        }
        let widths: Vec<usize> = (0..rows[0].len())
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        let mut table = format!("{} cores; percentages: the figure as a share of the limit\n", cores());
        for row in rows {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
                .collect();
            table.push_str(cells.join("  ").trim_end());
            table.push('\n');
        }
        table
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, std::num::NonZero::get)
}

fn number(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// The value below which `share` of the sorted values lie; 0 of none.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}
