//! The dates of a claim against those of a passage, where both date the same event.

use crate::judging::profile::{SentenceProfile, TextProfile};
use crate::judging::stance;
use crate::language::tokens;

use super::Found;
use super::periods::Dated;
use super::subject::Subject;

/// Share of the claim's words that the sentence of a date must hold before the date may be called another one: a sentence
/// may date something else in passing, and events recur.
const SAME_EVENT: f64 = 0.6;

/// One date of the claim: agreement with a date of a sentence about the same thing settles it; else it differs from the
/// one date of a sentence that is of the same event.
pub(super) fn date<'a>(
    ours: &Dated<'_>,
    claim: &TextProfile,
    passage: &TextProfile,
    theirs: &[Dated<'a>],
    subject: &Subject<'_>,
) -> Option<Found<'a>> {
    let mut differing = None;
    let event = event(ours, claim);
    let is_name = is_of_a_name(ours, claim);
    for sentence in &passage.sentences {
        let inside: Vec<&Dated<'a>> =
            theirs.iter().filter(|date| (sentence.start..sentence.end).contains(&date.start)).collect();
        if inside.is_empty() || !subject.is_of(sentence) {
            continue;
        }
        if inside.iter().any(|date| ours.period.borne_out_by(&date.period) == Some(true)) {
            return Some(Found::Agrees);
        }
        if claim.dates.len() == 1
            && !is_name
            && let Some(date) = date_of(event.as_deref(), &inside, sentence, passage)
            && ours.period.borne_out_by(&date.period) == Some(false)
            && stance::sentence_coverage(claim, sentence) >= SAME_EVENT
        {
            differing = differing.or(Some(Found::Differs(date.mention.text.as_str())));
        }
    }
    differing
}

/// The stem of the word that says what is dated: the nearest before the date that is neither a name nor a figure. `None`
/// where the claim begins with its date, or has it as an adjective ("is a 1969 film").
fn event(date: &Dated<'_>, claim: &TextProfile) -> Option<String> {
    let sentence = claim.sentences.iter().find(|own| (own.start..own.end).contains(&date.start))?;
    let before =
        claim.text.get(sentence.start..date.start).filter(|words| !matches!(last_word(words), Some("a" | "an")))?;
    let is_name = |stem: &String| claim.name_stems.iter().flatten().any(|name| name == stem);
    content(before, claim).into_iter().rev().find(|stem| !is_name(stem))
}

/// "Blade Runner 2049": a year right behind a name is part of it, and dates nothing.
fn is_of_a_name(date: &Dated<'_>, claim: &TextProfile) -> bool {
    let last = claim.text.get(..date.start).and_then(last_word);
    last.is_some_and(|last| {
        tokens::content_stems(last, claim.language.as_deref())
            .iter()
            .any(|stem| claim.name_stems.iter().flatten().any(|name| name == stem))
    })
}

fn last_word(words: &str) -> Option<&str> {
    words.split_whitespace().next_back()
}

fn content(words: &str, text: &TextProfile) -> Vec<String> {
    let tokens = tokens::tokens(words, text.language.as_deref()).into_iter();
    tokens.filter(|token| !token.stop && !token.number).map(|token| token.stem).collect()
}

/// The one date of the sentence that is of that event: "founded in 1994, and sold in 2002" dates a founding and a sale.
/// `None` where it may be either of two, or where the sentence has the event elsewhere than with its date.
fn date_of<'d, 'a>(
    event: Option<&str>,
    inside: &[&'d Dated<'a>],
    sentence: &SentenceProfile,
    passage: &TextProfile,
) -> Option<&'d Dated<'a>> {
    let Some(event) = event else {
        return if let [only] = inside { Some(only) } else { None };
    };
    let is_of = |position: usize| {
        let from = position.checked_sub(1).and_then(|last| inside.get(last)).map_or(sentence.start, |last| last.end);
        let to = inside.get(position + 1).map_or(sentence.end, |next| next.start);
        let date = inside.get(position)?;
        let words = passage.text.get(from..date.start)?;
        let before = content(words, passage);
        // "In 1994 it was founded", "is a 1994 film directed by", "the 1994 flood": where a date comes first, or stands as an
        // adjective, what it dates follows.
        let follows = || content(passage.text.get(date.end..to).unwrap_or_default(), passage);
        let of_date = match last_word(words) {
            Some("the") => before.into_iter().chain(follows()).collect(),
            Some("a" | "an") => follows(),
            _ if before.is_empty() => follows(),
            _ => before,
        };
        of_date.iter().any(|stem| stem == event).then_some(*date)
    };
    let mut found = (0..inside.len()).filter_map(is_of);
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;

    fn agrees(claim: &str, passage: &str) -> Option<bool> {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        compare(&profile(claim), &profile(passage)).num_ok
    }

    #[test]
    fn a_sentence_with_two_dates_has_one_for_each_event() {
        let passage =
            "Gray Matter Studios was a game developer founded in 1994, and acquired by Activision in January 2002.";
        let rows = [
            ("Gray Matter Studios was founded in 1995.", Some(false)),
            ("Gray Matter Studios was founded in 1994.", Some(true)),
            ("Gray Matter Studios was acquired by Activision in 2003.", Some(false)),
            ("Gray Matter Studios was sold in 2005.", None),
        ];
        for (claim, expected) in rows {
            assert_eq!(agrees(claim, passage), expected, "{claim}");
        }
    }

    #[test]
    fn the_date_of_another_event_is_no_other_date() {
        let siege = "The Siege of Fort Stanwix began on August 2, 1777, and ended in the same month.";
        assert_eq!(agrees("The Siege of Fort Stanwix ended on August 22, 1777.", siege), None);
        let sequel = "It is the sequel to 1982's Blade Runner and stars Ryan Gosling.";
        assert_eq!(agrees("Ryan Gosling stars in Blade Runner 2049.", sequel), None);
        // A date that stands first dates what follows it.
        let first = "In 1994 the bridge over the Dnipro was opened.";
        assert_eq!(agrees("The bridge over the Dnipro was opened in 1995.", first), Some(false));
        let adjective = "Gray Matters is a 2006 comedy film directed by Sue Kramer.";
        assert_eq!(agrees("Gray Matters was directed by Sue Kramer in 2001.", adjective), Some(false));
        assert_eq!(agrees("Gray Matters is a 2001 comedy film.", adjective), Some(false));
        // Twice the same event.
        let twice = "The bridge over the Dnipro was opened in 1934 and opened again in 1944.";
        assert_eq!(agrees("The bridge over the Dnipro was opened in 1954.", twice), None);
    }
}
