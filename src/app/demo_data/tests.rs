use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use url::Url;

use super::*;
use crate::outbound::replay::{Match, Recording};

/// Endpoint and the name of its query parameter.
const ENDPOINTS: [(&str, &str); 3] = [
    ("http://searxng.example/search", "q"),
    ("https://api.gdeltproject.org/api/v2/doc/doc", "query"),
    ("https://factchecktools.googleapis.com/v1alpha1/claims:search", "query"),
];

const README: &str = include_str!("README.md");
const SCRIPTS: [&str; 3] = [include_str!("build.py"), include_str!("pick.py"), include_str!("handmade.json")];

fn text(item: &Item) -> String {
    item.text.clone().unwrap()
}

fn ask(archive: &Archive, endpoint: (&str, &str), query: &str) -> Option<(u16, Vec<u8>)> {
    let url = Url::parse_with_params(endpoint.0, [("format", "json"), (endpoint.1, query)]).unwrap();
    archive.answer("GET", &url).ok().map(|response| (response.status, response.body))
}

/// Queries as the pipeline sends them: the sentence, its names and numbers, its first name with the next words, its
/// longest words.
fn queries(claim: &str) -> Vec<String> {
    let tokens: Vec<&str> = claim
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|w| !w.is_empty())
        .collect();
    let named = |word: &&&str| word.chars().next().is_some_and(|c| c.is_uppercase() || c.is_numeric());
    let names: Vec<&str> = tokens.iter().filter(named).copied().collect();
    let from_first_name: Vec<&str> = tokens.iter().skip_while(|word| !named(word)).take(6).copied().collect();
    let mut longest = tokens.clone();
    longest.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    longest.truncate(4);
    let mut all = vec![claim.to_owned(), claim.to_lowercase(), from_first_name.join(" "), longest.join(" ")];
    if names.len() >= 2 {
        all.push(names.join(" "));
    }
    all
}

fn search_recordings(archive: &Archive) -> Vec<&Recording> {
    archive.recordings().iter().filter(|recording| recording.matched_by == Match::Search).collect()
}

/// Every page a recorded answer points to.
fn hits(archive: &Archive) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for recording in search_recordings(archive) {
        for list in ["results", "articles"] {
            let results = recording.json.as_ref().and_then(|json| json.get(list)).and_then(Value::as_array);
            for result in results.into_iter().flatten() {
                found.insert(result.get("url").and_then(Value::as_str).unwrap().to_owned());
            }
        }
    }
    found
}

#[test]
fn the_items_are_many_real_and_of_every_language() {
    let (items, provenance) = (items(), provenance());
    assert!(items.len() >= 24, "{}", items.len());
    let ids: BTreeSet<&str> = items.iter().map(|item| item.item_id.as_str()).collect();
    assert_eq!(ids.len(), items.len());
    for (item, known) in items.iter().zip(&provenance) {
        assert_eq!(item.item_id, known.item_id);
        assert!(["source", "translated", "composed"].contains(&known.made.as_str()));
        assert!(!known.origin.dataset.is_empty() && !known.origin.id.is_empty() && !known.origin.licence.is_empty());
    }
    let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
    for item in &items {
        *languages.entry(item.language.as_deref().unwrap()).or_default() += 1;
    }
    assert!(languages["en"] >= 12 && languages["ru"] >= 6 && languages["uk"] >= 4, "{languages:?}");
    assert!(items.iter().any(|item| item.cluster_members.len() >= 2));
    assert!(provenance.iter().filter(|known| known.made == "source").count() >= 24);
}

#[test]
fn every_item_finds_its_own_recordings() {
    let archive = archive();
    for item in items() {
        let claim = text(&item);
        for endpoint in ENDPOINTS {
            let own = archive
                .recordings()
                .iter()
                .find(|recording| recording.url == endpoint.0 && recording.claim.as_deref() == Some(claim.as_str()))
                .unwrap_or_else(|| panic!("{} has no recording at {}", item.item_id, endpoint.0));
            let body = own.json.as_ref().map_or_else(|| own.body.clone().unwrap(), Value::to_string).into_bytes();
            for query in queries(&claim) {
                assert_eq!(ask(&archive, endpoint, &query), Some((200, body.clone())), "{}: {query:?}", item.item_id);
            }
        }
    }
}

