//! The sentences a justification is made of.

/// One sentence. Sources are "domain \[N\]", listed; `groups` are independent ones.
#[derive(Debug, Clone, Copy)]
pub(super) enum Saying<'a> {
    Opinion,
    RelatedListed,
    SocialOnly,
    NotDecisive {
        one_source: bool,
    },
    Degraded,
    Rated {
        who: &'a str,
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
    NobodySupports,
    SupportedLess {
        groups: u32,
    },
    NewerSayOtherwise {
        older: &'a str,
        newer: &'a str,
    },
    NewerFigure(&'a str),
    Contested {
        one_source: bool,
        supporting: &'a str,
        contradicting: &'a str,
    },
    /// One side is clear, and the other only a doubt.
    ContestedByDoubt {
        supporting: &'a str,
        doubting: &'a str,
    },
    /// The same passages speak for and against.
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
    /// A doubt alone.
    MayContradict(&'a str),
    SingleSource(&'a str),
    /// Nothing says it outright, and what is found leans to it.
    LeansTowards(&'a str),
    LeansAgainst(&'a str),
    SupportUnclear(&'a str),
    AgainstUnclear(&'a str),
    NotSearched,
    NobodyCouldBeAsked,
    NothingFound,
    OffSubject(usize),
    NeitherSide,
    Follows(Option<&'a str>),
}
