//! What a figure of confidence means, and what would make a lean a finding.

use corroborate_domain::result::ClaimResult;
use corroborate_domain::verdict::{Note, Verdict};

use super::{ReaderLanguage, Words, words};

/// Over what a lean lacks.
pub const FIRMER: Words = words(
    "What would make it firm",
    "Что сделало бы вывод уверенным",
    "Що зробило б висновок упевненим",
    "O que a tornaria firme",
);

const OF_ANSWERS: Words = words(
    "Of answers stated as surely as this, about {n} in 10 were right.",
    "Из ответов с такой уверенностью верны были около {n} из 10.",
    "З відповідей із такою впевненістю правильними були близько {n} з 10.",
    "De respostas com esta segurança, cerca de {n} em 10 estavam certas.",
);

const MORE_SOURCES: Words = words(
    "a second, independent source that says the same",
    "второй независимый источник, который говорит то же",
    "друге незалежне джерело, яке каже те саме",
    "uma segunda fonte independente que diga o mesmo",
);

const ONE_READING: Words = words(
    "passages that say it more plainly, or an end to the disagreement between them",
    "фрагменты, где это сказано яснее, или согласие между ними",
    "уривки, де це сказано ясніше, або згода між ними",
    "trechos que o digam mais claramente, ou o fim da divergência entre eles",
);

const ASK_AGAIN: Words = words(
    "asking those who could not be asked this time",
    "ответ тех, кого не удалось спросить",
    "відповідь тих, кого не вдалося запитати",
    "consultar quem não pôde ser consultado desta vez",
);

const A_MODEL: Words = words(
    "a model that reads this language: here only words were compared",
    "модель, которая читает этот язык: сравнивались только слова",
    "модель, яка читає цю мову: порівнювалися лише слова",
    "um modelo que leia este idioma: aqui só palavras foram comparadas",
);

/// A share of answers in words that an editor can hold a figure against. Never more than eight in ten: of those stated most
/// surely on labelled claims about a quarter was wrong (`http/ui/reliability.tsv`).
pub fn confidence(share: f64, reader: ReaderLanguage) -> String {
    let n = (share * 10.0).round().clamp(0.0, 8.0);
    OF_ANSWERS.of(reader).replace("{n}", &format!("{n:.0}"))
}

/// What would make the answer firm, by what keeps it from being so; empty where it is firm, or cannot be.
pub fn firmer(claim: &ClaimResult, reader: ReaderLanguage) -> String {
    if claim.decisive || claim.verdict == Verdict::NotVerifiable {
        return String::new();
    }
    let has = |note| claim.notes.contains(&note);
    let is_alone =
        has(Note::SingleSource) || has(Note::NoCorroboration) || has(Note::SocialOnly) || has(Note::NoSources);
    let missing = [
        (true, if is_alone { MORE_SOURCES } else { ONE_READING }),
        (has(Note::WordsOnly), A_MODEL),
        (has(Note::Degraded), ASK_AGAIN),
    ];
    let said: Vec<&str> =
        missing.iter().filter(|(is_missing, _)| *is_missing).map(|(_, words)| words.of(reader)).collect();
    format!("{}.", said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_promises_more_than_was_measured() {
        assert!(confidence(1.0, ReaderLanguage::English).contains("about 8 in 10"));
        assert!(confidence(0.64, ReaderLanguage::Russian).contains("около 6 из 10"));
    }
}
