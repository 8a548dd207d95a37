//! The domain lists as CSV.
//!
//! An import applies valid lines and reports the others.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuleRequest;
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::verdict::SourceType;
use crate::http::App;
use crate::http::auth::Actor;
use crate::http::extract::ApiJson;
use crate::http::problem::Problem;
use crate::store::RuleChangeAction;

const COLUMNS: [&str; 5] = ["domain", "list", "credibility", "source_type", "why"];
/// Maximum lines of one import.
const MOST_LINES: usize = 5_000;
/// Maximum number of listed refused lines; all are counted.
const MOST_NAMED: usize = 100;
/// Maximum commas in one line. A reason of 1,000 characters may contain some; each column takes memory.
const MAX_COMMAS: usize = 2_000;

/// A CSV table of rules.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportRequest {
    /// CSV with a heading: `domain,list` and optionally `credibility,source_type,why`, in any order.
    #[schemars(extend("pattern" = r"^domain,list\n"))]
    csv: String,
    /// If true, only reports what would be done.
    #[serde(default)]
    dry_run: bool,
}

/// The result of an import.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Imported {
    pub(crate) added: usize,
    pub(crate) changed: usize,
    pub(crate) unchanged: usize,
    /// The first hundred lines that could not be read.
    pub(crate) refused: Vec<RefusedLine>,
    pub(crate) refused_count: usize,
}

/// A line that was left out.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RefusedLine {
    /// From 1; the heading is the first.
    pub(crate) line: u64,
    pub(crate) error: String,
}

fn exported(rules: &[DomainRule]) -> Result<String, csv::Error> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(COLUMNS)?;
    for rule in rules {
        let credibility = rule.credibility.map(|figure| figure.to_string()).unwrap_or_default();
        let source_type = rule.source_type.map(SourceType::as_str).unwrap_or_default();
        let why = harmless(rule.why.as_deref().unwrap_or_default());
        table.write_record([harmless(&rule.domain).as_str(), rule.list.as_str(), &credibility, source_type, &why])?;
    }
    let bytes = table.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Spreadsheets run such a cell as a formula; an apostrophe makes it text.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

fn harmless(cell: &str) -> String {
    if is_formula(cell) { format!("'{cell}") } else { cell.to_owned() }
}

fn plain(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(cell)
}

/// A rule and its line number, from 1.
type Line = (u64, Result<DomainRule, String>);

fn rules_of(text: &str) -> Result<Vec<Line>, Problem> {
    if text.lines().any(|line| line.bytes().filter(|byte| *byte == b',').count() > MAX_COMMAS) {
        return Err(Problem::invalid("a line has too many columns; the first line names them: domain,list,…"));
    }
    let mut table = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let heading = table.headers().map_err(|error| Problem::bad_request(format!("this is no CSV: {error}")))?.clone();
    let column =
        |name: &str| heading.iter().position(|one| one.trim_start_matches('\u{feff}').eq_ignore_ascii_case(name));
    let (Some(domain), Some(list)) = (column("domain"), column("list")) else {
        return Err(Problem::invalid("the first line names the columns: domain,list,credibility,source_type,why"));
    };
    let others = (column("credibility"), column("source_type"), column("why"));
    let mut rules = Vec::new();
    for row in table.records() {
        if rules.len() == MOST_LINES {
            return Err(Problem::invalid(format!("more than {MOST_LINES} lines; import them in parts")));
        }
        match row {
            Ok(row) => {
                let line = row.position().map_or(0, csv::Position::line);
                rules.push((line, rule(&row, domain, list, others)));
            }
            Err(error) => rules.push((error.position().map_or(0, csv::Position::line), Err(error.to_string()))),
        }
    }
    Ok(rules)
}

