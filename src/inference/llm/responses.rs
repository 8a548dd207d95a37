//! The Responses API with the model's web search.
//!
//! Only addresses are used: the model's statements are not evidence.

use serde_json::Value;
use url::Url;

use super::LlmError;
use super::reply::{ParsedReply, usage, written};
use crate::outbound::excerpt;
use crate::reading::canonical_url;

/// A search can list dozens.
const MOST_URLS: usize = 20;

/// Returns cited addresses, then other search results, without tracking parameters, each once.
pub(super) fn cited(body: &Value, read_tokens: u64) -> ParsedReply<Vec<String>> {
    let mut found = SearchFindings::default();
    let items = body.get("output").and_then(Value::as_array).into_iter().flatten();
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            Some("web_search_call") => found.search(item),
            Some("message") => found.message(item.get("content").unwrap_or(&Value::Null)),
            _ => {}
        }
    }
    // Some servers answer in the chat format.
    if let Some(message) = body.pointer("/choices/0/message") {
        found.message(message.get("content").unwrap_or(&Value::Null));
        found.annotations(message.get("annotations"));
        found.refused = found.refused.or_else(|| message.get("refusal").and_then(Value::as_str).map(str::to_owned));
    }
    for name in ["citations", "search_results"] {
        for place in body.get(name).and_then(Value::as_array).into_iter().flatten() {
            let url = place.as_str().or_else(|| place.get("url").and_then(Value::as_str));
            found.cited.extend(url.map(str::to_owned));
        }
    }
    let mut usage = usage(body, read_tokens, &found.text);
    usage.searches = found.searches;
    let urls = found.urls();
    let status = body.get("status").and_then(Value::as_str).unwrap_or("completed");
    let reason = body.pointer("/incomplete_details/reason").and_then(Value::as_str).unwrap_or_default();
    let outcome = if status == "incomplete" && reason == "content_filter" {
        Err(LlmError::Declined { detail: "a filter of the server struck".to_owned() })
    } else if !urls.is_empty() {
        Ok(urls)
    } else if let Some(words) = found.refused {
        Err(LlmError::Declined { detail: excerpt(&words) })
    } else {
        match status {
            "incomplete" => Err(LlmError::Cut),
            "completed" => Ok(urls),
            other => Err(LlmError::Unreadable { detail: format!("it ended as {}", excerpt(other)) }),
        }
    };
    ParsedReply { outcome, usage }
}

#[derive(Debug, Default)]
struct SearchFindings {
    cited: Vec<String>,
    looked_at: Vec<String>,
    text: String,
    refused: Option<String>,
    searches: u64,
}

impl SearchFindings {
    /// Adds a search. `action` can be missing, although the schema requires it.
    fn search(&mut self, item: &Value) {
        self.searches += 1;
        let Some(action) = item.get("action") else { return };
        let sources = action.get("sources").and_then(Value::as_array).into_iter().flatten();
        let of_type =
            sources.filter(|source| source.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "url"));
        let urls = of_type.chain([action]).filter_map(|place| place.get("url").and_then(Value::as_str));
        self.looked_at.extend(urls.map(str::to_owned));
    }

    fn message(&mut self, content: &Value) {
        let parsed = written(content);
        self.text.push_str(&parsed.text);
        self.refused = self.refused.take().or(parsed.refusal);
        for part in content.as_array().into_iter().flatten() {
            self.annotations(part.get("annotations"));
        }
    }

    /// Adds citations: flat in responses, one level deeper in chat completions.
    fn annotations(&mut self, annotations: Option<&Value>) {
        for annotation in annotations.and_then(Value::as_array).into_iter().flatten() {
            if annotation.get("type").and_then(Value::as_str) != Some("url_citation") {
                continue;
            }
            let url = annotation.get("url").or_else(|| annotation.pointer("/url_citation/url"));
            self.cited.extend(url.and_then(Value::as_str).map(str::to_owned));
        }
    }

    fn urls(&self) -> Vec<String> {
        let mut urls: Vec<String> = Vec::new();
        for text in self.cited.iter().chain(&self.looked_at) {
            let Some(url) = Url::parse(text.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https")) else {
                continue;
            };
            let url = canonical_url(&url).to_string();
            if url.len() <= 2_000 && !urls.contains(&url) {
                urls.push(url);
            }
        }
        urls.truncate(MOST_URLS);
        urls
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn citation(url: &str) -> Value {
        json!({"type": "url_citation", "start_index": 442, "end_index": 9_999_999, "url": url, "title": "T"})
    }

    fn answer() -> Value {
        json!({
            "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "web_search_call", "status": "completed"},
                {"type": "web_search_call", "status": "completed", "action": {"type": "search", "queries": ["q"], "sources": [
                    {"type": "url", "url": "https://seen.example/a?fbclid=1"}, {"type": "api", "name": "oai-weather"},
                ]}},
                {"type": "web_search_call", "action": {"type": "open_page", "url": null}},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "… ([who.int](https://who.int))",
                    "annotations": [
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
    fn what_is_cited_comes_first_without_tracking_and_once() {
        let read = cited(&answer(), 1);
        assert_eq!(
            read.outcome.unwrap(),
            ["https://cited.example/b?id=3", "https://seen.example/a"],
            "and only what can be fetched"
        );
        assert_eq!((read.usage.read, read.usage.written, read.usage.searches), (328, 356, 3));
    }

    #[test]
    fn a_server_that_answers_as_to_a_chat_is_read_too() {
        let nested = json!({"type": "url_citation", "url_citation": {"url": "https://a.example/x?gclid=1"}});
        let body = json!({"choices": [{"message": {"content": "text", "annotations": [nested]}}],
            "citations": ["https://b.example/"], "search_results": [{"url": "https://c.example/"}]});
        let urls = cited(&body, 1).outcome.unwrap();
        assert_eq!(urls, ["https://a.example/x", "https://b.example/", "https://c.example/"]);
    }

    #[test]
    fn cited_returns_cause_when_answer_has_no_addresses() {
        let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]);
        for (status, reason, output, outcome) in [
            ("completed", "", refusal, Some("declined")),
            ("incomplete", "max_output_tokens", json!([]), Some("malformed")),
            ("incomplete", "max_output_tokens", answer()["output"].clone(), None),
            ("incomplete", "content_filter", answer()["output"].clone(), Some("declined")),
            ("queued", "", json!([]), Some("malformed")),
            ("completed", "", json!([]), None),
            ("completed", "", json!("nonsense"), None),
        ] {
            let body = json!({"status": status, "incomplete_details": {"reason": reason}, "output": output});
            let read = cited(&body, 1);
            assert_eq!(read.outcome.as_ref().err().map(LlmError::outcome), outcome, "{body}");
        }
    }
}
