//! Normalises URLs, so that each page has one address, and finds the registered domain of a host.

use std::net::IpAddr;

use url::Url;

/// Query parameters that only identify the referrer. Sorted for binary search.
const TRACKING: [&str; 62] = [
    "__twitter_impression",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_openstat",
    "action_object_map",
    "action_ref_map",
    "action_type_map",
    "amp_js_v",
    "cid_source",
    "cmp",
    "cmpid",
    "cndid",
    "dclid",
    "ef_id",
    "fb_action_ids",
    "fb_action_types",
    "fb_ref",
    "fb_source",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "hsctatracking",
    "icid",
    "igsh",
    "igshid",
    "ito",
    "mbid",
    "mc_cid",
    "mc_eid",
    "mibextid",
    "mkt_tok",
    "msclkid",
    "ncid",
    "ocid",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "ref_src",
    "ref_url",
    "s_cid",
    "share_source",
    "sharesource",
    "smid",
    "smtyp",
    "spm",
    "srsltid",
    "taid",
    "tpcc",
    "ttclid",
    "twclid",
    "usqp",
    "vero_conv",
    "vero_id",
    "wbraid",
    "yclid",
    "ysclid",
];
/// Prefixes of such parameters.
const TRACKING_PREFIXES: [&str; 8] = ["utm_", "at_", "pk_", "mtm_", "hsa_", "wt.", "wt_", "stm_"];
/// Values with which `ref`, `source` and similar parameters only identify the referrer.
const REFERRER_VALUES: [&str; 6] = ["rss", "feed", "twitter", "facebook", "telegram", "newsletter"];

/// Returns the URL under which a page is stored and compared.
///
/// * The host is in lower case without a trailing dot; default port, user data and fragment are removed.
/// * Tracking parameters are removed, and the others sorted.
/// * A trailing slash is removed, except for the root.
///
/// The scheme, `www.`, AMP and mobile hosts remain: only a canonical link may equate them. The function is idempotent.
pub fn canonical_url(url: &Url) -> Url {
    let mut out = url.clone();
    out.set_fragment(None);
    // Both fail only for URLs that cannot have user data or a host.
    let _no_user = out.set_username("");
    let _no_password = out.set_password(None);
    if let Some(host) = url.host_str().filter(|host| host.ends_with('.') || host.chars().any(char::is_uppercase)) {
        let host = host.trim_end_matches('.').to_lowercase();
        if !host.is_empty() {
            let _same_host_kind = out.set_host(Some(&host));
        }
    }
    let mut pairs: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, value)| !is_tracking(name, value))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    pairs.sort();
    pairs.dedup();
    if pairs.is_empty() {
        out.set_query(None);
    } else {
        out.query_pairs_mut().clear().extend_pairs(pairs);
    }
    if !out.cannot_be_a_base() {
        let path = out.path().trim_end_matches('/').to_owned();
        out.set_path(&path);
    }
    out
}

fn is_tracking(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TRACKING.binary_search(&name.as_str()).is_ok()
        || TRACKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (matches!(name.as_str(), "ref" | "source" | "from" | "src" | "partner")
            && REFERRER_VALUES.contains(&value.to_ascii_lowercase().as_str()))
}

/// Returns the registered domain: `news.bbc.co.uk` gives `bbc.co.uk`, and shared hosting counts per tenant
/// (`user.github.io`). IP addresses, single labels and public suffixes are only lower-cased.
pub fn registered_domain(host: &str) -> String {
    let host = host.trim().trim_end_matches('.').to_lowercase();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    if literal {
        return host;
    }
    psl::domain_str(&host).map_or_else(|| host.clone(), str::to_owned)
}

/// Shorter paths may be sections.
const MIN_ARTICLE_PATH: usize = 12;

