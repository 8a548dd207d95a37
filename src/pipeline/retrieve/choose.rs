//! Decides which found pages are read, and when enough are found.
//! A page counts only if its title and snippet may be about the claim: see [`is_about`].
//! The module never fetches, and does not ask whether a page supports the claim.

use std::collections::HashSet;

use super::glance::{SnippetAnalysis, SnippetCache};
use crate::domain::rules::DomainRules;
use crate::judging::credibility::credibility;
use crate::judging::independence;
use crate::judging::numbers;
use crate::judging::profile::TextProfile;
use crate::language::entities::Entity;
use crate::language::numbers::Quantity;
use crate::language::tokens;
use crate::pipeline::candidate::Candidate;
use crate::providers::Hit;

/// Sources for the high tier, plus one that may be unreadable.
const INDEPENDENT: usize = 3;

/// Similarity of two headlines of one story: syndicated copies keep the headline.
const SAME_HEADLINE: f64 = 0.85;

/// Minimum words: shorter headlines do not identify a story.
const HEADLINE_WORDS: usize = 4;

/// Share of the claim's words, without names, in title and snippet, or in a title alone. At least one word, two if
/// the claim has no names.
const SHARE_OF_WORDS: f64 = 1.0 / 3.0;
const SHARE_OF_HEADLINE: f64 = 1.0 / 5.0;

/// These many other words, and this share, replace a missing name: snippets often omit who reported an event.
const MADE_UP_BY: usize = 3;
const SHARE_FOR_A_NAME: f64 = 0.6;

/// Number of names up to which all are required; of more, two thirds.
const FEW_NAMES: usize = 2;

pub(super) fn enough(found: &[Candidate], wanted: usize) -> bool {
    let about = || found.iter().filter(|candidate| candidate.about);
    about().count() >= wanted && independent(about()) >= wanted.min(INDEPENDENT)
}

/// Whether title and snippet contain the claim's names in any alphabet, enough other words, and not only other
/// figures. True if both are empty.
pub(super) fn is_about(claim: &TextProfile, hit: &Hit, snippets: &SnippetCache) -> bool {
    if hit.title.trim().is_empty() && hit.snippet.trim().is_empty() {
        return true;
    }
    let snippet = snippets.at(hit);
    // Hints may contain other names.
    let own: Vec<(&Entity, &Vec<String>)> =
        claim.entities.iter().zip(&claim.name_stems).filter(|(name, _)| claim.text.contains(&name.text)).collect();
    let named = own.iter().filter(|(name, _)| snippet.names(name)).count();
    let must = if own.len() <= FEW_NAMES { own.len() } else { (own.len() * 2).div_ceil(3) };
    if named * 2 < own.len() || figures_of_other_things(claim, &snippet) {
        return false;
    }
    let of_names = |stem: &String| own.iter().any(|(_, stems)| stems.contains(stem));
    let words: Vec<&String> = claim.words.iter().map(|word| &word.stem).filter(|stem| !of_names(stem)).collect();
    let shared = words.iter().filter(|stem| snippet.has_stem(stem)).count();
    if named < must {
        return shared >= MADE_UP_BY && shared as f64 >= words.len() as f64 * SHARE_FOR_A_NAME;
    }
    let share = if hit.snippet.trim().is_empty() { SHARE_OF_HEADLINE } else { SHARE_OF_WORDS };
    let least = if own.is_empty() && words.len() > 2 { 2.0 } else { 1.0 };
    let fair = (words.len() as f64 * share).floor().max(least).min(words.len() as f64);
    // Two languages share no words, but can share names.
    shared as f64 >= fair || (named >= 2 && snippet.is_foreign_to(&claim.text, claim.language.as_deref()))
}

/// Whether both have figures of one unit, but none agrees or counts the same thing.
fn figures_of_other_things(claim: &TextProfile, snippet: &SnippetAnalysis) -> bool {
    let pairs = || {
        let of = |ours| snippet.quantities().iter().map(move |theirs| (ours, theirs));
        claim.quantities.iter().flat_map(of).filter(|(ours, theirs): &(&Quantity, &Quantity)| ours.unit == theirs.unit)
    };
    let meet = |ours: &Quantity, theirs: &Quantity| {
        numbers::agree(ours, theirs) == Some(true) || ours.counted.iter().any(|stem| theirs.counted.contains(stem))
    };
    pairs().next().is_some() && !pairs().any(|(ours, theirs)| meet(ours, theirs))
}

