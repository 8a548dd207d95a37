//! Credibility of a host: the operator's rule, else the type of site, else a neutral 0.5. Affects ranks and confidence,
//! never the stance. To add a site, extend `KNOWN_SITES`.

use corroborate_domain::rules::{ALLOW_MIN_CREDIBILITY, DomainList, DomainRules};
use corroborate_domain::verdict::SourceType;

pub const UNKNOWN_CREDIBILITY: f64 = 0.5;

/// Known domains with the values of the knowledge-base design, or similar ones for the same tier. Subdomains are
/// included.
const KNOWN_SITES: &[(&str, f64, SourceType)] = &[
    // Fact-checkers: 0.90–0.95 by design, with IFCN signatories at the lower end.
    ("snopes.com", 0.95, SourceType::FactChecker),
    ("factcheck.org", 0.95, SourceType::FactChecker),
    ("politifact.com", 0.95, SourceType::FactChecker),
    ("fullfact.org", 0.95, SourceType::FactChecker),
    ("factcheck.afp.com", 0.9, SourceType::FactChecker),
    ("factuel.afp.com", 0.9, SourceType::FactChecker),
    ("factual.afp.com", 0.9, SourceType::FactChecker),
    ("checamos.afp.com", 0.9, SourceType::FactChecker),
    ("africacheck.org", 0.9, SourceType::FactChecker),
    ("leadstories.com", 0.9, SourceType::FactChecker),
    ("checkyourfact.com", 0.9, SourceType::FactChecker),
    ("correctiv.org", 0.9, SourceType::FactChecker),
    ("maldita.es", 0.9, SourceType::FactChecker),
    ("newtral.es", 0.9, SourceType::FactChecker),
    ("chequeado.com", 0.9, SourceType::FactChecker),
    ("aosfatos.org", 0.9, SourceType::FactChecker),
    ("lupa.uol.com.br", 0.9, SourceType::FactChecker),
    ("projetocomprova.com.br", 0.9, SourceType::FactChecker),
    ("poligrafo.sapo.pt", 0.9, SourceType::FactChecker),
    ("pagellapolitica.it", 0.9, SourceType::FactChecker),
    ("demagog.org.pl", 0.9, SourceType::FactChecker),
    ("teyit.org", 0.9, SourceType::FactChecker),
    ("faktisk.no", 0.9, SourceType::FactChecker),
    ("stopfake.org", 0.9, SourceType::FactChecker),
    ("voxukraine.org", 0.9, SourceType::FactChecker),
    ("provereno.media", 0.9, SourceType::FactChecker),
    ("factcheck.kz", 0.9, SourceType::FactChecker),
    ("healthfeedback.org", 0.9, SourceType::FactChecker),
    ("science.feedback.org", 0.9, SourceType::FactChecker),
    // International bodies without a government suffix.
    ("who.int", 0.95, SourceType::Government),
    ("un.org", 0.95, SourceType::Government),
    ("europa.eu", 0.95, SourceType::Government),
    ("worldbank.org", 0.9, SourceType::Government),
    ("imf.org", 0.9, SourceType::Government),
    ("oecd.org", 0.9, SourceType::Government),
    // Wires and public broadcasters.
    ("reuters.com", 0.9, SourceType::News),
    ("apnews.com", 0.9, SourceType::News),
    ("afp.com", 0.9, SourceType::News),
    ("bbc.com", 0.9, SourceType::News),
    ("bbc.co.uk", 0.9, SourceType::News),
    ("npr.org", 0.85, SourceType::News),
    ("pbs.org", 0.85, SourceType::News),
    ("dw.com", 0.85, SourceType::News),
    ("cbc.ca", 0.85, SourceType::News),
    ("suspilne.media", 0.8, SourceType::News),
    ("france24.com", 0.8, SourceType::News),
    ("rferl.org", 0.8, SourceType::News),
    ("svoboda.org", 0.8, SourceType::News),
    ("radiosvoboda.org", 0.8, SourceType::News),
    ("azattyq.org", 0.8, SourceType::News),
    ("azattyk.org", 0.8, SourceType::News),
    ("lsm.lv", 0.8, SourceType::News),
    ("err.ee", 0.8, SourceType::News),
    ("lrt.lt", 0.8, SourceType::News),
    // Newspapers with editorial review.
    ("nytimes.com", 0.8, SourceType::News),
    ("washingtonpost.com", 0.8, SourceType::News),
    ("theguardian.com", 0.8, SourceType::News),
    ("wsj.com", 0.8, SourceType::News),
    ("ft.com", 0.8, SourceType::News),
    ("economist.com", 0.8, SourceType::News),
    ("bloomberg.com", 0.8, SourceType::News),
    ("lemonde.fr", 0.8, SourceType::News),
    ("spiegel.de", 0.8, SourceType::News),
    ("elpais.com", 0.8, SourceType::News),
    // International news.
    ("aljazeera.com", 0.75, SourceType::News),
    ("cnn.com", 0.75, SourceType::News),
    ("abcnews.go.com", 0.75, SourceType::News),
    ("cbsnews.com", 0.75, SourceType::News),
    ("nbcnews.com", 0.75, SourceType::News),
    ("usatoday.com", 0.75, SourceType::News),
    ("wired.com", 0.75, SourceType::News),
    ("pravda.com.ua", 0.75, SourceType::News),
    ("unian.net", 0.7, SourceType::News),
    ("unian.ua", 0.7, SourceType::News),
    ("ukrinform.net", 0.75, SourceType::News),
    ("ukrinform.ua", 0.75, SourceType::News),
    ("interfax.com.ua", 0.75, SourceType::News),
    ("meduza.io", 0.75, SourceType::News),
    ("theins.ru", 0.75, SourceType::News),
    ("novayagazeta.eu", 0.75, SourceType::News),
    // Owned by a party to many of their reports.
    ("tass.ru", 0.5, SourceType::News),
    ("tass.com", 0.5, SourceType::News),
    ("ria.ru", 0.5, SourceType::News),
    ("interfax.ru", 0.6, SourceType::News),
    // Deprecated by Wikipedia's editors (list of perennial sources).
    ("rt.com", 0.2, SourceType::News),
    ("sputniknews.com", 0.2, SourceType::News),
    ("sputnikglobe.com", 0.2, SourceType::News),
    ("dailymail.co.uk", 0.3, SourceType::News),
    ("thesun.co.uk", 0.3, SourceType::News),
    ("infowars.com", 0.05, SourceType::Blog),
    ("naturalnews.com", 0.05, SourceType::Blog),
    ("beforeitsnews.com", 0.05, SourceType::Blog),
    ("globalresearch.ca", 0.1, SourceType::Blog),
    ("zerohedge.com", 0.2, SourceType::Blog),
    // Academic.
    ("nature.com", 0.9, SourceType::Academic),
    ("science.org", 0.9, SourceType::Academic),
    ("sciencemag.org", 0.9, SourceType::Academic),
    ("thelancet.com", 0.9, SourceType::Academic),
    ("nejm.org", 0.9, SourceType::Academic),
    ("bmj.com", 0.9, SourceType::Academic),
    ("pnas.org", 0.9, SourceType::Academic),
    ("plos.org", 0.85, SourceType::Academic),
    ("sciencedirect.com", 0.85, SourceType::Academic),
    ("springer.com", 0.85, SourceType::Academic),
    ("arxiv.org", 0.8, SourceType::Academic),
    ("biorxiv.org", 0.75, SourceType::Academic),
    ("medrxiv.org", 0.75, SourceType::Academic),
    ("scholar.google.com", 0.8, SourceType::Academic),
    // Reference works. Britannica and national encyclopaedias have editors.
    ("britannica.com", 0.85, SourceType::Reference),
    ("vue.gov.ua", 0.85, SourceType::Reference),
    ("esu.com.ua", 0.85, SourceType::Reference),
    ("bigenc.ru", 0.7, SourceType::Reference),
    ("wikipedia.org", 0.75, SourceType::Reference),
    ("wikidata.org", 0.7, SourceType::Reference),
    ("merriam-webster.com", 0.85, SourceType::Reference),
    // Satire: never evidence.
    ("theonion.com", 0.05, SourceType::Satire),
    ("babylonbee.com", 0.05, SourceType::Satire),
    ("waterfordwhispersnews.com", 0.05, SourceType::Satire),
    ("thedailymash.co.uk", 0.05, SourceType::Satire),
    ("newsthump.com", 0.05, SourceType::Satire),
    ("thebeaverton.com", 0.05, SourceType::Satire),
    ("borowitzreport.com", 0.05, SourceType::Satire),
    ("der-postillon.com", 0.05, SourceType::Satire),
    ("legorafi.fr", 0.05, SourceType::Satire),
    ("elmundotoday.com", 0.05, SourceType::Satire),
    ("lercio.it", 0.05, SourceType::Satire),
    ("sensacionalista.com.br", 0.05, SourceType::Satire),
    ("panorama.pub", 0.05, SourceType::Satire),
    // Social platforms: context only (`docs/scoring.md`, independent groups).
    ("x.com", 0.2, SourceType::Social),
    ("truthsocial.com", 0.2, SourceType::Social),
    ("gettr.com", 0.2, SourceType::Social),
    ("gab.com", 0.1, SourceType::Social),
    ("parler.com", 0.1, SourceType::Social),
    ("nitter.net", 0.2, SourceType::Social),
    ("weibo.com", 0.2, SourceType::Social),
    ("snapchat.com", 0.2, SourceType::Social),
    ("tgstat.ru", 0.2, SourceType::Social),
    ("tgstat.com", 0.2, SourceType::Social),
    ("max.ru", 0.2, SourceType::Social),
    ("mastodon.world", 0.2, SourceType::Social),
    ("mastodon.online", 0.2, SourceType::Social),
    ("discord.com", 0.2, SourceType::Social),
    ("tumblr.com", 0.2, SourceType::Social),
    ("twitter.com", 0.2, SourceType::Social),
    ("facebook.com", 0.2, SourceType::Social),
    ("instagram.com", 0.2, SourceType::Social),
    ("threads.net", 0.2, SourceType::Social),
    ("threads.com", 0.2, SourceType::Social),
    ("tiktok.com", 0.2, SourceType::Social),
    ("youtube.com", 0.2, SourceType::Social),
    ("youtu.be", 0.2, SourceType::Social),
    ("reddit.com", 0.2, SourceType::Social),
    ("t.me", 0.2, SourceType::Social),
    ("telegram.me", 0.2, SourceType::Social),
    ("vk.com", 0.2, SourceType::Social),
    ("ok.ru", 0.2, SourceType::Social),
    ("linkedin.com", 0.2, SourceType::Social),
    ("pinterest.com", 0.2, SourceType::Social),
    ("quora.com", 0.2, SourceType::Social),
    ("4chan.org", 0.1, SourceType::Social),
    ("bsky.app", 0.2, SourceType::Social),
    ("mastodon.social", 0.2, SourceType::Social),
    ("rumble.com", 0.2, SourceType::Social),
    ("bitchute.com", 0.1, SourceType::Social),
    ("whatsapp.com", 0.2, SourceType::Social),
    // Anonymous publishing.
    ("blogspot.com", 0.3, SourceType::Blog),
    ("blogger.com", 0.3, SourceType::Blog),
    ("wordpress.com", 0.3, SourceType::Blog),
    ("medium.com", 0.35, SourceType::Blog),
    ("substack.com", 0.35, SourceType::Blog),
    ("tumblr.com", 0.3, SourceType::Blog),
    ("livejournal.com", 0.3, SourceType::Blog),
    ("telegra.ph", 0.2, SourceType::Blog),
    ("dzen.ru", 0.3, SourceType::Blog),
    ("weebly.com", 0.3, SourceType::Blog),
    ("wixsite.com", 0.3, SourceType::Blog),
    ("github.io", 0.35, SourceType::Blog),
];

