//! Statements found in the item's texts, without duplicates.
//! Claims are compared by stems, figures, negation and names.

use std::collections::HashSet;

use crate::domain::verdict::ClaimKind;
use crate::language::entities::entities;
use crate::language::names::same_key;
use crate::language::statements::Statement;
use crate::language::{negation, numbers, tokens};

/// Share of the shorter claim's stems from which two claims are one.
const SAME: f64 = 0.85;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ItemStatement {
    pub(super) source: usize,
    pub(super) language: Option<String>,
    pub(super) statement: Statement,
    /// As reported by a language model.
    pub(super) entities: Vec<String>,
    pub(super) why_checkable: Option<String>,
    pub(super) by_model: bool,
}

impl ItemStatement {
    pub(super) const fn by_rule(source: usize, language: Option<String>, statement: Statement) -> Self {
        Self { source, language, statement, entities: Vec::new(), why_checkable: None, by_model: false }
    }

    fn checkable(&self) -> bool {
        matches!(self.statement.kind, ClaimKind::Factual | ClaimKind::Mixed)
    }
}

struct ClaimFingerprint {
    stems: HashSet<String>,
    figures: Vec<String>,
    denied: bool,
    names: Vec<String>,
}

impl ClaimFingerprint {
    fn of(found: &ItemStatement) -> Self {
        let (text, language) = (found.statement.own(), found.language.as_deref());
        let mut figures: Vec<String> =
            numbers::quantities(text, language).iter().map(|one| format!("{} {}", one.low, one.high)).collect();
        figures.sort();
        Self {
            stems: tokens::content_stems(text, language).into_iter().collect(),
            figures,
            denied: negation::negations(text, language) % 2 == 1,
            names: entities(text, language, &[]).into_iter().map(|name| name.key).collect(),
        }
    }

    /// Whether two claims are one: not with other figures, a negation or swapped roles.
    fn is_same(&self, other: &Self) -> bool {
        let shared = self.stems.intersection(&other.stems).count() as f64;
        let places = self.names.iter().filter_map(|name| other.names.iter().position(|one| same_key(one, name)));
        self.stems.len().min(other.stems.len()) >= 3
            && shared >= SAME * self.stems.len().min(other.stems.len()) as f64
            && self.figures == other.figures
            && self.denied == other.denied
            && places.is_sorted()
    }
}

/// Keeps, of equal claims, the checkable, earlier or longer one. Claims by rule were compared before.
pub(super) fn each_once(found: &mut Vec<ItemStatement>) {
    if found.iter().all(|one| !one.by_model) {
        return;
    }
    let mut kept: Vec<(ItemStatement, ClaimFingerprint)> = Vec::with_capacity(found.len());
    for one in found.drain(..) {
        let print = ClaimFingerprint::of(&one);
        let twin = kept.iter_mut().find(|(known, other)| (known.by_model || one.by_model) && other.is_same(&print));
        let value = |one: &ItemStatement, print: &ClaimFingerprint| {
            (one.checkable(), std::cmp::Reverse(one.source), print.stems.len())
        };
        match twin {
            Some(twin) if value(&one, &print) > value(&twin.0, &twin.1) => *twin = (one, print),
            Some(_) => {}
            None => kept.push((one, print)),
        }
    }
    found.extend(kept.into_iter().map(|(one, _)| one));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, kind: ClaimKind, source: usize, by_model: bool) -> ItemStatement {
        let statement =
            Statement { text: text.to_owned(), lead: None, kind, check_worthiness: 0.5, original: text.to_owned() };
        ItemStatement { by_model, ..ItemStatement::by_rule(source, Some("en".to_owned()), statement) }
    }

    fn left(found: Vec<ItemStatement>) -> Vec<(String, usize)> {
        let mut found = found;
        each_once(&mut found);
        found.into_iter().map(|one| (one.statement.text, one.source)).collect()
    }

    #[test]
    fn richer_claim_is_kept_when_two_are_the_same() {
        let (short, long) = ("The port of Brana closed.", "The port of Brana closed on Monday after a fire.");
        let both = vec![found(short, ClaimKind::Factual, 0, true), found(long, ClaimKind::Factual, 0, true)];
        assert_eq!(left(both), [(long.to_owned(), 0)]);
        let linked = vec![found(short, ClaimKind::Factual, 0, true), found(long, ClaimKind::Factual, 1, true)];
        assert_eq!(left(linked), [(short.to_owned(), 0)], "the item's own words go before a page's");
        let opinion = vec![found(long, ClaimKind::Opinion, 0, true), found(short, ClaimKind::Factual, 0, false)];
        assert_eq!(left(opinion), [(short.to_owned(), 0)], "what can be looked up is not lost to an opinion");
    }

    #[test]
    fn other_figures_denials_and_roles_are_other_claims() {
        for (one, two) in [
            ("The fire in Brana killed 3 people.", "The fire in Brana killed 5 people."),
            ("The port of Brana closed on Monday.", "The port of Brana has not closed on Monday."),
            ("Russia accused Ukraine of shelling.", "Ukraine accused Russia of shelling."),
        ] {
            let both = vec![found(one, ClaimKind::Factual, 0, true), found(two, ClaimKind::Factual, 0, true)];
            assert_eq!(left(both).len(), 2, "{one}");
        }
    }
}
