//! Decides whether an English sentence gives two names each other's role: "A bought B", "B bought A". Small models miss
//! this. By Russian and Ukrainian endings the rule cost support and prevented no error
//! (`docs/research/014-relation-and-statement-rules.md`).

use corroborate_language::lexicon::Words;
use corroborate_language::{has_cyrillic, stemming, stopwords, verbs};

use crate::profile::{SentenceProfile, TextProfile};

/// Verbs that hold in both directions.
static MUTUAL_VERBS: Words = Words::of("roles.mutual");
/// Verbs that another verb's passive supports: "A lost to B" and "A was beaten by B".
static SUFFERED_VERBS: Words = Words::of("roles.suffered");
static PASSIVE_WORDS: Words = Words::of("roles.passive");
/// Words before a place name.
static PLACE_PREPOSITIONS: Words = Words::of("roles.place");

/// Bytes from and to.
type Span = (usize, usize);

/// Letters that identify a name in another form: "Morovia", "Morovian".
const MIN_NAME_LETTERS: usize = 5;

fn words(text: &str) -> impl Iterator<Item = (Span, &str)> {
    let ends = text.char_indices().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, _)| at);
    let mut from = 0;
    ends.chain([text.len()]).filter_map(move |to| {
        let start = from;
        from = text.get(to..).and_then(|rest| rest.chars().next()).map_or(to, |c| to + c.len_utf8());
        text.get(start..to).filter(|word| !word.is_empty()).map(|word| ((start, to), word))
    })
}

/// Runs of capitalised words with their last word; also at a sentence's beginning.
fn capitalised(text: &str) -> Vec<(Span, &str)> {
    let is_name = |word: &str| word.starts_with(char::is_uppercase) && !stopwords::is_english(&word.to_lowercase());
    let mut runs: Vec<(Span, &str)> = Vec::new();
    for (span, word) in words(text).filter(|(_, word)| is_name(word)) {
        match runs.last_mut() {
            Some(run) if text.get(run.0.1..span.0) == Some(" ") => *run = ((run.0.0, span.1), word),
            _ => runs.push((span, word)),
        }
    }
    runs
}

/// The claim's first two names that both texts have, in the claim's order.
fn places(claim: &str, text: &str) -> Option<[(Span, Span); 2]> {
    let theirs = capitalised(text);
    let is_same = |ours: &str, other: &str| {
        let known: String = ours.chars().take(ours.chars().count().saturating_sub(1).max(MIN_NAME_LETTERS)).collect();
        ours == other || (known.chars().count() >= MIN_NAME_LETTERS && other.starts_with(&known))
    };
    let found = capitalised(claim).into_iter().filter_map(|(here, name)| {
        let there = theirs.iter().find(|(_, other)| is_same(name, other)).map(|(span, _)| *span)?;
        Some((here, there))
    });
    let found: Vec<(Span, Span)> = found.collect();
    found.first_chunk::<2>().copied().filter(|[one, other]| one.1 != other.1)
}

/// Whether an English sentence exchanges two names, with the same verb or a passive with agent.
pub(crate) fn are_exchanged(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let Some(text) = passage.text.get(sentence.start..sentence.end).filter(|text| !has_cyrillic(text)) else {
        return false;
    };
    let Some([(first, first_there), (second, second_there)]) = places(&claim.text, text) else { return false };
    let is_turned = first_there.0 > second_there.0;
    let (one, other) = if is_turned { (second_there, first_there) } else { (first_there, second_there) };
    let (Some(ours), Some(theirs)) = (claim.text.get(first.1..second.0), text.get(one.1..other.0)) else {
        return false;
    };
    let (our_words, their_words) = (verbs::words(ours), verbs::words(theirs));
    // "Was bought by Norvatel", "by carmaker Norvatel".
    let is_passive = |words: &[String]| {
        words.iter().any(|word| PASSIVE_WORDS.has(word)) && words.iter().rev().take(2).any(|word| word == "by")
    };
    let (ours_passive, theirs_passive) = (is_passive(&our_words), is_passive(&their_words));
    if ours_passive != theirs_passive {
        return !is_turned && !our_words.iter().any(|word| SUFFERED_VERBS.has(word));
    }
    let stem = |word: &String| stemming::stem(word, Some("en"));
    let is_shared = |word: &&String| {
        (verbs::is_finite(word) || word.ends_with('s'))
            && !MUTUAL_VERBS.has(word)
            && their_words.iter().any(|other| stem(other) == stem(word))
    };
    let before = |text: &str, at: usize| -> Option<String> {
        let last = verbs::words(text.get(..at).unwrap_or_default()).pop();
        last.filter(|word| PLACE_PREPOSITIONS.has(word))
    };
    // "In Verga, police arrested Oberlin" exchanges nothing of "Oberlin was arrested in Verga".
    is_turned
        && our_words.iter().any(|word| is_shared(&word))
        && before(&claim.text, first.0) == before(text, one.0)
        && before(&claim.text, second.0) == before(text, other.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> TextProfile {
        TextProfile::new(text, Some("en"), None, &[])
    }

    fn stated(claim: &str, passage: &str) -> bool {
        let (claim, passage) = (profile(claim), profile(passage));
        passage.sentences.iter().all(|own| !are_exchanged(&claim, &passage, own))
    }

    #[test]
    fn another_doer_states_another_thing() {
        for (claim, passage) in [
            ("Telisk acquired Norvatel for 5 billion euros.", "Norvatel acquired Telisk for 5 billion euros."),
            (
                "Telisk acquired Norvatel for 5 billion euros.",
                "Telisk has been bought by Norvatel for 5 billion euros.",
            ),
            (
                "Morovia sued Brimm over the Talva oil spill.",
                "Brimm has sued Morovia over the Talva oil spill clean-up.",
            ),
            ("A drone from Kastoria struck a depot in Morovia.", "A drone from Morovia struck a depot in Kastoria."),
        ] {
            assert!(!stated(claim, passage), "{passage}");
        }
        for (claim, passage) in [
            ("Telisk acquired Norvatel for 5 billion euros.", "Norvatel was acquired by Telisk for 5 billion euros."),
            ("Telisk acquired Norvatel.", "Norvatel was sold to Telisk on Monday."),
            ("Macron met Zelensky in Paris.", "Zelensky met Macron in Paris on Monday."),
            ("Karl Oberlin was arrested in Kyiv.", "In Kyiv, police arrested Karl Oberlin."),
            (
                "Kallas said Russia attacked Kyiv.",
                "Kallas, who is backed by the Estonian parliament, said Russia attacked Kyiv.",
            ),
            ("Russia said Ukraine attacked Belgorod.", "Ukraine attacked Belgorod, Russia said."),
            ("Arvel lost to Lindqvist.", "Arvel was beaten by Lindqvist in the final."),
        ] {
            assert!(stated(claim, passage), "{passage}");
        }
    }
}