/// Second-level labels that a country reserves (`gov.uk`, `gob.mx`, `gouv.fr`, `go.jp`, `mil.br`, `ac.uk`).
const GOVERNMENT_LABELS: &[&str] = &["gov", "gob", "gouv", "govt", "gub", "gv", "go", "mil", "admin"];
const ACADEMIC_LABELS: &[&str] = &["edu", "ac", "acad"];

/// Cheap top-level domains, mostly of throw-away sites.
const CHEAP_SUFFIXES: &[&str] = &[
    "xyz", "top", "click", "buzz", "icu", "loan", "win", "bid", "gq", "cf", "tk", "ml", "ga", "cam", "rest", "monster",
];

const LINK_FARM_WORDS: &[&str] = &[
    "seo",
    "backlink",
    "clickbait",
    "viralnews",
    "newsbuzz",
    "pressrelease",
    "freearticle",
    "ezine",
    "coupon",
    "casino",
];

/// Returns credibility (0–1) and type. An allowed host gets its rule's or type's value, at least
/// [`ALLOW_MIN_CREDIBILITY`]; a denied one 0.
pub fn credibility(host: &str, rules: &DomainRules) -> (f64, SourceType) {
    let host = host.trim().trim_end_matches('.').to_lowercase();
    let (inherent, kind) = inherent(&host);
    let Some(rule) = rules.rule_for(&host) else {
        return (inherent, kind);
    };
    let kind = rule.source_type.unwrap_or(kind);
    let figure = match (rule.list, rule.credibility) {
        (DomainList::Deny, _) => 0.0,
        (DomainList::Allow, Some(stated)) => stated.clamp(ALLOW_MIN_CREDIBILITY, 1.0),
        (DomainList::Allow, None) => inherent.max(ALLOW_MIN_CREDIBILITY),
    };
    (figure, kind)
}

