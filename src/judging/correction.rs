//! A proposed mend of a claim that does not hold as it stands: the number that differs, the name that differs, or the
//! sentence that says otherwise. Everything put in comes from a cited passage or a review's title.

use crate::domain::evidence::{JudgedPassage, MatchedReview};
use crate::domain::result::Correction;
use crate::domain::verdict::{Apply, CorrectionType, Stance, Verdict};
use crate::language::sentences;

use super::fact_checks::{self, ReviewSays};
use super::numbers::NumberCheck;
use super::profile::TextProfile;
use super::stance;
use super::verdicts::Assessment;

/// Confidence above which a correction may be applied without a person (SCORING, correction).
const AUTO_ABOVE: f64 = 0.8;

/// Longest sentence worth proposing, characters: more is a paragraph that a person has to read anyway.
const LONGEST: usize = 400;

/// The correction an assessment calls for: refuted → replace, outdated → update, contested, misleading and what is not
/// decisive → clarify (a number that differs is replaced all the same, since it says exactly what). `checks` are
/// parallel to `passages`; passages under the relevance `floor` count for nothing. `None` where nothing contradicts, or nothing found says how the claim should read.
pub fn correct(
    claim: &str,
    assessment: &Assessment,
    passages: &[JudgedPassage],
    checks: &[NumberCheck],
    reviews: &[MatchedReview],
    floor: f64,
) -> Option<Correction> {
    let kind = kind_of(assessment)?;
    let against = contradicting(assessment, passages);
    if against.is_empty() {
        return from_review(claim, assessment, kind, reviews);
    }
    let all = passages.iter().filter(|p| p.relevance >= floor && !p.is_context() && speaks_against(assessment, p));
    let mean_quality = super::features::mean(all.map(|p| p.quality));
    let confidence = assessment.confidence.min(mean_quality).clamp(0.0, 1.0);
    let built = against.iter().find_map(|index| number_swapped(claim, passages.get(*index)?, checks.get(*index)?));
    let (kind, corrected, note, source) = if let Some((corrected, note, source)) = built {
        let exact = match assessment.verdict {
            Verdict::Refuted => CorrectionType::Replace,
            Verdict::Outdated => CorrectionType::Update,
            _ => kind,
        };
        (exact, corrected, note, source)
    } else {
        let best = passages.get(*against.first()?)?;
        let (corrected, note) = name_swapped(claim, best).or_else(|| sentence_of(claim, best))?;
        (kind, corrected, note, best)
    };
    if corrected.trim() == claim.trim() {
        return None;
    }
    let mut sources = vec![source.url.clone()];
    for index in &against {
        let Some(passage) = passages.get(*index) else { continue };
        if sources.len() < 3 && !sources.contains(&passage.url) {
            sources.push(passage.url.clone());
        }
    }
    Some(Correction {
        kind,
        original: claim.to_owned(),
        corrected,
        confidence,
        note,
        apply: if confidence > AUTO_ABOVE { Apply::Auto } else { Apply::Review },
        sources,
    })
}

/// What sort of mend the verdict calls for.
fn kind_of(assessment: &Assessment) -> Option<CorrectionType> {
    match assessment.verdict {
        Verdict::Refuted if assessment.decisive => Some(CorrectionType::Replace),
        Verdict::Outdated if assessment.decisive => Some(CorrectionType::Update),
        Verdict::Refuted | Verdict::Outdated | Verdict::Contested | Verdict::Misleading => {
            Some(CorrectionType::Clarify)
        }
        // Support that is not decisive leaves nothing to correct, only something to wait for.
        Verdict::Supported | Verdict::NotEnoughEvidence | Verdict::NotVerifiable => None,
    }
}

/// The cited passages that contradict (for "misleading", those that put the fact elsewhere), the strongest first.
/// Citations are on topic and never social, so nothing else can correct a claim.
fn contradicting(assessment: &Assessment, passages: &[JudgedPassage]) -> Vec<usize> {
    let speaks = |index: &usize| passages.get(*index).is_some_and(|passage| speaks_against(assessment, passage));
    assessment.citations.iter().copied().filter(speaks).collect()
}

