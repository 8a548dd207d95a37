//! Which texts a model may be asked about: those in a language it was made for. A model asked about another language
//! answers as surely and means nothing by it.

use crate::language::{detect, is_cyrillic};

/// The languages of a model, as its manifest names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLanguages(Option<Vec<String>>);

/// Letters by which the alphabet is told, and characters by which the language is: the first lines are enough, and this is
/// asked of every text several times.
const LETTERS: usize = 300;
const CHARACTERS: usize = 300;

/// Share of the letters the model's alphabet must have: names and quotations in another one stay below the rest.
const OWN_ALPHABET: f64 = 0.6;

/// A guess under this leaves the alphabet's answer standing: a headline of names reads like any language. Above it a
/// guess of another language is right in all but a few of a hundred short texts.
const SURE: f64 = 0.8;

/// Languages written in Cyrillic letters; all others a model may name are taken for languages of the Latin alphabet,
/// unless they are among [`OTHER_LETTERS`].
const CYRILLIC: &[&str] = &["ru", "uk", "be", "bg", "mk", "sr", "kk", "ky", "mn", "tg", "tt"];

/// Languages written in neither.
const OTHER_LETTERS: &[&str] = &[
    "ar", "fa", "ur", "he", "el", "hy", "ka", "hi", "bn", "ta", "te", "th", "zh", "ja", "ko", "am", "my", "km", "lo",
    "si", "mr", "gu", "kn", "ml", "pa", "ne",
];

impl ModelLanguages {
    /// ISO 639-1 codes; `*` among them, or none at all, is every language.
    pub fn new(codes: &[String]) -> Self {
        let codes: Vec<String> = codes.iter().map(|code| code.trim().to_lowercase()).collect();
        Self(Some(codes).filter(|codes| !codes.is_empty() && !codes.iter().any(|code| code == "*")))
    }

    /// Of a model that reads whatever it is given.
    pub const fn every() -> Self {
        Self(None)
    }

    /// Whether it was made for every language.
    pub const fn is_every(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the text is in one of them: by its alphabet, then by its language where that is plain. A text without
    /// letters is in all of them.
    pub fn read(&self, text: &str) -> bool {
        let Some(codes) = &self.0 else { return true };
        let (mut latin, mut cyrillic, mut other) = (0usize, 0usize, 0usize);
        for letter in text.chars().filter(|c| c.is_alphabetic()).take(LETTERS) {
            if is_cyrillic(letter) {
                cyrillic += 1;
            } else if is_latin(letter) {
                latin += 1;
            } else {
                other += 1;
            }
        }
        let all = latin + cyrillic + other;
        if all == 0 {
            return true;
        }
        let has = |list: &[&str]| codes.iter().any(|code| list.contains(&code.as_str()));
        let has_latin =
            codes.iter().any(|code| !CYRILLIC.contains(&code.as_str()) && !OTHER_LETTERS.contains(&code.as_str()));
        let own = [(has_latin, latin), (has(CYRILLIC), cyrillic), (has(OTHER_LETTERS), other)];
        let readable: usize = own.iter().filter(|(is_own, _)| *is_own).map(|(_, letters)| letters).sum();
        if (readable as f64) < OWN_ALPHABET * all as f64 {
            return false;
        }
        let head = text.char_indices().nth(CHARACTERS).and_then(|(end, _)| text.get(..end)).unwrap_or(text);
        let found = detect::detect(head);
        found.confidence < SURE || found.language.is_none_or(|language| codes.contains(&language))
    }
}

/// Latin letters, with those of the languages that add to them.
fn is_latin(letter: char) -> bool {
    matches!(letter, 'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english() -> ModelLanguages {
        ModelLanguages::new(&["en".to_owned()])
    }

    #[test]
    fn an_english_model_reads_english_and_nothing_else() {
        for text in [
            "The mayor of Odesa resigned on Monday.",
            "Emmanuel Macron",
            "Volodymyr Zelenskyy met Giorgia Meloni in Rome, \"Укрінформ\" reported on Friday.",
            "COVID-19",
            "42 %",
            "",
            "Vaccines cause autism",
        ] {
            assert!(english().read(text), "{text}");
        }
        for text in [
            "Мэр Одессы подал в отставку в понедельник.",
            "Мер Одеси подав у відставку.",
            "Der Bürgermeister der Stadt ist am Montag zurückgetreten, weil der Rat ihm nicht mehr vertraute.",
            "Le maire de la ville a démissionné lundi parce que le conseil ne lui faisait plus confiance.",
            "O prefeito da cidade renunciou na segunda-feira porque a câmara não confiava mais nele.",
            "市长周一辞职。",
            "Владимир Зеленский на Reuters",
        ] {
            assert!(!english().read(text), "{text}");
        }
    }

    #[test]
    fn a_multilingual_model_reads_everything() {
        for codes in [vec!["*".to_owned()], Vec::new(), vec!["en".to_owned(), "*".to_owned()]] {
            let every = ModelLanguages::new(&codes);
            assert!(every.is_every() && every.read("Мер Одеси подав у відставку."));
        }
        let slavic = ModelLanguages::new(&["RU".to_owned(), "uk".to_owned()]);
        assert!(slavic.read("Мэр Одессы подал в отставку в понедельник."));
        assert!(!slavic.read("The mayor of Odesa resigned on Monday."));
    }
}
