//! The words that keep a sentence from meaning what it repeats.

use crate::judging::profile::{SentenceProfile, TextProfile, Word};

/// Words that keep a sentence from stating what it says, unless the claim has them too.
const HEDGES: &[&str] = &[
    "if",
    "whether",
    "would",
    "could",
    "might",
    "may",
    "should",
    "unless",
    "almost",
    "nearly",
    "rumor",
    "rumour",
    "deny",
    "denies",
    "бы",
    "если",
    "якобы",
    "чтобы",
    "будто",
    "едва",
    "чуть",
    "может",
    "могут",
    "должен",
    "должны",
    "би",
    "якщо",
    "нібито",
    "щоб",
    "ледь",
    "може",
    "можуть",
    "se",
    "talvez",
    "poderia",
];

/// Beginnings of such words: saying, trying, wanting, promising, denying something is not its being so.
const HEDGE_BEGINNINGS: &[&str] = &[
    "claim",
    "alleg",
    "suppos",
    "rumors",
    "rumours",
    "denied",
    "denying",
    "denial",
    "unclear",
    "unproven",
    "unverif",
    "hypothe",
    "fiction",
    "propos",
    "plann",
    "hope",
    "expect",
    "fail",
    "refus",
    "attempt",
    "tried",
    "trying",
    "unlikely",
    "possibl",
    "potential",
    "suggest",
    "unknown",
    "promis",
    "urge",
    "demand",
    "threat",
    "intend",
    "accus",
    "suspect",
    "predict",
    "warn",
    "слух",
    "возможн",
    "вероятн",
    "отрица",
    "отриц",
    "опроверг",
    "планир",
    "предпол",
    "обеща",
    "утвержда",
    "попыт",
    "попытк",
    "пыта",
    "намерен",
    "собира",
    "допуска",
    "просьб",
    "просил",
    "просит",
    "призва",
    "призыв",
    "требу",
    "требов",
    "хотел",
    "хочет",
    "хотят",
    "подозрев",
    "обвиня",
    "угрож",
    "грозит",
    "чутк",
    "можлив",
    "ймовірн",
    "запереч",
    "спростув",
    "плану",
    "обіця",
    "стверджу",
    "намага",
    "спроб",
    "намір",
    "збира",
    "прохан",
    "просить",
    "заклика",
    "вимага",
    "хотів",
    "хоче",
    "хочуть",
    "підозрю",
    "звинувач",
    "погрож",
    "supost",
    "afirma",
    "promet",
    "tentou",
    "negou",
    "счита",
    "посчит",
    "дума",
    "увер",
    "наде",
    "опаса",
    "мнени",
    "вважа",
    "сподіва",
    "побою",
    "думк",
    "думає",
];

/// Words with which a sentence calls what it repeats untrue.
const DEBUNKS: &[&str] = &[
    "false",
    "falsely",
    "hoax",
    "debunked",
    "myth",
    "untrue",
    "fake",
    "fabricated",
    "misinformation",
    "disinformation",
    "baseless",
    "wrongly",
    "ложно",
    "ложь",
    "ложный",
    "ложные",
    "ложное",
    "фейк",
    "фейковая",
    "фейковое",
    "неправда",
    "миф",
    "выдумка",
    "неправдивий",
    "неправдива",
    "міф",
    "вигадка",
    "брехня",
    "falso",
    "falsa",
    "boato",
    "mentira",
];

/// Words that widen, order or turn a claim: where the claim has one, the passage must have it too. Most are function
/// words, which the coverage of content words does not see.
const QUANTIFIERS: &[&str] = &[
    "all",
    "always",
    "every",
    "everyone",
    "everybody",
    "only",
    "most",
    "entire",
    "first",
    "last",
    "both",
    "same",
    "ever",
    "solely",
    "exclusively",
    "все",
    "всегда",
    "каждый",
    "каждая",
    "только",
    "лишь",
    "весь",
    "вся",
    "первый",
    "первая",
    "последний",
    "усі",
    "всі",
    "завжди",
    "кожен",
    "кожна",
    "тільки",
    "лише",
    "перший",
    "перша",
    "останній",
    "todos",
    "todas",
    "sempre",
    "apenas",
    "primeiro",
    "primeira",
    "último",
    "última",
];

