//! Numbers written as words, and the words that scale a number.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Value and every form of it, English, Russian, Ukrainian. Words that mean something else more often are left out
/// ("семью" is a family).
const CARDINALS: &str = "0 zero ноль ноля нуль нуля\n\
    1 one один одна одно одного одной одному одну одним одном одна одне однієї одній\n\
    2 two два две двух двум двумя двое двоих двоим дві двох двом двома двоє\n\
    3 three три трех трем тремя трое троих троим трьох трьом трьома троє\n\
    4 four четыре четырех четырем четырьмя четверо четверых чотири чотирьох чотирьом чотирма четверо\n\
    5 five пять пяти пятью пятеро пятерых п'ять п'яти п'ятьох п'ятьом п'ятьма п'ятеро\n\
    6 six шесть шести шестью шестеро шестерых шість шістьох шістьом шістьма\n\
    7 seven семь семи семеро семерых сім сімох сімом сьома\n\
    8 eight восемь восьми восемью восьмеро вісім восьми вісьмох\n\
    9 nine девять девяти девятью дев'ять дев'яти дев'ятьох\n\
    10 ten десять десяти десятью десятьох\n\
    11 eleven одиннадцать одиннадцати одинадцять одинадцяти\n\
    12 twelve двенадцать двенадцати дванадцять дванадцяти\n\
    13 thirteen тринадцать тринадцати тринадцять тринадцяти\n\
    14 fourteen четырнадцать четырнадцати чотирнадцять чотирнадцяти\n\
    15 fifteen пятнадцать пятнадцати п'ятнадцять п'ятнадцяти\n\
    16 sixteen шестнадцать шестнадцати шістнадцять шістнадцяти\n\
    17 seventeen семнадцать семнадцати сімнадцять сімнадцяти\n\
    18 eighteen восемнадцать восемнадцати вісімнадцять вісімнадцяти\n\
    19 nineteen девятнадцать девятнадцати дев'ятнадцять дев'ятнадцяти\n\
    20 twenty двадцать двадцати двадцатью двадцять двадцяти двадцятьох\n\
    30 thirty тридцать тридцати тридцатью тридцять тридцяти тридцятьох\n\
    40 forty сорок сорока\n\
    50 fifty пятьдесят пятидесяти п'ятдесят п'ятдесяти\n\
    60 sixty шестьдесят шестидесяти шістдесят шістдесяти\n\
    70 seventy семьдесят семидесяти сімдесят сімдесяти\n\
    80 eighty восемьдесят восьмидесяти вісімдесят вісімдесяти\n\
    90 ninety девяносто девяноста дев'яносто дев'яноста\n\
    100 сто ста\n\
    200 двести двухсот двумстам двісті двохсот\n\
    300 триста трехсот тремстам трьохсот\n\
    400 четыреста четырехсот чотириста чотирьохсот\n\
    500 пятьсот пятисот п'ятсот п'ятисот\n\
    600 шестьсот шестисот шістсот шестисот\n\
    700 семьсот семисот сімсот семисот\n\
    800 восемьсот восьмисот вісімсот восьмисот\n\
    900 девятьсот девятисот дев'ятсот дев'ятисот\n\
    1.5 полтора полторы полутора півтора півтори";

const SCALES: &str = "10 десяток десятка десятку десятки десятков десятків\n\
    100 hundred hundreds сотня сотни сотню сотен сотні сотень\n\
    1000 thousand тыс тысяча тысячи тысяч тысячу тысячам тысячами тысячах тыща тис тисяча тисячі тисяч тисячу тисячам тисячами тисячах\n\
    100000 lakh lakhs\n\
    1000000 million millions mln mn млн миллион миллиона миллионов миллиону миллионам миллионами миллионах мільйон мільйона мільйонів мільйони мільйонам мільйонами мільйонах миллионы\n\
    10000000 crore crores\n\
    1000000000 billion billions bn bln млрд миллиард миллиарда миллиардов миллиарды миллиардам миллиардами миллиардах мільярд мільярда мільярдів мільярди мільярдам мільярдами мільярдах\n\
    1000000000000 trillion trillions tn trn трлн триллион триллиона триллионов триллионы трильйон трильйона трильйонів трильйони\n\
    12 dozen дюжина дюжины дюжину";

