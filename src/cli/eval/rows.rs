//! Reads the labelled file, one JSON object per line.
//!
//! A row is a pair of claim and evidence, or a claim with several texts. Bad lines are reported and left out.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::cli::arguments::moment;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::inference::translation::{Translator, WrittenTranslations};
use crate::pipeline::given::{GivenClaim, GivenText};

pub(super) const ENTAIL: &str = "entail";
pub(super) const NEUTRAL: &str = "neutral";
pub(super) const CONTRADICT: &str = "contradict";
pub(super) const NOT_ENTAIL: &str = "not_entail";
/// The label of an unreadable answer of a language model.
pub(super) const NO_ANSWER: &str = "no_answer";
pub(super) const SUPPORTED: &str = "supported";
pub(super) const REFUTED: &str = "refuted";
pub(super) const CONTESTED: &str = "contested";
pub(super) const NOT_ENOUGH_EVIDENCE: &str = "not_enough_evidence";

const PAIR_LABELS: [&str; 4] = [ENTAIL, NEUTRAL, CONTRADICT, NOT_ENTAIL];
const CLAIM_LABELS: [&str; 4] = [SUPPORTED, REFUTED, CONTESTED, NOT_ENOUGH_EVIDENCE];

const MOST_NAMED: usize = 10;

#[derive(Debug)]
pub(super) struct PairRow {
    pub(super) id: String,
    pub(super) claim: String,
    pub(super) evidence: String,
    pub(super) label: &'static str,
}

#[derive(Debug)]
pub(super) struct ClaimRow {
    pub(super) given: GivenClaim,
    pub(super) label: &'static str,
    /// Empty if the file has one dataset.
    pub(super) set: String,
    /// Texts with their English translations.
    english: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) enum Rows {
    Pairs(Vec<PairRow>),
    Claims(Vec<ClaimRow>),
}

#[derive(Debug)]
enum Row {
    Pair(PairRow),
    Claim(ClaimRow),
}

#[derive(Deserialize)]
struct LabelledLine {
    #[serde(default)]
    id: Option<Value>,
    claim: String,
    #[serde(default)]
    claim_date: Option<String>,
    evidence: Evidence,
    label: String,
    #[serde(default)]
    set: String,
    #[serde(default)]
    english: Option<EnglishTexts>,
}

/// Used instead of a translator.
#[derive(Deserialize)]
struct EnglishTexts {
    claim: String,
    /// In the order of the passages.
    evidence: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Evidence {
    One(String),
    Several(Vec<Passage>),
}

#[derive(Deserialize)]
struct Passage {
    text: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    published_at: Option<String>,
}

impl Rows {
    /// Returns `None` without translations.
    pub(super) fn translator(&self) -> Option<Arc<dyn Translator>> {
        let Self::Claims(claims) = self else { return None };
        let written = WrittenTranslations::new(claims.iter().flat_map(|row| row.english.iter().cloned()));
        if written.is_empty() { None } else { Some(Arc::new(written)) }
    }
}

/// Returns the valid rows and the number of bad lines. Bad lines and repeated ids are reported on standard error.
pub(super) fn read(file: &Path, output: Output) -> Result<(Rows, usize), Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("{} cannot be read: {error}", file.display()));
    let opened = std::fs::File::open(file).map_err(failed)?;
    let (mut pairs, mut claims, mut bad) = (Vec::new(), Vec::new(), 0usize);
    let mut ids = Ids::default();
    for (number, line) in BufReader::new(opened).split(b'\n').enumerate() {
        let line = line.map_err(failed)?;
        // A byte order mark of some editors.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match row(line, number + 1) {
            Ok(Row::Pair(row)) => {
                ids.note(&row.id, number + 1, output);
                pairs.push(row);
            }
            Ok(Row::Claim(row)) => {
                ids.note(&row.given.id, number + 1, output);
                claims.push(row);
            }
            Err(why) => {
                bad += 1;
                if bad <= MOST_NAMED {
                    output.problem(&format!("line {}: {why}", number + 1));
                }
            }
        }
    }
    if bad > MOST_NAMED {
        output.problem(&format!("{} more lines are bad", bad - MOST_NAMED));
    }
    ids.close(output);
    match (pairs.is_empty(), claims.is_empty()) {
        (false, true) => Ok((Rows::Pairs(pairs), bad)),
        (true, false) => Ok((Rows::Claims(claims), bad)),
        (true, true) => Err(Failure::failed(format!(
            "{} holds no labelled row; each line is {{\"id\", \"claim\", \"evidence\", \"label\"}}: evidence a text and label \
             {}, or evidence a list of {{\"text\", \"url\", \"published_at\"}} and label {}",
            file.display(),
            PAIR_LABELS.join(", "),
            CLAIM_LABELS.join(", "),
        ))),
        (false, false) => Err(Failure::failed(format!(
            "{} holds pairs (evidence is a text) and claims (evidence is a list); put them into files of their own",
            file.display()
        ))),
    }
}

/// Rows with a repeated id are all counted, but cannot be distinguished later.
#[derive(Default)]
struct Ids {
    lines: HashMap<String, usize>,
    repeated: usize,
}

impl Ids {
    fn note(&mut self, id: &str, line: usize, output: Output) {
        let Some(first) = self.lines.get(id) else {
            self.lines.insert(id.to_owned(), line);
            return;
        };
        self.repeated += 1;
        if self.repeated <= MOST_NAMED {
            output.problem(&format!("line {line}: the id {id:?} stands on line {first} too; both rows count"));
        }
    }

    fn close(&self, output: Output) {
        if self.repeated > MOST_NAMED {
            output.problem(&format!("{} more lines repeat an id", self.repeated - MOST_NAMED));
        }
    }
}