/// Beginnings of words that name a direction or an outcome. Where the claim has one and the sentence has not, it is never
/// the word that may be missing.
const DIRECTIONS: &[&str] = &[
    "increas",
    "decreas",
    "reduc",
    "rais",
    "rise",
    "rising",
    "rose",
    "fall",
    "fell",
    "drop",
    "grew",
    "grow",
    "shrink",
    "declin",
    "negativ",
    "positiv",
    "high",
    "low",
    "better",
    "worse",
    "activ",
    "deactiv",
    "inhibit",
    "promot",
    "prevent",
    "caus",
    "win",
    "won",
    "lost",
    "los",
    "lose",
    "support",
    "oppos",
    "accept",
    "reject",
    "alive",
    "open",
    "clos",
    "allow",
    "ban",
    "legal",
    "illeg",
    "guilti",
    "innoc",
    "larg",
    "small",
    "old",
    "young",
    "kill",
    "die",
    "dead",
    "resign",
    "вырос",
    "рост",
    "сниз",
    "упал",
    "паден",
    "увелич",
    "уменьш",
    "повыс",
    "пониз",
    "выигр",
    "проигр",
    "разреш",
    "запрет",
    "запрещ",
    "откры",
    "закры",
    "убит",
    "погиб",
    "умер",
    "зрос",
    "зниз",
    "впал",
    "збільш",
    "зменш",
    "підвищ",
    "дозвол",
    "заборон",
    "відкри",
    "закри",
    "виграл",
    "програл",
    "загинул",
    "помер",
    "aument",
    "diminu",
    "reduz",
    "proib",
    "permit",
    "narrowly",
    "avert",
    "avoid",
    "escap",
    "declin",
    "urg",
];

/// Whether the sentence says it with reserve and the claim does not.
pub(super) fn hedged(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    let reserve =
        |word: &str| HEDGES.contains(&word) || HEDGE_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
    let claim_too = |word: &str| claim.sentences.iter().flat_map(|own| &own.spoken).any(|own| own.text == word);
    sentence.spoken.iter().any(|word| reserve(&word.text) && !claim_too(&word.text))
}

/// Whether the sentence has such a word and the claim has none of them.
fn speaks_of(sentence: &SentenceProfile, claim: &TextProfile, words: &[&str]) -> bool {
    sentence.spoken.iter().any(|own| words.contains(&own.text.as_str()))
        && !words.iter().any(|word| spoken(claim, word))
}

fn spoken(text: &TextProfile, word: &str) -> bool {
    text.sentences.iter().any(|sentence| sentence.spoken.iter().any(|own| own.text == word))
}

/// Whether the sentence calls what it repeats untrue, and the claim does not.
pub(super) fn debunked(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    speaks_of(sentence, claim, DEBUNKS)
}

/// Whether the claim has a word that widens, orders or turns it, and the sentence has not.
pub(super) fn widened(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    QUANTIFIERS.iter().any(|word| spoken(claim, word) && !sentence.spoken.iter().any(|own| own.text == *word))
}

/// Whether a word names a direction or an outcome.
pub(in crate::judging) fn is_direction(word: &Word) -> bool {
    DIRECTIONS.iter().any(|beginning| word.stem.starts_with(beginning))
}

/// Words with which a claim speaks of a part only. What holds in general does not contradict it: that vaccines are safe
/// leaves some that are not.
const PARTIAL: &[&str] = &[
    "some",
    "certain",
    "few",
    "several",
    "sometimes",
    "occasionally",
    "rarely",
    "partly",
    "некоторые",
    "некоторых",
    "некоторым",
    "некоторая",
    "некоторый",
    "иногда",
    "порой",
    "отдельные",
    "отдельных",
    "часть",
    "деякі",
    "деяких",
    "деяким",
    "інколи",
    "іноді",
    "часом",
    "окремі",
    "окремих",
    "частина",
    "alguns",
    "algumas",
];

/// Words with which a sentence speaks of every one, and so of the part too.
const WHOLE: &[&str] = &[
    "no",
    "none",
    "never",
    "nobody",
    "nothing",
    "any",
    "all",
    "every",
    "each",
    "ни",
    "никакие",
    "никогда",
    "никто",
    "все",
    "всі",
    "усі",
    "ні",
    "жоден",
    "жодна",
    "жодної",
    "жодні",
    "ніколи",
    "ніхто",
    "nenhum",
    "nenhuma",
    "todos",
    "todas",
];

/// Whether the claim speaks of a part and the sentence neither of that part nor of every one.
pub(super) fn partial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let has = |word: &str| sentence.spoken.iter().any(|own| own.text == word);
    // "Above all, by …" speaks of no every one: the word must stand right before what the claim speaks of.
    let of_every_one = sentence.spoken.iter().enumerate().any(|(at, own)| {
        let mut next = sentence.spoken.iter().skip(at + 1).take(2);
        WHOLE.contains(&own.text.as_str()) && next.any(|word| word.content && claim.has_stem(&word.stem))
    });
    speaks_of_a_part(claim) && !of_every_one && !PARTIAL.iter().any(|word| has(word))
}

/// Whether a text speaks of a part only. "Some 300" and "a few 100" are figures.
pub(in crate::judging) fn speaks_of_a_part(text: &TextProfile) -> bool {
    text.sentences.iter().any(|sentence| {
        sentence.spoken.iter().enumerate().any(|(at, word)| {
            let counts = sentence
                .spoken
                .get(at + 1)
                .is_some_and(|next| next.text.chars().next().is_some_and(|c| c.is_ascii_digit()));
            PARTIAL.contains(&word.text.as_str()) && !counts
        })
    })
}