fn speaks_against(assessment: &Assessment, passage: &JudgedPassage) -> bool {
    passage.stance() == Stance::Contradicts || (assessment.verdict == Verdict::Misleading && passage.out_of_context)
}

/// The claim with the differing figure of that passage in place of its own.
fn number_swapped<'a>(
    claim: &str,
    passage: &'a JudgedPassage,
    check: &NumberCheck,
) -> Option<(String, String, &'a JudgedPassage)> {
    let (ours, theirs) = check.mismatch.as_ref()?;
    let corrected = swap(claim, ours, theirs)?;
    let note = format!("{} gives {} where the claim says {}.", passage.domain, theirs.trim(), ours.trim());
    Some((corrected, note, passage))
}

/// The claim with the one name that differs replaced, where exactly one name on each side has no counterpart and the
/// rest of the claim is in the sentence.
fn name_swapped(claim: &str, passage: &JudgedPassage) -> Option<(String, String)> {
    let language = passage.language.as_deref();
    let ours = TextProfile::new(claim, language, None, &[]);
    let sentence = best_sentence(&ours, passage)?;
    let theirs = TextProfile::new(sentence, language, None, &[]);
    let (mine, other) = stance::differing_names(&ours, &theirs)?;
    let corrected = swap(claim, &mine, &other)?;
    Some((corrected, format!("{} names {other} where the claim names {mine}.", passage.domain)))
}

/// The sentence of the passage nearest to the claim.
fn sentence_of(claim: &str, passage: &JudgedPassage) -> Option<(String, String)> {
    let ours = TextProfile::new(claim, passage.language.as_deref(), None, &[]);
    let sentence = best_sentence(&ours, passage)?.trim();
    if sentence.is_empty() || sentence.chars().count() > LONGEST {
        return None;
    }
    Some((sentence.to_owned(), format!("{} puts it this way.", passage.domain)))
}

fn best_sentence<'a>(claim: &TextProfile, passage: &'a JudgedPassage) -> Option<&'a str> {
    let language = passage.language.as_deref();
    sentences::sentences(&passage.passage)
        .into_iter()
        .map(|sentence| (stance::coverage(claim, &TextProfile::new(sentence, language, None, &[])), sentence))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, sentence)| sentence)
}

/// The first occurrence of `from` that stands as a word of its own, replaced.
fn swap(text: &str, from: &str, to: &str) -> Option<String> {
    let (from, to) = (from.trim(), to.trim());
    if from.is_empty() || to.is_empty() {
        return None;
    }
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(from).find_map(|(at, _)| {
        let (before, rest) = text.split_at_checked(at)?;
        let after = rest.strip_prefix(from)?;
        let joined_before = inside(before.chars().next_back()) && inside(from.chars().next());
        let joined_after = inside(after.chars().next()) && inside(from.chars().next_back());
        let alone = !joined_before && !joined_after;
        alone.then(|| format!("{before}{to}{after}"))
    })
}

