//! Sentences that repeat a claim and do not state it: denials, debunks, rumours, questions, films, plans.
//!
//! A judge of words sees the claim there, word for word, and a small model too. What keeps the sentence from stating it is
//! mostly one word outside the claim's: where that stands, no judge takes a side on this sentence's account. Only words that
//! leave no doubt are listed: "suggests" and "may" are how studies speak.

use crate::numbers::{Occasions, Recurrence};
use crate::profile::{SentenceProfile, Spoken, TextProfile};
use corroborate_domain::evidence::StanceProbabilities;
use corroborate_language::word_list::WordList;
use corroborate_language::{cut, verbs};

use super::apart::{is_counted_elsewhere, is_elsewhere, is_of_another_day, is_of_another_group, is_of_long_before};
use super::beside::UNDECIDED;
use super::exchanged::{is_exchanged, is_opposed};
use super::lexicon::{debunked, hedged};
use super::months::is_of_another_month;
use super::narrowing::is_one_of_several;
use super::phrases::{CONJUNCTIONS, DENIALS, FRAMES, GOVERNING, INVENTED, NEGATIONS, PHRASES, VERDICTS};
use super::structure::agree_in_denial;
use super::takeback::is_taken_back;
use super::{coverage_of_sentence, sentence_coverage};

/// Share of the claim's words from which a sentence repeats it.
const REPEATS: f64 = 0.5;
/// Sentences that hold nearly as many of its words as the best one could be what a judge goes by as well.
const NEARLY: f64 = 0.85;
/// Another year's speaks against the claim, and refutes nothing by itself where the same may have come about twice.
const MAY_BE_ANOTHER: f64 = 0.65;
/// A verdict beside a repeated claim is hardly more than its word: "Our rating: False.", "This is fake." Words.
const SHORT: usize = 3;

/// Which sides a passage's own words keep a judge from.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reserve {
    /// The most it may support: less where it repeats the claim without stating it.
    entail: f64,
    /// The most it may contradict: less where it tells that somebody denies the claim, or speaks of another place or occasion.
    contradict: f64,
}

/// The probabilities as far as the passage's own words allow: a side that they forbid stays under the 0.5 from which a passage
/// takes one.
pub fn reserved(claim: &TextProfile, passage: &TextProfile, given: StanceProbabilities) -> StanceProbabilities {
    let reserve = reserve(claim, passage);
    let (entail, contradict) = (given.entail.min(reserve.entail), given.contradict.min(reserve.contradict));
    if (entail, contradict) == (given.entail, given.contradict) {
        return given;
    }
    StanceProbabilities { entail, contradict, neutral: (1.0 - entail - contradict).max(0.0) }
}

/// Whether a passage states a text as a fact, as far as rules tell: its sentences with most of the text's words deny no more and
/// no less than that does, one says it without reserve, and nothing in the passage takes it back.
pub fn is_stated_in(text: &TextProfile, passage: &TextProfile) -> bool {
    let says = |(at, sentence): (usize, &SentenceProfile)| {
        coverage_of_sentence(text, passage, sentence) >= REPEATS
            && !hedged(sentence, text)
            && !debunked(sentence, text)
            && states(text, passage, at)
    };
    let speaks_of_it = |sentence: &&SentenceProfile| coverage_of_sentence(text, passage, sentence) >= REPEATS;
    let is_left_standing = |sentence: &SentenceProfile| agree_in_denial(text, sentence) && !debunked(sentence, text);
    reserve(text, passage).entail >= 1.0
        && passage.sentences.iter().filter(speaks_of_it).all(is_left_standing)
        && passage.sentences.iter().enumerate().any(says)
}

