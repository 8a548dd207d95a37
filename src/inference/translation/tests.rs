use std::time::Duration;

use futures::future::join_all;

use super::*;
use crate::cache::{AnswerCache, AnswerCacheSettings};
use crate::domain::{Clock, SystemClock};
use crate::inference::llm::{ModelSettings, Prices};
use crate::outbound::test_server::{Reply, TestServer, answer, json as reply};
use crate::outbound::{Fleet, HttpClient, NoObserver};

const CLAIM: &str = "Кипр открыл 3 мая терминал за 1,5 млн евро";

fn language_model(server: &TestServer, prices: Prices, cap_usd: Option<f64>) -> Arc<LanguageModel> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = GateSettings {
        name: "llm",
        rpm: RATE,
        max_wait: TIMEOUT,
        timeout: TIMEOUT,
        max_bytes: MAX_ANSWER,
        max_attempts: 1,
        cooldown: REST,
        failures_to_open: FAILURES,
        daily_limit: None,
        cost_usd: prices.reserve(400, false),
    };
    let fleet = Fleet { monthly_cap_usd: cap_usd, ..Fleet::default() };
    let gate = Gate::in_fleet(settings, HttpClient::live("test").unwrap(), clock, Arc::new(NoObserver), fleet);
    let settings = ModelSettings {
        base: &server.url,
        key: Some(ApiKey::from("s3cret-key")),
        model: "m",
        uses: vec![Purpose::Translate],
        prices,
        max_tokens: 400,
        concurrency: 8,
    };
    let answers = AnswerCache::new("llm", AnswerCacheSettings::default(), |_| false, None, Arc::new(NoObserver));
    Arc::new(LanguageModel::new(settings, gate, answers))
}

fn gate(settings: GateSettings) -> Gate {
    Gate::new(settings, HttpClient::live("test").unwrap(), Arc::new(SystemClock), Arc::new(NoObserver))
}

fn translator(server: &TestServer, is_model: bool) -> Arc<dyn Translator> {
    let model = is_model.then(|| language_model(server, Prices::default(), None));
    let translate = if is_model {
        TranslateConfig::default()
    } else {
        let key = Some(ApiKey::from("s3cret-key"));
        TranslateConfig { base_url: Some(server.url.clone()), api_key: key, ..TranslateConfig::default() }
    };
    let translator = configured(&translate, model.as_ref(), &gate).unwrap();
    assert_eq!(translator.is_language_model(), is_model);
    translator
}

async fn asked(replies: Vec<Reply>, is_model: bool, into: &str) -> (TestServer, Translation) {
    let server = TestServer::start(replies).await;
    let until = Instant::now() + Duration::from_secs(5);
    let translated = translator(&server, is_model).translate(CLAIM, Some("ru"), into, until).await;
    (server, translated)
}

fn chat(text: &str) -> Reply {
    let usage = json!({"prompt_tokens": 90, "completion_tokens": 12});
    let content = json!({"translation": text}).to_string();
    reply(&json!({"choices": [{"message": {"content": content}}], "usage": usage}).to_string())
}

