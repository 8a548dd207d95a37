//! Removes frames that only pass a claim on: "X is being shared as Y" claims Y.
//!
//! Words: `statements.frames.*` in the lexicon.

use regex::Regex;

use super::capitalised;
use crate::has_cyrillic;
use crate::lexicon::{Parts, Words};
use crate::patterns::Pattern;

/// Patterns in order; the last group is the claim.
static FRAMES: [Pattern; 15] = [
    // Labels. A subject before a dash is none: "Молния — это разряд".
    Pattern::of(r"^{statements.frames.label}\s*[:!]+\s*(?:{statements.frames.no}, )?(.+)$"),
    Pattern::of(r"^{statements.frames.urgent}\s+[—–-]+\s+(.+)$"),
    Pattern::of(r"^{statements.frames.reportedly},? (.+)$"),
    // "… was shared in posts claiming that Y"; "as" only for pictures and posts, because it may begin a clause.
    Pattern::of(
        r"(?x)^.{3,200}?
            (?-u:\b){statements.frames.is}\ (?:{statements.frames.also}\ )?(?:{statements.frames.being}\ )?
            (?:{statements.frames.widely}\ )?{statements.frames.spread}(?-u:\b)
            .{0,60}?(?-u:\b)
            (?:{statements.frames.as_if}
            |{statements.frames.with}\ {statements.frames.article}\ (?:\w+\ )?{statements.frames.caption}
                (?:\ {statements.frames.that@latin})?
            |{statements.frames.beside}\ (?:{statements.frames.article}\ )?(?:\w+\ )?{statements.frames.told_in}
                \ (?:{statements.frames.that@latin}|{statements.frames.claiming})
            |{statements.frames.claiming})
            [:,]?\ (.+)$",
    ),
    Pattern::of(
        r"(?x)^(?:.{0,160}?[\s-])?(?:{statements.frames.spreader}|{statements.frames.recorded@latin})(?-u:\b)
            .{0,160}?
            (?-u:\b){statements.frames.is}\ (?:{statements.frames.also}\ )?(?:{statements.frames.being}\ )?
            (?:{statements.frames.widely}\ )?{statements.frames.spread}(?-u:\b)
            .{0,60}?(?-u:\b){statements.frames.as@latin}[:,]?\ (.+)$",
    ),
    Pattern::of(
        r"(?x)^.{3,160}?(?-u:\b){statements.frames.who}\ (?:{statements.frames.falsely}\ )?{statements.frames.tell}
            \ (?:{statements.frames.it}\ )?(?:{statements.frames.shows}|{statements.frames.showed})\ (.+)$",
    ),
    // "Viral posts claim that Y", "Social media users have claimed that Y", "A screenshot circulating online claims
    // that Y".
    Pattern::of(
        r"(?x)^(?:{statements.frames.some}\ )?(?:[\w-]+\ ){0,3}?{statements.frames.spreader}(?-u:\b)
            (?:[^.;:]{0,90}?[\ ,])(?:{statements.frames.has}\ )?(?:{statements.frames.falsely}\ )?
            {statements.frames.alleges}(?:\ {statements.frames.that@latin},?|:)\ (.+)$",
    ),
    Pattern::of(
        r"(?x)^(?:{statements.frames.some}\ )?(?:[\w-]+\ ){0,3}?{statements.frames.spreader}(?-u:\b)
            (?:[^.;:]{0,90}?[\ ,]){statements.frames.suggests}\ {statements.frames.that@latin}\ (.+)$",
    ),
    Pattern::of(
        r"(?x)^{statements.frames.it_is}\ (?:{statements.frames.being}\ )?(?:{statements.frames.widely}\ )?
            {statements.frames.rumoured}
            (?:\ (?:{statements.frames.online}|{statements.frames.on}\ [\w\ ]{2,30}?))?
            \ {statements.frames.that@latin}\ (.+)$",
    ),
    Pattern::of(
        r"(?x)^(?:\w+\ ){0,3}?{statements.frames.rumour}(?:\ [\w\ ]{0,30}?)?\ {statements.frames.circulate}
            (?:\ [\w\ ]{0,30}?)?,?\ {statements.frames.that@latin}\ (.+)$",
    ),
    Pattern::of(
        r"(?x)^(?:\w+\ ){0,3}?{statements.frames.rumour_or_post}\ {statements.frames.holding}
            (?:\ {statements.frames.that@latin})?\ (.+?),?\x20
            (?:{statements.frames.auxiliary}\ (?:{statements.frames.been}\ )*(?:{statements.frames.widely}\ )?
                {statements.frames.gone}
            |{statements.frames.went})(?-u:\b)[^.]*\.?$",
    ),
    // Russian and Ukrainian.
    Pattern::of(
        r"(?x)^(?:.{0,160}?[\s«])?{statements.frames.recorded@cyrillic}[\s,».-](?:.{0,120}?\s)?
            {statements.frames.passes_off}\s{statements.frames.as@cyrillic}\s(.+)$",
    ),
    Pattern::of(r"^.{3,160}?\s{statements.frames.captioned}(?:,? {statements.frames.that@cyrillic})?[:,]? (.+)$"),
    Pattern::of(
        r"(?x)^{statements.frames.on_the_net}\s.{0,60}?{statements.frames.net_says}\S*[^,]{0,60},?
            \ {statements.frames.that@cyrillic}\ (.+)$",
    ),
    Pattern::of(
        r"^{statements.frames.it_is_said}(?: {statements.frames.of_that})?,? {statements.frames.that@cyrillic} (.+)$",
    ),
];

