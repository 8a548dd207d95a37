//! Reads the JSON-LD of pages. Repairs invalid JSON and flattens it, so that an article or review is found at any
//! depth.

use serde_json::{Map, Value};

use super::json::ValueBudget;
use super::text;

const MAX_BLOCK_BYTES: usize = 1024 * 1024;
/// Lists of related articles may have thousands of nodes.
const MAX_NODES: usize = 400;
const MAX_LISTED: usize = 50;

#[derive(Debug, Default)]
pub(super) struct JsonLd {
    values: Vec<Value>,
    /// A block could not be read, even after repair.
    pub(super) unreadable: bool,
}

pub(super) fn read<S: AsRef<str>>(blocks: &[S]) -> JsonLd {
    let mut found = JsonLd::default();
    let budget = ValueBudget::default();
    for block in blocks {
        let block = text::cut(block.as_ref(), MAX_BLOCK_BYTES);
        if block.trim().is_empty() {
            continue;
        }
        let values = parse(block, &budget);
        found.unreadable |= values.is_empty();
        found.values.extend(values);
    }
    found
}

impl JsonLd {
    /// Returns every typed object, outermost first, without those that only describe other pages.
    pub(super) fn nodes(&self) -> Vec<&Map<String, Value>> {
        let mut nodes = Vec::new();
        self.values.iter().for_each(|value| flatten(value, &mut nodes));
        nodes
    }
}

/// Empty if the block cannot be repaired.
fn parse(block: &str, budget: &ValueBudget) -> Vec<Value> {
    let bare = unwrap(block);
    if let Some(values) = budget.all(bare) {
        return values;
    }
    let decoded = (bare.contains("&quot;") && bare.matches('"').count() < 2)
        .then(|| html_escape::decode_html_entities(bare).into_owned());
    budget.all(&repair(decoded.as_deref().unwrap_or(bare))).unwrap_or_default()
}

/// Removes byte-order marks, comments, CDATA and a final semicolon.
fn unwrap(block: &str) -> &str {
    let mut bare = block.trim().trim_matches('\u{feff}').trim();
    loop {
        let before = bare.len();
        for opening in ["//<![CDATA[", "// <![CDATA[", "/*<![CDATA[*/", "/* <![CDATA[ */", "<![CDATA[", "<!--"] {
            bare = bare.strip_prefix(opening).unwrap_or(bare).trim();
        }
        for closing in ["//]]>", "// ]]>", "/*]]>*/", "/* ]]> */", "]]>", "//-->", "-->", ";"] {
            bare = bare.strip_suffix(closing).unwrap_or(bare).trim();
        }
        if bare.len() == before {
            return bare;
        }
    }
}

/// Repairs JSON in one linear pass: control characters and unescaped quotes in strings, invalid escapes, lone
/// surrogates, trailing commas.
fn repair(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 64);
    let mut containers: Vec<char> = Vec::new();
    let mut in_string = false;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        let rest = characters.get(at + 1..).unwrap_or_default();
        if in_string {
            match character {
                '"' if closes_string(rest, containers.last() == Some(&'[')) => {
                    in_string = false;
                    out.push('"');
                }
                '"' => out.push_str("\\\""),
                '\\' => at += push_escape(&mut out, rest),
                '\n' | '\r' | '\t' => out.push(' '),
                _ if character.is_control() => {}
                _ => out.push(character),
            }
        } else {
            match character {
                '"' => in_string = true,
                '{' | '[' => containers.push(character),
                '}' | ']' => {
                    containers.pop();
                }
                _ => {}
            }
            let dangling_comma =
                character == ',' && matches!(rest.iter().find(|c| !c.is_whitespace()), None | Some('}' | ']' | ','));
            if !dangling_comma {
                out.push(character);
            }
        }
        at += 1;
    }
    out
}

/// True if a quote ends its string. What follows shows whether it is an unescaped quote inside a text.
fn closes_string(rest: &[char], in_array: bool) -> bool {
    // Bounded, because long runs of spaces and quotes would take quadratic time.
    let mut ahead = rest.iter().take(200).copied().skip_while(|c| c.is_whitespace());
    match ahead.next() {
        None | Some('}' | ']' | ':') => true,
        Some(',') => {
            let mut after = ahead.skip_while(|c| c.is_whitespace());
            match after.next() {
                Some('"') if in_array => true,
                // In an object, a key follows a comma.
                Some('"') => {
                    let mut tail =
                        after.skip_while(|c| c.is_alphanumeric() || matches!(c, '@' | '_' | '-' | ':' | '.' | '$'));
                    tail.next() == Some('"') && tail.find(|c| !c.is_whitespace()) == Some(':')
                }
                Some('}' | ']') | None => true,
                Some(next) => in_array && (matches!(next, '{' | '[' | '-') || next.is_ascii_digit()),
            }
        }
        _ => false,
    }
}

