use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use futures::future::BoxFuture;

use super::super::contract_own::{OwnSubject, gate};
use super::*;
use crate::domain::evidence::JudgedPassage;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Origin;
use crate::domain::verdict::{ClaimKind, SourceType, Verdict};
use crate::inference::Models;
use crate::inference::Pair;
use crate::inference::hashed::{DEFAULT_DIMENSION, HashedEmbedder};
use crate::judging::credibility::credibility;
use crate::judging::decision::JudgeKind;
use crate::judging::numbers;
use crate::judging::profile::TextProfile;
use crate::judging::scoring::Scoring;
use crate::judging::verdicts::{ClaimContext, assess};
use crate::outbound::AskMeter;
use crate::store::StoreError;

/// An index in memory; integration tests use a real server.
#[derive(Debug)]
struct MemoryIndex {
    rows: Vec<NearEvidence>,
    slow: Duration,
    broken: bool,
}

impl EvidenceIndex for MemoryIndex {
    fn nearest<'a>(&'a self, wanted: NearestQuery<'a>) -> BoxFuture<'a, Result<Vec<NearEvidence>, StoreError>> {
        Box::pin(async move {
            tokio::time::sleep(self.slow).await;
            assert_eq!((wanted.embedding.len(), wanted.embedder), (DEFAULT_DIMENSION, "hashed-ngrams"));
            if self.broken {
                return Err(StoreError::Corrupt { detail: "the shelf fell down".to_owned() });
            }
            Ok(self.rows.clone())
        })
    }
}

fn near(url: &str, sentence: &str) -> NearEvidence {
    NearEvidence {
        url: url.to_owned(),
        final_url: None,
        title: Some("A title ".to_owned()),
        published_at: Some(DateTime::UNIX_EPOCH),
        language: Some("en".to_owned()),
        sentence: sentence.to_owned(),
        similarity: 0.8,
    }
}

fn knowledge(rows: Vec<NearEvidence>, slow: Duration, broken: bool) -> Knowledge {
    let denied: DenyCheck = Arc::new(|host| host == "denied.example");
    let index = Arc::new(MemoryIndex { rows, slow, broken });
    new(index, Arc::new(HashedEmbedder::default()), denied, gate(gate_settings(Duration::from_mins(10))))
}

async fn ask(provider: &Knowledge, text: &str) -> Answer {
    let query = Query { text: text.to_owned(), ..super::super::contract::query() };
    let meter = AskMeter::default();
    let until = tokio::time::Instant::now() + Duration::from_secs(5);
    provider.ask(&query, Asker { until, meter: &meter }).await.unwrap()
}

pub(in crate::providers) fn own_subject() -> Ready<Option<OwnSubject>> {
    let rows = vec![
        near("https://a.example/1", "Customs approved the port."),
        near("https://a.example/1", "The port of Vizhinjam has its customs licence."),
        near("https://b.example/2", "Vizhinjam may now receive ships."),
    ];
    ready(Some(OwnSubject {
        kind: ProviderKind::Own,
        query: super::super::contract::query(),
        full: Box::new(knowledge(rows, Duration::ZERO, false)),
        empty: Box::new(knowledge(Vec::new(), Duration::ZERO, false)),
        broken: Box::new(knowledge(Vec::new(), Duration::ZERO, true)),
        slow: Box::new(knowledge(Vec::new(), Duration::from_secs(6), false)),
        content: None,
        clear: Box::pin(async {}),
    }))
}

#[tokio::test]
async fn a_denied_host_is_not_known_wherever_its_address_led_from() {
    let mut moved = near("https://c.example/3", "A third sentence.");
    moved.final_url = Some("https://denied.example/3".to_owned());
    let rows = vec![near("https://denied.example/1", "One."), near("https://b.example/2", "Two."), moved];
    let found = ask(&knowledge(rows, Duration::ZERO, false), "anything").await;
    assert_eq!(found.hits.iter().map(|hit| hit.url.as_str()).collect::<Vec<_>>(), ["https://b.example/2"]);
}

#[tokio::test]
async fn a_text_without_words_is_near_to_nothing() {
    let rows = vec![near("https://b.example/2", "Two.")];
    assert_eq!(ask(&knowledge(rows, Duration::ZERO, false), "… !?").await, Answer::default());
}

