use chrono::DateTime;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::inference::llm::{Purpose, list, object as object_schema, text};
use crate::outbound::header::HeaderMap;

fn response(status: u16, body: &str) -> ApiResponse {
    let (headers, received_at) = (HeaderMap::new(), DateTime::UNIX_EPOCH);
    ApiResponse { status, headers, body: body.into(), content_type: None, received_at }
}

/// The class of a refusal.
fn class(status: u16, body: &str) -> String {
    match refusal(&response(status, body), "m") {
        None => "answer".to_owned(),
        Some(Refusal::Field(field, _)) => format!("{field:?}"),
        Some(Refusal::Declined(_)) => "declined".to_owned(),
        Some(Refusal::NoEndpoint(_)) => "no endpoint".to_owned(),
        Some(Refusal::Failed(error)) => error.label().to_owned(),
    }
}

/// Status, body, expected class.
const SPELLINGS: &[(u16, &str, &str)] = &[
    (200, r#"{"choices": [], "error": null}"#, "answer"),
    (200, r#"{"status": "completed", "error": null, "output": []}"#, "answer"),
    (200, "<html>hello</html>", "answer"),
    (200, r#"{"error": {"message": "slow down", "code": 429}}"#, "throttled"),
    (200, r#"{"error": {"message": "Provider returned error", "code": 502}}"#, "server_error"),
    (200, r#"{"error": "something"}"#, "could_not_ask"),
    (401, r#"{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}"#, "bad_key"),
    (403, "", "bad_key"),
    (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#, "quota_gone"),
    (429, r#"{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}"#, "quota_gone"),
    (429, r#"{"error":{"message":"Rate limit reached for requests","code":"rate_limit_exceeded"}}"#, "throttled"),
    (404, r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#, "disabled"),
    (404, r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError"}"#, "disabled"),
    (404, r#"{"error":{"message":"model \"m\" not found, try pulling it first"}}"#, "disabled"),
    (400, r#"{"error":{"message":"Model Not Exist","code":"invalid_request_error"}}"#, "disabled"),
    (404, r#"{"detail":"Not Found"}"#, "no endpoint"),
    (404, r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#, "no endpoint"),
    (
        400,
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}"#,
        "Sampling",
    ),
    (400, r#"{"error":{"message":"max_tokens is too large: 9000. This model supports at most 4096"}}"#, "refused"),
    (400, r#"{"error":{"message":"'temperature' does not support 0 with this model."}}"#, "Sampling"),
    (400, r#"{"error":{"message":"This response_format type is unavailable now"}}"#, "Schema"),
    (422, r#"{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"x"}]}"#, "Schema"),
    (404, r#"{"error":{"message":"No endpoints found that can handle response_format","code":404}}"#, "Schema"),
    (400, r#"{"error":{"message":"This model's maximum context length is 4096 tokens."}}"#, "refused"),
    (
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        "refused",
    ),
    (400, r#"{"error":{"message":"max_tokens or model output limit was reached"}}"#, "refused"),
    (400, r#"{"error":{"message":"The response was filtered","code":"content_filter"}}"#, "declined"),
    (400, r#"{"error":{"message":"Invalid value: 'web_search'","param":"tools[0].type"}}"#, "no endpoint"),
    (400, r#"{"error":{"message":"bad request"}}"#, "refused"),
    (413, "", "refused"),
    (408, "", "timeout"),
    (502, "<html>Bad Gateway</html>", "server_error"),
    (529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, "server_error"),
    (400, r#"{"error":{"message":{"deep":"x"},"code":{"a":1}}}"#, "refused"),
];

#[test]
fn every_spelling_of_an_error_has_its_class() {
    for (status, body, expected) in SPELLINGS {
        assert_eq!(class(*status, body), *expected, "{status} {body}");
    }
    let Some(Refusal::Failed(error)) = refusal(&response(404, r#"{"error":"model not found"}"#), "m") else { panic!() };
    assert!(error.to_string().contains("LLM_MODEL") && error.to_string().contains("model not found"), "{error}");
}

fn question() -> Question {
    Question {
        purpose: Purpose::Claims,
        system: "Find claims.".to_owned(),
        user: "<data>".to_owned(),
        schema: json!({"type": "object"}),
        max_tokens: 100,
    }
}

#[test]
fn each_rejected_field_changes_one_thing() {
    let chat = |form: Form| form.chat("m", &question(), 100, false);
    let usual = chat(Form::default());
    assert_eq!((&usual["max_tokens"], &usual["temperature"]), (&json!(100), &json!(0)));
    assert_eq!(usual["response_format"]["json_schema"]["name"], "claims");
    let plain = chat(Form::default().without(Field::Schema));
    assert_eq!((plain.get("response_format"), &plain["temperature"]), (None, &json!(0)));
    let reasoning = chat(Form::default().without(Field::Sampling));
    assert_eq!((reasoning.get("max_tokens"), reasoning.get("temperature")), (None, None));
    assert_eq!(reasoning["max_completion_tokens"], 100);
    assert_eq!(reasoning["response_format"], usual["response_format"]);
    let system = plain.pointer("/messages/0/content").and_then(Value::as_str).unwrap();
    assert!(system.starts_with("Find claims.") && system.ends_with("{\"type\":\"object\"}"), "{system}");
    let again = Form::default().chat("m", &question(), 100, true);
    let user = again.pointer("/messages/1/content").and_then(Value::as_str).unwrap();
    assert!(user.starts_with("<data>\n\n") && user.len() > 20, "{user}");
}

fn schema() -> Value {
    object_schema([("claims", list(&object_schema([("said", text())])))])
}

fn completion(message: &Value, finish: &str) -> Value {
    json!({"choices": [{"message": message, "finish_reason": finish}]})
}

fn read(content: &str, finish: &str) -> Result<Value, LlmError> {
    object(&completion(&json!({"content": content}), finish), &schema())
}

#[test]
fn an_object_is_found_in_whatever_is_written_around_it() {
    let bare = r#"{"claims": [{"said": "a {b} \"c\""}]}"#;
    let whole = json!({"claims": [{"said": "a {b} \"c\""}]});
    for text in [
        bare.to_owned(),
        format!("```json\n{bare}\n```"),
        format!("Sure! Here {{is}} what [you] asked for:\n\n{bare}\n\nAnything else?"),
        format!("<think>It could be {{\"claims\": []}}, or not.</think>\n{bare}"),
        format!("thoughts without a beginning {{\"claims\": 7}} </think>{bare}"),
        format!("{{\"answer\": {bare}}}"),
    ] {
        assert_eq!(read(&text, "stop"), Ok(whole.clone()), "{text}");
    }
    let quoting = json!({"claims": [{"said": "</think>{'claims': []}"}]});
    assert_eq!(read(&quoting.to_string(), "stop"), Ok(quoting));
    let parts = json!({"content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": bare}]});
    assert_eq!(object(&completion(&parts, "stop"), &schema()), Ok(whole));
}

#[test]
fn what_is_no_whole_object_is_an_error_with_its_cause() {
    let (cut, deep) = (r#"{"claims": [{"said": "a"}, {"said": "#, "[{\"claims\":".repeat(50_000));
    for (message, finish, outcome) in [
        (json!({"content": null, "refusal": "I must not."}), "stop", "declined"),
        (json!({"content": "{\"claims\": []}"}), "content_filter", "declined"),
        (json!({"content": null, "tool_calls": []}), "tool_calls", "malformed"),
        (json!({"content": cut}), "length", "malformed"),
        (json!({"content": "<think>Is it {\"claims\": []}?"}), "length", "malformed"),
        (json!({"content": "{\"claims\": [],}"}), "stop", "malformed"),
        (json!({"content": "{\"said\": \"a\"}"}), "stop", "malformed"),
        (json!({"content": deep}), "stop", "malformed"),
        (Value::Null, "stop", "malformed"),
    ] {
        let error = object(&completion(&message, finish), &schema()).unwrap_err();
        assert_eq!((error.outcome(), error == LlmError::Cut), (outcome, finish == "length"), "{error}");
    }
}

proptest! {
    #[test]
    fn whatever_a_model_writes_the_result_has_the_properties_or_is_an_error(text in "\\PC{0,200}", status in 200_u16..600) {
        if let Ok(value) = read(&text, "stop") {
            prop_assert!(value.get("claims").is_some());
        }
        prop_assert!(status == 200 || refusal(&response(status, &text), "m").is_some());
        let begun = json!({"claims": [{"said": text}]}).to_string();
        let cut: String = begun.chars().take(begun.chars().count() - 1).collect();
        prop_assert_eq!(read(&begun, "length").is_ok(), true);
        prop_assert_eq!(read(&cut, "length"), Err(LlmError::Cut));
    }
}

#[test]
fn tokens_are_counted_or_estimated() {
    for (usage, read_tokens, written) in [
        (json!({"prompt_tokens": 7, "completion_tokens": 3}), 7, 3),
        (json!({"prompt_tokens": 7.0, "completion_tokens": 3.0}), 7, 3),
        (json!({"input_tokens": 7, "output_tokens": 3}), 7, 3),
        (json!({"prompt_tokens": 0, "completion_tokens": null}), 100, 2),
        (Value::Null, 100, 2),
    ] {
        let mut answer = completion(&json!({"content": "{\"a\": 1}"}), "stop");
        answer["usage"] = usage;
        let (_, found) = body(&response(200, &answer.to_string()), 100).unwrap();
        assert_eq!((found.read, found.written), (read_tokens, written), "{}", answer["usage"]);
    }
    for other in ["<html>hello</html>", "7", r#"{"text": "hello"}"#] {
        assert!(matches!(body(&response(200, other), 1), Err(AskError::Malformed { .. })), "{other}");
    }
}

fn searched() -> Value {
    let citation = |url: &str| json!({"type": "url_citation", "start_index": 4, "end_index": 9, "url": url});
    json!({
        "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "web_search_call", "status": "completed"},
            {"type": "web_search_call", "action": {"type": "open_page", "url": null}},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "…", "annotations": [
                citation("https://Cited.example/b?utm_source=chatgpt.com&id=3"),
                citation("https://cited.example/b?id=3&utm_source=openai#top"),
                citation("javascript:alert(1)"), citation("file:///etc/passwd"), citation("not an address"),
                {"type": "file_citation", "file_id": "f"},
            ]}]},
        ],
        "usage": {"input_tokens": 328, "output_tokens": 356, "total_tokens": 684},
    })
}

#[test]
fn what_is_cited_comes_without_tracking_and_once() {
    let (answer, usage) = body(&response(200, &searched().to_string()), 1).unwrap();
    assert_eq!(citations(&answer).unwrap(), ["https://cited.example/b?id=3"], "and only what can be fetched");
    assert_eq!((usage.read, usage.written, usage.searches), (328, 356, 2));
}

#[test]
fn citations_returns_cause_when_answer_has_no_addresses() {
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]);
    for (status, reason, output, outcome) in [
        ("completed", "", refusal, Some("declined")),
        ("incomplete", "max_output_tokens", json!([]), Some("malformed")),
        ("incomplete", "max_output_tokens", searched()["output"].clone(), None),
        ("incomplete", "content_filter", searched()["output"].clone(), Some("declined")),
        ("queued", "", json!([]), Some("malformed")),
        ("completed", "", json!([]), None),
        ("completed", "", json!("nonsense"), None),
    ] {
        let answer = json!({"status": status, "incomplete_details": {"reason": reason}, "output": output});
        assert_eq!(citations(&answer).as_ref().err().map(LlmError::outcome), outcome, "{answer}");
    }
}
