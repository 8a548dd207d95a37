//! Two stance models as one.
//!
//! A pair in the languages that the first model judges alone costs one inference. Other pairs get the normalised
//! geometric mean of both calibrated distributions, with a temperature, or the second model's answer if the first one
//! does not read the pair. `docs/research/010-multilingual-base.md` has the measurement.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::languages::ModelLanguages;
use super::manifest::Ensemble;
use super::{InferenceError, Judgement, Pair, StanceModel};
use crate::domain::evidence::StanceProbabilities;

/// Keeps a logarithm finite.
const MIN_PROBABILITY: f64 = 1e-9;

/// A member with the languages that it reads.
#[derive(Debug, Clone)]
pub struct Member {
    pub model: Arc<dyn StanceModel>,
    pub languages: ModelLanguages,
}

impl Member {
    fn reads(&self, pair: &Pair) -> bool {
        self.languages.read(&pair.claim.text) && self.languages.read(&pair.passage.text)
    }
}

#[derive(Debug)]
pub struct EnsembleStance {
    /// `model:<name>`, of judgements by both.
    judge: Arc<str>,
    first: Member,
    second: Member,
    /// Pairs in these languages are judged by `first` alone.
    first_alone: ModelLanguages,
    temperature: f64,
}

impl EnsembleStance {
    pub fn new(settings: &Ensemble, first: Member, second: Member) -> Self {
        Self {
            judge: Arc::from(format!("model:{}", settings.name)),
            first,
            second,
            first_alone: ModelLanguages::new(&settings.alone),
            temperature: f64::from(settings.temperature),
        }
    }

    /// Returns which of the two models judge the pair.
    fn judges(&self, pair: &Pair) -> [bool; 2] {
        if !self.first.reads(pair) {
            return [false, true];
        }
        let is_first_alone = self.first_alone.read(&pair.claim.text) && self.first_alone.read(&pair.passage.text);
        [true, !is_first_alone && self.second.reads(pair)]
    }

    fn mean(&self, one: &StanceProbabilities, other: &StanceProbabilities) -> StanceProbabilities {
        let of = |one: f64, other: f64| {
            ((one.max(MIN_PROBABILITY).ln() + other.max(MIN_PROBABILITY).ln()) / (2.0 * self.temperature)).exp()
        };
        let [entail, contradict, neutral] =
            [of(one.entail, other.entail), of(one.contradict, other.contradict), of(one.neutral, other.neutral)];
        let sum = entail + contradict + neutral;
        StanceProbabilities { entail: entail / sum, contradict: contradict / sum, neutral: neutral / sum }
    }
}

impl StanceModel for EnsembleStance {
    fn name(&self) -> &str {
        &self.judge
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let judges: Vec<[bool; 2]> = pairs.iter().map(|pair| self.judges(pair)).collect();
            let chosen = |member: usize| -> Vec<Pair> {
                let of = |(pair, judges): (&Pair, &[bool; 2])| {
                    judges.get(member).copied().unwrap_or(false).then(|| pair.clone())
                };
                pairs.iter().zip(&judges).filter_map(of).collect()
            };
            let answers = async |model: &dyn StanceModel, pairs: Vec<Pair>| {
                if pairs.is_empty() { Ok(Vec::new()) } else { model.judge(&pairs).await }
            };
            let (first, second) = futures::try_join!(
                answers(self.first.model.as_ref(), chosen(0)),
                answers(self.second.model.as_ref(), chosen(1)),
            )?;
            let (mut first, mut second) = (first.into_iter(), second.into_iter());
            let miscounted = || InferenceError::Failed {
                model: self.judge.to_string(),
                detail: "a member gave fewer answers than pairs".to_owned(),
            };
            judges
                .iter()
                .map(|[by_first, by_second]| {
                    let one = if *by_first { first.next() } else { None };
                    let other = if *by_second { second.next() } else { None };
                    match (one, other) {
                        (Some(one), Some(other)) => Ok(Judgement {
                            probabilities: self.mean(&one.probabilities, &other.probabilities),
                            judge: Arc::clone(&self.judge),
                        }),
                        (Some(only), None) | (None, Some(only)) if by_first != by_second => Ok(only),
                        _ => Err(miscounted()),
                    }
                })
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::profile::TextProfile;

    /// Gives every pair the same probabilities: entailed, contradicted, neutral.
    #[derive(Debug)]
    struct Constant(&'static str, [f64; 3]);

    impl StanceModel for Constant {
        fn name(&self) -> &str {
            self.0
        }

        fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
            let [entail, contradict, neutral] = self.1;
            let probabilities = StanceProbabilities { entail, contradict, neutral };
            let one = Judgement { probabilities, judge: Arc::from(self.0) };
            Box::pin(async move { Ok(vec![one; pairs.len()]) })
        }
    }

    fn ensemble(temperature: f32) -> EnsembleStance {
        let member = |name, probabilities, languages: &[&str]| Member {
            model: Arc::new(Constant(name, probabilities)),
            languages: ModelLanguages::new(&languages.iter().map(|&code| code.to_owned()).collect::<Vec<_>>()),
        };
        let settings = Ensemble {
            name: "both".to_owned(),
            partner: "second".to_owned(),
            alone: vec!["en".to_owned()],
            temperature,
        };
        let first = member("model:first", [0.8, 0.1, 0.1], &["en", "ru"]);
        EnsembleStance::new(&settings, first, member("model:second", [0.2, 0.4, 0.4], &["en", "ru", "pt"]))
    }

    fn pair(claim: &str, passage: &str) -> Pair {
        let profile = |text: &str| Arc::new(TextProfile::new(text, None, None, &[]));
        Pair { claim: profile(claim), passage: profile(passage) }
    }

    const ENGLISH: &str = "The mayor of the city resigned on Monday because of the budget.";
    const RUSSIAN: &str = "Мэр города подал в отставку в понедельник из-за бюджета.";
    const PORTUGUESE: &str = "O prefeito da cidade renunciou na segunda-feira porque a câmara não confiava mais nele.";

    #[tokio::test]
    async fn languages_decide_which_member_judges() {
        let pairs = [pair(ENGLISH, ENGLISH), pair(RUSSIAN, ENGLISH), pair(PORTUGUESE, ENGLISH), pair(RUSSIAN, RUSSIAN)];
        let judged = ensemble(1.0).judge(&pairs).await.unwrap();
        let judges: Vec<&str> = judged.iter().map(|one| one.judge.as_ref()).collect();
        assert_eq!(judges, ["model:first", "model:both", "model:second", "model:both"]);
        assert!(ensemble(1.0).judge(&[]).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn mean_is_geometric_and_sums_to_one() {
        let mean = async |temperature| {
            ensemble(temperature).judge(&[pair(RUSSIAN, RUSSIAN)]).await.unwrap().remove(0).probabilities
        };
        // sqrt(0.8 * 0.2) = 0.4 and sqrt(0.1 * 0.4) = 0.2.
        let plain = mean(1.0).await;
        assert!((plain.entail - 0.5).abs() < 1e-6 && (plain.neutral - 0.25).abs() < 1e-6, "{plain:?}");
        let sharp = mean(0.5).await;
        assert!(sharp.entail > plain.entail, "{sharp:?}");
        assert!((sharp.entail + sharp.contradict + sharp.neutral - 1.0).abs() < 1e-9);
    }
}
