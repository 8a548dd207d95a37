//! The item's own site. Its pages, and pages that the item links to, are no evidence for or against the item.
//! A site with many authors counts by page only.

use url::Url;

use crate::domain::rules::DomainRules;
use crate::domain::verdict::SourceType;
use crate::judging::credibility::UNKNOWN_CREDIBILITY;
use crate::judging::{credibility, independence};
use crate::pipeline::candidate::same_page;
use crate::reading::{canonical_url, registered_domain};

#[derive(Debug, Clone, Default)]
pub(in crate::pipeline) struct OwnSite {
    page: Option<Url>,
    /// Registered domain, if the site has one publisher.
    domain: Option<String>,
    /// Pages that the item links to.
    links: Vec<Url>,
    /// Linked sites of unknown credibility. On a known site only the linked page is excluded: a link must not exclude
    /// a reliable paper's denial.
    linked_domains: Vec<String>,
}

impl OwnSite {
    /// Returns the site of an address. On social platforms, blogs and reference works each page has its own authors.
    pub(in crate::pipeline) fn of(address: Option<&str>, rules: &DomainRules) -> Self {
        let page = address.and_then(|address| Url::parse(address).ok()).map(|url| canonical_url(&url));
        let host = page.as_ref().and_then(Url::host_str).unwrap_or_default();
        let (_, kind) = credibility::credibility(host, rules);
        let is_one_publisher =
            !host.is_empty() && !matches!(kind, SourceType::Social | SourceType::Reference | SourceType::Blog);
        Self { domain: is_one_publisher.then(|| registered_domain(host)), page, ..Self::default() }
    }

    /// Adds the pages that the item links to.
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

    /// Whether a canonical URL is the item's own, or on a site of its publisher.
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
