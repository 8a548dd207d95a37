//! Evidence: what is found, read and judged of an item's claims, in the order of the stages; and once more with what the
//! language model's own search cites, where the providers' evidence takes no side.

use super::claims::Claim;
use super::judge::Judged;
use super::model_search::{self, Evidence};
use super::normalise::Normal;
use super::read::Pages;
use super::{Journal, PipelineError, Request, Services, adjudicate, judge, rank, read, retrieve, timed};

pub(super) async fn evidence(
    services: &Services,
    request: &Request,
    normal: &Normal,
    claims: &[Claim],
    journal: &Journal,
) -> Result<Judged, PipelineError> {
    let item = &request.item;
    let of_providers = async || -> Result<Evidence, PipelineError> {
        let found = timed("retrieve", Box::pin(retrieve::retrieve(services, request, normal, claims, journal))).await?;
        let pages = timed("read", read::read(services, item, &found, journal)).await?;
        let judged = Box::pin(judged(services, request, normal, claims, &pages, journal)).await?;
        Ok((pages, judged))
    };
    let beside = Box::pin(model_search::beside(services, item, claims, journal, Box::pin(of_providers())));
    let ((mut pages, before), cited) = beside.await?;
    let Some(cited) = cited else { return Ok(before) };
    let more = timed("read", read::read(services, item, &cited, journal)).await?;
    let known: Vec<String> = pages.read.iter().map(|read| read.page.id.clone()).collect();
    pages.read.extend(more.read.into_iter().filter(|read| !known.contains(&read.page.id)));
    pages.searched = true;
    Box::pin(judged(services, request, normal, claims, &pages, journal)).await
}

/// The passages of these pages that are most about the claims, judged; a pair that was judged before is not judged again.
async fn judged(
    services: &Services,
    request: &Request,
    normal: &Normal,
    claims: &[Claim],
    pages: &Pages,
    journal: &Journal,
) -> Result<Judged, PipelineError> {
    let candidates = timed("rank", rank::rank(services, claims, pages, journal)).await?;
    let mut judged = timed("judge", judge::judge(services, normal, claims, candidates, pages, journal)).await?;
    let asked = Box::pin(adjudicate::adjudicate(services, &request.item, normal, claims, &mut judged, journal));
    timed("adjudicate", asked).await;
    Ok(judged)
}
