//! A superlative that a sentence narrows: "one of the largest", "the second largest", "the deadliest since 2023".

use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::{cut, has_cyrillic};

/// Beginnings of words that leave room for one alone.
const SUPERLATIVE: &str = "most best worst самый самая самое самые самым самой самых лучш худш крупнейш \
    найб найк найг найс найв найд";
/// English words in "-est" that are no superlatives.
const NOT_MOST: &str = "interest forest protest west east request arrest invest honest guest contest harvest latest suggest test rest best quest \
    chest nest conquest manifest tempest modest";
const FIRST: &str = "first only перв единственн перш єдин";

const ONE_OF: &[&str] = &[
    "one of",
    "один из",
    "одна из",
    "одно из",
    "одним из",
    "одной из",
    "один з",
    "одна з",
    "одне з",
    "одним з",
    "однією з",
    "один із",
    "одна із",
    "одним із",
];

const SECOND: &[&str] = &[
    "second",
    "third",
    "fourth",
    "второй",
    "вторая",
    "второе",
    "третий",
    "третья",
    "третье",
    "другий",
    "друга",
    "друге",
    "третій",
    "третя",
];

/// Words before a superlative, and behind it, among which a narrowing stands.
const BEFORE: usize = 4;
const BEHIND: usize = 6;

/// Whether the claim says that something has no like, and the sentence that it has.
pub(super) fn is_one_of_several(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    // "The First Minister" is a title.
    let is_one = |word: &str, list: &str| word.starts_with(char::is_lowercase) && begins(word, &[list]);
    let claimed: Vec<&str> = [SUPERLATIVE, FIRST]
        .into_iter()
        .filter(|&list| {
            claim.text.split_whitespace().any(|word| is_one(word, list))
                || list == SUPERLATIVE && has_cyrillic(&claim.text) && begins(&claim.text, &[SUPERLATIVE])
        })
        .collect();
    if claimed.is_empty() {
        return false;
    }
    let is_claimed = |word: &str| claimed.iter().any(|list| is_one(word, list));
    let words: Vec<&str> = cut(&passage.text, sentence.start, sentence.end).split_whitespace().collect();
    let own = claim.text.to_lowercase();
    let only_here = |phrase: &str| !own.contains(phrase);
    let mut told = words.iter().enumerate().filter(|(_, word)| is_claimed(word)).peekable();
    // "Norway is the largest producer in Europe and one of the largest in the world": once it stands alone.
    told.peek().is_some() && told.all(|(at, word)| {
        let before = words.get(at.saturating_sub(BEFORE)..at).unwrap_or_default().join(" ").to_lowercase();
        let behind = words.get(at + 1..(at + 1 + BEHIND).min(words.len())).unwrap_or_default();
        // Within its clause.
        let end = behind.iter().position(|word| word.ends_with([',', ';'])).map_or(behind.len(), |at| at + 1);
        let behind = behind.get(..end).unwrap_or_default();
        let is_superlative = begins(word, &[SUPERLATIVE]);
        let is_after = |pair: &[&str]| {
            matches!(pair, [after, name] if ["after", "после", "після"].contains(after)
                && name.starts_with(char::is_uppercase) && !name.contains(['\'', '\u{2019}']))
        };
        // "Самый сильный с 2010 года".
        let is_from_year = |pair: &[&str]| {
            matches!(pair, ["с" | "з" | "із", year] if year.starts_with(|c: char| c.is_ascii_digit()) && only_here(year))
        };
        ONE_OF.iter().any(|phrase| before.contains(phrase) && only_here(phrase))
            || SECOND.iter().any(|second| (before.ends_with(second) || word.starts_with(second)) && only_here(second))
                && is_superlative
            || behind.contains(&"since") && only_here("since")
            || is_superlative && behind.windows(2).any(is_from_year)
            || is_superlative
                && behind.windows(2).any(is_after)
                && !SECOND.iter().any(|second| own.contains(second))
                && only_here(" after ")
                && only_here(" после ")
                && only_here(" після ")
    })
}

fn begins(word: &str, lists: &[&str]) -> bool {
    let word = word.to_lowercase();
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let bare = bare.rsplit('-').next().unwrap_or(bare);
    if lists.contains(&SUPERLATIVE) && bare.len() > 4 && bare.ends_with("est") {
        return !NOT_MOST.split_whitespace().any(|known| known == bare);
    }
    lists.iter().any(|list| list.split_whitespace().any(|beginning| word.starts_with(beginning)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_and_one_of_several_are_not_the_first() {
        let narrowed = |claim: &str, text: &str| {
            let language = if has_cyrillic(claim) { "uk" } else { "en" };
            let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
            let (claim, passage) = (profile(claim), profile(text));
            passage.sentences.iter().any(|sentence| is_one_of_several(&claim, &passage, sentence))
        };
        let deadliest = "It was the deadliest fire in Greece.";
        for (claim, text) in [
            (deadliest, "It was the deadliest fire in Greece since 2018."),
            (deadliest, "It was one of the deadliest fires in Greece."),
            (deadliest, "It was the second deadliest fire in Greece."),
            ("The Danube is the longest river.", "The Danube is the second-longest river."),
            ("Шторм стал самым сильным.", "Шторм стал самым сильным с 2010 года."),
            ("Компания стала самой крупной.", "Компания стала одной из самых крупных."),
            ("Найстаріший дуб упав у Закарпатті.", "Один із найстаріших дубів упав у Закарпатті."),
            ("Львів став найбільшим містом.", "Львів став найбільшим містом після Києва."),
        ] {
            assert!(narrowed(claim, text), "{text}");
        }
        for (claim, text) in [
            (deadliest, "It was the deadliest fire in Greece, officials said."),
            ("Macron made his first visit to Kyiv.", "Macron made his first visit to Kyiv after Friday's attack."),
            (
                "Norway is the largest producer in Europe.",
                "Norway is the largest producer in Europe and one of the largest in the world.",
            ),
            ("Everest is the highest mountain.", "Everest is the highest mountain; K2 is the second highest."),
            ("The bridge fell.", "The bridge fell, one of several this year."),
            (
                "The First Minister of Scotland resigned.",
                "The First Minister of Scotland, in office since 2023, resigned.",
            ),
            (
                "Germany's largest bank fired 3,500 people.",
                "Germany's largest bank fired 3,500 people, one of its directors said.",
            ),
            (
                "Taylor Swift released her first album.",
                "Taylor Swift, one of the best-selling musicians, released her first album.",
            ),
        ] {
            assert!(!narrowed(claim, text), "{text}");
        }
    }
}
