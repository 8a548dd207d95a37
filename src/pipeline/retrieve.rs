//! Retrieval: the queries go to the search providers in order until enough independent sources are found.

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::join_all;
use url::Url;

use super::claims::{Claim, main_claim};
use super::normalise::Normal;
use super::queries::queries;
use super::{Journal, Request, Services};
use crate::domain::Degradation;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::judging::credibility::credibility;
use crate::providers::{Answer, Hit, Provider, Query};
use crate::reading::{canonical_url, registered_domain};

/// A page worth reading.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Canonical form: the key under which a page is stored and shared.
    pub(crate) url: Url,
    pub(crate) hit: Hit,
    pub(crate) domain: String,
}

/// The pages to read, best first, and whether the search itself went well.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) rules: Arc<DomainRules>,
    /// Whether anybody was to be asked at all.
    pub(crate) searched: bool,
}

pub(super) async fn retrieve(
    services: &Services,
    request: &Request,
    normal: &Normal,
    claims: &[Claim],
    journal: &Journal,
) -> Found {
    let rules = services.rules.current();
    let kinds = &request.item.source_types;
    if !kinds.is_empty() && !kinds.contains(&SourceKind::Web) {
        journal.trace("search: not asked, the item's source_types leave the web out");
        return Found { candidates: Vec::new(), rules, searched: false };
    }
    if claims.iter().all(|claim| !claim.checkable()) {
        journal.trace("search: not asked, nothing can be checked");
        return Found { candidates: Vec::new(), rules, searched: false };
    }
    if services.providers.search.is_empty() {
        journal.degrade(Degradation::NoProvider);
        journal.trace("search: no search provider is configured");
        return Found { candidates: Vec::new(), rules, searched: false };
    }
    let wanted = services.max_sources(&request.item);
    let own = request.item.url.as_deref().and_then(|url| Url::parse(url).ok()).map(|url| canonical_url(&url));
    let search = Search { services, journal, rules: &rules, own: own.as_ref(), wanted };
    let per_claim = join_all(claims.iter().map(|claim| async {
        if !claim.checkable() {
            return Vec::new();
        }
        let settings = &services.settings;
        let asked = queries(claim, normal, &request.item, settings.queries_per_claim, settings.search_results);
        search.claim(&only_allowed(asked, &rules)).await
    }))
    .await;
    let candidates = share_out(per_claim, main_claim(claims).unwrap_or(0), wanted, &rules);
    journal.trace(format!("search: {} page(s) to read, {wanted} wanted", candidates.len()));
    Found { candidates, rules, searched: true }
}

/// With the allow list only, an open search would be thrown away whole: each query then asks a few allowed domains, the
/// queries of a claim different ones.
fn only_allowed(mut queries: Vec<Query>, rules: &DomainRules) -> Vec<Query> {
    let allowed = rules.allowed();
    if !rules.allowlist_only || allowed.is_empty() {
        return queries;
    }
    let parts: Vec<&[&str]> = allowed.chunks(DOMAINS_PER_QUERY).collect();
    for (query, part) in queries.iter_mut().zip(parts.into_iter().cycle()) {
        query.domains = part.iter().map(|domain| domain.trim_start_matches("*.").to_owned()).collect();
    }
    queries
}

/// Domains one query names: more would not leave room for the words in GDELT's 250 characters.
const DOMAINS_PER_QUERY: usize = 5;

struct Search<'a> {
    services: &'a Services,
    journal: &'a Journal,
    rules: &'a DomainRules,
    own: Option<&'a Url>,
    wanted: usize,
}

