//! Retrieves pages for the item's claims until enough independent sources are found or the time is over.
//!
//! Steps: `known` queries the evidence store, which may suffice; `stages` plans the queries; `asking` sends them;
//! `choose` counts and selects pages. To add a stage, add a line in `stages`.
//!
//! Calls per claim, with W web search providers and Q queries (`enrichment.queries_max`):
//!
//! * none if the evidence store suffices;
//! * usually two: the best query on trusted sites and as an open search;
//! * at most W on trusted sites, W on sites of fact-checkers (without a fact-check provider) and W·Q open.
//!
//! A claim that is no news gets one more call to the encyclopaedia. Each own source gets one more call. A translated query replaces one of the Q and is always sent. Further result
//! pages and retries are extra; cached answers are free.
//! Feeds and trusted sites never end a search, because contradicting pages are usually elsewhere.

mod asking;
mod choose;
mod glance;
mod known;
pub(super) mod own;
#[cfg(test)]
pub(crate) mod samples;
mod stages;

use std::collections::BTreeMap;
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use tokio::time::Instant;

use self::asking::{Finds, Round};
use self::choose::share_out;
use self::glance::SnippetCache;
use self::known::StoredPages;
use self::own::OwnSite;
use self::stages::{Plan, selects};
use super::candidate::Candidate;
use super::claims::{Claim, main_claim};
use super::languages::{SearchLanguage, in_other_languages, languages_of};
use super::normalise::NormalisedItem;
use super::queries::queries;
use super::read::{ReadPage, RetrievalResult};
use super::run_context::{Journal, RunContext};
use super::services::{PipelineError, Services};
use crate::domain::Degradation;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;

/// Share of the time for retrieval and reading that the search may use.
const SEARCH_SHARE: f64 = 0.6;

pub(super) async fn retrieve(
    run: RunContext<'_>,
    normal: &NormalisedItem,
    claims: &[Claim],
) -> Result<RetrievalResult, PipelineError> {
    let RunContext { services, request, journal, .. } = run;
    let rules = services.rules.current();
    let nothing = |rules| Ok(RetrievalResult { rules, ..RetrievalResult::default() });
    let kinds = &request.item.source_types;
    if !kinds.is_empty() && kinds.iter().all(|kind| *kind == SourceKind::Factcheck) {
        journal.trace("search: not asked, the item's source_types leave it out");
        return nothing(rules);
    }
    if claims.iter().all(|claim| !claim.checkable()) {
        journal.trace("search: not asked, nothing can be checked");
        return nothing(rules);
    }
    let providers = &services.providers;
    let plan = Plan {
        own: &providers.own,
        search: &providers.search,
        kinds,
        rules: &rules,
        without_fact_checks: without_fact_checks(services, journal),
        now: journal.evaluated_at,
    };
    let has_store = providers.knowledge.is_some() && selects(kinds, SourceKind::Knowledge);
    let only_known = kinds.iter().all(|kind| matches!(kind, SourceKind::Knowledge | SourceKind::Factcheck));
    let wanted = services.max_sources(&request.item);
    let now = Instant::now();
    let snippets = SnippetCache::default();
    let round = Round {
        journal,
        cache: &services.search_cache,
        latencies: &services.latencies,
        rules: &rules,
        snippets: &snippets,
        own: OwnSite::of(request.item.url.as_deref(), &rules).linking(request.item.linked(), &rules),
        wanted,
        until: now + journal.ask_until.saturating_duration_since(now).mul_f64(SEARCH_SHARE),
        failed: Mutex::new(BTreeMap::new()),
    };
    let languages =
        languages_of(services, &request.item, normal, |language| plan.searches_in(language), journal).await?;
    let asking = |claim| one(run, normal, claim, &languages, &plan, &round);
    let searching = join_all(claims.iter().map(asking));
    let mut per_claim: Vec<(StoredPages, Finds)> = Vec::with_capacity(claims.len());
    for found in searching.await {
        per_claim.push(found?);
    }
    let settled = |(claim, (known, _)): (&Claim, &(StoredPages, Finds))| !claim.checkable() || known.suffices;
    let all_settled = claims.iter().zip(&per_claim).all(settled);
    let no_provider = plan.selected().next().is_none();
    if no_provider && !all_settled && !(has_store && !kinds.is_empty() && only_known) {
        journal.degrade(Degradation::NoProvider);
        journal.trace("search: no search provider is configured");
    }
    let searched = has_store || !no_provider;
    let page_ttl = TimeDelta::from_std(services.settings.page_ttl).unwrap_or(TimeDelta::days(1));
    let current_since = journal.evaluated_at - page_ttl;
    let (known, candidates) = gather(per_claim, main_claim(claims).unwrap_or(0), wanted, current_since, &rules);
    journal.trace(format!("search: {} page(s) to read, {wanted} wanted", candidates.len()));
    Ok(RetrievalResult { known, candidates, rules, searched })
}

