//! Finds sentences that a neighbour retracts: "X resigned. That is not true."
//!
//! [`is_retracted`] looks for a word that points back, with a denial, correction or reversal. Lists: `retraction.*` in
//! the lexicon.

use std::ops::Range;

use crate::profile::{SentenceProfile, Spoken, TextProfile};
use corroborate_language::lexicon::{Parts, Words};
use corroborate_language::{cut, has_cyrillic};

use super::frames::{CONJUNCTIONS, DENIALS, FRAMES, begins};
use super::roles::PASSIVE;

/// Pointers to a report, unless a noun follows ("those tickets").
static POINTERS: Words = Words::of("retraction.pointer");

/// Pointers that belong to a following noun.
static DETERMINERS: Words = Words::of("retraction.determiner");

static TELLINGS: Words = Words::of("retraction.telling");

/// Words before a finding: "это оказалось фейком".
static PROVED: Words = Words::of("retraction.proved");

/// An earlier denial or reversal concerns another report.
static EARLIER: Words = Words::of("retraction.earlier");

/// Words that, after a pronoun, assert something.
static AUXILIARIES: Words = Words::of("retraction.auxiliary");

/// Words before a report's content.
static ABOUT: Words = Words::of("retraction.about");

/// Verb endings, only for this test: "слухи, что распространяются с утра" states no content.
const REFLEXIVE: [&str; 3] = ["тся", "ться", "ются"];

/// Words of a report in which the claim must occur.
const TOLD: usize = 5;

/// First words that may point back.
const FIRST: usize = 3;

/// Lower-case phrases that call a report untrue.
static UNTRUE: Parts = Parts::of("retraction.untrue");

/// Beginnings of words for false or forged.
static FALSE: Words = Words::of("retraction.false");

/// Beginnings of words for a reversal.
static REVERSED: Words = Words::of("retraction.reversed");

static BUT: Words = Words::of("retraction.but");

/// Beginnings of words for an admitted mistake, and its place.
static MISTAKEN: Words = Words::of("retraction.mistaken");
static EDITED: Words = Words::of("retraction.edited");

/// Beginnings before the correct facts.
static REALLY: Parts = Parts::of("retraction.really");

/// Whether a neighbour retracts the sentence, by words outside the claim.
pub(super) fn is_retracted(claim: &TextProfile, passage: &TextProfile, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| passage.sentences.get(at));
    let own = passage.sentences.get(at);
    let behind = passage.sentences.get(at + 1);
    let is_mended = |one: &SentenceProfile| begins(claim, one, &MISTAKEN) && begins(claim, one, &EDITED);
    let is_false = |one: &SentenceProfile| {
        begins(claim, one, &FALSE) || denies_what_points_back(claim, one) || is_untrue(claim, passage, one)
    };
    if own.is_some_and(|own| is_told(passage, own)) && [before, behind].into_iter().flatten().any(is_false) {
        return true;
    }
    behind.is_some_and(|next| {
        let is_other = own.is_some_and(|own| is_told(passage, own));
        denies_it(claim, passage, next) || reverses_it(claim, next) || is_really(claim, passage, next, is_other)
    }) || own.is_some_and(|own| reverses_itself(claim, own) || is_mended(own))
        || before.is_some_and(|last| {
            is_mended(last) || begins(claim, last, &MISTAKEN) && own.is_some_and(|own| begins(claim, own, &EDITED))
        })
}

/// Whether a word points back to a report. With `is_denied`, a following verb begins a clause: "he denied it was a
/// campaign stop".
fn points_back(claim: &TextProfile, one: &SentenceProfile, mut places: Range<usize>, is_denied: bool) -> bool {
    places.any(|at| {
        let Some(word) = one.spoken.get(at) else { return false };
        let next = one.spoken.get(at + 1);
        if TELLINGS.has(&word.text) {
            // "Rumours of a paid entrance" needs a word of the claim.
            let is_of = next.is_some_and(|next| ABOUT.has(&next.text))
                && !one.spoken.get(at + 2).is_some_and(|verb| REFLEXIVE.iter().any(|end| verb.text.ends_with(end)));
            return !is_of || one.spoken.iter().skip(at + 2).take(TOLD).any(|told| claim.has_stem(&told.stem));
        }
        let is_open = |word: &Spoken, next: &Spoken| {
            let is_said_of = AUXILIARIES.has(&next.text);
            if is_denied { word.text != "that" && !is_said_of } else { is_said_of }
        };
        let is_alone = |next: &Spoken| {
            TELLINGS.has(&next.text)
                || !DETERMINERS.has(&word.text) && [&FRAMES, &FALSE, &DENIALS].iter().any(|list| list.has(&next.text))
                || PROVED.has(&next.text)
                || !next.content && (!word.text.is_ascii() || is_open(word, next))
        };
        POINTERS.has(&word.text) && next.is_none_or(is_alone)
    })
}

