//! Figures as they are stored and shown.

/// Four digits: more would suggest a precision nobody has.
pub(super) fn round(value: f64) -> f64 {
    // Adding zero turns the negative zero that rounding leaves into a plain one.
    (value * 10_000.0).round() / 10_000.0 + 0.0
}
