//! A Rust file as tokens: enough of the grammar to see paths, macro calls, attributes and functions.

/// An identifier, number or single punctuation character, with its line (from 1). Strings and comments are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

/// The tokens of a file.
#[derive(Debug)]
pub(super) struct Source {
    tokens: Vec<Token>,
}

impl Source {
    pub(super) fn read(text: &str) -> Self {
        Self { tokens: Lexer { rest: text, line: 1, tokens: Vec::new() }.run() }
    }

    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn matches(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(offset, word)| self.text(at + offset) == *word)
    }

    /// The position behind the bracket that closes the one at `open`.
    fn behind(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, token) in self.tokens[open..].iter().enumerate() {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return open + offset + 1;
            }
        }
        self.tokens.len()
    }

    /// Without the items under `#[cfg(test)]` or `#[test]`.
    pub(super) fn without_tests(self) -> Self {
        let mut kept = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let is_test = self.matches(at, &["#", "[", "cfg", "(", "test", ")", "]"])
                || self.matches(at, &["#", "[", "test", "]"]);
            if !is_test {
                kept.push(self.tokens[at].clone());
                at += 1;
                continue;
            }
            // The item ends with its first block or, without one, with its semicolon.
            while at < self.tokens.len() && !matches!(self.text(at), "{" | ";") {
                at = if matches!(self.text(at), "(" | "[") { self.behind(at) } else { at + 1 };
            }
            at = if self.text(at) == "{" { self.behind(at) } else { at + 1 };
        }
        Self { tokens: kept }
    }

    /// First parts of paths that begin at the crate's root, by the name the crate has here: `crate::a::b`,
    /// `crate::{a, b::c}`; in the binary `corroborate::a`.
    pub(super) fn crate_paths(&self, name: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            if !self.matches(at, &[name, ":", ":"]) || self.is_inner_part(at) {
                continue;
            }
            let next = at + 3;
            if self.text(next) != "{" {
                found.push((self.tokens[at].line, self.text(next).to_owned()));
                continue;
            }
            // Inside the group a part begins behind the bracket and behind each comma of the same depth.
            let end = self.behind(next) - 1;
            let mut position = next + 1;
            while position < end {
                found.push((self.tokens[position].line, self.text(position).to_owned()));
                while position < end && self.text(position) != "," {
                    position = if self.text(position) == "{" { self.behind(position) } else { position + 1 };
                }
                position += 1;
            }
        }
        found
    }

    /// Lines where a path begins with this crate's name. A file that imports something of that name from elsewhere, as
    /// in `use crate::telemetry::metrics`, means that.
    pub(super) fn uses_of(&self, library: &str) -> Vec<usize> {
        let imports = |at: &usize| {
            let ends =
                matches!(self.text(at + 1), ";" | "," | "}" | "as") || self.matches(at + 1, &[":", ":", "{", "self"]);
            self.text(*at) == library && ends && (self.is_inner_part(*at) || self.is_in_group(*at))
        };
        if (0..self.tokens.len()).any(|at| imports(&at)) {
            return Vec::new();
        }
        let is_use = |at: &usize| {
            let imported = *at > 0 && self.text(at - 1) == "use" && matches!(self.text(at + 1), ";" | "as");
            let path = self.matches(at + 1, &[":", ":"]) && !self.is_inner_part(*at);
            self.text(*at) == library && (imported || path)
        };
        (0..self.tokens.len()).filter(is_use).map(|at| self.tokens[at].line).collect()
    }

    /// Whether the name is a part of `use a::{…}`: the bracket that holds it follows `::`.
    fn is_in_group(&self, at: usize) -> bool {
        let mut depth = 0_usize;
        for position in (0..at).rev() {
            match self.text(position) {
                "}" => depth += 1,
                "{" if depth > 0 => depth -= 1,
                "{" => return position >= 2 && self.matches(position - 2, &[":", ":"]),
                ";" => return false,
                _ => {}
            }
        }
        false
    }

    /// Files that exist for tests alone: names of `#[cfg(test)] mod name;`.
    pub(super) fn test_modules(&self) -> Vec<String> {
        let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            if !self.matches(at, &attribute) {
                continue;
            }
            let mut module = at + attribute.len();
            while matches!(self.text(module), "pub" | "(") {
                module = if self.text(module) == "(" { self.behind(module) } else { module + 1 };
            }
            if self.text(module) == "mod" && self.text(module + 2) == ";" {
                found.push(self.text(module + 1).to_owned());
            }
        }
        found
    }

    /// Whether the name belongs to a path that began before it. `::name` begins a path, and so does the type behind the
    /// single colon of `value: name::Type`.
    fn is_inner_part(&self, at: usize) -> bool {
        if at < 3 || !self.matches(at - 2, &[":", ":"]) {
            return false;
        }
        let before = self.text(at - 3);
        before != "use" && (before == ">" || before.starts_with(|first: char| first.is_alphanumeric() || first == '_'))
    }

    /// Lines where this path stands.
    pub(super) fn paths(&self, parts: &[&str]) -> Vec<usize> {
        let mut words = Vec::new();
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                words.extend([":", ":"]);
            }
            words.push(*part);
        }
        let hits = (0..self.tokens.len()).filter(|at| self.matches(*at, &words));
        // `std::{env, …}` is the same path.
        let grouped = (0..self.tokens.len()).filter(|at| {
            parts.len() == 2 && self.matches(*at, &[parts[0], ":", ":", "{"]) && {
                let group = *at + 3..self.behind(*at + 3);
                self.tokens[group].iter().any(|token| token.text == parts[1])
            }
        });
        hits.chain(grouped).map(|at| self.tokens[at].line).collect()
    }

    /// Lines where a macro of this name is called, by whatever path.
    pub(super) fn macro_calls(&self, name: &str) -> Vec<usize> {
        let is_call = |at: &usize| {
            self.text(*at) == name && self.text(at + 1) == "!" && matches!(self.text(at + 2), "(" | "[" | "{")
        };
        (0..self.tokens.len()).filter(is_call).map(|at| self.tokens[at].line).collect()
    }

    /// Lines of attributes that use this word as a list, `#[allow(…)]` and `#![cfg_attr(…, allow(…))]` alike.
    pub(super) fn attributes(&self, name: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        for at in 0..self.tokens.len() {
            let open = if self.matches(at, &["#", "!", "["]) { at + 2 } else { at + 1 };
            if self.text(at) != "#" || self.text(open) != "[" {
                continue;
            }
            let hits = (open..self.behind(open)).filter(|at| self.matches(*at, &[name, "("]));
            lines.extend(hits.map(|at| self.tokens[at].line));
        }
        lines
    }

    /// Functions with bodies: line, name and length in lines, signature included.
    pub(super) fn functions(&self) -> Vec<(usize, String, usize)> {
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            let name = self.text(at + 1);
            if self.text(at) != "fn" || !name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
                continue;
            }
            let mut body = at + 2;
            while body < self.tokens.len() && !matches!(self.text(body), "{" | ";") {
                body = if matches!(self.text(body), "(" | "[") { self.behind(body) } else { body + 1 };
            }
            if self.text(body) == "{" {
                let last = self.tokens[self.behind(body) - 1].line;
                found.push((self.tokens[at].line, name.to_owned(), last - self.tokens[at].line + 1));
            }
        }
        found
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(mut self) -> Vec<Token> {
        while let Some(first) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.skip_block_comment();
            } else if let Some(hashes) = self.raw_string() {
                let close = format!("\"{}", "#".repeat(hashes));
                let open = self.rest.find('"').unwrap_or(0) + 1;
                let body = self.rest.split_at(open).1;
                self.skip(open + body.find(&close).map_or(body.len(), |end| end + close.len()));
            } else if first == '"' {
                self.skip_quoted('"');
            } else if first == '\'' {
                self.skip_character_or_lifetime();
            } else if first.is_alphanumeric() || first == '_' {
                let end = self.rest.find(|character: char| !character.is_alphanumeric() && character != '_');
                let end = end.unwrap_or(self.rest.len());
                let (word, after) = self.rest.split_at(end);
                // The prefix of b"…" and c"…" is part of the string.
                if !(matches!(word, "b" | "c") && after.starts_with(['"', '\''])) {
                    self.tokens.push(Token { text: word.to_owned(), line: self.line });
                }
                self.skip(end);
            } else {
                if !first.is_whitespace() {
                    self.tokens.push(Token { text: first.to_string(), line: self.line });
                }
                self.skip(first.len_utf8());
            }
        }
        self.tokens
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else if let Some(character) = self.rest.chars().next() {
                self.skip(character.len_utf8());
            } else {
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// How many hashes the raw string that begins here has; none when none begins.
    fn raw_string(&self) -> Option<usize> {
        let prefixed = ["br", "cr", "r"].into_iter().find_map(|prefix| self.rest.strip_prefix(prefix))?;
        let after = prefixed.trim_start_matches('#');
        after.starts_with('"').then(|| prefixed.len() - after.len())
    }

    fn skip_quoted(&mut self, quote: char) {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, character)| {
            let closes = !escaped && *character == quote;
            escaped = !escaped && *character == '\\';
            closes
        });
        self.skip(end.map_or(self.rest.len(), |(at, _)| at + 1));
    }

    fn skip_character_or_lifetime(&mut self) {
        let mut characters = self.rest.chars().skip(1);
        let (first, second) = (characters.next(), characters.next());
        if first == Some('\\') || second == Some('\'') {
            self.skip_quoted('\'');
        } else {
            self.skip(1);
        }
    }
}

