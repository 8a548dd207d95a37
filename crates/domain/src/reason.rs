//! Why a stored item is judged again.

use crate::words;

words! {
    /// Why a stored item is judged again, as messages and the history have it.
    Reason {
        /// The numbers that verdicts follow from are others.
        Settings => "settings",
        /// A domain that one of its passages comes from was put on a list, changed there, or taken off.
        DomainLists => "domain_lists",
        /// Another model is at work.
        Model => "model",
        /// A page that bears its verdict is no longer kept as it was read.
        EvidenceExpired => "evidence_expired",
        /// A page was read again, and a passage that bears its verdict is no longer there, or the whole page is gone.
        EvidenceCorrected => "evidence_corrected",
        /// A fact-checker reviewed a claim like one of its own after it was judged.
        FactCheck => "fact_check",
    }
}

impl Reason {
    /// True where the answer needs a whole new run, in which providers, pages and models are asked; false where it follows from
    /// what is stored.
    pub const fn asks(self) -> bool {
        match self {
            Self::Settings | Self::DomainLists => false,
            Self::Model | Self::EvidenceExpired | Self::EvidenceCorrected | Self::FactCheck => true,
        }
    }
}
