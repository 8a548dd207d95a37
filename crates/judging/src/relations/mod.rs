//! What rules can tell of a claim and a passage beside a model.
//!
//! Six relations, each a pure function of the two texts: whether one denies what the other says ([`polarity`]), who did what
//! to whom ([`roles`]), when ([`time`]), where and of which part ([`scope`]), whether it is stated at all ([`factuality`]), and
//! how much ([`quantity`]). Each answers *agrees*, *differs* or *unknown*, by the first of its rules that holds, and names
//! that rule and the sentence it rests on. Which answers keep a passage from a side, [`crate::caps`] says.
//!
//! To add a rule: a row in the table of its relation, with an id that says what it sees, and a row in that file's test. A
//! rule stays only where a labelled set shows that its answer tells something (`cargo bench --bench stance -- relations`).
//!
//! Nothing here knows a model, a threshold or a verdict.

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

/// What is held against what.
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
    /// Every relation, in the order in which [`relations`] answers.
    pub const ALL: [Self; 6] = [Self::Polarity, Self::Roles, Self::Time, Self::Scope, Self::Factuality, Self::Quantity];

    /// As rule ids, tables and people's output write it.
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

/// What a relation says.
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

/// One relation's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub relation: Relation,
    pub answer: Answer,
    /// `relation.rule`; empty where no rule holds.
    pub rule: &'static str,
    /// The sentence it rests on: bytes of the passage from and to. Empty where no rule holds.
    pub span: (usize, usize),
}

/// The answers of all six relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relations([Finding; 6]);

impl Relations {
    /// In the order of [`Relation::ALL`].
    pub fn findings(&self) -> &[Finding] {
        &self.0
    }

    /// What one of them says.
    pub fn of(&self, relation: Relation) -> Answer {
        self.0.iter().find(|finding| finding.relation == relation).map_or(Answer::Unknown, |finding| finding.answer)
    }

    /// Whether one of them says that the two differ.
    pub fn differs(&self, relation: Relation) -> bool {
        self.of(relation) == Answer::Differs
    }

    /// Whether one of them holds by that rule.
    pub fn holds(&self, rule: &str) -> bool {
        self.0.iter().any(|finding| finding.rule == rule)
    }

    /// The ids of the rules that hold, in order.
    pub fn rules(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|finding| finding.rule).filter(|rule| !rule.is_empty())
    }
}

/// A rule of one relation.
pub(crate) struct Rule {
    /// `relation.rule`.
    pub(crate) id: &'static str,
    pub(crate) answer: Answer,
    /// Whether the sentence at that position of the passage has what the rule sees.
    pub(crate) holds: fn(&Held<'_>, usize) -> bool,
}

/// Sentences that hold nearly as many of the claim's words as the best one could be what a judge goes by as well.
const NEARLY: f64 = 0.85;
/// Share of the claim's words from which a sentence repeats it.
const REPEATS: f64 = 0.5;

/// A claim held against a passage: what the rules of several relations need of the two.
pub(crate) struct Held<'a> {
    pub(crate) claim: &'a TextProfile,
    pub(crate) passage: &'a TextProfile,
    /// The sentences that a judge may go by: those with nearly the most of the claim's words.
    near: Vec<usize>,
    /// The most of the claim's words in one sentence, 0–1.
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

    /// The sentence at a position.
    pub(crate) fn at(&self, position: usize) -> Option<&'a SentenceProfile> {
        self.passage.sentences.get(position)
    }

    /// Whether a sentence repeats the claim, so that what it says of it concerns this claim.
    pub(crate) fn repeats(&self) -> bool {
        self.shared >= REPEATS
    }

    /// The first rule that holds of every sentence a judge may go by: one sentence that says it plainly is enough to say it.
    fn first(&self, relation: Relation, rules: &[Rule]) -> Finding {
        let holds = |rule: &&Rule| !self.near.is_empty() && self.near.iter().all(|at| (rule.holds)(self, *at));
        let sentence = self.near.first().and_then(|at| self.at(*at));
        let found = rules.iter().find(holds).zip(sentence);
        found.map_or(Finding { relation, answer: Answer::Unknown, rule: "", span: (0, 0) }, |(rule, sentence)| {
            Finding { relation, answer: rule.answer, rule: rule.id, span: (sentence.start, sentence.end) }
        })
    }
}

/// What the six relations say of a claim and a passage.
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

/// The ids of every rule: what may stand in [`Finding::rule`].
pub fn rule_ids() -> impl Iterator<Item = &'static str> {
    Relation::ALL.into_iter().flat_map(|relation| rules_of(relation).iter().map(|rule| rule.id)).chain(quantity::IDS)
}

#[cfg(test)]
mod tests;
