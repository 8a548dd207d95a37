use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::config::{Config, TranslateConfig};
use crate::domain::SystemClock;
use crate::domain::evidence::StanceProbabilities;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::{Note, Verdict};
use crate::inference::languages::ModelLanguages;
use crate::inference::routed::RoutedStance;
use crate::inference::translation::configured;
use crate::inference::{InferenceError, Judgement, StanceModel};
use crate::outbound::test_server::{TestServer, answer, json as reply};
use crate::outbound::{Gate, HttpClient, NoObserver};
use crate::pipeline::given::{GivenClaim, GivenText, judge_claim};

/// An NLI model of English that knows some pairs and is neutral about others.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Script {
    pub(in crate::pipeline) known: Vec<(&'static str, &'static str, f64, f64)>,
    pub(in crate::pipeline) asked: Mutex<Vec<(String, String)>>,
}

impl StanceModel for Script {
    fn name(&self) -> &'static str {
        "model:scripted"
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        let one = |pair: &Pair| {
            let (claim, passage) = (pair.claim.text.as_str(), pair.passage.text.as_str());
            self.asked.lock().unwrap().push((claim.to_owned(), passage.to_owned()));
            let found = self.known.iter().find(|known| (known.0, known.1) == (claim, passage));
            let (entail, contradict) = found.map_or((0.02, 0.02), |(_, _, entail, contradict)| (*entail, *contradict));
            let probabilities = StanceProbabilities { entail, contradict, neutral: 1.0 - entail - contradict };
            Judgement { probabilities, judge: Arc::from("model:scripted") }
        };
        Box::pin(async move { Ok(pairs.iter().map(one).collect()) })
    }
}

pub(in crate::pipeline) async fn services(script: Arc<Script>, translator: Option<&TestServer>) -> Services {
    let mut config = Config::built_in();
    for (choice, without) in [
        (&mut config.inference.embedder, "hashed"),
        (&mut config.inference.stance, "rules"),
        (&mut config.inference.reranker, "lexical"),
    ] {
        without.clone_into(choice);
    }
    let translator = translator.and_then(|server| {
        let http = HttpClient::live("test").unwrap();
        let gate = |settings| Gate::new(settings, http.clone(), Arc::new(SystemClock), Arc::new(NoObserver));
        let at = TranslateConfig { base_url: Some(server.url.clone()), ..config.translate.clone() };
        configured(&at, None, &gate)
    });
    let mut services = Arc::into_inner(crate::app::judging(&config, translator).await.unwrap()).unwrap();
    let english = ModelLanguages::new(&["en".to_owned()]);
    services.models.stance = Arc::new(RoutedStance::new(script, english, services.fallback.stance));
    services
}

pub(in crate::pipeline) async fn translating(known: &'static [(&'static str, &'static str)]) -> TestServer {
    TestServer::answering(move |_number, seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let found = known.iter().find(|(text, _)| body["q"] == *text && body["target"] == "en");
        found.map_or_else(
            || answer(500, &[], ""),
            |(_, english)| reply(&json!({ "translatedText": english }).to_string()),
        )
    })
    .await
}

const CLAIM: &str = "Порт Велмора відвантажив 4200 тонн зерна в жовтні 2026 року.";
const REPORT: &str = "За жовтень 2026 року порт Велмора відправив морем 4200 тонн збіжжя, повідомив його начальник.";
const CLAIM_EN: &str = "The port of Velmora shipped 4200 tonnes of grain in October 2026.";
const REPORT_EN: &str = "In October 2026 some 4200 tonnes of cereals left Velmora by sea, its harbour master said.";

const KNOWN: &[(&str, &str)] = &[(CLAIM, CLAIM_EN), (REPORT, REPORT_EN)];

fn script() -> Arc<Script> {
    Arc::new(Script { known: vec![(CLAIM_EN, REPORT_EN, 0.96, 0.01)], ..Script::default() })
}

fn given(texts: &[&str]) -> GivenClaim {
    let text = |text: &&str| GivenText { text: (*text).to_owned(), url: None, published_at: None };
    let evidence = texts.iter().map(text).collect();
    GivenClaim { id: "1".to_owned(), text: CLAIM.to_owned(), date: None, evidence }
}

async fn judged(services: &Services, texts: &[&str]) -> ClaimResult {
    judge_claim(services, &given(texts)).await.unwrap().unwrap()
}

#[tokio::test]
async fn judge_is_marked_as_translated_when_no_model_reads_claim_and_passage() {
    let server = translating(KNOWN).await;
    let script = script();
    let services = services(Arc::clone(&script), Some(&server)).await;
    let result = judged(&services, &[REPORT]).await;
    assert_eq!(*script.asked.lock().unwrap(), [(CLAIM_EN.to_owned(), REPORT_EN.to_owned())]);
    assert_eq!(
        (result.judge.as_str(), result.verdict),
        ("model:scripted+translated", Verdict::Supported),
        "{result:#?}"
    );
    assert_eq!(result.evidence[0].passage, REPORT, "what is stored is what was written");
    assert!(!result.notes.contains(&Note::WordsOnly), "{result:#?}");
    assert_eq!(server.seen().len(), 2, "the claim and the passage");
    judged(&services, &[REPORT]).await;
    assert_eq!(server.seen().len(), 2, "what was translated is kept");
}

