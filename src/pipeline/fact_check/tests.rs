use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::domain::verdict::RatingClass;
use crate::domain::{Item, SystemClock};
use crate::judging::samples::review;
use crate::outbound::test_server::{Reply, SeenRequest, TestServer, answer, json as reply};
use crate::outbound::{Gate, GateSettings, HttpClient, NoObserver};
use crate::pipeline::translate::tests::{Script, translating};
use crate::providers::google::{self, GoogleSettings};

#[test]
fn review_counts_once_when_its_page_repeats_it_and_not_when_ratings_differ() {
    let of = |url: &str, claim: &str, class| {
        let mut one = review("checker", Relation::Same, class, 0.9);
        (one.review.url, one.review.claim) = (url.to_owned(), claim.to_owned());
        one
    };
    let kept = once_each(&[
        of("https://a.example/1", "A", RatingClass::False),
        of("https://a.example/1", "A", RatingClass::False),
        of("https://a.example/1", "B", RatingClass::True),
        of("https://b.example/1", "A", RatingClass::True),
        of("https://b.example/1", "A", RatingClass::False),
        of("https://c.example/1", "A", RatingClass::None),
        of("https://c.example/1", "A", RatingClass::False),
    ]);
    let left: Vec<(&str, &str)> = kept.iter().map(|one| (one.review.url.as_str(), one.review.claim.as_str())).collect();
    assert_eq!(left, [("https://a.example/1", "A"), ("https://a.example/1", "B"), ("https://c.example/1", "A")]);
    assert_eq!(kept.last().map(|one| one.rating_class), Some(RatingClass::False), "the rating that says something");
}

async fn claims_of(services: &Services, request: &Request, journal: &Journal) -> Vec<Claim> {
    let normal = crate::pipeline::normalise::normalise(services, &request.item, journal).await.unwrap();
    crate::pipeline::claims::claims(services, &request.item, &normal, journal).await.unwrap()
}

struct LookupResult {
    reviews: Vec<MatchedReview>,
    asked: Vec<String>,
    degraded: Vec<Degradation>,
}

