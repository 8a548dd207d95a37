//! What is told of an item to whoever listens.

use crate::words;

words! {
    /// What a message tells: the routing key at the broker, the `type` of a webhook.
    Event {
        /// The whole result of an item.
        ItemEnriched => "item.enriched",
        /// A claim that the evidence firmly bears out.
        ClaimVerified => "claim.verified",
        /// A claim that the evidence firmly speaks against.
        ClaimContradicted => "claim.contradicted",
        /// A claim that was right and no longer is.
        ClaimOutdated => "claim.outdated",
        /// A claim with a side that is not firm, or with evidence on both.
        ClaimContested => "claim.contested",
        /// A claim without a side.
        ClaimUnverifiable => "claim.unverifiable",
        /// A stored item that was judged again, with at least one verdict that changed.
        ItemUpdated => "item.updated",
        /// A claim whose verdict changed when its item was judged again, with the old and the new one.
        ClaimChanged => "claim.changed",
        /// A claim with what it should have said.
        CorrectionGenerated => "correction.generated",
    }
}
