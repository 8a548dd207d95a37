//! The item's own site: what else it publishes says nothing for or against the item. Nor does a page that the item links to.

use url::Url;

use crate::domain::rules::DomainRules;
use crate::domain::verdict::SourceType;
use crate::judging::credibility::UNKNOWN_CREDIBILITY;
use crate::judging::{credibility, independence};
use crate::pipeline::candidate::same_page;
use crate::reading::{canonical_url, registered_domain};

/// Where the item stands.
#[derive(Debug, Clone, Default)]
pub(in crate::pipeline) struct OwnSite {
    page: Option<Url>,
    /// The registered domain, where one publisher speaks on it.
    domain: Option<String>,
    /// Pages that the item links to, where their claims are its own.
    links: Vec<Url>,
    /// Registered domains of those that nothing is known of: their other pages are the same voice. Of a site that is known
    /// only the page is left out, or a link to it would keep an honest paper's denial from being read.
    linked_domains: Vec<String>,
}

impl OwnSite {
    /// Of an item's address; it links to nothing. On a social platform, among blogs and in a reference work every page has
    /// authors of its own.
    pub(in crate::pipeline) fn of(address: Option<&str>, rules: &DomainRules) -> Self {
        let page = address.and_then(|address| Url::parse(address).ok()).map(|url| canonical_url(&url));
        let host = page.as_ref().and_then(Url::host_str).unwrap_or_default();
        let (_, kind) = credibility::credibility(host, rules);
        let is_one_publisher =
            !host.is_empty() && !matches!(kind, SourceType::Social | SourceType::Reference | SourceType::Blog);
        Self { domain: is_one_publisher.then(|| registered_domain(host)), page, ..Self::default() }
    }

    /// The same of an item that links to these pages.
    #[must_use]
    pub(in crate::pipeline) fn linking<'a>(
        mut self,
        links: impl Iterator<Item = &'a str>,
        rules: &DomainRules,
    ) -> Self {
        for link in links {
            let Self { page, domain, .. } = Self::of(Some(link), rules);
            let (credibility, kind) = credibility::credibility(domain.as_deref().unwrap_or_default(), rules);
            let is_known = credibility > UNKNOWN_CREDIBILITY || kind == SourceType::FactChecker;
            self.linked_domains.extend(domain.filter(|_| !is_known));
            self.links.extend(page);
        }
        self
    }

    /// Whether a page, by its canonical address, is the item's own or stands on its publisher's site.
    pub(in crate::pipeline) fn holds(&self, url: &Url) -> bool {
        let is_of_site = |own: &String| {
            let domain = registered_domain(url.host_str().unwrap_or_default());
            let owner = independence::owner(own);
            *own == domain || owner.is_some() && owner == independence::owner(&domain)
        };
        self.page.as_ref() == Some(url)
            || self.links.iter().any(|link| same_page(link, url))
            || self.domain.iter().chain(&self.linked_domains).any(is_of_site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(item: &str, page: &str) -> bool {
        OwnSite::of(Some(item), &DomainRules::default()).holds(&Url::parse(page).unwrap())
    }

    #[test]
    fn a_publishers_other_pages_do_not_bear_it_out() {
        assert!(holds("https://www.own.example/story?utm_source=x", "https://own.example/story"));
        assert!(holds("https://own.example/story", "https://m.own.example/follow-up"));
        assert!(holds("https://www.bbc.com/news/1", "https://www.bbc.co.uk/news/2"), "one owner");
        assert!(!holds("https://own.example/story", "https://other.example/story"));
        assert!(!holds("https://t.me/channel1/482", "https://t.me/channel2/17"), "another channel");
        assert!(holds("https://t.me/channel1/482", "https://t.me/channel1/482"));
        assert!(!holds("https://en.wikipedia.org/wiki/Kyiv", "https://en.wikipedia.org/wiki/Dnipro"));
        let links = ["https://www.rumours.example/a?utm_source=x", "https://www.reuters.com/world/1"];
        let linking = OwnSite::default().linking(links.into_iter(), &DomainRules::default());
        let holds = |page: &str| linking.holds(&Url::parse(page).unwrap());
        assert!(holds("https://rumours.example/a") && holds("https://rumours.example/other"));
        assert!(
            holds("https://reuters.com/world/1") && !holds("https://reuters.com/world/2"),
            "a known paper may deny it"
        );
        assert!(!holds("https://third.example/a"));
        let nowhere = OwnSite::of(None, &DomainRules::default());
        assert!(!nowhere.holds(&Url::parse("corpus://notes/1").unwrap()));
    }
}