/// Writes one escape and returns how many characters of `rest` it used. Invalid escapes lose their backslash.
fn push_escape(out: &mut String, rest: &[char]) -> usize {
    match rest.first() {
        Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
            out.push('\\');
            out.push(*c);
            1
        }
        Some('u') => {
            let unit = |skip: usize| {
                let digits: String = rest.iter().skip(skip).take(4).collect();
                (digits.len() == 4).then(|| u16::from_str_radix(&digits, 16).ok()).flatten()
            };
            let escaped_again = rest.get(5) == Some(&'\\') && rest.get(6) == Some(&'u');
            match (unit(1), escaped_again.then(|| unit(7)).flatten()) {
                (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                    out.extend(char::decode_utf16([high, low]).flatten());
                    11
                }
                (Some(0xD800..=0xDFFF), _) => {
                    out.push(char::REPLACEMENT_CHARACTER);
                    5
                }
                (Some(value), _) => {
                    // Control characters stay escaped.
                    match char::from_u32(u32::from(value)) {
                        Some(character) if !character.is_control() && !matches!(character, '"' | '\\') => {
                            out.push(character);
                        }
                        _ => {
                            out.push_str("\\u");
                            out.extend(rest.iter().skip(1).take(4));
                        }
                    }
                    5
                }
                (None, _) => 0,
            }
        }
        _ => 0,
    }
}

/// Properties that contain the page's own subject. Others ("isRelatedTo", "citation", lists of teasers) describe other
/// pages.
const SUBJECT_PROPERTIES: [&str; 11] = [
    "mainEntity",
    "mainEntityOfPage",
    "review",
    "reviews",
    "associatedReview",
    "hasPart",
    "properties",
    "item",
    "claimReview",
    "subjectOf",
    "mainContentOfPage",
];

fn flatten<'v>(value: &'v Value, nodes: &mut Vec<&'v Map<String, Value>>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten(value, nodes)),
        Value::Object(map) if nodes.len() < MAX_NODES => {
            nodes.push(map);
            let inner = SUBJECT_PROPERTIES.iter().filter_map(|key| map.get(*key)).filter(|value| !value.is_string());
            map.get("@graph").into_iter().chain(inner).for_each(|value| flatten(value, nodes));
        }
        _ => {}
    }
}

pub(super) fn types(node: &Map<String, Value>) -> Vec<&str> {
    match node.get("@type").or_else(|| node.get("type")) {
        Some(Value::String(one)) => vec![local_type(one)],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(local_type).collect(),
        _ => Vec::new(),
    }
}

fn local_type(iri: &str) -> &str {
    iri.trim().rsplit(['/', '#', ':']).next().unwrap_or(iri)
}

/// A property as plain text: a string, a number, `{"@value"}`, `{"name"}`, or the first of a list.
pub(super) fn string(node: &Map<String, Value>, key: &str) -> Option<String> {
    node.get(key).and_then(value_text)
}

pub(super) fn value_text(value: &Value) -> Option<String> {
    let found = match value {
        Value::String(string) => text::plain(string),
        Value::Number(number) => number.to_string(),
        Value::Array(values) => values.iter().find_map(value_text)?,
        Value::Object(map) => ["@value", "name"].iter().find_map(|key| map.get(*key).and_then(value_text))?,
        Value::Bool(_) | Value::Null => return None,
    };
    (!found.is_empty()).then_some(found)
}

