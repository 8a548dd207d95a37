//! The language model's own web search, as a last resort.
//! It runs in parallel to the providers, from `llm.search_after` or their end on. It is used only if a claim has no
//! fact-check and no passage that takes a side.
//! Cited pages are fetched and judged like any page; the model's own statements are never used. A search that is not
//! needed is dropped.

use std::future::Future;
use std::pin::pin;

use tokio::sync::Notify;
use tokio::time::sleep;
use url::Url;

use super::candidate::Candidate;
use super::claims::Claim;
use super::judge::{JudgedClaim, JudgedItem};
use super::language_model::failed;
use super::read::{Pages, RetrievalResult};
use super::retrieve::own::OwnSite;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::Item;
use crate::domain::evidence::JudgedPassage;
use crate::domain::item::SourceKind;
use crate::domain::limits::is_storable_url;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Stance;
use crate::inference::llm::retrieval::search as question;
use crate::inference::llm::{LanguageModel, LlmError, Purpose};
use crate::providers::{Hit, Storage};
use crate::reading::{canonical_url, registered_domain};

pub(super) const LLM_SEARCH: &str = "llm_search";

/// Pages and judgements from the providers.
pub(super) type Evidence = (Pages, JudgedItem);

/// Returns the providers' evidence, and cited pages if some claim needs them.
pub(super) async fn in_parallel(
    services: &Services,
    item: &Item,
    claims: &[Claim],
    reviewed: &[bool],
    journal: &Journal,
    evidence: impl Future<Output = Result<Evidence, PipelineError>>,
) -> Result<(Evidence, Option<RetrievalResult>), PipelineError> {
    let is_wanted = item.source_types.is_empty() || item.source_types.contains(&SourceKind::Web);
    let Some(model) = services.language_model_for(Purpose::Search).filter(|_| is_wanted) else {
        return Ok((evidence.await?, None));
    };
    let at_once = Notify::new();
    let mut searching = pin!(search(services, model, claims, &at_once, journal));
    let mut evidence = pin!(evidence);
    let mut answer = None;
    let (pages, judged) = loop {
        // Neither future waits for the other, and the search can be dropped.
        tokio::select! {
            biased;
            evidence = &mut evidence => break evidence?,
            found = &mut searching, if answer.is_none() => answer = Some(found),
        }
    };
    if !is_needed(services, claims, &judged, reviewed) {
        return Ok(((pages, judged), None));
    }
    at_once.notify_one();
    let answer = match answer {
        Some(answer) => answer,
        None => searching.await,
    };
    match answer {
        Ok(Some(answer)) => {
            journal.checked(model.name());
            let found = found(services, item, &answer, journal);
            Ok(((pages, judged), (!found.candidates.is_empty()).then_some(found)))
        }
        Ok(None) => Ok(((pages, judged), None)),
        Err(error) => {
            failed(model.name(), "model_search", &error, journal);
            Ok(((pages, judged), None))
        }
    }
}

/// Starts after the delay or when notified.
async fn search(
    services: &Services,
    model: &LanguageModel,
    claims: &[Claim],
    at_once: &Notify,
    journal: &Journal,
) -> Result<Option<Vec<String>>, LlmError> {
    let checkable = claims.iter().filter(|claim| claim.checkable());
    let asked: Vec<(&str, Option<chrono::NaiveDate>)> =
        checkable.map(|claim| (claim.text.as_str(), claim.date.map(|date| date.date_naive()))).collect();
    let Some(question) = question(journal.evaluated_at.date_naive(), &asked) else { return Ok(None) };
    // `Notify` stores an earlier notification.
    tokio::select! {
        () = sleep(services.settings.llm_search_after) => {}
        () = at_once.notified() => {}
    }
    model.search(&question, &journal.llm, journal.ask_until).await.map(Some)
}

/// Whether a checkable claim has no fact-check and no passage that takes a side.
fn is_needed(services: &Services, claims: &[Claim], judged: &JudgedItem, reviewed: &[bool]) -> bool {
    let floor = services.settings.scoring.relevance_floor;
    let is_open = |(place, (claim, judged)): (usize, (&Claim, &JudgedClaim))| {
        claim.checkable() && !reviewed.get(place).copied().unwrap_or(false) && !takes_a_side(judged, floor)
    };
    claims.iter().zip(&judged.claims).enumerate().any(is_open)
}

fn takes_a_side(judged: &JudgedClaim, floor: f64) -> bool {
    let by_model = |passage: &JudgedPassage| passage.adjudication.is_some_and(|one| one.stance != Stance::Neutral);
    let by_us = |passage: &JudgedPassage| passage.relevance >= floor && passage.stance() != Stance::Neutral;
    judged.passages.iter().any(|passage| by_us(passage) || by_model(passage))
}

/// Returns canonical URLs, without denied ones and the own site.
fn cited(item: &Item, addresses: &[String], rules: &DomainRules) -> Vec<Url> {
    let own = OwnSite::of(item.url.as_deref(), rules).linking(item.linked(), rules);
    let mut urls: Vec<Url> = Vec::new();
    for url in addresses.iter().filter_map(|address| Url::parse(address).ok()).map(|url| canonical_url(&url)) {
        if is_storable_url(url.as_str())
            && !own.holds(&url)
            && !urls.contains(&url)
            && !rules.is_denied(url.host_str().unwrap_or_default())
        {
            urls.push(url);
        }
    }
    urls
}

/// Removes pages of the item's own site, also behind redirects.
pub(super) fn without_own(services: &Services, item: &Item, pages: &mut Pages) {
    let rules = services.rules.current();
    let own = OwnSite::of(item.url.as_deref(), &rules).linking(item.linked(), &rules);
    let is_own = |url: &Url| own.holds(&canonical_url(url));
    pages.read.retain(|read| {
        let canonical = read.page.canonical.as_deref().and_then(|address| Url::parse(address).ok());
        !is_own(&read.page.final_url) && !canonical.is_some_and(|url| is_own(&url))
    });
}

fn found(services: &Services, item: &Item, addresses: &[String], journal: &Journal) -> RetrievalResult {
    let rules = services.rules.current();
    let mut urls = cited(item, addresses, &rules);
    urls.truncate(services.max_sources(item));
    journal.trace(format!("model_search: {} address(es) cited, {} to read", addresses.len(), urls.len()));
    let candidate = |url: Url| {
        let domain = registered_domain(url.host_str().unwrap_or_default());
        let hit = Hit {
            url: url.to_string(),
            title: String::new(),
            snippet: String::new(),
            published_at: None,
            language: None,
            provider: LLM_SEARCH,
            storage: Storage::Stored,
            content: None,
        };
        Candidate { url, hit, domain, about: true }
    };
    let candidates = urls.into_iter().map(candidate).collect();
    RetrievalResult { candidates, rules, searched: true, ..RetrievalResult::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_own_site_is_no_source_of_it_however_it_is_cited() {
        let mut item = Item::from_claim("a".into(), "The port of Velmora is closed.");
        item.url = Some("https://www.reuters.com/world/velmora-port-2026-11-20/".into());
        let rules = DomainRules::default();
        let addresses = [
            "https://m.reuters.com/article/velmora-port",
            "https://www.reuters.com/world/velmora-port-2026-11-20/?utm_source=x",
            "https://apnews.com/velmora",
            "https://apnews.com/velmora#top",
            "not an address",
        ];
        let found = cited(&item, &addresses.map(str::to_owned), &rules);
        let found: Vec<&str> = found.iter().map(Url::as_str).collect();
        assert_eq!(found, ["https://apnews.com/velmora"]);
    }
}
