use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use url::Url;

use super::*;
use crate::outbound::replay::Recording;

const ENDPOINTS: [&str; 3] = [
    "http://searxng.example/search",
    "https://api.gdeltproject.org/api/v2/doc/doc",
    "https://factchecktools.googleapis.com/v1alpha1/claims:search",
];

const README: &str = include_str!("README.md");
const SCRIPTS: [&str; 3] = [include_str!("build.py"), include_str!("pick.py"), include_str!("handmade.json")];

/// Returns the name of a search recording, by endpoint and item.
fn search_url(endpoint: &str, item_id: &str) -> String {
    format!("{endpoint}?item={item_id}")
}

fn is_search(recording: &Recording) -> bool {
    ENDPOINTS.iter().any(|endpoint| recording.url.starts_with(endpoint))
}

/// Every page a recorded answer points to.
fn hits(archive: &Archive) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for recording in archive.recordings().iter().filter(|recording| is_search(recording)) {
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
fn every_item_has_a_recording_of_every_provider() {
    let archive = archive();
    for item in items() {
        for endpoint in ENDPOINTS {
            let url = search_url(endpoint, &item.item_id);
            assert!(archive.recordings().iter().any(|recording| recording.url == url), "{url}");
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
    for recording in archive.recordings().iter().filter(|recording| !is_search(recording)) {
        assert!(hits.contains(&recording.url), "{} is found by no search", recording.url);
    }
}

#[test]
fn nothing_invented_passes_for_recorded() {
    let archive = archive();
    for recording in archive.recordings() {
        let made = recording.made.as_deref().unwrap();
        assert!(recording.source.is_some(), "{}", recording.url);
        if !is_search(recording) {
            let host = Url::parse(&recording.url).unwrap().host_str().unwrap().to_owned();
            let genuine = host == "en.wikipedia.org";
            assert_eq!(genuine, made == "source", "{} is {made}", recording.url);
            let nowhere = host.rsplit('.').next() == Some("example");
            assert!(genuine || nowhere, "{host}");
            let page = archive.answer("GET", &Url::parse(&recording.url).unwrap()).unwrap();
            assert!(!String::from_utf8_lossy(&page.body).contains("datePublished"), "no date is known");
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
    for recording in archive.recordings().iter().filter(|recording| is_search(recording)) {
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
    let throttled = search_url(ENDPOINTS[1], &items().pop().unwrap().item_id);
    let refusal = archive.recordings().iter().find(|recording| recording.url == throttled).unwrap();
    assert!(refusal.body.as_deref().unwrap().starts_with("Please limit"), "the throttled item is the last one");

    let legacy = archive.recordings().iter().find(|recording| recording.body_base64.is_some()).unwrap();
    let page = archive.answer("GET", &Url::parse(&legacy.url).unwrap()).unwrap();
    let (decoded, _, is_lossy) = encoding_rs::WINDOWS_1251.decode(&page.body);
    assert!(!is_lossy && decoded.contains("координационная"), "{decoded}");

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
    assert_eq!(archive().recorded_at().unwrap().to_rfc3339(), "2026-11-20T12:00:00+00:00");
}

/// Set to `1`, the test writes the requests into the recordings instead of comparing them.
#[cfg(feature = "embedded")]
const REGENERATE: &str = "UPDATE_DEMO";

/// Runs the demo and returns the searches without a recording, by item.
#[cfg(feature = "embedded")]
async fn missing_requests(archive: Archive) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let mut config = crate::config::Config::built_in();
    config.data_dir = Some(folder.path().to_owned());
    let archive = std::sync::Arc::new(archive);
    let app = Box::pin(crate::app::demo::open_with(&config, std::sync::Arc::clone(&archive))).await.unwrap();
    let (mut missing, mut seen) = (Vec::new(), 0);
    for item in items() {
        let item_id = item.item_id.clone();
        crate::app::demo::one(&app, item).await.unwrap();
        let missed = archive.missed();
        let new = missed.iter().skip(seen).map(|request| request.url.clone());
        let searches = new.filter(|url| ENDPOINTS.iter().any(|endpoint| url.starts_with(endpoint)));
        missing.extend(searches.map(|url| (item_id.clone(), url)));
        seen = missed.len();
    }
    app.close().await.unwrap();
    missing
}

#[cfg(feature = "embedded")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "the test decides by the environment whether it writes")]
async fn demo_requests_are_recorded() {
    let regenerate = std::env::var(REGENERATE).is_ok_and(|wanted| wanted == "1");
    let mut recordings: Vec<Recording> = archive().recordings().to_vec();
    if regenerate {
        for recording in &mut recordings {
            recording.aliases.clear();
        }
    }
    loop {
        let mut archive = Archive::default();
        for recording in &recordings {
            archive.insert(recording.clone()).unwrap();
        }
        let missing = missing_requests(archive).await;
        assert!(missing.is_empty() || regenerate, "run with {REGENERATE}=1 and commit the result: {missing:#?}");
        if missing.is_empty() {
            break;
        }
        // A response can cause further requests.
        for (item_id, url) in missing {
            let endpoint = ENDPOINTS.iter().find(|endpoint| url.starts_with(*endpoint)).unwrap();
            let name = search_url(endpoint, &item_id);
            recordings.iter_mut().find(|recording| recording.url == name).unwrap().aliases.push(url);
        }
    }
    if regenerate {
        write(&recordings);
    }
}

/// Writes each recording into its file.
#[cfg(feature = "embedded")]
fn write(recordings: &[Recording]) {
    for (name, text) in RECORDINGS {
        let head = text.lines().next().unwrap();
        let mut file = Archive::default();
        file.extend(text, name).unwrap();
        let mut lines = format!("{head}\n");
        for known in file.recordings() {
            let mut recording = recordings.iter().find(|recording| recording.url == known.url).unwrap().clone();
            recording.aliases.sort();
            lines.push_str(&serde_json::to_string(&recording).unwrap());
            lines.push('\n');
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/app/demo_data/recordings");
        std::fs::write(folder.join(name).with_extension("ndjson"), lines).unwrap();
    }
}
