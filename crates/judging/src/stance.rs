//! The agreement rule: judges a passage by similarity if no NLI model reads the claim and the passage.
//!
//! A passage supports a claim if it shares nearly all its words, names and figures and denies nothing. It contradicts the
//! claim if a figure of the same event differs, or if it denies the same words. Everything else is neutral: a
//! paraphrase has other words, and similar words may say something else. Verdicts by this rule are always provisional.
//!
//! It never changes the model's probabilities. On 12,484 labelled pairs no family of rules raised the model's mean
//! macro-F1 by more than 0.002 (`docs/research/011-rule-ablation.md`).

use corroborate_domain::evidence::{MIN_SIDE_PROBABILITY, StanceProbabilities};

use super::agreement;
use super::coverage::best_sentence;
use super::names::{Names, in_order};
use super::numbers;
use super::profile::TextProfile;

/// Probability from which a passage takes a side ([`corroborate_domain::evidence::JudgedPassage::stance`]).
pub const MIN_SIDE: f64 = MIN_SIDE_PROBABILITY;

/// Maximum of a limited side, below [`MIN_SIDE`].
pub const MAX_UNDECIDED: f64 = 0.49;

/// Minimum weighted share of the claim's words in one sentence, for support and for a denial.
const MIN_SUPPORT_COVERAGE: f64 = 0.80;
const MIN_DENIAL_COVERAGE: f64 = 0.85;
/// The same with a differing figure, which is no word.
const MIN_FIGURE_COVERAGE: f64 = 0.62;

/// Limits of support; never 1, because the rule does not read meaning. Without one of the claim's words, possibly the
/// decisive one, support stays below a verdict's 0.70.
const MIN_SUPPORT: f64 = 0.6;
const MAX_PARTIAL_SUPPORT: f64 = 0.69;
const MAX_SUPPORT: f64 = 0.92;
const MIN_REFUTATION: f64 = 0.7;
const MAX_REFUTATION: f64 = 0.85;

/// Judges a passage. Below the agreement `min_agreement` (`ENRICHMENT_MIN_AGREEMENT`, 0–1) nothing supports.
pub fn agreement_stance(claim: &TextProfile, passage: &TextProfile, min_agreement: f64) -> StanceProbabilities {
    let names = Names::new(claim, passage);
    let Some((sentence, shared)) = best_sentence(claim, passage, &names) else {
        return StanceProbabilities::NEUTRAL;
    };
    let asks = sentence.question || claim.sentences.iter().any(|own| own.question);
    if claim.words.is_empty() || asks || names.found() < 1.0 || shared < MIN_FIGURE_COVERAGE {
        return StanceProbabilities::NEUTRAL;
    }
    let is_denied = sentence.denials % 2 != claim.negations % 2;
    let is_turned = !in_order(claim, passage);
    let check = numbers::compare_with(claim, passage, &names);
    if check.num_ok == Some(false) && !is_denied && !is_turned {
        return numbers::apply(refuted(shared, MIN_FIGURE_COVERAGE), &check);
    }
    let figures_found = numbers::all_found(claim, passage);
    let is_of_a_part = numbers::is_about_part(claim) && !numbers::is_about_part(passage);
    // Only a passage with that year contradicts "was not founded in 1950".
    if is_denied
        && shared >= MIN_DENIAL_COVERAGE
        && !is_turned
        && !is_of_a_part
        && (claim.negations == 0 || figures_found)
    {
        return refuted(shared, MIN_DENIAL_COVERAGE);
    }
    let agreed = agreement_within(claim, passage, shared, names.found());
    if is_denied
        || is_turned
        || check.num_ok == Some(false)
        || !figures_found
        || shared < MIN_SUPPORT_COVERAGE
        || agreed < min_agreement
    {
        return StanceProbabilities::NEUTRAL;
    }
    let strength = f64::midpoint(above(shared, MIN_SUPPORT_COVERAGE), above(agreed, min_agreement));
    let most = if shared < 1.0 { MAX_PARTIAL_SUPPORT } else { MAX_SUPPORT };
    let entail = (MIN_SUPPORT + (MAX_SUPPORT - MIN_SUPPORT) * strength).min(most);
    StanceProbabilities { entail, contradict: 0.03, neutral: (0.97 - entail).max(0.0) }
}

fn refuted(shared: f64, from: f64) -> StanceProbabilities {
    let contradict = MIN_REFUTATION + (MAX_REFUTATION - MIN_REFUTATION) * above(shared, from);
    StanceProbabilities { entail: 0.05, contradict, neutral: 0.95 - contradict }
}

fn above(figure: f64, floor: f64) -> f64 {
    if floor >= 1.0 { 1.0 } else { ((figure - floor) / (1.0 - floor)).clamp(0.0, 1.0) }
}

