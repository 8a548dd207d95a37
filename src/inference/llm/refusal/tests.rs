use chrono::TimeZone as _;

use super::*;
use crate::outbound::header::{HeaderMap, HeaderName, HeaderValue};

fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 18, 12, 0, 0).unwrap()
}

fn response(status: u16, headers: &[(&'static str, &str)], body: &str) -> ApiResponse {
    let headers = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect::<HeaderMap>();
    ApiResponse { status, headers, body: body.into(), content_type: None, received_at: noon() }
}

/// The class of a refusal.
fn class(status: u16, body: &str) -> String {
    match refusal(&response(status, &[], body), "m") {
        None => "answer".to_owned(),
        Some(Refusal::Parameter(parameter, _)) => format!("{parameter:?}"),
        Some(Refusal::Declined(_)) => "declined".to_owned(),
        Some(Refusal::Cut) => "cut".to_owned(),
        Some(Refusal::NoSuchPlace(_)) => "no such place".to_owned(),
        Some(Refusal::Failed(error)) => error.label().to_owned(),
    }
}

/// Status, body, expected class.
const SPELLINGS: &[(u16, &str, &str)] = &[
    (200, r#"{"choices": [], "error": null}"#, "answer"),
    (200, r#"{"status": "completed", "error": null, "output": []}"#, "answer"),
    (200, "<html>hello</html>", "answer"),
    (200, r#"{"error": {"message": "slow down", "code": 429}}"#, "throttled"),
    (200, r#"{"error": {"message": "No auth", "code": "401"}}"#, "bad_key"),
    (
        200,
        r#"{"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "x"}}}"#,
        "server_error",
    ),
    (200, r#"{"error": {"message": "x", "type": "server_error"}}"#, "server_error"),
    (
        200,
        r#"{"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "x"}, "output": []}"#,
        "throttled",
    ),
    (200, r#"{"status": "failed", "error": {"code": "invalid_prompt", "message": "x"}}"#, "declined"),
    (200, r#"{"error": "model 'm' not found, try pulling it first"}"#, "could_not_ask"),
    (200, r#"{"error": "something"}"#, "could_not_ask"),
    (200, r#"{"object": "error", "message": "bad", "code": 40303}"#, "could_not_ask"),
    (200, r#"{"detail": "Not authenticated"}"#, "could_not_ask"),
    (
        401,
        r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        "bad_key",
    ),
    (403, "", "bad_key"),
    (403, r#"{"error":{"message":"Your input was flagged","code":403}}"#, "declined"),
    (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#, "quota_gone"),
    (
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}"#,
        "quota_gone",
    ),
    (429, r#"{"error":{"message":"quota","type":"insufficient_quota","code":null}}"#, "quota_gone"),
    (429, r#"{"error":{"message":"Rate limit reached for requests","code":"rate_limit_exceeded"}}"#, "throttled"),
    (429, r#"{"error":{"code":429,"message":"x"}}"#, "throttled"),
    (404, r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#, "disabled"),
    (
        404,
        r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","code":404}"#,
        "disabled",
    ),
    (404, r#"{"error":{"message":"model \"m\" not found, try pulling it first"}}"#, "disabled"),
    (400, r#"{"error":{"message":"Model Not Exist","code":"invalid_request_error"}}"#, "disabled"),
    (404, r#"{"detail":"Not Found"}"#, "no such place"),
    (404, "404 page not found", "no such place"),
    (
        400,
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
        "MaxTokens",
    ),
    (
        400,
        r#"{"error":{"message":"max_tokens is too large: 9000. This model supports at most 4096 completion tokens","param":"max_tokens"}}"#,
        "refused",
    ),
    (
        400,
        r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature"}}"#,
        "Temperature",
    ),
    (
        400,
        r#"{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."}}"#,
        "ResponseFormat",
    ),
    (
        422,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted"}]}"#,
        "ResponseFormat",
    ),
    (404, r#"{"error":{"message":"No endpoints found that can handle response_format","code":404}}"#, "ResponseFormat"),
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 4096 tokens.","code":"context_length_exceeded"}}"#,
        "refused",
    ),
    (
        400,
        r#"{"object":"error","message":"'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens","code":400}"#,
        "refused",
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        "refused",
    ),
    (400, r#"{"error":{"message":"The response was filtered","code":"content_filter"}}"#, "declined"),
    (
        400,
        r#"{"error":{"message":"Could not finish the message because max_tokens or model output limit was reached."}}"#,
        "cut",
    ),
    (400, r#"{"error":{"message":"Invalid value: 'web_search'","param":"tools[0].type"}}"#, "no such place"),
    (400, r#"{"error":{"message":"Invalid value","param":"include"}}"#, "Include"),
    (400, r#"{"error":{"message":"bad request"}}"#, "refused"),
    (400, "", "refused"),
    (413, "", "refused"),
    (408, "", "timeout"),
    (302, "", "could_not_ask"),
    (500, r#"{"error":{"message":"The server had an error","type":"server_error"}}"#, "server_error"),
    (502, "<html>Bad Gateway</html>", "server_error"),
    (503, "", "server_error"),
    (529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, "server_error"),
    (500, r#"[{"error":{"code":500,"message":"a list of one"}}]"#, "server_error"),
    (400, r#"{"error":[1,2]}"#, "refused"),
    (400, r#"{"error":{"message":{"deep":"x"},"code":{"a":1},"param":7}}"#, "refused"),
];

#[test]
fn every_spelling_of_an_error_has_its_class() {
    for (status, body, expected) in SPELLINGS {
        assert_eq!(class(*status, body), *expected, "{status} {body}");
    }
}

#[test]
fn a_model_that_is_not_there_is_named_with_what_to_do() {
    let body = r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#;
    let Some(Refusal::Failed(error)) = refusal(&response(404, &[], body), "m") else { panic!() };
    let text = error.to_string();
    assert!(text.contains("no model \"m\"") && text.contains("LLM_MODEL"), "{text}");
}

#[test]
fn the_wait_is_read_from_every_header_that_names_one() {
    let waits = |headers: &[(&'static str, &str)]| wait(&response(429, headers, "")).map(|wait| wait.as_secs_f64());
    let in_a_minute = (noon().timestamp() + 60).to_string();
    let in_a_minute_ms = format!("{in_a_minute}000");
    for (headers, seconds) in [
        (&[][..], None),
        (&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1.5)),
        (&[("retry-after-ms", "soon"), ("retry-after", "9")], Some(9.0)),
        (&[("retry-after-ms", "-1")], None),
        (&[("retry-after-ms", "1e300")], Some(86_400.0)),
        (&[("retry-after", "Wed, 18 Nov 2026 12:00:30 GMT")], Some(30.0)),
        (&[("x-ratelimit-reset-requests", "6m0s")], Some(360.0)),
        (&[("x-ratelimit-reset-requests", "20ms")], Some(0.02)),
        (&[("x-ratelimit-reset-requests", "1h2m3.5s")], Some(3723.5)),
        (&[("x-ratelimit-reset-requests", "2"), ("x-ratelimit-reset-tokens", "5s")], Some(5.0)),
        (
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-remaining-tokens", "900"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ],
            Some(1.0),
        ),
        (&[("x-ratelimit-reset-tokens", &in_a_minute)], Some(60.0)),
        (&[("x-ratelimit-reset-tokens", &in_a_minute_ms)], Some(60.0)),
        (&[("x-ratelimit-reset-tokens", "99999h")], Some(86_400.0)),
        (&[("x-ratelimit-reset-tokens", "s5")], None),
        (&[("x-ratelimit-reset-tokens", "5 s")], None),
        (&[("x-ratelimit-reset-tokens", "")], None),
        (&[("x-should-retry", "false"), ("x-ratelimit-reset-tokens", "5s")], None),
        (&[("x-should-retry", "false"), ("retry-after", "5")], Some(5.0)),
    ] {
        assert_eq!(waits(headers), seconds, "{headers:?}");
    }
    let patience = refusal(&response(503, &[("retry-after-ms", "20")], ""), "m");
    let throttled = AskError::Throttled { retry_after: Some(Duration::from_millis(20)) };
    assert_eq!(patience, Some(Refusal::Failed(throttled)));
}

proptest::proptest! {
    #[test]
    fn no_header_and_no_body_breaks_the_reader(value in "[ -~]{0,30}", body in "\\PC{0,120}", status in 200_u16..600) {
        let headers = [("x-ratelimit-reset-tokens", value.as_str()), ("retry-after-ms", value.as_str())];
        let read = refusal(&response(status, &headers, &body), "m");
        proptest::prop_assert!(status == 200 || read.is_some());
    }
}
