//! The sentences of a justification.

/// One sentence. Sources are a list of "domain \[N\]"; `groups` counts independent ones.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sentence<'a> {
    Opinion,
    RelatedListed,
    SocialOnly,
    NotDecisive {
        one_source: bool,
    },
    Degraded,
    Rated {
        publisher: &'a str,
        rating: &'a str,
        url: &'a str,
        opposite: bool,
    },
    CheckersDisagree,
    PassagesSupport(&'a str),
    PassagesContradict(&'a str),
    Supported {
        groups: u32,
        sources: &'a str,
    },
    Uncontradicted,
    WeaklyContradicted,
    OutOfContext {
        groups: u32,
        sources: &'a str,
    },
    Refuted(&'a str),
    FigureDisagrees,
    NoSupport,
    SupportedLess {
        groups: u32,
    },
    NewerReportsDiffer {
        older: &'a str,
        newer: &'a str,
    },
    NewerFigure(&'a str),
    Contested {
        one_source: bool,
        supporting: &'a str,
        contradicting: &'a str,
    },
    /// One side is clear, the other is only a doubt.
    ContestedByDoubt {
        supporting: &'a str,
        doubting: &'a str,
    },
    /// The same passages support and contradict.
    BothAtOnce(&'a str),
    NeitherClear {
        supporting: &'a str,
        contradicting: &'a str,
    },
    SupportDoubted {
        groups: u32,
        sources: &'a str,
        doubting: &'a str,
    },
    /// Only a doubt.
    MayContradict(&'a str),
    SingleSource(&'a str),
    /// No outright side, but a lean.
    LeansTowards(&'a str),
    LeansAgainst(&'a str),
    SupportUnclear(&'a str),
    AgainstUnclear(&'a str),
    NotSearched,
    SourcesUnavailable,
    NothingFound,
    OffSubject(usize),
    NeitherSide,
    Follows(Option<&'a str>),
}
