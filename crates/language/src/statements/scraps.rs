//! Finds fragments without claims (attributions, quotation parts, labels with a value) and removes datelines.

use crate::entities::entities;
use crate::entities::kind::EntityKind;
use crate::lexicon::{Parts, Words};
use crate::patterns::Pattern;
use crate::{has_cyrillic, verbs};

/// "WASHINGTON, Nov 18 (Reuters) - ", "МОСКВА, 18 ноя — РИА Новости. ". Only Cyrillic agencies follow the dash: "LONDON
/// — Reuters hired an editor. He is French."
static DATELINE: Pattern = Pattern::of(
    r"(?x)^(?:\({statements.scraps.agency}\)\s*[—–-]+\s*
        |\p{Lu}[\p{Lu}\ .'’-]{2,40}(?:,\s*\p{Lu}[\p{L}.\ ]{1,24}?)?
            (?:,\s*(?:\d{1,2}\s+\p{L}{3,9}|\p{Lu}\p{Ll}{2,8}\.?\s+\d{1,2})\.?)?(?:\s*[(/][\p{L}\ .\-]{2,24}[)/]\.?)?
            \s*[—–-]+\s+(?:{statements.scraps.agency@cyrillic}[^.]{0,30}\.\s+)?
        |\p{Lu}[\p{Lu}\ .'’-]{2,40},\s*\d{1,2}\s+\p{L}{3,9}\.?\s*/[\p{L}\ .\-]{2,24}/\.?\s+)",
);

/// Removes place, day and agency.
pub(super) fn without_dateline(sentence: &str) -> &str {
    let Some(found) = DATELINE.find(sentence) else { return sentence };
    let rest = sentence.get(found.end()..).unwrap_or_default().trim_start();
    let head = sentence.get(..found.end()).unwrap_or_default();
    // A subject: "USA — China trade fell".
    let is_dateline = head.contains(['(', '/', ',', '.']) || head.split_whitespace().count() > 2;
    let is_sentence = is_dateline
        && rest.split_whitespace().count() >= 3
        && rest.starts_with(|c: char| c.is_uppercase() || !c.is_alphabetic());
    if is_sentence { rest } else { sentence }
}

/// "Об этом сообщил Иванов"
static ATTRIBUTION: Pattern = Pattern::of(
    r"(?x)^(?:{statements.scraps.of_this}\s(?:[^,:]{0,60}\s)?{statements.scraps.told}[^,]{0,140}
        |{statements.scraps.this_was}\ {statements.scraps.reported}(?:\ {statements.scraps.by}(?-u:\b)[^,]{0,120})?)\.?$",
);

/// "Attendance: 12,836", "Goals: Smith 2".
static LABELLED_LINE: Pattern = Pattern::of(r"^(?:[\p{L}.-]+ ?){1,4}:\s*[\p{L}\p{N}$€£.,%()\s-]{1,40}$");

/// Whether it has no checkable claim.
pub(super) fn is_scrap(sentence: &str) -> bool {
    let begins_inside = sentence
        .strip_prefix('…')
        .or_else(|| sentence.strip_prefix("..."))
        .is_some_and(|rest| rest.trim_start().starts_with(char::is_lowercase));
    begins_inside || is_attribution(sentence) || is_label(sentence) || is_speech(sentence) || is_day(sentence)
}

/// Whether it is only an attribution, without a figure or "that".
fn is_attribution(sentence: &str) -> bool {
    static REPORTING_PARTS: Parts = Parts::of("statements.scraps.telling");
    let has_content = sentence.contains(|c: char| c.is_ascii_digit()) || REPORTING_PARTS.occurs_in(sentence);
    !has_content && ATTRIBUTION.is_match(sentence)
}

fn is_label(sentence: &str) -> bool {
    let behind = |text: &str| text.split_once(':').map_or(0, |(_, value)| value.split_whitespace().count());
    // "Минобороны: сбито 50 дронов" states who and what.
    LABELLED_LINE.is_match(sentence)
        && behind(sentence) <= 2
        && entities(sentence, None, &[]).is_empty()
        && sentence.contains(|c: char| c.is_ascii_digit())
        && !has_verb(sentence)
}

/// Whether it is only a day or a few days.
fn is_day(sentence: &str) -> bool {
    let words = verbs::words(sentence);
    words.len() <= 4
        && words.iter().all(|word| {
            word.chars().next().is_none_or(|c| !c.is_alphabetic()) || crate::dates::names::is_calendar_word(word)
        })
}

/// Whether it is speech without speaker or figure: "I said, three months."
fn is_speech(sentence: &str) -> bool {
    static SPEAKER_WORDS: Words = Words::of("statements.scraps.speaker");
    let first = verbs::words(sentence).into_iter().next().unwrap_or_default();
    let is_first_person = SPEAKER_WORDS.has(&first);
    // About a person: "We can confirm that Igor Sechin left Russia".
    is_first_person && !sentence.contains(|c: char| c.is_ascii_digit()) && !has_name(sentence)
}

fn has_name(sentence: &str) -> bool {
    entities(sentence, None, &[]).iter().any(|name| name.kind != EntityKind::Misc)
}

fn has_verb(sentence: &str) -> bool {
    let cyrillic = has_cyrillic(sentence);
    let is_verb = |word: &String| if cyrillic { verbs::is_past_cyrillic(word) } else { verbs::is_finite(word) };
    verbs::words(sentence).iter().any(is_verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agencies_set_before_a_story_goes() {
        for (sentence, bare) in [
            ("FLUSHING MEADOWS — Jodie Burrage won on Tuesday.", "Jodie Burrage won on Tuesday."),
            ("MEXICO CITY (AP) — Mexico’s economy grew by 1.1%.", "Mexico’s economy grew by 1.1%."),
            ("(AP) — After a summer of tumult the path is clearer.", "After a summer of tumult the path is clearer."),
            ("WASHINGTON, Nov 18 (Reuters) - The Fed cut rates.", "The Fed cut rates."),
            ("PUTRAJAYA, Nov 22 — Private companies did not pay.", "Private companies did not pay."),
            ("МОСКВА, 18 ноя — РИА Новости. Правительство внесло проект.", "Правительство внесло проект."),
            ("КИЕВ, 5 мая. /ТАСС/. Рада приняла закон.", "Рада приняла закон."),
            ("USA — China trade fell by 20 percent.", "USA — China trade fell by 20 percent."),
            ("NATO — the alliance of 32 states", "NATO — the alliance of 32 states"),
            ("US-China talks failed on Monday.", "US-China talks failed on Monday."),
            ("Путин — президент России", "Путин — президент России"),
            ("BREAKING — fire in Kyiv", "BREAKING — fire in Kyiv"),
        ] {
            assert_eq!(without_dateline(sentence), bare);
        }
    }

    #[test]
    fn scraps_claim_nothing() {
        for (sentence, expected) in [
            ("Об этом сообщает Комитет защиты журналистов (КЗЖ).", true),
            ("Об этом сообщил официальный представитель Следственного комитета Владимир Маркин.", true),
            ("Про це повідомляє Укрінформ.", true),
            ("This was reported by Reuters.", true),
            ("Attendance: 12,836.", true),
            ("21-22 октября.", true),
            ("I said, ‘Three months.", true),
            ("I mean, come on.", true),
            ("…accuse chiefs of accepting bribes to ignore concerns", true),
            ("Об этом президент заявил, выступая на съезде, где было объявлено о выдвижении.", false),
            ("As reported, 12 people died.", false),
            ("Как сообщается, министр ушёл в отставку.", false),
            ("We lost 31,000 soldiers.", false),
            ("It was announced on Friday that Kate has cancer.", false),
            ("Our forces sank the Moskva in Russia.", false),
            ("Ukraine: 40 drones down.", false),
            ("МЧС: горит 12 домов.", false),
            ("Minister: 12 people died", false),
            ("In 2019 it rained.", false),
            ("18 May 2024: Fico is discharged.", false),
        ] {
            assert_eq!(is_scrap(sentence), expected, "{sentence}");
        }
    }
}
