//! The article of a page that a script draws: its text lies in a script as data, and nothing of it in the page.
//!
//! Read are blocks of JSON (`__NEXT_DATA__` and the like), what is assigned to a global (`window.__STATE__ = {…}`,
//! `JSON.parse("…")`), and the rows that Next.js pushes (`self.__next_f.push([1,"…"])`: `id:JSON`, or `id:Tlength,text`).
//! The data holds more than the article: teasers, comments, terms. A text counts only where it has the words of the
//! page's title.

use std::collections::HashSet;
use std::sync::LazyLock;

use dom_query::Document;
use regex::Regex;
use serde_json::Value;

use super::{frame, nesting, outline};

/// Characters. A shorter text may be anything: a teaser, a notice, a comment.
const LEAST: usize = 300;
/// Bytes. A longer text is no article.
const MOST: usize = 400_000;
/// Texts weighed, the longest first.
const MAX_WEIGHED: usize = 4;
/// Deeper data is no article.
const MAX_DEPTH: usize = 60;
/// Assignments tried in one script.
const MAX_ASSIGNED: usize = 40;
/// Rows of Next.js that are looked at.
const MAX_ROWS: usize = 20_000;
/// What a title of fewer words shares with a text is chance.
const LEAST_WORDS: usize = 3;
/// Letters of a word that are compared: endings differ.
const STEM: usize = 5;