/// All names of a property. A string with several names stays one.
pub(super) fn names(node: &Map<String, Value>, key: &str) -> Vec<String> {
    let values = match node.get(key) {
        Some(Value::Array(values)) => values.iter().collect(),
        Some(value) => vec![value],
        None => Vec::new(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in values.into_iter().take(MAX_LISTED).filter_map(value_text) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// All URLs of a property: strings, objects with `url`, `@id` or `sameAs`, lists of both.
pub(super) fn addresses(value: &Value) -> Vec<String> {
    match value {
        // A string may contain several URLs, and a URL may contain a comma.
        Value::String(string) => string
            .replace(",http", " http")
            .split_whitespace()
            .map(|part| part.trim_end_matches(','))
            .filter(|part| part.starts_with("http://") || part.starts_with("https://"))
            .take(MAX_LISTED)
            .map(str::to_owned)
            .collect(),
        Value::Array(values) => values.iter().take(MAX_LISTED).flat_map(addresses).take(MAX_LISTED).collect(),
        Value::Object(map) => ["url", "@id", "sameAs"]
            .iter()
            .filter_map(|key| map.get(*key))
            .map(addresses)
            .find(|list| !list.is_empty())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Accepts `false`, `"False"`, `"http://schema.org/False"`.
pub(super) fn boolean(node: &Map<String, Value>, key: &str) -> Option<bool> {
    match node.get(key)? {
        Value::Bool(value) => Some(*value),
        Value::String(word) => match local_type(word).to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(block: &str) -> Map<String, Value> {
        let found = read(&[block]);
        assert!(!found.unreadable, "{block}");
        found.nodes().into_iter().next().unwrap().clone()
    }

    #[test]
    fn block_is_repaired_when_it_is_broken() {
        for block in [
            "{\"@type\":\"Claim\",\"name\":\"a b\"}",
            "\u{feff}{\"@type\":\"Claim\",\"name\":\"a b\"};",
            "//<![CDATA[\n{\"@type\":\"Claim\",\"name\":\"a b\"}\n//]]>",
            "<!-- {\"@type\":\"Claim\",\"name\":\"a b\",} -->",
            "{\"@type\":\"Claim\",\"name\":\"a\nb\",}",
            "{\"@type\":\"Claim\",\"name\":\"a\tb\",\"list\":[1,2,],}",
            "{&quot;@type&quot;:&quot;Claim&quot;,&quot;name&quot;:&quot;a b&quot;}",
            "{\"@type\":\"Claim\",\"name\":\"a b\"}{\"@type\":\"Other\"}",
            "{\"@type\":\"Claim\",\"name\":\"a b\"}\n{\"@type\":\"Other\",}",
        ] {
            assert_eq!(string(&first(block), "name").as_deref(), Some("a b"), "{block}");
        }
    }

    #[test]
    fn block_is_repaired_when_quotes_or_escapes_are_wrong() {
        let node = first(r#"{"@type":"ClaimReview","claimReviewed":"He said "never", and "always", twice","url":"u"}"#);
        assert_eq!(string(&node, "claimReviewed").as_deref(), Some(r#"He said "never", and "always", twice"#));
        assert_eq!(string(&node, "url").as_deref(), Some("u"));
        let node = first(r#"{"name":"it\'s \ud83d\ude00 \ud800 caf\u00e9","list":["a "b" c","d"],}"#);
        assert_eq!(string(&node, "name").as_deref(), Some("it's 😀 \u{fffd} café"));
        assert_eq!(names(&node, "list"), [r#"a "b" c"#, "d"]);
    }

    #[test]
    fn block_is_unreadable_when_it_cannot_be_repaired() {
        assert!(read(&["{\"@type\": Claim"]).unreadable);
        assert!(read(&[format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000))]).unreadable, "depth is bounded");
        assert!(!read(&["  "]).unreadable);
    }

    #[test]
    fn nodes_are_found_where_pages_put_them() {
        let found = read(&[
            r#"{"@context":"https://schema.org","@graph":[{"@type":["WebPage","FAQPage"],"mainEntity":{"review":{"@type":"http://schema.org/ClaimReview"}}},
                {"@type":"NewsArticle","citation":{"@type":"Article","name":"another page"}}]}"#,
        ]);
        let nodes = found.nodes();
        let all: Vec<_> = nodes.iter().flat_map(|node| types(node)).collect();
        assert_eq!(all, ["WebPage", "FAQPage", "ClaimReview", "NewsArticle"]);
    }

    #[test]
    fn values_come_in_many_shapes() {
        let node = first(
            r#"{"a":{"@value":"2026-11-18","@type":"DateTime"},"b":["",{"name":"X"}],"c":7,"free":"False","d":null,
                "author":[{"name":"Ann"},"Bob",{"name":"Ann"}],"based":[{"url":"https://a.example/1"},"https://b.example/2, https://c.example/3"]}"#,
        );
        assert_eq!(string(&node, "a").as_deref(), Some("2026-11-18"));
        assert_eq!(string(&node, "b").as_deref(), Some("X"));
        assert_eq!(string(&node, "c").as_deref(), Some("7"));
        assert_eq!(string(&node, "d"), None);
        assert_eq!(boolean(&node, "free"), Some(false));
        assert_eq!(names(&node, "author"), ["Ann", "Bob"]);
        assert_eq!(addresses(&node["based"]), ["https://a.example/1", "https://b.example/2", "https://c.example/3"]);
    }

    #[test]
    fn long_lists_are_read_to_their_first_part() {
        let list: Vec<String> = (0..2_000).map(|nth| format!("https://a.example/{nth}")).collect();
        let node = first(&serde_json::json!({"author": list, "url": list, "joined": list.join(" ")}).to_string());
        assert_eq!(names(&node, "author").len(), MAX_LISTED);
        assert_eq!(addresses(&node["url"]).len(), MAX_LISTED);
        assert_eq!(addresses(&node["joined"]).len(), MAX_LISTED);
    }

    proptest! {
        #[test]
        fn anything_is_read_without_panic(block in "[\\[\\]{}\",:\\\\ua-f0-9\n ]{0,80}") {
            let _nodes = read(&[block]).nodes().len();
        }

        #[test]
        fn json_is_unchanged_when_it_is_valid(name in "[a-zA-Z0-9 .!?а-яё]{0,30}", number in any::<i32>()) {
            let value = serde_json::json!({"name": name, "list": [number, {"inner": name}], "flag": true});
            let repaired: Value = serde_json::from_str(&repair(&value.to_string())).unwrap();
            prop_assert_eq!(repaired, value);
        }
    }
}
