//! The decision model: from the figures of independent sources to a posterior over what a claim may be (`docs/scoring.md`, verdict,
//! step 4).
//!
//! One small multinomial logistic model for each kind of judge. Its figures are of independent groups, never of passages: a
//! copy changes nothing, the order changes nothing, and one more group that supports never makes support less likely. The
//! coefficients are fitted by `corroborate eval FILE --decision OUT` and ship as tables in `config/decision/`, each with the
//! data it was fitted on and how it did on data it had not seen.

pub mod fit;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::result::{Decision, Posterior};
use corroborate_domain::verdict::{Stance, Verdict};

/// The figures, in the order of a table's columns: the three strongest supports and the three strongest contradictions of
/// independent groups, each as log-odds above a floor ([`JudgeKind::floor`]), 0 where there is none.
pub const FIGURES: usize = 6;
/// A group behind the third adds nothing: three independent sources are as good as ten.
const EACH_SIDE: usize = 3;

/// How sure a passage is that gives another figure or date of the same event, whatever the judge makes of its words: of the
/// figures that the rules call differing so many differ (docs/quality.md, the rules alone).
const FIGURE_DIFFERS: f64 = 0.83;
/// Upper bound of a passage's probability. It keeps the log-odds finite.
const MAX_PROBABILITY: f64 = 0.995;

/// Behind the judge's kind in a stored table's name: a language model was heard beside it.
pub(crate) const AND_LANGUAGE_MODEL: &str = "+llm";

/// What a claim may be, in the order of a table's rows.
pub const CLASSES: [Verdict; 4] =
    [Verdict::Supported, Verdict::Refuted, Verdict::Contested, Verdict::NotEnoughEvidence];

/// Who judged the passages: a model's probabilities and those of the rules are worth different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeKind {
    /// A stance model, alone or beside the rules.
    Model,
    /// Words, names and figures alone.
    Rules,
}

impl JudgeKind {
    /// By the judge that a claim is stored with: `rules`, `model:<name>`, `model:<name>+rules`, each perhaps with `+translated`
    /// and `+llm:<name>` or `+own:<name>`: an adjudicator stands beside the judge and is none of the two.
    pub fn of(judge: &str) -> Self {
        let is_rules = |part: &str| {
            matches!(part, "rules" | "translated" | "llm") || part.starts_with("llm:") || part.starts_with("own:")
        };
        if judge.split('+').all(is_rules) { Self::Rules } else { Self::Model }
    }

    /// Whether a model reads the passages, and not their words alone.
    pub const fn is_model(self) -> bool {
        !matches!(self, Self::Rules)
    }

    /// Probability under which a side counts as not taken at all. A model gives a few hundredths to everything it reads; what
    /// rules give below a half is how many words two texts share, which tells nothing of who is right (docs/quality.md).
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

/// The figures of passages that may decide.
pub fn figures(kind: JudgeKind, deciding: &[&JudgedPassage]) -> [f64; FIGURES] {
    let mut groups: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for passage in deciding {
        let (support, against) = groups.entry(passage.independent_group.as_str()).or_default();
        *support = support.max(passage.entail);
        let differs = passage.num_ok == Some(false) && passage.stance() == Stance::Contradicts;
        *against = against.max(if differs { passage.contradict.max(FIGURE_DIFFERS) } else { passage.contradict });
    }
    let supports = strongest(kind, groups.values().map(|(support, against)| heard(*support, *against)));
    let against = strongest(kind, groups.values().map(|(support, against)| heard(*against, *support)));
    let mut all = [0.0; FIGURES];
    for (place, figure) in all.iter_mut().zip(supports.into_iter().chain(against)) {
        *place = figure;
    }
    all
}

/// How far a source is heard for a side: wholly where it says that more than the opposite, else as far as it does not say
/// the opposite.
fn heard(side: f64, opposite: f64) -> f64 {
    if side > opposite { side } else { side * (1.0 - opposite) }
}

/// The three highest as log-odds above the floor.
fn strongest(kind: JudgeKind, probabilities: impl Iterator<Item = f64>) -> [f64; EACH_SIDE] {
    let mut sorted: Vec<f64> = probabilities.collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut three = [0.0; EACH_SIDE];
    for (place, probability) in three.iter_mut().zip(sorted) {
        *place = above(kind.floor(), probability);
    }
    three
}

fn above(floor: f64, probability: f64) -> f64 {
    let log_odds = |p: f64| (p / (1.0 - p)).ln();
    log_odds(probability.clamp(floor, MAX_PROBABILITY)) - log_odds(floor)
}

/// Coefficients: for each of [`CLASSES`] its intercept and a weight for each figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coefficients {
    pub supported: Row,
    pub refuted: Row,
    pub contested: Row,
    pub open: Row,
}

