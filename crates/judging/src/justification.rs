//! Writes the reasons for a verdict as sentences in the reader's language.
//!
//! `[N]` names a passage by its position in the shown slice, from 1. A sentence states only facts that the figures
//! support, and also missing or failed sources. To add a sentence, extend [`sentence`] and each language file.

mod english;
mod portuguese;
mod russian;
mod sentence;
mod ukrainian;

use std::collections::BTreeSet;

use self::sentence::Sentence;
use corroborate_domain::evidence::{JudgedPassage, MatchedReview};
use corroborate_domain::verdict::{Note, Relation, Stance, Verdict};

use super::citations::{leans, may_contradict};
use super::fact_checks::{self, ReviewFinding};
use super::labels::{self, ReaderLanguage};
use super::verdicts::Assessment;

/// Writes the justification of an assessment. `passages` are those of the assessment in display order. `language` is
/// ISO 639-1 (Russian, Ukrainian, Portuguese; English for any other).
pub fn justify(
    assessment: &Assessment,
    passages: &[JudgedPassage],
    reviews: &[MatchedReview],
    language: Option<&str>,
) -> String {
    let reader = ReaderLanguage::of(language);
    if assessment.verdict == Verdict::NotVerifiable {
        return reader.render(Sentence::Opinion);
    }
    let mut sentences = Vec::new();
    if assessment.by_fact_check {
        sentences.extend(of_reviews(assessment.verdict, reviews, reader));
    }
    sentences.extend(of_passages(assessment, passages, reader));
    if !assessment.by_fact_check && reviews.iter().any(|review| review.relation == Relation::Related) {
        sentences.push(reader.render(Sentence::RelatedListed));
    }
    sentences.extend(caveats(assessment, passages, reader));
    sentences.join(" ")
}

/// The reasons against certainty, whatever the source of the justification's words.
pub fn caveats(assessment: &Assessment, passages: &[JudgedPassage], reader: ReaderLanguage) -> Vec<String> {
    let mut sentences = Vec::new();
    if assessment.notes.contains(&Note::SocialOnly) {
        sentences.push(reader.render(Sentence::SocialOnly));
    }
    if assessment.verdict != Verdict::NotEnoughEvidence
        && assessment.verdict != Verdict::Contested
        && !assessment.decisive
    {
        let one_source = !assessment.by_fact_check && groups_cited(assessment, passages) == 1;
        // The sentence on single support already states this.
        if !(one_source && assessment.verdict == Verdict::Supported) {
            sentences.push(reader.render(Sentence::NotDecisive { one_source }));
        }
    }
    let is_stated = passages.is_empty() && !assessment.by_fact_check && assessment.searched;
    if assessment.notes.contains(&Note::Degraded) && !is_stated {
        sentences.push(reader.render(Sentence::Degraded));
    }
    sentences
}

fn of_reviews(verdict: Verdict, reviews: &[MatchedReview], reader: ReaderLanguage) -> Vec<String> {
    let sides: &[ReviewFinding] = match verdict {
        Verdict::Supported => &[ReviewFinding::Supported],
        Verdict::Refuted => &[ReviewFinding::Refuted],
        Verdict::Misleading => &[ReviewFinding::Misleading, ReviewFinding::Refuted],
        _ => &[ReviewFinding::Supported, ReviewFinding::Refuted, ReviewFinding::Misleading],
    };
    let mut sentences: Vec<String> = sides
        .iter()
        .filter_map(|side| fact_checks::nearest(reviews, *side))
        .map(|found| {
            reader.render(Sentence::Rated {
                publisher: found.review.publisher.trim(),
                rating: found.review.rating.trim(),
                url: &found.review.url,
                opposite: found.relation == Relation::Opposite,
            })
        })
        .collect();
    if verdict == Verdict::Contested {
        sentences.push(reader.render(Sentence::CheckersDisagree));
    }
    sentences
}