fn inherent(host: &str) -> (f64, SourceType) {
    let mut rest = Some(host);
    while let Some(name) = rest {
        if let Some((_, figure, kind)) = KNOWN_SITES.iter().find(|(domain, _, _)| *domain == name) {
            return (*figure, *kind);
        }
        rest = name.split_once('.').map(|(_, tail)| tail);
    }
    suffix(host).unwrap_or_else(|| demoted(host))
}

/// Government and academic suffixes: `.gov`, `.mil`, `.int`, `.edu`, and those under a country code.
fn suffix(host: &str) -> Option<(f64, SourceType)> {
    let mut labels = host.rsplit('.');
    let top = labels.next()?;
    let second = labels.next()?;
    let third = labels.next();
    match top {
        "gov" | "mil" => return Some((0.95, SourceType::Government)),
        "int" => return Some((0.9, SourceType::Government)),
        "edu" => return Some((0.85, SourceType::Academic)),
        _ => {}
    }
    if top.len() != 2 {
        return None;
    }
    // Needs a country code and a name: `go.jp` is a suffix, `go.com` a company. Some governments use the suffix itself
    // (`gov.uk`).
    let named = third.is_some() || second == "gov";
    if GOVERNMENT_LABELS.contains(&second) && named {
        return Some((0.9, SourceType::Government));
    }
    if (top == "ca" && second == "gc") || (top == "ch" && second == "admin") {
        return Some((0.9, SourceType::Government));
    }
    (ACADEMIC_LABELS.contains(&second) && third.is_some()).then_some((0.85, SourceType::Academic))
}

