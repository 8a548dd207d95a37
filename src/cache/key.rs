//! Cache keys: equal queries get equal keys.

use unicode_normalization::UnicodeNormalization as _;

/// Returns the normal form of a query or claim: NFKC, lower case, `ё` as `е`, one kind of apostrophe and quote, single
/// blanks, no punctuation at the ends.
///
/// Words keep their order, because "A beat B" and "B beat A" are different queries.
pub fn normalise_query(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut pending_blank = false;
    for character in text.nfkc().flat_map(char::to_lowercase) {
        if character.is_whitespace() || character.is_control() {
            pending_blank = !normal.is_empty();
            continue;
        }
        if pending_blank {
            normal.push(' ');
            pending_blank = false;
        }
        normal.push(match character {
            'ё' => 'е',
            '’' | 'ʼ' | '‘' | '`' | '´' => '\'',
            '“' | '”' | '„' | '«' | '»' => '"',
            '–' | '—' | '‑' | '−' => '-',
            other => other,
        });
    }
    let is_edge = |character: char| {
        character.is_whitespace() || matches!(character, '.' | ',' | '!' | '?' | ':' | ';' | '…' | '"' | '\'')
    };
    normal.trim_matches(is_edge).to_owned()
}

/// Joins parts with a control character, which no normalised part contains.
pub fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().collect::<Vec<_>>().join("\u{1f}")
}

/// Returns the key of a provider's response to a claim. Responses differ by the `language` of the query.
pub fn claim_key(provider: &str, claim: &str, language: Option<&str>) -> String {
    joined([provider, &normalise_query(claim), language.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_claim_are_one_key() {
        let cases = [
            ("  «Ёлка»  стоит\n150 рублей. ", "елка\" стоит 150 рублей"),
            ("It’s 5 – 7 %!", "it's 5 - 7 %"),
            ("ﬁne ＡＢＣ", "fine abc"),
            ("...", ""),
            ("A.\u{a0}B", "a. b"),
        ];
        for (text, key) in cases {
            assert_eq!(normalise_query(text), key);
        }
        assert_ne!(normalise_query("A beat B"), normalise_query("B beat A"));
        assert_ne!(normalise_query("5 dead"), normalise_query("6 dead"));
    }

    #[test]
    fn provider_claim_and_language_make_the_key() {
        let key = claim_key("google", "Vaccines cause X.", None);
        assert_eq!(key, claim_key("google", "vaccines cause  x", None));
        assert_ne!(key, claim_key("google", "vaccines cause x", Some("uk")));
        assert_ne!(key, claim_key("other", "vaccines cause x", None));
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "\\PC{0,120}") {
            let once = normalise_query(&text);
            prop_assert_eq!(normalise_query(&once), once);
        }
    }
}