fn of_passages(assessment: &Assessment, passages: &[JudgedPassage], reader: ReaderLanguage) -> Vec<String> {
    let of_stance = |stance| cited(assessment, passages, reader, |passage| passage.stance() == stance);
    let (supporting, contradicting) = (of_stance(Stance::Supports), of_stance(Stance::Contradicts));
    let (supporting, contradicting) = (supporting.as_deref(), contradicting.as_deref());
    let doubting = cited(assessment, passages, reader, may_contradict);
    let doubting = doubting.as_deref();
    let leaning = |side| cited(assessment, passages, reader, move |passage| leans(passage, side));
    let (towards, away) = (leaning(Stance::Supports), leaning(Stance::Contradicts));
    let groups = assessment.features.agree_dom;
    let chosen: Vec<Sentence<'_>> = if assessment.by_fact_check {
        let listed = [supporting.map(Sentence::PassagesSupport), contradicting.map(Sentence::PassagesContradict)];
        listed.into_iter().flatten().collect()
    } else {
        match (assessment.verdict, supporting, contradicting) {
            (Verdict::Supported, Some(supporting), Some(contradicting)) => {
                vec![Sentence::Supported { groups, sources: supporting }, Sentence::PassagesContradict(contradicting)]
            }
            (Verdict::Contested, None, Some(contradicting)) => {
                let leaning = towards.as_deref().map(Sentence::LeansTowards);
                leaning.into_iter().chain([Sentence::PassagesContradict(contradicting)]).collect()
            }
            (Verdict::Supported, Some(sources), _) if groups <= 1 && !assessment.decisive => {
                vec![Sentence::SingleSource(sources)]
            }
            (Verdict::Supported, None, _) if towards.is_some() => {
                towards.as_deref().map(Sentence::LeansTowards).into_iter().collect()
            }
            (Verdict::Refuted | Verdict::Outdated, _, None) if away.is_some() => {
                away.as_deref().map(Sentence::LeansAgainst).into_iter().collect()
            }
            (Verdict::Supported, Some(sources), _) => {
                let against =
                    if assessment.contradiction { Sentence::WeaklyContradicted } else { Sentence::Uncontradicted };
                vec![Sentence::Supported { groups, sources }, against]
            }
            (Verdict::Misleading, Some(sources), _) => vec![Sentence::OutOfContext { groups, sources }],
            (Verdict::Refuted, _, Some(sources)) => {
                let differs = (assessment.features.num_ok == Some(false)).then_some(Sentence::FigureDisagrees);
                let support = if groups == 0 { Sentence::NoSupport } else { Sentence::SupportedLess { groups } };
                [Some(Sentence::Refuted(sources)), differs, Some(support)].into_iter().flatten().collect()
            }
            (Verdict::Outdated, Some(older), Some(newer)) => vec![Sentence::NewerReportsDiffer { older, newer }],
            (Verdict::Outdated, None, Some(newer)) => vec![Sentence::NewerFigure(newer)],
            (Verdict::Contested, Some(supporting), Some(contradicting)) => {
                let one_source = groups_cited(assessment, passages) == 1;
                vec![Sentence::Contested { one_source, supporting, contradicting }]
            }
            (Verdict::Contested, Some(supporting), None) => {
                vec![doubting.map_or(Sentence::BothAtOnce(supporting), |doubting| Sentence::ContestedByDoubt {
                    supporting,
                    doubting,
                })]
            }
            (Verdict::NotEnoughEvidence, ..) => {
                vec![not_enough(assessment, passages, supporting, contradicting, doubting)]
            }
            _ => vec![Sentence::Follows(supporting.or(contradicting))],
        }
    };
    chosen.into_iter().map(|sentence| reader.render(sentence)).collect()
}

fn groups_cited(assessment: &Assessment, passages: &[JudgedPassage]) -> usize {
    let cited = assessment.citations.iter().filter_map(|index| passages.get(*index));
    cited.map(|passage| passage.independent_group.as_str()).collect::<BTreeSet<_>>().len()
}

/// Why the evidence decides nothing.
fn not_enough<'a>(
    assessment: &Assessment,
    passages: &[JudgedPassage],
    supporting: Option<&'a str>,
    contradicting: Option<&'a str>,
    doubting: Option<&'a str>,
) -> Sentence<'a> {
    let groups = assessment.features.agree_dom;
    if let (None, Some(doubting)) = (contradicting, doubting) {
        return supporting.map_or(Sentence::MayContradict(doubting), |sources| Sentence::SupportDoubted {
            groups,
            sources,
            doubting,
        });
    }
    match (supporting, contradicting) {
        (Some(supporting), Some(contradicting)) => Sentence::NeitherClear { supporting, contradicting },
        (Some(sources), None) => Sentence::SupportUnclear(sources),
        (None, Some(sources)) => Sentence::AgainstUnclear(sources),
        (None, None) if !assessment.searched => Sentence::NotSearched,
        (None, None) if passages.is_empty() && assessment.notes.contains(&Note::Degraded) => {
            Sentence::SourcesUnavailable
        }
        (None, None) if passages.is_empty() => Sentence::NothingFound,
        (None, None) if assessment.score.is_none() => Sentence::OffSubject(passages.len()),
        (None, None) => Sentence::NeitherSide,
    }
}

/// The matching cited passages as "domain \[N\]", joined.
fn cited(
    assessment: &Assessment,
    passages: &[JudgedPassage],
    reader: ReaderLanguage,
    is_chosen: impl Fn(&JudgedPassage) -> bool,
) -> Option<String> {
    let sources: Vec<String> = assessment
        .citations
        .iter()
        .filter_map(|index| Some((index + 1, passages.get(*index)?)))
        .filter(|(_, passage)| is_chosen(passage))
        .map(|(n, passage)| format!("{} [{n}]", labels::domain(&passage.domain, reader)))
        .collect();
    reader.list(&sources)
}

impl ReaderLanguage {
    fn render(self, sentence: Sentence<'_>) -> String {
        match self {
            Self::English => english::render(sentence),
            Self::Russian => russian::render(sentence),
            Self::Ukrainian => ukrainian::render(sentence),
            Self::Portuguese => portuguese::render(sentence),
        }
    }