/// Lower values for link farms and anonymous blogs.
fn demoted(host: &str) -> (f64, SourceType) {
    let top = host.rsplit('.').next().unwrap_or_default();
    let hyphens = host.matches('-').count();
    let advertised = LINK_FARM_WORDS.iter().any(|word| host.contains(word));
    if advertised || hyphens >= 3 {
        return (0.2, SourceType::LinkFarm);
    }
    if host.starts_with("blog.") || host.starts_with("blogs.") || host.contains(".blog") {
        return (0.35, SourceType::Blog);
    }
    if CHEAP_SUFFIXES.contains(&top) {
        return (0.3, SourceType::Unknown);
    }
    (UNKNOWN_CREDIBILITY, SourceType::Unknown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use corroborate_domain::rules::DomainRule;

    fn rules(list: DomainList, domain: &str, credibility: Option<f64>) -> DomainRules {
        DomainRules::new([DomainRule { domain: domain.into(), list, credibility, source_type: None, why: None }], false)
    }

    #[test]
    fn a_host_is_as_credible_as_its_kind_of_site() {
        let none = DomainRules::default();
        let cases = [
            ("www.reuters.com", 0.9, SourceType::News),
            ("snopes.com", 0.95, SourceType::FactChecker),
            ("factcheck.afp.com", 0.9, SourceType::FactChecker),
            ("www.afp.com", 0.9, SourceType::News),
            ("cdc.gov", 0.95, SourceType::Government),
            ("www.gov.uk", 0.9, SourceType::Government),
            ("moz.gov.ua", 0.9, SourceType::Government),
            ("mhlw.go.jp", 0.9, SourceType::Government),
            ("canada.gc.ca", 0.9, SourceType::Government),
            ("navy.mil", 0.95, SourceType::Government),
            ("stanford.edu", 0.85, SourceType::Academic),
            ("ox.ac.uk", 0.85, SourceType::Academic),
            ("uk.wikipedia.org", 0.75, SourceType::Reference),
            ("t.me", 0.2, SourceType::Social),
            ("m.facebook.com", 0.2, SourceType::Social),
            ("someone.blogspot.com", 0.3, SourceType::Blog),
            ("best-viral-news-today.com", 0.2, SourceType::LinkFarm),
            ("go.com", 0.5, SourceType::Unknown),
            ("notreuters.com", 0.5, SourceType::Unknown),
            ("government.example", 0.5, SourceType::Unknown),
            ("", 0.5, SourceType::Unknown),
        ];
        for (host, figure, kind) in cases {
            assert_eq!(credibility(host, &none), (figure, kind), "{host}");
        }
    }

    #[test]
    fn operator_rule_wins_when_the_table_has_the_host() {
        let cases = [
            ("reuters.com", DomainList::Allow, "reuters.com", Some(0.4), 0.7),
            ("reuters.com", DomainList::Allow, "reuters.com", None, 0.9),
            ("news.example.net", DomainList::Allow, "example.net", None, 0.7),
            ("reuters.com", DomainList::Deny, "reuters.com", Some(0.9), 0.0),
        ];
        for (host, list, domain, stated, expected) in cases {
            let (figure, _) = credibility(host, &rules(list, domain, stated));
            assert!((figure - expected).abs() < 1e-12, "{host} {list}: {figure}");
        }
    }

    proptest! {
        #[test]
        fn credibility_stays_within_its_bounds(host in "\\PC{0,40}") {
            let (figure, _) = credibility(&host, &DomainRules::default());
            prop_assert!((0.0..=1.0).contains(&figure));
        }
    }
}