/// Where only a review speaks against the claim, its title is the nearest thing to a corrected statement; a person
/// decides whether to take it.
fn from_review(
    claim: &str,
    assessment: &Assessment,
    kind: CorrectionType,
    reviews: &[MatchedReview],
) -> Option<Correction> {
    if !assessment.by_fact_check {
        return None;
    }
    let found = [ReviewSays::Refuted, ReviewSays::Misleading]
        .into_iter()
        .find_map(|side| fact_checks::nearest(reviews, side))?;
    let title = found.review.title.as_deref().map(str::trim).filter(|title| !title.is_empty())?;
    Some(Correction {
        kind,
        original: claim.to_owned(),
        corrected: title.to_owned(),
        confidence: assessment.confidence,
        note: format!(
            "{} rated the claim “{}”; this is the title of its review.",
            found.review.publisher, found.review.rating
        ),
        apply: Apply::Review,
        sources: vec![found.review.url.clone()],
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{any_passages, any_reviews, context, passage, review};
    use super::super::verdicts::assess;
    use super::*;
    use crate::domain::verdict::{RatingClass, Relation};

    fn says(text: &str) -> JudgedPassage {
        JudgedPassage { passage: text.to_owned(), quality: 0.9, ..passage("paper", 0.1, 0.9) }
    }

    fn differs(ours: &str, theirs: &str) -> NumberCheck {
        NumberCheck { num_ok: Some(false), newer_total: false, mismatch: Some((ours.into(), theirs.into())) }
    }

    fn corrected(claim: &str, passages: &[JudgedPassage], checks: &[NumberCheck]) -> Option<Correction> {
        correct(claim, &assess(&context(), passages, &[]), passages, checks, &[], 0.3)
    }

    #[test]
    fn the_number_that_differs_is_swapped_in() {
        let claim = "The tower is 250 metres tall, and 25 people work there.";
        let found = corrected(claim, &[says("The tower is 330 m tall.")], &[differs("250 metres", "330 m")]).unwrap();
        assert_eq!(found.corrected, "The tower is 330 m tall, and 25 people work there.");
        assert_eq!(found.kind, CorrectionType::Replace);
        assert_eq!(found.apply, Apply::Auto);
        assert!((found.confidence - 0.9).abs() < 1e-9);
        assert_eq!(found.sources, ["https://paper.example/page"]);
    }

    #[test]
    fn a_number_inside_another_is_left_alone() {
        assert_eq!(swap("1250 and 250", "250", "330").unwrap(), "1250 and 330");
        assert_eq!(swap("1250", "250", "330"), None);
        assert_eq!(swap("x", "", "y"), None);
    }

    #[test]
    fn without_a_number_the_passages_sentence_stands_for_the_claim() {
        let text = "Critics were pleased. The film was never shown in Berlin. Tickets sold out.";
        let found = corrected("The film was shown in Berlin.", &[says(text)], &[NumberCheck::default()]).unwrap();
        assert_eq!(found.corrected, "The film was never shown in Berlin.");
    }

    #[test]
    fn what_is_not_decisive_is_clarified_and_left_to_a_person() {
        let mut blog = says("The film was never shown in Berlin.");
        blog.credibility = 0.5;
        blog.quality = 0.5;
        let found = corrected("The film was shown in Berlin.", &[blog.clone()], &[NumberCheck::default()]).unwrap();
        assert_eq!((found.kind, found.apply), (CorrectionType::Clarify, Apply::Review));
        let number = corrected("The film ran 90 minutes.", &[blog], &[differs("90 minutes", "120 minutes")]).unwrap();
        assert_eq!((number.kind, number.apply), (CorrectionType::Replace, Apply::Review));
    }

    #[test]
    fn nothing_that_contradicts_means_nothing_to_correct() {
        assert_eq!(corrected("A claim.", &[passage("a", 0.9, 0.0)], &[NumberCheck::default()]), None);
        assert_eq!(corrected("A claim.", &[], &[]), None);
    }

    #[test]
    fn a_review_alone_offers_its_title_to_a_person() {
        let mut checked = review("snopes", Relation::Same, RatingClass::False, 1.0);
        checked.review.title = Some("No, the moon is not made of cheese".into());
        let reviews = [checked];
        let assessment = assess(&context(), &[], &reviews);
        let found = correct("The moon is made of cheese.", &assessment, &[], &[], &reviews, 0.3).unwrap();
        assert_eq!(found.corrected, "No, the moon is not made of cheese");
        assert_eq!((found.kind, found.apply), (CorrectionType::Replace, Apply::Review));
    }

    proptest! {
        #[test]
        fn a_correction_is_never_surer_than_its_verdict(passages in any_passages(), reviews in any_reviews()) {
            let checks = vec![NumberCheck::default(); passages.len()];
            let assessment = assess(&context(), &passages, &reviews);
            if let Some(found) = correct("A claim of 5 things.", &assessment, &passages, &checks, &reviews, 0.3) {
                prop_assert!(found.confidence <= assessment.confidence + 1e-12);
                prop_assert!((found.apply == Apply::Auto) == (found.confidence > AUTO_ABOVE) || found.apply == Apply::Review);
                prop_assert!(!found.sources.is_empty());
                prop_assert!(!matches!(assessment.verdict, Verdict::Supported | Verdict::NotVerifiable));
            }
        }
    }
}
