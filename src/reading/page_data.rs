//! The article of a page that a script draws: its text lies in a script as data, and nothing of it in the page.
//!
//! Read are blocks of JSON (`__NEXT_DATA__` and the like), what is assigned to a global (`window.__STATE__ = {…}`,
//! `JSON.parse("…")`), and the rows that Next.js pushes (`self.__next_f.push([1,"…"])`: `id:JSON`, or `id:Tlength,text`).

use std::sync::LazyLock;

use dom_query::Document;
use regex::Regex;
use serde_json::Value;

use super::{frame, outline};

/// A shorter text may be anything: a teaser, a notice, the terms of use.
const LEAST: usize = 400;
/// Texts weighed, the longest first.
const MAX_WEIGHED: usize = 4;
/// Deeper data is no article.
const MAX_DEPTH: usize = 60;
/// Assignments tried in one script.
const MAX_ASSIGNED: usize = 40;

static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w\]]\s*=\s*[{\[]").ok());

/// The paragraphs of the longest article in the page's data; none where no text there is one.
pub(super) fn read(document: &Document) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    let mut rows = String::new();
    for script in document.select("script:not([src])").iter() {
        let kind = script.attr("type").unwrap_or_default().to_ascii_lowercase();
        let content = script.text();
        if kind.contains("json") {
            if let Ok(value) = serde_json::from_str::<Value>(&content) {
                collect(&value, "", MAX_DEPTH, &mut texts);
            }
        } else if let Some(row) = pushed(&content) {
            rows.push_str(&row);
        } else if content.len() >= LEAST {
            for value in assigned(&content) {
                collect(&value, "", MAX_DEPTH, &mut texts);
            }
        }
    }
    of_rows(&rows, &mut texts);
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts
        .iter()
        .take(MAX_WEIGHED)
        .map(|html| article(html))
        .max_by_key(|paragraphs| length(paragraphs))
        .filter(|paragraphs| length(paragraphs) >= LEAST)
}

fn length(paragraphs: &[String]) -> usize {
    paragraphs.iter().map(String::len).sum()
}

fn article(html: &str) -> Vec<String> {
    let document = Document::from(format!("<html><body><article>{html}</article></body></html>"));
    frame::article(&mut outline::read(&document), None)
}

/// The text of `self.__next_f.push([1,"…"])`.
fn pushed(script: &str) -> Option<String> {
    let (_, rest) = script.split_once("__next_f")?;
    let (_, list) = rest.split_once(".push(")?;
    let value: Value = serde_json::Deserializer::from_str(list).into_iter().next()?.ok()?;
    Some(value.get(1).and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// What is assigned in a script, as far as it is JSON.
fn assigned(script: &str) -> Vec<Value> {
    let first = |text: &str| serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok();
    let literals = ASSIGNED.iter().flat_map(|regex| regex.find_iter(script)).take(MAX_ASSIGNED);
    let plain = literals.filter_map(|found| script.get(found.end() - 1..).and_then(first));
    let quoted = script.match_indices("JSON.parse(").take(MAX_ASSIGNED).filter_map(|(at, name)| {
        let text = script.get(at + name.len()..).and_then(first)?;
        serde_json::from_str(text.as_str()?).ok()
    });
    plain.chain(quoted).collect()
}

/// Rows of Next.js: texts as they are, and those within JSON.
fn of_rows(rows: &str, texts: &mut Vec<String>) {
    let mut rest = rows;
    while let Some((id, after)) = rest.split_once(':') {
        // A row that is not understood is left at its line's end.
        let line = after.split_once('\n').map_or((after, ""), |parts| parts);
        rest = line.1;
        if id.is_empty() || !id.trim().chars().all(|c| c.is_ascii_hexdigit()) {
            continue;
        }
        let stated = after.strip_prefix('T').and_then(|text| text.split_once(','));
        let sized = stated.and_then(|(size, text)| Some((usize::from_str_radix(size, 16).ok()?, text)));
        if let Some((size, text)) = sized {
            if let (Some(held), Some(following)) = (text.get(..size), text.get(size..)) {
                keep(held, "", texts);
                rest = following;
            }
        } else if let Ok(value) = serde_json::from_str::<Value>(line.0) {
            collect(&value, "", MAX_DEPTH, texts);
        }
    }
}

/// Every text within `value` that may be an article.
fn collect(value: &Value, key: &str, depth: usize, texts: &mut Vec<String>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::String(text) => keep(text, key, texts),
        Value::Array(items) => {
            let parts: Vec<&str> = items.iter().filter_map(part).collect();
            if parts.len() >= 3 {
                keep(&format!("<p>{}</p>", parts.join("</p><p>")), "", texts);
            }
            for item in items {
                collect(item, key, depth - 1, texts);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, name, depth - 1, texts);
            }
        }
        _ => {}
    }
}

/// The text of one part of an article that is kept in parts: `{"type": "paragraph", "text": "…"}`.
fn part(item: &Value) -> Option<&str> {
    let kind = ["type", "__typename", "_type", "kind", "component"].iter().find_map(|key| item.get(*key)?.as_str())?;
    let kind = kind.to_lowercase();
    let is_text = kind.contains("paragraph") || kind.contains("text") || kind == "p" || kind.contains("html");
    let text = ["text", "content", "html", "value", "body"].iter().find_map(|key| item.get(*key)?.as_str())?;
    is_text.then_some(text)
}

/// Keeps paragraphs of markup, and plain text under a name that says so.
fn keep(text: &str, key: &str, texts: &mut Vec<String>) {
    if text.len() < LEAST {
        return;
    }
    let is_body = || {
        let key = key.to_lowercase();
        matches!(key.as_str(), "body" | "articlebody" | "content" | "text" | "fulltext" | "full_text" | "maintext")
    };
    if text.matches("<p").count() >= 2 {
        texts.push(text.to_owned());
    } else if is_body() && !text.contains(['{', '}']) {
        texts.push(text.split('\n').map(|line| format!("<p>{line}</p>")).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str =
        "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ";

    fn html() -> String {
        format!("<p>{0}</p><p>{0}And again.</p><p>{0}</p>", SENTENCE.repeat(2))
    }

    fn page(scripts: &str) -> Document {
        Document::from(format!("<html><body><div id=app></div>{scripts}</body></html>"))
    }

    fn found(scripts: &str) -> Vec<String> {
        read(&page(scripts)).unwrap_or_default()
    }

    #[test]
    fn a_block_of_json_gives_its_article() {
        let data = serde_json::json!({"props": {"teasers": ["Short"], "story": {"body": html()}}});
        let paragraphs = found(&format!("<script id=__NEXT_DATA__ type=application/json>{data}</script>"));
        assert_eq!(paragraphs.len(), 3, "{paragraphs:?}");
        assert!(paragraphs.concat().contains("And again."));
    }

    #[test]
    fn pushed_rows_are_joined_and_read_by_their_length() {
        let text = html();
        let rows = format!("1:\"$Sreact.fragment\"\n24:T{:x},{text}25:[\"$\",\"p\",null,{{}}]\n", text.len());
        let half = rows.len() / 2;
        let push = |part: &str| format!("<script>self.__next_f.push({})</script>", serde_json::json!([1, part]));
        let scripts = format!(
            "<script>(self.__next_f=self.__next_f||[]).push([0])</script>{}{}",
            push(&rows[..half]),
            push(&rows[half..])
        );
        let paragraphs = found(&scripts);
        assert_eq!(paragraphs.len(), 3, "{paragraphs:?}");
        assert!(!paragraphs.concat().contains("$"), "{paragraphs:?}");
    }

    #[test]
    fn assigned_data_and_parts_of_an_article_are_read() {
        let parts: Vec<_> =
            (0..6).map(|n| serde_json::json!({"type": "paragraph", "text": format!("{n}: {SENTENCE}")})).collect();
        let data = serde_json::json!({"article": {"parts": parts}});
        let paragraphs = found(&format!("<script>var a = 1; window.__STATE__ = {data}; go();</script>"));
        assert_eq!(paragraphs.len(), 6, "{paragraphs:?}");
        let quoted = serde_json::Value::String(data.to_string());
        assert_eq!(found(&format!("<script>window.__STATE__ = JSON.parse({quoted}) || {{}};</script>")).len(), 6);
    }

    #[test]
    fn teasers_settings_and_broken_rows_give_nothing() {
        let teasers: Vec<_> =
            (0..9).map(|n| serde_json::json!({"type": "story", "text": format!("{n}: {SENTENCE}")})).collect();
        assert!(
            found(&format!("<script type=application/json>{}</script>", serde_json::json!({"teasers": teasers})))
                .is_empty()
        );
        assert!(found("<script>self.__next_f.push([1,\"24:Tffffff,<p>short</p>\\n25:{\"])</script>").is_empty());
        assert!(found(&format!("<script>{}</script>", "var x = {a: 1}; ".repeat(90))).is_empty());
        assert!(read(&page("")).is_none());
    }
}
