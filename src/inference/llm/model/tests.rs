use std::sync::Arc;

use futures::future::join_all;

use super::*;
use crate::cache::AnswerCacheSettings;
use crate::domain::{Clock, SystemClock};
use crate::outbound::record::Recorder;
use crate::outbound::replay::Archive;
use crate::outbound::test_server::{Reply, SeenRequest, TestServer, answer, json as reply};
use crate::outbound::{Fleet, GateSettings, HttpClient, NoObserver};

/// US dollars per million tokens: 2 read, 8 written.
const PRICES: Prices =
    Prices { call_usd: 0.001, input_usd_per_million: 2.0, output_usd_per_million: 8.0, search_usd: 0.01 };

fn setup(server: &TestServer, http: HttpClient, prices: Prices, cap_usd: f64) -> LanguageModel {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let fleet = Fleet { monthly_cap_usd: Some(cap_usd), ..Fleet::default() };
    let gate = GateSettings {
        name: "llm",
        rpm: 600,
        max_wait: Duration::from_secs(5),
        timeout: Duration::from_secs(5),
        max_bytes: 100_000,
        max_attempts: 1,
        cooldown: Duration::from_mins(1),
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: prices.reserve(500, true),
    };
    let gate = Gate::in_fleet(gate, http, clock, Arc::new(NoObserver), fleet);
    let answers = AnswerCache::new("llm", AnswerCacheSettings::default(), |_| false, None, Arc::new(NoObserver));
    let settings = ModelSettings {
        base: &server.url.join("/v1").unwrap(),
        key: Some("s3cret-key".into()),
        model: "m",
        uses: vec![Purpose::Claims],
        prices,
        max_tokens: 500,
        concurrency: 2,
    };
    LanguageModel::new(settings, gate, answers)
}

fn live(server: &TestServer) -> LanguageModel {
    setup(server, HttpClient::live("test").unwrap(), Prices::default(), 0.0)
}

fn question(user: &str) -> Question {
    Question {
        purpose: Purpose::Claims,
        system: "Find claims.".to_owned(),
        user: user.to_owned(),
        schema: json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}),
        max_tokens: 100,
    }
}

async fn ask(model: &LanguageModel, question: &Question, spend: &ItemSpend) -> Result<u64, LlmError> {
    model.ask(question, |answer| answer["a"].as_u64(), spend, until()).await
}

fn until() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn rich() -> ItemSpend {
    ItemSpend::new(100, 100.0)
}

fn chat(content: &str) -> Reply {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 100});
    reply(&json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}], "usage": usage}).to_string())
}

fn sent(seen: &SeenRequest) -> Value {
    serde_json::from_slice(&seen.body).unwrap()
}

#[tokio::test]
async fn a_question_goes_out_as_documented_and_its_object_comes_back() {
    let server = TestServer::start([chat("```json\n{\"a\": 1}\n```")]).await;
    let model = live(&server);
    let spend = rich();
    assert_eq!(ask(&model, &question("x"), &spend).await, Ok(1));
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].target()), (1, "/v1/chat/completions"));
    assert_eq!(seen[0].header("authorization"), Some("Bearer s3cret-key"));
    let body = sent(&seen[0]);
    assert_eq!((&body["model"], &body["max_tokens"], &body["temperature"]), (&json!("m"), &json!(500), &json!(0)));
    assert_eq!(body.pointer("/messages/1/content"), Some(&json!("x")));
    let spent = spend.spent();
    assert_eq!((spent.calls, spent.tokens_read, spent.tokens_written), (1, 1000, 100));
}

#[tokio::test]
async fn what_a_server_does_not_take_is_left_out_within_the_question_and_ever_after() {
    let server = TestServer::answering(|_, seen| {
        let body = sent(seen);
        for name in ["max_tokens", "temperature", "response_format"] {
            if !body[name].is_null() {
                return answer(
                    400,
                    &[],
                    json!({"error": {"message": format!("'{name}' is not supported")}}).to_string(),
                );
            }
        }
        chat("{\"a\": 1}")
    })
    .await;
    let model = live(&server);
    assert_eq!(ask(&model, &question("x"), &rich()).await, Ok(1));
    assert_eq!(server.seen().len(), 3, "the usual form, for reasoning models, without a schema");
    assert_eq!(ask(&model, &question("y"), &rich()).await, Ok(1));
    assert_eq!(server.seen().len(), 4, "the next question begins with what is known");
}