async fn one<'r>(
    run: RunContext<'r>,
    normal: &NormalisedItem,
    claim: &Claim,
    languages: &[SearchLanguage],
    plan: &'r Plan<'r>,
    round: &'r Round<'r>,
) -> Result<(StoredPages, Finds), PipelineError> {
    if !claim.checkable() {
        return Ok((StoredPages::default(), Finds::default()));
    }
    let RunContext { services, request, .. } = run;
    let known = known::look_up(services, plan.kinds, normal, claim, round).await?;
    let mut finds = Finds::of(&claim.profile);
    if !known.suffices {
        finds.own_failures.extend(known.failure.clone());
        let settings = &services.settings;
        let (most, limit) = (settings.queries_per_claim, settings.search_results());
        let item = &request.item;
        let others = in_other_languages(run, normal, claim, languages, round.until).await;
        let asked = queries(claim, normal, item, most, others.len(), limit);
        round.search(plan.stages(&asked, &others), &mut finds).await;
    }
    Ok((known, finds))
}

/// Whether the fact-check provider is missing or could not be queried.
fn without_fact_checks(services: &Services, journal: &Journal) -> bool {
    let Some(provider) = &services.providers.fact_check else { return true };
    let name = provider.name();
    journal.degraded().iter().any(|cause| match cause {
        Degradation::ProviderOpen(who)
        | Degradation::ProviderBusy(who)
        | Degradation::ProviderFailed(who)
        | Degradation::ProviderDisabled(who)
        | Degradation::StoreAway(who) => who == name,
        Degradation::Deadline | Degradation::Budget => !journal.was_checked(name),
        _ => false,
    })
}

/// Selects the pages. Stored pages and own texts do not count against the limit. A stored page that was found again
/// is fetched if older than `current_since`.
fn gather(
    per_claim: Vec<(StoredPages, Finds)>,
    main: usize,
    wanted: usize,
    current_since: DateTime<Utc>,
    rules: &DomainRules,
) -> (Vec<ReadPage>, Vec<Candidate>) {
    let mut known: Vec<ReadPage> = Vec::new();
    let (mut own, mut pages) = (Vec::new(), Vec::new());
    for (of_claim, finds) in per_claim {
        for read in of_claim.pages {
            if !known.iter().any(|other| other.page.id == read.page.id) {
                known.push(read);
            }
        }
        own.push(finds.own);
        pages.push(finds.pages);
    }
    for found in &mut pages {
        found.retain(|candidate| {
            !known.iter().any(|read| read.page.url == candidate.url && read.page.read_at >= current_since)
        });
    }
    let mut candidates = share_out(pages, main, wanted, rules);
    candidates.extend(share_out(own, main, wanted, rules));
    known.retain(|read| !candidates.iter().any(|candidate| candidate.url == read.page.url));
    (known, candidates)
}