#[test]
fn the_facts_are_ten_with_real_and_separate_places() {
    let mut urls: Vec<String> = Vec::new();
    for fact in &seeds::SEEDS {
        let url = Url::parse(fact.url).unwrap();
        assert_eq!(url.scheme(), "https");
        assert!(url.fragment().is_none() && fact.key().starts_with(fact.url));
        let kind = SourceType::parse(fact.source_type).unwrap();
        let (figure, known) = credibility(url.host_str().unwrap(), &DomainRules::default());
        assert!(figure >= 0.8, "{url} is an authority: {figure}");
        assert_eq!(known, kind, "{url}");
        assert!((40..=200).contains(&fact.text.chars().count()), "{}", fact.text);
        urls.push(fact.key());
    }
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 10);
}

/// The verdict on a claim from the ten facts alone.
async fn alone(claim: &str) -> (Verdict, bool) {
    let models = Models::rules(DEFAULT_DIMENSION, 0.65);
    let embed = async |text: &str| models.embedder.embed(&[text]).await.unwrap().pop().unwrap();
    let profile =
        async |text: &str| Arc::new(TextProfile::new(text, Some("en"), None, &[]).with_embedding(embed(text).await));
    let ours = profile(claim).await;
    let mut passages: Vec<JudgedPassage> = Vec::new();
    for (position, fact) in seeds::SEEDS.iter().enumerate() {
        let theirs = profile(fact.text).await;
        let pairs = [Pair { claim: Arc::clone(&ours), passage: Arc::clone(&theirs) }];
        let relevance = models.reranker.relevance(&pairs).await.unwrap()[0];
        let given = models.stance.judge(&pairs).await.unwrap()[0].probabilities;
        let check = numbers::compare(&ours, &theirs);
        let given = numbers::apply(given, &check);
        passages.push(JudgedPassage {
            evidence_id: format!("ev_{position}"),
            url: fact.key(),
            domain: String::new(),
            title: None,
            published_at: None,
            language: None,
            passage: fact.text.to_owned(),
            entail: given.entail,
            contradict: given.contradict,
            neutral: given.neutral,
            agreement: 0.7,
            relevance,
            credibility: 0.95,
            freshness: 0.5,
            specificity: 0.8,
            quality: 0.8,
            judge: None,
            num_ok: check.num_ok,
            independent_group: fact.key(),
            source_type: SourceType::Government,
            origin: Origin::Kb,
            provider: NAME.to_owned(),
            rank: u32::try_from(position + 1).unwrap(),
            out_of_context: false,
            adjudication: None,
        });
    }
    let context = ClaimContext {
        kind: ClaimKind::Factual,
        claim_date: None,
        confidence_threshold: 0.75,
        degraded: false,
        searched: true,
        judge: JudgeKind::Rules,
        scoring: Scoring::default(),
    };
    let found = assess(&context, &passages, &[]);
    (found.verdict, found.decisive)
}

/// About twenty claims each: a true one may be supported or open but never refuted, a false one never supported.
#[tokio::test]
async fn the_facts_alone_never_make_a_wrong_verdict() {
    let true_claims = [
        "The Earth is about 4.5 billion years old.",
        "The Earth is 4.54 billion years old.",
        "The Earth is not 6,000 years old.",
        "The Earth is round.",
        "The Earth is not flat.",
        "COVID-19 vaccines are safe.",
        "COVID-19 vaccines are not dangerous.",
        "Apollo 11 landed on the Moon in 1969.",
        "Humans landed on the Moon on 20 July 1969.",
        "The Moon landing was not faked.",
        "Human activities are causing global warming.",
        "Global warming is caused by humans.",
        "5G does not spread COVID-19.",
        "5G mobile networks do not cause COVID-19.",
        "Water fluoridation is safe.",
        "Community water fluoridation prevents tooth decay.",
        "The speed of light in vacuum is 299,792,458 metres per second.",
        "The speed of light is about 300,000 kilometres per second.",
        "India became independent in 1947.",
        "The United Nations was founded in 1945.",
        "The United Nations was not founded in 1950.",
    ];
    let false_claims = [
        "The Earth is 6,000 years old.",
        "The Earth is not 4.54 billion years old.",
        "The Earth is flat.",
        "The Earth is not round.",
        "COVID-19 vaccines are not safe.",
        "COVID-19 vaccines are dangerous.",
        "Apollo 11 never landed on the Moon.",
        "Apollo 11 landed the first humans on the Moon in 1972.",
        "The Moon landing was faked.",
        "Human activities are not causing global warming.",
        "Climate scientists do not agree that human activities are causing global warming.",
        "5G mobile networks spread COVID-19.",
        "5G causes COVID-19.",
        "Water fluoridation is not safe.",
        "Community water fluoridation is dangerous.",
        "The speed of light in vacuum is 150,000 kilometres per second.",
        "India became independent from British rule in 1950.",
        "India did not become independent in 1947.",
        "The United Nations was founded in 1919.",
        "The United Nations was not founded in 1945.",
    ];
    let mut wrong = Vec::new();
    let mut refuted = 0;
    for claim in true_claims {
        let found = alone(claim).await;
        if matches!(found.0, Verdict::Refuted | Verdict::Outdated | Verdict::Misleading) {
            wrong.push((claim, found));
        }
    }
    for claim in false_claims {
        let found = alone(claim).await;
        refuted += u32::from(found.0 == Verdict::Refuted);
        if found.0 == Verdict::Supported {
            wrong.push((claim, found));
        }
    }
    assert_eq!(wrong, []);
    // One part in 300 million is within the tolerance of figures: provisional at most.
    assert!(!alone("The speed of light in vacuum is 299,792,459 metres per second.").await.1);
    assert!(refuted >= 12, "the plain falsehoods are refuted: {refuted}");
}

