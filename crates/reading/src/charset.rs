//! Determines the encoding of a page and decodes it.
//!
//! Order: byte-order mark, HTTP `charset`, XML declaration or `<meta>`, detector, UTF-8 with replacement characters. A
//! declared encoding is used only if its text is plausible: some servers declare windows-1251 and send UTF-8. Wrongly
//! decoded text must never become evidence.

use std::borrow::Cow;
use std::sync::LazyLock;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use regex::bytes::Regex;

use super::twice_encoded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharsetSource {
    Bom,
    Header,
    /// `<meta charset>`, `<meta http-equiv>` or the XML declaration.
    Meta,
    /// The declaration was absent or gave implausible text.
    Detected,
    /// UTF-8 with replacement characters.
    Lossy,
}

/// Declarations should be in the first 1,024 bytes, but pages put scripts and comments before them.
const META_WINDOW: usize = 16 * 1024;
const MAX_SAMPLE_BYTES: usize = 64 * 1024;

static META_CHARSET: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i-u)<meta\b[^>]{0,300}?charset\s*=\s*["']?\s*([a-z0-9_:.\-]{2,40})"#).ok());
static XML_ENCODING: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i-u)\A\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([a-z0-9_:.\-]{2,40})["']"#).ok());

/// Returns the text, the encoding's name in the Encoding Standard, and its origin. The text has no NUL characters, and
/// parts that were encoded twice are repaired.
pub fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>) -> (Cow<'a, str>, &'static str, CharsetSource) {
    decode_for(bytes, content_type, None)
}

/// As [`decode`], with the page's host. Its top-level domain helps the detector (".ru" and ".bg" differ).
pub fn decode_for<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    host: Option<&str>,
) -> (Cow<'a, str>, &'static str, CharsetSource) {
    let (text, name, from) = decode_once(bytes, content_type, host);
    let text = if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { text };
    let repaired = match twice_encoded::repaired(&text) {
        Cow::Owned(better) => Some(better),
        Cow::Borrowed(_) => None,
    };
    (repaired.map_or(text, Cow::Owned), name, from)
}

fn decode_once<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    host: Option<&str>,
) -> (Cow<'a, str>, &'static str, CharsetSource) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (text, _) = encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default());
        return (text, encoding.name(), CharsetSource::Bom);
    }
    if let Some(encoding) = utf16_by_zeros(bytes) {
        let (text, _) = encoding.decode_without_bom_handling(bytes);
        return (text, encoding.name(), CharsetSource::Detected);
    }
    let header = content_type.and_then(header_charset).map(|encoding| (encoding, CharsetSource::Header));
    let markup = declared_in_markup(bytes).map(|encoding| (encoding, CharsetSource::Meta));
    let (encoding, from) = [header, markup]
        .into_iter()
        .flatten()
        .find(|(encoding, _)| fits(bytes, encoding))
        .unwrap_or_else(|| detect(bytes, host, header.or(markup)));
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    (text, encoding.name(), from)
}

/// Returns the detector's guess if it is plausible, else the best alternative.
fn detect(
    bytes: &[u8],
    host: Option<&str>,
    declared: Option<(&'static Encoding, CharsetSource)>,
) -> (&'static Encoding, CharsetSource) {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample(bytes), true);
    let guess = detector.guess(host.and_then(top_level_domain), Utf8Detection::Allow);
    let part = sample(bytes);
    if fits(bytes, guess) {
        (guess, CharsetSource::Detected)
    } else if utf8_errors(part) * 20 <= non_ascii(part) {
        (UTF_8, CharsetSource::Lossy)
    } else {
        // The text is implausible in every encoding (all capitals, a word list).
        declared.filter(|(encoding, _)| *encoding != UTF_8).unwrap_or((guess, CharsetSource::Detected))
    }
}

/// The `charset` parameter. Accepts quotes, missing spaces and extra semicolons.
fn header_charset(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("charset") {
            return None;
        }
        // Joined headers give `utf-8, text/html`; some servers omit a closing quote.
        label(value.split(',').next().unwrap_or_default().trim().trim_matches(['"', '\'']))
    })
}

