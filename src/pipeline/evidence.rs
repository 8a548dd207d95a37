//! Finds, reads and judges evidence for an item's claims.
//! If the providers' evidence takes no side, the stages run again with the pages that the language model's search
//! cites.

use std::sync::Arc;

use super::claims::Claim;
use super::judge::JudgedItem;
use super::model_search::{self, Evidence};
use super::normalise::NormalisedItem;
use super::read::Pages;
use super::run_context::{RunContext, measured, timed};
use super::services::PipelineError;
use super::{adjudicate, judge, rank, read, retrieve};
use crate::domain::evidence::JudgedPassage;

pub(super) async fn evidence(
    run: RunContext<'_>,
    normal: &NormalisedItem,
    claims: &[Claim],
    reviewed: &[bool],
) -> Result<JudgedItem, PipelineError> {
    let RunContext { services, request, journal, .. } = run;
    let item = &request.item;
    let of_providers = async || -> Result<Evidence, PipelineError> {
        let found = timed("retrieve", journal, Box::pin(retrieve::retrieve(run, normal, claims))).await?;
        let pages = timed("read", journal, read::read(services, item, &found, journal)).await?;
        let judged = Box::pin(judged(run, normal, claims, &pages)).await?;
        Ok((pages, judged))
    };
    let searching =
        Box::pin(model_search::in_parallel(services, item, claims, reviewed, journal, Box::pin(of_providers())));
    let ((mut pages, before), cited) = searching.await?;
    let Some(cited) = cited else { return Ok(before) };
    let mut more = timed("read", journal, read::read(services, item, &cited, journal)).await?;
    model_search::without_own(services, item, &mut more);
    let known: Vec<String> = pages.read.iter().map(|read| read.page.id.clone()).collect();
    pages.read.extend(more.read.into_iter().filter(|read| !known.contains(&read.page.id)));
    pages.searched = true;
    let mut again = Box::pin(judged(run, normal, claims, &pages)).await?;
    carry(&before, &mut again);
    Ok(again)
}

/// Keeps earlier stances, because the second call may fail for lack of time or budget.
fn carry(before: &JudgedItem, again: &mut JudgedItem) {
    for (before, again) in before.claims.iter().zip(&mut again.claims) {
        let mut carried = false;
        for passage in again.passages.iter_mut().filter(|passage| passage.adjudication.is_none()) {
            let is_same =
                |one: &&JudgedPassage| one.evidence_id == passage.evidence_id && one.passage == passage.passage;
            passage.adjudication = before.passages.iter().find(is_same).and_then(|one| one.adjudication);
            carried |= passage.adjudication.is_some();
        }
        let has_adjudicator = |judge: &&Arc<str>| judge.split('+').any(judge::is_adjudicator);
        if carried && !again.judges.iter().any(|judge| has_adjudicator(&judge)) {
            again.judges.extend(before.judges.iter().filter(has_adjudicator).cloned());
        }
        // The opinion cites passages by position.
        let is_in_place = before
            .passages
            .iter()
            .zip(&again.passages)
            .all(|(one, other)| one.evidence_id == other.evidence_id && one.passage == other.passage);
        if again.opinion.is_none() && before.passages.len() <= again.passages.len() && is_in_place {
            again.opinion.clone_from(&before.opinion);
        }
    }
}

async fn judged(
    run: RunContext<'_>,
    normal: &NormalisedItem,
    claims: &[Claim],
    pages: &Pages,
) -> Result<JudgedItem, PipelineError> {
    let RunContext { services, request, journal, .. } = run;
    let candidates = timed("rank", journal, rank::rank(services, claims, pages, journal)).await?;
    let mut judged =
        timed("judge", journal, judge::judge(services, normal, claims, candidates, pages, journal)).await?;
    let asked = Box::pin(adjudicate::adjudicate(services, &request.item, normal, claims, &mut judged, journal));
    measured("adjudicate", asked).await;
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::evidence::Adjudication;
    use crate::domain::verdict::{Stance, Verdict};
    use crate::judging::samples::passage;
    use crate::pipeline::judge::{JudgedClaim, Opinion};

    fn labelled(id: &str, adjudication: Option<Stance>) -> JudgedPassage {
        let adjudication = adjudication.map(|stance| Adjudication { stance, elsewhere: false });
        JudgedPassage { adjudication, ..passage(id, 0.1, 0.1) }
    }

    #[test]
    fn adjudication_is_kept_when_no_adjudicator_answers_again() {
        let opinion = Some(Opinion { verdict: Verdict::Supported, justification: "So says [1].".to_owned() });
        let claim = |judges: &[&str], passages| JudgedClaim {
            judges: judges.iter().map(|judge| Arc::from(*judge)).collect(),
            passages,
            ..JudgedClaim::default()
        };
        let first = JudgedClaim { opinion, ..claim(&["rules", "llm:x"], vec![labelled("a", Some(Stance::Supports))]) };
        let before = JudgedItem { claims: vec![first], ..JudgedItem::default() };
        let mut again = JudgedItem {
            claims: vec![claim(&["rules"], vec![labelled("a", None), labelled("b", None)])],
            ..JudgedItem::default()
        };
        carry(&before, &mut again);
        let one = &again.claims[0];
        assert_eq!(one.passages[0].adjudication.map(|one| one.stance), Some(Stance::Supports));
        assert_eq!(one.passages[1].adjudication, None);
        assert_eq!(one.judge(), "rules+llm:x");
        assert!(one.opinion.is_some());

        let mut moved = JudgedItem {
            claims: vec![claim(&["rules", "llm:x"], vec![labelled("b", Some(Stance::Neutral)), labelled("a", None)])],
            ..JudgedItem::default()
        };
        carry(&before, &mut moved);
        let one = &moved.claims[0];
        assert_eq!(
            one.passages[0].adjudication.map(|one| one.stance),
            Some(Stance::Neutral),
            "what was heard now stands"
        );
        assert_eq!(one.passages[1].adjudication.map(|one| one.stance), Some(Stance::Supports));
        assert!(one.opinion.is_none(), "[1] is another passage now");
        assert_eq!(one.judges.len(), 2);
    }
}
