//! Finds whether a passage contains the claim's figures and dates at all.
//!
//! [`super::compare`] needs figures of the same thing. This coarser result decides nothing; it shifts a model's
//! probabilities by an effect measured on labelled pairs.

use crate::profile::TextProfile;
use corroborate_language::numbers::{Quantity, Unit};

use super::{agree, dates_meet, is_a_figure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    Unstated,
    All,
    Some,
    /// None, but another of the unit, or another date.
    Other,
    /// None, and no other.
    Absent,
}

impl Standing {
    /// As in `model.toml` and benchmark predictions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unstated => "unstated",
            Self::All => "all",
            Self::Some => "some",
            Self::Other => "other",
            Self::Absent => "absent",
        }
    }
}

/// Compares presence. Ignores numbers in names ("COVID-19"), and "on Monday", because nothing was learnt from relative
/// dates. Years are dates.
pub fn standing(claim: &TextProfile, passage: &TextProfile) -> Standing {
    let figures = claim.quantities.iter().filter(|figure| is_a_figure(figure) && figure.unit != Unit::Identifier);
    // Presence, and a possible replacement.
    let of_figures = figures.map(|figure| {
        let is_alike = |theirs: &&Quantity| theirs.unit == figure.unit && is_a_figure(theirs);
        let mut alike = passage.quantities.iter().filter(is_alike).peekable();
        let another = alike.peek().is_some();
        (alike.any(|theirs| agree(figure, theirs) == Some(true)), another)
    });
    let another = passage.dates.iter().any(|theirs| !theirs.is_relative);
    let absolute = claim.dates.iter().filter(|date| !date.is_relative);
    let of_dates = absolute.map(|date| (passage.dates.iter().any(|theirs| dates_meet(date, theirs)), another));
    let stated: Vec<(bool, bool)> = of_figures.chain(of_dates).collect();
    let there = stated.iter().filter(|(there, _)| *there).count();
    match there {
        _ if stated.is_empty() => Standing::Unstated,
        all if all == stated.len() => Standing::All,
        0 if stated.iter().any(|(_, another)| *another) => Standing::Other,
        0 => Standing::Absent,
        _ => Standing::Some,
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use proptest::prelude::*;

    use super::*;

    fn told(claim: &str, passage: &str) -> Standing {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        standing(&profile(claim), &profile(passage))
    }

    #[test]
    fn figures_stand_there_or_do_not() {
        let passage = "The flood of 2013 took 37 lives and cost 12 million euros.";
        let rows = [
            ("The flood took many lives.", Standing::Unstated),
            ("COVID-19 spread in the camps.", Standing::Unstated),
            ("37 people died in the flood.", Standing::All),
            ("In 2013 the flood cost €12 million.", Standing::All),
            ("The flood of 2013 took 50 lives.", Standing::Some),
            ("The flood of 2015 took many lives.", Standing::Other),
            ("The flood cost 90 million euros.", Standing::Other),
            ("Water stood 4 metres high.", Standing::Absent),
        ];
        for (claim, expected) in rows {
            assert_eq!(told(claim, passage), expected, "{claim}");
        }
        assert_eq!(told("The flood of 2013 took many lives.", "The flood took many lives."), Standing::Absent);
    }

    #[test]
    fn other_languages_have_figures_and_dates_too() {
        let profile = |text: &str, language| TextProfile::new(text, Some(language), None, &[]);
        let rows = [
            ("Погибли 37 человек.", "В Одессе погибли 37 мирных жителей.", "ru", Standing::All),
            ("3 мая 2023 года погибли люди.", "4 мая 2023 года погибли люди.", "ru", Standing::Other),
            ("Загинули 37 людей.", "Загинули 50 людей.", "uk", Standing::Other),
            ("Морські порти закрили у 2022 році.", "Порти закрили.", "uk", Standing::Absent),
        ];
        for (claim, passage, language, expected) in rows {
            assert_eq!(standing(&profile(claim, language), &profile(passage, language)), expected, "{claim}");
        }
    }

    #[test]
    fn what_is_told_from_the_moment_of_the_text_is_left_out() {
        let now = chrono::Utc.with_ymd_and_hms(2026, 11, 20, 0, 0, 0).unwrap();
        let claim = TextProfile::new("The mayor said on Monday that the bridge was safe.", Some("en"), Some(now), &[]);
        let passage = TextProfile::new("The bridge is safe, the mayor said in 2025.", Some("en"), Some(now), &[]);
        assert!(!claim.dates.is_empty(), "it has a date");
        assert_eq!(standing(&claim, &passage), Standing::Unstated);
    }

    proptest! {
        #[test]
        fn a_text_has_its_own_figures(count in 2u32..5_000, year in 1900u32..2030) {
            let text = format!("In {year} the flood took {count} houses.");
            prop_assert_eq!(told(&text, &text), Standing::All);
            let other = format!("In {} the flood took {} houses.", year + 1, count * 2);
            prop_assert_eq!(told(&text, &other), Standing::Other);
        }
    }
}
