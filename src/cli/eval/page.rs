//! The figures as one HTML page.
//!
//! The page has no scripts and loads no external files.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use html_escape::encode_text;

use super::reliability::{Error, Reliability};
use super::{Answer, Report};
use crate::judging::evaluation::{Evaluation, ReliabilityBin};

/// Number of mistakes shown, highest confidence first.
const MISTAKES: usize = 25;
/// Characters of a text.
const SHOWN: usize = 1_200;
/// In the diagram's own units.
const SIDE: f64 = 300.0;

const STYLE: &str = "
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:.5rem 0}th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #d7dbe0}
th:first-child,td:first-child{text-align:left}td.right{background:#e4f2e7}td.wrong{background:#fbeaea}
article{border:1px solid #d7dbe0;border-radius:6px;padding:.7rem 1rem;margin:1rem 0}article p{margin:.3rem 0;white-space:pre-wrap}
.note{color:#59626c}svg{max-width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#15181b}th,td,article{border-color:#39414a}td.right{background:#1d3324}td.wrong{background:#3a2224}.note{color:#9aa4ae}}
";

pub(super) fn page(name: &str, report: &Report, answers: &[Answer]) -> String {
    let found = &report.evaluation;
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{name}: evaluation</title><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n\
         <p>{} rows, judged by {}. Accuracy {:.3}, macro-F1 {:.3}, calibration error {:.3} of the {} that take a side, {:.1} ms a row.</p>\n{}{}{}{}{}{}</body></html>\n",
        found.rows,
        encode_text(&report.judge),
        found.accuracy,
        found.macro_f1,
        found.ece,
        found.sided,
        report.ms_per_row(),
        classes(found),
        confusion(found),
        diagram("Reliability as shown", &found.reliability),
        tiers(&report.reliability),
        calibrated(&report.reliability),
        mistakes(answers),
        name = encode_text(name),
    )
}

fn classes(found: &Evaluation) -> String {
    let mut table =
        "<h2>Each label</h2>\n<table><tr><th>label</th><th>precision</th><th>recall</th><th>F1</th><th>rows</th></tr>\n".to_owned();
    for (label, figures) in &found.per_class {
        let _infallible = writeln!(
            table,
            "<tr><td>{label}</td><td>{:.3}</td><td>{:.3}</td><td>{:.3}</td><td>{}</td></tr>",
            figures.precision, figures.recall, figures.f1, figures.support
        );
    }
    table + "</table>\n"
}

fn confusion(found: &Evaluation) -> String {
    let labels: BTreeSet<&str> = found.confusion.values().flat_map(|row| row.keys().copied()).collect();
    let head: Vec<String> = labels.iter().map(|label| format!("<th>{label}</th>")).collect();
    let mut table = format!(
        "<h2>Confusion</h2>\n<p class=\"note\">A row is what people say, a column what the judge says.</p>\n\
         <table><tr><th></th>{}</tr>\n",
        head.concat()
    );
    for (gold, row) in &found.confusion {
        let cell = |label: &&str| {
            let count = row.get(label).copied().unwrap_or(0);
            let class = if gold == label {
                "right"
            } else if count > 0 {
                "wrong"
            } else {
                ""
            };
            format!("<td class=\"{class}\">{count}</td>")
        };
        let _infallible =
            writeln!(table, "<tr><th>{gold}</th>{}</tr>", labels.iter().map(cell).collect::<Vec<_>>().concat());
    }
    table + "</table>\n"
}

/// Returns an empty text for pairs.
fn tiers(found: &Reliability) -> String {
    if found.tiers.is_empty() {
        return String::new();
    }
    let mut table = "<h2>Tiers</h2>\n<table><tr><th>tier</th><th>rows</th><th>people say supported</th><th>verdict right</th></tr>\n".to_owned();
    for (tier, of_tier) in &found.tiers {
        let _infallible = writeln!(
            table,
            "<tr><td>{tier}</td><td>{}</td><td>{:.3}</td><td>{:.3}</td></tr>",
            of_tier.rows, of_tier.supported, of_tier.right
        );
    }
    table + "</table>\n"
}

fn calibrated(found: &Reliability) -> String {
    let mut drawn = String::new();
    for (name, error) in found.errors().filter(|(_, error)| error.rows > 0) {
        drawn += &diagram(&format!("Calibrated: {name}"), &error.bins);
        let _infallible = writeln!(
            drawn,
            "<p>Calibration error {:.3} as shown, {:.3} calibrated, by {}-fold cross-validation over {} rows; figures that \
             are right to the last digit would show {:.3} on so many, by chance.</p>",
            error.shown, error.calibrated, found.folds, error.rows, error.by_chance
        );
        drawn += &kinds(error);
    }
    drawn
}

/// Returns an empty text for a single verdict.
fn kinds(error: &Error) -> String {
    if error.kinds.len() < 2 {
        return String::new();
    }
    let head = "<table><tr><th>said</th><th>rows</th><th>calibrated to, mean</th><th>turned out</th></tr>\n".to_owned();
    let rows = error.kinds.iter().fold(head, |mut table, (kind, of)| {
        let _infallible = writeln!(
            table,
            "<tr><td>{kind}</td><td>{}</td><td>{:.3}</td><td>{:.3}</td></tr>",
            of.rows, of.mean, of.right
        );
        table
    });
    rows + "</table>\n"
}

/// Plots confidence (x) against the share of right answers (y).
fn diagram(title: &str, bins: &[ReliabilityBin]) -> String {
    let at = |share: f64| 40.0 + share * SIDE;
    let up = |share: f64| 10.0 + (1.0 - share) * SIDE;
    let mut drawn = format!(
        "<h2>{title}</h2>\n<p class=\"note\">Of the rows about which the judge is as sure as the bottom says, so many are right. \
         Above the line it is too modest, below it too sure. The larger a dot, the more rows.</p>\n\
         <svg viewBox=\"0 0 360 350\" width=\"480\" role=\"img\" aria-label=\"Reliability diagram\">\
         <rect x=\"40\" y=\"10\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#98a1ab\"/>\
         <line x1=\"40\" y1=\"{}\" x2=\"{}\" y2=\"10\" stroke=\"#98a1ab\" stroke-dasharray=\"4\"/>\n",
        up(0.0),
        at(1.0)
    );
    for tick in [0.0, 0.5, 1.0] {
        let _infallible = writeln!(
            drawn,
            "<text x=\"{}\" y=\"330\" font-size=\"12\" text-anchor=\"middle\" fill=\"currentColor\">{tick}</text>\
             <text x=\"34\" y=\"{}\" font-size=\"12\" text-anchor=\"end\" fill=\"currentColor\">{tick}</text>",
            at(tick),
            up(tick) + 4.0
        );
    }
    let most = bins.iter().map(|bin| bin.rows).max().unwrap_or(1) as f64;
    for bin in bins {
        let _infallible = writeln!(
            drawn,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"#2f6fb3\" fill-opacity=\"0.75\"><title>{} rows, {:.0} % sure, {:.0} % right</title></circle>",
            at(bin.confidence),
            up(bin.accuracy),
            3.0 + 9.0 * (bin.rows as f64 / most).sqrt(),
            bin.rows,
            bin.confidence * 100.0,
            bin.accuracy * 100.0
        );
    }
    drawn += "</svg>\n<table><tr><th>sure from – to</th><th>rows</th><th>mean confidence</th><th>right</th></tr>\n";
    for bin in bins {
        let _infallible = writeln!(
            drawn,
            "<tr><td>{:.2} – {:.2}</td><td>{}</td><td>{:.3}</td><td>{:.3}</td></tr>",
            bin.from, bin.to, bin.rows, bin.confidence, bin.accuracy
        );
    }
    drawn + "</table>\n"
}

fn mistakes(answers: &[Answer]) -> String {
    let mut wrong: Vec<&Answer> = answers.iter().filter(|answer| !answer.prediction.is_right()).collect();
    wrong.sort_by(|a, b| b.prediction.confidence.partial_cmp(&a.prediction.confidence).unwrap_or(Ordering::Equal));
    let mut list = format!(
        "<h2>Mistakes, the surest first</h2>\n<p class=\"note\">{} of {} rows are wrong.</p>\n",
        wrong.len(),
        answers.len()
    );
    for answer in wrong.into_iter().take(MISTAKES) {
        let _infallible = writeln!(
            list,
            "<article><p><strong>{}</strong></p><p>{}</p><p class=\"note\">{}: labelled {}, called {} ({:.2}) by {}</p></article>",
            shown(&answer.claim),
            shown(&answer.evidence),
            encode_text(&answer.id),
            answer.prediction.gold,
            answer.prediction.predicted,
            answer.prediction.confidence.unwrap_or_default(),
            encode_text(&answer.judge)
        );
    }
    list
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if text.chars().nth(SHOWN).is_some() { " …" } else { "" };
    format!("{}{more}", encode_text(&cut))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::super::reliability::measure;
    use super::*;
    use crate::judging::evaluation::{Prediction, evaluate};

    #[test]
    fn a_text_from_the_file_is_never_markup() {
        let prediction = Prediction { gold: "entail", predicted: "neutral", confidence: Some(0.9) };
        let answer = Answer {
            id: "<b>1</b>".to_owned(),
            claim: "<script>alert(1)</script>".to_owned(),
            evidence: "a < b & c".to_owned(),
            prediction,
            shown: None,
            figures: None,
            decisive: false,
            detail: Value::Null,
            judge: "rules".to_owned(),
        };
        let answers = [answer];
        let report = Report {
            caution: None,
            evaluation: evaluate(&[prediction]),
            reliability: measure(&answers),
            judge: "rules".to_owned(),
            took: Duration::from_millis(3),
        };
        let page = page("<file>.jsonl", &report, &answers);
        assert!(!page.contains("<script") && !page.contains("<b>1") && !page.contains("<file>"));
        assert!(page.contains("a &lt; b &amp; c") && page.contains("1 of 1 rows are wrong"));
        assert!(page.contains("<svg") && page.ends_with("</html>\n"));
    }
}
