//! Explains in the reader's language why a text or part was not checked.

use super::labels::{self, ReaderLanguage};
use corroborate_domain::ClaimKind;
use corroborate_language::lexicon::Words;
use corroborate_language::statements::Silence;

/// Beginnings of words that judge (true, false, checked, known). Unchecked texts must not get them, except "cannot be
/// checked".
static JUDGING: Words = Words::of("explanations.judging");

/// The first word that judges.
pub fn verdict_in(words: &str) -> Option<&str> {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('ё', "е");
    words.split_whitespace().find(|word| JUDGING.has(&bare(word)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchecked<'a> {
    /// No statement, but something else.
    NoClaim(Silence),
    Ambiguous,
    Opinion,
    /// An opinion of which the factual part was checked.
    Mixed {
        factual_part: &'a str,
    },
}

impl<'a> Unchecked<'a> {
    /// Returns the unchecked part, or `None` if all is checked. `text` is the checked part.
    pub const fn of(kind: ClaimKind, text: &'a str) -> Option<Self> {
        match kind {
            ClaimKind::Factual => None,
            ClaimKind::Opinion => Some(Self::Opinion),
            ClaimKind::Ambiguous => Some(Self::Ambiguous),
            ClaimKind::Mixed => Some(Self::Mixed { factual_part: text }),
        }
    }
}

/// Explains in a language (ISO 639-1, optionally with a region); English for others.
pub fn explain(unchecked: Unchecked<'_>, language: Option<&str>) -> String {
    let reader = ReaderLanguage::of(language);
    let (ambiguous, opinion, mixed) = match reader {
        ReaderLanguage::Russian => (
            "Утверждение слишком расплывчато для проверки: уточните, о ком или о чём речь, когда и где это было.",
            "Это мнение. С мнением можно соглашаться или нет, но проверить его нельзя.",
            "Часть текста — мнение, его проверить нельзя. Проверена только фактическая часть",
        ),
        ReaderLanguage::Ukrainian => (
            "Твердження надто нечітке для перевірки: уточніть, про кого чи про що йдеться, коли й де це було.",
            "Це думка. З думкою можна погоджуватися чи ні, але перевірити її не можна.",
            "Частина тексту — думка, її перевірити не можна. Перевірено лише фактичну частину",
        ),
        ReaderLanguage::Portuguese => (
            "A afirmação é vaga demais para ser verificada: diga de quem ou do que se trata, quando e onde ocorreu.",
            "O texto dá uma opinião. É possível concordar ou não com opiniões, mas não verificá-las.",
            "Parte do texto é opinião e não pode ser verificada. Foi verificada apenas a parte factual",
        ),
        ReaderLanguage::English => (
            "The statement is too vague to be checked: say who or what it is about, and when or where.",
            "The text gives an opinion. Opinions can be shared or not, but not verified.",
            "Part of the text is an opinion, which cannot be verified. What was checked is its factual part",
        ),
    };
    match unchecked {
        Unchecked::NoClaim(silence) => no_claim(silence, reader).to_owned(),
        Unchecked::Ambiguous => ambiguous.to_owned(),
        Unchecked::Opinion => opinion.to_owned(),
        Unchecked::Mixed { factual_part } => {
            format!("{mixed}: {}.", labels::quoted(factual_part.trim_end_matches(['.', ' ']), reader))
        }
    }
}

const fn no_claim(silence: Silence, reader: ReaderLanguage) -> &'static str {
    match (silence, reader) {
        (Silence::Greeting, ReaderLanguage::English) => {
            "This is a greeting or thanks. It makes no statement that could be checked."
        }
        (Silence::Question, ReaderLanguage::English) => {
            "The text asks a question and states nothing. Write what you have heard as a statement, and it can be checked."
        }
        (Silence::Call, ReaderLanguage::English) => {
            "The text asks something of its reader. It makes no statement that could be checked."
        }
        (Silence::Vague, ReaderLanguage::English) => {
            "The text makes no statement that could be checked: it does not say who did what, when or where."
        }
        (Silence::Greeting, ReaderLanguage::Russian) => {
            "Это приветствие или благодарность. Утверждения, которое можно проверить, здесь нет."
        }
        (Silence::Question, ReaderLanguage::Russian) => {
            "Это вопрос, а не утверждение. Сформулируйте то, что вы слышали, как утверждение, и его можно будет проверить."
        }
        (Silence::Call, ReaderLanguage::Russian) => {
            "Это призыв к читателю. Утверждения, которое можно проверить, здесь нет."
        }
        (Silence::Vague, ReaderLanguage::Russian) => {
            "В тексте нет утверждения, которое можно проверить: не сказано, кто что сделал, когда и где."
        }
        (Silence::Greeting, ReaderLanguage::Ukrainian) => {
            "Це вітання або подяка. Твердження, яке можна перевірити, тут немає."
        }
        (Silence::Question, ReaderLanguage::Ukrainian) => {
            "Це запитання, а не твердження. Сформулюйте почуте як твердження, і його можна буде перевірити."
        }
        (Silence::Call, ReaderLanguage::Ukrainian) => {
            "Це заклик до читача. Твердження, яке можна перевірити, тут немає."
        }
        (Silence::Vague, ReaderLanguage::Ukrainian) => {
            "У тексті немає твердження, яке можна перевірити: не сказано, хто що зробив, коли й де."
        }
        (Silence::Greeting, ReaderLanguage::Portuguese) => {
            "É uma saudação ou um agradecimento. Não há nenhuma afirmação que possa ser verificada."
        }
        (Silence::Question, ReaderLanguage::Portuguese) => {
            "O texto faz uma pergunta e não afirma nada. Escreva o que você ouviu como uma afirmação, e ela poderá ser verificada."
        }
        (Silence::Call, ReaderLanguage::Portuguese) => {
            "O texto pede algo ao leitor. Não há nenhuma afirmação que possa ser verificada."
        }
        (Silence::Vague, ReaderLanguage::Portuguese) => {
            "O texto não faz nenhuma afirmação que possa ser verificada: não diz quem fez o quê, quando nem onde."
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reader_is_told_in_their_language_what_was_not_checked() {
        let all = [
            Unchecked::NoClaim(Silence::Greeting),
            Unchecked::NoClaim(Silence::Question),
            Unchecked::NoClaim(Silence::Call),
            Unchecked::NoClaim(Silence::Vague),
            Unchecked::Ambiguous,
            Unchecked::Opinion,
            Unchecked::Mixed { factual_part: "Minecraft is a 2D game." },
        ];
        let mut told = BTreeSet::new();
        for language in ["en", "ru", "uk", "pt-BR"] {
            for unchecked in all {
                told.insert(explain(unchecked, Some(language)));
            }
        }
        assert_eq!(told.len(), 28, "each language has words of its own for each: {told:#?}");
        assert_eq!(explain(Unchecked::Opinion, Some("de")), explain(Unchecked::Opinion, None));
        let mixed = explain(all[6], Some("uk"));
        assert!(mixed.ends_with(": «Minecraft is a 2D game»."), "{mixed}");
    }

    #[test]
    fn only_what_is_not_all_checked_is_explained() {
        assert_eq!(Unchecked::of(ClaimKind::Factual, "x"), None);
        assert_eq!(Unchecked::of(ClaimKind::Mixed, "x"), Some(Unchecked::Mixed { factual_part: "x" }));
        assert_eq!(Unchecked::of(ClaimKind::Opinion, "x"), Some(Unchecked::Opinion));
        assert_eq!(Unchecked::of(ClaimKind::Ambiguous, "x"), Some(Unchecked::Ambiguous));
    }
}
