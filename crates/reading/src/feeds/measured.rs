//! Compares feeds with the test suites of three libraries: titles, URLs, dates, summaries and contents. The suites are
//! not in the repository: without them the test reports that it skips.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

use super::*;

/// A value that a suite expects.
#[derive(Debug)]
struct Expectation {
    /// `None` is the feed itself.
    entry: Option<usize>,
    field: &'static str,
    value: String,
}

fn text(value: &Value) -> Option<String> {
    let inner = ["content", "value", "body"].iter().find_map(|name| value.get(*name)?.as_str());
    value.as_str().or(inner).map(str::to_owned)
}

/// The page's URL among links in the formats of gofeed (strings, objects) and feed-rs (objects).
fn page_link(links: &Value) -> Option<String> {
    let rel = |link: &Value| link["rel"].as_str().unwrap_or("alternate").to_owned();
    let pages = links.as_array()?.iter().find(|link| link.is_string() || rel(link) == "alternate")?;
    Some(pages.as_str().or_else(|| pages["href"].as_str())?.to_owned())
}

fn of_json(expected: &Value) -> Vec<Expectation> {
    let mut found = Vec::new();
    let mut push = |entry: Option<usize>, field: &'static str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !clipped(value, 1).is_empty()) {
            found.push(Expectation { entry, field, value });
        }
    };
    push(None, "title", expected.get("title").and_then(text));
    let entries = expected.get("entries").or_else(|| expected.get("items")).and_then(Value::as_array);
    for (at, entry) in entries.into_iter().flatten().enumerate() {
        let first = |names: &[&str]| names.iter().find_map(|name| entry.get(*name).filter(|value| !value.is_null()));
        push(Some(at), "title", first(&["title"]).and_then(text));
        push(Some(at), "link", first(&["link"]).and_then(text).or_else(|| page_link(first(&["links"])?)));
        let dates = ["publishedParsed", "pubDateParsed", "published", "updatedParsed", "updated"];
        push(Some(at), "date", first(&dates).and_then(text));
        push(Some(at), "summary", first(&["summary", "description"]).and_then(text));
        push(Some(at), "content", first(&["content"]).and_then(text));
    }
    found
}

fn unescaped(source: &str) -> String {
    let mut out = String::new();
    let mut rest = source.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let escape = rest.next().unwrap_or('\\');
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code: String = rest.by_ref().take(digits).collect();
        match (escape, u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)) {
            ('n', _) => out.push('\n'),
            ('t', _) => out.push('\t'),
            ('r', _) => out.push('\r'),
            (_, Some(character)) => out.push(character),
            (other, None) => out.push(other),
        }
    }
    out
}

/// Parses one assertion of feedparser: `entries[0]['title'] == 'x'`, `feed.title == u'x'`, `…_parsed == (2003, …)`.
fn of_assertion(file: &str) -> Vec<Expectation> {
    let shape = Regex::new(
        r#"(?x) (feed|entries\[0\]) (?:\.|\[u?['"]) (title|link|summary|description|content|published_parsed|updated_parsed)
           (?:_detail)? (?:['"]\])? (?:\[0\])? (?:\.value|\[u?['"]value['"]\])? \s*==\s*
           (?: u?'((?:[^'\\]|\\.)*)' | u?"((?:[^"\\]|\\.)*)" | \(([\d,\s]+)\) ) \s* (?:and\b.*)? $"#,
    )
    .unwrap();
    let Some(line) = file.lines().find_map(|line| line.split_once("Expect:")) else { return Vec::new() };
    let Some(found) = shape.captures(line.1.trim()) else { return Vec::new() };
    let of_feed = &found[1] == "feed";
    let field = match &found[2] {
        "published_parsed" => "date",
        // If both dates exist, the publication date is kept.
        "updated_parsed" if !Regex::new("(?i)pubDate|published|issued").unwrap().is_match(file) => "date",
        "title" => "title",
        "link" => "link",
        "description" | "summary" => "summary",
        "content" => "content",
        _ => return Vec::new(),
    };
    if of_feed && field != "title" {
        return Vec::new();
    }
    let string = found.get(3).or_else(|| found.get(4)).map(|value| unescaped(value.as_str()));
    let value = string.unwrap_or_else(|| {
        let parts: Vec<u32> = found[5].split(',').filter_map(|part| part.trim().parse().ok()).collect();
        format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
    });
    // An invisible value cannot be compared.
    if clipped(&value, 1).is_empty() {
        return Vec::new();
    }
    vec![Expectation { entry: (!of_feed).then_some(0), field, value }]
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

fn expectations(file: &Path, bytes: &[u8]) -> Vec<Expectation> {
    let expected_file =
        ["serde.json", "json"].map(|end| file.with_extension(end)).into_iter().find(|path| path.exists());
    match expected_file.filter(|path| path != file) {
        Some(path) => {
            serde_json::from_slice(&std::fs::read(path).unwrap()).map(|json| of_json(&json)).unwrap_or_default()
        }
        None => of_assertion(&super::super::decode_for(bytes, None, None).0),
    }
}

/// Compares the visible text, without markup and white space.
fn met(read: &ParsedFeed, expected: &Expectation, base: &Url) -> bool {
    let same = |own: Option<&str>| {
        let (own, other) = (clipped(own.unwrap_or_default(), usize::MAX), clipped(&expected.value, usize::MAX));
        own == other
    };
    let Some(at) = expected.entry else { return same(read.title.as_deref()) };
    let Some(item) = read.items.get(at) else { return false };
    match expected.field {
        "title" => same(item.title.as_deref()),
        "summary" => same(item.summary.as_deref()),
        "content" => same(item.content.as_deref()),
        "date" => {
            item.date.is_some() && item.date == crate::parse_date(&expected.value).or_else(|| date(&expected.value))
        }
        _ => {
            let address = |text: &str| base.join(text.trim()).ok();
            item.link.as_deref().and_then(address) == address(&expected.value)
        }
    }
}

#[test]
fn expectations_of_public_suites() {
    let Some(folder) = corroborate_labelled::at("feeds") else { return };
    let base = Url::parse("http://127.0.0.1:8097/feed.xml").unwrap();
    for archive in ["feedparser_tests.tar.gz", "gofeed_testdata.tar.gz", "feed-rs_fixtures.tar.gz"] {
        let unpacked = crate::measured::unpack_all(&folder.join(archive));
        let mut paths = Vec::new();
        files(unpacked.path(), &mut paths);
        paths.sort();
        let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for path in paths.iter().filter(|path| !path.to_string_lossy().ends_with("serde.json")) {
            let bytes = std::fs::read(path).unwrap();
            let expected = expectations(path, &bytes);
            if expected.is_empty() {
                continue;
            }
            let read = text_of(&bytes, None, &base).and_then(|text| read_items(&text, &base)).unwrap_or_default();
            for one in expected {
                let good = met(&read, &one, &base);
                let counts = tally.entry(one.field).or_default();
                counts.0 += usize::from(good);
                counts.1 += 1;
                if !good {
                    let item = one.entry.and_then(|at| read.items.get(at));
                    let name = path.strip_prefix(unpacked.path()).unwrap_or(path).display();
                    println!("missed {name}: {one:?}; read {item:?} of {:?}", read.title);
                }
            }
        }
        let (good, all) = tally.values().fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        println!("{archive}: {good} of {all} expectations, {:.4}; {tally:?}", good as f64 / all as f64);
        assert!(good * 100 >= all * 95, "{archive}: {good} of {all}");
    }
}
