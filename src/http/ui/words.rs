//! The texts of the pages in four languages, from `words.tsv`.
//!
//! Texts about results are in `judging::labels`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::judging::labels::ReaderLanguage;

const TABLE: &str = include_str!("words.tsv");

static WORDS: LazyLock<HashMap<&'static str, [&'static str; 4]>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let mut fields = line.split('\t');
        let key = fields.next()?;
        Some((key, [fields.next()?, fields.next()?, fields.next()?, fields.next()?]))
    };
    TABLE.lines().filter_map(row).collect()
});

/// The text of a key; a dash if missing, which a test excludes.
pub(super) fn words(key: &str, reader: ReaderLanguage) -> &'static str {
    let place = ReaderLanguage::ALL.iter().position(|one| *one == reader).unwrap_or_default();
    WORDS.get(key).and_then(|row| row.get(place)).copied().unwrap_or("–")
}

/// The reader's language: the cookie, else the browser's first known language, else English.
pub(super) fn reader_of(chosen: Option<&str>, accepted: Option<&str>) -> ReaderLanguage {
    let known = |code: &str| {
        let code = code.trim();
        let reader = ReaderLanguage::of(Some(code));
        (reader != ReaderLanguage::English || code.to_lowercase().starts_with("en")).then_some(reader)
    };
    if let Some(chosen) = chosen.and_then(known) {
        return chosen;
    }
    let weighed = |one: &str| {
        let (code, weight) = one.split_once(";q=").unwrap_or((one, "1"));
        Some((known(code)?, weight.trim().parse::<f64>().ok()?))
    };
    let mut wanted: Vec<(ReaderLanguage, f64)> = accepted.unwrap_or_default().split(',').filter_map(weighed).collect();
    // Stable: at equal weights the first wins.
    wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
    wanted.first().map_or(ReaderLanguage::English, |(reader, _)| *reader)
}

/// The code for the `lang` attribute.
pub(super) const fn code(reader: ReaderLanguage) -> &'static str {
    match reader {
        ReaderLanguage::English => "en",
        ReaderLanguage::Russian => "ru",
        ReaderLanguage::Ukrainian => "uk",
        ReaderLanguage::Portuguese => "pt-BR",
    }
}

pub(super) const fn own_name(reader: ReaderLanguage) -> &'static str {
    match reader {
        ReaderLanguage::English => "English",
        ReaderLanguage::Russian => "Русский",
        ReaderLanguage::Ukrainian => "Українська",
        ReaderLanguage::Portuguese => "Português",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_four_languages_once() {
        for line in TABLE.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), 5, "{line}");
            assert!(fields.iter().all(|field| !field.trim().is_empty()), "{line}");
        }
        assert_eq!(WORDS.len(), TABLE.lines().count(), "a key stands twice");
    }

    #[test]
    fn every_key_of_the_templates_has_words() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/ui/templates");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let template = std::fs::read_to_string(file.unwrap().path()).unwrap();
            for after in template.split("page.t(\"").skip(1) {
                let key = after.split('"').next().unwrap();
                assert!(WORDS.contains_key(key), "{key} has no words");
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn every_stage_of_a_check_has_words() {
        for stage in crate::telemetry::catalogue::STAGES.iter().filter(|stage| **stage != "other") {
            assert!(WORDS.contains_key(format!("stage.{stage}").as_str()), "{stage} has no words");
        }
    }

    #[test]
    fn every_reason_for_another_answer_has_words() {
        for reason in crate::domain::Reason::ALL {
            assert!(WORDS.contains_key(format!("item.why_{reason}").as_str()), "{reason} has no words");
        }
    }

    #[test]
    fn agreement_label_names_similarity_to_the_claim() {
        let forbidden = ["sources", "источник", "джерел", "fontes"];
        let claim = ["claim", "утверждением", "твердження", "afirmação"];
        for (reader, claim) in ReaderLanguage::ALL.iter().zip(claim) {
            let label = words("card.agreement", *reader);
            assert!(label.contains(claim) && !forbidden.iter().any(|word| label.contains(word)), "{label}");
        }
    }

    #[test]
    fn a_reader_gets_the_first_of_the_four_that_is_understood() {
        let of = |accepted| reader_of(None, Some(accepted));
        assert_eq!(of("uk-UA,uk;q=0.9,ru;q=0.8,en-US;q=0.7"), ReaderLanguage::Ukrainian);
        assert_eq!(of("de-DE,de;q=0.9,pt;q=0.4,en;q=0.3"), ReaderLanguage::Portuguese);
        assert_eq!(of("fr, *;q=0.5"), ReaderLanguage::English);
        assert_eq!(of("ru;q=zero, en;q=0.1"), ReaderLanguage::English);
        assert_eq!(reader_of(Some("ru"), Some("en")), ReaderLanguage::Russian);
        assert_eq!(reader_of(Some("xx"), Some("uk")), ReaderLanguage::Ukrainian);
    }
}
