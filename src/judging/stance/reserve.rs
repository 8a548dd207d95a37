//! Sentences that repeat a claim and do not state it: denials, debunks, rumours, questions, films, plans.
//!
//! A judge of words sees the claim there, word for word, and a small model too. What keeps the sentence from stating it is
//! mostly one word outside the claim's: where that stands, no judge takes a side on this sentence's account. Only words that
//! leave no doubt are listed: "suggests" and "may" are how studies speak.

use crate::domain::evidence::StanceProbabilities;
use crate::judging::profile::{SentenceProfile, Spoken, TextProfile};
use crate::language::entities::EntityKind;
use crate::language::{cut, verbs};

use super::beside::UNDECIDED;
use super::{Names, sentence_coverage};

/// Share of the claim's words from which a sentence repeats it.
const REPEATS: f64 = 0.5;
/// Sentences that hold nearly as many of its words as the best one could be what a judge goes by as well.
const NEARLY: f64 = 0.85;
/// A verdict beside a repeated claim is hardly more than its word: "Our rating: False.", "This is fake." Words.
const SHORT: usize = 3;

/// Which sides a passage's own words keep a judge from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reserve {
    /// It repeats the claim without stating it.
    entail: bool,
    /// It tells that somebody denies the claim, or speaks of another place.
    contradict: bool,
}

/// The probabilities as far as the passage's own words allow: a side that they forbid stays under the 0.6 from which a passage
/// takes one.
pub fn reserved(claim: &TextProfile, passage: &TextProfile, given: StanceProbabilities) -> StanceProbabilities {
    let reserve = reserve(claim, passage);
    let cap = |share: f64, is_kept: bool| if is_kept { share.min(UNDECIDED) } else { share };
    let (entail, contradict) = (cap(given.entail, reserve.entail), cap(given.contradict, reserve.contradict));
    if (entail, contradict) == (given.entail, given.contradict) {
        return given;
    }
    StanceProbabilities { entail, contradict, neutral: (1.0 - entail - contradict).max(0.0) }
}

fn reserve(claim: &TextProfile, passage: &TextProfile) -> Reserve {
    let coverage: Vec<f64> = passage.sentences.iter().map(|sentence| sentence_coverage(claim, sentence)).collect();
    let best = coverage.iter().copied().fold(0.0, f64::max);
    let elsewhere = elsewhere(claim, passage);
    if best < REPEATS {
        return Reserve { entail: false, contradict: elsewhere };
    }
    let repeating: Vec<usize> =
        coverage.iter().enumerate().filter(|(_, share)| **share >= NEARLY * best).map(|(at, _)| at).collect();
    let all = |keeps: &dyn Fn(usize) -> bool| repeating.iter().all(|at| keeps(*at));
    Reserve {
        entail: all(&|at| !states(claim, passage, at)),
        contradict: elsewhere
            || all(&|at| passage.sentences.get(at).is_some_and(|own| tells_denial(claim, own) && !denies(claim, own))),
    }
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
        || has_frame(claim, passage, sentence)
        || tells_denial(claim, sentence)
        || is_denied_clause(claim, sentence)
        || is_not_confirmed(claim, sentence)
        || is_yet_to_be(claim, sentence))
}

fn says(claim: &TextProfile, beginning: &str) -> bool {
    claim.sentences.iter().flat_map(|own| &own.spoken).any(|word| word.text.starts_with(beginning))
}

/// Whether a sentence has a word that begins so, which the claim has not.
fn begins(claim: &TextProfile, sentence: &SentenceProfile, beginnings: &str) -> bool {
    beginnings
        .split_whitespace()
        .any(|beginning| sentence.spoken.iter().any(|word| word.text.starts_with(beginning)) && !says(claim, beginning))
}

/// Beginnings of words that call untrue, or a joke, what stands with them in one sentence.
const FRAMES: &str = "hoax fake debunk misinform disinform satir parod spoof fabricat baseless unfounded falsely falsehood untrue \
    неверн дезинформ ложь ложью лжи ложн фейк неправд выдум вымыс пароди сатир шутк шутил недостоверн ипсо врут врёт врет лгут лжёт лжет \
    представим представьте якобы маловероятн \
    дезінформ хибн невірн брехн брешут вигад пародій жарт недостовірн іпсо уявімо уявіть нібито малоймовірн";

/// Beginnings of words that do so for the clause they govern alone: "accused X of", "refused to". Elsewhere in the sentence they
/// are another story's.
const GOVERNING: &str = "accus refus claimed claims claiming alleg rumor rumour conspirac imagin propagand \
    слух обвин отказ утвержд пропаганд манипул чутк звинувач відмов стверджу пропаганд маніпул";

/// Words between a governing word and the claim's clause.
const NEAR: usize = 4;

