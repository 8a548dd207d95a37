//! What a passage says of a claim, by rule: shared words and names, negation parity, antonyms, numbers, and who does
//! what to whom. Precise rather than eager: where the rules cannot tell, the passage is neutral.
//!
//! These rules know nothing of paraphrase. They are right about near-verbatim reports, plain denials and figures that
//! differ, which is what a daemon without a model can honestly claim to read.

use crate::domain::evidence::StanceProbabilities;
use crate::language::entities::Entity;
use crate::language::{negation, tokens, transliterate};

use super::agreement;
use super::numbers;
use super::profile::{Denial, SentenceProfile, TextProfile, Word};

/// Share of the claim's weighted words one sentence must hold to bear the claim out. Of a claim of six words, one
/// missing leaves about 0.83, and the missing one may be the one that matters.
const SUPPORT_COVERAGE: f64 = 0.80;
/// The same for a sentence that turns the claim round. The turning word is extra, so the rest must be nearly all there.
const DENIAL_COVERAGE: f64 = 0.85;
/// The same where an antonym stands in for one of the words.
const ANTONYM_COVERAGE: f64 = 0.72;
/// The same where only a figure differs: the figure is no word, so the words must carry the subject.
const FIGURE_COVERAGE: f64 = 0.62;

/// Ends of the ranges the rules give. Never 1: a rule that reads words has read no meaning.
const LEAST_SUPPORT: f64 = 0.6;
const MOST_SUPPORT: f64 = 0.92;
const LEAST_REFUTATION: f64 = 0.7;
const MOST_REFUTATION: f64 = 0.85;
/// A sentence that calls the claim a hoax contradicts it, yet may speak of another telling of it: it never refutes alone.
const DEBUNKING: f64 = 0.65;

/// An antonym in the claim's place contradicts it, yet leaves a third possibility, and directions compound ("decreased",
/// "increasing loss"): it never refutes alone either.
const ANTONYM: f64 = 0.65;

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
];

/// Judges one passage for one claim. `min_agreement` is the agreement under which nothing supports (0.65 by default).
pub fn rule_stance(claim: &TextProfile, passage: &TextProfile, min_agreement: f64) -> StanceProbabilities {
    let check = numbers::compare(claim, passage);
    let Some((sentence, shared)) = best_sentence(claim, passage) else {
        return StanceProbabilities::NEUTRAL;
    };
    let names = names_found(claim, passage);
    if claim.words.is_empty() || sentence.question || claim.sentences.iter().any(|own| own.question) || names < 1.0 {
        return open(shared);
    }
    let missing = |word: &&Word| sentence.stems.binary_search(&word.stem).is_err();
    let antonym = claim.words.iter().filter(missing).any(|word| has_antonym(word, claim, sentence));
    let parity = parity(claim, sentence);
    let denied = parity == Parity::Opposite || no_evidence(claim, sentence);
    let hedged = hedged(sentence, claim);
    let debunked = speaks_of(sentence, claim, DEBUNKS);
    let place = place(claim, sentence);
    if check.num_ok == Some(false) && shared >= FIGURE_COVERAGE && parity == Parity::Same && !antonym && !hedged {
        let judged = refuted(shared, FIGURE_COVERAGE);
        return numbers::apply(judged, &check);
    }
    if debunked && parity == Parity::Same && shared >= DENIAL_COVERAGE && place.together {
        return contradicted(DEBUNKING);
    }
    let turned_round = if antonym { parity == Parity::Same } else { denied };
    if turned_round && !hedged && !debunked {
        let enough = if antonym { ANTONYM_COVERAGE } else { DENIAL_COVERAGE };
        if shared >= enough && place.together && swapped_roles_in(claim, passage, sentence) != Some(true) {
            return if antonym { contradicted(ANTONYM) } else { refuted(shared, enough) };
        }
    }
    let stands_against =
        parity != Parity::Same || denied || antonym || debunked || hedged || check.num_ok == Some(false);
    // A passive with the roles kept has the claim's words in another order.
    let turned = claim.sentences.iter().any(is_passive) != is_passive(sentence)
        && swapped_roles_in(claim, passage, sentence) == Some(false);
    let figures_found = numbers::all_found(claim, passage);
    let undirected = claim
        .words
        .iter()
        .filter(missing)
        .any(|word| DIRECTIONS.iter().any(|beginning| word.stem.starts_with(beginning)));
    let widened =
        QUANTIFIERS.iter().any(|word| spoken(claim, word) && !sentence.spoken.iter().any(|own| own.text == *word));
    let agreed = agreement_within(claim, passage, shared, names);
    if stands_against
        || !figures_found
        || widened
        || undirected
        || !place.together
        || !(place.in_order || turned)
        || shared < SUPPORT_COVERAGE
        || agreed < min_agreement
        || swapped_roles_in(claim, passage, sentence) == Some(true)
    {
        return open(shared);
    }
    let strength = f64::midpoint(above(shared, SUPPORT_COVERAGE), above(agreed, min_agreement));
    let entail = LEAST_SUPPORT + (MOST_SUPPORT - LEAST_SUPPORT) * strength;
    StanceProbabilities { entail, contradict: 0.03, neutral: (0.97 - entail).max(0.0) }
}