/// "A post claims Y", where Y may also be a thing.
static CLAIM_PATTERN: Pattern = Pattern::of(
    r"(?x)^(?:{statements.frames.some}\ )?(?:[\w-]+\ ){0,3}?{statements.frames.spreader}(?-u:\b)
        ([^.;:]{0,90}?)[\ ,](?:{statements.frames.falsely}\ )?{statements.frames.claim}\ (.+)$",
);

/// Things that are claimed for oneself; sums are too.
static POSSESSIVE_OBJECTS: Words = Words::of("statements.frames.for_oneself");

/// "It shows Y"
static SHOWS_PATTERN: Pattern =
    Pattern::of(r"^{statements.frames.pointing} {statements.frames.shows}(?: {statements.frames.that@latin})? (.+)$");

/// "Footage of Y", unless a verb about the footage follows.
static FOOTAGE_PATTERN: Pattern = Pattern::of(
    r"(?x)^(?:(?:{statements.frames.old}\ ){0,3}{statements.frames.pictures@latin}\ {statements.frames.of@latin}
            (?:\ {statements.frames.the_moment})?
        |{statements.frames.pictures@cyrillic}\ {statements.frames.of@cyrillic})\ (.+)$",
);

/// "photos of the massacre were staged"
static FINITE_VERBS: Words = Words::of("statements.frames.saying");

/// Cyrillic verbs and short participles. A noun with such an ending only leaves the picture in the claim.
static VERB_ENDINGS: Words = Words::of("statements.frames.saying_ending");

/// Every frame has one; this search is much faster.
static FRAME_WORDS: Parts = Parts::of("statements.frames.sign");

/// "Breaking: viral posts claim that Y"
const MAX_DEPTH: usize = 3;

/// Returns the claim inside a frame, if any.
pub(super) fn unframed(sentence: &str) -> Option<String> {
    let mut claim: Option<String> = None;
    for _ in 0..MAX_DEPTH {
        let Some(inner) = inside(claim.as_deref().unwrap_or(sentence)) else { break };
        claim = Some(inner);
    }
    claim
}

fn inside(sentence: &str) -> Option<String> {
    let lower = sentence.to_lowercase();
    if !FRAME_WORDS.occurs_in(&lower) {
        return None;
    }
    let framed = FRAMES.iter().find_map(|frame| Some(frame.captures(sentence)?.get(1)?.as_str()));
    let claim = framed.or_else(|| claimed(sentence))?;
    let claim = without_denial(unquoted(claim.trim()));
    let claim = without_picture(claim);
    // A noun is no claim: "… shared as a photo".
    (claim.split_whitespace().count() >= 3).then(|| capitalised(claim))
}

/// A comment, not the claim: ", but this is fake".
static DENIAL_PATTERN: Pattern = Pattern::of(
    r"(?x),?\ {statements.frames.but}\ (?:{statements.frames.the_claim}[^,.]{0,24}?{statements.frames.untrue}
        |[^,.]{0,60}\ {statements.frames.denied})[^.]*",
);

