//! Statements name the columns they read.

use regex::Regex;

use super::{files, is_rust, read, report};

/// Rows of functions that take their own column lists; a migration cannot change them.
const FIXED: [&str; 3] = ["unnest(", "jsonb_to_recordset(", "jsonb_array_elements("];

/// The server refuses a prepared statement whose columns change under it ("cached plan must not change result type"). A
/// migration that adds a column does that to `SELECT *` in every running process, for every item at once.
#[test]
fn prepared_statements_name_their_columns() {
    let star = Regex::new(r"(?is)\bSELECT\s+(?:\w+\.)?\*\s+FROM\s+(\w+\(?)|\bSELECT\s[^;]{0,400}?,\s*\w+\.\*").unwrap();
    let mut offences = Vec::new();
    for path in files("src/store", is_rust) {
        let text = read(&path);
        // Tests of the reader of foreign queries hold queries of all kinds.
        let program = text.split("#[cfg(test)]").next().unwrap_or_default();
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