static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w\]]\s*=\s*[{\[]").ok());

/// The paragraphs of the longest text in the page's data that is about `title`; none where there is no such text.
pub(super) fn read(document: &Document, title: &str) -> Option<Vec<String>> {
    let words = stems(title);
    if words.len() < LEAST_WORDS {
        return None;
    }
    let mut texts = Vec::new();
    let mut rows = String::new();
    for script in &document.select("script:not([src])") {
        let kind = script.attr("type").unwrap_or_default().to_ascii_lowercase();
        let content = script.text();
        // JSON-LD is read as markup elsewhere.
        if kind.contains("ld+json") {
            continue;
        }
        if kind.contains("json") {
            if let Ok(value) = serde_json::from_str::<Value>(&content) {
                collect(&value, "", MAX_DEPTH, &mut texts);
            }
        } else if content.contains("__next_f") {
            pushed(&content, &mut rows);
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
        .filter(|text| is_about(text, &words))
        .take(MAX_WEIGHED)
        .map(|html| article(html))
        .max_by_key(|paragraphs| length(paragraphs))
        .filter(|paragraphs| length(paragraphs) >= LEAST)
}

/// Characters in all.
pub(super) fn length(paragraphs: &[String]) -> usize {
    paragraphs.iter().map(|paragraph| paragraph.chars().count()).sum()
}

fn article(html: &str) -> Vec<String> {
    let html = format!("<html><body><article>{html}</article></body></html>");
    let document = Document::from(nesting::limit(&html).as_ref());
    document.errors.borrow_mut().clear();
    frame::article(&mut outline::read(&document), None)
}

/// The beginnings of the words, in lower case; words of one or two letters are none where the script has longer ones.
fn stems(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 3)
        .map(|word| word.chars().take(STEM).flat_map(char::to_lowercase).collect())
        .collect()
}

/// Half of the title's words stand in it.
fn is_about(text: &str, title: &HashSet<String>) -> bool {
    let held = stems(text);
    // Scripts without spaces between words: there the title's pieces are looked for as they are.
    let holds = |stem: &&String| held.contains(*stem) || (!stem.is_ascii() && text.contains(stem.as_str()));
    title.iter().filter(holds).count() * 2 >= title.len()
}

/// Adds the texts of `self.__next_f.push([1,"…"])` to the rows.
fn pushed(script: &str, rows: &mut String) {
    let mut rest = script;
    while let Some((_, list)) = rest.split_once(".push(") {
        let mut values = serde_json::Deserializer::from_str(list).into_iter::<Value>();
        if let Some(Ok(value)) = values.next()
            && value.get(0).and_then(Value::as_u64) == Some(1)
        {
            rows.push_str(value.get(1).and_then(Value::as_str).unwrap_or_default());
        }
        rest = list.get(values.byte_offset()..).unwrap_or_default();
    }
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
    for _ in 0..MAX_ROWS {
        let Some((id, after)) = rest.split_once(':') else { return };
        let is_row = !id.is_empty() && id.trim().chars().all(|c| c.is_ascii_hexdigit());
        if let Some((size, text)) = sized(after).filter(|_| is_row)
            && let (Some(held), Some(following)) = (text.get(..size), text.get(size..))
        {
            keep(held, "", texts);
            rest = following;
            continue;
        }
        // A row that is not understood is left at its line's end.
        let (line, following) = after.split_once('\n').unwrap_or((after, ""));
        rest = following;
        if is_row && let Ok(value) = serde_json::from_str::<Value>(line) {
            collect(&value, "", MAX_DEPTH, texts);
        }
    }
}

/// `T1b7b,text`: how many bytes of the text are the row's.
fn sized(row: &str) -> Option<(usize, &str)> {
    let row = row.strip_prefix('T')?;
    // Eight digits are four gigabytes; without a bound every row would look through all the others.
    let comma = row.bytes().take(9).position(|byte| byte == b',')?;
    Some((usize::from_str_radix(row.get(..comma)?, 16).ok()?, row.get(comma + 1..)?))
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
            for (name, field) in fields.iter().filter(|(name, _)| !is_beside(name)) {
                collect(field, name, depth - 1, texts);
            }
        }
        _ => {}
    }
}

/// What stands beside an article in a page's data.
fn is_beside(key: &str) -> bool {
    const MARKS: [&str; 11] = [
        "comment",
        "related",
        "recommend",
        "popular",
        "consent",
        "cookie",
        "privacy",
        "terms",
        "translation",
        "i18n",
        "locale",
    ];
    let key = key.to_lowercase();
    MARKS.iter().any(|mark| key.contains(mark))
}

/// The text of one part of an article that is kept in parts: `{"type": "paragraph", "text": "…"}`.
fn part(item: &Value) -> Option<&str> {
    const KINDS: [&str; 8] =
        ["p", "paragraph", "text", "html", "richtext", "rich_text", "paragraphblock", "core/paragraph"];
    const OF_A_CARD: [&str; 5] = ["title", "headline", "url", "slug", "author"];
    let kind = ["type", "__typename", "_type", "kind", "component"].iter().find_map(|key| item.get(*key)?.as_str())?;
    let text = ["text", "content", "html", "value", "body"].iter().find_map(|key| item.get(*key)?.as_str())?;
    let is_text = KINDS.contains(&kind.to_lowercase().as_str());
    (is_text && OF_A_CARD.iter().all(|key| item.get(*key).is_none())).then_some(text)
}

/// Keeps paragraphs of markup, and plain text under a name that says so.
fn keep(text: &str, key: &str, texts: &mut Vec<String>) {
    if text.len() < LEAST || text.len() > MOST {
        return;
    }
    let is_body = || {
        let key = key.to_lowercase();
        matches!(key.as_str(), "body" | "articlebody" | "content" | "text" | "fulltext" | "full_text" | "maintext")
    };
    if text.matches("<p>").count() + text.matches("<p ").count() >= 2 {
        texts.push(text.to_owned());
    } else if is_body() && !text.contains(['{', '}']) {
        let plain = html_escape::encode_text(text);
        texts.push(format!("<p>{}</p>", plain.replace('\n', "</p><p>")));
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
        read(&page(scripts), "Council to build the bridge in spring | The Paper").unwrap_or_default()
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
        let (head, tail) = rows.split_at(rows.len() / 2);
        let push = |part: &str| format!("<script>self.__next_f.push({})</script>", serde_json::json!([1, part]));
        let scripts =
            format!("<script>(self.__next_f=self.__next_f||[]).push([0])</script>{}{}", push(head), push(tail));
        let paragraphs = found(&scripts);
        assert_eq!(paragraphs.len(), 3, "{paragraphs:?}");
        assert!(!paragraphs.concat().contains('$'), "{paragraphs:?}");
    }

    #[test]
    fn assigned_data_and_parts_of_an_article_are_read() {
        let parts: Vec<_> =
            (0..6).map(|n| serde_json::json!({"type": "paragraph", "text": format!("{n}: {SENTENCE}")})).collect();
        let data = serde_json::json!({"article": {"parts": parts}});
        let paragraphs = found(&format!("<script>var a = 1; window.__STATE__ = {data}; go();</script>"));
        assert_eq!(paragraphs.len(), 6, "{paragraphs:?}");
        let quoted = Value::String(data.to_string());
        assert_eq!(found(&format!("<script>window.__STATE__ = JSON.parse({quoted}) || {{}};</script>")).len(), 6);
    }

    #[test]
    fn a_text_about_something_else_is_not_the_article() {
        let state = |key: &str, text: String| {
            let data = serde_json::json!({"page": {key: text}});
            format!("<script type=application/json>{data}</script>")
        };
        assert_eq!(found(&state("body", html())).len(), 3);
        assert!(found(&state("relatedStory", html())).is_empty());
        let terms = "<p>Your data are processed by our partners as the law allows it, and never sold.</p>".repeat(9);
        assert!(found(&state("body", terms)).is_empty());
        assert!(read(&page(&state("body", html())), "404").is_none());
        let linked = state("body", html()).replace("application/json", "application/ld+json");
        assert!(found(&linked).is_empty());
    }

    #[test]
    fn hostile_rows_and_markup_cost_little() {
        let started = std::time::Instant::now();
        for row in ["1:T0,", "1:T\n", "1:", ":\n", "a:T5,"] {
            let rows = row.repeat(800_000 / row.len());
            assert!(
                found(&format!("<script>self.__next_f.push({})</script>", serde_json::json!([1, rows]))).is_empty()
            );
        }
        let deep = format!("council build bridge spring paper {}", "<p><b><div>".repeat(30_000));
        let data = serde_json::json!({"body": deep});
        let _paragraphs = found(&format!("<script type=application/json>{data}</script>"));
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
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
        assert!(found("").is_empty());
    }
}