fn rule(
    row: &csv::StringRecord,
    domain: usize,
    list: usize,
    (credibility, source_type, why): (Option<usize>, Option<usize>, Option<usize>),
) -> Result<DomainRule, String> {
    let cell = |column: Option<usize>| {
        column.and_then(|column| row.get(column)).map(|text| plain(text).trim()).filter(|text| !text.is_empty())
    };
    let list = cell(Some(list)).unwrap_or_default().to_lowercase();
    let list = DomainList::parse(&list).ok_or("the list is allow or deny")?;
    let figure =
        |text: &str| text.replace(',', ".").parse::<f64>().map_err(|_no_number| "credibility is a number".to_owned());
    let known = |word: &str| SourceType::parse(word).ok_or_else(|| format!("no kind of source is called {word}"));
    let request = RuleRequest {
        domain: cell(Some(domain)).unwrap_or_default().to_owned(),
        list,
        credibility: cell(credibility).map(figure).transpose()?,
        source_type: cell(source_type).map(known).transpose()?,
        why: cell(why).map(str::to_owned),
    };
    request.check().map_err(|problem| problem.detail().to_owned())
}

/// Maximum rules of one edit.
const AT_ONCE: usize = 100;

pub(crate) async fn imported(app: &App, who: &Actor, text: &str, dry_run: bool) -> Result<Imported, Problem> {
    let services = &app.services;
    let mut done = Imported::default();
    let mut rules = Vec::new();
    for (line, rule) in rules_of(text)? {
        match rule {
            Ok(rule) => rules.push(rule),
            Err(error) => {
                done.refused_count += 1;
                if done.refused.len() < MOST_NAMED {
                    done.refused.push(RefusedLine { line, error });
                }
            }
        }
    }
    // Each edit waits for results that are being written.
    for some in rules.chunks(AT_ONCE) {
        for change in services.store.put_domain_rules(some, &who.0, services.clock.now(), dry_run).await? {
            match change.action {
                RuleChangeAction::Unchanged => done.unchanged += 1,
                RuleChangeAction::Add => done.added += 1,
                _ => done.changed += 1,
            }
        }
    }
    tracing::info!(
        added = done.added,
        changed = done.changed,
        refused = done.refused_count,
        dry_run,
        who = who.0,
        "domain rules imported"
    );
    Ok(done)
}

pub(super) async fn export(State(app): State<App>) -> Result<Response, Problem> {
    let (rules, _version) = app.services.store.domain_rules().await?;
    let text = exported(&rules).map_err(|error| {
        tracing::error!(%error, "writing domain lists as CSV failed");
        Problem::internal()
    })?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"domains.csv\""),
    ];
    Ok((headers, text).into_response())
}

pub(super) async fn import(
    State(app): State<App>,
    who: Actor,
    ApiJson(request): ApiJson<ImportRequest>,
) -> Result<Json<Imported>, Problem> {
    imported(&app, &who, &request.csv, request.dry_run).await.map(Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exported_is_read_again_and_is_no_formula() {
        let rules = [
            DomainRule {
                domain: "example.org".into(),
                list: DomainList::Allow,
                credibility: Some(0.8),
                source_type: Some(SourceType::News),
                why: Some("=HYPERLINK(\"x\"), \"quoted\"\nand long".into()),
            },
            DomainRule {
                domain: "*.gov".into(),
                list: DomainList::Deny,
                credibility: None,
                source_type: None,
                why: None,
            },
        ];
        let text = exported(&rules).unwrap();
        assert!(text.contains("\"'=HYPERLINK"), "{text}");
        let again: Vec<DomainRule> = rules_of(&text).unwrap().into_iter().map(|(_, rule)| rule.unwrap()).collect();
        assert_eq!(again, rules);
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_stand() {
        let text = "\u{feff}Domain,List,Why\nhttps://www.a.org/x,allow,good\nb.org,maybe,\nc.org,deny\n";
        let rules = rules_of(text).unwrap();
        let lines: Vec<(u64, bool)> = rules.iter().map(|(line, rule)| (*line, rule.is_ok())).collect();
        assert_eq!(lines, [(2, true), (3, false), (4, true)]);
        assert_eq!(rules[0].1.as_ref().unwrap().domain, "a.org");
        assert!(rules_of("a.org,allow\n").is_err(), "no heading");
        assert!(rules_of(&format!("domain,list\na.org,allow{}\n", ",".repeat(MAX_COMMAS))).is_err(), "no table");
    }
}