const ORDINALS: &str = "1 first первый первая первое первого первой первым первом первому первую первые первых первыми перший перша перше першого першої першій першим першому першу першою перші перших першими\n\
    2 second второй вторая второе второго вторым втором второму вторую вторые вторых вторыми\n\
    3 third третий третья третье третьего третьей третьим третьему третьем третью третьи третьих третьими третій третя третє третього третьої третьому третьою треті третіх третіми\n\
    4 fourth четвертый четвертая четвертое четвертого четвертой четвертым четвертий четверта четверте четвертого\n\
    5 fifth пятый пятая пятое пятого пятой пятым п'ятий п'ята п'яте п'ятого\n\
    6 sixth шестой шестая шестое шестого шестым шостий шоста шостого\n\
    7 seventh седьмой седьмая седьмое седьмого седьмым сьомий сьома сьомого\n\
    8 eighth восьмой восьмая восьмое восьмого восьмым восьмий восьма восьмого\n\
    9 ninth девятый девятая девятое девятого девятым дев'ятий дев'ята дев'ятого\n\
    10 tenth десятый десятая десятое десятого десятым десятий десята десятого\n\
    11 eleventh\n12 twelfth\n13 thirteenth\n14 fourteenth\n15 fifteenth\n16 sixteenth\n17 seventeenth\n18 eighteenth\n\
    19 nineteenth\n20 twentieth\n30 thirtieth\n40 fortieth\n50 fiftieth\n60 sixtieth\n70 seventieth\n80 eightieth\n90 ninetieth";

type Table = HashMap<&'static str, f64>;

fn table(text: &'static str) -> Table {
    let mut map = HashMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(value) = words.next().and_then(|value| value.parse().ok()) else { continue };
        map.extend(words.map(|word| (word, value)));
    }
    map
}

/// The value of a number word below a thousand.
pub(super) fn cardinal(word: &str) -> Option<f64> {
    static TABLE: LazyLock<Table> = LazyLock::new(|| table(CARDINALS));
    TABLE.get(word).copied()
}

/// Beginnings of verbs after which "до" names what was come to, not a limit.
const CHANGES: &[&str] = &[
    "подорож",
    "подешев",
    "дешев",
    "рухнул",
    "обвал",
    "укреп",
    "ослаб",
    "опуст",
    "усили",
    "посил",
    "зміцн",
    "послаб",
    "опуск",
    "приговор",
    "засуд",
    "осуд",
    "вырос",
    "возрос",
    "увелич",
    "сниз",
    "сократи",
    "упал",
    "поднят",
    "поднял",
    "поднимет",
    "повыси",
    "повыш",
    "уменьш",
    "зрос",
    "збільш",
    "зменш",
    "скороти",
    "скороч",
    "знизи",
    "підвищ",
    "впав",
    "впал",
    "вырас",
    "возрасти",
    "возрастет",
    "возрастае",
    "возрастаю",
    "сниж",
    "сокращ",
    "поднима",
    "пониз",
    "пониж",
    "упад",
    "довест",
    "довел",
    "зрост",
    "зріс",
    "зниж",
    "доходил",
    "дошел",
    "дошл",
    "дійшл",
    "дійшов",
];

pub(super) fn is_a_change(word: &str) -> bool {
    CHANGES.iter().any(|beginning| word.starts_with(beginning))
}

/// A scale that stands for one of it: "более триллиона", "больше тысячи".
pub(super) fn lone_scale(word: &str) -> Option<f64> {
    if word.is_ascii() {
        return None;
    }
    let singular = [
        "десятка",
        "десятку",
        "десяток",
        "сотни",
        "сотню",
        "сотня",
        "сотні",
        "тысячи",
        "тысячу",
        "тысячей",
        "тисячі",
        "тисячу",
        "ста",
    ]
    .contains(&word)
        || ["миллион", "миллиард", "триллион", "мільйон", "мільярд", "трильйон"]
            .iter()
            .any(|scale| word.strip_prefix(scale).is_some_and(|ending| matches!(ending, "" | "а" | "ом" | "у")));
    if word == "ста" { Some(100.0) } else { scale(word).filter(|_| singular) }
}