/// Phrases, small letters, that say so of the whole sentence.
const PHRASES: &[&str] = &[
    "no evidence that",
    "no proof that",
    "is false",
    "was false",
    "are false",
    "a lie",
    "a myth",
    "posts claim",
    "posts say",
    "users claim",
    "нет доказательств того",
    "нет доказательств, что",
    "нет подтвержд",
    "немає доказів того",
    "немає доказів, що",
    "немає підтвердж",
];

/// Beginnings of sentences that tell of a film or a book.
const INVENTED: &[&str] = &[
    "in the film",
    "in the movie",
    "in the novel",
    "in the series",
    "в фильме",
    "в сериале",
    "в романе",
    "у фільмі",
    "у серіалі",
];

fn has_frame(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let text = cut(&passage.text, sentence.start, sentence.end).to_lowercase();
    let own = claim.text.to_lowercase();
    begins(claim, sentence, FRAMES)
        || PHRASES.iter().any(|phrase| text.contains(phrase) && !own.contains(phrase))
        || INVENTED.iter().any(|head| text.trim_start().starts_with(head) && !own.contains(head))
        || is_governed(claim, sentence)
}

/// "Accused Kyiv of", "rumours that X", "отказался арестовать": a governing word right before the claim's words, with a conjunction or
/// an infinitive between.
fn is_governed(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let frames = sentence.spoken.iter().enumerate().filter(|(_, word)| {
        GOVERNING.split_whitespace().any(|beginning| word.text.starts_with(beginning) && !says(claim, beginning))
    });
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

/// Beginnings of words by which somebody says that it is not so.
const DENIALS: &str = "denied denies denying denial deny отрица опроверг опроверж отверг спростов спростув запереч";

/// Whether the sentence tells that somebody denies it: that settles it for neither side.
fn tells_denial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    begins(claim, sentence, DENIALS)
}

/// Whether the sentence itself denies a word of the claim: "was not arrested; his agent denied it".
fn denies(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    sentence.denials.iter().any(|denial| denial.reached.iter().any(|stem| claim.has_stem(stem)))
}

/// Words of a verdict on a claim that stands beside it.
const VERDICTS: &str = "false fake hoax untrue misleading debunked фейк неправда ложь ложно манипуляция дезинформация выдумка \
    брехня маніпуляція дезінформація вигадка";

fn is_verdict(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let verdicts = VERDICTS.split_whitespace();
    let ends = |word: &str| sentence.spoken.last().is_some_and(|last| last.text == word) && !says(claim, word);
    sentence.spoken.len() <= SHORT && !sentence.question && verdicts.into_iter().any(ends)
}

const CONJUNCTIONS: &[&str] = &["that", "что", "будто", "що", "ніби", "начебто"];
const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "never",
    "nobody",
    "none",
    "neither",
    "не",
    "ни",
    "нет",
    "никто",
    "ні",
    "немає",
    "нема",
    "ніхто",
    "жоден",
    "жодне",
];

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
    const ENDINGS: [&str; 11] = ["ит", "ет", "ёт", "ят", "ут", "ить", "ать", "еть", "уть", "ится", "иться"];
    /// The present, and nouns that end like a verb.
    const PRESENT: [&str; 5] = ["ает", "яет", "ует", "ают", "уют"];
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
        return !is_noun
            && !PRESENT.iter().any(|ending| text.ends_with(ending))
            && ENDINGS.iter().any(|ending| text.ends_with(ending));
    }
    let before =
        |back: usize| at.checked_sub(back).and_then(|at| sentence.spoken.get(at)).map_or("", |word| word.text.as_str());
    let will = LEADING.contains(&before(1)) || LEADING.contains(&before(2)) && before(1) != "to";
    let to = before(1) == "to" && INTENT.contains(&before(2));
    !text.ends_with("ed") && (will || to)
}

/// Whether a claim of "a fire" somewhere is held against a passage that names other places only: another fire is no reason to
/// say that this one was not. What is one of its kind ("the treaty", "Euro 2024") has one place.
fn elsewhere(claim: &TextProfile, passage: &TextProfile) -> bool {
    let may_be_place = |kind: EntityKind| matches!(kind, EntityKind::Loc | EntityKind::Misc);
    let first = claim.sentences.first().and_then(|own| own.spoken.first()).map_or("", |word| word.text.as_str());
    matches!(first, "a" | "an")
        && passage.negations == 0
        && !claim.entities.is_empty()
        && claim.entities.iter().all(|name| may_be_place(name.kind))
        && passage.entities.iter().any(|name| may_be_place(name.kind))
        && Names::new(claim, passage).found() <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: StanceProbabilities = StanceProbabilities { entail: 0.9, contradict: 0.05, neutral: 0.05 };
    const AGAINST: StanceProbabilities = StanceProbabilities { entail: 0.05, contradict: 0.9, neutral: 0.05 };

    fn after(claim: &str, passage: &str, given: StanceProbabilities) -> StanceProbabilities {
        let language = if crate::language::has_cyrillic(claim) { "ru" } else { "en" };
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