/// Whether words are reported: after a colon, in quotation marks, or in a clause. Only Russian and Ukrainian; the model
/// handles English.
fn is_told(passage: &TextProfile, own: &SentenceProfile) -> bool {
    let text = cut(&passage.text, own.start, own.end);
    has_cyrillic(text)
        && (text.contains(": ") || text.contains('«') || own.spoken.iter().any(|word| CONJUNCTIONS.has(&word.text)))
}

/// Phrases that concern something else: "not the case for her deputy", "не так давно".
static OTHERWISE: Parts = Parts::of("retraction.otherwise");

fn is_untrue(claim: &TextProfile, passage: &TextProfile, one: &SentenceProfile) -> bool {
    let text = cut(&passage.text, one.start, one.end).to_lowercase();
    let own = claim.text.to_lowercase();
    let is_said = |phrase: &str| {
        text.contains(phrase) && OTHERWISE.all().iter().all(|other| !text.contains(&format!("{phrase}{other}")))
    };
    UNTRUE.all().iter().any(|phrase| is_said(phrase) && !own.contains(phrase.as_str()))
}

fn is_of_before(one: &SentenceProfile) -> bool {
    one.spoken.iter().any(|word| EARLIER.has(&word.text))
}

/// Beginnings of words for an accusation; the accused's denial belongs to the story.
static ACCUSING: Words = Words::of("retraction.accusing");

/// Words between a leading object and its denial.
const BEFORE: usize = 2;

/// "The ministry denied it", "В мэрии опровергли эту информацию".
fn denies_what_points_back(claim: &TextProfile, one: &SentenceProfile) -> bool {
    let denial = |(_, word): &(usize, &Spoken)| DENIALS.has(&word.text);
    begins(claim, one, &DENIALS)
        && !is_of_before(one)
        && !claim.words.iter().any(|word| ACCUSING.has(&word.stem))
        && one.spoken.iter().enumerate().filter(denial).any(|(place, word)| {
            // "Генштаб это опровергает"
            let before = if word.text.is_ascii() { place } else { place.saturating_sub(BEFORE) };
            points_back(claim, one, before..place, true) || points_back(claim, one, place + 1..place + 4, true)
        })
}

fn denies_it(claim: &TextProfile, passage: &TextProfile, next: &SentenceProfile) -> bool {
    let is_denied = || is_untrue(claim, passage, next) || begins(claim, next, &FRAMES) || begins(claim, next, &FALSE);
    !next.question
        && (points_back(claim, next, 0..FIRST, false) && is_denied()
            || proves_false(next)
            || denies_what_points_back(claim, next))
}

/// Infinitive endings: "требует отменить приговор" reverses nothing yet.
const INFINITIVES: [&str; 2] = ["ть", "ти"];

static WAS: Words = Words::of("retraction.was");

/// "Выяснилось, что сообщение было ложным."
fn proves_false(next: &SentenceProfile) -> bool {
    let is_false = |word: &Spoken| FALSE.has(&word.text);
    next.spoken.windows(3).any(|words| match words {
        [telling, was, other] => TELLINGS.has(&telling.text) && WAS.has(&was.text) && is_false(other),
        _ => false,
    })
}

const APART: usize = 3;

