//! The words of five systems for one verdict. What people read in the place of ours is in [`super::labels`].

use serde::Serialize;

use corroborate_domain::result::Features;
use corroborate_domain::verdict::Verdict;

/// Whose words. The stored value is always [`Vocabulary::Ours`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    Ours,
    /// Seed 1, the fact-checking module.
    Module,
    /// Seed 2, the fact-checking loop.
    Loop,
    /// Seed 3, the pipeline; its words are Brazilian Portuguese.
    Pipeline,
    /// Seed 5, the verifier over a knowledge base.
    Rag,
}

impl Vocabulary {
    /// Every vocabulary.
    pub const ALL: &'static [Self] = &[Self::Ours, Self::Module, Self::Loop, Self::Pipeline, Self::Rag];

    /// The name used by `--vocabulary` and `?vocabulary=`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Module => "module",
            Self::Loop => "loop",
            Self::Pipeline => "pipeline",
            Self::Rag => "rag",
        }
    }

    /// The vocabulary of that name; `None` for any other text.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|vocabulary| vocabulary.as_str() == name)
    }
}

/// The features under their names in the module vocabulary, which shows them in the place of ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModuleFeatures {
    /// 0–1, as all but the count.
    pub entail_max: f64,
    pub entail_mean3: f64,
    pub contradict_max: f64,
    /// Independent groups that support.
    pub agree_domain_count: u32,
    pub relevance_score_avg: f64,
    pub recency_weight_max: f64,
    /// Whether the figures agree; `None` with nothing to compare.
    pub num_ok: Option<bool>,
}

impl From<&Features> for ModuleFeatures {
    fn from(features: &Features) -> Self {
        Self {
            entail_max: features.e_max,
            entail_mean3: features.e_mean3,
            contradict_max: features.c_max,
            agree_domain_count: features.agree_dom,
            relevance_score_avg: features.rel_avg,
            recency_weight_max: features.rec_max,
            num_ok: features.num_ok,
        }
    }
}

/// The verdict in another system's words.
pub const fn word(vocabulary: Vocabulary, verdict: Verdict, decisive: bool) -> &'static str {
    match vocabulary {
        Vocabulary::Ours => verdict.as_str(),
        Vocabulary::Module => match verdict {
            Verdict::Supported => "Supported",
            Verdict::Refuted | Verdict::Outdated => "Refuted",
            Verdict::Contested | Verdict::Misleading => "Contested",
            Verdict::NotEnoughEvidence | Verdict::NotVerifiable => "Not enough evidence",
        },
        Vocabulary::Loop => match verdict {
            Verdict::Supported if decisive => "VERIFIED",
            Verdict::Refuted if decisive => "CONTRADICTED",
            Verdict::Supported | Verdict::Refuted | Verdict::Contested | Verdict::Misleading => "PARTIAL",
            Verdict::Outdated => "OUTDATED",
            Verdict::NotEnoughEvidence | Verdict::NotVerifiable => "UNVERIFIABLE",
        },
        Vocabulary::Pipeline => match verdict {
            Verdict::Supported => "Verdadeiro",
            Verdict::Refuted => "Falso",
            Verdict::Misleading | Verdict::Outdated => "Fora de Contexto",
            Verdict::Contested | Verdict::NotEnoughEvidence | Verdict::NotVerifiable => {
                "Fontes insuficientes para verificar"
            }
        },
        Vocabulary::Rag => match verdict {
            Verdict::Supported if decisive => "True",
            Verdict::Refuted => "False",
            Verdict::Supported | Verdict::Contested => "Partially True",
            Verdict::Misleading | Verdict::Outdated => "Misleading",
            Verdict::NotEnoughEvidence => "Not Enough Evidence",
            Verdict::NotVerifiable => "Not Verifiable",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_scoring_word_for_word() {
        use Verdict::{Contested, Misleading, NotEnoughEvidence, NotVerifiable, Outdated, Refuted, Supported};
        let few = "Fontes insuficientes para verificar";
        let rows = [
            (Supported, true, "Supported", "VERIFIED", "Verdadeiro", "True"),
            (Supported, false, "Supported", "PARTIAL", "Verdadeiro", "Partially True"),
            (Refuted, true, "Refuted", "CONTRADICTED", "Falso", "False"),
            (Refuted, false, "Refuted", "PARTIAL", "Falso", "False"),
            (Contested, false, "Contested", "PARTIAL", few, "Partially True"),
            (Misleading, true, "Contested", "PARTIAL", "Fora de Contexto", "Misleading"),
            (Outdated, true, "Refuted", "OUTDATED", "Fora de Contexto", "Misleading"),
            (NotEnoughEvidence, false, "Not enough evidence", "UNVERIFIABLE", few, "Not Enough Evidence"),
            (NotVerifiable, false, "Not enough evidence", "UNVERIFIABLE", few, "Not Verifiable"),
        ];
        for (verdict, decisive, module, in_loop, pipeline, rag) in rows {
            assert_eq!(word(Vocabulary::Module, verdict, decisive), module, "{verdict}");
            assert_eq!(word(Vocabulary::Loop, verdict, decisive), in_loop, "{verdict}");
            assert_eq!(word(Vocabulary::Pipeline, verdict, decisive), pipeline, "{verdict}");
            assert_eq!(word(Vocabulary::Rag, verdict, decisive), rag, "{verdict}");
            assert_eq!(word(Vocabulary::Ours, verdict, decisive), verdict.as_str());
        }
    }

    #[test]
    fn a_vocabulary_is_found_by_its_name_only() {
        for vocabulary in Vocabulary::ALL {
            assert_eq!(Vocabulary::parse(vocabulary.as_str()), Some(*vocabulary));
        }
        assert_eq!(Vocabulary::parse("RAG"), None);
    }
}
