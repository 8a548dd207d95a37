//! Scopes of visitors.
//!
//! Stored tokens and sessions have one; routes require one.

/// The rights of a visitor. Each scope includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Read items, evidence, lists and providers.
    Read,
    /// Check claims, which may cost money.
    Check,
    /// Change data and settings.
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