#[test]
fn comments_and_strings_are_not_code() {
    let text = "// use sqlx::a;\n/* sqlx::b /* nested */ sqlx::c */ let a = \"sqlx::d \\\" sqlx::e\";\nlet b = r#\"sqlx::f \"\"#; let c = '\"'; let d = b\"sqlx::g\"; fn f<'a>(x: &'a str) { sqlx::h(x) }";
    assert_eq!(Source::read(text).uses_of("sqlx"), vec![3]);
}

#[test]
fn uses_of_a_library_are_told_from_modules_of_that_name() {
    for text in [
        "use sqlx;",
        "use sqlx::Row;",
        "use {a::b, sqlx::Row};",
        "fn f() -> sqlx::Result {}",
        "let a: sqlx::Row = b;",
        "use ::sqlx::Row;",
    ] {
        assert_eq!(Source::read(text).uses_of("sqlx").len(), 1, "{text}");
    }
    let others = [
        "use crate::store::sqlx::Row;",
        "mod sqlx;",
        "let sqlx = 1;",
        "use self::sqlx::Row;",
        "use crate::telemetry::sqlx; fn f() { sqlx::count() }",
        "use crate::telemetry::{other, sqlx}; fn f() { sqlx::count() }",
    ];
    for text in others {
        assert_eq!(Source::read(text).uses_of("sqlx"), Vec::<usize>::new(), "{text}");
    }
}

