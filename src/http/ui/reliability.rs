//! How often answers with the same stated confidence were right.
//!
//! Measured on held-out labelled claims; other claims may differ.

const TABLE: &str = include_str!("reliability.tsv");

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReliabilityBin {
    /// Stated confidence, percent.
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) answers: u32,
    /// Percent.
    pub(super) mean: u32,
    pub(super) right: u32,
}

/// The table, from low to high confidence.
pub(super) fn bins() -> Vec<ReliabilityBin> {
    let line = |line: &str| {
        let mut fields = line.split('\t').map(|field| field.parse::<u32>().ok());
        let mut next = || fields.next().flatten();
        Some(ReliabilityBin { from: next()?, to: next()?, answers: next()?, mean: next()?, right: next()? })
    };
    TABLE.lines().filter(|text| !text.starts_with('#')).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let bins = bins();
        assert_eq!(bins.len(), lines);
        assert!(lines > 2);
        assert!(bins.iter().all(|one| one.from < one.to && one.to <= 100 && one.right <= 100 && one.answers > 0));
    }
}
