//! Check-up queries: whether a provider can be queried, at no cost unless paid calls are allowed.

use url::Url;

use super::Query;
use crate::outbound::{ApiRequest, AskError, Asker, Gate};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// The provider answered; these parts failed.
    Answered { failed: Vec<String> },
    /// The provider accepts the key, and the account has calls left. No search was made.
    KeyAccepted,
    /// A server answers at its address. The key was not checked, because that costs money.
    Reachable,
    /// No request was made, because every request costs money.
    NotAsked,
}

/// A query for any provider; its results are discarded.
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

/// Checks that a server answers, with any status. The key is not sent.
pub(super) async fn reachable(gate: &Gate, base: &Url, asker: Asker<'_>) -> Result<ProbeResult, AskError> {
    gate.inquire(ApiRequest::get(base.clone()), asker, |_whatever| Ok(ProbeResult::Reachable)).await
}

/// Combines the outcomes of several parts: an error if none answered.
pub(super) fn of_parts(parts: Vec<(String, Result<(), AskError>)>) -> Result<ProbeResult, AskError> {
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
        _ => Ok(ProbeResult::Answered { failed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fail_together_or_are_named() {
        let one = |name: &str, outcome| (name.to_owned(), outcome);
        assert_eq!(of_parts(vec![one("a", Ok(()))]), Ok(ProbeResult::Answered { failed: vec![] }));
        assert_eq!(of_parts(vec![one("a", Err(AskError::Timeout))]), Err(AskError::Timeout));
        let Ok(ProbeResult::Answered { failed }) = of_parts(vec![one("a", Ok(())), one("b", Err(AskError::Timeout))])
        else {
            panic!("one of two answered");
        };
        assert!(failed.len() == 1 && failed[0].starts_with("b ("), "{failed:?}");
    }
}
