//! Asks a language model, or a custom adjudicator, for stances besides the NLI model's.
//! Steps: choose passages, ask within the item's time, store the answers.
//! They are stored and weighed by `judging::adjudication`, and never decide alone. A failure degrades the result.

use std::sync::Arc;

use super::claims::Claim;
use super::judge::{JudgedClaim, JudgedItem, OWN, Opinion, is_adjudicator};
use super::language_model::failed;
use super::normalise::NormalisedItem;
use super::run_context::Journal;
use super::services::Services;
use super::steps::in_time;
use crate::domain::Item;
use crate::domain::evidence::JudgedPassage;
use crate::domain::verdict::{SourceType, Stance, Verdict};
use crate::inference::llm::adjudication::{ModelAdjudicator, renumbered};
use crate::inference::llm::{Purpose, in_judges};
use crate::inference::rules::RULES;
use crate::inference::steps::{Adjudicator, ClaimAdjudication, ClaimData, ItemData, PassageData, StepError};
use crate::language::detect;

pub(super) async fn adjudicate(
    services: &Services,
    item: &Item,
    normal: &NormalisedItem,
    claims: &[Claim],
    judged: &mut JudgedItem,
    journal: &Journal,
) {
    let by_model = by_model(services, journal);
    let Some(adjudicator) = adjudicator(services, by_model.as_ref()) else { return };
    let floor = services.settings.scoring.relevance_floor;
    let reads = |claim: &Claim| services.models.stance.reads(&claim.text);
    let places: Vec<Vec<usize>> =
        claims.iter().zip(&judged.claims).map(|(claim, judged)| asked_about(judged, floor, reads(claim))).collect();
    let data: Vec<ClaimData<'_>> = claims
        .iter()
        .zip(&judged.claims)
        .zip(&places)
        .map(|((claim, judged), places)| ClaimData {
            text: &claim.text,
            date: claim.date.map(|date| date.date_naive()),
            passages: places.iter().filter_map(|place| judged.passages.get(*place)).map(passage).collect(),
        })
        .collect();
    let about = ItemData {
        today: journal.evaluated_at.date_naive(),
        language: detect::english_name(normal.language.as_deref()),
        additional_context: item.options.additional_context.as_deref(),
    };
    if places.iter().all(Vec::is_empty) {
        return;
    }
    journal.begins("adjudicate");
    let until = journal.judge_until;
    let (name, reply) = (adjudicator.name(), in_time(until, adjudicator.adjudicate(&about, &data, until)).await);
    match reply {
        Ok(Some(answers)) => {
            let count = keep(judged, &places, answers, &in_results(name));
            journal.trace(format!("adjudicate: {count} passage(s) by {name}"));
        }
        Ok(None) => {}
        Err(error) => failed(name, "adjudicate", &error, journal),
    }
}

/// Returns the name for results. A custom adjudicator must not have the name of a built-in model, which is scored
/// differently.
fn in_results(name: &str) -> String {
    let plain = in_judges(name);
    if is_adjudicator(&plain) { plain } else { format!("{OWN}{plain}") }
}

fn by_model<'a>(services: &'a Services, journal: &'a Journal) -> Option<ModelAdjudicator<'a>> {
    let model = services.language_model_for(Purpose::Adjudicate)?;
    Some(ModelAdjudicator { model, spend: &journal.llm })
}

/// Returns the custom adjudicator, otherwise the model.
fn adjudicator<'a>(services: &'a Services, by_model: Option<&'a ModelAdjudicator<'a>>) -> Option<&'a dyn Adjudicator> {
    let by_model = by_model.map(|model| model as &dyn Adjudicator);
    services.steps.adjudicator.as_deref().map(|own| own as &dyn Adjudicator).or(by_model)
}

/// Returns the stance of one passage, for `eval`.
pub(super) async fn pair(
    services: &Services,
    claim: &str,
    passage: &str,
    journal: &Journal,
) -> Result<Option<Stance>, StepError> {
    let by_model = by_model(services, journal);
    let adjudicator = adjudicator(services, by_model.as_ref())
        .ok_or("no language model is set for this (LLM_BASE_URL, LLM_MODEL, LLM_ADJUDICATE_ENABLED)")?;
    let language = detect::english_name(detect::detect(claim).language.as_deref());
    let about = ItemData { today: journal.evaluated_at.date_naive(), language, additional_context: None };
    let passage = PassageData {
        text: passage,
        title: None,
        domain: "given",
        published: None,
        is_fact_checker: false,
        credibility: 0.5,
        group: "given",
    };
    let data = [ClaimData { text: claim, date: None, passages: vec![passage] }];
    let until = journal.judge_until;
    let answers = in_time(until, adjudicator.adjudicate(&about, &data, until)).await?;
    let answer = answers.and_then(|answers| answers.into_iter().next());
    Ok(answer.and_then(|answer| answer.stances.first().copied().flatten()).map(|one| one.stance))
}

