//! Denials: how often a text says "not", and which words are each other's opposite.
//!
//! A count, not a proof: the parity of two texts' counts tells whether one denies what the other says. To add a language:
//! its denying words below, the phrases in which they deny nothing, and a row of opposites.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::lexer::{Kind, Lexeme, lex};
use super::{is_cyrillic, tokens};

/// Words that deny their clause. In Russian and Ukrainian "не" is joined by "никто", "ни": together they deny once.
const DENYING: &str = "not no never none nobody nothing nowhere neither without cannot can't don't doesn't didn't won't wouldn't isn't \
    aren't wasn't weren't hasn't haven't hadn't shouldn't couldn't mustn't needn't ain't lacks lack lacking fails failed fail \
    не нет без нельзя невозможно отсутствует отсутствуют отсутствие немає нема неможливо відсутній відсутня відсутні бракує";

/// Words that deny only where nothing else in the clause does (negative concord).
const CONCORD: &str = "ни никто никого никому ничего ничто никогда нигде никак никакой никакого никаких никакие ніхто нікого ніщо нічого \
    ніколи ніде ніяк ніякий ніяких ні жоден жодна жодного жодної жодних nor";

/// Beginnings of words that call something untrue; each denies what it is said of.
const REFUTING: &str = "deny denie denied denying debunk refut disprov disprove fals fake hoax myth untrue incorrect baseless unfounded \
    fabricat bogus опроверг опроверж опроверга отрица фейк лож ложн миф неправд недостоверн вымыс выдум спростув спростов запереч \
    неправд брехн вигад міф недостовірн необоснован необґрунтован";

/// Phrases with a denying word that deny nothing.
const HARMLESS: &str = "not only;no less than;no fewer than;no more than;not less than;not more than;not fewer than;not least;no doubt;nothing but;\
    nothing short of;no matter;if not;not to mention;no later than;no sooner than;не только;не менее;не меньше;не более;не больше;\
    не позднее;не ранее;чуть не;едва не;не раз;если не;пока не;не считая;не без;не лишь;не просто;не лише;не тільки;не менше;не менш;\
    не більше;не більш;не пізніше;не раніше;мало не;не раз;не просто;тем не менее;тим не менш;ледь не";

struct Words {
    denying: HashSet<&'static str>,
    concord: HashSet<&'static str>,
    /// Beginnings by their first letter.
    refuting: HashMap<char, Vec<&'static str>>,
    /// Phrases by their first word.
    harmless: HashMap<&'static str, Vec<Vec<&'static str>>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut refuting: HashMap<char, Vec<&'static str>> = HashMap::new();
    for beginning in REFUTING.split_whitespace() {
        refuting.entry(beginning.chars().next().unwrap_or_default()).or_default().push(beginning);
    }
    let mut harmless: HashMap<&'static str, Vec<Vec<&'static str>>> = HashMap::new();
    for phrase in HARMLESS.split(';') {
        let words: Vec<&'static str> = phrase.split_whitespace().collect();
        harmless.entry(words.first().copied().unwrap_or_default()).or_default().push(words);
    }
    Words {
        denying: DENYING.split_whitespace().collect(),
        concord: CONCORD.split_whitespace().collect(),
        refuting,
        harmless,
    }
});

/// Counts the denials of a text, clause by clause. `language` is not needed: the words tell themselves.
pub fn negations(text: &str, _language: Option<&str>) -> usize {
    let lexemes = lex(text, false);
    lexemes.split(|lexeme| clause_ends(lexeme)).map(clause).sum()
}

fn clause_ends(lexeme: &Lexeme<'_>) -> bool {
    match &lexeme.kind {
        Kind::Sign(sign) => matches!(sign, ',' | '.' | ';' | ':' | '!' | '?' | '(' | ')' | '—' | '–' | '«' | '»' | '"'),
        Kind::Word(word) => matches!(
            word.as_str(),
            "but" | "that" | "which" | "who" | "но" | "а" | "что" | "але" | "що" | "однак" | "однако"
        ),
        Kind::Number => false,
    }
}

fn clause(lexemes: &[Lexeme<'_>]) -> usize {
    let words: Vec<&str> = lexemes.iter().filter_map(Lexeme::word).collect();
    let Words { denying, concord, harmless, .. } = &*WORDS;
    let (mut count, mut concord_words) = (0, 0);
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let rest = words.get(index..).unwrap_or_default();
        if let Some(phrase) =
            harmless.get(word).and_then(|phrases| phrases.iter().find(|phrase| rest.starts_with(phrase)))
        {
            index += phrase.len();
            continue;
        }
        // "No. 5" and "no 5" number something.
        let numbering =
            *word == "no" && lexemes.iter().skip_while(|l| l.word() != Some("no")).nth(1).is_none_or(Lexeme::is_number);
        if denying.contains(word) && !numbering {
            count += 1;
        } else if concord.contains(word) {
            concord_words += 1;
        } else if refutes(word) {
            count += 1;
        }
        index += 1;
    }
    if count == 0 && concord_words > 0 { 1 } else { count }
}