/// Agreement with the best sentence. The passage embedding blurs sentences, so the best one's words count if closer;
/// names count half.
fn agreement_within(claim: &TextProfile, passage: &TextProfile, shared: f64, names: f64) -> f64 {
    let near = agreement::cosine(claim, passage).max(0.9 * shared);
    if claim.entities.is_empty() { near } else { f64::midpoint(near, names) }
}

#[cfg(test)]
mod tests {
    use corroborate_domain::verdict::Stance;
    use corroborate_language::hashed::HashedEmbedder;
    use proptest::prelude::*;

    use super::*;

    fn profile(text: &str) -> TextProfile {
        TextProfile::new(text, None, None, &[]).with_embedding(HashedEmbedder::default().embed_one(text))
    }

    fn judged(claim: &str, passage: &str) -> StanceProbabilities {
        agreement_stance(&profile(claim), &profile(passage), 0.65)
    }

    fn stance(claim: &str, passage: &str) -> Stance {
        let p = judged(claim, passage);
        if p.contradict >= 0.6 {
            Stance::Contradicts
        } else if p.entail >= 0.6 {
            Stance::Supports
        } else {
            Stance::Neutral
        }
    }

    #[test]
    fn near_copies_support_and_plain_denials_and_other_figures_contradict() {
        use Stance::{Contradicts, Neutral, Supports};
        for (claim, passage, expected) in [
            (
                "The mayor of Odesa resigned on Monday.",
                "The mayor of Odesa resigned on Monday, the council said.",
                Supports,
            ),
            ("Мэр Одессы подал в отставку.", "Как сообщил горсовет, мэр Одессы подал в отставку.", Supports),
            ("The mayor of Odesa resigned.", "The mayor of Odesa has not resigned.", Contradicts),
            ("The mayor of Odesa has not resigned.", "The mayor of Odesa has not resigned.", Supports),
            ("Мэр Одессы подал в отставку.", "Мэр Одессы не подал в отставку.", Contradicts),
            ("Vaccines cause autism.", "There is no evidence that vaccines cause autism.", Contradicts),
            ("The fire in Odesa killed 37 people.", "The fire in Odesa killed 37 people, doctors said.", Supports),
            ("The fire in Odesa killed 37 people.", "The fire in Odesa killed 12 people, doctors said.", Contradicts),
            ("The fire in Odesa killed 37 people.", "The fire in Odesa killed people.", Neutral),
            ("The mayor of Odesa resigned.", "Has the mayor of Odesa resigned?", Neutral),
            ("The mayor of Odesa resigned.", "The mayor of Lviv resigned.", Neutral),
            ("Russia invaded Ukraine.", "Ukraine invaded Russia.", Neutral),
            ("Russia invaded Ukraine.", "Russia invaded Ukraine in February.", Supports),
            ("Exports of grain increased.", "Exports of grain decreased.", Neutral),
            ("Some vaccines are not safe.", "Vaccines are safe.", Neutral),
            ("The mayor of Odesa resigned.", "The council denied that the mayor of Odesa resigned.", Contradicts),
            ("The mayor of Odesa resigned.", "It is a hoax that the mayor of Odesa resigned.", Contradicts),
            ("The mayor of Odesa resigned.", "The mayor of Odesa opened a bridge.", Neutral),
            ("The mayor of Odesa resigned.", "", Neutral),
            ("", "The mayor of Odesa resigned.", Neutral),
        ] {
            assert_eq!(stance(claim, passage), expected, "{claim} / {passage}: {:?}", judged(claim, passage));
        }
    }

    #[test]
    fn a_higher_minimum_supports_less() {
        let (claim, passage) = (
            profile("The mayor of Odesa resigned."),
            profile("The mayor of Odesa resigned after a vote, reports say."),
        );
        assert!(agreement_stance(&claim, &passage, 0.65).entail >= 0.6);
        assert!(agreement_stance(&claim, &passage, 0.99).entail < 0.6);
    }

    proptest! {
        #[test]
        fn probabilities_sum_to_one(claim in "\\PC{0,60}", passage in "\\PC{0,120}", bar in 0.0..=1.0f64) {
            let p = agreement_stance(&profile(&claim), &profile(&passage), bar);
            for figure in [p.entail, p.contradict, p.neutral] {
                prop_assert!((0.0..=1.0).contains(&figure), "{:?}", p);
            }
            prop_assert!((p.entail + p.contradict + p.neutral - 1.0).abs() < 1e-9, "{:?}", p);
        }

        #[test]
        fn a_denied_copy_never_supports(words in prop::collection::vec("[a-z]{4,9}", 3..7), at in 1usize..3) {
            // "Not only" denies nothing.
            prop_assume!(!words.iter().any(|word| matches!(word.as_str(), "only" | "just" | "merely" | "simply")));
            let plain = words.join(" ");
            let mut denied = words.clone();
            denied.insert(at, "not".to_owned());
            let p = judged(&plain, &denied.join(" "));
            prop_assert!(p.entail < 0.6, "{plain} / {}: {:?}", denied.join(" "), p);
        }
    }
}
