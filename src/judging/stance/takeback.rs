//! A sentence whose neighbour takes it back: "X resigned. That is not true." "The court freed him. Later the ruling was overturned."

use crate::judging::profile::{SentenceProfile, Spoken, TextProfile};
use crate::language::{cut, has_cyrillic};

use super::phrases::{CONJUNCTIONS, DENIALS, FRAMES};
use super::reserve::begins;

/// Words that point back at what was told, near the beginning of a sentence or behind a denial.
const BACK: &str = "that this these those it they claim claims report reports post posts rumor rumors rumour rumours video photo \
    image quote statement story information \
    это этого этому эту эти этот эта этих такая такое такой такие его её их информация информацию сообщение сообщения слухи новость заявление \
    документ видео фото снимок запись пост публикация цитата \
    це цього цьому цю ці цей ця цих таке така такі його її їх інформація інформацію повідомлення чутки новина заява відео світлина допис \
    публікація";

/// How far from its beginning a sentence may point back, words.
const FIRST: usize = 3;

/// Phrases, small letters, by which a sentence that points back calls untrue what it points at.
const UNTRUE: &[&str] = &[
    "not true",
    "is false",
    "was false",
    "were false",
    "are false",
    "not the case",
    "incorrect",
    "inaccurate",
    "is wrong",
    "was wrong",
    "not happen",
    "no basis",
    "не так",
    "не соответству",
    "не відповіда",
    "не подтверд",
    "не підтверд",
    "не имеет отношения",
    "не має стосунку",
    "ошибочн",
    "помилков",
    "манипуляц",
    "маніпуляц",
];

/// Beginnings of words by which a neighbour calls false, or forged, what a sentence tells as told by somebody.
const FALSE: &str = "fake hoax false fabricat debunk forged doctored untrue \
    фейк вброс вкид сфабрик подделк смонтир сплетн бредом недостоверн дезинформ выдум вымыс неправд ложн \
    змонт підробк плітк маячн недостовірн дезінформ вигад неправдив хибн";

/// Beginnings of words for a decision that did not last.
const REVERSED: &str = "overturn overrul quash annul rescind retract withdrew withdrawn revok revers \
    отмен отозва скасов скасув відклик";

/// What turns a sentence against its beginning.
const BUT: &str = "but though although before only однако но затем пока але проте однак поки";

/// Beginnings of words for a mistake that is owned up to, and for what it stood in.
const MISTAKEN: &str = "erroneous mistaken incorrect correction ошибл ошибоч опечат поправк помил виправл";
const EDITED: &str = "editor article headline version редакц заметк статье статья заголов верси статті стаття нотат";

/// Beginnings of sentences behind which stands how it really was.
const REALLY: &[&str] = &["in reality", "на самом деле", "в действительности", "насправді"];

/// Whether what stands before or behind the sentence at a place takes it back, as far as words outside the claim tell.
pub(super) fn is_taken_back(claim: &TextProfile, passage: &TextProfile, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| passage.sentences.get(at));
    let own = passage.sentences.get(at);
    let behind = passage.sentences.get(at + 1);
    let is_mended = |one: &SentenceProfile| begins(claim, one, MISTAKEN) && begins(claim, one, EDITED);
    let is_false = |one: &SentenceProfile| {
        begins(claim, one, FALSE) || denies_what_points_back(claim, one) || is_untrue(claim, passage, one)
    };
    if own.is_some_and(|own| is_told(passage, own)) && [before, behind].into_iter().flatten().any(is_false) {
        return true;
    }
    behind.is_some_and(|next| {
        denies_it(claim, passage, next) || reverses_it(claim, next) || is_really(claim, passage, next)
    }) || own.is_some_and(|own| reverses_itself(claim, own) || is_mended(own))
        || before.is_some_and(|last| {
            is_mended(last) || begins(claim, last, MISTAKEN) && own.is_some_and(|own| begins(claim, own, EDITED))
        })
}

fn points_back(words: &[Spoken]) -> bool {
    words.iter().any(|word| BACK.split_whitespace().any(|back| back == word.text))
}

/// Whether a sentence tells what somebody else said or wrote: behind a colon, in quotation marks, or in a clause of its own. In
/// Russian and Ukrainian only: of English the model knows more.
fn is_told(passage: &TextProfile, own: &SentenceProfile) -> bool {
    let text = cut(&passage.text, own.start, own.end);
    has_cyrillic(text)
        && (text.contains(": ")
            || text.contains('«')
            || own.spoken.iter().any(|word| CONJUNCTIONS.contains(&word.text.as_str())))
}