/// Adjectives between a number and its span: "два последних года", "three full days".
pub(super) fn stands_before_a_span(word: &str) -> bool {
    const BETWEEN: &str = " последних прошедших минувших ближайших следующих предыдущих полных целых рабочих календарных выходных \
        праздничных учебных банковских летних зимних летние зимние последние ближайшие следующие полные целые рабочие календарные выходные \
        учебные останніх минулих наступних повних робочих календарних вихідних святкових навчальних банківських літніх зимових літні зимові \
        останні наступні повні робочі календарні вихідні навчальні last past next full whole consecutive straight more \
        working additional business school trading calendar summer winter ";
    BETWEEN.contains(&format!(" {word} "))
}

/// Spans of one word, in their base unit.
pub(super) fn half_spans(word: &str) -> Option<(f64, &'static str)> {
    match word {
        "полчаса" | "получаса" | "півгодини" => Some((1_800.0, "s")),
        "полгода" | "полугода" | "півроку" => Some((6.0, "month")),
        "полвека" | "полувека" | "півстоліття" | "півсторіччя" => {
            Some((600.0, "month"))
        }
        "полминуты" | "півхвилини" => Some((30.0, "s")),
        _ => None,
    }
}

/// "Летних", "літні": of the summer, where no hyphen joins it to a number ("три летних лагеря").
pub(super) fn is_of_the_summer(word: &str) -> bool {
    matches!(word, "летних" | "летние" | "летним" | "летними" | "літніх" | "літні" | "літнім" | "літніми")
}

/// How often: "twice", "трижды".
pub(super) fn times(word: &str) -> Option<f64> {
    match word {
        "twice" | "дважды" | "двічі" => Some(2.0),
        "thrice" | "трижды" | "тричі" => Some(3.0),
        _ => None,
    }
}

/// How many do it together: "вдвоём", "втрьох".
pub(super) fn together(word: &str) -> Option<f64> {
    Some(match word {
        "вдвоем" | "вдвох" | "удвох" => 2.0,
        "втроем" | "втрьох" | "утрьох" => 3.0,
        "вчетвером" | "вчотирьох" | "учотирьох" => 4.0,
        "впятером" | "вп'ятьох" | "уп'ятьох" => 5.0,
        "вшестером" | "вшістьох" | "ушістьох" => 6.0,
        "всемером" => 7.0,
        _ => return None,
    })
}

/// What a word after a number multiplies it by.
pub(super) fn scale(word: &str) -> Option<f64> {
    static TABLE: LazyLock<Table> = LazyLock::new(|| table(SCALES));
    TABLE.get(word).copied()
}

/// Tens and hundreds that are as often told without a number ("сотні людей"): none of them multiplies what may be a year.
pub(crate) fn is_a_rough_scale(word: &str) -> bool {
    scale(word).is_some_and(|factor| factor < 1000.0)
}

/// Beginnings of ranks that are declined like any adjective.
const RANKS: &str = "4 четверт\n5 пят п'ят\n6 шест шост\n7 седьм сьом\n8 восьм\n9 девят дев'ят\n10 десят\n\
    11 одиннадцат одинадцят\n12 двенадцат дванадцят\n13 тринадцат тринадцят\n14 четырнадцат чотирнадцят\n\
    15 пятнадцат п'ятнадцят\n16 шестнадцат шістнадцят\n17 семнадцат сімнадцят\n18 восемнадцат вісімнадцят\n\
    19 девятнадцат дев'ятнадцят\n20 двадцат двадцят\n30 тридцат тридцят\n40 сороков\n50 пятидесят п'ятдесят\n\
    60 шестидесят шістдесят\n70 семидесят сімдесят\n80 восьмидесят вісімдесят\n90 девяност дев'яност";

