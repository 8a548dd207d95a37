//! What visitors may do.

/// What a visitor may do. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Look at items, evidence, lists and providers.
    Read,
    /// Have claims checked, which may cost money.
    Check,
    /// Change things.
    Admin,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Read, Self::Check, Self::Admin];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Check => "check",
            Self::Admin => "admin",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}
