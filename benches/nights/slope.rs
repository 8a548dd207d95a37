//! Whether a figure that is looked at again and again stays where it is.

/// Figures with the seconds at which they were seen.
#[derive(Debug, Default)]
pub(crate) struct Series(Vec<(f64, f64)>);

impl Series {
    pub(crate) fn push(&mut self, at: f64, figure: f64) {
        self.0.push((at, figure));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().map(|(_, figure)| figure).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// From the first to the last look, seconds.
    fn span(&self) -> f64 {
        self.0.last().map_or(0.0, |last| last.0) - self.0.first().map_or(0.0, |first| first.0)
    }

    /// The least-squares slope, a second; 0 of fewer than two looks.
    fn slope(&self) -> f64 {
        let count = self.0.len().max(1) as f64;
        let middle = self.0.iter().map(|(at, _)| at).sum::<f64>() / count;
        let mean = self.mean();
        let (mut above, mut below) = (0.0, 0.0);
        for (at, figure) in &self.0 {
            above += (at - middle) * (figure - mean);
            below += (at - middle).powi(2);
        }
        if below > 0.0 { above / below } else { 0.0 }
    }

    /// The slope an hour.
    pub(crate) fn per_hour(&self) -> f64 {
        self.slope() * 3600.0
    }

    /// What the slope amounts to over the time that was looked at.
    pub(crate) fn growth(&self) -> f64 {
        self.slope() * self.span()
    }
}
