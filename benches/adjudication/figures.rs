//! What came of the claims, beside what people said.

use corroborate::domain::result::ClaimResult;
use corroborate::domain::verdict::Verdict;

const OPEN: &str = "not_enough_evidence";

/// Counts over claims.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    rows: usize,
    right: usize,
    sided_by_people: usize,
    of_them_taken: usize,
    taken: usize,
    taken_right: usize,
    decisive: usize,
    decisive_right: usize,
}

impl Figures {
    pub(crate) fn count(&mut self, label: &str, result: Option<&ClaimResult>) {
        let said = match result.map_or(Verdict::NotVerifiable, |result| result.verdict) {
            Verdict::Supported => "supported",
            Verdict::Refuted | Verdict::Outdated => "refuted",
            Verdict::Contested | Verdict::Misleading => "contested",
            Verdict::NotEnoughEvidence | Verdict::NotVerifiable => OPEN,
        };
        let is_right = usize::from(said == label);
        self.rows += 1;
        self.right += is_right;
        self.sided_by_people += usize::from(label != OPEN);
        if said != OPEN {
            self.taken += 1;
            self.of_them_taken += usize::from(label != OPEN);
            self.taken_right += is_right;
        }
        if result.is_some_and(|result| result.decisive) {
            self.decisive += 1;
            self.decisive_right += is_right;
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.right += other.right;
        self.sided_by_people += other.sided_by_people;
        self.of_them_taken += other.of_them_taken;
        self.taken += other.taken;
        self.taken_right += other.taken_right;
        self.decisive += other.decisive;
        self.decisive_right += other.decisive_right;
    }

    pub(crate) fn head() -> String {
        format!(
            "{:12} {:8} {:>5} {:>9} {:>22} {:>20} {:>16}",
            "model", "set", "rows", "accuracy", "people's sides taken", "sides taken, right", "decisive, right"
        )
    }

    pub(crate) fn line(&self, mode: &str, set: &str) -> String {
        let share = |part: usize, of: usize| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        format!(
            "{mode:12} {set:8} {:>5} {:>9.3} {:>13} {:>8.2} {:>11} {:>8.2} {:>7} {:>8}",
            self.rows,
            share(self.right, self.rows),
            format!("{}/{}", self.of_them_taken, self.sided_by_people),
            share(self.of_them_taken, self.sided_by_people),
            format!("{}/{}", self.taken_right, self.taken),
            share(self.taken_right, self.taken),
            self.decisive,
            self.decisive_right,
        )
    }
}