fn row(line: &[u8], number: usize) -> Result<Row, String> {
    let given: LabelledLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let id = match given.id {
        Some(Value::String(id)) => id,
        Some(Value::Null) | None => number.to_string(),
        Some(other) => other.to_string(),
    };
    if given.claim.trim().is_empty() {
        return Err("the claim is empty".to_owned());
    }
    let label = |known: [&'static str; 4]| {
        let of_ours = known.into_iter().find(|one| *one == given.label);
        of_ours.ok_or_else(|| format!("the label {:?} is none of {}", given.label, known.join(", ")))
    };
    match given.evidence {
        Evidence::One(evidence) => {
            let label = label(PAIR_LABELS)?;
            Ok(Row::Pair(PairRow { id, claim: given.claim, evidence, label }))
        }
        Evidence::Several(texts) => {
            let label = label(CLAIM_LABELS)?;
            let date = given.claim_date.as_deref().map(|text| date("claim_date", text)).transpose()?;
            let evidence: Vec<GivenText> = texts.into_iter().map(text).collect::<Result<_, _>>()?;
            let english = given.english.map(|english| english_pairs(&given.claim, &evidence, english)).transpose()?;
            let (set, english) = (given.set, english.unwrap_or_default());
            Ok(Row::Claim(ClaimRow {
                given: GivenClaim { id, text: given.claim, date, evidence },
                label,
                set,
                english,
            }))
        }
    }
}

fn english_pairs(claim: &str, evidence: &[GivenText], english: EnglishTexts) -> Result<Vec<(String, String)>, String> {
    if english.evidence.len() != evidence.len() {
        return Err(format!("english has {} texts for {}", english.evidence.len(), evidence.len()));
    }
    let own = std::iter::once(claim).chain(evidence.iter().map(|text| text.text.as_str())).map(str::to_owned);
    Ok(own.zip(std::iter::once(english.claim).chain(english.evidence)).collect())
}

fn text(given: Passage) -> Result<GivenText, String> {
    let url = given.url.filter(|url| !url.trim().is_empty());
    Ok(GivenText {
        text: given.text,
        url: url.map(|url| Url::parse(&url).map_err(|error| format!("url {url:?}: {error}"))).transpose()?,
        published_at: given.published_at.as_deref().map(|text| date("published_at", text)).transpose()?,
    })
}

fn date(field: &str, text: &str) -> Result<DateTime<Utc>, String> {
    moment(text).map_err(|why| format!("{field} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_row(line: &str) -> String {
        match row(line.as_bytes(), 7) {
            Ok(row) => format!("{row:?}"),
            Err(why) => why,
        }
    }

    #[test]
    fn both_shapes_are_read() {
        let Ok(Row::Pair(pair)) = row(br#"{"id":3,"claim":"c","evidence":"e","label":"neutral"}"#, 7) else { panic!() };
        assert_eq!((pair.id.as_str(), pair.label), ("3", NEUTRAL));
        let line = r#"{"claim":"c","claim_date":"2020-05-01","label":"contested",
            "evidence":[{"text":"t","url":"https://a.example/1","published_at":"2020-05-02T03:04:05+02:00"},{"text":"u"}]}"#;
        let Ok(Row::Claim(claim)) = row(line.replace('\n', "").as_bytes(), 7) else { panic!() };
        assert_eq!((claim.given.id.as_str(), claim.label), ("7", CONTESTED), "the line's number stands for an id");
        assert_eq!(claim.given.date.map(|date| date.to_rfc3339()).as_deref(), Some("2020-05-01T00:00:00+00:00"));
        let dates: Vec<Option<String>> =
            claim.given.evidence.iter().map(|text| text.published_at.map(|date| date.to_rfc3339())).collect();
        assert_eq!(dates, [Some("2020-05-02T01:04:05+00:00".to_owned()), None]);
    }

    #[tokio::test]
    async fn english_texts_replace_translator_when_row_has_them() {
        let line =
            r#"{"claim":"Порт закрыт.","label":"refuted","evidence":[{"text":"Порт открыт."}],"english":ENGLISH}"#;
        let with = |english: &str| row(line.replace("ENGLISH", english).as_bytes(), 1);
        let Ok(Row::Claim(claim)) = with(r#"{"claim":"The port is closed.","evidence":["The port is open."]}"#) else {
            panic!()
        };
        let translator = Rows::Claims(vec![claim]).translator().unwrap();
        let until = tokio::time::Instant::now();
        let translated = translator.translate("Порт открыт.", Some("ru"), "en", until).await.outcome.unwrap();
        assert_eq!(translated.as_deref(), Some("The port is open."));
        assert!(with(r#"{"claim":"The port is closed.","evidence":[]}"#).unwrap_err().contains("0 texts for 1"));
        let Ok(Row::Claim(plain)) = with("null") else { panic!() };
        assert!(Rows::Claims(vec![plain]).translator().is_none());
    }

    #[test]
    fn error_names_cause_when_line_is_bad() {
        assert!(read_row("nothing").contains("expected"));
        assert!(read_row(r#"{"claim":"c","evidence":"e","label":"supported"}"#).contains("none of entail, neutral"));
        assert!(read_row(r#"{"claim":" ","evidence":"e","label":"entail"}"#).contains("empty"));
        assert!(
            read_row(r#"{"claim":"c","evidence":[{"text":"t","published_at":"May"}],"label":"refuted"}"#)
                .contains("no date")
        );
        assert!(
            read_row(r#"{"claim":"c","evidence":[{"text":"t","url":"nowhere"}],"label":"refuted"}"#)
                .contains("nowhere")
        );
    }
}