fn reserve(claim: &TextProfile, passage: &TextProfile) -> Reserve {
    let coverage: Vec<f64> = passage.sentences.iter().map(|sentence| sentence_coverage(claim, sentence)).collect();
    let best = coverage.iter().copied().fold(0.0, f64::max);
    let kept = |is_kept: bool, most: f64| if is_kept { most } else { 1.0 };
    let repeating: Vec<usize> =
        coverage.iter().enumerate().filter(|(_, share)| **share >= NEARLY * best).map(|(at, _)| at).collect();
    let occasions = Occasions::new(claim, passage);
    let all = |keeps: &dyn Fn(usize) -> bool| repeating.iter().all(|at| keeps(*at));
    let another = |at: usize| {
        let own = passage.sentences.get(at)?;
        let month = || is_of_another_month(claim, passage, own).then_some(Recurrence::Unknown);
        occasions.another(own).or_else(month)
    };
    let is_apart = |own: &SentenceProfile| {
        is_not_yet(claim, passage, own)
            || is_of_another_group(claim, own)
            || is_counted_elsewhere(claim, passage, own)
            || is_of_long_before(claim, passage, own)
    };
    let is_silent = is_elsewhere(claim, passage)
        || is_of_another_day(claim, passage)
        || all(&|at| another(at) == Some(Recurrence::Again) || passage.sentences.get(at).is_some_and(is_apart));
    if best < REPEATS {
        return Reserve { entail: 1.0, contradict: kept(is_silent, UNDECIDED) };
    }
    let is_silent = is_silent
        || all(&|at| passage.sentences.get(at).is_some_and(|own| tells_denial(claim, own) && !denies(claim, own)));
    let is_another = all(&|at| another(at).is_some());
    let contradict = kept(is_silent, UNDECIDED).min(kept(is_another, MAY_BE_ANOTHER));
    Reserve { entail: kept(is_another || all(&|at| !states(claim, passage, at)), UNDECIDED), contradict }
}

/// Whether the sentence at a place states what it repeats, as far as words outside the claim tell.
fn states(claim: &TextProfile, passage: &TextProfile, at: usize) -> bool {
    let Some(sentence) = passage.sentences.get(at) else { return true };
    let asked = sentence.question && claim.sentences.iter().all(|own| !own.question);
    let verdict = |other: Option<&SentenceProfile>| other.is_some_and(|other| is_verdict(claim, other));
    let beside_verdict =
        verdict(at.checked_sub(1).and_then(|at| passage.sentences.get(at))) || verdict(passage.sentences.get(at + 1));
    !(asked
        || beside_verdict
        || is_taken_back(claim, passage, at)
        || is_one_of_several(claim, passage, sentence)
        || has_frame(claim, sentence)
        || tells_denial(claim, sentence)
        || is_denied_clause(claim, sentence)
        || is_not_confirmed(claim, sentence)
        || is_wished(claim, sentence)
        || is_opposed(claim, sentence)
        || is_exchanged(claim, passage, sentence)
        || is_of_another_group(claim, sentence)
        || is_yet_to_be(claim, sentence))
}

fn says(claim: &TextProfile, beginning: &str) -> bool {
    claim.sentences.iter().flat_map(|own| &own.spoken).any(|word| word.text.starts_with(beginning))
}

/// Whether a sentence has a word of a list, no name, of whose entry the claim has none.
pub(super) fn begins(claim: &TextProfile, sentence: &SentenceProfile, list: &WordList) -> bool {
    sentence.spoken.iter().any(|word| !word.name && list.has(&word.text) && !says_too(claim, list, &word.text))
}

/// Whether the claim has a word of the same entry.
fn says_too(claim: &TextProfile, list: &WordList, word: &str) -> bool {
    let mut own = claim.sentences.iter().flat_map(|own| &own.spoken).filter(|own| !own.name);
    own.any(|own| list.is_same_entry(&own.text, word))
}

fn spoken_words(text: &SentenceProfile) -> Vec<&str> {
    text.spoken.iter().map(|word| word.text.as_str()).collect()
}

/// Words between a governing word and the claim's clause.
const NEAR: usize = 4;

fn has_frame(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let words = spoken_words(sentence);
    let own: Vec<&str> = claim.sentences.iter().flat_map(spoken_words).collect();
    let opening = INVENTED.phrase_at(&words);
    begins(claim, sentence, &FRAMES)
        || begins(claim, sentence, &PHRASES)
        || PHRASES.has_phrase_beside(&words, &own)
        || opening > 0 && INVENTED.has_phrase_beside(words.get(..opening).unwrap_or_default(), &own)
        || is_governed(claim, sentence)
}

/// "Accused Kyiv of", "rumours that X", "отказался арестовать": a governing word right before the claim's words, with a conjunction or
/// an infinitive between.
fn is_governed(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let frames = sentence
        .spoken
        .iter()
        .enumerate()
        .filter(|(_, word)| GOVERNING.has(&word.text) && !says_too(claim, &GOVERNING, &word.text));
    frames.into_iter().any(|(at, _)| {
        let behind = sentence.spoken.get(at + 1..(at + 1 + NEAR).min(sentence.spoken.len())).unwrap_or_default();
        let joined = behind.iter().position(|word| CONJUNCTIONS.contains(&word.text.as_str()) || word.text == "to");
        let infinitive = || {
            let ends = ["ать", "ить", "еть", "ять", "уть", "ти"];
            behind
                .iter()
                .find(|word| word.content)
                .is_some_and(|word| ends.iter().any(|ending| word.text.ends_with(ending)) && claim.has_stem(&word.stem))
        };
        let shared_behind = |from: usize| {
            let rest = sentence.spoken.get(at + 1 + from..).unwrap_or_default();
            rest.iter().filter(|word| word.content).take(3).any(|word| claim.has_stem(&word.stem))
        };
        joined.is_some_and(shared_behind) || infinitive()
    })
}

