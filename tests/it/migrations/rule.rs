//! The rule of `docs/operate.md`, Upgrade, read off the migrations themselves: a program of the version before goes on upon
//! the schema of this one. What it uses is not taken away, renamed or narrowed, unless the same migration raises
//! `oldest_program`, which keeps older programs out.
//!
//! It reads statements, not their effect: what a function's body does, or data that an `UPDATE` changes, is for a person to
//! judge and for `tests/bench upgrade` to try.

use std::collections::BTreeSet;
use std::path::Path;

/// The first migration is the whole schema of the first release: no program was before it.
const FIRST_BOUND: u32 = 2;

/// A statement as words in capitals, without comments and texts. Bodies of functions are left out, those of `DO` are not: they
/// run at once.
fn statements(sql: &str) -> Vec<Vec<String>> {
    let mut plain = String::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, behind)| behind);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
        } else if let Some(text) = rest.strip_prefix('\'') {
            // A doubled quote begins another text right behind this one, which is as good.
            rest = text.split_once('\'').map_or("", |(_, behind)| behind);
            plain.push_str(" TEXT ");
        } else if let Some((body, behind)) = dollar_quoted(rest) {
            let is_run = plain.rsplit(';').next().unwrap_or_default().split_whitespace().next() == Some("DO");
            // Its statements count one by one.
            if is_run {
                plain.extend([";", &body.replace("BEGIN", ";"), ";"]);
            } else {
                plain.push_str(" BODY ");
            }
            rest = behind;
        } else {
            plain.extend(first.to_uppercase());
            rest = rest.strip_prefix(first).unwrap_or_default();
        }
    }
    let words = |statement: &str| {
        let spaced = statement.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
        spaced.split_whitespace().map(str::to_uppercase).collect::<Vec<_>>()
    };
    plain.split(';').map(words).filter(|words| !words.is_empty()).collect()
}

/// `$tag$body$tag$` at the beginning of a text: the body, and what is behind.
fn dollar_quoted(text: &str) -> Option<(&str, &str)> {
    let (name, inner) = text.strip_prefix('$')?.split_once('$')?;
    let is_a_tag = name.chars().all(|character| character.is_alphanumeric() || character == '_');
    inner.split_once(&format!("${name}$")).filter(|_| is_a_tag)
}

/// Whether these words stand in a statement, one behind the other.
fn has(statement: &[String], words: &str) -> bool {
    let words: Vec<&str> = words.split(' ').collect();
    statement.windows(words.len()).any(|window| window.iter().zip(&words).all(|(have, want)| have == want))
}

/// The word behind a statement's first words, with `IF [NOT] EXISTS` and the like passed over.
fn name_behind<'a>(statement: &'a [String], words: &str) -> Option<&'a str> {
    let words: Vec<&str> = words.split(' ').collect();
    let begins = statement.iter().zip(&words).all(|(have, want)| have == want) && statement.len() > words.len();
    let passed = ["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY"];
    let mut behind = statement.iter().skip(words.len()).filter(|word| !passed.contains(&word.as_str()));
    behind.next().filter(|_| begins).map(String::as_str)
}

fn first_name<'a>(statement: &'a [String], beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| name_behind(statement, beginning))
}

/// The parts of an `ALTER TABLE`, which commas outside of brackets divide.
fn parts(statement: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    statement
        .split(|word| {
            match word.as_str() {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            word == "," && depth == 0
        })
        .collect()
}

/// Why a program of the version before could not live with one part of an `ALTER TABLE`.
fn narrows(part: &[String]) -> Option<&'static str> {
    let drops_column = has(part, "DROP COLUMN")
        || (has(part, "DROP")
            && !has(part, "DROP NOT NULL")
            && !has(part, "DROP CONSTRAINT")
            && !has(part, "DROP DEFAULT"));
    let is_a_check = part.iter().any(|word| word.ends_with("_CHECK"));
    let adds_column = has(part, "ADD COLUMN");
    let is_filled = has(part, "DEFAULT") || has(part, "GENERATED");
    let constrains = ["ADD CONSTRAINT", "ADD CHECK", "ADD UNIQUE", "ADD PRIMARY", "ADD FOREIGN", "ADD EXCLUDE"];
    let reasons = [
        (has(part, "RENAME"), "something is renamed"),
        (has(part, "SET SCHEMA"), "something is moved"),
        (drops_column, "a column is dropped"),
        (has(part, "DROP DEFAULT"), "a default is dropped, which an insert may rely on"),
        (has(part, "DROP CONSTRAINT") && !is_a_check, "a key is dropped, which an upsert may name"),
        (!adds_column && has(part, "TYPE"), "a type is changed"),
        (has(part, "SET NOT NULL"), "a column must have a value from now on"),
        (adds_column && has(part, "NOT NULL") && !is_filled, "a new column must have a value and has no default"),
        (adds_column && has(part, "UNIQUE"), "a new column must be unique"),
        (constrains.iter().any(|words| has(part, words)), "rows are refused that were accepted"),
    ];
    reasons.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}

