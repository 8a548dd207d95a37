//! `eval`: judges a labelled file as the daemon does and compares the results with the labels.
//!
//! `rows` reads the file, `reliability` and `decision` measure and fit, and `page` writes the HTML report.

mod adjudicated;
mod decision;
mod page;
mod reliability;
mod rows;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use self::decision::SideTakingCounts;
use self::reliability::{Reliability, ShownFigures};
use self::rows::{ClaimRow, PairRow, Rows};
use super::arguments::Judge;
use super::failure::Failure;
use super::output::{Colour, Output};
use crate::app;
use crate::config::Config;
use crate::domain::evidence::StanceProbabilities;
use crate::domain::result::EvidenceRow;
use crate::domain::verdict::Verdict;
use crate::inference::rules::RULES;
use crate::judging::decision::FIGURES;
use crate::judging::evaluation::{Evaluation, Prediction, evaluate};
use crate::judging::features;
use crate::pipeline::Services;
use crate::pipeline::given::{judge_claim, judge_pairs};

/// Pairs per model call: enough for batches, few enough for the progress bar.
const PAIRS_AT_ONCE: usize = 64;

#[derive(Debug, Clone, Copy)]
pub(super) struct EvalOptions<'a> {
    pub(super) judge: Judge,
    pub(super) html: Option<&'a Path>,
    pub(super) predictions: Option<&'a Path>,
    /// Output file of the curves.
    pub(super) calibration: Option<&'a Path>,
    /// Output file of the decision model.
    pub(super) decision: Option<&'a Path>,
}

#[derive(Debug)]
struct Answer {
    id: String,
    claim: String,
    evidence: String,
    prediction: Prediction,
    /// For claims.
    shown: Option<ShownFigures>,
    /// The claim's dataset and the input of the decision model.
    figures: Option<(String, [f64; FIGURES])>,
    decisive: bool,
    /// Additional fields of the line in the predictions.
    detail: Value,
    judge: String,
}

pub(super) async fn run(config: &Config, file: &Path, options: EvalOptions<'_>, output: Output) -> Result<(), Failure> {
    let (rows, bad) = rows::read(file, output)?;
    // Fails before the work. An existing file is replaced only by a new result.
    apart(file, &options)?;
    if options.calibration.is_some() || options.decision.is_some() {
        can_be_fitted(config, &rows, &options)?;
    }
    for path in options.predictions.into_iter().chain(options.html).chain(options.calibration).chain(options.decision) {
        probe(path).map_err(|error| unwritable(path, &error))?;
    }
    let config = judged_by(config, options.judge)?;
    let services = app::judging(&config, rows.translator()).await?;
    let started = Instant::now();
    let answers = match &rows {
        Rows::Pairs(pairs) if options.judge == Judge::Llm => adjudicated::of_pairs(&services, pairs, output).await?,
        Rows::Pairs(pairs) => of_pairs(&services, pairs, output).await?,
        Rows::Claims(claims) => of_claims(&services, claims, output).await?,
    };
    let took = started.elapsed();
    let all: Vec<Prediction> = answers.iter().map(|answer| answer.prediction).collect();
    let report = Report {
        evaluation: evaluate(&all),
        reliability: reliability::measure(&answers),
        caution: decision::caution(&answers),
        judge: judges(&answers),
        took,
    };
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    if let Some(path) = options.predictions {
        let mut out = created(path)?;
        for answer in &answers {
            writeln!(out, "{}", answer.line())?;
        }
        out.flush()?;
    }
    if let Some(path) = options.html {
        let mut out = created(path)?;
        out.write_all(page::page(&name, &report, &answers).as_bytes())?;
        out.flush()?;
    }
    let fitted = report.reliability.fitted(&name, &report.judge, report.evaluation.rows);
    if let (Some(path), Some(fitted)) = (options.calibration, fitted) {
        let mut out = created(path)?;
        serde_json::to_writer_pretty(&mut out, &fitted)?;
        writeln!(out)?;
        out.flush()?;
        for weak in report.reliability.weak() {
            output.problem(&format!("{}: {weak}; label more claims before it is trusted", path.display()));
        }
    }
    if let Some(path) = options.decision {
        // Too few claims leave the file unchanged.
        let fitted = decision::fitted(&answers, &report.judge)?;
        let mut out = created(path)?;
        serde_json::to_writer_pretty(&mut out, &fitted)?;
        writeln!(out)?;
        out.flush()?;
    }
    if output.json { output.value(&report.value()) } else { output.text(&report.text(output)) }?;
    if let (Judge::Llm, Rows::Pairs(_), false) = (options.judge, &rows, output.json) {
        output.text(&adjudicated::advice(&report.evaluation))?;
    }
    if bad > 0 {
        return Err(Failure::failed(format!("{bad} line(s) were left out; see above")));
    }
    Ok(())
}

