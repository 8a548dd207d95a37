//! Splits names in code: `max_retries`, `maxRetries` and `MaxRetries` are one name of two words.

use super::tokens;

/// Before a joined compound, so that it equals no word.
const JOINED_MARK: char = '=';

/// Returns stems of prose and code without function words. Compounds give their words and the joined form.
///
/// Each word's alphabet decides its language, so that a text and a question agree.
pub fn stems(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len() + text.len() / 8);
    let mut stems = Vec::new();
    for run in text.split_inclusive(|c: char| !is_name_character(c)) {
        let name: &str = run.trim_end_matches(|c: char| !is_name_character(c));
        let before = spaced.len();
        let parts = push_words(name, &mut spaced);
        if parts > 1 {
            let joined = spaced.get(before..).unwrap_or_default().split(' ').map(tokens::normalise_word);
            stems.push(std::iter::once(JOINED_MARK.to_string()).chain(joined).collect());
        }
        spaced.push_str(run.get(name.len()..).unwrap_or_default());
    }
    stems.extend(tokens::content_stems(&spaced, None));
    stems
}

pub fn is_compound(stem: &str) -> bool {
    stem.starts_with(JOINED_MARK)
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Appends a name's words with spaces and returns their number.
fn push_words(name: &str, out: &mut String) -> usize {
    let characters: Vec<char> = name.chars().collect();
    let mut words = 0;
    let mut inside = false;
    for (index, &character) in characters.iter().enumerate() {
        if character == '_' {
            inside = false;
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| characters.get(before));
        let after = characters.get(index + 1);
        // "parseHTMLPage" is three words.
        let begins = character.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if !inside || begins {
            if words > 0 {
                out.push(' ');
            }
            words += 1;
        }
        inside = true;
        out.push(character);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_way_to_write_a_name_has_the_same_stems() {
        let expected = stems("max_retries");
        assert!(expected.contains(&"=maxretries".to_owned()) && expected.contains(&"max".to_owned()));
        for spelt in ["maxRetries", "MaxRetries", "MAX_RETRIES", "_max_retries_"] {
            assert_eq!(stems(spelt), expected, "{spelt}");
        }
        assert_eq!(stems("parseHTMLPage")[0], "=parsehtmlpage");
        assert!(stems("parseHTMLPage").contains(&"html".to_owned()));
    }

    #[test]
    fn prose_keeps_its_words_and_loses_its_function_words() {
        assert_eq!(stems("It was not the vaccines"), ["vaccin"]);
        assert_eq!(stems("Это была не вакцина"), ["вакцин"]);
        assert!(stems("It's 1,234.5 km").contains(&"1,234.5".to_owned()));
        assert!(is_compound("=maxretries") && !is_compound("max"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "\\PC{0,120}") {
            prop_assert!(stems(&text).iter().all(|stem| !stem.is_empty()));
        }
    }
}
