//! Units after (and currency signs before) a number, brought to one base each.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Unit, money};
use crate::lexer::{Kind, Lexeme};

/// Currency: code and words; a star ends a prefix.
const CURRENCIES: &str = "USD dollar dollars usd buck bucks долл доллар* долар* usdt\n\
    EUR euro euros eur евро євро\n\
    GBP gbp sterling pound pounds фунт*\n\
    RUB ruble* rouble* rub руб рубл*\n\
    UAH hryvni* uah грн гривен* гривн* гривень\n\
    CNY yuan cny renminbi юан*\n\
    JPY yen jpy иен иена иены йен йена йены єн єна\n\
    INR rupee* inr рупи* рупі*\n\
    PLN zloty* pln злот*\n\
    CHF franc* chf франк*\n\
    KZT tenge kzt тенге\n\
    TRY lira liras лир лиры лір ліри\n\
    BYN byn\n\
    KRW krw\n\
    BTC bitcoin* btc биткоин* біткоїн*";

/// Measures: base, factor and words.
const MEASURES: &str = "m 1000 km kilometer* kilometre* км километр* кілометр*\n\
    m 1 m metre metres meter meters м метр метра метров метры метрах метрів метри\n\
    m 0.01 cm centimeter* centimetre* см сантиметр*\n\
    m 0.001 mm millimeter* millimetre* мм миллиметр* міліметр*\n\
    m 1609.344 mile miles mi миля мили миль милю милях милі\n\
    m 0.3048 ft foot feet фут фута футов футів фути\n\
    m 0.0254 inch inches дюйм*\n\
    m 0.9144 yard yards ярд*\n\
    kg 1 kg kilo kilos kilogram* кг килограмм* кілограм* кило\n\
    kg 0.001 g гр г gram grams грамм* грам грами грамів\n\
    kg 0.000001 mg milligram* мг миллиграмм* міліграм*\n\
    kg 1000 ton tons tonne* т тонн тонна тонны тонну тоннами тони\n\
    kg 0.45359237 lb lbs\n\
    kg 0.028349523 oz ounce ounces унци* унці*\n\
    s 1 sec secs seconds сек секунд*\n\
    s 60 min mins minute minutes мин минут* хв хвилин*\n\
    s 3600 hr hrs hour hours час часа часов часам часами часах годин година години годину ч\n\
    s 86400 day days день дня дней днем дням днями днях дні днів дням сутки суток суткам сутками сутках доба доби діб добу\n\
    s 604800 week weeks неделя недели неделю недель неделям неделями неделях тиждень тижні тижнів тижня\n\
    month 1 month months месяц месяца месяцев месяцам месяцами месяцах місяць місяця місяців місяці\n\
    month 12 year years yr yrs год года лет годам годами рік року роки років летн* літн* річн* годовал* літ\n\
    month 12 летие летия летию летием летий летиям летиями летиях річчя річчю річчям\n\
    month 12000 kyr\n\
    month 12000000 myr\n\
    month 120 decade decades десятилети* десятиліт* десятиріч*\n\
    m2 10000 ha hectare* га гектар*\n\
    m2 100 сотка сотки соток соткою сотках\n\
    m2 4046.8564224 acre acres акр*\n\
    l 1 liter* litre* литр* літр* л\n\
    l 0.01 cl сл\n\
    l 0.001 ml мл миллилитр* мілілітр*\n\
    l 3.785411784 gallon* галлон* галон*\n\
    bbl 1 barrel barrels bbl bpd баррел* барел*\n\
    m3 1 кубометр*\n\
    W 1000 kw киловатт* квт кіловат*\n\
    W 1000000 mw megawatt* мегаватт* мвт мегават*\n\
    W 1000000000 gw gigawatt* гигаватт* гвт гігават*\n\
    Wh 1000 kwh\n\
    Wh 1000000 mwh\n\
    Wh 1000000000 gwh\n\
    Wh 1000000000000 twh\n\
    m/s 0.44704 mph\n\
    m/s 0.2777777778 kph kmh\n\
    Hz 1000 khz кгц kilohertz килогерц* кілогерц*\n\
    Hz 1000000 mhz мгц megahertz мегагерц*\n\
    Hz 1000000000 ghz ггц gigahertz гигагерц* гігагерц*\n\
    B 1 byte bytes байт байта байтов байтів байти\n\
    B 1000 kb кб kilobyte* килобайт* кілобайт*\n\
    B 1024 kib\n\
    B 1048576 mib\n\
    B 1073741824 gib\n\
    B 1000000 mb мб megabyte* мегабайт*\n\
    B 1000000000 gb гб gigabyte* гигабайт* гігабайт*\n\
    B 1000000000000 tb тб terabyte* терабайт*";

