//! The operator's templates: sentences with placeholders, and keywords that select the claims. Pure.

use crate::language::{identifiers, tokens};

#[derive(Debug, Clone)]
pub(super) struct Statement(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Place(String),
}

impl Statement {
    /// Parses a template. The error for unmatched braces is written for the operator.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, tail)) = after.split_once('}') else {
                return Err(format!("{text:?} has a {{ without its }}"));
            };
            if before.contains('}') || name.contains('{') || name.trim().is_empty() {
                return Err(format!("{text:?} has braces that do not match"));
            }
            parts.extend([Part::Text(before.to_owned()), Part::Place(name.trim().to_owned())]);
            rest = tail;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self(parts))
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Place(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Returns the sentence with all placeholders filled; `None` if a value is missing.
    pub(super) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Place(name) => value(name),
        });
        parts.collect()
    }

    pub(super) fn begins_with_text(&self) -> Option<&str> {
        match self.0.first() {
            Some(Part::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// A source is queried only for claims with one of these; an empty list selects every claim.
#[derive(Debug, Clone, Default)]
pub(super) struct Keywords(Vec<Vec<String>>);

impl Keywords {
    pub(super) fn new(words: &[String]) -> Self {
        Self(words.iter().map(|words| identifiers::stems(words)).filter(|stems| !stems.is_empty()).collect())
    }

    /// Whether the text contains a keyword in any form; a keyword of several words needs all of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let mut stems = identifiers::stems(text);
        // A word without a specifically Ukrainian character may be Ukrainian: "порти" means ports there, and is a verb
        // in Russian.
        stems.extend(tokens::content_stems(text, Some("uk")));
        self.0.iter().any(|words| words.iter().all(|word| stems.contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_filled_or_not_made_at_all() {
        let statement = Statement::new("The rate of {entity} is { value }.").unwrap();
        assert_eq!(statement.places().collect::<Vec<_>>(), ["entity", "value"]);
        let known = |name: &str| (name == "value").then(|| "5".to_owned());
        assert_eq!(statement.fill(known), None);
        assert_eq!(statement.fill(|name| Some(name.to_uppercase())).unwrap(), "The rate of ENTITY is VALUE.");
        for wrong in ["{", "a } b {c}", "{a{b}}", "{}"] {
            assert!(Statement::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keywords_are_found_in_every_form_of_the_word() {
        let keywords = Keywords::new(&["exchange rate".to_owned(), "бюджет".to_owned()]);
        assert!(keywords.are_in("Exchange rates rose") && keywords.are_in("Деталі бюджету оприлюднили"));
        assert!(!keywords.are_in("The rate of births") && !keywords.are_in("nothing of it"));
        assert!(Keywords::default().are_in("anything"));
    }
}