#[tokio::test]
async fn a_malformed_answer_is_requested_once_more_and_both_calls_are_paid() {
    let server = TestServer::start([chat("I would rather not say."), chat("{\"a\": 2}")]).await;
    let model = live(&server);
    let spend = rich();
    assert_eq!(ask(&model, &question("x"), &spend).await, Ok(2));
    assert_eq!((spend.spent().calls, spend.spent().tokens_written), (2, 200));
    let seen = server.seen();
    let user = |at: usize| sent(&seen[at]).pointer("/messages/1/content").unwrap().as_str().unwrap().to_owned();
    assert!(user(0) == "x" && user(1).starts_with("x\n\nAnswer with one complete JSON object"), "{}", user(1));

    let server = TestServer::start([chat("no"), chat("no"), chat("{\"a\": 2}")]).await;
    let model = live(&server);
    assert_eq!(ask(&model, &question("x"), &rich()).await.unwrap_err().outcome(), "malformed");
    assert_eq!(server.seen().len(), 2);
    assert_eq!(ask(&model, &question("x"), &ItemSpend::new(1, 1.0)).await, Ok(2), "an error is not kept");
}

#[tokio::test]
async fn a_truncated_answer_is_neither_used_nor_requested_again() {
    let cut = json!({"choices": [{"message": {"content": "{\"a\": 1, \"b\": [2, "}, "finish_reason": "length"}]});
    let server = TestServer::start([reply(&cut.to_string())]).await;
    let model = live(&server);
    assert_eq!(ask(&model, &question("x"), &rich()).await, Err(LlmError::Cut));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_refusal_that_remains_without_the_field_is_no_reason_to_ask_again() {
    let body = r#"{"error":{"message":"'temperature' is not supported"}}"#;
    let server = TestServer::start([answer(400, &[], body)]).await;
    let model = live(&server);
    let error = ask(&model, &question("x"), &rich()).await.unwrap_err();
    assert!(matches!(error, LlmError::Ask(AskError::Refused { .. })), "{error}");
    assert_eq!(server.seen().len(), 2, "each form was tried once");
}

#[tokio::test]
async fn the_same_question_is_asked_once_and_an_error_is_not_kept() {
    let server = TestServer::start([answer(500, &[], ""), chat("{\"a\": 1}")]).await;
    let model = live(&server);
    assert!(ask(&model, &question("x"), &rich()).await.is_err());
    let spends = [rich(), rich(), rich()];
    let q = question("x");
    let all = join_all(spends.iter().map(|spend| ask(&model, &q, spend))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(spends.iter().map(|spend| spend.spent().calls).sum::<u32>(), 1, "one pays for all");
    assert!(
        ask(&model, &question("x"), &ItemSpend::new(0, 0.0)).await.is_ok(),
        "an item that may ask nothing reuses it"
    );
    assert_eq!(server.seen().len(), 2);
    let other = Question { system: "Find facts.".to_owned(), ..question("x") };
    assert!(ask(&model, &other, &rich()).await.is_ok());
    assert_eq!(server.seen().len(), 3, "another prompt is another question");
}

#[tokio::test]
async fn what_is_not_believed_is_not_kept() {
    let server = TestServer::start([chat("{\"a\": 1}"), chat("{\"a\": 2}")]).await;
    let model = live(&server);
    let ask = async || model.ask(&question("x"), |answer| (answer["a"] == 2).then_some(2), &rich(), until()).await;
    assert_eq!(ask().await.unwrap_err().outcome(), "unsupported");
    assert_eq!(ask().await, Ok(2));
}

#[tokio::test]
async fn money_is_set_aside_before_and_settled_after_by_what_was_used() {
    let server = TestServer::start([chat("{\"a\": 1}"), chat("{\"a\": 2}"), answer(401, &[], "no"), Reply::Hang]).await;
    let model = setup(&server, HttpClient::live("test").unwrap(), PRICES, 1.0);
    let spend = rich();
    let paid = 0.001 + 0.002 + 0.0008;
    ask(&model, &question("x"), &spend).await.unwrap();
    assert!((spend.spent().usd - paid).abs() < 1e-9, "{:?}", spend.spent());
    assert!((model.gate.status().usd_today - paid).abs() < 1e-9);
    ask(&model, &question("y"), &spend).await.unwrap();
    assert!((model.gate.status().usd_today - 2.0 * paid).abs() < 1e-9);
    assert!(ask(&model, &question("z"), &spend).await.is_err());
    assert!((model.gate.status().usd_today - 2.0 * paid).abs() < 1e-9, "a refused key costs nothing");
    assert!((spend.spent().usd - 2.0 * paid).abs() < 1e-9);
}

#[tokio::test]
async fn the_caps_of_the_month_and_of_the_item_stop_calls() {
    let server = TestServer::start([chat("{\"a\": 1}")]).await;
    let http = || HttpClient::live("test").unwrap();
    let model = setup(&server, http(), PRICES, PRICES.reserve(500, true) - 1e-6);
    let error = ask(&model, &question("x"), &rich()).await.unwrap_err();
    assert_eq!(error, LlmError::Ask(AskError::Budget));
    let model = setup(&server, http(), PRICES, 1.0);
    let spend = ItemSpend::new(10, 0.001);
    assert_eq!(ask(&model, &question("x"), &spend).await, Err(LlmError::ItemLimit));
    assert_eq!((server.seen().len(), spend.spent()), (0, Spending::default()));
}

#[tokio::test]
async fn a_short_wait_that_the_server_names_is_sat_out() {
    let busy = answer(429, &[("retry-after", "1")], r#"{"error":{"code":"rate_limit_exceeded","message":"x"}}"#);
    let server = TestServer::start([busy, chat("{\"a\": 1}")]).await;
    let model = live(&server);
    assert!(ask(&model, &question("x"), &rich()).await.is_ok());
    let gone = answer(429, &[("retry-after", "1")], r#"{"error":{"code":"insufficient_quota","message":"x"}}"#);
    let server = TestServer::start([gone, chat("{\"a\": 1}")]).await;
    let model = live(&server);
    let error = ask(&model, &question("x"), &rich()).await.unwrap_err();
    assert_eq!(error, LlmError::Ask(AskError::QuotaGone { until: None }));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn question_fails_at_deadline_when_server_hangs() {
    let server = TestServer::start([Reply::Hang]).await;
    let model = live(&server);
    let started = Instant::now();
    let soon = started + Duration::from_millis(300);
    let questions: Vec<Question> = (0..4).map(|n| question(&n.to_string())).collect();
    let spends: Vec<ItemSpend> = questions.iter().map(|_| rich()).collect();
    let all =
        join_all(questions.iter().zip(&spends).map(|(one, spend)| model.ask(one, |_| Some(()), spend, soon))).await;
    assert!(all.iter().all(|result| *result == Err(LlmError::Ask(AskError::Deadline))), "{all:?}");
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(server.seen().len(), 2, "the others had no place, and their calls never went out");
    assert_eq!(spends.iter().map(|spend| spend.spent().calls).sum::<u32>(), 2);
}

#[tokio::test]
async fn a_search_brings_addresses_and_a_server_without_one_is_asked_once() {
    let found = json!({"output": [
        {"type": "web_search_call"},
        {"type": "message", "content": [{"type": "output_text", "text": "…", "annotations": [
            {"type": "url_citation", "url": "https://a.example/x?utm_source=openai"}]}]},
    ], "usage": {"input_tokens": 1000, "output_tokens": 100}});
    let server = TestServer::start([reply(&found.to_string())]).await;
    let model = setup(&server, HttpClient::live("test").unwrap(), PRICES, 1.0);
    let wish = Question { purpose: Purpose::Search, ..question("x") };
    let spend = rich();
    assert_eq!(model.search(&wish, &spend, until()).await, Ok(vec!["https://a.example/x".to_owned()]));
    assert!((spend.spent().usd - 0.0138).abs() < 1e-9, "{:?}", spend.spent());
    assert!(model.search(&wish, &spend, until()).await.is_ok(), "from the cache");
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].target()), (1, "/v1/responses"));
    assert_eq!(sent(&seen[0])["tools"], json!([{"type": "web_search"}]));

    let server = TestServer::answering(|_, seen| {
        if seen.path().ends_with("/responses") { answer(404, &[], "404 page not found") } else { chat("{\"a\": 1}") }
    })
    .await;
    let model = live(&server);
    for _ in 0..2 {
        let error = model.search(&wish, &rich(), until()).await.unwrap_err().to_string();
        assert!(error.contains("no web search") && error.contains("LLM_SEARCH_ENABLED"), "{error}");
    }
    assert_eq!(server.seen().len(), 1);
    assert!(ask(&model, &question("x"), &rich()).await.is_ok(), "what it can do it is asked for all the same");
}

#[tokio::test]
async fn error_names_fix_without_key_when_probe_fails() {
    for (status, body, hint) in [
        (401, r#"{"error":{"message":"Incorrect API key: s3cret-key","code":"invalid_api_key"}}"#, "refuses the key"),
        (404, r#"{"error":{"message":"no model m for s3cret-key","code":"model_not_found"}}"#, "LLM_MODEL"),
        (404, "404 page not found", "LLM_BASE_URL"),
        (200, "<html>hello</html>", "could not be read"),
    ] {
        let server = TestServer::start([answer(status, &[], body)]).await;
        let model = live(&server);
        let error = model.probe(until()).await.unwrap_err().to_string();
        assert!(error.contains(hint) && !error.contains("s3cret"), "{error}");
    }
    let cut = json!({"choices": [{"message": {"content": null}, "finish_reason": "length"}]});
    let server = TestServer::start([reply(&cut.to_string())]).await;
    let model = live(&server);
    assert_eq!(model.probe(until()).await, Ok(()));
    assert_eq!(sent(&server.seen()[0])["max_tokens"], 1);
}

#[tokio::test]
async fn a_recorded_run_is_answered_again_without_the_server() {
    let server = TestServer::answering(|_, seen| {
        let body = sent(seen);
        if body["temperature"].is_null() {
            return chat(&format!("{{\"a\": {}}}", body["messages"][1]["content"].as_str().unwrap()));
        }
        answer(400, &[], r#"{"error":{"message":"'temperature' is not supported","param":"temperature"}}"#)
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::create(folder.path(), chrono::DateTime::UNIX_EPOCH, false).unwrap());
    let recording = HttpClient::recording("test", Arc::clone(&recorder)).unwrap();
    let model = setup(&server, recording, PRICES, 1.0);
    for number in ["1", "2"] {
        ask(&model, &question(number), &rich()).await.unwrap();
    }
    let asked = server.seen().len();
    let archive = Arc::new(Archive::from_dir(folder.path()).unwrap());
    let model = setup(&server, HttpClient::replay(archive), PRICES, 1.0);
    let spend = rich();
    // Reversed: the second recording has the parameters that the first found.
    for number in [2, 1] {
        assert_eq!(ask(&model, &question(&number.to_string()), &spend).await, Ok(number));
    }
    assert_eq!((server.seen().len(), model.gate.status().usd_today), (asked, 0.0));
    assert!(spend.spent().usd < 1e-12, "what was paid for once is not paid for again");
    let missing = ask(&model, &question("3"), &spend).await.unwrap_err();
    assert!(matches!(missing, LlmError::Ask(AskError::NoRecording(_))), "{missing}");
    let text = std::fs::read_to_string(recorder.recorded().file).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
}
