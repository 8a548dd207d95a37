//! What calls cost: prices, token counts and an item's limits.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::LlmError;

/// Tokens for a reservation; more than any question has.
const LONGEST_QUESTION: u64 = 16_000;

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
        self.of(Usage { read: LONGEST_QUESTION, written: u64::from(max_tokens), searches: u64::from(searches) })
    }

    pub(super) fn of(&self, usage: Usage) -> f64 {
        let million = |tokens: u64, usd: f64| tokens as f64 / 1e6 * usd;
        self.call_usd
            + million(usage.read, self.input_usd_per_million)
            + million(usage.written, self.output_usd_per_million)
            + usage.searches as f64 * self.search_usd
    }
}

/// Estimates tokens: 4 characters each, 2.5 for Cyrillic, Greek and similar, 1 for Chinese.
pub(super) fn tokens(text: &str) -> u64 {
    let hundredths: u64 = text
        .chars()
        .map(|letter| match u32::from(letter) {
            0..0x370 => 25,
            0x370..0x2e80 => 40,
            _ => 100,
        })
        .sum();
    hundredths.div_ceil(100)
}

/// An item's limits for the language model, and its use of them.
#[derive(Debug)]
pub struct ItemSpend {
    max_calls: u32,
    max_usd: f64,
    spent: Mutex<Spending>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spending {
    pub calls: u32,
    pub tokens_read: u64,
    pub tokens_written: u64,
    pub usd: f64,
}

impl ItemSpend {
    pub fn new(max_calls: u32, max_usd: f64) -> Self {
        Self { max_calls, max_usd, spent: Mutex::default() }
    }

    /// Reserves a call of at most `usd`, or fails.
    pub fn take(&self, usd: f64) -> Result<(), LlmError> {
        let mut spent = self.lock();
        if spent.calls >= self.max_calls || (usd > 0.0 && spent.usd + usd > self.max_usd) {
            return Err(LlmError::ItemLimit);
        }
        spent.calls += 1;
        spent.usd += usd;
        Ok(())
    }

    /// Replaces a reservation by the actual values. `calls`: requests sent.
    pub fn settle(&self, taken_usd: f64, really: Spending) {
        let mut spent = self.lock();
        spent.calls = (spent.calls + really.calls).saturating_sub(1);
        spent.usd = (spent.usd + really.usd - taken_usd).max(0.0);
        spent.tokens_read += really.tokens_read;
        spent.tokens_written += really.tokens_written;
    }

    /// Adds the cost of translations, which have their own call limit.
    pub fn charge(&self, usd: f64) {
        self.lock().usd += usd;
    }

    /// Whether the money is used up; never for free calls.
    pub fn is_used_up(&self) -> bool {
        let spent = self.lock();
        spent.usd > 0.0 && spent.usd >= self.max_usd
    }

    pub fn spent(&self) -> Spending {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Spending> {
        // Sums: a panic cannot leave them inconsistent.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_spends_no_more_than_it_may_and_gets_back_what_it_did_not_use() {
        let spend = ItemSpend::new(2, 0.10);
        assert_eq!(spend.take(0.08), Ok(()));
        spend.settle(0.08, Spending { calls: 1, tokens_read: 100, tokens_written: 20, usd: 0.01 });
        assert_eq!(spend.take(0.08), Ok(()));
        assert_eq!(spend.take(0.001), Err(LlmError::ItemLimit), "two calls are all");
        spend.settle(0.08, Spending::default());
        assert_eq!(spend.spent().calls, 1, "what never went out is no call");
        assert_eq!(spend.take(0.2), Err(LlmError::ItemLimit), "dearer than what is left");
    }

    #[test]
    fn a_call_costs_its_tokens_and_its_searches() {
        let prices =
            Prices { call_usd: 0.001, input_usd_per_million: 2.0, output_usd_per_million: 8.0, search_usd: 0.01 };
        let usd = prices.of(Usage { read: 1_000, written: 500, searches: 2 });
        assert!((usd - 0.027).abs() < 1e-12, "{usd}");
        assert!(prices.reserve(500, false) < prices.reserve(500, true));
        assert!(prices.any() && !Prices::default().any());
    }

    #[test]
    fn scripts_have_other_tokens() {
        assert_eq!(["", "word", "дождь", "北京", "a"].map(tokens), [0, 1, 2, 2, 1]);
    }
}