fn refutes(word: &str) -> bool {
    let Some(beginnings) = word.chars().next().and_then(|first| WORDS.refuting.get(&first)) else { return false };
    word.chars().count() >= 4
        && !matches!(word, "falsetto" | "ложка" | "ложки" | "ложку" | "ложится" | "ложатся" | "миффлин" | "ложе")
        && beginnings.iter().any(|beginning| {
            word.strip_prefix(beginning).is_some_and(|rest| {
                // Short beginnings ("миф", "лож") take short endings only.
                let most = if beginning.chars().count() <= 4 { 4 } else { 9 };
                rest.chars().count() <= most
            })
        })
}

/// Opposites: the words of each side of a row, English, Russian and Ukrainian.
const OPPOSITES: &str = "rise rises rose risen grow grows grew growth increase increased climb climbed jump jumped soar soared surge gain gained up вырос выросла \
    выросли выросло рост растет увеличился увеличилась увеличилось увеличение повысился повысилась повысили повысил повысила повышен повышена повышено повышены підвищився зріс зросла зросли \
    зросло зростання збільшився збільшилась збільшення підвищили підвищив підвищила підвищено \
    = fall falls fell fallen drop dropped decrease decreased decline declined shrink shrank plunge plunged slump lose down упал упала упали \
    упало падение снизился снизилась снизилось снижение сократился сократилась уменьшился уменьшилась снизили снизил снизила снижен снижена снижено снижены впав впала впали впало \
    падіння знизився знизилась знизилося зниження скоротився зменшився зменшилась зменшення знизили знизив знизила знижено\n\
    win wins won winner victory победил победила победили победа выиграл выиграла выиграли переміг перемогла перемогли перемога виграв виграла \
    = lose loses lost loser defeat defeated проиграл проиграла проиграли поражение програв програла програли поразка\n\
    support supports supported back backed approve approved accept accepted поддержал поддержала поддержали одобрил одобрила одобрили принял \
    підтримав підтримала підтримали схвалив схвалила схвалили \
    = oppose opposes opposed reject rejected refuse refused отклонил отклонила отклонили отверг отвергла отказался отказалась відхилив відхилила \
    відкинув відмовився відмовилась\n\
    open opens opened opening открыл открыла открыли открыт открылся відкрив відкрила відкрили відкрито \
    = close closes closed closing closure shut закрыл закрыла закрыли закрыт закрылся закрив закрила закрили закрито\n\
    begin begins began start starts started launch launched начал начала начали начался началась почав почала почали почався \
    = end ends ended stop stops stopped finish finished cease закончил закончила закончился закончилась прекратил прекратила остановил закінчив \
    закінчився припинив припинила зупинив\n\
    allow allows allowed permit permitted legalize legalized разрешил разрешила разрешили разрешен разрешена разрешено дозволив дозволила дозволили дозволено \
    = ban bans banned forbid forbade prohibit prohibited outlaw запретил запретила запретили запрещен запрещена запрещено запрет заборонено заборонив заборонила заборонили заборона\n\
    alive living survive survived жив жива живы выжил выжила живий вижив вижила = dead die dies died killed мертв мертва умер умерла умерли погиб \
    погибла погибли мертвий помер померла загинув загинула загинули\n\
    true truth правда истина = false untrue lie ложь неправда брехня\n\
    safe безопасен безопасна безопасны безпечний безпечна = dangerous unsafe harmful опасен опасна опасны вреден вредна небезпечний шкідливий\n\
    more больше більше = less fewer меньше менше\n\
    high higher highest высокий выше високий вище = low lower lowest низкий ниже низький нижче\n\
    first первый перший = last последний останній\n\
    guilty convicted convict виновен виновна виновным виновной осужден винен винна винним винною винуватим засуджений = innocent acquitted acquit невиновен невиновна невиновным невиновной оправдан невинним невинною невинуватим невинний виправданий\n\
    confirm confirms confirmed подтвердил подтвердила подтвердили підтвердив підтвердила підтвердили \
    = deny denies denied refute refuted опроверг опровергла опровергли отрицает спростував спростувала заперечив заперечила\n\
    enter entered join joined вступил вступила вошел вошла вступив вступила увійшов = leave leaves left quit exit withdraw withdrew вышел вышла покинул \
    покинула вийшов вийшла залишив\n\
    cause causes caused вызывает вызвал викликає викликав = prevent prevents prevented предотвращает предотвратил запобігає запобіг\n\
    positive положительный позитивний = negative отрицательный негативний\n\
    hot hotter warm горячий теплый гарячий теплий = cold colder холодный холодний\n\
    north северный северная север північ північний = south южный южная юг південь південний\n\
    male man мужчина чоловік = female woman женщина жінка\n\
    buy bought купил купила купили купив = sell sold продал продала продали продав\n\
    attack attacked напал атаковал атакував напав = defend defended защитил оборонял захистив\n\
    legal законный законний = illegal незаконный незаконний\n\
    always всегда завжди = never никогда ніколи\n\
    all все всі = none никто ніхто";