/// True if an article's URL was redirected to its site's home page, as for deleted articles.
pub fn led_home(asked: &Url, came: &Url) -> bool {
    let is_home = |url: &Url| {
        let path = url.path().trim_matches('/');
        let is_bare = url.query().is_none() && url.fragment().is_none();
        is_bare && (matches!(path, "" | "index.html" | "index.php") || path.len() == 2)
    };
    let site = |url: &Url| -> Option<String> {
        let host = url.host_str()?;
        Some(["www.", "m."].iter().find_map(|prefix| host.strip_prefix(prefix)).unwrap_or(host).to_owned())
    };
    asked.path().len() >= MIN_ARTICLE_PATH && !is_home(asked) && is_home(came) && site(asked) == site(came)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(address: &str) -> String {
        canonical_url(&Url::parse(address).unwrap()).to_string()
    }

    #[test]
    fn the_list_is_sorted_for_the_search() {
        assert!(TRACKING.is_sorted());
    }

    #[test]
    fn what_does_not_name_the_page_is_removed() {
        for (address, expected) in [
            ("HTTPS://User:pw@Example.COM:443/News/?utm_source=x&b=2&a=1#top", "https://example.com/News?a=1&b=2"),
            ("https://example.com/a/?fbclid=1&gclid=2&yclid=3&UTM_Campaign=4", "https://example.com/a"),
            ("http://example.com:80/", "http://example.com/"),
            ("http://example.com:8080/a", "http://example.com:8080/a"),
            ("https://example.com./a?", "https://example.com/a"),
            (
                "https://www.derstandard.at/story/3000/nach-kalifat?ref=rss",
                "https://www.derstandard.at/story/3000/nach-kalifat",
            ),
            ("https://example.com/a?ref=main", "https://example.com/a?ref=main"),
            ("https://m.example.com/amp/a", "https://m.example.com/amp/a"),
            ("https://example.com/?id=5", "https://example.com/?id=5"),
            ("https://пример.рф/новость", "https://xn--e1afmkfd.xn--p1ai/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D1%8C"),
        ] {
            assert_eq!(canonical(address), expected, "{address}");
        }
        assert_eq!(canonical("mailto:a@b.c"), "mailto:a@b.c");
    }

    #[test]
    fn domain_is_the_registered_part_of_the_host() {
        for (host, expected) in [
            ("news.bbc.co.uk", "bbc.co.uk"),
            ("WWW.Example.com.", "example.com"),
            ("user.github.io", "user.github.io"),
            ("a.b.user.github.io", "user.github.io"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("localhost", "localhost"),
            ("co.uk", "co.uk"),
            ("www.xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"),
            ("", ""),
        ] {
            assert_eq!(registered_domain(host), expected, "{host}");
        }
    }

    proptest! {
        #[test]
        fn canonical_is_idempotent(path in "[a-z0-9/%._-]{0,20}", query in "[a-z0-9=&%+_]{0,30}", fragment in "[a-z]{0,5}") {
            if let Ok(url) = Url::parse(&format!("https://Example.com/{path}?{query}#{fragment}")) {
                let once = canonical_url(&url);
                prop_assert_eq!(canonical_url(&once), once);
            }
        }

        #[test]
        fn any_host_has_a_domain_it_ends_with(host in "\\PC{0,40}") {
            let lower = host.trim().trim_end_matches('.').to_lowercase();
            prop_assert!(lower.ends_with(&registered_domain(&host)));
        }
    }

    #[test]
    fn article_is_missing_when_the_site_leads_to_its_front_page() {
        let led = |asked: &str, came: &str| led_home(&Url::parse(asked).unwrap(), &Url::parse(came).unwrap());
        for came in ["https://www.news.example/", "https://news.example/ru/", "https://news.example/index.html"] {
            assert!(led("https://news.example/2026/11/18/story", came), "{came}");
        }
        for (asked, came) in [
            ("https://news.example/2026/11/18/story", "https://news.example/2026/11/18/story-two"),
            ("https://news.example/2026/11/18/story", "https://news.example/?p=123"),
            ("https://news.example/2026/11/18/story", "https://other.example/"),
            ("https://news.example/special-projects/story", "https://special.news.example/"),
            ("https://news.example/2026/11/18/story", "https://news.example/#/news/1"),
            ("https://news.example/", "https://news.example/ru/"),
            ("https://news.example/go/1", "https://news.example/"),
        ] {
            assert!(!led(asked, came), "{asked} {came}");
        }
    }
}