/// What of a migration an earlier program cannot live with.
fn offences(sql: &str) -> Vec<String> {
    let statements = statements(sql);
    let created: BTreeSet<&str> = statements
        .iter()
        .filter_map(|words| first_name(words, &["CREATE TABLE", "CREATE UNLOGGED TABLE", "CREATE TYPE"]))
        .collect();
    // Made anew in the same migration, which is one transaction.
    let remade: BTreeSet<&str> = statements
        .iter()
        .filter_map(|words| {
            let made = ["CREATE TRIGGER", "CREATE OR REPLACE TRIGGER", "CREATE INDEX", "CREATE CONSTRAINT TRIGGER"];
            let functions = ["CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"];
            first_name(words, &made).or_else(|| first_name(words, &functions))
        })
        .collect();
    let mut found = Vec::new();
    for words in &statements {
        let shown = words.iter().take(12).cloned().collect::<Vec<_>>().join(" ");
        let mut offends = |why: &str| found.push(format!("{why}: {shown}"));
        if let Some(table) = name_behind(words, "ALTER TABLE") {
            if !created.contains(table) {
                parts(words).into_iter().filter_map(narrows).for_each(&mut offends);
            }
        } else if words[0] == "DROP" {
            let again = first_name(words, &["DROP TRIGGER", "DROP INDEX"]).is_some_and(|name| remade.contains(name));
            if !again {
                offends("something is dropped");
            }
        } else if words[0] == "ALTER" && !has(words, "ADD VALUE") && !has(words, "OWNER TO") {
            let own = name_behind(words, "ALTER FUNCTION").is_some_and(|name| remade.contains(name));
            if !own {
                offends("something is altered");
            }
        } else if words[0] == "TRUNCATE" {
            offends("rows are thrown away");
        } else if name_behind(words, "CREATE UNIQUE INDEX").is_some() {
            let table = words.iter().skip_while(|word| *word != "ON").nth(1).map(String::as_str);
            if !table.is_some_and(|table| created.contains(table)) {
                offends("rows are refused that were accepted");
            }
        }
    }
    found
}

/// The floor that a migration raises, where it does.
fn floor(sql: &str) -> Option<u32> {
    let line = sql
        .lines()
        .find(|line| line.trim_start().starts_with("UPDATE store_settings") && line.contains("'oldest_program'"))?;
    let value = line.split("value = '").nth(1)?.split('\'').next()?;
    value.parse().ok()
}

#[test]
fn every_migration_leaves_what_the_version_before_uses_or_keeps_that_version_out() {
    let mut read = 0;
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let number: u32 = name.split('_').next().unwrap().parse().unwrap();
        let sql = std::fs::read_to_string(&path).unwrap();
        read += 1;
        if let Some(floor) = floor(&sql) {
            // Else this version and the one before it could not run side by side.
            assert!(floor < number, "{name} raises the floor to {floor}: the version before has to stay above it");
        } else if number >= FIRST_BOUND {
            let found = offences(&sql);
            assert!(
                found.is_empty(),
                "{name}: {}. Add what is new, and remove what is old a release later, with a line \
                 UPDATE store_settings SET value = '<last migration of the oldest program that can live with it>' \
                 WHERE key = 'oldest_program';",
                found.join("; ")
            );
        }
    }
    assert!(read > 0, "no migration was read");
}

#[test]
fn what_takes_away_renames_or_narrows_is_found() {
    for sql in [
        "DROP TABLE items;",
        "ALTER TABLE items DROP COLUMN text;",
        "ALTER TABLE items DROP text;",
        "alter table items rename column text to body;",
        "ALTER TABLE items ALTER COLUMN text TYPE varchar(100);",
        "ALTER TABLE items ALTER COLUMN url SET NOT NULL;",
        "ALTER TABLE items ADD COLUMN a text, ADD COLUMN b text NOT NULL;",
        "ALTER TABLE items ALTER COLUMN degraded DROP DEFAULT;",
        "ALTER TABLE items ADD CONSTRAINT short CHECK (length(text) < 10);",
        "ALTER TABLE answers DROP CONSTRAINT answers_pkey;",
        "CREATE UNIQUE INDEX one_url ON items (url);",
        "DROP FUNCTION commit_item; CREATE FUNCTION commit_item(a jsonb) RETURNS void LANGUAGE sql AS $$ SELECT $$;",
        "DROP TRIGGER guard ON items;",
        "ALTER TYPE fact_check_tier RENAME VALUE 'low' TO 'none';",
        "TRUNCATE answers;",
        "DO $$ BEGIN ALTER TABLE items DROP COLUMN text; END $$;",
        "-- DROP is in a comment\n/* and here */ DROP VIEW a;",
    ] {
        assert_eq!(offences(sql).len(), 1, "{sql}: {:?}", offences(sql));
    }
}

#[test]
fn what_adds_or_widens_is_not() {
    for sql in [
        "CREATE TABLE a (b text NOT NULL, c integer UNIQUE); CREATE UNIQUE INDEX d ON a (b); ALTER TABLE a ADD CHECK (b <> '');",
        "ALTER TABLE items ADD COLUMN a text, ADD COLUMN IF NOT EXISTS b numeric(10, 2) NOT NULL DEFAULT 0;",
        "ALTER TABLE items ADD COLUMN a text NOT NULL GENERATED ALWAYS AS (lower(text)) STORED;",
        "ALTER TABLE items ALTER COLUMN text DROP NOT NULL, DROP CONSTRAINT items_status_check;",
        "ALTER TYPE fact_check_tier ADD VALUE 'none';",
        "DROP TRIGGER IF EXISTS guard ON items; CREATE TRIGGER guard BEFORE UPDATE ON items EXECUTE FUNCTION f();",
        "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $body$ BEGIN DROP TABLE a; END $body$;",
        "INSERT INTO a VALUES ('DROP TABLE it''s; a text'); -- DROP TABLE a;",
        "CREATE INDEX a ON items (url);",
    ] {
        assert_eq!(offences(sql), Vec::<String>::new(), "{sql}");
    }
}

#[test]
fn a_migration_that_keeps_older_programs_out_says_which_stay() {
    let raises =
        "ALTER TABLE items DROP COLUMN text;\nUPDATE store_settings SET value = '24' WHERE key = 'oldest_program';";
    assert_eq!(floor(raises), Some(24));
    assert_eq!(
        floor("INSERT INTO store_settings (key, value) VALUES ('oldest_program', '8') ON CONFLICT DO NOTHING;"),
        None
    );
}
