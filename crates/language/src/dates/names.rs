//! Months, weekdays and the words of relative dates, in English, Russian and Ukrainian.

use std::collections::HashMap;
use std::sync::LazyLock;

use chrono::Weekday;

/// Month number: every name and case of it. Short English forms only with a number beside them.
const MONTHS: &str = "1 january jan январь января январе январем янв січень січня січні січнем\n\
    2 february feb февраль февраля феврале февралем фев лютий лютого лютому лютим\n\
    3 march mar март марта марте мартом мар березень березня березні березнем\n\
    4 april apr апрель апреля апреле апрелем апр квітень квітня квітні квітнем\n\
    5 may май мая мае маем травень травня травні травнем\n\
    6 june jun июнь июня июне июнем червень червня червні червнем\n\
    7 july jul июль июля июле июлем липень липня липні липнем\n\
    8 august aug август августа августе августом авг серпень серпня серпні серпнем\n\
    9 september sep sept сентябрь сентября сентябре сентябрем сен сент вересень вересня вересні вереснем\n\
    10 october oct октябрь октября октябре октябрем окт жовтень жовтня жовтні жовтнем\n\
    11 november nov ноябрь ноября ноябре ноябрем ноя листопад листопада листопаді листопадом\n\
    12 december dec декабрь декабря декабре декабрем дек грудень грудня грудні груднем";

const WEEKDAYS: &str = "0 monday mondays понедельник понедельника понедельнику понеділок понеділка\n\
    1 tuesday tuesdays вторник вторника вторнику вівторок вівторка\n\
    2 wednesday wednesdays среда среду среды середа середу середи\n\
    3 thursday thursdays четверг четверга четвергу четвер четверга\n\
    4 friday fridays пятница пятницу пятницы п'ятниця п'ятницю п'ятниці\n\
    5 saturday saturdays суббота субботу субботы субота суботу суботи\n\
    6 sunday sundays воскресенье воскресенья воскресенью неділя неділю";

fn table(text: &'static str) -> HashMap<&'static str, u32> {
    let mut map = HashMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(number) = words.next().and_then(|number| number.parse().ok()) else { continue };
        map.extend(words.map(|word| (word, number)));
    }
    map
}

/// The month (1–12) a normalised word names.
pub fn month(word: &str) -> Option<u32> {
    static TABLE: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| table(MONTHS));
    TABLE.get(word).copied()
}

/// The weekday a normalised word names.
pub(crate) fn weekday(word: &str) -> Option<Weekday> {
    static TABLE: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| table(WEEKDAYS));
    TABLE.get(word).and_then(|number| Weekday::try_from(u8::try_from(*number).ok()?).ok())
}

/// Whether the word is a month or a weekday written out: no entity and no keyword.
pub fn is_calendar_word(word: &str) -> bool {
    (word.chars().count() > 3 && month(word).is_some())
        || matches!(word, "may" | "май" | "мая")
        || weekday(word).is_some()
}

/// "year", "г.", "року": what makes four digits a year.
pub(crate) fn is_year_word(word: &str) -> bool {
    matches!(
        word,
        "г" | "год"
            | "года"
            | "году"
            | "годом"
            | "годах"
            | "гг"
            | "годов"
            | "годы"
            | "р"
            | "рр"
            | "рік"
            | "року"
            | "році"
            | "роком"
            | "роки"
            | "років"
            | "роках"
            | "годами"
            | "роками"
    )
}

/// A stretch of time that relative dates count in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    Day,
    Week,
    Month,
    Year,
}

/// The stretch a normalised word names.
pub(crate) fn span(word: &str) -> Option<Span> {
    Some(match word {
        "day" | "days" | "день" | "дня" | "дней" | "дні" | "днів" | "добу" | "суток" => {
            Span::Day
        }
        "week" | "weeks" | "неделя" | "неделю" | "недели" | "неделе" | "недель" | "тиждень" | "тижня" | "тижні"
        | "тижнів" => Span::Week,
        "month" | "months" | "месяц" | "месяца" | "месяце" | "месяцев" | "місяць" | "місяця" | "місяці" | "місяців" => {
            Span::Month
        }
        "year" | "years" | "год" | "года" | "году" | "лет" | "рік" | "року" | "році" | "роки" | "років" => {
            Span::Year
        }
        _ => return None,
    })
}

/// −1 for "last", 0 for "this", +1 for "next".
pub(crate) fn direction(word: &str) -> Option<i32> {
    Some(match word {
        "last" | "previous" | "прошлый" | "прошлой" | "прошлом" | "прошлого" | "прошлую" | "минулий" | "минулого"
        | "минулому" | "минулої" => -1,
        "this" | "current" | "этот" | "этой" | "этом" | "этого" | "нынешнем" | "текущем" | "текущего" | "цей"
        | "цього" | "цьому" | "поточного" => 0,
        "next"
        | "coming"
        | "следующий"
        | "следующей"
        | "следующем"
        | "будущем"
        | "следующего"
        | "наступний"
        | "наступного"
        | "наступному" => 1,
        _ => return None,
    })
}

/// Days from the reference that a single word names ("yesterday").
pub(crate) fn day_word(word: &str) -> Option<i64> {
    Some(match word {
        "today" | "tonight" | "сегодня" | "сьогодні" => 0,
        "yesterday" | "вчера" | "вчора" | "учора" => -1,
        "tomorrow" | "завтра" => 1,
        "позавчера" | "позавчора" => -2,
        "послезавтра" | "післязавтра" => 2,
        _ => return None,
    })
}

/// Small number words that stand before "days ago".
pub(crate) fn small_number(word: &str) -> Option<i64> {
    Some(match word {
        "a" | "an" | "one" | "один" | "одну" | "одного" => 1,
        "two" | "два" | "две" | "дві" => 2,
        "three" | "три" => 3,
        "four" | "четыре" | "чотири" => 4,
        "five" | "пять" | "п'ять" => 5,
        "six" | "шесть" | "шість" => 6,
        "seven" | "семь" | "сім" => 7,
        "eight" | "восемь" | "вісім" => 8,
        "nine" | "девять" | "дев'ять" => 9,
        "ten" | "десять" => 10,
        _ => return None,
    })
}

/// Whether letters as they are written tell in whose time an hour is meant ("10.40 EDT").
pub(crate) fn is_a_zone(written: &str) -> bool {
    const ZONES: &[&str] = &[
        "GMT", "UTC", "BST", "EDT", "EST", "CDT", "PDT", "PST", "CET", "CEST", "EET", "EEST", "MSK", "МСК", "AEST",
        "AEDT",
    ];
    ZONES.contains(&written)
}