/// The coefficients of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub intercept: f64,
    /// Of the strongest support, the second and the third.
    pub support: [f64; EACH_SIDE],
    /// Of the strongest contradiction, the second and the third.
    pub against: [f64; EACH_SIDE],
}

impl Row {
    fn at(&self, figures: &[f64; FIGURES]) -> f64 {
        let weights = self.support.iter().chain(&self.against);
        self.intercept + weights.zip(figures).map(|(weight, figure)| weight * figure).sum::<f64>()
    }
}

impl Coefficients {
    /// The posterior of these figures; its four shares sum to 1.
    pub fn posterior(&self, figures: &[f64; FIGURES]) -> Posterior {
        let sums = [&self.supported, &self.refuted, &self.contested, &self.open].map(|row| row.at(figures));
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [supported, refuted, contested, open] = sums.map(|sum| (sum - most).exp());
        let all = supported + refuted + contested + open;
        Posterior { supported: supported / all, refuted: refuted / all, contested: contested / all, open: open / all }
    }

    /// The claim's figures with their posterior, as they are stored.
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

    /// Whether support speaks for "supported" at least as much as for anything else, and contradiction for "refuted": what
    /// keeps one more source from making its own side less likely.
    pub fn is_monotone(&self) -> bool {
        let least = |most: &[f64], others: [&[f64]; 3]| {
            others.iter().all(|other| other.iter().zip(most).all(|(other, most)| other <= most))
        };
        least(&self.supported.support, [&self.refuted.support, &self.contested.support, &self.open.support])
            && least(&self.refuted.against, [&self.supported.against, &self.contested.against, &self.open.against])
    }
}

/// A table of each kind of judge.
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

    /// The same with a fitted table in the place of the one of its kind.
    #[must_use]
    pub fn with(mut self, fitted: &fit::Fitted) -> Self {
        match fitted.judge {
            JudgeKind::Model => self.model = fitted.coefficients,
            JudgeKind::Rules => self.rules = fitted.coefficients,
        }
        self
    }
}

/// The tables that ship. A test reads them, so that a broken one cannot ship.
static SHIPPED: LazyLock<DecisionTables> = LazyLock::new(|| {
    let read = |text: &str| fit::Fitted::parse(text).map(|fitted| fitted.coefficients).ok();
    // Takes no side, whatever the figures.
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
            let fitted = fit::Fitted::parse(text).unwrap();
            assert!(fitted.coefficients.is_monotone());
            assert!(!fitted.sets.is_empty() && fitted.rows > 100, "it says what it was fitted on");
        }
    }

    #[test]
    fn the_kind_of_a_judge_is_told_by_its_name_and_by_its_table() {
        for (judge, kind) in [
            ("rules", JudgeKind::Rules),
            ("rules+llm", JudgeKind::Rules),
            ("model:mpnet-nli-en-ru-uk-int8+rules", JudgeKind::Model),
            ("model+llm", JudgeKind::Model),
            ("model:one+model:another+rules", JudgeKind::Model),
            // A table that older versions had.
            ("slavic+llm", JudgeKind::Model),
        ] {
            assert_eq!(JudgeKind::of(judge), kind, "{judge}");
        }
        for kind in [JudgeKind::Model, JudgeKind::Rules] {
            assert_eq!(JudgeKind::of(kind.as_str()), kind);
        }
    }

    #[test]
    fn figures_are_of_groups_and_zero_where_nothing_is_said() {
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
            // What does not contradict at all; a source that says both counts on both sides.
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