/// Endings of an adjective that no noun of those beginnings has ("пята" is a heel, "пяти" is five).
const ENDINGS: &str = " ый ий ой ая ое ого ому ым ом ую ые ых ыми ого ому им ім ої ій их ими ";

/// "Second" in Ukrainian; Russian reads some of the forms as "friend" and "another".
pub(super) const UKRAINIAN_SECOND: &str =
    " другий друга друге другого другої другому другій другим другу другою другі других другими ";

/// The rank an ordinal word names.
pub(super) fn ordinal(word: &str) -> Option<f64> {
    static TABLE: LazyLock<Table> = LazyLock::new(|| table(ORDINALS));
    static BEGINNINGS: LazyLock<Table> = LazyLock::new(|| table(RANKS));
    TABLE.get(word).copied().or_else(|| {
        if word.is_ascii() {
            return None;
        }
        let declined = |(beginning, rank): (&&str, &f64)| {
            let ending = word.strip_prefix(beginning)?;
            (!ending.is_empty() && ENDINGS.contains(&format!(" {ending} "))).then_some(*rank)
        };
        BEGINNINGS.iter().find_map(declined)
    })
}

/// Spans that adjectives are made of, with what one is worth in its base unit.
const SPANS: &[(&str, &str, f64)] = &[
    ("летн", "month", 12.0),
    ("літн", "month", 12.0),
    ("годовал", "month", 12.0),
    ("годичн", "month", 12.0),
    ("річн", "month", 12.0),
    ("месячн", "month", 1.0),
    ("місячн", "month", 1.0),
    ("недельн", "s", 604_800.0),
    ("тижнев", "s", 604_800.0),
    ("дневн", "s", 86_400.0),
    ("денн", "s", 86_400.0),
    ("суточн", "s", 86_400.0),
    ("часов", "s", 3_600.0),
    ("годинн", "s", 3_600.0),
    ("минутн", "s", 60.0),
    ("хвилинн", "s", 60.0),
    ("метров", "m", 1.0),
    ("километров", "m", 1000.0),
    ("кілометров", "m", 1000.0),
    ("сантиметров", "m", 0.01),
    ("миллиметров", "m", 0.001),
    ("міліметров", "m", 0.001),
    ("дюймов", "m", 0.0254),
    ("тонн", "kg", 1000.0),
    ("килограммов", "kg", 1.0),
    ("кілограмов", "kg", 1.0),
    ("граммов", "kg", 0.001),
    ("грамов", "kg", 0.001),
    ("литров", "l", 1.0),
    ("літров", "l", 1.0),
    ("процентн", "%", 1.0),
    ("відсотков", "%", 1.0),
];

/// Tens as compound words begin with them: "двадцатипятилетний".
const TENS: &[&str] = &[
    "двадцати",
    "тридцати",
    "сорока",
    "пятидесяти",
    "шестидесяти",
    "семидесяти",
    "восьмидесяти",
    "девяноста",
    "двадцяти",
    "тридцяти",
    "п'ятдесяти",
    "шістдесяти",
    "сімдесяти",
    "вісімдесяти",
    "дев'яноста",
];

/// The number that a compound word begins with.
fn joined(number: &str) -> Option<f64> {
    let below_ten = |word: &str| match word {
        "одно" => Some(1.0),
        "дво" => Some(2.0),
        "трьох" | "трех" => Some(3.0),
        word => cardinal(word),
    };
    let compound = || {
        TENS.iter().find_map(|tens| {
            let rest = below_ten(number.strip_prefix(tens)?).filter(|rest| *rest < 10.0)?;
            Some(cardinal(tens)? + rest)
        })
    };
    below_ten(number).or_else(compound)
}