/// Whether the sentence tells that somebody denies it: that settles it for neither side.
fn tells_denial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    begins(claim, sentence, &DENIALS)
}

/// Whether the sentence itself denies a word of the claim: "was not arrested; his agent denied it".
fn denies(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    sentence.denials.iter().any(|denial| denial.reached.iter().any(|stem| claim.has_stem(stem)))
}

fn is_verdict(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ends = |last: &Spoken| VERDICTS.has(&last.text) && !says(claim, &last.text);
    sentence.spoken.len() <= SHORT && !sentence.question && sentence.spoken.last().is_some_and(ends)
}

/// "The ministry did not confirm that X", "Ни один источник не сообщил, что X": a denial before the clause that holds the claim.
fn is_denied_clause(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let spoken = &sentence.spoken;
    let Some(joint) = spoken.iter().position(|word| CONJUNCTIONS.contains(&word.text.as_str())) else { return false };
    let (before, behind) = spoken.split_at(joint);
    let denies = before.iter().any(|word| NEGATIONS.contains(&word.text.as_str()) || word.text.ends_with("n't"));
    let shared = |words: &[Spoken]| words.iter().filter(|word| word.content && claim.has_stem(&word.stem)).count();
    let claim_denies = claim.sentences.iter().any(|own| !own.denials.is_empty());
    denies && !claim_denies && shared(behind) > shared(before)
}

/// "The committee advises that the house should X", "рекомендует, чтобы Рада X": what is wished is not done.
fn is_wished(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    const WISHES: &[&str] = &["чтобы", "чтоб", "щоб", "аби"];
    let has = |own: &SentenceProfile| own.spoken.iter().position(|word| WISHES.contains(&word.text.as_str()));
    let Some(joint) = has(sentence).filter(|_| claim.sentences.iter().all(|own| has(own).is_none())) else {
        return false;
    };
    let (before, behind) = sentence.spoken.split_at(joint);
    let shared = |words: &[Spoken]| words.iter().filter(|word| word.content && claim.has_stem(&word.stem)).count();
    shared(behind) > shared(before)
}

/// "… не соответствует действительности", "… was not confirmed".
fn is_not_confirmed(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    const HOLDS: [&str; 5] = ["соответств", "подтвер", "підтвер", "відповіда", "confirm"];
    HOLDS.iter().any(|beginning| {
        let at = sentence.spoken.iter().position(|word| word.text.starts_with(beginning));
        let before = at.and_then(|at| sentence.spoken.get(at.saturating_sub(2)..at)).unwrap_or_default();
        before.iter().any(|word| NEGATIONS.contains(&word.text.as_str()) || word.text.ends_with("n't"))
            && !says(claim, beginning)
    })
}

/// Whether the passage is from before the day of the claim, and the sentence tells of what had not come about yet: that says nothing of
/// what came.
fn is_not_yet(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    const YET: &[&str] = &[
        " not yet",
        " yet to",
        " still not",
        " пока не",
        " ещё не",
        " еще не",
        " до сих пор не",
        " поки не",
        " поки що не",
        " ще не",
        " досі не",
    ];
    let Some((claimed, published)) = claim.reference.zip(passage.reference) else { return false };
    let text = format!(" {}", cut(&passage.text, sentence.start, sentence.end).to_lowercase());
    let own = claim.text.to_lowercase();
    published.date_naive() < claimed.date_naive() && YET.iter().any(|yet| text.contains(yet) && !own.contains(yet))
}

/// Whether the claim tells as done what the sentence says will be, or is to be: "signed" and "will sign", "получила" and "получит".
fn is_yet_to_be(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let done =
        claim.sentences.iter().flat_map(|own| &own.spoken).filter(|word| word.content && verbs::is_past(&word.text));
    done.into_iter().any(|word| {
        let mut same = sentence.spoken.iter().enumerate().filter(|(_, other)| other.stem == word.stem).peekable();
        same.peek().is_some() && same.all(|(at, other)| is_ahead(sentence, at, other))
    })
}

