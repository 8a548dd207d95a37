//! Freshness, specificity, quality and rank of one passage.

use chrono::{DateTime, Datelike, Utc};
use corroborate_language::lexicon::Words;

use super::numbers;
use super::profile::TextProfile;
use super::scoring::{HalfLives, QualityShares};

/// Freshness without a date: neither fresh nor stale (`docs/scoring.md`).
const UNDATED_FRESHNESS: f64 = 0.5;

/// Minimum age in a claim about history.
const MIN_HISTORY_YEARS: i32 = 10;

/// Word beginnings of breaking news, in English, Russian, Ukrainian and Portuguese.
static BREAKING_NEWS_WORDS: Words = Words::of("quality.breaking");

/// Word beginnings of science, medicine and history.
static LASTING_TOPIC_WORDS: Words = Words::of("quality.lasting");

/// 0.5^(age / half-life) with age = max(0, reference − published), in (0, 1]. 0.5 without a date or with one after
/// `evaluated_at`.
pub fn freshness(
    reference: DateTime<Utc>,
    published: Option<DateTime<Utc>>,
    evaluated_at: DateTime<Utc>,
    half_life_days: f64,
) -> f64 {
    let Some(published) = published.filter(|date| *date <= evaluated_at) else {
        return UNDATED_FRESHNESS;
    };
    let days = reference.signed_duration_since(published).num_seconds().max(0) as f64 / 86_400.0;
    // A zero half-life would give 0/0 for today's page.
    let half_life = half_life_days.max(f64::EPSILON);
    // Never 0: a century-old page is not worthless.
    0.5f64.powf(days / half_life).max(f64::MIN_POSITIVE)
}

/// Days for breaking news, years for science and history, else a year.
pub fn half_life_days(claim: &TextProfile, lives: &HalfLives) -> f64 {
    let mentions =
        |words: &Words| claim.sentences.iter().flat_map(|sentence| &sentence.words).any(|word| words.has(&word.text));
    let oldest = numbers::years(claim).min();
    let current = claim.reference.map(|date| date.year());
    let historic = match (oldest, current) {
        (Some(year), Some(now)) => now - year >= MIN_HISTORY_YEARS,
        // Without a reference date only years before 2000 are surely history.
        (Some(year), None) => year < 2000,
        (None, _) => false,
    };
    if historic {
        lives.lasting
    } else if mentions(&BREAKING_NEWS_WORDS) {
        lives.breaking
    } else if mentions(&LASTING_TOPIC_WORDS) {
        lives.lasting
    } else {
        lives.usual
    }
}

/// A figure identifies a claim best, then a name.
const NUMBER_WEIGHT: f64 = 3.0;
const DATE_WEIGHT: f64 = 2.0;
const NAME_WEIGHT: f64 = 2.0;

/// Weighted share of the claim's numbers, dates, names and key words in the passage, 0–1.
pub fn specificity(claim: &TextProfile, passage: &TextProfile) -> f64 {
    let (mut found, mut all) = (0.0, 0.0);
    let mut count = |weight: f64, present: bool| {
        all += weight;
        if present {
            found += weight;
        }
    };
    for quantity in &claim.quantities {
        count(NUMBER_WEIGHT, passage.quantities.iter().any(|other| numbers::agree(quantity, other) == Some(true)));
    }
    for date in &claim.dates {
        count(DATE_WEIGHT, passage.dates.iter().any(|other| numbers::dates_meet(date, other)));
    }
    for name in &claim.entities {
        count(NAME_WEIGHT, crate::names::has_name(passage, name));
    }
    for word in &claim.words {
        count(word.weight, passage.has_stem(&word.stem));
    }
    if all > 0.0 { found / all } else { 0.0 }
}

pub fn quality(shares: &QualityShares, cred: f64, fresh: f64, rel: f64, spec: f64) -> f64 {
    let QualityShares { credibility, freshness, relevance, specificity } = shares;
    (credibility * cred + freshness * fresh + relevance * rel + specificity * spec).clamp(0.0, 1.0)
}

/// Effect of credibility, at most ±0.15, so that it never replaces relevance (`docs/scoring.md`, rank).
const CREDIBILITY_EFFECT: f64 = 0.3;

