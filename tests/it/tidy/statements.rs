//! Statements name the columns they read.

use regex::Regex;

use super::{files, is_rust, read, report};

/// Rows of functions that take their own column lists; a migration cannot change them.
const FIXED: [&str; 3] = ["unnest(", "jsonb_to_recordset(", "jsonb_array_elements("];

/// All columns of a table, alone or among others. The group is the table of a plain `SELECT * FROM`.
const STAR: &str = r"(?isx)
    \bSELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*\s+FROM\s+(\w+\(?)
    | \bSELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*\s*,
    | \bRETURNING\s+(?:\w+\.)?\*
    | \b(?:SELECT|RETURNING)\s[^;]{0,400}?,\s*(?:\w+\.\*|\*\s*(?:,|FROM\b))";

/// The start of a module of tests; a single item that only tests use does not end the program.
const TESTS: &str = r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))?\s+)?mod\s+\w+\s*\{";

#[test]
fn star_is_found_in_any_place_of_a_column_list() {
    let star = Regex::new(STAR).unwrap();
    for found in ["SELECT * FROM t", "SELECT *, a FROM t", "SELECT a, t.* FROM t", "SELECT a, * FROM t", "RETURNING *"]
    {
        assert!(star.is_match(found), "{found}");
    }
    for allowed in ["SELECT count(*), a FROM t", "SELECT a, count(*) FROM t", "SELECT a, 2 * b FROM t", "RETURNING a"] {
        assert!(!star.is_match(allowed), "{allowed}");
    }
}

/// The server refuses a prepared statement whose columns change under it ("cached plan must not change result type"). A
/// migration that adds a column does that to `SELECT *` in every running process, for every item at once.
#[test]
fn prepared_statements_name_their_columns() {
    let star = Regex::new(STAR).unwrap();
    let tests = Regex::new(TESTS).unwrap();
    let mut offences = Vec::new();
    for path in files("src/store", is_rust) {
        let text = read(&path);
        // Tests of the reader of foreign queries hold queries of all kinds.
        let program = tests.split(&text).next().unwrap_or_default();
        for found in star.captures_iter(program) {
            let from = found.get(1).map_or("", |table| table.as_str()).to_lowercase();
            if !FIXED.contains(&from.as_str()) {
                let shown: String =
                    found[0].split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect();
                offences.push(format!("{}: {shown}", path.display()));
            }
        }
    }
    report("a statement reads all columns of a table; name those it needs", &offences);
}