/// Turns other uses of a language model off.
fn judged_by(config: &Config, judge: Judge) -> Result<Config, Failure> {
    let mut config = config.clone();
    if judge == Judge::Rules {
        RULES.clone_into(&mut config.inference.stance);
    }
    config.llm.adjudicate_enabled = judge == Judge::Llm;
    if judge == Judge::Llm && (config.llm.base_url.is_none() || config.llm.model.is_none()) {
        return Err(Failure::misconfigured("--judge llm needs a language model: set LLM_BASE_URL and LLM_MODEL"));
    }
    Ok(config)
}

/// Checks the rows: curves need verdicts of claims, and confidences without other curves.
fn can_be_fitted(config: &Config, rows: &Rows, options: &EvalOptions<'_>) -> Result<(), Failure> {
    if matches!(rows, Rows::Pairs(_)) {
        return Err(Failure::new(
            2,
            "--calibration wants claims, as --decision does, and these are pairs: they have no verdict to be sure of",
        ));
    }
    if options.calibration.is_some() && config.scoring.calibration.is_some() {
        return Err(Failure::new(2, "scoring.calibration is set; leave it out while a new calibration is fitted"));
    }
    Ok(())
}

fn created(path: &Path) -> Result<BufWriter<File>, Failure> {
    Ok(BufWriter::new(File::create(path).map_err(|error| unwritable(path, &error))?))
}

/// Removes a new file, because an empty one looks like a result.
fn probe(path: &Path) -> std::io::Result<()> {
    let was_there = path.try_exists()?;
    OpenOptions::new().create(true).append(true).open(path)?;
    if was_there { Ok(()) } else { std::fs::remove_file(path) }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{} cannot be written: {error}", path.display()))
}

/// Refuses to overwrite the labelled file, or one output with another.
fn apart(file: &Path, options: &EvalOptions<'_>) -> Result<(), Failure> {
    let paths = [Some(file), options.predictions, options.html, options.calibration, options.decision];
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths.into_iter().flatten() {
        let real = real_path(path, LINKS);
        if seen.contains(&real) {
            return Err(Failure::new(
                2,
                format!(
                    "{} is named twice: the labelled file and every output must be files of their own",
                    path.display()
                ),
            ));
        }
        seen.push(real);
    }
    Ok(())
}

/// Maximum number of links to follow, as in the kernel.
const LINKS: usize = 40;

/// Returns the location of a file that may not exist. Follows dangling links, and resolves the folder of a missing
/// file.
fn real_path(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match path.read_link() {
        Ok(target) if links > 0 => real_path(&folder.join(target), links - 1),
        _ => match (folder.canonicalize(), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        },
    }
}

async fn of_pairs(services: &Services, rows: &[PairRow], output: Output) -> Result<Vec<Answer>, Failure> {
    let is_two_way = rows.iter().any(|row| row.label == rows::NOT_ENTAIL);
    let bar = output.progress(rows.len() as u64);
    let mut answers = Vec::with_capacity(rows.len());
    for some in rows.chunks(PAIRS_AT_ONCE) {
        let pairs: Vec<(&str, &str)> = some.iter().map(|row| (row.claim.as_str(), row.evidence.as_str())).collect();
        for (row, judged) in some.iter().zip(judge_pairs(services, &pairs).await?) {
            let p = judged.probabilities;
            let (predicted, confidence) = likeliest(&p, is_two_way);
            let gold = if is_two_way && row.label != rows::ENTAIL { rows::NOT_ENTAIL } else { row.label };
            answers.push(Answer {
                id: row.id.clone(),
                claim: row.claim.clone(),
                evidence: row.evidence.clone(),
                prediction: Prediction { gold, predicted, confidence: Some(confidence) },
                shown: None,
                figures: None,
                decisive: false,
                detail: json!({ "entail": p.entail, "neutral": p.neutral, "contradict": p.contradict }),
                judge: judged.judge.to_string(),
            });
        }
        bar.inc(some.len() as u64);
    }
    bar.finish_and_clear();
    Ok(answers)
}