type ReviewFixture = (&'static str, &'static str, &'static str);

fn page(reviews: &[ReviewFixture]) -> Reply {
    let claims: Vec<Value> = reviews
        .iter()
        .enumerate()
        .map(|(number, (claim, rating, language))| {
            let review = json!({"publisher": {"name": "Checkers"}, "url": format!("https://checkers.example/{number}"),
                "textualRating": rating, "languageCode": language});
            json!({"text": claim, "claimReview": [review]})
        })
        .collect();
    reply(&json!({ "claims": claims }).to_string())
}

async fn look(
    claim: &str,
    known: Vec<(&'static str, &'static str, f64, f64)>,
    translator: Option<&TestServer>,
    reply_to: impl Fn(&str) -> Reply + Send + Sync + 'static,
) -> LookupResult {
    let query = |seen: &SeenRequest| {
        let url = url::Url::parse(&format!("http://localhost{}", seen.target())).unwrap();
        let found = url.query_pairs().find(|(name, _)| name == "query").map(|(_, value)| value.into_owned());
        found.unwrap_or_default()
    };
    let server = TestServer::answering(move |_number, seen| reply_to(&query(seen))).await;
    let script = Arc::new(Script { known, ..Script::default() });
    let mut services = translate::tests::services(script, translator).await;
    let http = HttpClient::live("test").unwrap();
    let settings = GateSettings { max_attempts: 1, ..google::gate_settings(Duration::from_mins(1)) };
    let gate = Gate::new(settings, http, Arc::new(SystemClock), Arc::new(NoObserver));
    let google = google::new(GoogleSettings { base_url: server.url.clone(), api_key: None }, gate);
    services.providers.fact_check = Some(Arc::new(google));
    let request = Request::personal(Item::from_claim("one".to_owned(), claim));
    let journal = Journal::new(Instant::now(), Duration::from_secs(30), services.clock.now());
    let claims = claims_of(&services, &request, &journal).await;
    let reviews = look_up(&services, &request, &claims, &journal).await.unwrap();
    LookupResult {
        reviews: reviews.into_iter().flatten().collect(),
        asked: server.seen().iter().map(query).collect(),
        degraded: journal.degraded(),
    }
}

const CLAIM: &str = "The mayor of Tarnuk secretly sold the city hospital to a foreign bank.";
const PARAPHRASE: &str = "Tarnuk hospital was covertly handed by the mayor to a bank from abroad";

#[tokio::test]
async fn a_paraphrased_review_is_found_where_each_claim_entails_the_other() {
    let both = vec![(CLAIM, PARAPHRASE, 0.95, 0.02), (PARAPHRASE, CLAIM, 0.9, 0.02)];
    let found = look(CLAIM, both, None, |_| page(&[(PARAPHRASE, "False", "en")])).await;
    assert_eq!(
        found.reviews.iter().map(|one| one.relation).collect::<Vec<_>>(),
        [Relation::Same],
        "{:?}",
        found.reviews
    );
    assert!(decides(&found.reviews[0]) && (0.85..=0.95).contains(&found.reviews[0].similarity), "{:?}", found.reviews);
    // Entailment in one direction only is not the same claim.
    let one_way = vec![(CLAIM, PARAPHRASE, 0.1, 0.02), (PARAPHRASE, CLAIM, 0.95, 0.02)];
    let found = look(CLAIM, one_way, None, |_| page(&[(PARAPHRASE, "False", "en")])).await;
    assert!(!found.reviews.iter().any(decides), "{:?}", found.reviews);
}

#[tokio::test]
async fn review_of_another_event_decides_nothing_when_the_model_entails_it() {
    for other in [
        "The mayor of Ostrava secretly sold the city hospital to a foreign bank",
        "The mayor of Tarnuk secretly sold 3 city hospitals to a foreign bank in 2019",
    ] {
        let both = vec![(CLAIM, other, 0.95, 0.02), (other, CLAIM, 0.95, 0.02)];
        let found = look(CLAIM, both, None, move |_| page(&[(other, "False", "en")])).await;
        assert!(!found.reviews.iter().any(decides), "{other}: {:?}", found.reviews);
    }
}

#[tokio::test]
async fn the_plain_negation_is_known_as_the_opposite_by_meaning() {
    let opposite = "Tarnuk hospital was never handed by the mayor to a bank from abroad";
    let both = vec![(CLAIM, opposite, 0.02, 0.95), (opposite, CLAIM, 0.02, 0.9)];
    let found = look(CLAIM, both, None, move |_| page(&[(opposite, "True", "en")])).await;
    assert_eq!(found.reviews[0].relation, Relation::Opposite, "{:?}", found.reviews);
    // A contradiction without a negation word is not the opposite claim.
    let other = "Tarnuk hospital was openly given by the mayor to the nurses";
    let both = vec![(CLAIM, other, 0.02, 0.95), (other, CLAIM, 0.02, 0.9)];
    let found = look(CLAIM, both, None, move |_| page(&[(other, "True", "en")])).await;
    assert!(!found.reviews.iter().any(decides), "{:?}", found.reviews);
}

const UKRAINIAN: &str = "Мер Тарнука таємно продав міську лікарню іноземному банку.";
const KNOWN: &[(&str, &str)] = &[(UKRAINIAN, CLAIM)];

#[tokio::test]
async fn a_claim_is_looked_up_in_english_once_and_only_when_its_own_words_bring_nothing() {
    let translator = translating(KNOWN).await;
    let both = || vec![(CLAIM, PARAPHRASE, 0.95, 0.02), (PARAPHRASE, CLAIM, 0.9, 0.02)];
    let found = look(UKRAINIAN, both(), Some(&translator), |query| {
        page(if query == CLAIM { &[(PARAPHRASE, "False", "en")] } else { &[] })
    })
    .await;
    assert_eq!(found.asked, [UKRAINIAN, CLAIM]);
    assert!(found.reviews.iter().any(decides) && found.degraded.is_empty(), "{:?}", found.reviews);
    let found = look(UKRAINIAN, both(), Some(&translator), |_| page(&[(UKRAINIAN, "Неправда", "uk")])).await;
    assert_eq!(found.asked, [UKRAINIAN], "its own words brought one that decides");
    let found = look(CLAIM, both(), Some(&translator), |_| page(&[])).await;
    assert_eq!(found.asked, [CLAIM], "it is English");
    let found = look(UKRAINIAN, both(), None, |_| page(&[])).await;
    assert_eq!(found.asked, [UKRAINIAN], "there is no translator");
}

#[tokio::test]
async fn what_keeps_the_second_look_from_being_had_degrades_nothing() {
    let translator = translating(KNOWN).await;
    let found =
        look(
            UKRAINIAN,
            Vec::new(),
            Some(&translator),
            |query| {
                if query == CLAIM { answer(429, &[], "{}") } else { page(&[]) }
            },
        )
        .await;
    assert_eq!((found.asked.len(), found.degraded), (2, Vec::new()));
    let away = TestServer::start([answer(503, &[], "")]).await;
    let found = look(UKRAINIAN, Vec::new(), Some(&away), |_| page(&[])).await;
    assert_eq!((found.asked.len(), found.degraded), (1, Vec::new()));
    let found = look(UKRAINIAN, Vec::new(), Some(&translator), |_| answer(503, &[], "")).await;
    assert!(
        !found.degraded.is_empty() && found.asked.len() == 1,
        "the first one failed: that is told, and not asked again"
    );
}
