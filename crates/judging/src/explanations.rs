//! Explains in the reader's language why a text or part was not checked.

use super::labels::{self, ReaderLanguage, Words, words};
use corroborate_domain::ClaimKind;
use corroborate_language::lexicon;
use corroborate_language::statements::NonStatement;

/// Beginnings of words that judge (true, false, checked, known). Unchecked texts must not get them, except "cannot be
/// checked".
static JUDGING_WORDS: lexicon::Words = lexicon::Words::of("explanations.judging");

/// The first word that judges.
pub fn verdict_in(words: &str) -> Option<&str> {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('ё', "е");
    words.split_whitespace().find(|word| JUDGING_WORDS.has(&bare(word)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncheckedPart<'a> {
    /// No statement, but something else.
    NoClaim(NonStatement),
    Ambiguous,
    Opinion,
    /// An opinion of which the factual part was checked.
    Mixed {
        factual_part: &'a str,
    },
}

impl<'a> UncheckedPart<'a> {
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
pub fn explain(unchecked: UncheckedPart<'_>, language: Option<&str>) -> String {
    let reader = ReaderLanguage::of(language);
    let text = explanation(unchecked).of(reader);
    match unchecked {
        UncheckedPart::Mixed { factual_part } => {
            format!("{text}: {}.", labels::quoted(factual_part.trim_end_matches(['.', ' ']), reader))
        }
        _ => text.to_owned(),
    }
}

const fn explanation(unchecked: UncheckedPart<'_>) -> Words {
    match unchecked {
        UncheckedPart::NoClaim(NonStatement::Greeting) => words(
            "This is a greeting or thanks. It makes no statement that could be checked.",
            "Это приветствие или благодарность. Утверждения, которое можно проверить, здесь нет.",
            "Це вітання або подяка. Твердження, яке можна перевірити, тут немає.",
            "É uma saudação ou um agradecimento. Não há nenhuma afirmação que possa ser verificada.",
        ),
        UncheckedPart::NoClaim(NonStatement::Question) => words(
            "The text asks a question and states nothing. Write what you have heard as a statement, and it can be checked.",
            "Это вопрос, а не утверждение. Сформулируйте то, что вы слышали, как утверждение, и его можно будет проверить.",
            "Це запитання, а не твердження. Сформулюйте почуте як твердження, і його можна буде перевірити.",
            "O texto faz uma pergunta e não afirma nada. Escreva o que você ouviu como uma afirmação, e ela poderá ser verificada.",
        ),
        UncheckedPart::NoClaim(NonStatement::Call) => words(
            "The text asks something of its reader. It makes no statement that could be checked.",
            "Это призыв к читателю. Утверждения, которое можно проверить, здесь нет.",
            "Це заклик до читача. Твердження, яке можна перевірити, тут немає.",
            "O texto pede algo ao leitor. Não há nenhuma afirmação que possa ser verificada.",
        ),
        UncheckedPart::NoClaim(NonStatement::Vague) => words(
            "The text makes no statement that could be checked: it does not say who did what, when or where.",
            "В тексте нет утверждения, которое можно проверить: не сказано, кто что сделал, когда и где.",
            "У тексті немає твердження, яке можна перевірити: не сказано, хто що зробив, коли й де.",
            "O texto não faz nenhuma afirmação que possa ser verificada: não diz quem fez o quê, quando nem onde.",
        ),
        UncheckedPart::Ambiguous => words(
            "The statement is too vague to be checked: say who or what it is about, and when or where.",
            "Утверждение слишком расплывчато для проверки: уточните, о ком или о чём речь, когда и где это было.",
            "Твердження надто нечітке для перевірки: уточніть, про кого чи про що йдеться, коли й де це було.",
            "A afirmação é vaga demais para ser verificada: diga de quem ou do que se trata, quando e onde ocorreu.",
        ),
        UncheckedPart::Opinion => words(
            "The text gives an opinion. Opinions can be shared or not, but not verified.",
            "Это мнение. С мнением можно соглашаться или нет, но проверить его нельзя.",
            "Це думка. З думкою можна погоджуватися чи ні, але перевірити її не можна.",
            "O texto dá uma opinião. É possível concordar ou não com opiniões, mas não verificá-las.",
        ),
        UncheckedPart::Mixed { .. } => words(
            "Part of the text is an opinion, which cannot be verified. What was checked is its factual part",
            "Часть текста — мнение, его проверить нельзя. Проверена только фактическая часть",
            "Частина тексту — думка, її перевірити не можна. Перевірено лише фактичну частину",
            "Parte do texto é opinião e não pode ser verificada. Foi verificada apenas a parte factual",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn explanation_is_in_the_language_of_the_reader() {
        let all = [
            UncheckedPart::NoClaim(NonStatement::Greeting),
            UncheckedPart::NoClaim(NonStatement::Question),
            UncheckedPart::NoClaim(NonStatement::Call),
            UncheckedPart::NoClaim(NonStatement::Vague),
            UncheckedPart::Ambiguous,
            UncheckedPart::Opinion,
            UncheckedPart::Mixed { factual_part: "Minecraft is a 2D game." },
        ];
        let mut explanations = BTreeSet::new();
        for language in ["en", "ru", "uk", "pt-BR"] {
            for unchecked in all {
                explanations.insert(explain(unchecked, Some(language)));
            }
        }
        assert_eq!(explanations.len(), 28, "each language has words of its own for each: {explanations:#?}");
        assert_eq!(explain(UncheckedPart::Opinion, Some("de")), explain(UncheckedPart::Opinion, None));
        let mixed = explain(all[6], Some("uk"));
        assert!(mixed.ends_with(": «Minecraft is a 2D game»."), "{mixed}");
    }

    #[test]
    fn only_what_is_not_all_checked_is_explained() {
        assert_eq!(UncheckedPart::of(ClaimKind::Factual, "x"), None);
        assert_eq!(UncheckedPart::of(ClaimKind::Mixed, "x"), Some(UncheckedPart::Mixed { factual_part: "x" }));
        assert_eq!(UncheckedPart::of(ClaimKind::Opinion, "x"), Some(UncheckedPart::Opinion));
        assert_eq!(UncheckedPart::of(ClaimKind::Ambiguous, "x"), Some(UncheckedPart::Ambiguous));
    }
}
