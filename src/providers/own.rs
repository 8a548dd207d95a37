//! What the operator's own sources share: parts that are asked at once, hits with a text, and templates.
//!
//! An endpoint or a query is a [`Part`]. [`OwnSource`] asks all parts that match a claim. To add a kind of source,
//! implement [`Part`].

use std::fmt::Debug;

use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, join_all};
use serde_json::Value;

use super::wire::{clip, one_line};
use super::{Answer, Content, Hit, ProbeResult, Profile, Provider, Query, probe};
use crate::domain::verdict::Origin;
use crate::language::{detect, identifiers, tokens};
use crate::outbound::{AskError, Asker, Gate};

/// Characters of a value in a sentence.
const LONGEST_VALUE: usize = 500;
/// Elements of a list in a sentence.
const MOST_ELEMENTS: usize = 20;
const SNIPPET: (usize, usize) = (300, 60);

/// A setting of an endpoint or a query that cannot work.
#[derive(Debug, thiserror::Error)]
#[error("{part}: {key} {detail}")]
pub struct BadSetting {
    /// `endpoint rates`.
    pub(super) part: String,
    pub(super) key: &'static str,
    pub(super) detail: String,
}

/// One endpoint or query of an operator's source.
pub trait Part: Send + Sync + Debug {
    fn name(&self) -> &str;
    fn gate(&self) -> &Gate;
    /// Returns what its answer about a claim depends on; `None` if it is not asked about the claim.
    fn key(&self, query: &Query) -> Option<String>;
    /// Asks about the claim, whether [`Part::key`] matches or not.
    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Option<Hit>, AskError>>;
}

/// A provider of parts, which are asked concurrently.
#[derive(Debug)]
pub struct OwnSource<P> {
    profile: &'static Profile,
    pub(super) parts: Vec<P>,
}

impl<P: Part> OwnSource<P> {
    pub(super) const fn new(profile: &'static Profile, parts: Vec<P>) -> Self {
        Self { profile, parts }
    }

    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let asked = self.parts.iter().filter(|part| part.key(query).is_some());
        let asked = asked.map(|part| async move { (part.name(), part.ask(query, asker).await) });
        let (mut hits, answer) = merged(self.profile.name, join_all(asked).await)?;
        hits.truncate(query.limit);
        Ok(Answer { hits, ..answer })
    }
}

impl<P: Part> Provider for OwnSource<P> {
    fn profile(&self) -> &'static Profile {
        self.profile
    }

    fn gates(&self) -> Vec<&Gate> {
        let mut gates: Vec<&Gate> = Vec::new();
        for part in &self.parts {
            // Queries of one database share a gate.
            if !gates.iter().any(|gate| std::ptr::eq(*gate, part.gate())) {
                gates.push(part.gate());
            }
        }
        gates
    }

    fn cache_key(&self, query: &Query) -> String {
        let keys = self.parts.iter().filter_map(|part| Some([part.name().to_owned(), part.key(query)?]));
        let keys: Vec<String> = keys.flatten().collect();
        crate::cache::joined(std::iter::once(self.profile.name).chain(keys.iter().map(String::as_str)))
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }

    /// Asks every part, also those that do not match.
    fn probe<'a>(&'a self, _paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        Box::pin(async move {
            let question = probe::question();
            let question = &question;
            let asked = self
                .parts
                .iter()
                .map(|part| async move { (part.name().to_owned(), part.ask(question, asker).await.map(drop)) });
            probe::of_parts(join_all(asked).await)
        })
    }
}

/// Returns the findings of all parts and an answer that names the failed ones. A failure is an error only if no other
/// part has a finding.
pub(super) fn merged<'a, T>(
    provider: &'static str,
    outcomes: impl IntoIterator<Item = (&'a str, Result<impl IntoIterator<Item = T>, AskError>)>,
) -> Result<(Vec<T>, Answer), AskError> {
    let (mut found, mut answer, mut failure) = (Vec::new(), Answer::default(), None);
    for (part, outcome) in outcomes {
        match outcome {
            Ok(findings) => found.extend(findings),
            Err(error) => {
                answer.lacks(provider, part, &error);
                failure = failure.or(Some(error));
            }
        }
    }
    match failure {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok((found, answer)),
    }
}

/// A text of the operator, which becomes a hit.
pub(super) struct OwnText {
    pub(super) origin: Origin,
    /// `database://name/query` or the like: the web has no such page.
    pub(super) url: String,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) published_at: Option<DateTime<Utc>>,
    pub(super) publisher: String,
    pub(super) credibility: f64,
}

impl OwnText {
    pub(super) fn hit(self, profile: &'static Profile) -> Hit {
        Hit {
            url: self.url,
            title: one_line(&self.title),
            snippet: clip(&self.text, SNIPPET.0, SNIPPET.1),
            published_at: self.published_at,
            language: detect::detect(&self.text).language,
            provider: profile.name,
            storage: profile.storage,
            content: Some(Content {
                text: self.text,
                origin: self.origin,
                publisher: Some(self.publisher),
                credibility: Some(self.credibility),
            }),
        }
    }
}

/// Returns a value as text for a sentence; `None` for an object, which has no words.
pub(super) fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => one_line(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(elements) => {
            elements.iter().take(MOST_ELEMENTS).filter_map(shown).collect::<Vec<String>>().join(", ")
        }
        Value::Null | Value::Object(_) => return None,
    };
    let text: String = text.chars().take(LONGEST_VALUE).collect();
    (!text.is_empty()).then_some(text)
}

/// A sentence with placeholders.
#[derive(Debug, Clone)]
pub(super) struct Statement(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq)]
enum TemplatePart {
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
            parts.extend([TemplatePart::Text(before.to_owned()), TemplatePart::Place(name.trim().to_owned())]);
            rest = tail;
        }
        parts.push(TemplatePart::Text(rest.to_owned()));
        parts.retain(|part| *part != TemplatePart::Text(String::new()));
        Ok(Self(parts))
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Place(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// Returns the sentence with all placeholders filled; `None` if a value is missing.
    pub(super) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let parts = self.0.iter().map(|part| match part {
            TemplatePart::Text(text) => Some(text.clone()),
            TemplatePart::Place(name) => value(name),
        });
        parts.collect()
    }

    pub(super) fn begins_with_text(&self) -> Option<&str> {
        match self.0.first() {
            Some(TemplatePart::Text(text)) => Some(text),
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

    /// Whether a source with these keywords is asked about the claim.
    pub(super) fn match_claim(&self, query: &Query) -> bool {
        self.are_in(&query.text) || self.are_in(&query.terms.join(" "))
    }

    /// Whether the text contains a keyword in any form; a keyword of several words needs all of them.
    fn are_in(&self, text: &str) -> bool {
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
