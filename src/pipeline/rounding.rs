//! Rounding of stored and shown figures.

/// Rounds to four digits; the figures are not more precise.
pub(super) fn round(value: f64) -> f64 {
    // Adding zero turns -0.0 into 0.0.
    (value * 10_000.0).round() / 10_000.0 + 0.0
}
