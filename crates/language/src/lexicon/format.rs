//! The format of a lexicon file: a header, then an entry per line with tab-separated columns `form`, `kind`, `role`,
//! `note` and optionally `value`.
//!
//! The build script uses this module, so an invalid row stops the build with file and line.

/// Kinds of entries as written in a file.
pub(crate) const KINDS: [&str; 7] = ["word", "prefix", "phrase", "lemma", "suffix", "written", "part"];

const HEADER: [&str; 5] = ["form", "kind", "role", "note", "value"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) form: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) role: &'a str,
    pub(crate) value: &'a str,
}

/// Returns the entries, or number and error of the first invalid line.
pub(crate) fn lines(text: &str) -> Result<Vec<Line<'_>>, (usize, String)> {
    let mut all = text.lines().enumerate();
    let header: Vec<&str> = all.next().map(|(_, line)| line.split('\t').collect()).unwrap_or_default();
    if header != HEADER && Some(header.as_slice()) != HEADER.get(..4) {
        return Err((1, format!("the header must be {}, the last of them where there are values", HEADER.join(" "))));
    }
    all.map(|(at, line)| entry(line, header.len()).map_err(|why| (at + 1, why))).collect()
}

fn entry(line: &str, columns: usize) -> Result<Line<'_>, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let (form, kind, role, value) = match cells.as_slice() {
        [form, kind, role, _note] if columns == 4 => (*form, *kind, *role, ""),
        [form, kind, role, _note, value] if columns == 5 => (*form, *kind, *role, *value),
        _ => return Err(format!("{} columns, and the header has {columns}", cells.len())),
    };
    if form.is_empty() || form.trim() != form {
        return Err(format!("no form, or one with space around it: {form:?}"));
    }
    if !KINDS.contains(&kind) {
        return Err(format!("{kind:?} is no kind; kinds are {}", KINDS.join(", ")));
    }
    if kind != "phrase" && kind != "written" && form.contains(' ') {
        return Err(format!("{form:?} has several words and is a phrase"));
    }
    let plain = |character: char| character.is_ascii_lowercase() || character == '_';
    if role.split('.').count() < 2 || !role.split('.').all(|part| !part.is_empty() && part.chars().all(plain)) {
        return Err(format!("{role:?} is no role: two names or more in small letters, with dots between"));
    }
    Ok(Line { form, kind, role, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "form\tkind\trole\tnote";

    #[test]
    fn a_line_is_an_entry() {
        let text = format!("{HEAD}\nnot\tword\tnegation.denying\t\nno proof*\tphrase\tnegation.denying\twhy");
        let read = lines(&text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[1], Line { form: "no proof*", kind: "phrase", role: "negation.denying", value: "" });
        let text = format!("{HEAD}\tvalue\nmay\tword\tdates.month\t\t5");
        assert_eq!(lines(&text).unwrap()[0].value, "5");
    }

    #[test]
    fn error_names_the_line_when_a_row_is_invalid() {
        for (row, why) in [
            ("not\tword\tnegation.denying", "3 columns"),
            ("not\tword\tnegation.denying\t\t5", "5 columns"),
            ("\tword\tnegation.denying\t", "no form"),
            ("not \tword\tnegation.denying\t", "space around it"),
            ("not\tbeginning\tnegation.denying\t", "is no kind"),
            ("not yet\tword\tnegation.denying\t", "is a phrase"),
            ("not\tword\tnegation\t", "is no role"),
            ("not\tword\tNegation.denying\t", "is no role"),
        ] {
            let (line, message) = lines(&format!("{HEAD}\nnot\tword\tnegation.denying\t\n{row}")).unwrap_err();
            assert_eq!(line, 3, "{row}");
            assert!(message.contains(why), "{row}: {message}");
        }
        assert_eq!(lines("word\tkind").unwrap_err().0, 1);
    }
}
