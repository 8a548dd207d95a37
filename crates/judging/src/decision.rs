//! The decision model: turns figures of independent sources into a posterior (`docs/scoring.md`, verdict, step 4).
//!
//! A small multinomial logistic model per kind of judge. Figures are of independent groups, so copies and order have no
//! effect, and another supporting group never lowers support. `corroborate eval FILE --decision OUT` fits the tables.
//! `config/decision/` has the shipped ones with their data and results on unseen data.

pub mod fit;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::result::{Decision, Posterior};
use corroborate_domain::verdict::{Stance, Verdict};

/// Number of figures. In column order: log-odds above [`JudgeKind::floor`], or 0, of the three strongest supports, then
/// contradictions.
pub const FIGURES: usize = 6;
/// A fourth group adds nothing.
const GROUPS_PER_SIDE: usize = 3;

/// Share of real differences among those that the comparison of figures finds. 33 of 36 on the pairs of
/// `docs/research/011-rule-ablation.md`; the value is from an earlier, larger sample.
const FIGURE_DIFFERENCE_PRECISION: f64 = 0.83;
/// Keeps the log-odds finite.
const MAX_PROBABILITY: f64 = 0.995;

/// Suffix of a stored table's name if a language model judged too.
pub(crate) const LANGUAGE_MODEL_SUFFIX: &str = "+llm";

/// The classes in row order.
pub const CLASSES: [Verdict; 4] =
    [Verdict::Supported, Verdict::Refuted, Verdict::Contested, Verdict::NotEnoughEvidence];

/// The kind of judge. Probabilities of a model and of the agreement rule are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeKind {
    /// An NLI model, for at least one passage.
    Model,
    Rules,
}

impl JudgeKind {
    /// Parses a stored judge: `rules`, `model:<name>` or `model:<name>+rules`, optionally with `+translated` and
    /// `+llm:<name>` or `+own:<name>`. An adjudicator does not change the kind.
    pub fn of(judge: &str) -> Self {
        let is_rules = |part: &str| {
            matches!(part, "rules" | "translated" | "llm") || part.starts_with("llm:") || part.starts_with("own:")
        };
        if judge.split('+').all(is_rules) { Self::Rules } else { Self::Model }
    }

    pub const fn is_model(self) -> bool {
        !matches!(self, Self::Rules)
    }

    /// Probability below which a passage takes no side. Models give everything a few hundredths. The agreement
    /// rule gives a side at least 0.6.
    const fn floor(self) -> f64 {
        match self {
            Self::Model => 0.1,
            Self::Rules => 0.5,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Rules => "rules",
        }
    }
}

pub fn figures(kind: JudgeKind, deciding: &[&JudgedPassage]) -> [f64; FIGURES] {
    let mut groups: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for passage in deciding {
        let (support, against) = groups.entry(passage.independent_group.as_str()).or_default();
        *support = support.max(passage.entail);
        let differs = passage.num_ok == Some(false) && passage.stance() == Stance::Contradicts;
        *against =
            against.max(if differs { passage.contradict.max(FIGURE_DIFFERENCE_PRECISION) } else { passage.contradict });
    }
    let supports = strongest(kind, groups.values().map(|(support, against)| side_weight(*support, *against)));
    let against = strongest(kind, groups.values().map(|(support, against)| side_weight(*against, *support)));
    let mut all = [0.0; FIGURES];
    for (place, figure) in all.iter_mut().zip(supports.into_iter().chain(against)) {
        *place = figure;
    }
    all
}

/// Returns the weight of a side: full if it is stronger, otherwise reduced by the opposite.
fn side_weight(side: f64, opposite: f64) -> f64 {
    if side > opposite { side } else { side * (1.0 - opposite) }
}

fn strongest(kind: JudgeKind, probabilities: impl Iterator<Item = f64>) -> [f64; GROUPS_PER_SIDE] {
    let mut sorted: Vec<f64> = probabilities.collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut three = [0.0; GROUPS_PER_SIDE];
    for (place, probability) in three.iter_mut().zip(sorted) {
        *place = above(kind.floor(), probability);
    }
    three
}

fn above(floor: f64, probability: f64) -> f64 {
    let log_odds = |p: f64| (p / (1.0 - p)).ln();
    log_odds(probability.clamp(floor, MAX_PROBABILITY)) - log_odds(floor)
}

/// Intercept and weights for each of [`CLASSES`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coefficients {
    pub supported: Row,
    pub refuted: Row,
    pub contested: Row,
    pub open: Row,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub intercept: f64,
    /// For the three strongest supports.
    pub support: [f64; GROUPS_PER_SIDE],
    /// For the three strongest contradictions.
    pub against: [f64; GROUPS_PER_SIDE],
}

impl Row {
    fn at(&self, figures: &[f64; FIGURES]) -> f64 {
        let weights = self.support.iter().chain(&self.against);
        self.intercept + weights.zip(figures).map(|(weight, figure)| weight * figure).sum::<f64>()
    }
}

impl Coefficients {
    /// The posterior; its four shares sum to 1.
    pub fn posterior(&self, figures: &[f64; FIGURES]) -> Posterior {
        let sums = [&self.supported, &self.refuted, &self.contested, &self.open].map(|row| row.at(figures));
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [supported, refuted, contested, open] = sums.map(|sum| (sum - most).exp());
        let all = supported + refuted + contested + open;
        Posterior { supported: supported / all, refuted: refuted / all, contested: contested / all, open: open / all }
    }

