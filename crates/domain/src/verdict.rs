//! The closed vocabularies: verdicts, tiers, kinds, stances, rating classes.

/// Defines an enum whose serde name, database text and metric label are one and the same string.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident => $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stored, published and labelled form.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of that word; `None` for any other text.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub use crate::words;

words! {
    /// What the evidence says of a claim.
    Verdict {
        Supported => "supported",
        Refuted => "refuted",
        Contested => "contested",
        Misleading => "misleading",
        Outdated => "outdated",
        NotEnoughEvidence => "not_enough_evidence",
        NotVerifiable => "not_verifiable",
    }
}

impl Verdict {
    /// True where the store demands a passage or a fact-check of that stance behind the claim.
    pub const fn needs_evidence(self) -> bool {
        matches!(self, Self::Supported | Self::Refuted | Self::Contested | Self::Misleading | Self::Outdated)
    }
}

words! {
    /// How well an item is corroborated. It speaks of corroboration, not of truth.
    Tier { High => "high", Medium => "medium", Low => "low" }
}

words! {
    /// What sort of statement a claim is.
    ClaimKind { Factual => "factual", Opinion => "opinion", Mixed => "mixed", Ambiguous => "ambiguous" }
}

words! {
    /// What one passage says of one claim.
    Stance { Supports => "supports", Contradicts => "contradicts", Neutral => "neutral" }
}

words! {
    /// The class of a fact-checker's textual rating.
    RatingClass {
        True => "true",
        MostlyTrue => "mostly_true",
        Mixed => "mixed",
        Misleading => "misleading",
        False => "false",
        Unproven => "unproven",
        Satire => "satire",
        /// A label that is no verdict ("Explainer").
        None => "none",
        /// A text no rule knows. Never a default verdict.
        Unknown => "unknown",
    }
}

words! {
    /// How a reviewed claim relates to ours.
    Relation { Same => "same", Opposite => "opposite", Related => "related", Other => "other" }
}

words! {
    /// How an item ended.
    Status { Complete => "complete", Degraded => "degraded", Skipped => "skipped", Failed => "failed" }
}

words! {
    /// Where a passage came from.
    Origin { Kb => "kb", Web => "web", FactCheck => "fact_check", Corpus => "corpus", Api => "api", Database => "database" }
}

words! {
    /// Fact-check lookup and channel corroboration only, or the whole evidence pipeline.
    Phase { One => "phase1", Two => "phase2" }
}

words! {
    /// What to do with a corrected text.
    Apply { Auto => "auto", Review => "review" }
}

words! {
    /// What a correction does to the claim.
    CorrectionType { Replace => "replace", Update => "update", Clarify => "clarify" }
}

words! {
    /// A reason beside the tier that people can act on.
    Note {
        NoCorroboration => "no_corroboration",
        ConflictingSources => "conflicting_sources",
        SingleSource => "single_source",
        Degraded => "degraded",
        NoSources => "no_sources",
        SocialOnly => "social_only",
        /// Passages speak of the subject and settle nothing.
        OnlyRelated => "only_related",
        /// A language model bears out none of the passages that the verdict rests on.
        JudgesDisagree => "judges_disagree",
        Phase1Only => "phase1_only",
        /// No model read the passages, in their words or translated: they were compared by words, names and figures.
        WordsOnly => "words_only",
        NoClaims => "no_claims",
    }
}

words! {
    /// What kind of site a domain is; drives credibility and what may count as agreement.
    SourceType {
        News => "news",
        FactChecker => "fact_checker",
        Government => "government",
        Academic => "academic",
        Reference => "reference",
        Social => "social",
        Satire => "satire",
        Blog => "blog",
        LinkFarm => "link_farm",
        Unknown => "unknown",
    }
}
