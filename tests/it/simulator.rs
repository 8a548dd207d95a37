//! The simulator itself: what is measured and tested against it is only worth what it is.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::simulator::{
    EventWorld, Fault, MapWorld, Review, Simulator, Target, World as _, name_of, numbers_named_in,
};

/// A plain client: these tests are about the simulator, not about the daemon's own way out.
fn client() -> reqwest::Client {
    // Another test of this process may have installed it already; either way there is one.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::ClientBuilder::new().no_proxy().build().expect("a client without settings can be built")
}

fn small_world() -> MapWorld {
    let page = ("Bridge opens".to_owned(), vec!["The bridge opened on 3 May 2026.".to_owned()]);
    let review = Review {
        claim: "The bridge collapsed".into(),
        url: "https://checks.example/bridge".into(),
        publisher: "Checks".into(),
        rating: "False".into(),
        language: "en".into(),
    };
    MapWorld {
        searches: vec![("bridge".into(), vec![7])],
        pages: HashMap::from([(7, page)]),
        reviews: vec![("bridge".into(), review)],
    }
}

async fn json(url: &str) -> Value {
    let request =
        client().get(url).header("x-subscription-token", "k").header("x-api-key", "k").header("x-goog-api-key", "k");
    let response = request.send().await.expect("the simulator answers");
    response.json().await.expect("the answer is JSON")
}

#[tokio::test]
async fn every_provider_leads_to_the_page_that_tells_the_fact() {
    let simulator = Simulator::start(small_world()).await;
    let at = |target, path: &str| format!("{}{path}", simulator.base_url(target));
    let page = simulator.page_url(7);

    let google = json(&at(Target::GoogleFactCheck, "/v1alpha1/claims:search?query=the%20Bridge")).await;
    assert_eq!(google["claims"][0]["claimReview"][0]["textualRating"], "False");
    let gdelt = json(&at(Target::Gdelt, "/api/v2/doc/doc?query=bridge&format=json&mode=artlist")).await;
    assert_eq!(gdelt["articles"][0]["url"], page);
    let searxng = json(&at(Target::Searxng, "/search?q=bridge&format=json")).await;
    assert_eq!(searxng["results"][0]["url"], page);
    let web = json(&at(Target::Brave, "/res/v1/web/search?q=bridge")).await;
    assert_eq!(web["web"]["results"][0]["url"], page);
    let news = json(&at(Target::Brave, "/res/v1/news/search?q=bridge")).await;
    assert_eq!(news["results"][0]["url"], page);

    let google = json(&at(Target::SerpApi, "/search.json?engine=google&q=bridge&api_key=k")).await;
    assert_eq!(google["organic_results"][0]["link"], page);
    let news = json(&at(Target::SerpApi, "/search.json?engine=google_news&q=bridge&api_key=k")).await;
    assert_eq!(news["news_results"][0]["link"], page);
    let newsapi = json(&at(Target::NewsApi, "/v2/everything?q=bridge&apiKey=k")).await;
    assert_eq!(
        (&newsapi["articles"][0]["url"], &newsapi["articles"][1]["title"]),
        (&page.clone().into(), &"[Removed]".into())
    );
    let asked = serde_json::json!({"apiKey": "k", "keyword": ["the bridge"], "articlesCount": 5});
    let articles = at(Target::EventRegistry, "/api/v1/article/getArticles");
    let answer = client().post(&articles).body(asked.to_string()).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["articles"]["results"][0]["url"], page);

    let html = client().get(&page).send().await.unwrap().text().await.unwrap();
    assert!(html.contains("<p>The bridge opened on 3 May 2026."));
    assert_eq!((simulator.calls(Target::Brave), simulator.calls(Target::Page), simulator.page_calls(7)), (2, 1, 1));
    assert_eq!(simulator.page_calls(8), 0);
}

