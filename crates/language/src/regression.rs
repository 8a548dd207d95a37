//! Logistic regression for the tests that learn the shipped tables again.

/// A sign by the rows that have it, each with what it counts there.
pub(crate) type Column = Vec<(usize, f64)>;

/// Newton's steps, one weight at a time: the first weight is for every row, and only it is free of the ridge.
pub(crate) fn fit(columns: &[&Column], labels: &[bool], ridge: f64) -> Vec<f64> {
    let mut weights = vec![0.0; columns.len()];
    let mut sums = vec![0.0; labels.len()];
    for _sweep in 0..15 {
        for (at, column) in columns.iter().enumerate() {
            let ridge = if at == 0 { 1e-3 } else { ridge };
            let (mut slope, mut bend) = (ridge * weights[at], ridge);
            for &(row, value) in *column {
                let said = 1.0 / (1.0 + f64::exp(-sums[row]));
                slope += value * (said - f64::from(u8::from(labels[row])));
                bend += value * value * said * (1.0 - said);
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
