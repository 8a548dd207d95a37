//! Why a verdict was given, in plain sentences. Every `[N]` names a passage by its position, counted from 1, in the
//! slice that is shown; nothing is said that the figures do not say, and what was not found or not asked is said too.

use std::collections::BTreeSet;

use crate::domain::evidence::{JudgedPassage, MatchedReview};
use crate::domain::verdict::{Note, Relation, Stance, Verdict};

use super::fact_checks::{self, ReviewSays};
use super::verdicts::Assessment;

/// The justification of an assessment. `passages` are those the assessment was made from, in the order they are shown.
pub fn justify(assessment: &Assessment, passages: &[JudgedPassage], reviews: &[MatchedReview]) -> String {
    let mut sentences = Vec::new();
    if assessment.verdict == Verdict::NotVerifiable {
        sentences
            .push("This is an opinion, or too vague to be checked, so it was not held against any source.".to_owned());
        return sentences.join(" ");
    }
    if assessment.by_fact_check {
        sentences.extend(of_reviews(assessment.verdict, reviews));
    }
    sentences.extend(of_passages(assessment, passages));
    if !assessment.by_fact_check && reviews.iter().any(|review| review.relation == Relation::Related) {
        sentences.push("A published fact-check of a related claim is listed; it does not decide this one.".to_owned());
    }
    if assessment.notes.contains(&Note::SocialOnly) {
        sentences.push("Only social media posts speak of it, and posts count as context, not as agreement.".to_owned());
    }
    if assessment.verdict != Verdict::NotEnoughEvidence
        && assessment.verdict != Verdict::Contested
        && !assessment.decisive
    {
        sentences.push("The evidence is not strong enough to call this decisive.".to_owned());
    }
    let said_already = passages.is_empty() && !assessment.by_fact_check && assessment.searched;
    if assessment.notes.contains(&Note::Degraded) && !said_already {
        sentences.push("Some sources could not be asked or read, so what is missing here may exist.".to_owned());
    }
    sentences.join(" ")
}

/// What the reviews that decided say.
fn of_reviews(verdict: Verdict, reviews: &[MatchedReview]) -> Vec<String> {
    let sides: &[ReviewSays] = match verdict {
        Verdict::Supported => &[ReviewSays::Supported],
        Verdict::Refuted => &[ReviewSays::Refuted],
        Verdict::Misleading => &[ReviewSays::Misleading, ReviewSays::Refuted],
        _ => &[ReviewSays::Supported, ReviewSays::Refuted, ReviewSays::Misleading],
    };
    let mut sentences: Vec<String> = sides
        .iter()
        .filter_map(|side| fact_checks::nearest(reviews, *side))
        .map(|found| {
            let of_what = if found.relation == Relation::Opposite { "the opposite claim" } else { "this claim" };
            let publisher = found.review.publisher.trim();
            let who = if publisher.is_empty() { "A fact-checker" } else { publisher };
            format!("{who} rated {of_what} “{}” ({}).", found.review.rating.trim(), found.review.url)
        })
        .collect();
    if verdict == Verdict::Contested {
        sentences.push("The fact-checkers disagree.".to_owned());
    }
    sentences
}

/// What the passages say, with citations.
fn of_passages(assessment: &Assessment, passages: &[JudgedPassage]) -> Vec<String> {
    let cited = |stance| cited(assessment, passages, stance);
    let (supporting, contradicting) = (cited(Stance::Supports), cited(Stance::Contradicts));
    let agree = assessment.features.agree_dom;
    let mut sentences = Vec::new();
    if assessment.by_fact_check {
        if let Some(sources) = &supporting {
            sentences.push(format!("Passages that support it: {sources}."));
        }
        if let Some(sources) = &contradicting {
            sentences.push(format!("Passages that contradict it: {sources}."));
        }
        return sentences;
    }
    match (assessment.verdict, &supporting, &contradicting) {
        (Verdict::Supported, Some(sources), _) => {
            sentences.push(format!("{} the claim: {sources}.", independent(agree, "support")));
            sentences.push(uncontradicted(assessment));
        }
        (Verdict::Misleading, Some(sources), _) => sentences.push(format!(
            "{} the fact out, but at another time or place than the claim says: {sources}.",
            independent(agree, "bear")
        )),
        (Verdict::Refuted, _, Some(sources)) => {
            sentences.push(format!("The claim is contradicted by {sources}."));
            if assessment.features.num_ok == Some(false) {
                sentences.push("A figure or date in the claim disagrees with the source.".to_owned());
            }
            sentences.push(if agree == 0 {
                "No source was found that supports it.".to_owned()
            } else {
                format!("{} it, less strongly.", independent(agree, "support"))
            });
        }
        (Verdict::Outdated, support, Some(newer)) => sentences.push(match support {
            Some(older) => format!("It was reported so earlier ({older}); newer reports say otherwise: {newer}."),
            None => format!("Newer reports give another figure than the claim: {newer}."),
        }),
        (Verdict::Contested, Some(one), Some(other)) => {
            let groups: BTreeSet<&str> = assessment
                .citations
                .iter()
                .filter_map(|index| passages.get(*index))
                .map(|passage| passage.independent_group.as_str())
                .collect();
            let who = if groups.len() == 1 { "One source says both" } else { "Sources disagree" };
            let (supports, contradicts) = (ending(one, "support"), ending(other, "contradict"));
            sentences.push(format!("{who}: {one} {supports} the claim, {other} {contradicts} it."));
        }
        (Verdict::NotEnoughEvidence, ..) => {
            sentences.extend(not_enough(assessment, passages, supporting, contradicting));
        }
        _ => {
            let sources = supporting.or(contradicting).unwrap_or_else(|| "the passages found".to_owned());
            sentences.push(format!("This follows from {sources}."));
        }
    }
    sentences
}