/// Counts sources before reading: one per domain, owner or headline.
fn independent<'a>(found: impl IntoIterator<Item = &'a Candidate>) -> usize {
    let mut owners: HashSet<&str> = HashSet::new();
    let mut headlines: Vec<HashSet<String>> = Vec::new();
    let mut count = 0;
    for candidate in found {
        let owner = independence::owner(&candidate.domain).unwrap_or(&candidate.domain);
        let words: HashSet<String> = tokens::tokens(&candidate.hit.title, candidate.hit.language.as_deref())
            .into_iter()
            .map(|token| token.stem)
            .collect();
        let is_copy = words.len() >= HEADLINE_WORDS && headlines.iter().any(|known| is_same(known, &words));
        if owners.insert(owner) && !is_copy {
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

/// Distributes the page limit over the claims in turn, main claim first: pages about it, then trusted domains. The
/// second place and every third after it is for an unlisted domain, because contradicting pages are usually there.
pub(super) fn share_out(
    mut per_claim: Vec<Vec<Candidate>>,
    main: usize,
    wanted: usize,
    rules: &DomainRules,
) -> Vec<Candidate> {
    for candidates in &mut per_claim {
        // Stable: equal pages keep the provider's order.
        candidates.sort_by(|a, b| b.about.cmp(&a.about).then(trust(b, rules).total_cmp(&trust(a, rules))));
        mix(candidates, rules);
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

fn mix(candidates: &mut Vec<Candidate>, rules: &DomainRules) {
    let about = candidates.iter().filter(|candidate| candidate.about).count();
    for place in (1..about).step_by(3) {
        let behind = candidates.iter().take(about).enumerate().skip(place);
        let other = behind.filter(|(_, candidate)| !is_trusted(candidate, rules)).map(|(at, _)| at).next();
        if let Some(at) = other {
            let candidate = candidates.remove(at);
            candidates.insert(place, candidate);
        }
    }
}

fn is_trusted(candidate: &Candidate, rules: &DomainRules) -> bool {
    rules.is_allowed(candidate.url.host_str().unwrap_or_default())
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
    use crate::domain::rules::{DomainList, DomainRule};
    use crate::language::detect;

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
            let found: Vec<Candidate> = rows.iter().map(|(url, title)| titled(url, title)).collect();
            independent(&found)
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

    fn about(claim: &str, title: &str, snippet: &str) -> bool {
        let profile = |text: &str| TextProfile::new(text, detect::detect(text).language.as_deref(), None, &[]);
        let hit = Hit { snippet: snippet.to_owned(), ..titled("https://a.example/", title).hit };
        is_about(&profile(claim), &hit, &SnippetCache::default())
    }

    #[test]
    fn a_page_counts_only_where_it_may_be_about_the_claim() {
        let grain = "The port of Velmora shipped 4200 tonnes of grain in October 2026, the harbour master said.";
        let rows = [
            ("Grain leaves Velmora: the silos stand empty", "", true),
            ("grain leaves velmora", "", true),
            ("GRAIN LEAVES VELMORA", "", true),
            ("Velmora", "The port shipped 9900 tonnes of grain in October.", true),
            ("Velmora elects a new mayor", "", false),
            ("Velmora elects a new mayor", "The count in the port took the whole night.", false),
            (
                "Grain leaves Osterik: the silos stand empty",
                "The port shipped 4200 tonnes of grain in October 2026.",
                false,
            ),
            ("Home", "Cookies help us deliver our services.", false),
            ("", "", true),
        ];
        for (title, snippet, expected) in rows {
            assert_eq!(about(grain, title, snippet), expected, "{title:?} {snippet:?}");
        }
        let met = "Зеленский встретился с Макроном в Париже.";
        assert!(about(met, "Зеленський зустрівся з Макроном у Парижі", ""), "in Ukrainian");
        assert!(about(met, "Zelensky and Macron talk in Paris", ""), "in another alphabet, by its names");
        assert!(!about(met, "Zelensky talks to the press", ""), "one name of three");
        assert!(about("The bridge is open.", "The bridge is closed", ""), "who denies it is about it");
        let attributed =
            "The port of Velmora shipped 4200 tonnes of grain in October 2026, the harbour master Ansolek said.";
        let unattributed = "The port of Velmora shipped 4200 tonnes of grain in October 2026.";
        assert!(about(attributed, "Velmora", unattributed), "without the one who told of it");
        assert!(!about(attributed, "Velmora ships grain", ""), "a headline does not make up for a name");
        let deaths = "12 people died in the flood in Norvale.";
        assert!(about(deaths, "Flood in Norvale: 15 people died", ""), "another number of the same");
        assert!(!about(deaths, "Norvale flood: 5 recipes for a warm supper", ""), "a number of something else");
    }

    #[test]
    fn loose_pages_are_never_enough_and_are_read_last() {
        let loose = |n: usize| Candidate { about: false, ..candidate(&format!("https://{n}.example/")) };
        let mut found: Vec<Candidate> = (0..9).map(loose).collect();
        found.push(candidate("https://about.example/"));
        assert!(!enough(&found, 5));
        let chosen = share_out(vec![found], 0, 3, &DomainRules::default());
        assert_eq!(chosen.first().unwrap().domain, "about.example");
    }

    #[test]
    fn unlisted_site_is_read_second_when_the_others_are_trusted() {
        let rule = |domain: String| DomainRule {
            domain,
            list: DomainList::Allow,
            credibility: None,
            source_type: None,
            why: None,
        };
        let lists = DomainRules::new((0..6).map(|n| rule(format!("{n}.example"))), false);
        let mut found: Vec<Candidate> = (0..6).map(|n| candidate(&format!("https://{n}.example/"))).collect();
        found.push(candidate("https://other.example/"));
        found.push(Candidate { about: false, ..candidate("https://loose.example/") });
        let chosen = share_out(vec![found], 0, 5, &lists);
        let domains: Vec<&str> = chosen.iter().map(|candidate| candidate.domain.as_str()).collect();
        assert_eq!(domains, ["0.example", "other.example", "1.example", "2.example", "3.example"]);
    }
}
