//! Types of the messages about an item's results.

use crate::words;

words! {
    /// The type of a message: the routing key at the broker and the `type` of a webhook.
    Event {
        /// The complete result of an item.
        ItemEnriched => "item.enriched",
        /// A claim with the conclusive verdict `supported`.
        ClaimVerified => "claim.verified",
        /// A claim with the conclusive verdict `refuted`.
        ClaimContradicted => "claim.contradicted",
        /// A claim with the conclusive verdict `outdated`.
        ClaimOutdated => "claim.outdated",
        /// A claim that is contested, misleading, or has a provisional verdict.
        ClaimContested => "claim.contested",
        /// A claim without a side.
        ClaimUnverifiable => "claim.unverifiable",
        /// A re-evaluated item with at least one changed verdict.
        ItemUpdated => "item.updated",
        /// A claim whose verdict changed in a re-evaluation, with the old and the new verdict.
        ClaimChanged => "claim.changed",
        /// A claim with a proposed correction.
        CorrectionGenerated => "correction.generated",
    }
}
