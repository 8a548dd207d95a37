//! Rules about a claim and a passage that add to the model.
//!
//! Six relations, each a pure function of both texts: denial ([`polarity`]), [`roles`], [`time`], place and part
//! ([`scope`]), whether the fact is stated ([`factuality`]), and amount ([`quantity`]). Each returns *agrees*,
//! *differs* or *unknown* by its first matching rule, with rule and sentence. [`crate::caps`] uses the answers. No rule
//! uses a model, threshold or verdict.
//!
//! To add a rule, add a row to its table and to that file's test. Keep it only if a labelled set shows a benefit
//! (`cargo bench --bench stance -- relations`).

mod cases;
pub mod factuality;
mod frames;
pub mod polarity;
pub mod quantity;
mod retraction;
pub mod roles;
pub mod scope;
pub mod time;

use crate::coverage::sentence_coverage;
use crate::numbers::Occasions;
use crate::profile::{SentenceProfile, TextProfile};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    Polarity,
    Roles,
    Time,
    Scope,
    Factuality,
    Quantity,
}

impl Relation {
    /// Every relation, in the order of [`relations`].
    pub const ALL: [Self; 6] = [Self::Polarity, Self::Roles, Self::Time, Self::Scope, Self::Factuality, Self::Quantity];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Polarity => "polarity",
            Self::Roles => "roles",
            Self::Time => "time",
            Self::Scope => "scope",
            Self::Factuality => "factuality",
            Self::Quantity => "quantity",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Answer {
    Agrees,
    Differs,
    #[default]
    Unknown,
}

impl Answer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub relation: Relation,
    pub answer: Answer,
    /// `relation.rule`; empty without a match.
    pub rule: &'static str,
    /// Byte range in the passage; empty without a match.
    pub span: (usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relations([Finding; 6]);

impl Relations {
    /// In the order of [`Relation::ALL`].
    pub fn findings(&self) -> &[Finding] {
        &self.0
    }

    pub fn of(&self, relation: Relation) -> Answer {
        self.0.iter().find(|finding| finding.relation == relation).map_or(Answer::Unknown, |finding| finding.answer)
    }

    pub fn differs(&self, relation: Relation) -> bool {
        self.of(relation) == Answer::Differs
    }

    pub fn holds(&self, rule: &str) -> bool {
        self.0.iter().any(|finding| finding.rule == rule)
    }

    pub fn rules(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|finding| finding.rule).filter(|rule| !rule.is_empty())
    }
}

pub(crate) struct Rule {
    /// `relation.rule`.
    pub(crate) id: &'static str,
    pub(crate) answer: Answer,
    pub(crate) holds: fn(&Held<'_>, usize) -> bool,
}

/// Minimum share of the best sentence's claim words for another one that may be the basis.
const NEARLY: f64 = 0.85;
/// Minimum share of the claim's words for a repetition.
const REPEATS: f64 = 0.5;

pub(crate) struct Held<'a> {
    pub(crate) claim: &'a TextProfile,
    pub(crate) passage: &'a TextProfile,
    /// Sentences with nearly the most claim words.
    near: Vec<usize>,
    /// That highest share, 0–1.
    pub(crate) shared: f64,
    pub(crate) occasions: Occasions<'a>,
}

impl<'a> Held<'a> {
    pub(crate) fn new(claim: &'a TextProfile, passage: &'a TextProfile) -> Self {
        let shares: Vec<f64> = passage.sentences.iter().map(|sentence| sentence_coverage(claim, sentence)).collect();
        let shared = shares.iter().copied().fold(0.0, f64::max);
        let is_near = |(at, share): (usize, &f64)| (*share >= NEARLY * shared).then_some(at);
        let near = shares.iter().enumerate().filter_map(is_near).collect();
        Self { claim, passage, near, shared, occasions: Occasions::new(claim, passage) }
    }

    pub(crate) fn at(&self, position: usize) -> Option<&'a SentenceProfile> {
        self.passage.sentences.get(position)
    }

    /// Whether a sentence repeats the claim, so that comments in the passage concern this claim.
    pub(crate) fn repeats(&self) -> bool {
        self.shared >= REPEATS
    }

    /// A rule must match all near sentences, because one plain sentence states the claim.
    fn first(&self, relation: Relation, rules: &[Rule]) -> Finding {
        let holds = |rule: &&Rule| !self.near.is_empty() && self.near.iter().all(|at| (rule.holds)(self, *at));
        let sentence = self.near.first().and_then(|at| self.at(*at));
        let found = rules.iter().find(holds).zip(sentence);
        found.map_or(Finding { relation, answer: Answer::Unknown, rule: "", span: (0, 0) }, |(rule, sentence)| {
            Finding { relation, answer: rule.answer, rule: rule.id, span: (sentence.start, sentence.end) }
        })
    }
}

pub fn relations(claim: &TextProfile, passage: &TextProfile) -> Relations {
    let held = Held::new(claim, passage);
    Relations(Relation::ALL.map(|relation| match relation {
        Relation::Quantity => quantity::finding(claim, passage),
        _ => held.first(relation, rules_of(relation)),
    }))
}

fn rules_of(relation: Relation) -> &'static [Rule] {
    match relation {
        Relation::Polarity => polarity::RULES,
        Relation::Roles => roles::RULES,
        Relation::Time => time::RULES,
        Relation::Scope => scope::RULES,
        Relation::Factuality => factuality::RULES,
        Relation::Quantity => &[],
    }
}

pub fn rule_ids() -> impl Iterator<Item = &'static str> {
    Relation::ALL.into_iter().flat_map(|relation| rules_of(relation).iter().map(|rule| rule.id)).chain(quantity::IDS)
}

#[cfg(test)]
mod tests;