/// ", but it is actually from Porto Alegre"
static CORRECTION_PATTERN: Pattern = Pattern::of(
    r"(?x),?\ ?(?:{statements.frames.while}\ (?:{statements.frames.it_or_they}|{statements.frames.the}\ [\p{L}-]+)
            \ (?:{statements.frames.are})?\ ?{statements.frames.actually}
        |(?:{statements.frames.though}\ )?{statements.frames.in_reality},?)(?-u:\b|\s).*$",
);

fn without_denial(claim: &str) -> &str {
    let before = |pattern: &Regex| pattern.find(claim).filter(|found| found.start() > 0).map(|found| found.start());
    let end = before(&DENIAL_PATTERN).into_iter().chain(before(&CORRECTION_PATTERN)).min();
    end.and_then(|end| claim.get(..end)).unwrap_or(claim)
}

fn claimed(sentence: &str) -> Option<&str> {
    let found = CLAIM_PATTERN.captures(sentence)?;
    let (before, claim) = (found.get(1)?.as_str(), found.get(2)?.as_str());
    let first = claim.split_whitespace().next()?.to_lowercase();
    let for_oneself = POSSESSIVE_OBJECTS.has(&first) || !first.starts_with(|c: char| c.is_alphabetic() || c == '"');
    (!for_oneself && !before.ends_with(" to")).then_some(claim)
}

/// Returns the content of a picture, if claimed.
fn without_picture(claim: &str) -> &str {
    let behind = |pattern: &Regex| pattern.captures(claim).and_then(|found| found.get(1)).map(|found| found.as_str());
    let shown = behind(&SHOWS_PATTERN).or_else(|| behind(&FOOTAGE_PATTERN).filter(|shown| !has_verb(shown)));
    shown.unwrap_or(claim)
}

/// Whether it has a verb.
fn has_verb(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic() && c != '\'').any(|word| {
        let word = word.to_lowercase();
        FINITE_VERBS.has(&word) || (has_cyrillic(&word) && VERB_ENDINGS.has_ending_of(&word))
    })
}

