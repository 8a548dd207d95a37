//! Dictionary forms of Russian and Ukrainian words: "людей" has "человек".
//!
//! Each language has an automaton (`lemmas/<language>.fst`), searched in place, and rules (`.rules`): letters to
//! remove, text to add. `training/lemmas.py` builds both; `docs/lemmas.md` lists sources and licences. A form has only
//! its most likely word, because "стали" would match steel and "became".
//!
//! Names, function words and unknown words have none; [`super::stemming`] stems them.

use std::sync::LazyLock;

use fst::Map;

/// Letters in the order of [`BYTES`] and `training/lemmas.py`.
const LETTERS: &str = "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ'";
/// Bytes of the letters in the files.
const BYTES: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz-";

/// Maximum letters; known forms are shorter.
const MAX_LETTERS: usize = 40;

struct Dictionary {
    forms: Map<&'static [u8]>,
    /// Letters to remove, text to add.
    rules: Vec<(usize, &'static str)>,
}

impl Dictionary {
    fn new(forms: &'static [u8], rules: &'static str) -> Option<Self> {
        let rules = rules.lines().filter_map(|line| {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            let (cut, added) = line.split_at_checked(digits)?;
            Some((cut.parse().ok()?, added))
        });
        Some(Self { forms: Map::new(forms).ok()?, rules: rules.collect() })
    }

    fn lemma(&self, word: &str) -> Option<String> {
        let mut key = [0; MAX_LETTERS];
        let mut letters = 0;
        for letter in word.chars() {
            *key.get_mut(letters)? = byte_of(letter)?;
            letters += 1;
        }
        let rule = usize::try_from(self.forms.get(key.get(..letters)?)?).ok()?;
        let (cut, added) = self.rules.get(rule)?;
        let kept = word.char_indices().nth(letters.checked_sub(*cut)?).map_or(word.len(), |(at, _)| at);
        Some(format!("{}{added}", word.get(..kept)?))
    }
}

/// Loaded at first use, without copying.
static DICTIONARIES: LazyLock<[Option<Dictionary>; 2]> = LazyLock::new(|| {
    [
        Dictionary::new(include_bytes!("lemmas/ru.fst"), include_str!("lemmas/ru.rules")),
        Dictionary::new(include_bytes!("lemmas/uk.fst"), include_str!("lemmas/uk.rules")),
    ]
});

fn byte_of(letter: char) -> Option<u8> {
    let at = match letter {
        'а'..='я' => letter as usize - 'а' as usize,
        other => LETTERS.chars().position(|known| known == other)?,
    };
    BYTES.get(at).copied()
}

/// Returns the dictionary form of a normalised word (see [`super::tokens`]); `None` for names, function and unknown
/// words.
pub fn lemma(word: &str, ukrainian: bool) -> Option<String> {
    let [of_russian, of_ukrainian] = &*DICTIONARIES;
    let dictionary = if ukrainian { of_ukrainian } else { of_russian };
    dictionary.as_ref()?.lemma(word)
}

/// Whether the language (ISO 639-1) has a dictionary.
pub(crate) fn has_dictionary(language: &str) -> bool {
    matches!(language, "ru" | "uk")
}

/// Whether a dictionary has it as a verb; `None` if none has it. "Генерал" only ends like one.
pub(crate) fn is_verb(word: &str) -> Option<bool> {
    let mut lemmas = [false, true].into_iter().filter_map(|ukrainian| lemma(word, ukrainian)).peekable();
    lemmas.peek()?;
    Some(lemmas.any(|lemma| ["ть", "ти", "чь"].iter().any(|ending| lemma.ends_with(ending)) && word != lemma))
}

#[cfg(test)]
mod tests {
    use fst::{IntoStreamer, Streamer};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_letters_are_those_of_the_files() {
        assert_eq!(LETTERS.chars().count(), BYTES.len());
        for (letter, byte) in LETTERS.chars().zip(BYTES) {
            assert_eq!(byte_of(letter), Some(*byte), "{letter}");
        }
        assert!(DICTIONARIES.iter().all(Option::is_some));
    }

    #[test]
    fn forms_have_their_dictionary_form() {
        for (lemma, forms, ukrainian) in [
            ("город", "город города городу городом городе города городов городами", false),
            ("ракета", "ракета ракеты ракете ракетой ракетою ракеты ракет ракетами", false),
            ("захватить", "захватить захватил захватили захватят захвачен захваченный захваченных", false),
            ("взорвать", "взорвал взорвали взорвался взорвана", false),
            ("генерал", "генерал генерала генералы генералом", false),
            ("человек", "человек человека люди людей людьми", false),
            ("суд", "суд суда судом", false),
            ("судья", "судья судьи судей", false),
            ("быстрый", "быстрый быстро быстрее быстрая", false),
            ("стать", "стали стал станет", false),
            ("місто", "місто міста містом містах містам", true),
            ("міст", "міст мосту мостом мости мостів", true),
            ("ракета", "ракета ракети ракетою ракет ракетами", true),
            ("захопити", "захопити захопив захопили захоплять захоплено захоплений захоплених захопився", true),
            ("генерал", "генерал генерала генерали генералом", true),
            ("людина", "людина людини люди людей", true),
            ("швидкий", "швидкий швидко швидкого", true),
        ] {
            for form in forms.split(' ') {
                assert_eq!(super::lemma(form, ukrainian).as_deref(), Some(lemma), "{form}");
            }
        }
    }

    #[test]
    fn a_general_is_no_verb() {
        for (word, expected) in [
            ("генерал", Some(false)),
            ("стол", Some(false)),
            ("материал", Some(false)),
            ("погибли", Some(true)),
            ("ранены", Some(true)),
            ("захопив", Some(true)),
            ("вбито", Some(true)),
            ("зафрендил", None),
        ] {
            assert_eq!(is_verb(word), expected, "{word}");
        }
    }

    #[test]
    fn names_function_words_and_unknown_words_have_none() {
        for (word, ukrainian) in [
            ("путин", false),
            ("москве", false),
            ("орлов", false),
            ("который", false),
            ("шмурдяк", false),
            ("шевченка", true),
            ("києва", true),
            ("vaccine", false),
            ("", false),
            ("а", false),
        ] {
            assert_eq!(lemma(word, ukrainian), None, "{word}");
        }
        assert_eq!(lemma(&"а".repeat(1000), false), None);
    }

    /// A dictionary form must be its own form, or its other forms would not match it.
    #[test]
    fn a_dictionary_form_is_its_own() {
        for (dictionary, ukrainian) in DICTIONARIES.iter().zip([false, true]) {
            let dictionary = dictionary.as_ref().unwrap();
            let (mut forms, mut torn) = (0, Vec::new());
            let mut stream = dictionary.forms.into_stream();
            while let Some((key, _)) = stream.next() {
                let letter = |byte: &u8| LETTERS.chars().nth(BYTES.iter().position(|known| known == byte).unwrap());
                let form: String = key.iter().filter_map(letter).collect();
                let found = lemma(&form, ukrainian).unwrap();
                forms += 1;
                if lemma(&found, ukrainian).is_some_and(|again| again != found) {
                    torn.push((form, found));
                }
            }
            println!(
                "{forms} forms, {} of a word whose own form is another's: {:?}",
                torn.len(),
                torn.iter().step_by(100).collect::<Vec<_>>()
            );
            assert!(torn.len() * 100 < forms, "{torn:?}");
        }
    }

    proptest! {
        #[test]
        fn any_word_is_looked_up(word in "\\PC{0,50}", ukrainian: bool) {
            let _ = lemma(&word, ukrainian);
        }
    }
}