#[tokio::test]
async fn a_fault_is_counted_and_not_as_served() {
    let simulator = Simulator::start(small_world()).await;
    simulator.set_fault(Target::Searxng, Fault::status(503).times(2));
    for _ in 0..3 {
        let url = format!("{}/search?q=bridge&format=json", simulator.base_url(Target::Searxng));
        client().get(url).send().await.unwrap();
    }
    assert_eq!((simulator.calls(Target::Searxng), simulator.served(Target::Searxng)), (3, 1));
    assert_eq!(simulator.most_within(Target::Searxng, Duration::from_mins(1)), 3);
    assert_eq!(simulator.most_within(Target::Gdelt, Duration::from_mins(1)), 0);
}

#[tokio::test]
async fn a_fault_about_a_word_strikes_only_questions_that_hold_it() {
    let simulator = Simulator::start(small_world()).await;
    simulator.set_fault(Target::Searxng, Fault::status(503).about("tunnel"));
    let asked = async |word: &str| {
        let url = format!("{}/search?q={word}&format=json", simulator.base_url(Target::Searxng));
        client().get(url).send().await.unwrap().status().as_u16()
    };
    assert_eq!([asked("bridge").await, asked("tunnel").await, asked("bridge").await], [200, 503, 200]);
}

#[tokio::test]
async fn nothing_found_looks_the_way_each_provider_says_it() {
    let simulator = Simulator::start(MapWorld::default()).await;
    let at = |target, path: &str| format!("{}{path}", simulator.base_url(target));
    let empty = serde_json::json!({});
    assert_eq!(json(&at(Target::GoogleFactCheck, "/v1alpha1/claims:search?query=x")).await, empty);
    assert_eq!(json(&at(Target::Gdelt, "/api/v2/doc/doc?query=nothing&format=json")).await, empty);
    assert_eq!(json(&at(Target::Searxng, "/search?q=x&format=json")).await["results"], serde_json::json!([]));
    assert!(json(&at(Target::Brave, "/res/v1/web/search?q=x")).await.get("web").is_none());
}

#[tokio::test]
async fn what_a_provider_refuses_is_refused_here() {
    let simulator = Simulator::start(small_world()).await;
    let at = |target, path: &str| format!("{}{path}", simulator.base_url(target));
    let client = client();
    let status = |url: String| async { client.get(url).send().await.unwrap().status().as_u16() };
    assert_eq!(status(at(Target::GoogleFactCheck, "/v1alpha1/claims:search?query=x")).await, 403, "no key");
    assert_eq!(status(at(Target::Brave, "/res/v1/web/search?q=x")).await, 422, "no key");
    assert_eq!(status(at(Target::Searxng, "/search?format=json")).await, 400, "no query");
    let long = format!("/api/v2/doc/doc?format=json&query={}", "a".repeat(251));
    let text = client.get(at(Target::Gdelt, &long)).send().await.unwrap().text().await.unwrap();
    assert_eq!(text, "Your query was too short or too long.\n");
    let dash = client.get(at(Target::Gdelt, "/api/v2/doc/doc?format=json&query=anti-tank")).send().await.unwrap();
    assert!(dash.text().await.unwrap().contains("illegal character"));
}