fn unquoted(claim: &str) -> &str {
    let bare = claim.trim_end_matches('.');
    [('«', '»'), ('"', '"'), ('“', '”'), ('„', '“')]
        .iter()
        .find_map(|(open, close)| bare.strip_prefix(*open)?.strip_suffix(*close))
        .filter(|inner| !inner.contains(['«', '"', '“']))
        .unwrap_or(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_as_something_claims_that_something() {
        for (sentence, claim) in [
            (
                "An old video of a 2015 explosion in Tianjin is being shared as a Russian strike on Kyiv.",
                "A Russian strike on Kyiv.",
            ),
            (
                "A photo of empty shelves is being shared with the claim that Poland ran out of sugar in July 2022.",
                "Poland ran out of sugar in July 2022.",
            ),
            (
                "The image is being shared on Facebook alongside a claim that Bill Gates was arrested in Manila.",
                "Bill Gates was arrested in Manila.",
            ),
            (
                "A 2019 photo was shared thousands of times in posts claiming that it shows fires in Canada in 2023.",
                "Fires in Canada in 2023.",
            ),
            ("A video is being shared as footage of the earthquake in Turkey.", "The earthquake in Turkey."),
            (
                "Social media users have claimed that the EU banned Russian tea on 1 March 2024.",
                "The EU banned Russian tea on 1 March 2024.",
            ),
            (
                "Users on X are sharing a video they claim shows an Iranian missile hitting Tel Aviv.",
                "An Iranian missile hitting Tel Aviv.",
            ),
            (
                "A screenshot of a headline circulating online claims that Zelensky bought a yacht for $75 million.",
                "Zelensky bought a yacht for $75 million.",
            ),
            ("Claims that 5G towers cause cancer have spread on WhatsApp.", "5G towers cause cancer"),
            (
                "It's being claimed on social media that NATO troops entered Moldova on Monday.",
                "NATO troops entered Moldova on Monday.",
            ),
            (
                "Rumors are spreading that the Bank of Cyprus will close on Friday.",
                "The Bank of Cyprus will close on Friday.",
            ),
            (
                "The post, viewed 2 million times, says that Ukraine lost 400,000 soldiers.",
                "Ukraine lost 400,000 soldiers.",
            ),
            ("FACT CHECK: No, the US did not send 300 tanks to Poland", "The US did not send 300 tanks to Poland"),
            ("BREAKING: Viral posts claim that vaccines contain microchips.", "Vaccines contain microchips."),
            (
                "A video is being shared as the flooded Dubai airport in April 2024, but it is actually from Porto Alegre in Brazil.",
                "The flooded Dubai airport in April 2024",
            ),
            (
                "Social media users claim that photos of the Bucha massacre were staged.",
                "Photos of the Bucha massacre were staged.",
            ),
            (
                "A false post on social media claims covid-19 vaccine causes infertility.",
                "Covid-19 vaccine causes infertility.",
            ),
            ("Posts claim: the EU banned Russian tea in 2024.", "The EU banned Russian tea in 2024."),
            ("Breaking - Russia shelled Kharkiv with 10 missiles.", "Russia shelled Kharkiv with 10 missiles."),
        ] {
            assert_eq!(unframed(sentence).as_deref(), Some(claim), "{sentence}");
        }
    }

    #[test]
    fn what_is_shared_as_something_claims_it_in_russian_and_ukrainian_too() {
        for (sentence, claim) in [
            ("В соцсетях распространяют видео, которое выдают за удар по Одессе 3 мая.", "Удар по Одессе 3 мая."),
            ("Старое видео взрыва в Бейруте выдают за удар по Киеву.", "Удар по Киеву."),
            (
                "Видео выдают за удар по Одессе 15 ноября, на самом деле оно снято в Бейруте.",
                "Удар по Одессе 15 ноября",
            ),
            ("Якобы в Германии запретили русский язык в школах.", "В Германии запретили русский язык в школах."),
            ("По слухам, Илон Маск купит «Манчестер Юнайтед».", "Илон Маск купит «Манчестер Юнайтед»."),
            (
                "Фото танка публикуют с подписью: «Колонна НАТО уничтожена под Харьковом».",
                "Колонна НАТО уничтожена под Харьковом",
            ),
            ("Пользователи утверждают, что вакцина Pfizer содержит графен.", "Вакцина Pfizer содержит графен."),
            ("У соцмережах поширюють відео, яке видають за обстріл Харкова 12 травня.", "Обстріл Харкова 12 травня."),
            (
                "Мережею шириться інформація, що ПриватБанк заблокує картки пенсіонерів з 1 січня.",
                "ПриватБанк заблокує картки пенсіонерів з 1 січня.",
            ),
            ("Пользователи утверждают, что фото сделано в Киеве в 2014 году.", "Фото сделано в Киеве в 2014 году."),
            ("Пользователи утверждают, что видео с похорон снято в студии.", "Видео с похорон снято в студии."),
            ("Молния: в Киеве взорван мост через Днепр.", "В Киеве взорван мост через Днепр."),
            ("Нібито у Львові заборонили російську мову.", "У Львові заборонили російську мову."),
        ] {
            assert_eq!(unframed(sentence).as_deref(), Some(claim), "{sentence}");
        }
    }

    #[test]
    fn what_is_no_frame_stays() {
        for sentence in [
            "The photo was shared as a joke.",
            "Facebook said that it removed 3 million accounts in March.",
            "The company shared its profits with 300 employees as a bonus in 2019.",
            "Claims for unemployment benefits rose to 240,000 last week.",
            "Reports of fraud in Germany rose by 12 % in 2023.",
            "The minister presented the budget as required by law.",
            "The bill was presented to parliament on Monday as the war entered its third year.",
            "COVID-19 is spread as people cough and sneeze.",
            "A message from Islamic State claimed responsibility for the attack in Moscow.",
            "Three users claimed $5 million in damages from the company in 2021.",
            "A message from Islamic State claims responsibility for the attack in Moscow.",
            "Some users are eligible to claim payouts from the settlement.",
            "Банки выдают за год 500 тысяч кредитов.",
            "Участники представляют как минимум 12 стран мира.",
            "Фотографы представляют как минимум 12 стран мира.",
            "Фотографи представляють як мінімум 12 країн світу.",
            "Молния — это электрический разряд между облаком и землёй.",
            "Блискавка й молния - це електричний розряд.",
            "Молния-М вывела на орбиту 3 спутника.",
            "Утверждение — мысль, которая что-то говорит о предмете.",
            "Врач выдают рецепты.",
            "Зеленский сообщил, что Россия потеряла 700 тысяч солдат.",
            "Полиция выдаёт паспорта за 30 дней.",
            "Президент повідомив, що закон підписано 3 травня.",
        ] {
            assert_eq!(unframed(sentence), None, "{sentence}");
        }
    }
}
