//! A text without the days that only the day of its writing tells: "yesterday", "on Monday".
//!
//! They are compared by rule, against the days of the other text. To a model that knows neither day "yesterday" and "on Tuesday"
//! are two times, and a report of the same event seems to contradict.

use super::DateMention;
use crate::cut;
use crate::lexicon::Words;

/// "This year" is about as long as what is told of it.
const FEW_DAYS: i64 = 7;

/// Words before a day that go with it.
static PREPOSITIONS: Words = Words::of("dates.undated.prepositions");
/// Words by which a day begins or ends a stretch: the day is what is said.
static BOUNDS: Words = Words::of("dates.undated.bounds");
/// Parts of a day behind it.
static PARTS: Words = Words::of("dates.undated.parts");

/// The text without such days; `None` where it has none, or little else.
pub fn without_days(text: &str, dates: &[DateMention]) -> Option<String> {
    let is_told_by_the_day = |date: &&DateMention| {
        date.is_told_by_the_day() && date.end.signed_duration_since(date.start).num_days() <= FEW_DAYS
    };
    let (mut kept, mut from) = (String::new(), 0);
    for date in dates.iter().filter(is_told_by_the_day) {
        let before = cut(text, from, date.offset);
        let mut end = date.offset + date.text.len();
        let behind = cut(text, end, text.len());
        let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
        // "Monday's vote", "since Monday": the day belongs to what is said.
        if BOUNDS.has(&last) || behind.starts_with(['\'', '’', '-']) {
            continue;
        }
        if let Some(part) =
            behind.split_whitespace().next().map(|word| word.trim_end_matches(|c: char| !c.is_alphanumeric()))
            && PARTS.has(part)
        {
            end += behind.find(part).unwrap_or(0) + part.len();
        }
        let before = if PREPOSITIONS.has(&last) {
            before.trim_end().get(..before.trim_end().len() - last.len()).unwrap_or(before)
        } else {
            before
        };
        kept.push_str(before.trim_end());
        from = end;
    }
    if from == 0 {
        return None;
    }
    let rest = cut(text, from, text.len());
    // At the head of a sentence the comma behind it goes too.
    let at_head = kept.is_empty() || kept.ends_with(['.', '!', '?']);
    kept.push_str(if at_head { rest.trim_start_matches([',', ' ']) } else { rest });
    let mut letters = kept.trim().chars();
    let whole: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    (whole.split_whitespace().count() >= 3).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dates::dates;

    #[test]
    fn days_known_from_the_day_of_the_text_go_and_others_stay() {
        for (text, expected) in [
            ("A bridge collapsed in Genoa yesterday.", Some("A bridge collapsed in Genoa.")),
            ("On Monday the mayor resigned.", Some("The mayor resigned.")),
            ("Yesterday, Greece and Cyprus signed a deal.", Some("Greece and Cyprus signed a deal.")),
            ("The mayor resigned on Monday night after a vote.", Some("The mayor resigned after a vote.")),
            ("В понедельник мэр Одессы подал в отставку.", Some("Мэр Одессы подал в отставку.")),
            ("Вчора Зеленський зустрівся з Трампом.", Some("Зеленський зустрівся з Трампом.")),
            ("The strike has lasted since Monday.", None),
            ("The mayor resigned on 6 May.", None),
            ("The mayor resigned in 2019.", None),
            ("Prices rose last year.", None),
            ("It rained yesterday.", None),
        ] {
            let found = dates(text, "2024-05-08T12:00:00Z".parse().ok());
            assert_eq!(without_days(text, &found).as_deref(), expected, "{text}");
        }
    }
}