/// "двухдневный", "чотирирічна": the number, the base unit, and what one of it is worth there.
pub(super) fn spanning(word: &str) -> Option<(f64, &'static str, f64)> {
    // Every word of a text is asked about, and the spans are all Cyrillic.
    if word.is_ascii() {
        return None;
    }
    SPANS.iter().find_map(|(span, base, factor)| {
        // "Однотонный" is of one colour.
        let (number, ending) = word.split_once(span).filter(|(number, _)| !(*span == "тонн" && *number == "одно"))?;
        let declined = (1..=3).contains(&ending.chars().count());
        // "Годовалый" is of one year.
        let value = if number.is_empty() && *span == "годовал" { Some(1.0) } else { joined(number) };
        value.filter(|_| declined).map(|value| (value, *base, *factor))
    })
}

/// Endings of the adjectives behind a number and a hyphen; "24-часов" and "300-тонн" are none.
const ADJECTIVES: &str =
    " ый ий ой ая ое ого ому ым ом ую ые ых ыми яя ее его ему юю ей ие их ими ої ій им ім а е у ою і ";

/// "1600-километрового", "15-дневный": the base unit of the adjective behind the hyphen, and what one is worth there.
pub(super) fn measure_of_an_adjective(word: &str) -> Option<(&'static str, f64)> {
    SPANS.iter().find_map(|(span, base, factor)| {
        let ending = word.strip_prefix(span)?;
        (!ending.is_empty() && ADJECTIVES.contains(&format!(" {ending} "))).then_some((*base, *factor))
    })
}

/// A number as words: its value, the unit of its last word, and how many words it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spelled {
    pub(super) value: f64,
    pub(super) last_digit: f64,
    pub(super) taken: usize,
}

/// Reads a number from the first of these words: "two hundred and five", "двадцать одна тысяча", "half a million". A lone
/// "one" is a pronoun, an article or a number of no interest, and is not read.
pub(super) fn spelled(words: &[&str]) -> Option<Spelled> {
    let (mut total, mut current, mut taken, mut last_digit) = (0.0, 0.0, 0, 1.0);
    let mut index = 0;
    if let Some((value, skip)) = half(words) {
        (current, index, taken, last_digit) = (value, skip, skip, value);
    } else if matches!(words.first(), Some(&"a" | &"an")) {
        scale(words.get(1)?)?;
        (current, index, taken) = (1.0, 1, 1);
    }
    let mut added = current > 0.0;
    while let Some(word) = words.get(index) {
        if let Some(value) = cardinal(word).filter(|value| fits(current, *value)) {
            current += value;
            last_digit = unit_of(value);
            added = true;
        } else if let Some(factor) = scale(word).filter(|_| added) {
            current *= factor;
            last_digit *= factor;
            if factor >= 1000.0 {
                total += current;
                current = 0.0;
            }
        } else if *word == "and"
            && added
            && words.get(index + 1).is_some_and(|next| cardinal(next).is_some())
            && (current >= 100.0 || total > 0.0)
        {
            index += 1;
            continue;
        } else {
            break;
        }
        index += 1;
        taken = index;
    }
    let value = total + current;
    let lone_one = taken == 1 && (value - 1.0).abs() < f64::EPSILON;
    (added && taken > 0 && !lone_one).then_some(Spelled { value, last_digit, taken })
}

/// "half a million", "полмиллиона" is one word and is left to the reader, "пів мільйона".
fn half(words: &[&str]) -> Option<(f64, usize)> {
    match words {
        ["half", "a" | "an", next, ..] if scale(next).is_some() => Some((0.5, 2)),
        ["half" | "пів" | "пол", next, ..] if scale(next).is_some() => Some((0.5, 1)),
        _ => None,
    }
}

/// Whether a number word may follow what was read: "twenty" + "five", never "five" + "twenty".
fn fits(current: f64, value: f64) -> bool {
    if current == 0.0 {
        return true;
    }
    let room = if current % 100.0 == 0.0 && current > 0.0 {
        100.0
    } else if current % 10.0 == 0.0 && current % 100.0 >= 20.0 {
        10.0
    } else {
        0.0
    };
    value < room && value > 0.0
}

/// A number word states its last digit; "полтора" states halves.
fn unit_of(value: f64) -> f64 {
    if value.fract() == 0.0 { 1.0 } else { 0.5 }
}