impl Search<'_> {
    /// Asks provider after provider, query after query, and stops when enough different domains were found. A provider
    /// that fails degrades the item unless a later one makes up for it.
    async fn claim(&self, queries: &[Query]) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let mut failures: Vec<Degradation> = Vec::new();
        for provider in &self.services.providers.search {
            for query in queries {
                if self.enough(&found) {
                    return found;
                }
                match self.ask(provider, query).await {
                    Ok(answer) => self.keep(&answer, &mut found),
                    Err(cause) => {
                        failures.push(cause);
                        // What refused one query refuses the next; time is better spent on another provider.
                        break;
                    }
                }
            }
        }
        if !self.enough(&found) {
            for cause in failures {
                self.journal.degrade(cause);
            }
        }
        found
    }

    fn enough(&self, found: &[Candidate]) -> bool {
        let domains: HashSet<&str> = found.iter().map(|candidate| candidate.domain.as_str()).collect();
        domains.len() >= self.wanted.min(3) && found.len() >= self.wanted
    }

    async fn ask(&self, provider: &Arc<dyn Provider>, query: &Query) -> Result<Arc<Answer>, Degradation> {
        let name = provider.name();
        match self.services.ask(provider, query, self.journal).await {
            Ok(answer) => {
                self.journal.checked(name);
                Ok(answer)
            }
            Err(error) => {
                self.journal.trace(format!("search: {name} could not be asked: {error}"));
                Err(error.degradation(name))
            }
        }
    }

    fn keep(&self, answer: &Answer, found: &mut Vec<Candidate>) {
        for hit in &answer.hits {
            let Ok(url) = Url::parse(&hit.url) else { continue };
            if !matches!(url.scheme(), "http" | "https") {
                continue;
            }
            let Some(host) = url.host_str().map(str::to_owned) else { continue };
            let canonical = canonical_url(&url);
            let known = found.iter().any(|candidate| candidate.url == canonical);
            if known || self.rules.is_denied(&host) || self.own == Some(&canonical) {
                continue;
            }
            found.push(Candidate { domain: registered_domain(&host), url: canonical, hit: hit.clone() });
        }
    }
}

/// The item's pages: the claims take turns, the main claim first; within a claim trusted domains come before the rest.
fn share_out(mut per_claim: Vec<Vec<Candidate>>, main: usize, wanted: usize, rules: &DomainRules) -> Vec<Candidate> {
    for candidates in &mut per_claim {
        // Stable: among equally credible sites the provider's order stands.
        candidates.sort_by(|a, b| trust(b, rules).total_cmp(&trust(a, rules)));
    }
    if main < per_claim.len() {
        per_claim.rotate_left(main);
    }
    let mut queues: Vec<std::vec::IntoIter<Candidate>> = per_claim.into_iter().map(Vec::into_iter).collect();
    let mut chosen: Vec<Candidate> = Vec::new();
    while chosen.len() < wanted {
        let mut any = false;
        for queue in &mut queues {
            for candidate in queue.by_ref() {
                if !chosen.iter().any(|known| known.url == candidate.url) {
                    any = true;
                    chosen.push(candidate);
                    break;
                }
            }
            if chosen.len() >= wanted {
                break;
            }
        }
        if !any {
            break;
        }
    }
    chosen
}

fn trust(candidate: &Candidate, rules: &DomainRules) -> f64 {
    let host = candidate.url.host_str().unwrap_or_default();
    let (credible, _) = credibility(host, rules);
    if rules.is_allowed(host) { credible + 1.0 } else { credible }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::Storage;

    fn candidate(url: &str) -> Candidate {
        let url = Url::parse(url).unwrap();
        Candidate {
            domain: url.host_str().unwrap().to_owned(),
            hit: Hit {
                url: url.to_string(),
                title: String::new(),
                snippet: String::new(),
                published_at: None,
                language: None,
                provider: "searxng",
                storage: Storage::Stored,
                content: None,
            },
            url,
        }
    }

    #[test]
    fn claims_take_turns_and_a_page_is_read_once() {
        let first = vec![candidate("https://a.example/1"), candidate("https://a.example/2")];
        let second = vec![candidate("https://a.example/1"), candidate("https://b.example/3")];
        let chosen = share_out(vec![first, second], 1, 3, &DomainRules::default());
        let urls: Vec<&str> = chosen.iter().map(|candidate| candidate.url.path()).collect();
        assert_eq!(urls, ["/1", "/2", "/3"]);
    }
}
