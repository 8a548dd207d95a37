//! The labelled sets as rows of claim, evidence and label.

use std::path::Path;

use serde_json::Value;

/// What people say of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    Entail,
    Neutral,
    Contradict,
    /// Of sets that ask only whether it follows.
    NotEntail,
}

impl Label {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Entail => "entail",
            Self::Neutral => "neutral",
            Self::Contradict => "contradict",
            Self::NotEntail => "not_entail",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "supported" => Some(Self::Entail),
            "refuted" => Some(Self::Contradict),
            "not_enough_evidence" => Some(Self::Neutral),
            _ => [Self::Entail, Self::Neutral, Self::Contradict, Self::NotEntail]
                .into_iter()
                .find(|one| one.as_str() == word),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) id: String,
    /// Of a file that holds several sets; empty where it says nothing.
    pub(crate) source: String,
    pub(crate) claim: String,
    pub(crate) evidence: String,
    pub(crate) label: Label,
}

impl Row {
    /// Whether the claim states a figure.
    pub(crate) fn is_numeric(&self) -> bool {
        self.claim.chars().any(|c| c.is_ascii_digit())
    }
}

/// Every n-th line, so that at most `most` are left; 0 is no limit.
pub(crate) fn every<T>(lines: Vec<T>, most: usize) -> Vec<T> {
    let step = if most == 0 { 1 } else { lines.len().div_ceil(most).max(1) };
    lines.into_iter().step_by(step).collect()
}

/// The lines of a file below the data folder; `None`, said aloud, where it is not there.
pub(crate) fn lines(data: &Path, name: &str) -> Option<Vec<String>> {
    let path = data.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text.lines().map(str::to_owned).collect()),
        Err(error) => {
            println!("skipped: {} ({error})", path.display());
            None
        }
    }
}

/// Returns a set's rows. The fields are `claim` and `evidence`, or `hypothesis` and `premise`. A claim with exactly one
/// passage, in the format of `corroborate eval`, is a row.
pub(crate) fn rows(data: &Path, name: &str, most: usize) -> Option<Vec<Row>> {
    let row = |line: &String| -> Option<Row> {
        let value: Value = serde_json::from_str(line).ok()?;
        let field = |names: [&str; 2]| names.iter().find_map(|name| value[*name].as_str()).map(str::to_owned);
        Some(Row {
            id: field(["id", "id"]).unwrap_or_default(),
            source: field(["source", "source"]).unwrap_or_default(),
            claim: field(["claim", "hypothesis"])?,
            evidence: field(["evidence", "premise"]).or_else(|| only_passage(&value["evidence"]))?,
            label: Label::parse(value["label"].as_str()?)?,
        })
    };
    Some(every(lines(data, name)?.iter().filter_map(row).collect(), most))
}

fn only_passage(evidence: &Value) -> Option<String> {
    let [passage] = evidence.as_array()?.as_slice() else { return None };
    passage["text"].as_str().map(str::to_owned)
}