#[tokio::test]
async fn faults_strike_when_they_were_told_to() {
    let simulator = Simulator::start(small_world()).await;
    let url = format!("{}/search?q=bridge&format=json", simulator.base_url(Target::Searxng));
    let client = client();

    simulator.set_fault(Target::Searxng, Fault::status(429).retry_after("2").after(1).times(1));
    let answers = [0, 1, 2].map(|_| client.get(&url).send());
    let mut statuses = Vec::new();
    for answer in answers {
        let answer = answer.await.unwrap();
        statuses.push((answer.status().as_u16(), answer.headers().get("retry-after").is_some()));
    }
    assert_eq!(statuses, [(200, false), (429, true), (200, false)]);

    simulator.set_fault(Target::Searxng, Fault::outage());
    assert!(client.get(&url).send().await.is_err(), "an outage gives no answer");
    simulator.set_fault(Target::Searxng, Fault::truncated("application/json", "{\"results\": [{\"ur"));
    assert!(client.get(&url).send().await.unwrap().bytes().await.is_err(), "a truncated body is no body");
    simulator.set_fault(Target::Searxng, Fault::answer(200, "text/html", "<html>busy</html>"));
    assert_eq!(client.get(&url).send().await.unwrap().text().await.unwrap(), "<html>busy</html>");

    simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_millis(80)));
    let begin = Instant::now();
    assert!(client.get(&url).send().await.unwrap().status().is_success());
    assert!(begin.elapsed() >= Duration::from_millis(80));
    simulator.set_fault(Target::Searxng, None);
    let sent = client.get(&url).header("x-probe", "1").send().await.unwrap();
    assert!(sent.status().is_success());

    assert_eq!(simulator.calls(Target::Searxng), 8, "refused requests count too");
    let recorded = simulator.requests(Target::Searxng);
    assert!(recorded.iter().all(|request| request.uri == "/searxng/search?q=bridge&format=json"));
    assert!(recorded[7].headers.contains_key("x-probe"));
}

#[tokio::test]
async fn pages_are_of_real_size_and_no_copies_of_each_other() {
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, 4).await;
    let client = client();
    let mut pages = Vec::new();
    for number in 0..40 {
        let html = client.get(simulator.page_url(number)).send().await.unwrap().text().await.unwrap();
        assert!((24_000..40_000).contains(&html.len()), "page {number} has {} bytes", html.len());
        let paragraphs: Vec<String> = html.lines().filter(|line| line.starts_with("<p>")).map(str::to_owned).collect();
        assert!((24..=26).contains(&paragraphs.len()), "page {number} has {} paragraphs", paragraphs.len());
        pages.push(paragraphs);
    }
    for (number, page) in pages.iter().enumerate() {
        for (other_number, other) in pages.iter().enumerate().skip(number + 1) {
            let shared = page.iter().filter(|paragraph| other.contains(paragraph)).count();
            assert!(shared <= page.len() / 2, "pages {number} and {other_number} share {shared} paragraphs");
        }
    }
}

#[test]
fn items_of_an_event_share_two_pages_and_have_one_of_their_own() {
    let world = EventWorld { items_per_event: 10, offset: 5000 };
    let first = world.search(&world.claim(20));
    let second = world.search(&world.claim(21));
    let other = world.search(&world.claim(30));
    assert_eq!(first.len(), 3);
    assert_eq!(first[..2], second[..2]);
    assert_ne!(first[2], second[2]);
    assert!(other.iter().all(|page| !first.contains(page) && !second.contains(page)));
    assert!(world.facts(first[2])[1].contains(&name_of((5000 + 20) * 2)), "a page tells of its own item");

    let item = world.item(20);
    let item = corroborate::domain::Item::parse(item.to_string().as_bytes()).unwrap();
    assert!(item.texts().next().is_some_and(|(_, text)| text.starts_with(&world.claim(20))));

    let fresh = EventWorld { items_per_event: 1, offset: 0 };
    let pages: std::collections::HashSet<u64> = (0..100).flat_map(|item| fresh.search(&fresh.claim(item))).collect();
    assert_eq!(pages.len(), 300, "with one item to an event every page is new");
    let before = EventWorld { items_per_event: 1, offset: 100 };
    assert!(before.search(&before.claim(0)).iter().all(|page| !pages.contains(page)), "an offset starts afresh");
}

#[test]
fn a_name_is_read_back_from_any_query() {
    for number in [0, 1, 63, 64, 4095, 4096, 9_999_999] {
        let query = format!("port \"{}\" grain", name_of(number).to_uppercase());
        assert_eq!(numbers_named_in(&query), vec![number]);
    }
    assert_eq!(numbers_named_in("The tank of Xanadu, xank and Xanthak"), Vec::<u64>::new());
}
