//! Which of the pages found are worth reading, and when enough of them are.

use std::collections::HashSet;

use super::Candidate;
use crate::domain::rules::DomainRules;
use crate::judging::credibility::credibility;
use crate::judging::independence;
use crate::language::tokens;

/// Independent sources wanted before the search may stop: what a High tier takes, and one that may fail to be read.
const INDEPENDENT: usize = 3;

/// Share of their words from which two headlines are one story's: agencies' copies keep the headline or nearly.
const SAME_HEADLINE: f64 = 0.85;

/// Shorter headlines say too little to be anybody's own.
const HEADLINE_WORDS: usize = 4;

/// Whether so many pages of enough independent sources were found.
pub(super) fn enough(found: &[Candidate], wanted: usize) -> bool {
    found.len() >= wanted && independent(found) >= wanted.min(INDEPENDENT)
}

/// Sources that look independent before anything was read: pages of one registered domain or one known owner are one
/// source, and so are pages under nearly one headline. What was read is counted again, by what it says.
pub(super) fn independent(found: &[Candidate]) -> usize {
    let mut owners: HashSet<&str> = HashSet::new();
    let mut headlines: Vec<HashSet<String>> = Vec::new();
    let mut count = 0;
    for candidate in found {
        let owner = independence::owner(&candidate.domain).unwrap_or(&candidate.domain);
        let words: HashSet<String> = tokens::tokens(&candidate.hit.title, candidate.hit.language.as_deref())
            .into_iter()
            .map(|token| token.stem)
            .collect();
        let told = words.len() >= HEADLINE_WORDS && headlines.iter().any(|known| is_same(known, &words));
        if owners.insert(owner) && !told {
            count += 1;
        }
        headlines.push(words);
    }
    count
}

fn is_same(one: &HashSet<String>, other: &HashSet<String>) -> bool {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    all > 0 && shared as f64 / all as f64 >= SAME_HEADLINE
}

/// The item's pages: the claims take turns, the main claim first; within a claim trusted domains come before the rest.
pub(super) fn share_out(
    mut per_claim: Vec<Vec<Candidate>>,
    main: usize,
    wanted: usize,
    rules: &DomainRules,
) -> Vec<Candidate> {
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
    let stated = candidate.hit.content.as_ref().and_then(|content| content.credibility);
    if !matches!(candidate.url.scheme(), "http" | "https") {
        return stated.unwrap_or(crate::judging::credibility::UNKNOWN_CREDIBILITY);
    }
    let host = candidate.url.host_str().unwrap_or_default();
    let credible = stated.unwrap_or_else(|| credibility(host, rules).0);
    if rules.is_allowed(host) { credible + 1.0 } else { credible }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{candidate, titled};
    use super::*;

    #[test]
    fn claims_take_turns_and_a_page_is_read_once() {
        let first = vec![candidate("https://a.example/1"), candidate("https://a.example/2")];
        let second = vec![candidate("https://a.example/1"), candidate("https://b.example/3")];
        let chosen = share_out(vec![first, second], 1, 3, &DomainRules::default());
        let urls: Vec<&str> = chosen.iter().map(|candidate| candidate.url.path()).collect();
        assert_eq!(urls, ["/1", "/2", "/3"]);
    }

    #[test]
    fn copies_owners_and_domains_are_counted_once() {
        let of = |rows: &[(&str, &str)]| {
            independent(&rows.iter().map(|(url, title)| titled(url, title)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[("https://a.example/1", ""), ("https://a.example/2", "")]), 1, "one domain");
        assert_eq!(of(&[("https://bbc.com/1", ""), ("https://bbc.co.uk/2", "")]), 1, "one owner");
        let wire = "Port of Velmora ships record grain volume in October";
        assert_eq!(of(&[("https://a.example/1", wire), ("https://b.example/2", wire)]), 1, "one headline");
        assert_eq!(
            of(&[("https://a.example/1", wire), ("https://b.example/2", &format!("{wire} – Daily"))]),
            1,
            "a headline with the paper's name behind it"
        );
        assert_eq!(of(&[("https://a.example/1", wire), ("https://b.example/2", "Farmers fear for their harvest")]), 2);
        assert_eq!(of(&[("https://a.example/1", "News"), ("https://b.example/2", "News")]), 2, "no headline at all");
    }

    #[test]
    fn five_copies_are_not_enough_and_three_voices_are() {
        let copies: Vec<Candidate> =
            (0..6).map(|n| titled(&format!("https://{n}.example/"), "Grain leaves Velmora in record time")).collect();
        assert!(!enough(&copies, 5));
        let mut voices: Vec<Candidate> = (0..5).map(|n| candidate(&format!("https://{n}.example/"))).collect();
        assert!(enough(&voices, 5));
        voices.pop();
        assert!(!enough(&voices, 5), "fewer pages than may be read");
    }
}
