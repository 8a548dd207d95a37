//! Removes relative days ("yesterday", "on Monday") from a text.
//!
//! Rules compare such days. A model without reference days would see a contradiction between "yesterday" and "on
//! Tuesday".

use super::DateMention;
use crate::cut;
use crate::lexicon::Words;

/// Maximum days; longer periods ("this year") stay.
const MAX_DAYS: i64 = 7;

/// Removed with the day.
static PREPOSITIONS: Words = Words::of("dates.undated.prepositions");
/// A boundary stays.
static BOUNDS: Words = Words::of("dates.undated.bounds");
/// Words after the day.
static PARTS: Words = Words::of("dates.undated.parts");

/// Returns the text without them; `None` without any, or if little is left.
pub fn without_days(text: &str, dates: &[DateMention]) -> Option<String> {
    let is_relative_day = |date: &&DateMention| {
        date.is_relative_day() && date.end.signed_duration_since(date.start).num_days() <= MAX_DAYS
    };
    let (mut kept, mut from) = (String::new(), 0);
    for date in dates.iter().filter(is_relative_day) {
        let before = cut(text, from, date.offset);
        let mut end = date.offset + date.text.len();
        let behind = cut(text, end, text.len());
        let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
        // "Monday's vote", "since Monday": the day stays.
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
    // The comma after a leading day goes too.
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