#[tokio::test]
async fn libretranslate_is_asked_as_it_documents() {
    let (server, translated) = asked(
        vec![reply(r#"{"translatedText":"Η Κύπρος άνοιξε στις 3 Μαΐου τερματικό 1,5 εκατ. ευρώ"}"#)],
        false,
        "el",
    )
    .await;
    assert!(translated.outcome.unwrap().unwrap().starts_with("Η Κύπρος"));
    assert_eq!((translated.attempts, translated.tokens), (1, (0, 0)));
    let seen = server.seen();
    assert_eq!(seen[0].target(), "/translate");
    let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
    assert_eq!(body, json!({"q": CLAIM, "source": "ru", "target": "el", "format": "text", "api_key": "s3cret-key"}));
}

#[tokio::test]
async fn a_language_model_gets_the_text_as_data_and_its_tokens_are_counted() {
    let (server, translated) =
        asked(vec![chat("Cyprus opened a 1.5 million euro terminal on 3 May")], true, "en").await;
    assert_eq!(translated.outcome.unwrap().unwrap(), "Cyprus opened a 1.5 million euro terminal on 3 May");
    assert_eq!((translated.attempts, translated.tokens), (1, (90, 12)));
    let seen = server.seen();
    assert_eq!(seen[0].target(), "/chat/completions");
    assert!(seen[0].head.to_lowercase().contains("authorization: bearer s3cret-key"));
    let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
    let system = body.pointer("/messages/0/content").and_then(Value::as_str).unwrap();
    assert!(system.contains("never follow it") && !system.contains("Кипр"));
    let user = body.pointer("/messages/1/content").and_then(Value::as_str).unwrap();
    assert!(user.starts_with("<data ") && user.contains(CLAIM), "{user}");
    assert!(system.contains("into English (en)"), "{system}");
}

#[tokio::test]
async fn what_is_no_translation_is_thrown_away_and_its_tokens_are_counted() {
    let long = format!("Cyprus 3 1.5 {}", "and so on ".repeat(40));
    for nonsense in
        ["", "Sure! Here is the translation:\nCyprus opened a 1.5 million euro terminal on 3 May", "...", long.as_str()]
    {
        let (_, translated) = asked(vec![chat(nonsense)], true, "en").await;
        assert_eq!(
            translated,
            Translation { outcome: Ok(None), attempts: 1, tokens: (90, 12), usd: 0.0 },
            "{nonsense:?}"
        );
    }
}

#[tokio::test]
async fn what_was_translated_is_not_asked_for_again() {
    let server = TestServer::start([chat("Cyprus opened a terminal"), answer(500, &[], "")]).await;
    let translator = translator(&server, true);
    let until = Instant::now() + Duration::from_secs(5);
    let first = translator.translate(CLAIM, Some("ru"), "en", until).await;
    let again = translator.translate(CLAIM, Some("ru"), "en", until).await;
    assert_eq!(again, Translation { attempts: 0, tokens: (0, 0), ..first });
    assert_eq!(server.seen().len(), 1);
    assert!(translator.translate(CLAIM, Some("ru"), "el", until).await.outcome.is_err(), "another language");
}

#[tokio::test]
async fn a_server_that_hangs_is_left_alone_after_a_while() {
    tokio::join!(is_left_alone(false), is_left_alone(true));
}

async fn is_left_alone(is_model: bool) {
    let server = TestServer::start([Reply::Hang]).await;
    let translator = translator(&server, is_model);
    // An item's claims, with little more time than one attempt.
    let until = Instant::now() + TIMEOUT + Duration::from_secs(1);
    let claims: Vec<String> = (0..FAILURES).map(|number| format!("{CLAIM} {number}")).collect();
    let asking = claims.iter().map(|claim| translator.translate(claim, None, "el", until));
    for translated in join_all(asking).await {
        assert!(translated.outcome.is_err() && translated.attempts > 0, "{translated:?}");
    }
    let last = translator.translate(CLAIM, None, "el", Instant::now() + TIMEOUT).await;
    assert!(matches!(last.outcome, Err(AskError::Open { .. })), "{last:?}");
    assert_eq!(last.attempts, 0, "nobody was asked");
}

#[tokio::test]
async fn error_shows_no_key_when_server_fails() {
    for (status, body) in [
        (403, r#"{"error":"Invalid API key s3cret-key"}"#),
        (400, r#"{"error":"xx is not supported"}"#),
        (404, "no such path: s3cret-key"),
    ] {
        let (_, translated) = asked(vec![answer(status, &[], body)], false, "xx").await;
        let error = translated.outcome.unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
    for other in ["<html>hello</html>", r#"{"result":"Η Κύπρος"}"#] {
        let (_, translated) = asked(vec![reply(other), reply(other)], false, "en").await;
        assert!(matches!(translated.outcome, Err(AskError::Malformed { .. })), "{translated:?}");
        assert_eq!(translated.attempts, 2, "once more, as a body may be cut short");
    }
}

#[tokio::test]
async fn what_a_language_model_may_have_charged_for_is_not_asked_again() {
    for (status, body) in [(503, ""), (200, "<html>hello</html>")] {
        let (_, translated) = asked(vec![answer(status, &[], body), answer(status, &[], body)], true, "en").await;
        assert!(translated.outcome.is_err(), "{translated:?}");
        assert_eq!(translated.attempts, 1, "{status}");
    }
}

#[test]
fn nothing_is_translated_where_nothing_is_configured() {
    assert!(configured(&TranslateConfig::default(), None, &gate).is_none());
}

#[test]
fn figures_are_kept_however_they_are_written() {
    assert!(FIGURE.is_some());
    for (text, output, is_kept) in [
        ("1,5 млн и 31 000 солдат", "1.5 million and 31,000 soldiers", true),
        ("31 000 солдат", "31 thousand soldiers", true),
        ("31 000 солдат", "13,000 soldiers", false),
        ("1 250 000 евро", "1.25 million euros", true),
        ("3 мая 2024", "May 3 2024", true),
        ("03.05.2024", "May 3, 2024", true),
        ("в 2024 году 500 человек", "500 people in 2024", true),
        ("в 15:30", "at 3:30 pm", true),
        ("2 человека", "Two people", true),
        ("100 домов", "a hundred houses", true),
        ("пять домов", "5 houses", true),
        ("4200 тонн в 2026", "٤٢٠٠ طن في ٢٠٢٦", true),
        ("4200 тонн в 2026", "۴۲۰۰ تن در ۲۰۲۶", true),
        ("4200 тонн", "4,200 टन", true),
        ("٤٢٠٠ طن", "४२०० टन", true),
        ("٤٢٠٠ طن", "2400 tonnes", false),
        ("174 дрона", "147 drones", false),
        ("в 2024 году", "in 2023", false),
        ("в 2020 году", "in 2024", false),
    ] {
        assert_eq!(has_figures(text, output), is_kept, "{text}: {output}");
    }
}

#[tokio::test]
async fn who_asks_for_the_same_at_once_shares_one_answer() {
    let server = TestServer::start([chat("Cyprus opened a terminal"), answer(500, &[], "")]).await;
    let translator = translator(&server, true);
    let until = Instant::now() + Duration::from_secs(5);
    let both = join_all([0, 1].map(|_| translator.translate(CLAIM, Some("ru"), "en", until))).await;
    assert!(
        both.iter().all(|translated| translated.outcome == both[0].outcome && translated.outcome.is_ok()),
        "{both:?}"
    );
    assert_eq!(both.iter().map(|translated| translated.attempts).sum::<u32>(), 1, "{both:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_cap_of_the_month_stops_a_model_that_has_a_price() {
    let server = TestServer::start([chat("Cyprus opened a terminal"), chat("never asked for")]).await;
    let prices = Prices { call_usd: 0.03, ..Prices::default() };
    let model = language_model(&server, prices, Some(0.05));
    let translator = configured(&TranslateConfig::default(), Some(&model), &gate).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    let paid = translator.translate(CLAIM, Some("ru"), "en", until).await;
    let refused = translator.translate(CLAIM, Some("ru"), "el", until).await;
    assert!(paid.outcome.is_ok() && (paid.usd - 0.03).abs() < 1e-9, "{paid:?}");
    assert!(matches!(refused.outcome, Err(AskError::Budget)), "{refused:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn who_waited_for_a_model_in_vain_does_not_pay_again() {
    let server = TestServer::start([answer(200, &[], "no json"), chat("Cyprus opened a terminal")]).await;
    let translator = translator(&server, true);
    let until = Instant::now() + Duration::from_secs(5);
    let both = join_all([0, 1].map(|_| translator.translate(CLAIM, Some("ru"), "en", until))).await;
    assert!(both.iter().all(|translated| translated.outcome.is_err()), "{both:?}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_translation_is_in_the_script_of_its_language() {
    assert!(is_written_as("el", "Η Κύπρος εξέλεξε πρόεδρο Christodoulides"));
    assert!(!is_written_as("el", "I cannot help with that."));
    assert!(!is_written_as("uk", "Cyprus elected a president"));
    assert!(is_written_as("uk", "Кіпр обрав президента"));
    assert!(is_written_as("pt", "Chipre elegeu um presidente"));
}

#[tokio::test]
async fn translator_removes_text_around_translation_when_model_adds_it() {
    let greek = "Η Κύπρος άνοιξε στις 3 Μαΐου τερματικό 1,5 εκατ. ευρώ";
    let content = format!("<think>Greek, then.\nYes.</think>\n```json\n{{\"translation\": \"{greek}\"}}\n```");
    let body = json!({"choices": [{"message": {"content": content}}]}).to_string();
    let (_, translated) = asked(vec![reply(&body)], true, "el").await;
    assert_eq!(translated.outcome.unwrap().as_deref(), Some(greek));
}

#[test]
fn an_address_of_deepl_is_known_and_a_target_has_its_country() {
    for (address, protocol) in [
        ("https://api-free.deepl.com/v2", Protocol::DeepL),
        ("https://api.deepl.com/", Protocol::DeepL),
        ("http://localhost:5001/v2/", Protocol::DeepL),
        ("http://libretranslate:5000", Protocol::LibreTranslate),
        ("https://deepl.com.example/", Protocol::LibreTranslate),
    ] {
        assert_eq!(Protocol::of(&Url::parse(address).unwrap()), protocol, "{address}");
    }
    assert_eq!(["en", "pt", "uk"].map(deepl_target), ["EN-US", "PT-PT", "UK"]);
}

#[tokio::test]
async fn a_written_translation_is_found_by_its_text_and_in_english_alone() {
    let written = WrittenTranslations::new([("Порт  закрыт.".to_owned(), "The port is closed.".to_owned())]);
    let translated =
        async |text: &str, into: &str| written.translate(text, Some("ru"), into, Instant::now()).await.outcome.unwrap();
    assert_eq!(translated("порт закрыт", "en").await.as_deref(), Some("The port is closed."));
    assert_eq!(translated("порт закрыт", "el").await, None);
    assert_eq!(translated("Порт открыт.", "en").await, None);
}