type Measure = (&'static str, f64);

struct Words<T> {
    exact: HashMap<&'static str, T>,
    prefixes: Vec<(&'static str, T)>,
}

impl<T: Copy> Words<T> {
    fn from(rows: impl Iterator<Item = (&'static str, T)>) -> Self {
        let mut words = Self { exact: HashMap::new(), prefixes: Vec::new() };
        for (word, value) in rows {
            match word.strip_suffix('*') {
                Some(prefix) => words.prefixes.push((prefix, value)),
                None => {
                    words.exact.insert(word, value);
                }
            }
        }
        words
    }

    fn get(&self, word: &str) -> Option<T> {
        self.exact.get(word).copied().or_else(|| {
            let endings = |prefix: &str| word.strip_prefix(prefix).is_some_and(|rest| rest.chars().count() <= 4);
            self.prefixes.iter().find(|(prefix, _)| endings(prefix)).map(|pair| pair.1)
        })
    }
}

static CURRENCY_WORDS: LazyLock<Words<&'static str>> = LazyLock::new(|| {
    Words::from(CURRENCIES.lines().flat_map(|line| {
        let mut words = line.split_whitespace();
        let code = words.next().unwrap_or_default();
        words.map(move |word| (word, code))
    }))
});

static MEASURE_WORDS: LazyLock<Words<Measure>> = LazyLock::new(|| {
    Words::from(MEASURES.lines().flat_map(|line| {
        let mut words = line.split_whitespace();
        let base = words.next().unwrap_or_default();
        let factor = words.next().and_then(|factor| factor.parse().ok()).unwrap_or(1.0);
        words.map(move |word| (word, (base, factor)))
    }))
});

/// The currency a sign stands for.
pub(super) fn currency_sign(lexeme: &Lexeme<'_>) -> Option<&'static str> {
    let Kind::Sign(sign) = lexeme.kind else { return None };
    Some(match sign {
        '$' => "USD",
        '€' => "EUR",
        '£' => "GBP",
        '¥' => "JPY",
        '₴' => "UAH",
        '₽' => "RUB",
        '₹' => "INR",
        '₩' => "KRW",
        '₺' => "TRY",
        '₿' => "BTC",
        '₸' => "KZT",
        _ => return None,
    })
}

/// Whether the word is a unit. "Годах" is none a figure has ("в 20-х годах"), and nothing that is counted either.
pub(super) fn is_unit(word: &str) -> bool {
    word == "годах" || CURRENCY_WORDS.get(word).is_some() || MEASURE_WORDS.get(word).is_some() || percent_word(word)
}

fn percent_word(word: &str) -> bool {
    word == "percent"
        || word == "pct"
        || word == "проц"
        || ["процент", "відсот"].iter().any(|prefix| word.starts_with(prefix))
}

/// A unit and how to bring a number to its base: value × factor + offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) unit: Unit,
    pub(super) factor: f64,
    pub(super) offset: f64,
    /// Lexemes it takes.
    pub(super) taken: usize,
}

impl Found {
    fn plain(unit: Unit, taken: usize) -> Self {
        Self { unit, factor: 1.0, offset: 0.0, taken }
    }

    fn measure(base: &'static str, factor: f64, taken: usize) -> Self {
        Self { unit: Unit::Measure(base), factor, offset: 0.0, taken }
    }
}

/// The unit at the head of these lexemes; `glued` when nothing stands between the number and them.
pub(super) fn unit(rest: &[Lexeme<'_>], glued: bool) -> Option<Found> {
    let first = rest.first()?;
    if first.is_sign('%') {
        return Some(Found::plain(Unit::Percent, 1));
    }
    if let Some(code) = currency_sign(first) {
        return Some(Found::plain(Unit::Currency(code), 1));
    }
    if first.is_sign('°') || first.is_sign('º') {
        let fahrenheit = rest.get(1).and_then(Lexeme::word) == Some("f");
        let letter = rest.get(1).and_then(Lexeme::word).is_some_and(|word| matches!(word, "c" | "f" | "с"));
        return Some(temperature(fahrenheit, 1 + usize::from(letter)));
    }
    let word = first.word()?;
    let next = rest.get(1).and_then(Lexeme::word);
    match (word, next) {
        ("per", Some("cent")) => return Some(Found::plain(Unit::Percent, 2)),
        ("percentage", Some("point" | "points")) => return Some(Found::measure("pp", 1.0, 2)),
        ("п", _) if rest.get(1).is_some_and(|l| l.is_sign('.')) && rest.get(2).and_then(Lexeme::word) == Some("п") => {
            return Some(Found::measure("pp", 1.0, 3));
        }
        ("degree" | "degrees" | "градус" | "градуса" | "градусов" | "градуси" | "градусів", _) =>
        {
            let scale = next.is_some_and(|word| {
                matches!(word, "celsius" | "c" | "fahrenheit" | "f")
                    || word.starts_with("цельси")
                    || word.starts_with("цельсі")
            });
            let fahrenheit = next.is_some_and(|word| matches!(word, "fahrenheit" | "f"));
            return Some(temperature(fahrenheit, 1 + usize::from(scale)));
        }
        ("c" | "с", _) if glued && first.text.starts_with(['C', 'С']) => return Some(temperature(false, 1)),
        ("f", _) if glued && first.text == "F" => return Some(temperature(true, 1)),
        // The letters of "B.C." are none.
        ("b", _) if rest.get(2).is_some_and(|c| c.text == "C") && rest.get(1).is_some_and(|l| l.is_sign('.')) => {
            return None;
        }
        ("b", _) if !glued && first.text == "B" => return Some(Found::measure("B", 1.0, 1)),
        // "25 million MYR" are ringgit, "25 myr" years.
        ("myr", _) if first.text == "MYR" => return Some(Found::plain(Unit::Currency("MYR"), 1)),
        // "7h15" is a time of day.
        ("h", _) if first.text == "h" && !rest.get(1).is_some_and(|l| l.is_number() && l.start == first.end) => {
            return Some(Found::measure("s", 3_600.0, 1));
        }
        // "5G" is a name.
        ("g" | "г", _) if first.text.starts_with(char::is_uppercase) => return None,
        _ => {}
    }
    if percent_word(word) {
        let points = next.is_some_and(|word| word.starts_with("пункт"));
        return Some(if points { Found::measure("pp", 1.0, 2) } else { Found::plain(Unit::Percent, 1) });
    }
    square_or_cubic(rest).or_else(|| currency_word(rest, word)).or_else(|| measure_word(rest, word))
}

fn currency_word(rest: &[Lexeme<'_>], word: &str) -> Option<Found> {
    if let Some(code) = money::of_a_nation(rest) {
        return Some(Found::plain(Unit::Currency(code), 2));
    }
    // "100 US dollars", "100 долларов США".
    if matches!(word, "us" | "u") {
        let code = rest.get(1).and_then(Lexeme::word).and_then(|next| CURRENCY_WORDS.get(next))?;
        return Some(Found::plain(Unit::Currency(code), 2));
    }
    let dollars_of = rest.get(1).and_then(Lexeme::word) == Some("сша");
    CURRENCY_WORDS.get(word).map(|code| Found::plain(Unit::Currency(code), 1 + usize::from(dollars_of)))
}

fn measure_word(rest: &[Lexeme<'_>], word: &str) -> Option<Found> {
    let (base, factor) = MEASURE_WORDS.get(word)?;
    let sign = |index: usize, sign: char| rest.get(index).is_some_and(|lexeme| lexeme.is_sign(sign));
    if base == "m" && sign(1, '²') {
        return Some(Found::measure("m2", factor * factor, 2));
    }
    if base == "m" && sign(1, '³') {
        return Some(Found::measure("m3", factor * factor * factor, 2));
    }
    if base == "m" && (sign(1, '/') || rest.get(1).and_then(Lexeme::word) == Some("per")) {
        let seconds = match rest.get(2).and_then(Lexeme::word) {
            Some("h" | "hour" | "ч" | "час" | "год") => 3600.0,
            Some("s" | "sec" | "second" | "с" | "сек") => 1.0,
            _ => return Some(Found::measure(base, factor, 1)),
        };
        return Some(Found::measure("m/s", factor / seconds, 3));
    }
    Some(Found::measure(base, factor, 1))
}

/// "sq km", "square kilometres", "кв. км", "квадратных километров", "cubic metres", "куб. м".
fn square_or_cubic(rest: &[Lexeme<'_>]) -> Option<Found> {
    let word = rest.first()?.word()?;
    let square = matches!(word, "sq" | "square" | "кв") || word.starts_with("квадратн");
    let cubic = matches!(word, "cu" | "cubic" | "куб") || word.starts_with("кубическ") || word.starts_with("кубічн");
    (square || cubic).then_some(())?;
    let dot = usize::from(rest.get(1).is_some_and(|lexeme| lexeme.is_sign('.') || lexeme.is_sign('-')));
    let (base, factor) = MEASURE_WORDS.get(rest.get(1 + dot)?.word()?)?;
    (base == "m").then_some(())?;
    Some(if square {
        Found::measure("m2", factor * factor, 2 + dot)
    } else {
        Found::measure("m3", factor * factor * factor, 2 + dot)
    })
}

/// Degrees as °C.
fn temperature(fahrenheit: bool, taken: usize) -> Found {
    if fahrenheit {
        Found { unit: Unit::Measure("°C"), factor: 5.0 / 9.0, offset: -160.0 / 9.0, taken }
    } else {
        Found::measure("°C", 1.0, taken)
    }
}
