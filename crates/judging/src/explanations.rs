//! Why a text, or a part of it, was not checked, in words of its reader: English, Russian, Ukrainian, Portuguese.

use super::labels::ReaderLanguage;
use corroborate_domain::ClaimKind;

/// What there is to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchecked<'a> {
    /// No statement at all.
    NoClaim,
    /// Too vague.
    Ambiguous,
    Opinion,
    /// Of an opinion with a fact in it that fact was checked.
    Mixed {
        factual_part: &'a str,
    },
}

impl<'a> Unchecked<'a> {
    /// What a claim of that kind leaves unchecked; `None` where all of it is checked. `text` is what is checked of it.
    pub const fn of(kind: ClaimKind, text: &'a str) -> Option<Self> {
        match kind {
            ClaimKind::Factual => None,
            ClaimKind::Opinion => Some(Self::Opinion),
            ClaimKind::Ambiguous => Some(Self::Ambiguous),
            ClaimKind::Mixed => Some(Self::Mixed { factual_part: text }),
        }
    }
}

/// The explanation in that language (ISO 639-1, a region may follow); in English for any other.
pub fn explain(unchecked: Unchecked<'_>, language: Option<&str>) -> String {
    let (no_claim, ambiguous, opinion, mixed) = match ReaderLanguage::of(language) {
        ReaderLanguage::Russian => (
            "В тексте нет утверждения, которое можно проверить: это может быть вопрос, приветствие или слишком короткий текст.",
            "Утверждение слишком расплывчато для проверки: уточните, о ком или о чём речь, когда и где это было.",
            "Это мнение. С мнением можно соглашаться или нет, но проверить его нельзя.",
            "Часть текста — мнение, его проверить нельзя. Проверено только утверждение о фактах",
        ),
        ReaderLanguage::Ukrainian => (
            "У тексті немає твердження, яке можна перевірити: це може бути запитання, привітання або надто короткий текст.",
            "Твердження надто розмите для перевірки: уточніть, про кого чи про що йдеться, коли і де це було.",
            "Це думка. З думкою можна погоджуватися чи ні, але перевірити її не можна.",
            "Частина тексту — думка, її перевірити не можна. Перевірено лише твердження про факти",
        ),
        ReaderLanguage::Portuguese => (
            "O texto não faz nenhuma afirmação que possa ser verificada: pode ser uma pergunta, uma saudação ou curto demais.",
            "A afirmação é vaga demais para ser verificada: diga de quem ou do que se trata, quando e onde.",
            "O texto dá uma opinião. Pode-se concordar com opiniões ou não, mas não verificá-las.",
            "Parte do texto é opinião e não pode ser verificada. Foi verificada apenas a parte factual",
        ),
        ReaderLanguage::English => (
            "The text makes no statement that could be checked: it may be a question, a greeting or too short.",
            "The statement is too vague to be checked: say who or what it is about, and when or where.",
            "The text gives an opinion. Opinions can be shared or not, but not verified.",
            "Part of the text is an opinion, which cannot be verified. What was checked is its factual part",
        ),
    };
    match unchecked {
        Unchecked::NoClaim => no_claim.to_owned(),
        Unchecked::Ambiguous => ambiguous.to_owned(),
        Unchecked::Opinion => opinion.to_owned(),
        Unchecked::Mixed { factual_part } => format!("{mixed}: “{}”.", factual_part.trim_end_matches(['.', ' '])),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reader_is_told_in_their_language_what_was_not_checked() {
        let all = [
            Unchecked::NoClaim,
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
        assert_eq!(told.len(), 16, "each language has words of its own for each: {told:#?}");
        assert_eq!(explain(Unchecked::Opinion, Some("de")), explain(Unchecked::Opinion, None));
        let mixed = explain(all[3], Some("uk"));
        assert!(mixed.ends_with(": “Minecraft is a 2D game”."), "{mixed}");
    }

    #[test]
    fn only_what_is_not_all_checked_is_explained() {
        assert_eq!(Unchecked::of(ClaimKind::Factual, "x"), None);
        assert_eq!(Unchecked::of(ClaimKind::Mixed, "x"), Some(Unchecked::Mixed { factual_part: "x" }));
        assert_eq!(Unchecked::of(ClaimKind::Opinion, "x"), Some(Unchecked::Opinion));
        assert_eq!(Unchecked::of(ClaimKind::Ambiguous, "x"), Some(Unchecked::Ambiguous));
    }
}