fn is_untrue(claim: &TextProfile, passage: &TextProfile, one: &SentenceProfile) -> bool {
    let text = cut(&passage.text, one.start, one.end).to_lowercase();
    let own = claim.text.to_lowercase();
    UNTRUE.iter().any(|phrase| text.contains(phrase) && !own.contains(phrase))
}

/// "The ministry denied it", "В мэрии опровергли эту информацию".
fn denies_what_points_back(claim: &TextProfile, one: &SentenceProfile) -> bool {
    begins(claim, one, DENIALS)
        && one.spoken.iter().enumerate().any(|(place, word)| {
            let behind = one.spoken.get(place + 1..(place + 4).min(one.spoken.len())).unwrap_or_default();
            DENIALS.split_whitespace().any(|denial| word.text.starts_with(denial)) && points_back(behind)
        })
}

fn denies_it(claim: &TextProfile, passage: &TextProfile, next: &SentenceProfile) -> bool {
    let head = next.spoken.get(..FIRST.min(next.spoken.len())).unwrap_or_default();
    let is_denied = || is_untrue(claim, passage, next) || begins(claim, next, FRAMES);
    !next.question && (points_back(head) && is_denied() || denies_what_points_back(claim, next))
}

fn reverses_it(claim: &TextProfile, next: &SentenceProfile) -> bool {
    begins(claim, next, REVERSED) && next.spoken.iter().any(is_decision)
}

/// Words for what may be reversed.
fn is_decision(word: &Spoken) -> bool {
    const DECISIONS: &str =
        "decision ruling verdict conviction решени приговор вердикт постановлени рішенн вирок постанов";
    DECISIONS.split_whitespace().any(|decision| word.text.starts_with(decision))
}

fn reverses_itself(claim: &TextProfile, own: &SentenceProfile) -> bool {
    let turn = own.spoken.iter().position(|word| BUT.split_whitespace().any(|but| but == word.text));
    let behind = turn.and_then(|at| own.spoken.get(at..)).unwrap_or_default();
    begins(claim, own, REVERSED)
        && behind.iter().any(is_decision)
        && behind.iter().any(|word| REVERSED.split_whitespace().any(|reversed| word.text.starts_with(reversed)))
}

/// Words for what was said before.
const OF_IT: &str = "it he she they он она оно они это все він вона воно вони це";

fn is_really(claim: &TextProfile, passage: &TextProfile, next: &SentenceProfile) -> bool {
    let text = cut(&passage.text, next.start, next.end).to_lowercase();
    let own = claim.text.to_lowercase();
    let is_of_it = next.spoken.iter().take(5).any(|word| OF_IT.split(' ').any(|of_it| of_it == word.text));
    is_of_it && REALLY.iter().any(|head| text.trim_start().starts_with(head) && !own.contains(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_back(claim: &str, passage: &str) -> bool {
        let language = if has_cyrillic(claim) { "ru" } else { "en" };
        let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
        is_taken_back(&profile(claim), &profile(passage), 0)
    }

    #[test]
    fn a_neighbour_takes_it_back() {
        let mayor = "Мэр Томска подал в отставку.";
        for (claim, passage) in [
            (mayor, "Мэр Томска подал в отставку. Это не так."),
            (mayor, "Мэр Томска подал в отставку. Это фейк, заявили в мэрии."),
            (mayor, "Мэр Томска подал в отставку. В мэрии опровергли эту информацию."),
            (mayor, "Мэр Томска подал в отставку. На самом деле он в отпуске."),
            ("Суд оправдал врача.", "Суд оправдал врача, но позже решение отменили."),
            ("Суд оправдал врача.", "Суд оправдал врача. Приговор отменила апелляция."),
            (
                "Певец Лепс попал в аварию.",
                "В сети писали, что певец Лепс попал в аварию. Такой рассылкой торгуют, это подделка.",
            ),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. That is not true, her office said."),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. The report was false."),
            ("The court freed John Smith.", "The court freed John Smith. Later the ruling was overturned."),
        ] {
            assert!(taken_back(claim, passage), "{passage}");
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
            ("ЦБ снизил ставку.", "ЦБ снизил ставку. На самом деле рынок ждал большего."),
            ("The mayor of Leeds resigned.", "The mayor of Leeds resigned. It was a surprise to her party."),
        ] {
            assert!(!taken_back(claim, passage), "{passage}");
        }
    }
}