    /// The figures and the posterior, as stored.
    pub fn decision(&self, kind: JudgeKind, deciding: &[&JudgedPassage]) -> Decision {
        let figures = figures(kind, deciding);
        let [s1, s2, s3, c1, c2, c3] = figures;
        Decision {
            table: kind.as_str().to_owned(),
            support: [s1, s2, s3],
            against: [c1, c2, c3],
            posterior: self.posterior(&figures),
            rules: Vec::new(),
        }
    }

    /// Whether support favours "supported" most, and contradiction "refuted", so that a source never lowers its own
    /// side.
    pub fn is_monotone(&self) -> bool {
        let least = |most: &[f64], others: [&[f64]; 3]| {
            others.iter().all(|other| other.iter().zip(most).all(|(other, most)| other <= most))
        };
        least(&self.supported.support, [&self.refuted.support, &self.contested.support, &self.open.support])
            && least(&self.refuted.against, [&self.supported.against, &self.contested.against, &self.open.against])
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecisionTables {
    pub model: Coefficients,
    pub rules: Coefficients,
}

impl DecisionTables {
    pub const fn of(&self, kind: JudgeKind) -> &Coefficients {
        match kind {
            JudgeKind::Model => &self.model,
            JudgeKind::Rules => &self.rules,
        }
    }

    #[must_use]
    pub fn with(mut self, fitted: &fit::FittedTable) -> Self {
        match fitted.judge {
            JudgeKind::Model => self.model = fitted.coefficients,
            JudgeKind::Rules => self.rules = fitted.coefficients,
        }
        self
    }
}

/// A test parses them.
static SHIPPED: LazyLock<DecisionTables> = LazyLock::new(|| {
    let read = |text: &str| fit::FittedTable::parse(text).map(|fitted| fitted.coefficients).ok();
    // Takes no side.
    let open = Coefficients {
        supported: Row::default(),
        refuted: Row::default(),
        contested: Row::default(),
        open: Row { intercept: 9.0, ..Row::default() },
    };
    DecisionTables {
        model: read(include_str!("../../../config/decision/model.json")).unwrap_or(open),
        rules: read(include_str!("../../../config/decision/rules.json")).unwrap_or(open),
    }
});

impl Default for DecisionTables {
    fn default() -> Self {
        *SHIPPED
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{any_passages, passage};
    use super::*;

    fn posterior(passages: &[JudgedPassage]) -> Posterior {
        let deciding: Vec<&JudgedPassage> = passages.iter().collect();
        DecisionTables::default().model.posterior(&figures(JudgeKind::Model, &deciding))
    }

    #[test]
    fn the_tables_that_ship_are_read_and_monotone() {
        for text in
            [include_str!("../../../config/decision/model.json"), include_str!("../../../config/decision/rules.json")]
        {
            let fitted = fit::FittedTable::parse(text).unwrap();
            assert!(fitted.coefficients.is_monotone());
            assert!(!fitted.sets.is_empty() && fitted.rows > 100, "it says what it was fitted on");
        }
    }

    #[test]
    fn judge_kind_is_known_from_its_name_and_its_table() {
        for (judge, kind) in [
            ("rules", JudgeKind::Rules),
            ("rules+llm", JudgeKind::Rules),
            ("model:mpnet-nli-en-ru-uk-int8+rules", JudgeKind::Model),
            ("model+llm", JudgeKind::Model),
            ("model:one+model:another+rules", JudgeKind::Model),
            // A table of older versions.
            ("slavic+llm", JudgeKind::Model),
        ] {
            assert_eq!(JudgeKind::of(judge), kind, "{judge}");
        }
        for kind in [JudgeKind::Model, JudgeKind::Rules] {
            assert_eq!(JudgeKind::of(kind.as_str()), kind);
        }
    }

    #[test]
    fn figures_are_zero_when_no_group_takes_a_side() {
        let figures = |deciding: &[&JudgedPassage]| figures(JudgeKind::Model, deciding);
        assert!(figures(&[]).iter().all(|figure| *figure <= 0.0));
        let (one, copy) =
            (passage("a", 0.9, 0.05), JudgedPassage { independent_group: "a".into(), ..passage("b", 0.9, 0.05) });
        let [first, second, third, against, ..] = figures(&[&one, &copy]);
        assert!(first > 3.0 && first < 5.0, "{first}");
        let nothing = [second, third, against].iter().all(|figure| *figure <= 0.0);
        assert!(nothing, "a copy is no second source, 0.05 says nothing");
        let both = passage("c", 0.6, 0.6);
        let [support, .., against, _, _] = figures(&[&both]);
        assert!((support - against).abs() < 1e-12 && support < above(0.1, 0.3), "{support}");
    }

    proptest! {
        #[test]
        fn one_more_group_that_supports_never_lowers_support(passages in any_passages(), entail in 0.5..=1.0f64) {
            let before = posterior(&passages);
            let mut more = passages.clone();
            // Without contradiction; a source on both sides counts on both.
            more.push(passage("another", entail, 0.0));
            prop_assert!(posterior(&more).supported >= before.supported - 1e-12);
            let mut against = passages;
            against.push(passage("another", 0.0, entail));
            prop_assert!(posterior(&against).refuted >= before.refuted - 1e-12);
        }

        #[test]
        fn copies_and_order_change_nothing(passages in any_passages(), at in any::<prop::sample::Index>()) {
            prop_assume!(!passages.is_empty());
            let before = posterior(&passages);
            let mut more = passages.clone();
            more.push(passages[at.index(passages.len())].clone());
            more.reverse();
            prop_assert_eq!(posterior(&more), before);
            let sum = before.supported + before.refuted + before.contested + before.open;
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }
}