/// Passages that need a stance: those on topic, or all if only words were compared, because that misses paraphrases.
/// `reads` (the NLI model reads the claim) decides if there is no judge.
fn asked_about(claim: &JudgedClaim, floor: f64, reads: bool) -> Vec<usize> {
    let is_by_words =
        if claim.judges.is_empty() { !reads } else { claim.judges.iter().all(|judge| judge.as_ref() == RULES) };
    let mut places: Vec<usize> = (0..claim.passages.len()).collect();
    places.retain(|place| claim.passages.get(*place).is_some_and(|one| is_by_words || one.relevance >= floor));
    places
}

fn passage(judged: &JudgedPassage) -> PassageData<'_> {
    PassageData {
        text: &judged.passage,
        title: judged.title.as_deref(),
        domain: &judged.domain,
        published: judged.published_at.map(|at| at.date_naive()),
        is_fact_checker: judged.source_type == SourceType::FactChecker,
        credibility: judged.credibility,
        group: &judged.independent_group,
    }
}

/// Returns the number of stances.
fn keep(judged: &mut JudgedItem, places: &[Vec<usize>], answers: Vec<ClaimAdjudication>, name: &str) -> usize {
    let mut count = 0;
    for ((claim, places), answer) in judged.claims.iter_mut().zip(places).zip(answers) {
        let mut any = false;
        for (place, stance) in places.iter().zip(&answer.stances) {
            let (Some(passage), Some(stance)) = (claim.passages.get_mut(*place), stance) else { continue };
            passage.adjudication = Some(*stance);
            any = true;
            count += 1;
        }
        if !any {
            continue;
        }
        claim.judges.push(Arc::from(name));
        claim.opinion = answer.verdict.map(|verdict| Opinion {
            verdict,
            justification: if verdict == Verdict::NotEnoughEvidence {
                String::new()
            } else {
                renumbered(&answer.justification, places)
            },
        });
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::evidence::Adjudication;
    use crate::judging::samples::passage;

    fn claim(judge: &str, relevances: &[f64]) -> JudgedClaim {
        let passages =
            relevances.iter().map(|relevance| JudgedPassage { relevance: *relevance, ..passage("a", 0.1, 0.1) });
        JudgedClaim { judges: vec![Arc::from(judge)], passages: passages.collect(), ..JudgedClaim::default() }
    }

    #[test]
    fn only_what_is_on_topic_is_asked_about_and_all_where_only_words_were_compared() {
        assert_eq!(asked_about(&claim("model:minilm", &[0.9, 0.1, 0.5]), 0.3, true), [0, 2]);
        assert_eq!(asked_about(&claim(RULES, &[0.9, 0.1]), 0.3, true), [0, 1]);
        let unjudged = JudgedClaim { judges: Vec::new(), ..claim(RULES, &[0.9, 0.1]) };
        assert_eq!(asked_about(&unjudged, 0.3, true), [0], "what is off topic to a reader is off topic");
        assert_eq!(asked_about(&unjudged, 0.3, false), [0, 1]);
    }

    #[test]
    fn no_name_passes_for_two_parts_of_a_judge() {
        assert_eq!(in_results("llm:a+b c"), "llm:a-b-c");
        assert_eq!(in_results("model:minilm+x"), "own:model:minilm-x");
        let mut one = claim("model:minilm", &[0.9]);
        one.judges.push(Arc::from(in_results("llm:a+b").as_str()));
        assert_eq!(one.judge(), "model:minilm+llm:a-b");
        one.judges.push(Arc::from("+"));
        assert_eq!(one.judge(), "model:minilm+llm:a-b");
    }

    #[test]
    fn answer_reaches_its_passages_when_others_are_not_asked_about() {
        let claims = vec![claim("model:minilm", &[0.1, 0.9, 0.1, 0.8])];
        let mut judged = JudgedItem { claims, ..JudgedItem::default() };
        let adjudication = |stance| Some(Adjudication { stance, elsewhere: false });
        let answer = ClaimAdjudication {
            stances: vec![None, adjudication(Stance::Supports)],
            verdict: Some(Verdict::Supported),
            justification: "So says [2], not [1].".to_owned(),
        };
        assert_eq!(keep(&mut judged, &[vec![1, 3]], vec![answer], "llm:x"), 1);
        let one = &judged.claims[0];
        let stances: Vec<Option<Stance>> = one.passages.iter().map(|p| p.adjudication.map(|a| a.stance)).collect();
        assert_eq!(stances, [None, None, None, Some(Stance::Supports)]);
        assert_eq!(one.opinion.as_ref().map(|opinion| opinion.justification.as_str()), Some("So says [4], not [2]."));
        assert_eq!(one.judge(), "model:minilm+llm:x");
    }
}