#[test]
fn every_way_to_name_a_room_is_seen() {
    let text = "use crate::{store::{self, a::B}, domain::c, cache};\npub(crate) use crate::http::x; fn f() { crate::worker::run(); corroborate::go() }";
    let rooms: Vec<String> = Source::read(text).crate_paths("crate").into_iter().map(|(_, room)| room).collect();
    assert_eq!(rooms, ["store", "domain", "cache", "http", "worker"]);
    assert_eq!(Source::read("corroborate::cli::go()").crate_paths("corroborate"), vec![(1, "cli".to_owned())]);
    assert_eq!(Source::read("use std::{fs, env};\nstd::env::var(1)").paths(&["std", "env"]).len(), 2);
}

#[test]
fn tests_are_left_out_and_what_follows_them_is_not() {
    let text = "use a::b;\n#[cfg(test)]\nmod tests { use sqlx::x; fn f() { if a { b } } }\n#[cfg(test)]\nmod more;\nuse sqlx::y;";
    assert_eq!(Source::read(text).without_tests().uses_of("sqlx"), vec![6]);
}

#[test]
fn files_for_tests_alone_are_known() {
    let text = "mod a;\n#[cfg(test)]\nmod b;\n#[cfg(test)]\npub(crate) mod c;\n#[cfg(test)]\nmod tests { mod d; }";
    assert_eq!(Source::read(text).test_modules(), ["b", "c"]);
}

#[test]
fn functions_are_measured_from_signature_to_bracket() {
    let text = "trait T { fn declared(&self); }\nasync fn one(\n    a: [u8; 3],\n) -> Fn(u8) {\n    if a { b }\n}\nfn two() {}\n";
    let functions = Source::read(text).functions();
    assert_eq!(functions, vec![(2, "one".to_owned(), 5), (7, "two".to_owned(), 1)]);
}

#[test]
fn an_allow_is_found_wherever_it_hides() {
    let text =
        "#![allow(dead_code)]\n#[cfg_attr(test, allow(x))]\n#[derive(Debug)] struct A;\nfn allow(a: u8) { allow(1) }";
    assert_eq!(Source::read(text).attributes("allow"), vec![1, 2]);
}
