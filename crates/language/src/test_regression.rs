//! Logistic regression for the tests that train tables again.

/// Rows with a feature, and its value.
pub(crate) type Column = Vec<(usize, f64)>;

/// Fits by Newton steps, one weight at a time. The first, the intercept, has no ridge.
pub(crate) fn fit(columns: &[&Column], labels: &[bool], ridge: f64) -> Vec<f64> {
    let mut weights = vec![0.0; columns.len()];
    let mut sums = vec![0.0; labels.len()];
    for _sweep in 0..15 {
        for (at, column) in columns.iter().enumerate() {
            let ridge = if at == 0 { 1e-3 } else { ridge };
            let (mut slope, mut bend) = (ridge * weights[at], ridge);
            for &(row, value) in *column {
                let probability = 1.0 / (1.0 + f64::exp(-sums[row]));
                slope += value * (probability - f64::from(u8::from(labels[row])));
                bend += value * value * probability * (1.0 - probability);
            }
            let step = -slope / bend;
            weights[at] += step;
            for &(row, value) in *column {
                sums[row] += step * value;
            }
        }
    }
    weights
}
