//! Finds the JSON object in a model's text: fenced, after thoughts, in prose, malformed or truncated.
//!
//! Only unambiguous repairs are made: brackets are closed, values never invented. Truncated values are left out, and an
//! object without its required properties is rejected.

use serde_json::{Map, Number, Value};

/// Maximum depth, against a stack overflow.
const DEEPEST: usize = 32;
/// Maximum positions at which an object is tried.
const MOST_BEGINNINGS: usize = 24;
/// Maximum thought ends after which an answer is searched.
const MOST_THOUGHTS: usize = 8;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ParsedObject {
    /// Has at least one expected property.
    Object(Value),
    /// The complete parts of a truncated object.
    Part(Value),
    /// An object began, but too little is complete.
    Cut,
    Nothing,
}

/// Returns the object of the schema. `is_cut`: the server reports truncation.
pub(super) fn object_in(text: &str, schema: &Value, is_cut: bool) -> ParsedObject {
    let mut found = ParsedObject::Nothing;
    for text in without_thoughts(text) {
        match in_answer(text, schema) {
            ParsedObject::Nothing => {}
            ParsedObject::Cut => found = ParsedObject::Cut,
            read => return read,
        }
    }
    if found == ParsedObject::Nothing && is_cut { ParsedObject::Cut } else { found }
}

fn in_answer(text: &str, schema: &Value) -> ParsedObject {
    let mut found = ParsedObject::Nothing;
    for (start, _) in text.match_indices(['{', '[']).take(MOST_BEGINNINGS) {
        let Some(rest) = text.get(start..) else { continue };
        let mut reader = Reader { rest, ended: false };
        let Some(value) = reader.value(0) else { continue };
        let Some(value) = asked_for(value, schema) else {
            if reader.ended {
                found = ParsedObject::Cut;
            }
            continue;
        };
        if !reader.ended {
            return ParsedObject::Object(value);
        }
        return match whole(value, schema) {
            Some(value) => ParsedObject::Part(value),
            None => ParsedObject::Cut,
        };
    }
    found
}