fn is_ahead(sentence: &SentenceProfile, at: usize, word: &Spoken) -> bool {
    /// "Будет построен", "має бути збудований".
    const TO_BE: &[&str] = &["будет", "будут", "буде", "будуть", "быть", "бути"];
    const ENDINGS: [&str; 13] =
        ["ит", "ет", "ёт", "ят", "ут", "ить", "ать", "еть", "уть", "ится", "иться", "ують", "ує"];
    const PRESENT: [&str; 7] = ["ает", "яет", "ают", "вует", "вуют", "вує", "вують"];
    /// And these, without a prefix that makes a future of them ("рисуют", "побудують").
    const PRESENT_ALONE: [&str; 4] = ["ует", "уют", "ує", "ують"];
    const PREFIXES: [&str; 16] =
        ["по", "с", "з", "от", "від", "про", "на", "за", "вы", "ви", "раз", "роз", "под", "під", "пере", "о"];
    /// What looks like the present and is not.
    const PERFECTIVE: &[&str] = &[
        "сделает",
        "сделают",
        "сыграет",
        "сыграют",
        "узнает",
        "узнают",
        "потеряет",
        "потеряют",
        "отримає",
        "отримають",
        "зіграє",
        "зіграють",
        "обіграє",
        "дізнається",
        "дізнаються",
    ];
    const LEADING: &[&str] = &["will", "would", "could", "may", "might", "shall", "won't"];
    const INTENT: &[&str] = &[
        "due",
        "plan",
        "plans",
        "planned",
        "planning",
        "set",
        "expected",
        "expects",
        "wants",
        "want",
        "ready",
        "about",
        "prepares",
        "prepared",
        "preparing",
        "intends",
        "hopes",
        "agreed",
    ];
    let text = word.text.as_str();
    if !text.is_ascii() {
        let is_noun = word.text == word.stem;
        let before = sentence.spoken.get(at.saturating_sub(2)..at).unwrap_or_default();
        if PERFECTIVE.contains(&text) || before.iter().any(|word| TO_BE.contains(&word.text.as_str())) {
            return true;
        }
        let has_prefix = || PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        let is_present = PRESENT.iter().any(|ending| text.ends_with(ending))
            || PRESENT_ALONE.iter().any(|ending| text.ends_with(ending)) && !has_prefix();
        return !is_noun && !is_present && ENDINGS.iter().any(|ending| text.ends_with(ending));
    }
    let before =
        |back: usize| at.checked_sub(back).and_then(|at| sentence.spoken.get(at)).map_or("", |word| word.text.as_str());
    let will = LEADING.contains(&before(1)) || LEADING.contains(&before(2)) && before(1) != "to";
    let to = before(1) == "to" && INTENT.contains(&before(2));
    !text.ends_with("ed") && (will || to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: StanceProbabilities = StanceProbabilities { entail: 0.9, contradict: 0.05, neutral: 0.05 };
    const AGAINST: StanceProbabilities = StanceProbabilities { entail: 0.05, contradict: 0.9, neutral: 0.05 };

    fn after(claim: &str, passage: &str, given: StanceProbabilities) -> StanceProbabilities {
        let language = match corroborate_language::has_cyrillic(claim) {
            true if claim.contains('і') => "uk",
            true => "ru",
            false => "en",
        };
        let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
        reserved(&profile(claim), &profile(passage), given)
    }

    #[test]
    fn what_only_repeats_a_claim_does_not_bear_it_out() {
        let left = "Украинские войска оставили Покровск.";
        let cross = "Ukrainian troops left Pokrovsk.";
        for (claim, passage) in [
            (left, "Генштаб не подтвердил, что украинские войска оставили Покровск."),
            (left, "Информация о том, что украинские войска оставили Покровск, не соответствует действительности."),
            (left, "Неверно, что украинские войска оставили Покровск."),
            (left, "Это дезинформация: украинские войска оставили Покровск."),
            (left, "Песков назвал ложью сообщения, что украинские войска оставили Покровск."),
            (left, "Ни один источник не сообщил, что украинские войска оставили Покровск."),
            (left, "Нет доказательств того, что украинские войска оставили Покровск."),
            (left, "Российская пропаганда пишет, что украинские войска оставили Покровск."),
            ("Украина получила самолёты F-16.", "Украина получит самолёты F-16 летом."),
            ("У Львові побудували новий міст.", "У Львові побудують новий міст."),
            ("У Львові побудували новий міст.", "У Львові побудує новий міст приватна компанія."),
            ("Суд арестовал мэра Одессы.", "Суд отказался арестовать мэра Одессы."),
            (cross, "Rating: False. Ukrainian troops left Pokrovsk."),
            (cross, "The ministry called reports that Ukrainian troops left Pokrovsk a hoax."),
            (cross, "There is no evidence that Ukrainian troops left Pokrovsk."),
            (cross, "Is it true that Ukrainian troops left Pokrovsk?"),
            (cross, "In the film Ukrainian troops left Pokrovsk."),
            (cross, "Moscow spread rumours that Ukrainian troops left Pokrovsk."),
            ("Russia signed the treaty with Iran.", "Russia will sign the treaty with Iran in May."),
            ("Russia signed the treaty with Iran.", "Russia is due to sign the treaty with Iran."),
        ] {
            assert!(after(claim, passage, SURE).entail < 0.6, "{passage}");
        }
    }

    #[test]
    fn what_states_it_keeps_its_side() {
        for (claim, passage) in [
            ("Украинские войска оставили Покровск.", "Генштаб подтвердил, что украинские войска оставили Покровск."),
            (
                "Украинские войска оставили Покровск.",
                "Украинские войска оставили Покровск, сообщил Генштаб. Слухи об этом шли давно.",
            ),
            ("Russia signed the treaty with Iran.", "Russia signed the treaty with Iran, which it will ratify in May."),
            ("The report that Iraq had weapons was a hoax.", "The report that Iraq had weapons was a hoax."),
            ("Trump was found guilty of fraud.", "Trump was found guilty of fraud over alleged hush money payments."),
            ("Matthew Perry died at 54.", "Matthew Perry, who starred in the series Friends, died at 54."),
            ("SpaceX launched Starship.", "SpaceX managed to launch Starship."),
            ("Zelensky fired Valery Zaluzhny.", "Zelensky fired Valery Zaluzhny. Fake images spread online."),
            ("Суд признал Трампа виновным.", "Суд признал Трампа виновным по всем пунктам обвинения."),
            ("Суд выдал ордер на арест Путина.", "Суд выдает ордер на арест Путина."),
            ("Smoking causes cancer.", "Studies suggest that smoking causes cancer and may cause strokes."),
            ("Armenia did not confirm the deal.", "Officials said that Armenia did not confirm the deal."),
        ] {
            assert_eq!(after(claim, passage, SURE), SURE, "{passage}");
        }
    }

    #[test]
    fn another_year_refutes_only_what_happens_once() {
        for (claim, passage) in [
            (
                "Vladimir Putin visited Beijing in October 2023.",
                "Vladimir Putin visited Beijing in September 2025 for a parade.",
            ),
            (
                "Boeing delivered 348 aircraft in 2024.",
                "Boeing delivered 600 aircraft in 2025, its best year since 2018.",
            ),
            ("Inflation in Turkey was 44.4% in 2024.", "Inflation in Turkey was 30.9% in 2025."),
            ("Harlow's profit was $3.1 billion in 2024.", "Harlow's profit was $4.0 billion in 2025."),
            (
                "Jannik Sinner won the Australian Open in January 2024.",
                "Jannik Sinner won the Australian Open in January 2025.",
            ),
            ("There were 61,070 measles cases in 2023.", "There were 127,350 measles cases in 2024."),
            ("Toyota recalled 440,000 cars in March 2025.", "Toyota recalled 394,000 cars in October 2025."),
        ] {
            assert!(after(claim, passage, AGAINST).contradict < 0.6, "{passage}");
        }
        for (claim, passage) in [
            ("The treaty was ratified in 1958.", "The treaty was ratified in 1957."),
            ("Marie Curie died in 1930.", "Marie Curie died in 1934."),
            ("Macron resigned on Monday.", "Macron resigned on Wednesday."),
            ("Putin visited Beijing in October 2023.", "Putin did not visit Beijing in October 2023."),
        ] {
            assert_eq!(after(claim, passage, AGAINST), AGAINST, "{passage}");
        }
    }

    #[test]
    fn a_denial_and_another_place_refute_nothing() {
        for (claim, passage) in [
            ("Lance Armstrong used banned drugs.", "Lance Armstrong denied that he used banned drugs."),
            (
                "A mosque was set on fire in Birmingham.",
                "In Malmö in Sweden a fire broke out in a school, police said.",
            ),
        ] {
            assert!(after(claim, passage, AGAINST).contradict < 0.6, "{passage}");
        }
        for (claim, passage) in [
            ("Barack Obama was born in Kenya.", "Barack Obama was born in Hawaii."),
            ("Tom Hanks was arrested.", "Tom Hanks was not arrested; his agent denied the reports."),
            ("The treaty was signed in Vienna.", "The treaty was signed in Rome in 1957."),
            ("A mosque was set on fire in Birmingham.", "No mosque was set on fire in Birmingham, police said."),
        ] {
            assert_eq!(after(claim, passage, AGAINST), AGAINST, "{passage}");
        }
    }
}
