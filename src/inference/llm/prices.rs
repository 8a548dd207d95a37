//! The cost of a call, by counted or estimated tokens.
//!
//! Also estimates and reservations before it.

use super::Purpose;

/// Tokens for a reservation; more than any question has.
const LONGEST_QUESTION: u32 = 16_000;

/// US dollars, as configured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Per call, in addition to tokens.
    pub call_usd: f64,
    pub input_usd_per_million: f64,
    pub output_usd_per_million: f64,
    /// Per web search, in addition to tokens.
    pub search_usd: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) searches: u64,
}

impl Prices {
    pub fn any(&self) -> bool {
        [self.call_usd, self.input_usd_per_million, self.output_usd_per_million, self.search_usd]
            .iter()
            .any(|usd| *usd > 0.0)
    }

    /// Returns the highest cost of an unknown call, for a reservation.
    pub fn reserve(&self, max_tokens: u32, searches: bool) -> f64 {
        let usage =
            Usage { read: u64::from(LONGEST_QUESTION), written: u64::from(max_tokens), searches: u64::from(searches) };
        self.of(usage)
    }

    pub(super) fn of(&self, usage: Usage) -> f64 {
        let million = |tokens: u64, usd: f64| tokens as f64 / 1e6 * usd;
        self.call_usd
            + million(usage.read, self.input_usd_per_million)
            + million(usage.written, self.output_usd_per_million)
            + usage.searches as f64 * self.search_usd
    }

    /// Returns the highest expected cost of a question.
    pub(super) fn estimate(&self, purpose: Purpose, read: u64, max_tokens: u32) -> f64 {
        let searches = u64::from(purpose == Purpose::Search);
        self.of(Usage { read, written: u64::from(max_tokens), searches })
    }
}

/// Estimates tokens: 4 characters each, 2.5 for Cyrillic, Greek and similar, 1 for Chinese.
pub(super) fn tokens(text: &str) -> u64 {
    let tenths: u64 = text
        .chars()
        .map(|letter| match u32::from(letter) {
            0..0x370 => 25,
            0x370..0x2e80 => 40,
            _ => 100,
        })
        .sum();
    tenths.div_ceil(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_its_tokens_and_its_searches() {
        let prices =
            Prices { call_usd: 0.001, input_usd_per_million: 2.0, output_usd_per_million: 8.0, search_usd: 0.01 };
        let usd = prices.of(Usage { read: 1_000, written: 500, searches: 2 });
        assert!((usd - 0.027).abs() < 1e-12, "{usd}");
        let estimate = prices.estimate(Purpose::Claims, 1_000, 500);
        assert!(estimate < prices.estimate(Purpose::Search, 1_000, 500) && estimate < prices.reserve(500, false));
        assert!(prices.any() && !Prices::default().any());
    }

    #[test]
    fn scripts_have_other_tokens() {
        assert_eq!(["", "word", "дождь", "北京", "a"].map(tokens), [0, 1, 2, 2, 1]);
    }
}