#[tokio::test]
async fn figures_are_compared_in_the_words_they_were_written_in() {
    const OTHER: &str = "За жовтень 2026 року порт Велмора відвантажив 9100 тонн зерна, повідомив його начальник.";
    // A wrong figure discards a translation; wrong words change no figure.
    const MISLED: &[(&str, &str)] = &[(CLAIM, CLAIM_EN), (OTHER, "The port of Velmora shipped 9100 tonnes of grain.")];
    let script = Arc::new(Script { known: vec![(CLAIM_EN, MISLED[1].1, 0.96, 0.01)], ..Script::default() });
    let server = translating(MISLED).await;
    let result = judged(&services(script, Some(&server)).await, &[OTHER]).await;
    assert_eq!(result.features.num_ok, Some(false), "{result:#?}");
    assert_ne!(result.verdict, Verdict::Supported, "{result:#?}");
}

#[tokio::test]
async fn a_translator_that_is_away_leaves_the_words_and_is_named() {
    let server = TestServer::start([answer(503, &[], "")]).await;
    let result = judged(&services(script(), Some(&server)).await, &[REPORT]).await;
    assert_eq!(result.judge, "rules");
    assert!(result.notes.contains(&Note::WordsOnly) && result.notes.contains(&Note::Degraded), "{result:#?}");
    let alone = judged(&services(script(), None).await, &[REPORT]).await;
    assert!(alone.notes.contains(&Note::WordsOnly) && !alone.notes.contains(&Note::Degraded), "{alone:#?}");
    assert_eq!((result.verdict, result.confidence.to_bits()), (alone.verdict, alone.confidence.to_bits()));
}

#[tokio::test]
async fn only_the_few_best_passages_are_translated_and_no_more_characters_than_allowed() {
    let server = TestServer::answering(|_number, seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let english = if body["q"] == CLAIM { CLAIM_EN } else { REPORT_EN };
        reply(&json!({ "translatedText": english }).to_string())
    })
    .await;
    // Three different texts, because copies count once and are judged once.
    let texts = [
        "Порт Велмора відвантажив 4200 тонн зерна в жовтні 2026 року, пише міська газета.",
        "У жовтні 2026 року через порт Велмора пройшло 4200 тонн зерна, свідчить митна статистика.",
        "Начальник порту Велмора назвав жовтень 2026 року вдалим: відвантажено 4200 тонн зерна.",
    ];
    let mut some = services(script(), Some(&server)).await;
    some.settings.translated_passages = 2;
    let result = judged(&some, &texts).await;
    assert_eq!(result.judge, "model:scripted+rules+translated");
    assert_eq!(server.seen().len(), 3, "two passages and the claim");
    let mut few = services(script(), Some(&server)).await;
    few.settings.translated_chars = 100;
    judged(&few, &texts).await;
    assert_eq!(server.seen().len(), 5, "one passage more and the claim, asked by another process");
    let mut none = services(script(), Some(&server)).await;
    none.settings.translated_passages = 0;
    assert_eq!(judged(&none, &texts).await.judge, "rules");
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn an_english_page_is_judged_against_the_claim_in_english() {
    let server = translating(KNOWN).await;
    let script = script();
    let result = judged(&services(Arc::clone(&script), Some(&server)).await, &[REPORT_EN]).await;
    assert_eq!(
        (result.judge.as_str(), result.verdict),
        ("model:scripted+translated", Verdict::Supported),
        "{result:#?}"
    );
    assert_eq!(server.seen().len(), 1, "the claim alone");
    assert!(result.evidence[0].relevance > 0.5, "it is found by the claim's English words: {result:#?}");
}

#[tokio::test]
async fn judging_again_from_what_is_stored_comes_to_the_same() {
    use crate::domain::evidence::JudgedPassage;
    use crate::judging::verdicts::{ClaimContext, assess};

    let server = translating(KNOWN).await;
    let services = services(script(), Some(&server)).await;
    let result = judged(&services, &[REPORT]).await;
    let kind = crate::judging::decision::JudgeKind::of(&result.judge);
    assert_eq!(kind, crate::judging::decision::JudgeKind::Model);
    let row = &result.evidence[0];
    let stored = JudgedPassage {
        evidence_id: row.evidence_id.clone(),
        url: row.url.clone(),
        domain: row.domain.clone(),
        title: None,
        published_at: None,
        language: row.language.clone(),
        passage: row.passage.clone(),
        entail: row.entail,
        contradict: row.contradict,
        neutral: row.neutral,
        agreement: row.agreement,
        relevance: row.relevance,
        credibility: row.credibility,
        freshness: 0.5,
        judge: row.judge.clone(),
        specificity: 0.0,
        quality: row.quality,
        num_ok: result.features.num_ok,
        independent_group: row.independent_group.clone(),
        source_type: crate::domain::verdict::SourceType::Unknown,
        origin: row.origin,
        provider: row.provider.clone(),
        rank: 1,
        out_of_context: false,
        adjudication: None,
    };
    let context = ClaimContext {
        kind: result.kind,
        claim_date: None,
        confidence_threshold: 0.7,
        degraded: false,
        searched: true,
        judge: kind,
        scoring: services.settings.scoring,
    };
    let again = assess(&context, &[stored], &[]);
    assert_eq!(again.verdict, result.verdict);
    assert!((again.confidence - result.confidence).abs() < 1e-3, "{} {}", again.confidence, result.confidence);
}

#[test]
fn a_passage_is_put_in_pieces_of_whole_sentences() {
    let sentence = "Порт отгрузил 4200 тонн зерна за месяц, сообщил начальник порта на встрече.";
    let text = [sentence; 6].join("\n");
    let pieces = pieces(&text);
    assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.chars().count() <= LONGEST), "{pieces:?}");
    assert_eq!(pieces.join(" "), [sentence; 6].join(" "), "nothing is lost");
    assert!(pieces.iter().all(|piece| piece.ends_with('.') && !piece.contains('\n')));
    assert!(super::pieces(" \n ").is_empty());
}