#[test]
fn a_claim_that_is_no_item_is_not_answered() {
    let archive = archive();
    for endpoint in ENDPOINTS {
        for query in
            ["The Eiffel Tower was finished in 1889", "Волга впадает в Каспийское море", "Дніпро впадає у Чорне море"]
        {
            assert_eq!(ask(&archive, endpoint, query), None, "{query}");
        }
    }
}

#[test]
fn every_hit_leads_to_a_recorded_page_and_no_page_is_dead_weight() {
    let archive = archive();
    let hits = hits(&archive);
    assert!(hits.len() >= 20);
    for hit in &hits {
        assert!(archive.answer("GET", &Url::parse(hit).unwrap()).is_ok(), "{hit}");
    }
    for recording in archive.recordings().iter().filter(|recording| recording.matched_by == Match::Exact) {
        assert!(hits.contains(&recording.url), "{} is found by no search", recording.url);
    }
}

#[test]
fn nothing_invented_passes_for_recorded() {
    let archive = archive();
    for recording in archive.recordings() {
        let made = recording.made.as_deref().unwrap();
        assert!(recording.source.is_some(), "{}", recording.url);
        if recording.matched_by == Match::Exact {
            let host = Url::parse(&recording.url).unwrap().host_str().unwrap().to_owned();
            let genuine = host == "en.wikipedia.org";
            assert_eq!(genuine, made == "source", "{} is {made}", recording.url);
            let nowhere = host.rsplit('.').next() == Some("example");
            assert!(genuine || nowhere, "{host}");
            assert!(!recording.body.as_deref().unwrap().contains("datePublished"), "no date is known");
        }
    }
    for known in provenance() {
        assert!(README.contains(&format!("| `{}` |", known.item_id)), "the README does not name {}", known.item_id);
        assert!(
            README.contains(&format!("| {} ", known.origin.dataset)),
            "no licence row for {}",
            known.origin.dataset
        );
    }
}

#[test]
fn reviews_hold_short_facts_and_no_article_text() {
    let archive = archive();
    let mut reviews = 0;
    for recording in search_recordings(&archive) {
        let claims = recording.json.as_ref().and_then(|json| json.get("claims")).and_then(Value::as_array);
        for review in claims.into_iter().flatten().filter_map(|claim| claim.get("claimReview")?.as_array()).flatten() {
            reviews += 1;
            assert!(review.get("title").is_none());
            for field in ["url", "textualRating"] {
                assert!(review.get(field).and_then(Value::as_str).is_some_and(|text| text.len() < 300));
            }
        }
    }
    assert!(reviews >= 12, "{reviews}");
}

#[test]
fn the_hard_cases_are_there() {
    let archive = archive();
    let status = |wanted| archive.recordings().iter().filter(|recording| recording.status == wanted).count();
    assert_eq!((status(404), status(504)), (1, 1));
    let bodies = |needle: &str| {
        archive.recordings().iter().filter(|r| r.body.as_deref().is_some_and(|body| body.contains(needle))).count()
    };
    assert_eq!(bodies("Please limit requests to one every 5 seconds"), 1);
    assert_eq!(bodies("Before you continue"), 1);
    let last = items().pop().unwrap();
    let (_, refusal) = ask(&archive, ENDPOINTS[1], &text(&last)).unwrap();
    assert!(String::from_utf8(refusal).unwrap().starts_with("Please limit"), "the throttled item is the last one");

    let legacy = archive.recordings().iter().find(|recording| recording.charset.is_some()).unwrap();
    let page = archive.answer("GET", &Url::parse(&legacy.url).unwrap()).unwrap();
    assert!(std::str::from_utf8(&page.body).is_err());
    let (decoded, _, _) = encoding_rs::WINDOWS_1251.decode(&page.body);
    assert_eq!(decoded, legacy.body.as_deref().unwrap());

    let wire = hits(&archive).into_iter().filter(|url| url.contains("/wire-story")).count();
    assert_eq!(wire, 5);
}

#[test]
fn the_whole_stays_small() {
    let embedded: usize = RECORDINGS.iter().map(|(_, text)| text.len()).sum();
    let rest: usize = SCRIPTS.iter().map(|text| text.len()).sum();
    let bytes = ITEMS.len() + README.len() + embedded + rest;
    assert!(bytes <= 600_000, "{bytes} bytes");
}

#[test]
fn demo_clock_is_at_the_day_when_its_data_was_collected() {
    assert_eq!(evaluated_at().to_rfc3339(), "2026-11-20T12:00:00+00:00");
}