/// True claims with figures or words close to a fact: none is refuted.
#[tokio::test]
async fn a_fact_never_refutes_a_true_claim_about_its_neighbour() {
    let claims = [
        "The universe is 13.8 billion years old.",
        "Life on Earth is about 3.7 billion years old.",
        "The Earth's inner core is about 1 billion years old.",
        "The Sun is about 4.6 billion years old.",
        "The Milky Way is about 13.6 billion years old.",
        "The oldest rocks on Earth are about 4 billion years old.",
        "The Earth's atmosphere is about 2.4 billion years old.",
        "The oldest fossils are about 3.5 billion years old.",
        "The Earth is not a perfect sphere.",
        "The Earth is wider at the equator.",
        "Some maps of the Earth are flat.",
        "Some COVID-19 vaccines are not safe.",
        "A few COVID-19 vaccines are not effective.",
        "Certain COVID-19 vaccines are dangerous.",
        "Serious side effects of COVID-19 vaccines are not common.",
        "Apollo 12 landed on the Moon on 19 November 1969.",
        "Apollo 17 landed the last humans on the Moon in December 1972.",
        "Apollo 11 was launched on 16 July 1969.",
        "Apollo 11 returned on 24 July 1969.",
        "Apollo 11 landed the first humans on the Moon before 1970.",
        "Humans landed on the Moon after 1960.",
        "Some scientists do not agree that human activities are causing global warming.",
        "4G mobile networks do not spread COVID-19.",
        "Some mobile networks are not 5G.",
        "Some water fluoridation is not safe.",
        "The speed of light in water is about 225,000 kilometres per second.",
        "The speed of light in glass is about 200,000 kilometres per second.",
        "The speed of sound in air is about 343 metres per second.",
        "Pakistan became independent from British rule on 14 August 1947.",
        "Sri Lanka became independent from British rule on 4 February 1948.",
        "India became a republic on 26 January 1950.",
        "India became independent from British rule before 1950.",
        "India has been independent from British rule since 1947.",
        "The United Nations was founded before 1950.",
        "The United Nations was founded after 1940.",
        "The United Nations was founded by 1946.",
        "The League of Nations was founded on 10 January 1920.",
        "The Charter of the United Nations was signed on 26 June 1945.",
        "The headquarters of the United Nations was completed in 1952.",
        "UNICEF was founded on 11 December 1946.",
        "Вселенной 13,8 миллиарда лет.",
        "Некоторые вакцины от COVID-19 небезопасны.",
        "Пакистан стал независимым 14 августа 1947 года.",
        "Організацію Об'єднаних Націй засновано до 1950 року.",
        "Всесвіту 13,8 мільярда років.",
        "Деякі вакцини від COVID-19 не є безпечними.",
    ];
    let mut wrong = Vec::new();
    for claim in claims {
        let found = alone(claim).await;
        if matches!(found.0, Verdict::Refuted | Verdict::Outdated | Verdict::Misleading) {
            wrong.push((claim, found));
        }
    }
    assert_eq!(wrong, []);
    // One part in 300 million is within the tolerance of figures: provisional at most.
    assert!(!alone("The speed of light in vacuum is 299,792,459 metres per second.").await.1);
    for claim in [
        "The Earth is 6,000 years old.",
        "The Earth is flat.",
        "COVID-19 vaccines are not safe.",
        "India became independent from British rule in 1950.",
        "India became independent from British rule after 1950.",
        "The United Nations was founded in 1919.",
        "The United Nations was founded before 1940.",
        "The speed of light in vacuum is 150,000 kilometres per second.",
    ] {
        assert_eq!(alone(claim).await.0, Verdict::Refuted, "{claim}");
    }
}