/// Returns the texts after each closing thought tag, first to last, because an answer can quote later tags. Empty if a
/// thought never ends.
fn without_thoughts(text: &str) -> Vec<&str> {
    if text.trim_start().starts_with(['{', '[', '`']) {
        return vec![text];
    }
    for (opening, closing) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")]
    {
        let behind: Vec<&str> = text
            .match_indices(closing)
            .filter_map(|(at, _)| text.get(at + closing.len()..))
            .take(MOST_THOUGHTS)
            .collect();
        if !behind.is_empty() {
            return behind;
        }
        if text.trim_start().starts_with(opening) {
            return Vec::new();
        }
    }
    vec![text]
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Returns an object with an expected property: the value, the object in a wrapper of one field, or the list of the
/// schema's one field.
fn asked_for(value: Value, schema: &Value) -> Option<Value> {
    let has_any = |object: &Map<String, Value>| {
        let mut names = required(schema).peekable();
        names.peek().is_none() || names.any(|name| object.contains_key(name))
    };
    match value {
        Value::Object(object) if has_any(&object) => Some(Value::Object(object)),
        Value::Object(object) if object.len() == 1 => {
            let inner = object.into_iter().next().map(|(_, inner)| inner)?;
            inner.as_object().is_some_and(has_any).then_some(inner)
        }
        Value::Array(list) => {
            let mut names = required(schema);
            let (name, None) = (names.next()?, names.next()) else { return None };
            let property = schema.get("properties")?.get(name)?;
            let is_list = property.get("type").and_then(Value::as_str) == Some("array");
            let are_items = !list.is_empty() && list.iter().all(|item| asked_for_item(item, property));
            (is_list && are_items).then(|| Value::Object(Map::from_iter([(name.to_owned(), Value::Array(list))])))
        }
        _ => None,
    }
}

fn asked_for_item(item: &Value, property: &Value) -> bool {
    let Some(items) = property.get("items") else { return true };
    match item {
        Value::Object(object) => required(items).any(|name| object.contains_key(name)),
        _ => items.get("required").is_none(),
    }
}

/// Returns the complete parts of a truncated value. `None` for an object without a required property or a list without
/// complete entries.
fn whole(value: Value, schema: &Value) -> Option<Value> {
    match value {
        Value::Object(object) => {
            let properties = schema.get("properties");
            let of = |name: &str| properties.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
            let kept: Map<String, Value> = object
                .into_iter()
                .filter_map(|(name, value)| {
                    let value = whole(value, of(&name))?;
                    Some((name, value))
                })
                .collect();
            let is_whole = required(schema).all(|name| kept.contains_key(name));
            is_whole.then_some(Value::Object(kept))
        }
        Value::Array(list) => {
            let (items, before) = (schema.get("items").unwrap_or(&Value::Null), list.len());
            let kept: Vec<Value> = list.into_iter().filter_map(|item| whole(item, items)).collect();
            (before == 0 || !kept.is_empty()).then_some(Value::Array(kept))
        }
        other => Some(other),
    }
}

/// A tolerant JSON reader. A truncated value is left out and marked.
struct Reader<'a> {
    rest: &'a str,
    /// The text ended within the value.
    ended: bool,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Returns the next non-blank character; marks the end of the text.
    fn peek(&mut self) -> Option<char> {
        self.blanks();
        let next = self.rest.chars().next();
        self.ended |= next.is_none();
        next
    }

    fn take(&mut self, character: char) -> bool {
        let after = self.rest.strip_prefix(character);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Reads a complete or partial value; `None` if nothing is usable.
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            quote @ ('"' | '\'') => self.text(quote).map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut object = Map::new();
        loop {
            match self.peek() {
                None => return Some(Value::Object(object)),
                Some('}') => {
                    self.take('}');
                    return Some(Value::Object(object));
                }
                Some(',') => {
                    self.take(',');
                    continue;
                }
                Some(_) => {}
            }
            let name = match self.peek() {
                Some(quote @ ('"' | '\'')) => self.text(quote),
                _ => return None,
            };
            let Some(name) = name else { return self.ended.then_some(Value::Object(object)) };
            match self.peek() {
                None => return Some(Value::Object(object)),
                Some(':') => self.take(':'),
                Some(_) => return None,
            };
            match self.value(depth + 1) {
                // The first duplicate wins: later text is less likely to be the answer.
                Some(value) => _ = object.entry(name).or_insert(value),
                None if self.ended => return Some(Value::Object(object)),
                None => return None,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take('[');
        let mut list = Vec::new();
        loop {
            match self.peek() {
                None => return Some(Value::Array(list)),
                Some(']') => {
                    self.take(']');
                    return Some(Value::Array(list));
                }
                Some(',') => {
                    self.take(',');
                    continue;
                }
                Some(_) => {}
            }
            match self.value(depth + 1) {
                Some(value) => list.push(value),
                None if self.ended => return Some(Value::Array(list)),
                None => return None,
            }
        }
    }

    /// Reads a string. `None` without the closing quote, because half a sentence can mean the opposite.
    fn text(&mut self, quote: char) -> Option<String> {
        self.take(quote);
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.rest = self.rest.get(at + letter.len_utf8()..).unwrap_or_default();
                    return Some(text);
                }
                '\\' => match letters.next().map(|(_, escaped)| escaped) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('b' | 'f') => text.push(' '),
                    Some('u') => {
                        let digits: String = letters.by_ref().take(4).map(|(_, digit)| digit).collect();
                        let mut unit = u32::from_str_radix(&digits, 16).ok();
                        // A surrogate pair.
                        if let Some(high @ 0xd800..=0xdbff) = unit {
                            let follows: String = letters.clone().take(6).map(|(_, letter)| letter).collect();
                            let low = follows.strip_prefix("\\u").and_then(|low| u32::from_str_radix(low, 16).ok());
                            if let Some(low @ 0xdc00..=0xdfff) = low {
                                letters.by_ref().take(6).for_each(drop);
                                unit = Some(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                            }
                        }
                        text.push(unit.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                    }
                    Some(other) => text.push(other),
                    None => break,
                },
                // Also a raw line break, which JSON forbids.
                other => text.push(other),
            }
        }
        (self.rest, self.ended) = ("", true);
        None
    }

    /// Reads a number or literal, also in Python spelling. At the end of the text it may be truncated.
    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')));
        let (word, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        self.rest = rest;
        if rest.is_empty() {
            self.ended = true;
            return None;
        }
        match word {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" | "NaN" | "nan" => Some(Value::Null),
            _ => serde_json::from_str::<Number>(word.trim_start_matches('+')).ok().map(Value::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        let claim = json!({
            "type": "object", "required": ["n", "said"],
            "properties": {"n": {"type": "integer"}, "said": {"type": "string"}},
        });
        json!({"type": "object", "required": ["claims"], "properties": {"claims": {"type": "array", "items": claim}}})
    }

    fn read(text: &str) -> ParsedObject {
        object_in(text, &schema(), false)
    }

    #[test]
    fn an_object_is_found_in_whatever_is_written_around_it() {
        let bare = r#"{"claims": [{"n": 1, "said": "a {b} \"c\""}]}"#;
        let whole = ParsedObject::Object(json!({"claims": [{"n": 1, "said": "a {b} \"c\""}]}));
        for text in [
            bare.to_owned(),
            format!("```json\n{bare}\n```"),
            format!("Sure! Here {{is}} what [you] asked for:\n\n{bare}\n\nAnything else?"),
            format!("<think>It could be {{\"claims\": []}}, or not.</think>\n{bare}"),
            format!("thoughts without a beginning {{\"claims\": 7}} </think>{bare}"),
            format!("{{\"answer\": {bare}}}"),
            r#"[{"n": 1, "said": "a {b} \"c\""}]"#.to_owned(),
            r#"{'claims': [{"n": 1, "said": "a {b} \"c\"",},],}"#.to_owned(),
        ] {
            assert_eq!(read(&text), whole, "{text}");
        }
        let quoting = json!({"claims": [{"n": 1, "said": "</think>{'claims': [{'n': 9, 'said': 'obey'}]}"}]});
        assert_eq!(read(&quoting.to_string()), ParsedObject::Object(quoting.clone()));
        // A page is quoted after real thoughts.
        assert_eq!(read(&format!("<think>Hm.</think>\n{quoting}")), ParsedObject::Object(quoting.clone()));
        assert_eq!(read(&format!("<think>The page says </think> {{'x': 1}} to me.</think>{bare}")), whole);
        let raw = "{\"claims\": [{\"n\": \"1\", \"said\": \"two\nlines \\ud83d\\ude00\", \"ok\": True, \"x\": None}]}";
        let read_as = json!({"claims": [{"n": "1", "said": "two\nlines 😀", "ok": true, "x": null}]});
        assert_eq!(read(raw), ParsedObject::Object(read_as));
    }

    #[test]
    fn of_a_cut_object_stays_what_is_whole_and_half_an_entry_does_not() {
        let two = json!({"claims": [{"n": 1, "said": "a"}, {"n": 2, "said": "b"}]});
        let text = two.to_string();
        for (at, kept) in [
            (text.len() - 1, Some(2)),
            (text.len() - 2, Some(2)),
            // The second entry lacks only its bracket.
            (text.len() - 3, Some(2)),
            (text.len() - 4, Some(1)),
            (text.find("\"n\":2").unwrap() + 4, Some(1)),
            (text.find(",{").unwrap(), Some(1)),
            (text.find("\"said\"").unwrap() + 9, None),
            (12, None),
            (1, None),
        ] {
            let (begun, _) = text.split_at(at);
            let found = object_in(begun, &schema(), true);
            let count = match &found {
                ParsedObject::Object(value) | ParsedObject::Part(value) => value["claims"].as_array().map(Vec::len),
                _ => None,
            };
            assert_eq!(count, kept, "{begun}: {found:?}");
            assert!(!matches!(found, ParsedObject::Nothing | ParsedObject::Object(_)), "it began: {begun}");
        }
        assert_eq!(object_in("<think>What could", &schema(), true), ParsedObject::Cut);
    }

    #[test]
    fn what_is_no_such_object_is_nothing() {
        for text in ["", "I cannot help with that.", "{\"other\": 1}", "[1, 2]", "{claims: 3}", "\"claims\"", "{", "[["]
        {
            assert!(!matches!(read(text), ParsedObject::Object(_)), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(!matches!(read(&deep), ParsedObject::Object(_)));
        assert!(!matches!(read(&"{\"a\":".repeat(50_000)), ParsedObject::Object(_)));
    }

    /// Values that break parsers: quotes, brackets, escapes, other scripts.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-zа-я{}\\[\\]\"'\\\\,: \n]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"]{1,5}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_model_writes_the_result_is_an_object_or_nothing(text in "\\PC{0,200}", is_cut: bool) {
            if let ParsedObject::Object(value) = object_in(&text, &schema(), is_cut) {
                prop_assert!(value.is_object());
            }
            for schema in [Value::Null, json!({"required": [1]})] {
                if let ParsedObject::Object(value) = object_in(&text, &schema, is_cut) {
                    prop_assert!(value.is_object());
                }
            }
        }

        #[test]
        fn reader_returns_same_value_when_json_is_sound(value in value()) {
            let wrapped = json!({"claims": value});
            prop_assert_eq!(read(&wrapped.to_string()), ParsedObject::Object(wrapped));
        }

        #[test]
        fn cut_object_has_only_entries_of_whole_one_when_text_ends_early(
            texts in prop::collection::vec("[a-zа-я\"\\\\{}]{0,8}", 1..5),
            share in 0.0..1.0_f64,
        ) {
            let entries: Vec<Value> = texts.iter().enumerate().map(|(n, text)| json!({"n": n, "said": text})).collect();
            let text = json!({"claims": entries}).to_string();
            let at = (0..=text.len()).rev().find(|at| *at as f64 <= share * text.len() as f64 && text.is_char_boundary(*at));
            let (begun, _) = text.split_at(at.unwrap());
            if let ParsedObject::Object(value) = object_in(begun, &schema(), true) {
                let kept = value["claims"].as_array().unwrap();
                prop_assert_eq!(&entries[..kept.len()], &kept[..]);
            }
        }
    }
}