/// Bonus per earlier use and its maximum, which keeps old evidence below better answers (`docs/scoring.md`, rank).
const ACCESS_BOOST: f64 = 0.02;
const MAX_ACCESS_BOOST: f64 = 0.1;

/// rel + 0.3·(cred − 0.5), plus the use bonus for stored evidence. Higher is better.
pub fn rank(rel: f64, cred: f64, access_count: u32, own: bool) -> f64 {
    let boost = if own { (ACCESS_BOOST * f64::from(access_count)).min(MAX_ACCESS_BOOST) } else { 0.0 };
    rel + CREDIBILITY_EFFECT * (cred - 0.5) + boost
}

#[cfg(test)]
mod tests {
    use chrono::{TimeDelta, TimeZone};
    use proptest::prelude::*;

    use super::*;

    fn day(days: i64) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap() + TimeDelta::days(days)
    }

    #[test]
    fn freshness_halves_with_each_half_life() {
        let rows = [
            (0, Some(0), 1.0),
            (365, Some(0), 0.5),
            (730, Some(0), 0.25),
            (0, Some(5), 1.0),
            (0, None, 0.5),
            (0, Some(900), 0.5),
        ];
        for (reference, published, expected) in rows {
            let found = freshness(day(reference), published.map(day), day(800), 365.0);
            assert!((found - expected).abs() < 1e-9, "{reference} {published:?}: {found}");
        }
    }

    #[test]
    fn the_half_life_follows_the_topic() {
        let cases = [
            ("Missiles hit the port overnight.", 7.0),
            ("Сегодня в Киеве прогремел взрыв.", 7.0),
            ("The treaty was signed in 1648.", 3650.0),
            ("The virus spreads through the air.", 3650.0),
            ("The minister resigned.", 365.0),
        ];
        for (text, expected) in cases {
            let found = half_life_days(&TextProfile::new(text, None, Some(day(0)), &[]), &HalfLives::default());
            assert!((found - expected).abs() < 1e-9, "{text}: {found}");
        }
    }

    #[test]
    fn specificity_is_the_share_that_is_found() {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        let claim = profile("Airbus sold 340 aircraft");
        assert!((specificity(&claim, &claim) - 1.0).abs() < 1e-9);
        let without_number = specificity(&claim, &profile("Airbus sold aircraft"));
        let number_only = specificity(&claim, &profile("340 aircraft"));
        assert!(without_number > 0.3 && without_number < 0.9, "{without_number}");
        assert!(number_only > 0.3 && number_only < 0.9, "{number_only}");
        assert!(specificity(&claim, &profile("Rain fell.")).abs() < 1e-12);
        assert!(specificity(&profile(""), &claim).abs() < 1e-12);
    }

    #[test]
    fn quality_and_rank_are_the_stated_sums() {
        assert!((quality(&QualityShares::default(), 0.9, 0.5, 0.8, 0.6) - 0.715).abs() < 1e-9);
        assert!((rank(0.8, 0.9, 0, false) - 0.92).abs() < 1e-9);
        assert!((rank(0.8, 0.5, 3, true) - 0.86).abs() < 1e-9);
        assert!((rank(0.8, 0.5, 100, true) - 0.9).abs() < 1e-9);
        assert!((rank(0.8, 0.5, 100, false) - 0.8).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn figures_stay_in_range_and_never_rise_with_age(
            age in 0i64..40_000, more in 0i64..40_000, half_life in 0.1..4000.0f64,
            cred in 0.0..=1.0f64, rel in 0.0..=1.0f64, spec in 0.0..=1.0f64,
        ) {
            let at = |days: i64| freshness(day(0), Some(day(-days)), day(0), half_life);
            prop_assert!(at(age) > 0.0 && at(age) <= 1.0);
            prop_assert!(at(age + more) <= at(age));
            let shares = QualityShares::default();
            let found = quality(&shares, cred, at(age), rel, spec);
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert!(quality(&shares, cred, at(age), (rel + 0.1).min(1.0), spec) >= found);
        }
    }
}
