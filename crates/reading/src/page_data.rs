//! Extracts the article from the script data of a page that a script renders.
//!
//! It reads JSON blocks (`__NEXT_DATA__`), assigned data (`window.__STATE__ = {…}`, `JSON.parse("…")`), and rows of
//! Next.js (`self.__next_f.push([1,"…"])`: `id:JSON`, or `id:Tlength,text`). A text must contain the words of the
//! page's title, because the data also contains teasers, comments and terms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use dom_query::Document;
use regex::Regex;
use serde_json::Value;

use super::json::ValueBudget;
use super::work::Work;
use super::{frame, outline, parse};

/// Minimum characters of the result, and bytes of a text. A shorter text may be a teaser, notice or comment.
const MIN_CHARS: usize = 300;
const MAX_TEXT_BYTES: usize = 400_000;
/// Bytes. The parsed JSON is many times larger.
const MAX_SCRIPT: usize = 1_000_000;
/// Texts that are compared with the title, the longest first.
const MAX_COMPARED: usize = 40;
const MAX_DEPTH: usize = 60;
const MAX_ASSIGNED: usize = 40;
const MAX_ROWS: usize = 20_000;
/// Fewer words in common with a title may be chance.
const MIN_WORDS: usize = 3;
const MAX_WORDS: usize = 40;
/// Shorter words occur in every text.
const MIN_LETTERS: usize = 5;
/// Letters of a word that are compared, because endings differ.
const STEM_LETTERS: usize = 5;