/// Neutral, leaning towards the claim by what is shared but never as far as support: a reader of figures sees which
/// neutral passages were near.
fn open(shared: f64) -> StanceProbabilities {
    let entail = 0.35 * shared;
    StanceProbabilities { entail, contradict: 0.05, neutral: 0.95 - entail }
}

fn refuted(shared: f64, from: f64) -> StanceProbabilities {
    let contradict = LEAST_REFUTATION + (MOST_REFUTATION - LEAST_REFUTATION) * above(shared, from);
    StanceProbabilities { entail: 0.05, contradict, neutral: 0.95 - contradict }
}

/// A contradiction of a fixed strength.
fn contradicted(contradict: f64) -> StanceProbabilities {
    StanceProbabilities { entail: 0.05, contradict, neutral: 0.95 - contradict }
}

/// How far a figure lies above a floor, as a share of the way to 1.
fn above(figure: f64, floor: f64) -> f64 {
    if floor >= 1.0 { 1.0 } else { ((figure - floor) / (1.0 - floor)).clamp(0.0, 1.0) }
}

/// Agreement against the best single sentence: the passage's embedding blurs several sentences into one, so the words
/// of the best one count where they are nearer; the names count half where the claim has any.
fn agreement_within(claim: &TextProfile, passage: &TextProfile, shared: f64, names: f64) -> f64 {
    let near = agreement::cosine(claim, passage).max(0.9 * shared);
    if claim.entities.is_empty() { near } else { f64::midpoint(near, names) }
}

