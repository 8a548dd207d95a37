//! Closed vocabularies: verdicts, tiers, kinds, stances, rating classes.
//!
//! `words!` defines each. To add a value, add a line. Existing words are stored and published, and must not change.

/// Defines an enum whose serde name, database text and metric label are one string.
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

            /// The stored, published and metric form.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Parses a word. Returns `None` for any other text.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(word: String) -> Result<Self, String> {
                Self::parse(&word).ok_or_else(|| format!("unknown {} {word:?}", stringify!($name)))
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
    /// The verdict on a claim.
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
    /// True if the store requires a passage or fact-check with a matching stance.
    pub const fn needs_evidence(self) -> bool {
        matches!(self, Self::Supported | Self::Refuted | Self::Contested | Self::Misleading | Self::Outdated)
    }
}

words! {
    /// How well sources corroborate an item. It does not measure truth.
    Tier { High => "high", Medium => "medium", Low => "low" }
}

words! {
    /// The kind of a statement.
    ClaimKind { Factual => "factual", Opinion => "opinion", Mixed => "mixed", Ambiguous => "ambiguous" }
}

words! {
    /// The stance of a passage for a claim.
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
        /// A label that is not a verdict ("Explainer").
        None => "none",
        /// No rule knows the text. It never becomes a verdict.
        Unknown => "unknown",
    }
}

words! {
    /// How a fact-checked claim relates to ours.
    Relation { Same => "same", Opposite => "opposite", Related => "related", Other => "other" }
}

words! {
    /// How the processing of an item ended.
    Status { Complete => "complete", Degraded => "degraded", Skipped => "skipped", Failed => "failed" }
}

words! {
    /// The origin of a passage.
    Origin { Kb => "kb", Web => "web", FactCheck => "fact_check", Corpus => "corpus", Api => "api", Database => "database" }
}

words! {
    /// `phase1`: fact-check lookup and channel corroboration only. `phase2`: the whole evidence pipeline.
    Phase { One => "phase1", Two => "phase2" }
}

words! {
    /// Whether a corrected text may be applied automatically.
    Apply { Auto => "auto", Review => "review" }
}

words! {
    /// The effect of a correction on the claim.
    CorrectionType { Replace => "replace", Update => "update", Clarify => "clarify" }
}

words! {
    /// A reason, in addition to the tier, that people can act on.
    Note {
        NoCorroboration => "no_corroboration",
        ConflictingSources => "conflicting_sources",
        SingleSource => "single_source",
        Degraded => "degraded",
        NoSources => "no_sources",
        SocialOnly => "social_only",
        /// The passages are about the subject but decide nothing.
        OnlyRelated => "only_related",
        /// A language model confirms none of the verdict's passages.
        JudgesDisagree => "judges_disagree",
        Phase1Only => "phase1_only",
        /// No model read the passages. They were compared by words, names and figures.
        WordsOnly => "words_only",
        NoClaims => "no_claims",
    }
}

words! {
    /// The kind of site, which affects credibility and whether a passage can corroborate.
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
