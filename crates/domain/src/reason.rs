//! Reasons for the re-evaluation of a stored item.

use crate::words;

words! {
    /// Why a stored item is re-evaluated, in messages and the history.
    Reason {
        /// Settings that affect verdicts changed.
        Settings => "settings",
        /// The domain of one of its passages was added to a list, changed there, or removed.
        DomainLists => "domain_lists",
        /// A model changed.
        Model => "model",
        /// A page was read again: the page or a passage that the verdict is based on no longer exists.
        EvidenceCorrected => "evidence_corrected",
        /// A fact-checker later reviewed a similar claim.
        FactCheck => "fact_check",
        /// A user requested it.
        Requested => "requested",
    }
}

impl Reason {
    /// True if providers, pages and models must be queried. False if the stored data suffices.
    pub const fn asks(self) -> bool {
        match self {
            Self::Settings | Self::DomainLists => false,
            Self::Model | Self::EvidenceCorrected | Self::FactCheck | Self::Requested => true,
        }
    }
}
