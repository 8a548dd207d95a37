//! Five vocabularies of verdicts: ours and four other systems' (`docs/vocabularies.md`). For reader labels see
//! [`super::labels`].

use serde::Serialize;

use corroborate_domain::result::Features;
use corroborate_domain::verdict::Verdict;

/// A vocabulary of verdicts. [`Vocabulary::Ours`] is stored and the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    Ours,
    /// Four verdicts and own feature names.
    Module,
    /// Five verdicts in capitals.
    Loop,
    /// Four verdicts in Brazilian Portuguese.
    Pipeline,
    /// Six verdicts over a knowledge base.
    Rag,
}

impl Vocabulary {
    pub const ALL: &'static [Self] = &[Self::Ours, Self::Module, Self::Loop, Self::Pipeline, Self::Rag];

    /// The name in `--vocabulary` and `?vocabulary=`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Module => "module",
            Self::Loop => "loop",
            Self::Pipeline => "pipeline",
            Self::Rag => "rag",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|vocabulary| vocabulary.as_str() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModuleFeatures {
    /// 0–1, except the count.
    pub entail_max: f64,
    pub entail_mean3: f64,
    pub contradict_max: f64,
    /// Supporting independent groups.
    pub agree_domain_count: u32,
    pub relevance_score_avg: f64,
    pub recency_weight_max: f64,
    /// `None` without comparable figures.
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
    fn word_matches_the_table_of_the_documentation() {
        let text = include_str!("../../../docs/vocabularies.md");
        let mut seen = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let &[ours, decisive, module, in_loop, pipeline, rag] = cells.as_slice() else { continue };
            let Some(&verdict) = Verdict::ALL.iter().find(|verdict| verdict.as_str() == ours) else { continue };
            let values: &[bool] = match decisive {
                "true" => &[true],
                "false" => &[false],
                "either" => &[true, false],
                other => panic!("{other}: {line}"),
            };
            for decisive in values {
                seen.push((verdict, *decisive));
                assert_eq!(word(Vocabulary::Ours, verdict, *decisive), ours);
                assert_eq!(word(Vocabulary::Module, verdict, *decisive), module, "{line}");
                assert_eq!(word(Vocabulary::Loop, verdict, *decisive), in_loop, "{line}");
                assert_eq!(word(Vocabulary::Pipeline, verdict, *decisive), pipeline, "{line}");
                assert_eq!(word(Vocabulary::Rag, verdict, *decisive), rag, "{line}");
            }
        }
        for verdict in Verdict::ALL {
            assert!(seen.iter().any(|(known, _)| known == verdict), "{verdict} is missing in docs/vocabularies.md");
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