fn label(name: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(name.trim().as_bytes()).or_else(|| {
        // Names outside the Encoding Standard that pages use.
        match name.trim().to_ascii_lowercase().as_str() {
            "utf-8-sig" | "utf_8" | "utf8mb4" => Some(UTF_8),
            "win-1251" | "windows1251" | "win1251" | "cp-1251" => Encoding::for_label(b"windows-1251"),
            "koi8r" => Encoding::for_label(b"koi8-r"),
            "koi8u" => Encoding::for_label(b"koi8-u"),
            _ => None,
        }
    })
}

fn declared_in_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..META_WINDOW).unwrap_or(bytes);
    let named = |regex: &Option<Regex>| {
        let found = regex.as_ref()?.captures(head)?.get(1)?;
        label(std::str::from_utf8(found.as_bytes()).ok()?)
    };
    let encoding = named(&XML_ENCODING).or_else(|| named(&META_CHARSET))?;
    // A declaration that is readable as ASCII is not in UTF-16. Browsers have the same rule.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// Detects UTF-16 without a byte-order mark: in ASCII markup, every other byte is zero.
fn utf16_by_zeros(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..512).unwrap_or(bytes);
    if head.len() < 16 {
        return None;
    }
    let zeros = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let third = head.len() / 6;
    match (zeros(0), zeros(1)) {
        (even, odd) if odd > third && even * 8 < odd => Some(UTF_16LE),
        (even, odd) if even > third && odd * 8 < even => Some(UTF_16BE),
        _ => None,
    }
}

/// True if `bytes` decode to plausible text.
fn fits(bytes: &[u8], encoding: &'static Encoding) -> bool {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return utf16_by_zeros(bytes) == Some(encoding) || !bytes.iter().take(512).any(|byte| *byte == b'<');
    }
    let part = sample(bytes);
    if part.is_ascii() {
        // ASCII fits most encodings. The others are declared on purpose.
        return true;
    }
    if encoding == UTF_8 {
        return utf8_errors(part) * 100 <= non_ascii(part);
    }
    if encoding.is_single_byte() {
        return !is_utf8_text(part) && !is_mojibake(&encoding.decode_without_bom_handling(part).0);
    }
    let (text, errors) = encoding.decode_without_bom_handling(part);
    if !errors {
        return !is_utf8_text(part);
    }
    // The sample may end inside a character, and a page may contain broken bytes.
    text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count() * 100 <= non_ascii(part)
}

fn sample(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= MAX_SAMPLE_BYTES {
        return bytes;
    }
    // A long page often begins with ASCII scripts.
    let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0).saturating_sub(512);
    let end = (start + MAX_SAMPLE_BYTES).min(bytes.len());
    bytes.get(start..end).unwrap_or(bytes)
}

fn non_ascii(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| !byte.is_ascii()).count()
}

/// Bytes that are not UTF-8, without characters cut at the sample's ends.
fn utf8_errors(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>().saturating_sub(3)
}

/// True if all non-ASCII bytes are valid UTF-8, which other encodings practically never are.
fn is_utf8_text(bytes: &[u8]) -> bool {
    non_ascii(bytes) >= 4 && utf8_errors(bytes) == 0
}