/// Whether a decision was reversed: "later the ruling was overturned". A ruling that overturned something is valid.
fn reverses_it(claim: &TextProfile, next: &SentenceProfile) -> bool {
    let is_reversal = |at: usize, word: &Spoken| {
        let near = |from: usize, to: usize| next.spoken.get(from..to.min(next.spoken.len())).unwrap_or_default();
        let before = near(at.saturating_sub(APART), at);
        let is_denied = |word: &Spoken| matches!(word.text.as_str(), "не" | "not" | "never");
        let is_passive = |word: &Spoken| !word.text.is_ascii() || PASSIVE.has(&word.text);
        let is_undone =
            before.iter().position(is_decision).is_some_and(|place| before.iter().skip(place).any(is_passive));
        let is_wanted = INFINITIVES.iter().any(|ending| word.text.ends_with(ending))
            || at.checked_sub(1).and_then(|at| next.spoken.get(at)).is_some_and(|word| word.text == "to");
        REVERSED.has(&word.text)
            && !is_wanted
            && !near(at.saturating_sub(2), at + 3).iter().any(is_denied)
            && (is_undone || near(at + 1, at + 1 + APART).iter().any(is_decision))
    };
    begins(claim, next, &REVERSED)
        && !is_of_before(next)
        && next.spoken.iter().enumerate().any(|(at, word)| is_reversal(at, word))
}

static DECISIONS: Words = Words::of("retraction.decision");

fn is_decision(word: &Spoken) -> bool {
    DECISIONS.has(&word.text)
}

fn reverses_itself(claim: &TextProfile, own: &SentenceProfile) -> bool {
    let turn = own.spoken.iter().position(|word| BUT.has(&word.text));
    let behind = turn.and_then(|at| own.spoken.get(at..)).unwrap_or_default();
    begins(claim, own, &REVERSED)
        && behind.iter().any(is_decision)
        && behind.iter().any(|word| REVERSED.has(&word.text))
}

static OF_IT: Words = Words::of("retraction.of_it");