static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w\]]\s*=\s*[{\[]").ok());

/// Returns the paragraphs of the text with most words of `title`, at least half of them.
pub(super) fn read(document: &Document, title: &str, work: &Work) -> Option<Vec<String>> {
    let words = TitleWords::of(title);
    if words.count() < MIN_WORDS {
        return None;
    }
    let (mut data, budget) = (PageTexts::default(), ValueBudget::default());
    let mut rows = String::new();
    for script in &document.select("script:not([src])") {
        let kind = script.attr("type").unwrap_or_default().to_ascii_lowercase();
        let content = script.text();
        if kind.contains("ld+json") || content.len() > MAX_SCRIPT {
            continue;
        }
        if kind.contains("json") {
            for value in budget.all(&content).unwrap_or_default() {
                data.collect(&value, "", MAX_DEPTH);
            }
        } else if content.contains("__next_f") {
            pushed(&content, &mut rows);
        } else if content.len() >= MIN_CHARS {
            for value in assigned(&content, &budget) {
                data.collect(&value, "", MAX_DEPTH);
            }
        }
    }
    data.rows(&rows, &budget);
    data.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let asked = data.texts.iter().take(MAX_COMPARED).map(|text| (words.shared_with(text), text));
    // `rev` gives the longest of equal texts.
    let (held, text) = asked.rev().max_by_key(|(held, _)| *held)?;
    article(text, work).filter(|paragraphs| held * 2 >= words.count() && length(paragraphs) >= MIN_CHARS)
}

fn length(paragraphs: &[String]) -> usize {
    paragraphs.iter().map(|paragraph| paragraph.chars().count()).sum()
}

fn article(html: &str, work: &Work) -> Option<Vec<String>> {
    let document = parse::document(&format!("<html><body><article>{html}</article></body></html>"), work).ok()?;
    Some(frame::article(&mut outline::read(&document), None, None))
}

#[derive(Default)]
struct TitleWords {
    /// First letters of the longer words, in lower case, for alphabetic scripts.
    stems: HashSet<String>,
    /// Pairs of characters for Chinese, Japanese, Korean and Thai, which have no spaces or many endings.
    pairs: HashSet<String>,
}

impl TitleWords {
    fn of(title: &str) -> Self {
        let mut words = Self::default();
        let pieces = title.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty());
        for piece in pieces.take(MAX_WORDS) {
            if piece.chars().all(is_of_an_alphabet) {
                words.stems.extend(stem(piece));
            } else {
                let letters: Vec<char> = piece.chars().take(MAX_WORDS).collect();
                words.pairs.extend(letters.chunks_exact(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
        words
    }

    fn count(&self) -> usize {
        self.stems.len() + self.pairs.len()
    }

    fn shared_with(&self, text: &str) -> usize {
        let theirs: HashSet<String> = text.split(|c: char| !c.is_alphanumeric()).filter_map(stem).collect();
        self.stems.intersection(&theirs).count() + self.pairs.iter().filter(|pair| text.contains(pair.as_str())).count()
    }
}

/// False for Thai, Lao, Hangul, kana and Han, whose words cannot be compared by their beginnings.
fn is_of_an_alphabet(c: char) -> bool {
    !matches!(u32::from(c), 0x0e00..=0x0eff | 0x1100..=0x11ff | 0x2e80..=0xd7ff | 0xf900..=0xfaff | 0x2_0000..)
}

fn stem(word: &str) -> Option<String> {
    let is_long = word.chars().nth(MIN_LETTERS - 1).is_some();
    is_long.then(|| word.chars().take(STEM_LETTERS).flat_map(char::to_lowercase).collect())
}

/// Appends the texts of `self.__next_f.push([1,"…"])` to `rows`.
fn pushed(script: &str, rows: &mut String) {
    let mut rest = script;
    while let Some((_, list)) = rest.split_once(".push(") {
        let mut values = serde_json::Deserializer::from_str(list).into_iter::<(u64, String)>();
        if let Some(Ok((1, row))) = values.next() {
            rows.push_str(&row);
        }
        rest = list.get(values.byte_offset()..).unwrap_or_default();
    }
}

fn assigned(script: &str, budget: &ValueBudget) -> Vec<Value> {
    let first = |text: &str| budget.first(text);
    let literals = ASSIGNMENT.iter().flat_map(|regex| regex.find_iter(script)).take(MAX_ASSIGNED);
    let plain = literals.filter_map(|found| script.get(found.end() - 1..).and_then(first));
    let quoted = script.match_indices("JSON.parse(").take(MAX_ASSIGNED).filter_map(|(at, name)| {
        let text = script.get(at + name.len()..).and_then(first)?;
        first(text.as_str()?)
    });
    plain.chain(quoted).collect()
}

#[derive(Default)]
struct PageTexts {
    texts: Vec<String>,
    /// Long texts of Next.js by id (`"$24"`).
    named: HashMap<String, String>,
}

impl PageTexts {
    /// Reads rows of Next.js: first the long texts, then the data that refer to them.
    fn rows(&mut self, rows: &str, budget: &ValueBudget) {
        let mut lines = Vec::new();
        let mut rest = rows;
        for _ in 0..MAX_ROWS {
            let Some((id, after)) = rest.split_once(':') else { break };
            let id = id.trim();
            let is_row = !id.is_empty() && id.chars().all(|c| c.is_ascii_hexdigit());
            if let Some((size, text)) = sized(after).filter(|_| is_row)
                && let (Some(held), Some(following)) = (text.get(..size), text.get(size..))
            {
                self.named.insert(format!("${id}"), held.to_owned());
                rest = following;
                continue;
            }
            // An unknown row ends at the line end.
            let (line, following) = after.split_once('\n').unwrap_or((after, ""));
            rest = following;
            if is_row {
                lines.push(line);
            }
        }
        for value in lines.into_iter().filter_map(|line| budget.first(line)) {
            self.collect(&value, "", MAX_DEPTH);
        }
    }

    fn collect(&mut self, value: &Value, key: &str, depth: usize) {
        if depth == 0 {
            return;
        }
        match value {
            // Only the first reference to a text counts.
            Value::String(text) => match self.named.remove(text) {
                Some(text) => self.keep(&text, key),
                None => self.keep(text, key),
            },
            Value::Array(items) => {
                let plain: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                if plain.len() >= 3 && is_body(key) {
                    self.keep(&plain.join("\n"), key);
                    return;
                }
                let parts: Vec<&str> = items.iter().filter_map(part).collect();
                if parts.len() >= 3 {
                    self.keep(&format!("<p>{}</p>", parts.join("</p><p>")), "");
                }
                for item in items {
                    self.collect(item, key, depth - 1);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields.iter().filter(|(name, _)| !is_side_key(name)) {
                    self.collect(field, name, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// Keeps paragraphs of markup, and plain text whose key names an article's text.
    fn keep(&mut self, text: &str, key: &str) {
        if text.len() < MIN_CHARS || text.len() > MAX_TEXT_BYTES {
            return;
        }
        if text.matches("<p>").count() + text.matches("<p ").count() >= 2 {
            self.texts.push(text.to_owned());
        } else if is_body(key) && !text.contains(['{', '}']) {
            let plain = html_escape::encode_text(text);
            self.texts.push(format!("<p>{}</p>", plain.replace('\n', "</p><p>")));
        }
    }
}

/// Parses `T1b7b,text` to the length in bytes and the rest.
fn sized(row: &str) -> Option<(usize, &str)> {
    let row = row.strip_prefix('T')?;
    // Eight digits are 4 GB. Without this bound each row would search all following rows.
    let comma = row.bytes().take(9).position(|byte| byte == b',')?;
    Some((usize::from_str_radix(row.get(..comma)?, 16).ok()?, row.get(comma + 1..)?))
}

fn is_side_key(key: &str) -> bool {
    const MARKS: [&str; 17] = [
        "comment",
        "related",
        "recommend",
        "popular",
        "latest",
        "trending",
        "sidebar",
        "readnext",
        "teaser",
        "suggest",
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

fn is_body(key: &str) -> bool {
    let key = key.to_lowercase();
    matches!(key.as_str(), "body" | "articlebody" | "content" | "text" | "fulltext" | "full_text" | "maintext")
}

/// The text of one part of an article: `{"type": "paragraph", "text": "…"}`.
fn part(item: &Value) -> Option<&str> {
    const KINDS: [&str; 7] = ["p", "paragraph", "html", "richtext", "rich_text", "paragraphblock", "core/paragraph"];
    const OF_A_CARD: [&str; 5] = ["title", "headline", "url", "slug", "author"];
    let kind = ["type", "__typename", "_type", "kind", "component"].iter().find_map(|key| item.get(*key)?.as_str())?;
    let kind = kind.to_lowercase();
    let of = |keys: &[&str]| keys.iter().find_map(|key| item.get(*key)?.as_str());
    // `{"type": "text", "text": …}` is part of a line; with `content` it is a paragraph.
    let text = match kind.as_str() {
        "text" => of(&["content", "html"])?,
        kind if KINDS.contains(&kind) => of(&["text", "content", "html", "value", "body"])?,
        _ => return None,
    };
    OF_A_CARD.iter().all(|key| item.get(*key).is_none()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(document: &Document, title: &str) -> Option<Vec<String>> {
        read(document, title, &Work::default())
    }

    const SENTENCE: &str =
        "The council voted on Tuesday to build the bridge, and work will begin in the spring of next year. ";

    fn html() -> String {
        format!("<p>{0}</p><p>{0}And again.</p><p>{0}</p>", SENTENCE.repeat(2))
    }

    fn page(scripts: &str) -> Document {
        Document::from(format!("<html><body><div id=app></div>{scripts}</body></html>"))
    }

    fn found(scripts: &str) -> Vec<String> {
        read_of(&page(scripts), "Council to build the bridge in spring | The Paper").unwrap_or_default()
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
        let (text, other) = (html(), html().repeat(3));
        let rows = format!(
            "1:\"$Sreact.fragment\"\n25:[\"$\",\"p\",null,{{\"story\":\"$24\",\"related\":\"$26\"}}]\n24:T{0:x},{text}26:T{1:x},{other}",
            text.len(),
            other.len()
        );
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
        assert!(read_of(&page(&state("body", html())), "404").is_none());
        assert!(read_of(&page(&state("body", html())), "What this will mean for those with time to spare").is_none());
        let chinese = "<p>北京市政府周二决定，明年春天开始建设新的跨河大桥，工程预计三年完成。</p>".repeat(14);
        assert!(read_of(&page(&state("body", chinese.clone())), "北京市政府决定明年春天建设跨河大桥").is_some());
        assert!(read_of(&page(&state("body", chinese)), "法院宣判一名前官员有期徒刑十年").is_none());
        let vietnamese = "<p>Chính quyền thành phố quyết định xây dựng cây cầu mới vào mùa xuân năm sau.</p>".repeat(9);
        let title = "CHÍNH QUYỀN THÀNH PHỐ QUYẾT ĐỊNH xây cầu";
        assert!(read_of(&page(&state("body", vietnamese)), title).is_some());
        let linked = state("body", html()).replace("application/json", "application/ld+json");
        assert!(found(&linked).is_empty());
    }

    #[test]
    fn hostile_rows_and_markup_cost_little() {
        let started = std::time::Instant::now();
        let title = (0..90_000).map(|n| n.to_string()).collect::<Vec<String>>().join(" слово");
        let other = format!("<p>{0}</p><p>{0}</p>", "совсем другое ".repeat(6_000));
        let data = serde_json::json!({"a": [&other, &other, &other, &other]});
        assert!(read_of(&page(&format!("<script type=application/json>{data}</script>")), &title).is_none());
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