/// Joins neutral and contradict for two-way files.
fn likeliest(p: &StanceProbabilities, is_two_way: bool) -> (&'static str, f64) {
    let mut best = (rows::ENTAIL, p.entail);
    for (label, share) in [(rows::NEUTRAL, p.neutral), (rows::CONTRADICT, p.contradict)] {
        if share > best.1 {
            best = (label, share);
        }
    }
    if is_two_way && best.0 != rows::ENTAIL { (rows::NOT_ENTAIL, (1.0 - p.entail).max(0.0)) } else { best }
}

async fn of_claims(services: &Services, rows: &[ClaimRow], output: Output) -> Result<Vec<Answer>, Failure> {
    let scoring = &services.settings.scoring;
    let bar = output.progress(rows.len() as u64);
    let mut answers = Vec::with_capacity(rows.len());
    for row in rows {
        let result = judge_claim(services, &row.given).await?;
        let (verdict, confidence) =
            result.as_ref().map_or((Verdict::NotVerifiable, 0.0), |result| (result.verdict, result.confidence));
        answers.push(Answer {
            id: row.given.id.clone(),
            claim: row.given.text.clone(),
            evidence: row.given.evidence.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n\n"),
            prediction: Prediction {
                gold: row.label,
                predicted: of_verdict(verdict),
                confidence: verdict.needs_evidence().then_some(confidence),
            },
            shown: result.as_ref().map(|result| ShownFigures {
                tier: result.tier,
                score: result.score,
                raw: features::raw(&result.features, &scoring.weights),
                cap: f64::from(features::cap(verdict, result.decisive, &scoring.curve)) / 100.0,
            }),
            figures: result.as_ref().and_then(|result| Some((row.set.clone(), decision::figures(result)?))),
            decisive: result.as_ref().is_some_and(|result| result.decisive),
            detail: json!({
                "verdict": verdict,
                "confidence": confidence,
                "decisive": result.as_ref().is_some_and(|result| result.decisive),
                "tier": result.as_ref().map(|result| result.tier),
                "score": result.as_ref().and_then(|result| result.score),
                "features": result.as_ref().map(|result| result.features),
                "decision": result.as_ref().and_then(|result| result.decision.clone()),
                "evidence": result.as_ref().map(|result| result.evidence.iter().map(weighed).collect::<Vec<_>>()),
            }),
            judge: result.map_or_else(String::new, |result| result.judge),
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(answers)
}

fn weighed(row: &EvidenceRow) -> Value {
    json!({
        "url": row.url, "stance": row.stance, "entail": row.entail, "contradict": row.contradict,
        "relevance": row.relevance, "independent_group": row.independent_group, "passage": row.passage,
    })
}

/// Maps outdated to refuted, misleading to contested, and not verifiable to not enough evidence.
const fn of_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => rows::SUPPORTED,
        Verdict::Refuted | Verdict::Outdated => rows::REFUTED,
        Verdict::Contested | Verdict::Misleading => rows::CONTESTED,
        Verdict::NotEnoughEvidence | Verdict::NotVerifiable => rows::NOT_ENOUGH_EVIDENCE,
    }
}

fn judges(answers: &[Answer]) -> String {
    let each: BTreeSet<&str> =
        answers.iter().map(|answer| answer.judge.as_str()).filter(|judge| !judge.is_empty()).collect();
    each.into_iter().collect::<Vec<_>>().join(" and ")
}

impl Answer {
    fn line(&self) -> Value {
        let mut line = json!({
            "id": self.id, "label": self.prediction.gold, "predicted": self.prediction.predicted, "judge": self.judge
        });
        if let (Some(line), Some(detail)) = (line.as_object_mut(), self.detail.as_object()) {
            line.extend(detail.clone());
        }
        line
    }
}

#[derive(Debug)]
struct Report {
    evaluation: Evaluation,
    reliability: Reliability,
    /// For claims.
    caution: Option<SideTakingCounts>,
    judge: String,
    took: Duration,
}

impl Report {
    fn ms_per_row(&self) -> f64 {
        if self.evaluation.rows == 0 { 0.0 } else { self.took.as_secs_f64() * 1_000.0 / self.evaluation.rows as f64 }
    }

    fn value(&self) -> Value {
        let Evaluation { rows, accuracy, macro_f1, per_class, confusion, sided, ece, reliability } = &self.evaluation;
        json!({
            "rows": rows, "accuracy": accuracy, "macro_f1": macro_f1, "per_class": per_class, "confusion": confusion,
            "sided": sided, "caution": self.caution, "ece": ece, "reliability": reliability, "calibration": self.reliability, "ms_per_row": self.ms_per_row(), "judge": self.judge,
        })
    }

    fn text(&self, output: Output) -> String {
        let found = &self.evaluation;
        let mut text = String::new();
        let title =
            format!("{} row(s), judged by {}", found.rows, if self.judge.is_empty() { "nobody" } else { &self.judge });
        let _infallible = writeln!(
            text,
            "{}\naccuracy {:.3}  macro-F1 {:.3}  calibration error {:.3} of {} that take a side  {:.1} ms a row\n",
            output.paint(&title, Colour::Bold),
            found.accuracy,
            found.macro_f1,
            found.ece,
            found.sided,
            self.ms_per_row(),
        );
        let _infallible = writeln!(text, "{:20} {:>9} {:>7} {:>6} {:>6}", "", "precision", "recall", "F1", "rows");
        for (label, figures) in &found.per_class {
            let _infallible = writeln!(
                text,
                "{label:20} {:>9.3} {:>7.3} {:>6.3} {:>6}",
                figures.precision, figures.recall, figures.f1, figures.support
            );
        }
        let labels: BTreeSet<&str> = found.confusion.values().flat_map(|row| row.keys().copied()).collect();
        let _infallible = writeln!(
            text,
            "\n{:20}{}",
            "labelled as / said",
            labels.iter().map(|label| format!(" {label:>20}")).collect::<Vec<_>>().concat()
        );
        for (gold, row) in &found.confusion {
            let cells: Vec<String> =
                labels.iter().map(|label| format!(" {:>20}", row.get(label).copied().unwrap_or(0))).collect();
            let _infallible = writeln!(text, "{gold:20}{}", cells.concat());
        }
        text += &self.caution.map(SideTakingCounts::text).unwrap_or_default();
        text += &self.reliability.text();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_way_files_know_two_labels() {
        let p = StanceProbabilities { entail: 0.4, neutral: 0.25, contradict: 0.35 };
        assert_eq!(likeliest(&p, false), ("entail", 0.4));
        let p = StanceProbabilities { entail: 0.3, neutral: 0.3, contradict: 0.4 };
        assert_eq!(likeliest(&p, true), ("not_entail", 0.7));
    }

    #[cfg(unix)]
    #[test]
    fn outputs_that_meet_through_a_link_are_one_file() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        symlink(at("real"), at("link")).unwrap();
        symlink("real/new.html", at("to_new")).unwrap();
        symlink(at("turn"), at("turn")).unwrap();
        std::fs::write(at("rows.jsonl"), "").unwrap();
        let meet = |html: &str, predictions: &str| {
            let (html, predictions) = (at(html), at(predictions));
            let options = EvalOptions {
                judge: Judge::Model,
                html: Some(&html),
                predictions: Some(&predictions),
                calibration: None,
                decision: None,
            };
            apart(&at("rows.jsonl"), &options).is_err()
        };
        assert!(meet("real/new.html", "link/new.html"), "neither is there, their folder is one");
        assert!(meet("real/new.html", "to_new"), "a link to what is not there yet");
        assert!(meet("link/../rows.jsonl", "out.jsonl"), "the labelled file by another way");
        assert!(meet("none/x.html", "none/x.html"), "a folder that is not there");
        assert!(!meet("real/new.html", "new.html") && !meet("turn", "real/a") && !meet("none/x", "none/y"));
    }
}