/// Why the evidence decides nothing.
fn not_enough(
    assessment: &Assessment,
    passages: &[JudgedPassage],
    supporting: Option<String>,
    contradicting: Option<String>,
) -> Vec<String> {
    let agree = assessment.features.agree_dom;
    let conflicting = assessment.notes.contains(&Note::ConflictingSources);
    let first = match (supporting, contradicting) {
        (Some(one), Some(other)) => {
            let (supports, speaks) = (ending(&one, "support"), ending(&other, "speak"));
            format!("{one} {supports} the claim and {other} {speaks} against it; neither side is clear.")
        }
        (Some(sources), None) if conflicting => {
            format!("{} the claim ({sources}), but another passage speaks against it.", independent(agree, "support"))
        }
        (Some(sources), None) if agree <= 1 => {
            format!("One source supports the claim: {sources}. A second, independent one was not found.")
        }
        (Some(sources), None) => format!("Support was found, but not clearly enough: {sources}."),
        (None, Some(sources)) => {
            let speaks = ending(&sources, "speak");
            format!("{sources} {speaks} against the claim, but not clearly enough to refute it.")
        }
        (None, None) if !assessment.searched => {
            "Only published fact-checks were looked up, if any could be; no source was searched for this claim."
                .to_owned()
        }
        (None, None) if passages.is_empty() && assessment.notes.contains(&Note::Degraded) => {
            "Not every source could be asked or read, and what could be brought nothing: this says nothing of who reports it."
                .to_owned()
        }
        (None, None) if passages.is_empty() => "No source that speaks of this was found.".to_owned(),
        (None, None) if assessment.score.is_none() => {
            format!("{} found, none of them on this subject.", counted(passages.len(), "passage was", "passages were"))
        }
        (None, None) => "The passages found neither support nor contradict the claim.".to_owned(),
    };
    vec![first]
}

/// The cited passages of a stance as "domain \[N\]", joined.
fn cited(assessment: &Assessment, passages: &[JudgedPassage], stance: Stance) -> Option<String> {
    let sources: Vec<String> = assessment
        .citations
        .iter()
        .filter_map(|index| Some((index + 1, passages.get(*index)?)))
        .filter(|(_, passage)| passage.stance() == stance)
        .map(|(n, passage)| format!("{} [{n}]", passage.domain))
        .collect();
    match sources.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

fn uncontradicted(assessment: &Assessment) -> String {
    if assessment.contradiction {
        "A weak contradiction was found as well.".to_owned()
    } else {
        "No source found contradicts it.".to_owned()
    }
}

fn independent(groups: u32, verb: &str) -> String {
    if groups == 1 { format!("One source {verb}s") } else { format!("{groups} independent sources {verb}") }
}

/// The verb as it goes with what [`cited`] gave: one source or several.
fn ending(sources: &str, verb: &str) -> String {
    if sources.matches('[').count() == 1 { format!("{verb}s") } else { verb.to_owned() }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{any_passages, any_reviews, context, passage, review};
    use super::super::verdicts::{ClaimContext, assess};
    use super::*;
    use crate::domain::verdict::{ClaimKind, RatingClass};

    fn justified(context: &ClaimContext, passages: &[JudgedPassage], reviews: &[MatchedReview]) -> String {
        justify(&assess(context, passages, reviews), passages, reviews)
    }

    #[test]
    fn the_sentences_follow_the_verdict() {
        let ordinary = context();
        let degraded = ClaimContext { degraded: true, ..context() };
        let opinion = ClaimContext { kind: ClaimKind::Opinion, ..context() };
        let two = [passage("a", 0.9, 0.05), passage("b", 0.9, 0.05)];
        assert_eq!(
            justified(&ordinary, &two, &[]),
            "2 independent sources support the claim: a.example [1] and b.example [2]. No source found contradicts it."
        );
        assert_eq!(
            justified(&ordinary, &two[..1], &[]),
            "One source supports the claim: a.example [1]. A second, independent one was not found."
        );
        assert_eq!(justified(&ordinary, &[], &[]), "No source that speaks of this was found.");
        let unsearched = ClaimContext { searched: false, ..context() };
        assert!(justified(&unsearched, &[], &[]).contains("no source was searched"), "nobody was asked");
        assert_eq!(
            justified(&degraded, &[], &[]),
            "Not every source could be asked or read, and what could be brought nothing: this says nothing of who reports it."
        );
        assert!(justified(&opinion, &[], &[]).starts_with("This is an opinion"));
        let checked = [review("snopes", Relation::Same, RatingClass::False, 0.95)];
        assert_eq!(
            justified(&ordinary, &[], &checked),
            "snopes rated this claim “false” (https://snopes.example/check)."
        );
        let against = [passage("c", 0.0, 0.9)];
        assert_eq!(
            justified(&ordinary, &against, &[]),
            "The claim is contradicted by c.example [1]. No source was found that supports it."
        );
    }

    proptest! {
        #[test]
        fn every_citation_exists(passages in any_passages(), reviews in any_reviews(), degraded: bool) {
            let context = ClaimContext { degraded, ..context() };
            let text = justified(&context, &passages, &reviews);
            prop_assert!(!text.is_empty());
            for part in text.split('[').skip(1) {
                let n: usize = part.split(']').next().unwrap().parse().unwrap();
                prop_assert!((1..=passages.len()).contains(&n), "{text}");
            }
        }
    }
}