/// True if many words are implausible: swapped case or only capitals (windows-1251 read as KOI8-R), only accented Latin
/// letters (Cyrillic read as Latin-1), control characters.
fn is_mojibake(text: &str) -> bool {
    let (mut words, mut odd, mut capital) = (0_usize, 0_usize, 0_usize);
    for word in text.split(|c: char| c.is_ascii() || !(c.is_alphanumeric() || c.is_control())) {
        let length = word.chars().count();
        if length < 3 {
            continue;
        }
        words += 1;
        let latin_only = length >= 4 && word.chars().all(|c| matches!(c, '\u{C0}'..='\u{FF}'));
        let mut previous_small = false;
        let flips = word.chars().any(|c| {
            let flip = previous_small && c.is_uppercase();
            previous_small = c.is_lowercase();
            flip
        });
        if latin_only || flips || word.chars().any(char::is_control) {
            odd += 1;
        } else if word.chars().all(char::is_uppercase) {
            capital += 1;
        }
    }
    words > 0 && (odd * 4 > words || capital * 2 > words)
}

/// The last label of the host. The detector panics unless it is lower-case ASCII.
fn top_level_domain(host: &str) -> Option<&[u8]> {
    let last = host.trim_end_matches('.').rsplit('.').next()?;
    let plain = !last.is_empty() && last.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    plain.then_some(last.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PHRASE: &str = "Проверка фактов: ложь";
    const UTF8: &[u8] = b"\xd0\x9f\xd1\x80\xd0\xbe\xd0\xb2\xd0\xb5\xd1\x80\xd0\xba\xd0\xb0 \xd1\x84\xd0\xb0\xd0\xba\xd1\x82\xd0\xbe\xd0\xb2: \xd0\xbb\xd0\xbe\xd0\xb6\xd1\x8c";
    const CP1251: &[u8] = b"\xcf\xf0\xee\xe2\xe5\xf0\xea\xe0 \xf4\xe0\xea\xf2\xee\xe2: \xeb\xee\xe6\xfc";
    const KOI8: &[u8] = b"\xf0\xd2\xcf\xd7\xc5\xd2\xcb\xc1 \xc6\xc1\xcb\xd4\xcf\xd7: \xcc\xcf\xd6\xd8";
    const ISO5: &[u8] = b"\xbf\xe0\xde\xd2\xd5\xe0\xda\xd0 \xe4\xd0\xda\xe2\xde\xd2: \xdb\xde\xd6\xec";

    fn read(bytes: &[u8], content_type: &str) -> (String, &'static str, CharsetSource) {
        let (text, name, from) = decode(bytes, Some(content_type));
        (text.into_owned(), name, from)
    }

    #[test]
    fn the_header_names_the_charset_in_every_spelling() {
        for spelling in [
            "charset=windows-1251",
            "charset=\"windows-1251\"",
            "Charset='cp1251';",
            "boundary=x; charset = CP1251",
            "charset=\"windows-1251",
            "charset=windows-1251, text/html",
            "charset=x-cp1251",
            "charset=win-1251",
        ] {
            let (text, name, from) = read(CP1251, &format!("text/html; {spelling}"));
            assert_eq!((text.as_str(), name, from), (PHRASE, "windows-1251", CharsetSource::Header), "{spelling}");
        }
        assert_eq!(read(UTF8, "text/html;charset=utf8").0, PHRASE);
        assert_eq!(read(UTF8, "text/html; charset=UTF-8;").0, PHRASE);
        assert_eq!(read(KOI8, "text/html; charset=koi8-r"), (PHRASE.to_owned(), "KOI8-R", CharsetSource::Header));
        assert_eq!(
            read(ISO5, "text/html; charset=iso-8859-5"),
            (PHRASE.to_owned(), "ISO-8859-5", CharsetSource::Header)
        );
    }

    #[test]
    fn a_useless_header_falls_to_the_markup() {
        let mut page = b"<!doctype html><html><head><meta charset=windows-1251><title>".to_vec();
        page.extend_from_slice(CP1251);
        for header in ["text/html; charset=none", "text/html", "text/html; charset="] {
            let (text, name, from) = read(&page, header);
            assert!(text.ends_with(PHRASE), "{text}");
            assert_eq!((name, from), ("windows-1251", CharsetSource::Meta));
        }
    }

    #[test]
    fn http_equiv_xml_and_late_declarations_are_found() {
        let mut equiv =
            b"<head><meta http-equiv='Content-Type' content='text/html; charset=koi8-r'></head><p>".to_vec();
        equiv.extend_from_slice(KOI8);
        assert!(decode(&equiv, None).0.ends_with(PHRASE));
        let mut xml = b"<?xml version=\"1.0\" encoding=\"windows-1251\"?><html><p>".to_vec();
        xml.extend_from_slice(CP1251);
        let (text, _, from) = decode(&xml, None);
        assert!(text.ends_with(PHRASE));
        assert_eq!(from, CharsetSource::Meta);
        let mut late = b"<head><!-- ".to_vec();
        late.extend(std::iter::repeat_n(b'x', 3000));
        late.extend_from_slice(b" --><meta charset=\"iso-8859-5\"></head><p>");
        late.extend_from_slice(ISO5);
        assert!(decode(&late, None).0.ends_with(PHRASE));
    }

    #[test]
    fn a_wrong_header_that_gives_mojibake_is_not_believed() {
        let long = |bytes: &[u8]| [bytes, b".\n"].concat().repeat(6);
        for (bytes, wrong) in [
            (UTF8, "windows-1251"),
            (UTF8, "iso-8859-1"),
            (CP1251, "koi8-r"),
            (CP1251, "iso-8859-1"),
            (CP1251, "utf-8"),
            (KOI8, "windows-1251"),
            (KOI8, "utf-8"),
            (ISO5, "windows-1251"),
        ] {
            let page = long(bytes);
            let (text, name, from) = read(&page, &format!("text/html; charset={wrong}"));
            assert_eq!(text, format!("{PHRASE}.\n").repeat(6), "declared {wrong}, read as {name}");
            assert_eq!(from, CharsetSource::Detected);
        }
    }

    #[test]
    fn a_right_header_wins_over_a_wrong_meta() {
        let mut page = b"<meta charset=utf-8><p>".to_vec();
        page.extend_from_slice(CP1251);
        let (text, _, from) = read(&page, "text/html; charset=windows-1251");
        assert!(text.ends_with(PHRASE));
        assert_eq!(from, CharsetSource::Header);
    }

    #[test]
    fn undeclared_text_is_detected() {
        for (bytes, expected) in [(UTF8, "UTF-8"), (CP1251, "windows-1251"), (ISO5, "ISO-8859-5")] {
            let page = [bytes, b"\n"].concat().repeat(4);
            let (text, name, from) = decode(&page, None);
            assert_eq!(
                (text.as_ref(), name, from),
                (format!("{PHRASE}\n").repeat(4).as_str(), expected, CharsetSource::Detected)
            );
        }
        let (text, name, _) = decode(KOI8, None);
        assert_eq!(text, PHRASE, "{name}");
    }

    #[test]
    fn ukrainian_koi8_keeps_its_own_letters() {
        let ukrainian = "Європейський союз підтримує Україну: їхні ґрунтовні рішення є важливими для всіх";
        let encoding = Encoding::for_label(b"koi8-u").unwrap();
        let (bytes, _, unmappable) = encoding.encode(ukrainian);
        assert!(!unmappable);
        assert_eq!(decode(&bytes, Some("text/html; charset=koi8-u")).0, ukrainian);
        assert_eq!(decode(&bytes, None).0, ukrainian);
    }

    #[test]
    fn utf16_with_and_without_a_mark() {
        let html = format!("<html><head><title>{PHRASE}</title></head><body></body></html>");
        let little: Vec<u8> = html.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = html.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(
            decode(&[b"\xff\xfe".as_slice(), &little].concat(), None),
            (html.as_str().into(), "UTF-16LE", CharsetSource::Bom)
        );
        assert_eq!(
            decode(&[b"\xfe\xff".as_slice(), &big].concat(), None),
            (html.as_str().into(), "UTF-16BE", CharsetSource::Bom)
        );
        assert_eq!(decode(&little, None).0, html);
        assert_eq!(decode(&big, Some("text/html; charset=utf-8")).0, html);
    }

    #[test]
    fn a_utf8_mark_wins_over_the_header_and_is_not_text() {
        let page = [b"\xef\xbb\xbf".as_slice(), UTF8].concat();
        assert_eq!(read(&page, "text/html; charset=windows-1251"), (PHRASE.to_owned(), "UTF-8", CharsetSource::Bom));
    }

    #[test]
    fn a_cut_utf8_page_stays_utf8() {
        let text = "Слово ".repeat(100);
        let bytes = text.as_bytes().split_last().map(|(_, head)| head).unwrap();
        let bytes = &bytes[..bytes.len() - 2];
        let (_, name, from) = decode(bytes, Some("text/html; charset=utf-8"));
        assert_eq!((name, from), ("UTF-8", CharsetSource::Header));
    }

    #[test]
    fn a_page_in_capitals_keeps_its_declared_charset() {
        let text = "СРОЧНО: ПРЕЗИДЕНТ ПОДПИСАЛ ЗАКОН";
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(text);
        assert_eq!(read(&bytes, "text/html; charset=windows-1251").0, text);
    }

    #[test]
    fn the_known_forms_of_mojibake_are_known() {
        for (text, how) in [
            ("РџСЂРѕРІРµСЂРєР° С„Р°РєС‚РѕРІ", "UTF-8 read as windows-1251"),
            ("оПНБЕПЙЮ ТЮЙРНБ", "windows-1251 read as KOI8-R"),
            ("рТПЧЕТЛБ ЖБЛФПЧ", "KOI8-R read as windows-1251"),
            ("Ïðîâåðêà ôàêòîâ", "windows-1251 read as Latin-1"),
        ] {
            assert!(is_mojibake(text), "{how}");
        }
        for text in [
            PHRASE,
            "Перевірка фактів: ґрунтовні рішення",
            "Größe und Übermaß",
            "МВФ и ВОЗ обсудили с Евросоюзом новые правила",
        ] {
            assert!(!is_mojibake(text), "{text}");
        }
    }

    #[test]
    fn koi8_variant_is_found_when_letters_are_ukrainian() {
        let word = "ґедзь є їжак і";
        let (bytes, _, _) = Encoding::for_label(b"koi8-u").unwrap().encode(word);
        assert_eq!(read(&bytes, "text/html; charset=koi8-u"), (word.to_owned(), "KOI8-U", CharsetSource::Header));
    }

    #[test]
    fn a_page_cut_within_a_character_is_read_to_there() {
        let page = format!("<meta charset=utf-8><p>{}", "Проверка фактов: ложь. ".repeat(30));
        for cut in 1..4 {
            let (text, name, _) = decode(&page.as_bytes()[..page.len() - cut - 1], None);
            assert_eq!(name, "UTF-8");
            assert!(text.contains(PHRASE), "{cut}");
        }
        // A legacy page under a wrong declaration of UTF-8, cut anywhere: one byte is one character.
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode("Проверка фактов: ложь. Проверка фактов: правда.");
        for end in bytes.len() - 3..bytes.len() {
            assert!(read(&bytes[..end], "text/html; charset=utf-8").0.starts_with(PHRASE), "{end}");
        }
    }

    #[test]
    fn honest_latin_pages_are_left_alone() {
        let text = "Der Präsident äußerte sich über Größe, Straße und Übermut; le café était très cher à Besançon.";
        let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode(text);
        assert_eq!(read(&bytes, "text/html; charset=iso-8859-1").0, text);
        assert_eq!(read(&bytes, "text/html; charset=iso-8859-1").2, CharsetSource::Header);
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), label in "[a-z0-9=;\" -]{0,30}", host in "\\PC{0,20}") {
            let _text = decode_for(&bytes, Some(&format!("text/html; charset={label}")), Some(&host));
        }
    }
}