    /// "a, b and c".
    fn list(self, items: &[String]) -> Option<String> {
        let and = match self {
            Self::English => "and",
            Self::Russian => "и",
            Self::Ukrainian => "та",
            Self::Portuguese => "e",
        };
        match items {
            [] => None,
            [one] => Some(one.clone()),
            [first @ .., last] => Some(format!("{} {and} {last}", first.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{any_passages, any_reviews, context, passage, review};
    use super::super::verdicts::{ClaimContext, assess};
    use super::*;
    use corroborate_domain::verdict::{ClaimKind, RatingClass};

    fn justified(context: &ClaimContext, passages: &[JudgedPassage], reviews: &[MatchedReview]) -> String {
        justify(&assess(context, passages, reviews), passages, reviews, None)
    }

    #[test]
    fn the_sentences_follow_the_verdict() {
        let ordinary = context();
        let degraded = ClaimContext { degraded: true, ..context() };
        let opinion = ClaimContext { kind: ClaimKind::Opinion, ..context() };
        let two = [passage("a", 0.9, 0.05), passage("b", 0.9, 0.05)];
        let ordinary = ClaimContext { confidence_threshold: 0.6, ..ordinary };
        assert_eq!(
            justified(&ordinary, &two, &[]),
            "2 independent sources support the claim: a.example [1] and b.example [2]. No source found contradicts it."
        );
        assert_eq!(
            justified(&context(), &[JudgedPassage { credibility: 0.7, ..passage("a", 0.9, 0.05) }], &[]),
            "One source supports the claim: a.example [1]. A second, independent one was not found."
        );
        assert_eq!(justified(&ordinary, &[], &[]), "No source about this was found.");
        let unsearched = ClaimContext { searched: false, ..context() };
        assert!(justified(&unsearched, &[], &[]).contains("no source was searched"), "nobody was asked");
        assert_eq!(
            justified(&degraded, &[], &[]),
            "Not every source could be asked or read, and the others found nothing. That does not mean that nobody reports it."
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

    #[test]
    fn justification_is_in_the_language_of_the_item() {
        let two = [passage("a", 0.9, 0.05), passage("b", 0.9, 0.05)];
        let assessment = assess(&ClaimContext { confidence_threshold: 0.6, ..context() }, &two, &[]);
        for (language, expected) in [
            (
                "ru",
                "Утверждение подтверждают независимые источники (2): a.example [1] и b.example [2]. Источников, которые \
                 противоречили бы утверждению, не найдено.",
            ),
            (
                "uk",
                "Твердження підтверджують незалежні джерела (2): a.example [1] та b.example [2]. Джерел, які б \
                 суперечили твердженню, не знайдено.",
            ),
            (
                "pt-BR",
                "2 fontes independentes confirmam a afirmação: a.example [1] e b.example [2]. Nenhuma fonte encontrada a \
                 contradiz.",
            ),
        ] {
            assert_eq!(justify(&assessment, &two, &[], Some(language)), expected);
        }
        assert_eq!(justify(&assessment, &two, &[], Some("de")), justify(&assessment, &two, &[], None));
    }

    #[test]
    fn a_doubt_that_holds_a_verdict_up_is_named() {
        let justified_by = |passages: &[JudgedPassage], language| {
            let assessment = assess(&context(), passages, &[]);
            (assessment.verdict, justify(&assessment, passages, &[], Some(language)))
        };
        let doubt = |contradict| passage("b", 0.2, contradict);
        let (_, alone) = justified_by(&[doubt(0.45)], "en");
        assert_eq!(
            alone,
            "No passage found supports the claim, and b.example [1] may contradict it, though not clearly."
        );
        let many = ["a", "b", "c", "d"].map(|id| passage(id, 0.499, 0.02));
        let (verdict, text) = justified_by(&many, "en");
        assert_eq!(verdict, Verdict::Supported);
        assert!(text.starts_with("No source says so outright. The passages found tend to support the claim"), "{text}");
    }

    #[test]
    fn a_verdict_on_one_source_says_so() {
        let against = [JudgedPassage { credibility: 0.5, ..passage("c", 0.0, 0.9) }];
        let text = justified(&context(), &against, &[]);
        assert!(text.ends_with("The verdict rests on one source, so it is provisional."), "{text}");
    }

    proptest! {
        #[test]
        fn every_citation_exists(passages in any_passages(), reviews in any_reviews(), degraded: bool) {
            let context = ClaimContext { degraded, ..context() };
            let assessment = assess(&context, &passages, &reviews);
            let cited = |language| {
                let text = justify(&assessment, &passages, &reviews, Some(language));
                assert!(!text.is_empty());
                let marks = text.split('[').skip(1).map(|part| part.split(']').next().unwrap().parse::<usize>().unwrap());
                marks.collect::<Vec<usize>>()
            };
            let english = cited("en");
            for n in &english {
                prop_assert!((1..=passages.len()).contains(n), "{n}");
            }
            for language in ["ru", "uk", "pt"] {
                prop_assert_eq!(&cited(language), &english);
            }
        }
    }
}
