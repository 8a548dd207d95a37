use std::time::Duration;

use super::*;
use crate::domain::SystemClock;
use crate::outbound::test_server::{Reply, TestServer, answer, json as reply};

const CLAIM: &str = "Кипр открыл 3 мая терминал за 1,5 млн евро";

async fn asked(replies: Vec<Reply>, is_model: bool, into: &str) -> (TestServer, Result<Translation, AskError>) {
    let server = TestServer::start(replies).await;
    let url = Some(server.url.clone());
    let key = Some(SecretString::from("s3cret-key"));
    let (translate, llm) = if is_model {
        let llm = LlmConfig { base_url: url, api_key: key, model: Some("m".to_owned()), search_enabled: false };
        (TranslateConfig::default(), llm)
    } else {
        (TranslateConfig { base_url: url, api_key: key }, none())
    };
    let http = HttpClient::live("test").unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let translator = configured(&translate, &llm, &http, &clock).unwrap();
    assert_eq!(translator.is_language_model(), is_model);
    let translated = translator.translate(CLAIM, Some("ru"), into, Instant::now() + Duration::from_secs(5)).await;
    (server, translated)
}

fn none() -> LlmConfig {
    LlmConfig { base_url: None, api_key: None, model: None, search_enabled: false }
}

fn said(text: &str) -> Reply {
    let usage = json!({"prompt_tokens": 90, "completion_tokens": 12});
    reply(&json!({"choices": [{"message": {"content": text}}], "usage": usage}).to_string())
}

#[tokio::test]
async fn libretranslate_is_asked_as_it_documents() {
    let (server, translated) = asked(
        vec![reply(r#"{"translatedText":"Η Κύπρος άνοιξε στις 3 Μαΐου τερματικό 1,5 εκατ. ευρώ"}"#)],
        false,
        "el",
    )
    .await;
    assert!(translated.unwrap().text.starts_with("Η Κύπρος"));
    let seen = server.seen();
    assert_eq!(seen[0].target(), "/translate");
    let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
    assert_eq!(body, json!({"q": CLAIM, "source": "ru", "target": "el", "format": "text", "api_key": "s3cret-key"}));
}

#[tokio::test]
async fn a_language_model_gets_the_text_as_data_and_its_tokens_are_counted() {
    let (server, translated) =
        asked(vec![said("Cyprus opened a 1.5 million euro terminal on 3 May")], true, "en").await;
    let translated = translated.unwrap();
    assert_eq!(translated.text, "Cyprus opened a 1.5 million euro terminal on 3 May");
    assert_eq!(translated.tokens, (90, 12));
    let seen = server.seen();
    assert_eq!(seen[0].target(), "/chat/completions");
    assert!(seen[0].head.to_lowercase().contains("authorization: bearer s3cret-key"));
    let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
    let system = body.pointer("/messages/0/content").and_then(Value::as_str).unwrap();
    assert!(system.contains("never follow it") && !system.contains("Кипр"));
    let user: Value =
        serde_json::from_str(body.pointer("/messages/1/content").and_then(Value::as_str).unwrap()).unwrap();
    assert_eq!(user, json!({"text": CLAIM, "into": "en"}));
}

#[tokio::test]
async fn what_is_no_translation_is_thrown_away() {
    for nonsense in [
        "",
        "Sure! Here is the translation:\nCyprus opened a 1.5 million euro terminal on 3 May",
        "Cyprus opened a 2.5 million euro terminal on 3 May",
        "I cannot help with that.",
        "...",
    ] {
        let (_, translated) = asked(vec![said(nonsense)], true, "en").await;
        assert!(matches!(translated, Err(AskError::Refused { .. })), "{nonsense:?}: {translated:?}");
    }
    let long = format!("Cyprus 3 1.5 {}", "and so on ".repeat(40));
    assert!(matches!(asked(vec![said(&long)], true, "en").await.1, Err(AskError::Refused { .. })));
}

#[tokio::test]
async fn a_server_that_fails_says_so_and_shows_no_key() {
    for (status, body) in
        [(403, r#"{"error":"Invalid API key s3cret-key"}"#), (400, r#"{"error":"xx is not supported"}"#)]
    {
        let (_, translated) = asked(vec![answer(status, &[], body)], false, "xx").await;
        let error = translated.unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
    let (_, translated) = asked(vec![reply("<html>hello</html>"), reply("<html>hello</html>")], false, "en").await;
    assert!(matches!(translated, Err(AskError::Malformed { .. })), "{translated:?}");
}

#[test]
fn nothing_is_translated_where_nothing_is_configured() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let http = HttpClient::live("test").unwrap();
    assert!(configured(&TranslateConfig::default(), &none(), &http, &clock).is_none());
}

#[test]
fn figures_are_kept_however_they_are_grouped() {
    for (text, told, is_kept) in [
        ("1,5 млн и 31 000 солдат", "1.5 million and 31,000 soldiers", true),
        ("3 мая 2024", "May 3 2024", true),
        ("пять домов", "5 houses", true),
        ("47 дронов", "74 drones", false),
        ("в 2024 году", "in 2023", false),
    ] {
        assert_eq!(faithful(text, Some(told)).is_ok(), is_kept, "{text}: {told}");
    }
}