/// Stem → the rows and sides it stands on.
static SIDES: LazyLock<HashMap<String, Vec<(usize, bool)>>> = LazyLock::new(|| {
    let mut map: HashMap<String, Vec<(usize, bool)>> = HashMap::new();
    for (row, line) in OPPOSITES.lines().enumerate() {
        let mut right = false;
        for word in line.split_whitespace() {
            if word == "=" {
                right = true;
                continue;
            }
            let languages: &[Option<&str>] =
                if word.chars().any(is_cyrillic) { &[Some("ru"), Some("uk")] } else { &[Some("en")] };
            for language in languages {
                let stems = tokens::tokens(word, *language).into_iter().map(|token| token.stem);
                for stem in stems.chain([word.to_owned()]) {
                    let sides = map.entry(stem).or_default();
                    if !sides.contains(&(row, right)) {
                        sides.push((row, right));
                    }
                }
            }
        }
    }
    map
});

/// Whether two stems (see [`super::tokens`]) are opposites: rise and fall, победил and проиграл. Either language may be on
/// either side.
pub fn antonyms(a_stem: &str, b_stem: &str) -> bool {
    let (Some(a), Some(b)) = (SIDES.get(a_stem), SIDES.get(b_stem)) else { return false };
    // A word on both sides of a row ("lose") opposes neither.
    let opposite = |(row, side): &(usize, bool)| {
        b.contains(&(*row, !*side)) && !b.contains(&(*row, *side)) && !a.contains(&(*row, !*side))
    };
    a.iter().any(opposite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::stemming::stem;

    fn count(text: &str) -> usize {
        negations(text, None)
    }

    #[test]
    fn denials_are_counted_by_clause() {
        for (text, expected) in [
            ("Vaccines cause autism", 0),
            ("Vaccines don't cause autism", 1),
            ("Vaccines do not cause autism", 1),
            ("Vaccines never caused autism", 1),
            ("The minister denied the report", 1),
            ("It is not true, but nobody denied it", 3),
            ("The claim has been debunked", 1),
            ("Not only Kyiv but also Lviv", 0),
            ("No less than 5 people, no doubt", 0),
            ("Flight No. 5 landed", 0),
            ("Вакцины не вызывают аутизм", 1),
            ("Никто никогда не видел этого", 1),
            ("Никаких доказательств", 1),
            ("Погибли не менее 5 человек, тем не менее", 0),
            ("Он жил без паспорта", 1),
            ("Минздрав опроверг сообщение", 1),
            ("Это фейк", 1),
            ("Вакцини не викликають аутизм", 1),
            ("Немає жодних доказів", 1),
            ("МОЗ спростував повідомлення", 1),
            ("Не лише Київ", 0),
            ("Несмотря на дождь", 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }

    #[test]
    fn opposites_meet_in_and_across_languages() {
        let opposite = |a: &str, la: &str, b: &str, lb: &str| antonyms(&stem(a, Some(la)), &stem(b, Some(lb)));
        assert!(opposite("rose", "en", "fell", "en"));
        assert!(opposite("increases", "en", "decreased", "en"));
        assert!(opposite("вырос", "ru", "упал", "ru"));
        assert!(opposite("выросла", "ru", "снизилась", "ru"));
        assert!(opposite("зросла", "uk", "впала", "uk"));
        assert!(opposite("won", "en", "проиграл", "ru"));
        assert!(opposite("fell", "en", "rose", "en"));
        assert!(!opposite("rose", "en", "grew", "en"));
        assert!(!opposite("rose", "en", "banned", "en"));
        assert!(!antonyms("", "x"));
    }
}
