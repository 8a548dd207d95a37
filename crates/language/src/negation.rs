//! Denials: how often a text says "not", and which words are each other's opposite.
//!
//! A count, not a proof: the parity of two texts' counts tells whether one denies what the other says. To add a language:
//! its denying words below, the phrases in which they deny nothing, and a row of opposites.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lexer::{Kind, Lexeme, lex};
use super::word_list::WordList;
use super::{gazetteer, is_cyrillic, tokens};

/// Words that deny their clause. In Russian and Ukrainian "не" is joined by "никто", "ни": together they deny once.
static DENYING: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "not no never none nobody nothing nowhere neither without cannot can't don't doesn't didn't won't wouldn't isn't \
         aren't wasn't weren't hasn't haven't hadn't shouldn't couldn't mustn't needn't ain't lacks lack lacking fails failed fail \
         не нет без нельзя невозможно отсутствует отсутствуют отсутствие немає нема неможливо відсутній відсутня відсутні бракує",
    )
});

/// Words that deny only where nothing else in the clause does (negative concord).
static CONCORD: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "ни никто никого никому ничего ничто никогда нигде никак никакой никакого никаких никакие ніхто нікого ніщо нічого \
         ніколи ніде ніяк ніякий ніяких ні жоден жодна жодного жодної жодних nor",
    )
});

/// What calls something untrue; each denies what it is said of.
static REFUTING: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "deny denies denied denying denial denials debunk* refut* disprov* false falsely falsehood* falsif* fake fakes faked \
         hoax hoaxes myth myths untrue incorrect* baseless unfounded fabricated fabricating fabrication fabrications bogus \
         опроверг* опроверж* отрицает отрицают отрицал* отрицани* отрицая фейк* ложь ложью лжи ложный ложная ложное ложные ложного \
         ложной ложных ложным ложными ложной ложную ложному ложном ложно миф мифы мифа мифов мифом неправд* недостоверн* вымыс* \
         выдумал* выдумк* выдуман* спростув* спростов* заперечу* запереч* неправд* брехн* вигад* міф міфи міфу міфів міфом \
         недостовірн* необоснован* необґрунтован*",
    )
});

/// Phrases with a denying word that deny nothing.
static HARMLESS: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "not_only no_less_than no_fewer_than no_more_than not_less_than not_more_than not_fewer_than not_least no_doubt \
         nothing_but nothing_short_of no_matter if_not not_to_mention no_later_than no_sooner_than не_только не_менее не_меньше \
         не_более не_больше не_позднее не_ранее чуть_не едва_не не_раз если_не пока_не не_считая не_без не_лишь не_просто не_лише \
         не_тільки не_менше не_менш не_більше не_більш не_пізніше не_раніше мало_не тем_не_менее тим_не_менш ледь_не",
    )
});

/// This file's lists with their names: for whoever looks at what an entry catches by accident.
pub fn word_lists() -> Vec<(&'static str, &'static WordList)> {
    vec![
        ("negation::DENYING", &*DENYING),
        ("negation::CONCORD", &*CONCORD),
        ("negation::REFUTING", &*REFUTING),
        ("negation::HARMLESS", &*HARMLESS),
    ]
}

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
    let spoken: Vec<&Lexeme<'_>> = lexemes.iter().filter(|lexeme| lexeme.word().is_some()).collect();
    let words: Vec<&str> = spoken.iter().filter_map(|lexeme| lexeme.word()).collect();
    let (mut count, mut concord_words) = (0, 0);
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let rest = words.get(index..).unwrap_or_default();
        let harmless = HARMLESS.phrase_at(rest);
        if harmless > 0 {
            index += harmless;
            continue;
        }
        // "No. 5" and "no 5" number something.
        let numbering =
            *word == "no" && lexemes.iter().skip_while(|l| l.word() != Some("no")).nth(1).is_none_or(Lexeme::is_number);
        if DENYING.has(word) && !numbering {
            count += 1;
        } else if CONCORD.has(word) {
            concord_words += 1;
        } else if REFUTING.has(word) && !spoken.get(index).is_some_and(|lexeme| is_name(lexeme)) {
            count += 1;
        }
        index += 1;
    }
    if count == 0 && concord_words > 0 { 1 } else { count }
}

/// Whether a word is written as a name and known as one.
fn is_name(lexeme: &Lexeme<'_>) -> bool {
    let words = gazetteer::name_words(lexeme.text);
    lexeme.text.starts_with(char::is_uppercase) && gazetteer::lookup(&words).is_some()
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
    use crate::stemming::stem;

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
            ("Denys Shmyhal resigned", 0),
            ("Denys denied it", 1),
            ("Отрицательный баланс вырос", 0),
            ("Отрицательные температуры ожидаются в Киеве", 0),
            ("Ложка дёгтя", 0),
            ("Он отрицал вину", 1),
            ("Он отрицает вину", 1),
            ("Минфин назвал сообщение ложным", 1),
            ("Мифологический герой", 0),
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
