//! Numbers written as words, and the words that scale a number.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Value and every form of it, English, Russian, Ukrainian. Words that mean something else more often are left out
/// ("семью" is a family).
const CARDINALS: &str = "0 zero ноль ноля нуль нуля\n\
    1 one один одна одно одного одной одному одну одним одном одна одне однієї одній\n\
    2 two два две двух двум двумя двое дві двох двом двома двоє\n\
    3 three три трех трем тремя трое трьох трьом трьома троє\n\
    4 four четыре четырех четырем четырьмя четверо чотири чотирьох чотирьом чотирма\n\
    5 five пять пяти пятью пятеро п'ять п'яти п'ятьох п'ятьма\n\
    6 six шесть шести шестью шестеро шість шести шістьох\n\
    7 seven семь семи семеро сім семи сімох\n\
    8 eight восемь восьми восемью вісім восьми вісьмох\n\
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

const SCALES: &str = "100 hundred hundreds\n\
    1000 thousand тыс тысяча тысячи тысяч тысячу тысячам тысячами тысячах тыща тис тисяча тисячі тисяч тисячу тисячам тисячами тисячах\n\
    100000 lakh lakhs\n\
    1000000 million millions mln mn млн миллион миллиона миллионов миллиону миллионам миллионами миллионах мільйон мільйона мільйонів мільйони мільйонам мільйонами мільйонах миллионы\n\
    10000000 crore crores\n\
    1000000000 billion billions bn bln млрд миллиард миллиарда миллиардов миллиарды миллиардам миллиардами миллиардах мільярд мільярда мільярдів мільярди мільярдам мільярдами мільярдах\n\
    1000000000000 trillion trillions tn trn трлн триллион триллиона триллионов триллионы трильйон трильйона трильйонів трильйони\n\
    12 dozen дюжина дюжины дюжину";

const ORDINALS: &str = "1 first первый первая первое первого первой первым первому первую перший перша перше першого першої першим першому першу\n\
    2 second второй вторая второе второго вторым второму вторую другий друга друге\n\
    3 third третий третья третье третьего третьей третьим третьему третью третій третя третє третього третьої третьому\n\
    4 fourth четвертый четвертая четвертое четвертого четвертой четвертым четвертий четверта четверте четвертого\n\
    5 fifth пятый пятая пятое пятого пятой пятым п'ятий п'ята п'яте п'ятого\n\
    6 sixth шестой шестая шестое шестого шестым шостий шоста шостого\n\
    7 seventh седьмой седьмая седьмое седьмого седьмым сьомий сьома сьомого\n\
    8 eighth восьмой восьмая восьмое восьмого восьмым восьмий восьма восьмого\n\
    9 ninth девятый девятая девятое девятого девятым дев'ятий дев'ята дев'ятого\n\
    10 tenth десятый десятая десятое десятого десятым десятий десята десятого";

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

/// What a word after a number multiplies it by.
pub(super) fn scale(word: &str) -> Option<f64> {
    static TABLE: LazyLock<Table> = LazyLock::new(|| table(SCALES));
    TABLE.get(word).copied()
}

/// The rank an ordinal word names.
pub(super) fn ordinal(word: &str) -> Option<f64> {
    static TABLE: LazyLock<Table> = LazyLock::new(|| table(ORDINALS));
    TABLE.get(word).copied()
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
