//! Counts negations.
//!
//! Texts whose counts differ in parity probably deny each other. To add a language: its `negation.tsv`.

use super::gazetteer;
use super::lexer::{Kind, Lexeme, lex};
use super::lexicon::Words;

/// Words that end the scope of a negation.
static CLAUSE_OPENERS: Words = Words::of("negation.clause_opening");

/// "Не" with "никто" or "ни" is one negation.
static NEGATION_WORDS: Words = Words::of("negation.denying");

/// Words that negate only alone in a clause (negative concord).
static CONCORD: Words = Words::of("negation.concord");

/// Words that call something untrue; each counts.
static REFUTING_WORDS: Words = Words::of("negation.refuting");

/// Phrases that negate nothing.
static HARMLESS_PHRASES: Words = Words::of("negation.harmless");

/// Counts negations per clause, in any language.
pub fn negations(text: &str, _language: Option<&str>) -> usize {
    let lexemes = lex(text, false);
    lexemes.split(|lexeme| clause_ends(lexeme)).map(clause).sum()
}

fn clause_ends(lexeme: &Lexeme<'_>) -> bool {
    match &lexeme.kind {
        Kind::Sign(sign) => matches!(sign, ',' | '.' | ';' | ':' | '!' | '?' | '(' | ')' | '—' | '–' | '«' | '»' | '"'),
        Kind::Word(word) => CLAUSE_OPENERS.has(word),
        Kind::Number => false,
    }
}

fn clause(lexemes: &[Lexeme<'_>]) -> usize {
    let word_lexemes: Vec<&Lexeme<'_>> = lexemes.iter().filter(|lexeme| lexeme.word().is_some()).collect();
    let words: Vec<&str> = word_lexemes.iter().filter_map(|lexeme| lexeme.word()).collect();
    let (mut count, mut concord_words) = (0, 0);
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let rest = words.get(index..).unwrap_or_default();
        let harmless = HARMLESS_PHRASES.phrase_at(rest);
        if harmless > 0 {
            index += harmless;
            continue;
        }
        // Numbers: "No. 5".
        let numbering =
            *word == "no" && lexemes.iter().skip_while(|l| l.word() != Some("no")).nth(1).is_none_or(Lexeme::is_number);
        if NEGATION_WORDS.has(word) && !numbering {
            count += 1;
        } else if CONCORD.has(word) {
            concord_words += 1;
        } else if REFUTING_WORDS.has(word) && !word_lexemes.get(index).is_some_and(|lexeme| is_name(lexeme)) {
            count += 1;
        }
        index += 1;
    }
    if count == 0 && concord_words > 0 { 1 } else { count }
}

/// Whether it is capitalised and known.
fn is_name(lexeme: &Lexeme<'_>) -> bool {
    let words = gazetteer::name_words(lexeme.text);
    lexeme.text.starts_with(char::is_uppercase) && gazetteer::lookup(&words).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        negations(text, None)
    }

    #[test]
    fn denials_are_counted_by_clause() {
        for (text, expected) in [
            ("Vaccines cause autism", 0),
            ("Vaccines don't cause autism", 1),
            ("Vaccines do not cause autism", 1),
            ("Vaccines never caused autism", 1),
            ("The minister denied the report", 1),
            ("It is not true, but nobody denied it", 3),
            ("The claim has been debunked", 1),
            ("Not only Kyiv but also Lviv", 0),
            ("No less than 5 people, no doubt", 0),
            ("Flight No. 5 landed", 0),
            ("Вакцины не вызывают аутизм", 1),
            ("Никто никогда не видел этого", 1),
            ("Никаких доказательств", 1),
            ("Погибли не менее 5 человек, тем не менее", 0),
            ("Он жил без паспорта", 1),
            ("Минздрав опроверг сообщение", 1),
            ("Это фейк", 1),
            ("Вакцини не викликають аутизм", 1),
            ("Немає жодних доказів", 1),
            ("МОЗ спростував повідомлення", 1),
            ("Не лише Київ", 0),
            ("Несмотря на дождь", 0),
            ("Denys Shmyhal resigned", 0),
            ("Denys denied it", 1),
            ("Отрицательный баланс вырос", 0),
            ("Отрицательные температуры ожидаются в Киеве", 0),
            ("Ложка дёгтя", 0),
            ("Он отрицал вину", 1),
            ("Он отрицает вину", 1),
            ("Минфин назвал сообщение ложным", 1),
            ("Мифологический герой", 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }
}