/// The sentence that holds most of the claim's words, and the share it holds. The first of equals.
fn best_sentence<'a>(claim: &TextProfile, passage: &'a TextProfile) -> Option<(&'a SentenceProfile, f64)> {
    passage
        .sentences
        .iter()
        .map(|sentence| (sentence, coverage_in(claim, passage, sentence)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// Weighted share of the claim's content words found in a sentence of its own, 0–1.
pub fn sentence_coverage(claim: &TextProfile, sentence: &SentenceProfile) -> f64 {
    share(claim, |word| sentence.stems.binary_search(&word.stem).is_ok())
}

/// The same in the light of the passage: a name told in another sentence counts where this one names nobody else, for
/// then "he" or "the city" is it.
fn coverage_in(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> f64 {
    let plain = sentence_coverage(claim, sentence);
    if plain >= 1.0 || claim.entities.is_empty() {
        return plain;
    }
    let others = sentence.names.iter().filter_map(|position| passage.entities.get(*position));
    let names_others = others.into_iter().any(|name| !has_name(claim, name));
    let told: Vec<&String> = names_in(claim, passage)
        .filter(|(name, _)| !names_others || sentence_has_name(passage, sentence, name))
        .flat_map(|(_, stems)| stems)
        .collect();
    share(claim, |word| sentence.stems.binary_search(&word.stem).is_ok() || told.contains(&&word.stem))
}

fn sentence_has_name(passage: &TextProfile, sentence: &SentenceProfile, name: &Entity) -> bool {
    let mut held = sentence.names.iter().filter_map(|position| passage.entities.get(*position));
    held.any(|other| transliterate::same_key(&other.key, &name.key))
}

/// The claim's names that the other text has, each with its stems: all of them where the whole name is there, the last
/// where only a surname is.
fn names_in<'a>(claim: &'a TextProfile, other: &'a TextProfile) -> impl Iterator<Item = (&'a Entity, &'a [String])> {
    claim.entities.iter().zip(&claim.name_stems).filter_map(|(name, stems)| {
        let twins = other.entities.iter().zip(&other.name_stems);
        let most =
            twins.filter(|(twin, _)| transliterate::same_key(&twin.key, &name.key)).map(|(_, own)| own.len()).max()?;
        let known = if most >= stems.len() { 0 } else { stems.len().saturating_sub(1) };
        Some((name, stems.get(known..)?))
    })
}

/// Weighted share of the claim's content words found in the other text, 0–1; a name spelt in another alphabet counts.
pub fn coverage(claim: &TextProfile, other: &TextProfile) -> f64 {
    let plain = share(claim, |word| other.has_stem(&word.stem));
    if plain >= 1.0 || claim.entities.is_empty() || other.entities.is_empty() {
        return plain;
    }
    let told: Vec<&String> = names_in(claim, other).flat_map(|(_, stems)| stems).collect();
    share(claim, |word| other.has_stem(&word.stem) || told.contains(&&word.stem))
}

fn share(claim: &TextProfile, found: impl Fn(&Word) -> bool) -> f64 {
    let all: f64 = claim.words.iter().map(|word| word.weight).sum();
    let held: f64 = claim.words.iter().filter(|word| found(word)).map(|word| word.weight).sum();
    if all > 0.0 { held / all } else { 0.0 }
}

/// Share of the claim's names the passage has; 1 of none.
fn names_found(claim: &TextProfile, passage: &TextProfile) -> f64 {
    if claim.entities.is_empty() {
        return 1.0;
    }
    let found = claim.entities.iter().filter(|name| has_name(passage, name)).count();
    found as f64 / claim.entities.len() as f64
}

/// Whether a text has that name, in any spelling.
pub fn has_name(text: &TextProfile, name: &Entity) -> bool {
    text.entities.iter().any(|other| transliterate::same_key(&other.key, &name.key))
}

/// Whether two texts name the same names, neither one more than the other.
pub fn same_names(a: &TextProfile, b: &TextProfile) -> bool {
    a.entities.iter().all(|name| has_name(b, name)) && b.entities.iter().all(|name| has_name(a, name))
}

/// The one name of ours and the one of theirs that have no counterpart, where there is exactly one of each, of one
/// kind, and nearly all other words of ours are in theirs.
pub fn differing_names(ours: &TextProfile, theirs: &TextProfile) -> Option<(String, String)> {
    let without = |from: &TextProfile, other: &TextProfile| -> Vec<Entity> {
        from.entities.iter().filter(|name| !has_name(other, name)).cloned().collect()
    };
    let (mine, other) = (without(ours, theirs), without(theirs, ours));
    let ([mine], [other]) = (mine.as_slice(), other.as_slice()) else {
        return None;
    };
    let own_words = tokens::content_stems(&mine.text, ours.language.as_deref());
    let rest: Vec<&Word> = ours.words.iter().filter(|word| !own_words.contains(&word.stem)).collect();
    let held = rest.iter().filter(|word| theirs.has_stem(&word.stem)).count();
    let nearly_all = rest.len() >= 2 && held as f64 >= DENIAL_COVERAGE * rest.len() as f64;
    (mine.kind == other.kind && nearly_all).then(|| (mine.text.clone(), other.text.clone()))
}

/// Whether a text denies, on the whole: two denials make none.
pub fn negated(text: &TextProfile) -> bool {
    text.negations % 2 == 1
}

/// Whether a word that only one text has is the antonym of one that only the other has.
pub fn antonym_between(a: &TextProfile, b: &TextProfile) -> bool {
    let only = |from: &TextProfile, other: &TextProfile| -> Vec<String> {
        from.words.iter().filter(|word| !other.has_stem(&word.stem)).map(|word| word.stem.clone()).collect()
    };
    let (mine, theirs) = (only(a, b), only(b, a));
    mine.iter().any(|word| theirs.iter().any(|other| negation::antonyms(word, other)))
}

fn has_antonym(word: &Word, claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    sentence.stems.iter().any(|other| !claim.has_stem(other) && negation::antonyms(&word.stem, other))
}

/// Whether a text states figures or dates.
pub fn has_numbers(text: &TextProfile) -> bool {
    !text.quantities.is_empty() || !text.dates.is_empty()
}

/// Whether two texts give the same two names opposite parts ("A beat B", "B beat A").
pub fn swapped_roles(a: &TextProfile, b: &TextProfile) -> bool {
    let passive = |text: &TextProfile| text.sentences.iter().any(is_passive);
    reversed(a, &b.text, b, passive(a), passive(b)) == Some(true)
}

fn swapped_roles_in(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> Option<bool> {
    let text = passage.text.get(sentence.start..sentence.end)?;
    reversed(claim, text, passage, claim.sentences.iter().any(is_passive), is_passive(sentence))
}

/// Whether the first two shared names stand the other way round, once a passive is turned back. `None` with fewer than
/// two shared names.
fn reversed(a: &TextProfile, text: &str, b: &TextProfile, a_passive: bool, b_passive: bool) -> Option<bool> {
    let mut places: Vec<(usize, usize)> = a
        .entities
        .iter()
        .filter_map(|name| {
            let here = a.text.find(&name.text)?;
            let there = b
                .entities
                .iter()
                .filter(|other| transliterate::same_key(&other.key, &name.key))
                .filter_map(|other| text.find(&other.text))
                .min()?;
            Some((here, there))
        })
        .collect();
    places.sort_unstable();
    let [(_, first), (_, second), ..] = places.as_slice() else {
        return None;
    };
    Some((first > second) != (a_passive != b_passive))
}

/// An English passive with its agent: "was beaten by".
fn is_passive(sentence: &SentenceProfile) -> bool {
    let has = |words: &[&str]| sentence.spoken.iter().any(|spoken| words.contains(&spoken.text.as_str()));
    has(&["by"]) && has(&["was", "were", "been", "is", "are", "being", "be"])
}

/// How the denials of a claim and a sentence meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parity {
    /// Both deny, or neither.
    Same,
    /// One denies exactly a word that the other states.
    Opposite,
    /// They differ, and which word is denied, or how many denials meet, is grammar that no rule here knows.
    Unclear,
}

/// Whether the sentence denies what the claim says or the reverse.
fn parity(claim: &TextProfile, sentence: &SentenceProfile) -> Parity {
    let touching =
        sentence.denials.iter().filter(|denial| denial.reached.iter().any(|stem| claim.has_stem(stem))).count();
    let mut ours = claim.sentences.iter().flat_map(|own| &own.denials);
    let stated = |denial: &Denial, there: &dyn Fn(&str) -> bool| denial.denied.as_deref().is_some_and(there);
    match (ours.next(), ours.next(), sentence.denials.as_slice()) {
        (None, _, []) => Parity::Same,
        (None, _, _) if touching == 0 => Parity::Same,
        (None, _, [denial]) if stated(denial, &|stem| claim.has_stem(stem)) => Parity::Opposite,
        (Some(denial), None, [])
            if stated(denial, &|stem| sentence.stems.binary_search_by(|own| own.as_str().cmp(stem)).is_ok()) =>
        {
            Parity::Opposite
        }
        (Some(mine), None, [theirs]) if mine.denied == theirs.denied || (touching == 1 && mine.denied.is_none()) => {
            Parity::Same
        }
        _ => Parity::Unclear,
    }
}

/// "There is no evidence that …" followed by the claim: it denies no single word, and all of them.
fn no_evidence(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let whole = |denial: &Denial| denial.denied.is_none() && denial.reached.len() > claim.words.len();
    let denies_all = |denial: &Denial| claim.words.iter().all(|word| denial.reached.contains(&word.stem));
    let plain_claim = claim.sentences.iter().all(|own| own.denials.is_empty());
    matches!(sentence.denials.as_slice(), [denial] if plain_claim && whole(denial) && denies_all(denial))
}

/// Where the claim's words stand in a sentence.
struct Place {
    /// Within a stretch not much longer than the claim: words scattered wider belong to other clauses.
    together: bool,
    /// Mostly in the claim's order.
    in_order: bool,
}

/// Words of the stretch per word of the claim, and on top.
const STRETCH: usize = 2;
const STRETCH_MORE: usize = 4;
/// Share of the shared words that must stand in the claim's order. One of four may move; two that change places make
/// another statement.
const ORDERED: f64 = 0.75;

fn place(claim: &TextProfile, sentence: &SentenceProfile) -> Place {
    let own: Vec<&str> = claim
        .sentences
        .iter()
        .flat_map(|own| &own.spoken)
        .filter(|word| word.content)
        .map(|word| word.stem.as_str())
        .collect();
    let length: usize = claim.sentences.iter().map(|own| own.spoken.len()).sum();
    let at: Vec<usize> =
        own.iter().filter_map(|stem| sentence.spoken.iter().position(|word| word.stem == *stem)).collect();
    let (Some(first), Some(last)) = (at.iter().min(), at.iter().max()) else {
        return Place { together: false, in_order: false };
    };
    let ordered = longest_ascent(&at);
    Place {
        together: last - first < STRETCH * length + STRETCH_MORE,
        in_order: ordered as f64 >= ORDERED * at.len() as f64,
    }
}

/// Length of the longest ascending subsequence.
fn longest_ascent(values: &[usize]) -> usize {
    let mut tails: Vec<usize> = Vec::new();
    for value in values {
        let at = tails.partition_point(|tail| tail < value);
        match tails.get_mut(at) {
            Some(tail) => *tail = *value,
            None => tails.push(*value),
        }
    }
    tails.len()
}

/// Whether the sentence says it with reserve and the claim does not.
fn hedged(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
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

#[cfg(test)]
mod tests;