/// Whether the sentence states the correct facts about another's report or the previous subject.
fn is_really(claim: &TextProfile, passage: &TextProfile, next: &SentenceProfile, is_told: bool) -> bool {
    let text = cut(&passage.text, next.start, next.end).to_lowercase();
    let own = claim.text.to_lowercase();
    let is_of_it = next.spoken.iter().take(5).any(|word| OF_IT.has(&word.text));
    let is_counted = next.spoken.iter().any(|word| matches!(word.text.as_str(), "уже" | "вже" | "already"));
    (is_told || is_of_it && !is_counted)
        && REALLY.all().iter().any(|head| text.trim_start().starts_with(head.as_str()) && !own.contains(head.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retracted(claim: &str, passage: &str) -> bool {
        let language = if has_cyrillic(claim) { "ru" } else { "en" };
        let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
        is_retracted(&profile(claim), &profile(passage), 0)
    }

    #[test]
    fn a_neighbour_takes_it_back() {
        let mayor = "Мэр Томска подал в отставку.";
        for (claim, passage) in [
            (mayor, "Мэр Томска подал в отставку. Это не так."),
            (mayor, "Мэр Томска подал в отставку. Это фейк, заявили в мэрии."),
            (mayor, "Мэр Томска подал в отставку. Это оказалось фейком."),
            (mayor, "Мэр Томска подал в отставку. Вскоре выяснилось, что сообщение было ложным."),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. This is a myth."),
            (mayor, "Мэр Томска подал в отставку. В мэрии опровергли эту информацию."),
            (mayor, "Мэр Томска подал в отставку. На самом деле он в отпуске."),
            ("Суд оправдал врача.", "Суд оправдал врача, но позже решение отменили."),
            ("Суд оправдал врача.", "Суд оправдал врача, но апелляция отменила оправдание."),
            ("Войска взяли Часов Яр.", "«Войска взяли Часов Яр», — заявили в ведомстве. Генштаб это опровергает."),
            ("Війська взяли місто.", "Міноборони оголосило, що війська взяли місто. Генштаб цю заяву спростував."),
            (
                mayor,
                "Туристов напугала новость о том, что мэр Томска подал в отставку. На самом деле отпуск взял его зам.",
            ),
            ("Суд оправдал врача.", "Суд оправдал врача. Приговор отменила апелляция."),
            (
                "Певец Лепс попал в аварию.",
                "В сети писали, что певец Лепс попал в аварию. Такой рассылкой торгуют, это подделка.",
            ),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. That is not true, her office said."),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. The report was false."),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. Her office denied that."),
            (
                "The mayor of Leeds resigned.",
                "The mayor of Leeds resigned. She denied reports of the mayor's departure.",
            ),
            ("Суд оправдал врача.", "Суд оправдал врача. Позже приговор был отменён."),
            ("The court freed John Smith.", "The court freed John Smith. Later the ruling was overturned."),
        ] {
            assert!(retracted(claim, passage), "{passage}");
        }
    }

    #[test]
    fn another_story_takes_nothing_back() {
        for (claim, passage) in [
            ("Zelensky fired Valery Zaluzhny.", "Zelensky fired Valery Zaluzhny. Fake images spread online."),
            (
                "Zelensky fired Valery Zaluzhny.",
                "Zelensky fired Valery Zaluzhny. The ministry denied a rift with the army.",
            ),
            ("Суд оправдал врача.", "Суд оправдал врача. Концерт в городе отменили из-за дождя."),
            ("Рейс отменили.", "Рейс отменили. Позже отменили ещё два рейса."),
            ("В Томске сгорел склад.", "В МЧС сообщили, что в Томске сгорел склад. Пострадавших не было."),
            ("Police arrested three men in Leeds.", "Police arrested three men in Leeds. They deny the charges."),
            ("Суд арестовал Петрова.", "Суд арестовал Петрова. Но концерт в городе не отменили."),
            ("The council fired him.", "The council fired him. However, his wife withdrew her complaint."),
            (
                "The plant in Leeds closed.",
                "The plant in Leeds closed. The company denied that more cuts were planned.",
            ),
            ("Police arrested a man.", "Police arrested a man. Those tickets were fabricated in China."),
            (
                "Police charged a man in Leeds.",
                "Police charged a man in Leeds. They said a report that he fled is false.",
            ),
            ("Полиция изъяла доллары.", "Полиция изъяла доллары. Такие подделки ввозят из-за рубежа."),
            ("The dam held.", "The dam held. Authorities denied that they had ignored warnings."),
            ("Rudd was convicted of fraud.", "Rudd was convicted of fraud. Rudd denies it."),
            (
                "The court acquitted the banker.",
                "The court acquitted the banker. The earlier conviction was overturned.",
            ),
            ("Суд оправдал банкира.", "Суд оправдал банкира. Прежний приговор отменили."),
            ("The trains ran on time.", "The trains ran on time. That is not true of most trains."),
            ("Штаб подтвердил отход войск.", "Штаб подтвердил отход войск. Раньше он это отрицал."),
            ("Клуб уволил тренера.", "Клуб уволил тренера. На самом деле это уже третья отставка за год."),
            ("Police seized 40 dogs.", "Police seized 40 dogs. The owner denied they were mistreated."),
            ("Macron visited Reims.", "Macron visited Reims. He denied it was a campaign stop."),
            ("Мост открыли в Томске.", "Мост открыли в Томске. Это было не так давно."),
            ("Суд осудил врача.", "Суд осудил врача. Адвокат требует отменить приговор."),
            ("The court jailed Smith.", "The court jailed Smith. Judges refused to overturn the conviction."),
            ("Прокуратура обвинила мэра Иванова.", "Прокуратура обвинила мэра Иванова. Он отрицает это."),
            ("Собянин открыл парк.", "Собянин сообщил, что открыл парк. Он также опроверг слухи о платном входе."),
            ("ЦБ повысил ставку.", "ЦБ повысил ставку. В решении указано, что льготы отменены."),
            ("The Court upheld the ban.", "The Court upheld the ban. An appeals ruling had overturned it in 2021."),
            ("Кушнер прибув до Києва.", "Кушнер прибув до Києва. Його версію зустрічі помилково подали ЗМІ."),
            ("ЦБ снизил ставку.", "ЦБ снизил ставку. На самом деле рынок ждал большего."),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. It was a surprise to her party."),
        ] {
            assert!(!retracted(claim, passage), "{passage}");
        }
    }
}
