//! Shows a domain in its own script, or a location in an operator's document.

use std::borrow::Cow;

use super::{ReaderLanguage, asked, words};

const SEED_MARK: &str = "#seed-fact";

/// Quotes text; inner quotation marks change form.
pub fn quoted(words: &str, reader: ReaderLanguage) -> String {
    match reader {
        ReaderLanguage::Russian | ReaderLanguage::Ukrainian => {
            format!("«{}»", words.replace('«', "„").replace('»', "“"))
        }
        ReaderLanguage::English | ReaderLanguage::Portuguese => format!("“{words}”"),
    }
}

/// Decodes an internationalised domain (`xn--…`) if it cannot imitate another: one script per label, and Latin-looking
/// labels only under their script's top-level domain. `corpus:gazette`, an operator's collection, gets its kind.
pub fn domain(name: &str, reader: ReaderLanguage) -> Cow<'_, str> {
    if let Some((kind, own)) = name.split_once(':').filter(|(kind, _)| matches!(*kind, "corpus" | "api" | "database")) {
        return Cow::Owned(format!("{own} ({})", asked(kind, reader)));
    }
    in_its_letters(name)
}

/// A decoded domain, or a document with lines.
pub fn place(address: &str, reader: ReaderLanguage) -> Cow<'_, str> {
    let Some((scheme, rest)) = address.split_once("://") else { return Cow::Borrowed(address) };
    if scheme == "corpus" {
        return Cow::Owned(in_document(rest, reader));
    }
    if matches!(scheme, "api" | "database") {
        return Cow::Owned(rest.replacen('/', ": ", 1));
    }
    let address = address.strip_suffix(SEED_MARK).unwrap_or(address);
    let rest = rest.strip_suffix(SEED_MARK).unwrap_or(rest);
    let end = rest.find(['/', '?', '#', ':']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    match in_its_letters(host) {
        Cow::Borrowed(_) => Cow::Borrowed(address),
        Cow::Owned(host) => Cow::Owned(format!("{scheme}://{host}{path}")),
    }
}

/// Formats `gazette/bridge.md#L3-L5`.
fn in_document(rest: &str, reader: ReaderLanguage) -> String {
    let (path, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let path = decoded.split_once('/').map_or(&*decoded, |(_, path)| path);
    let lines: Option<Vec<u32>> = fragment.split('-').map(|line| line.strip_prefix('L')?.parse::<u32>().ok()).collect();
    let line = words("line", "строка", "рядок", "linha").of(reader);
    let many = words("lines", "строки", "рядки", "linhas").of(reader);
    match lines.as_deref() {
        Some([one]) => format!("{path}, {line} {one}"),
        Some([from, to]) if from == to => format!("{path}, {line} {from}"),
        Some([from, to]) => format!("{path}, {many} {from}–{to}"),
        _ => path.to_owned(),
    }
}

fn in_its_letters(host: &str) -> Cow<'_, str> {
    if !host.split('.').any(|label| label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"))) {
        return Cow::Borrowed(host);
    }
    let (unicode, decoded) = idna::domain_to_unicode(host);
    if decoded.is_ok() && cannot_pass_for_another(&unicode) { Cow::Owned(unicode) } else { Cow::Borrowed(host) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Cyrillic,
    Greek,
    /// Does not look Latin.
    Other,
}

fn script(letter: char) -> Script {
    match letter {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        _ => Script::Other,
    }
}

/// Cyrillic and Greek letters that look Latin.
const LOOK_LATIN: &str = "асԁеһіјӏорԛѕԝхуьүґѵαινοτυωκρν";

fn cannot_pass_for_another(host: &str) -> bool {
    let scripts = |label: &str| label.chars().filter(|c| c.is_alphabetic()).map(script).collect::<Vec<Script>>();
    let ending = host.rsplit('.').next().map(scripts).and_then(|scripts| scripts.first().copied());
    host.split('.').all(|label| {
        let scripts = scripts(label);
        let one = scripts.windows(2).all(|pair| pair.first() == pair.last());
        let readable = label.chars().all(|c| c.is_alphanumeric() || c == '-');
        let looks_latin = matches!(scripts.first(), Some(Script::Cyrillic | Script::Greek))
            && label.chars().filter(|c| c.is_alphabetic()).all(|c| LOOK_LATIN.contains(c))
            && ending == Some(Script::Latin);
        one && readable && !looks_latin
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_shown_in_its_letters_unless_these_pass_for_another_name() {
        let shown = |name| domain(name, ReaderLanguage::English).into_owned();
        for (stored, expected) in [
            ("xn--e1afmkfd.xn--p1ai", "пример.рф"),
            ("news.xn--e1afmkfd.xn--p1ai", "news.пример.рф"),
            ("xn--bcher-kva.example", "bücher.example"),
            ("example.org", "example.org"),
            // "аррӏе" in Cyrillic letters that all look Latin.
            ("xn--80ak6aa92e.com", "xn--80ak6aa92e.com"),
            // "pаypal" with one Cyrillic letter.
            ("xn--pypal-4ve.com", "xn--pypal-4ve.com"),
            ("xn--zzzzzzzzzzz.com", "xn--zzzzzzzzzzz.com"),
        ] {
            assert_eq!(shown(stored), expected, "{stored}");
        }
    }

    #[test]
    fn an_own_document_is_named_by_what_it_is_and_its_lines() {
        let (english, russian) = (ReaderLanguage::English, ReaderLanguage::Russian);
        assert_eq!(domain("corpus:gazette", english), "gazette (own documents)");
        assert_eq!(domain("corpus:gazette", russian), "gazette (собственные документы)");
        assert_eq!(place("corpus://gazette/bridge.md#L3-L3", english), "bridge.md, line 3");
        assert_eq!(
            place("corpus://gazette/2026/%D0%BC%D1%96%D1%81%D1%82.md#L3-L5", russian),
            "2026/міст.md, строки 3–5"
        );
        assert_eq!(place("corpus://bbc.com/Valves.md#Opening", english), "Valves.md");
        assert_eq!(place("database://harbours/ports", english), "harbours: ports");
    }

    #[test]
    fn an_address_of_the_web_keeps_its_path_and_loses_our_mark() {
        let shown = |address| place(address, ReaderLanguage::English).into_owned();
        assert_eq!(shown("https://xn--e1afmkfd.xn--p1ai/a?b=1#c"), "https://пример.рф/a?b=1#c");
        assert_eq!(
            shown("https://www.nasa.gov/mission/apollo-11/#seed-fact"),
            "https://www.nasa.gov/mission/apollo-11/"
        );
        assert_eq!(shown("https://example.org:8443/x"), "https://example.org:8443/x");
        assert_eq!(shown("no address"), "no address");
    }
}
