//! What a check-up asks a provider: whether it can be asked at all, at no cost unless that is wished.

use url::Url;

use super::Query;
use crate::outbound::{ApiRequest, AskError, Asker, Gate};

/// What a check-up found out of a provider that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// It answered a question; of these parts nothing came.
    Answered { failed: Vec<String> },
    /// It knows the key, and the account has calls left. No search was asked.
    KeyAccepted,
    /// Something answers at its address. Whether it takes the key was not asked: that would cost money.
    Reachable,
    /// Nothing was asked, since every question costs money.
    NotAsked,
}

/// A question that any provider can be asked. What comes of it is thrown away.
pub(super) fn question() -> Query {
    Query {
        text: "United Nations climate conference".to_owned(),
        terms: vec!["United Nations".to_owned(), "climate".to_owned()],
        language: Some("en".to_owned()),
        domains: Vec::new(),
        around: None,
        limit: 1,
        source_document: None,
    }
}

/// Whether anything answers there, whatever it says. The key is not sent.
pub(super) async fn reachable(gate: &Gate, base: &Url, asker: Asker<'_>) -> Result<Probed, AskError> {
    gate.inquire(ApiRequest::get(base.clone()), asker, |_whatever| Ok(Probed::Reachable)).await
}

/// The outcome of several parts that were asked: an error where none of them answered.
pub(super) fn of_parts(parts: Vec<(String, Result<(), AskError>)>) -> Result<Probed, AskError> {
    let asked = parts.len();
    let mut failed = Vec::new();
    let mut first = None;
    for (name, outcome) in parts {
        if let Err(error) = outcome {
            failed.push(format!("{name} ({error})"));
            first = first.or(Some(error));
        }
    }
    match first {
        Some(error) if failed.len() == asked => Err(error),
        _ => Ok(Probed::Answered { failed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fail_together_or_are_named() {
        let one = |name: &str, outcome| (name.to_owned(), outcome);
        assert_eq!(of_parts(vec![one("a", Ok(()))]), Ok(Probed::Answered { failed: vec![] }));
        assert_eq!(of_parts(vec![one("a", Err(AskError::Timeout))]), Err(AskError::Timeout));
        let Ok(Probed::Answered { failed }) = of_parts(vec![one("a", Ok(())), one("b", Err(AskError::Timeout))]) else {
            panic!("one of two answered");
        };
        assert!(failed.len() == 1 && failed[0].starts_with("b ("), "{failed:?}");
    }
}
