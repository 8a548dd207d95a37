use proptest::prelude::*;

use super::*;

fn one(text: &str) -> Quantity {
    let all = quantities(text, None);
    assert_eq!(all.len(), 1, "{text}: {all:#?}");
    all[0].clone()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn states(text: &str, low: f64, high: f64, unit: Unit, comparator: Comparator) {
    let found = one(text);
    assert!(near(found.low, low) && near(found.high, high), "{text}: {} {}", found.low, found.high);
    assert_eq!((found.unit, found.comparator), (unit, comparator), "{text}");
}

fn exact(text: &str, value: f64, unit: Unit) {
    states(text, value, value, unit, Comparator::Exact);
}

const USD: Unit = Unit::Currency("USD");

#[test]
fn digits_in_every_grouping() {
    exact("1,234.5 widgets", 1234.5, Unit::None);
    exact("1 234,5 штук", 1234.5, Unit::None);
    exact("12\u{a0}345\u{a0}678 людей", 12_345_678.0, Unit::None);
    exact("3.5 million people", 3.5e6, Unit::None);
    exact("12 тыс. человек", 12_000.0, Unit::None);
    exact("2,5 млн жителей", 2.5e6, Unit::None);
    exact("1,234,567 votes", 1_234_567.0, Unit::None);
    exact("10k followers", 1e4, Unit::None);
    assert!(near(quantities("1.234.567 Stimmen", Some("de"))[0].low, 1_234_567.0));
    assert!(near(quantities("1.500 Euro", Some("de"))[0].low, 1500.0));
}

#[test]
fn money_percent_and_measures() {
    exact("$5bn", 5e9, USD);
    exact("US$ 1.5 million", 1.5e6, USD);
    exact("$5m", 5e6, USD);
    exact("5 млрд долларов США", 5e9, USD);
    exact("20 мільярдів гривень", 2e10, Unit::Currency("UAH"));
    exact("€300", 300.0, Unit::Currency("EUR"));
    exact("100 рублей", 100.0, Unit::Currency("RUB"));
    exact("20 %", 20.0, Unit::Percent);
    exact("20 процентов", 20.0, Unit::Percent);
    exact("3,5 відсотка", 3.5, Unit::Percent);
    exact("2 percentage points", 2.0, Unit::Measure("pp"));
    exact("5 km", 5000.0, Unit::Measure("m"));
    exact("100 miles", 160_934.4, Unit::Measure("m"));
    exact("5-километровый забег", 5000.0, Unit::Measure("m"));
    exact("12-year-old boy", 144.0, Unit::Measure("month"));
    exact("80 кг", 80.0, Unit::Measure("kg"));
    exact("Water boils at 50C", 50.0, Unit::Measure("°C"));
    exact("212 °F", 100.0, Unit::Measure("°C"));
    exact("−5°C", -5.0, Unit::Measure("°C"));
    exact("минус 20 градусов", -20.0, Unit::Measure("°C"));
    exact("120 km/h", 120_000.0 / 3600.0, Unit::Measure("m/s"));
    exact("600 sq km", 6e8, Unit::Measure("m2"));
    exact("600 тыс. кв. км", 6e11, Unit::Measure("m2"));
}

#[test]
fn numbers_in_words() {
    exact("two hundred people", 200.0, Unit::None);
    exact("two hundred and five people", 205.0, Unit::None);
    exact("twenty-five men", 25.0, Unit::None);
    exact("a hundred thousand men", 1e5, Unit::None);
    exact("двадцать человек", 20.0, Unit::None);
    exact("двадцать одна тысяча человек", 21_000.0, Unit::None);
    exact("п'ятдесят відсотків", 50.0, Unit::Percent);
    exact("полтора миллиона людей", 1.5e6, Unit::None);
    exact("half a million people", 5e5, Unit::None);
    exact("a quarter of a million people", 2.5e5, Unit::None);
    exact("a million and a half people", 1.5e6, Unit::None);
    exact("two million and a half tonnes", 2.5e9, Unit::Measure("kg"));
    exact("полмиллиона человек", 5e5, Unit::None);
    states("около полумиллиона человек", 5e5, 5e5, Unit::None, Comparator::About);
    exact("полтысячи рублей", 500.0, Unit::Currency("RUB"));
    exact("два миллиона с половиной человек", 2.5e6, Unit::None);
    exact("четверть миллиона человек", 2.5e5, Unit::None);
    exact("півмільярда гривень", 5e8, Unit::Currency("UAH"));
    exact("півтисячі людей", 500.0, Unit::None);
    exact("чверть мільйона людей", 2.5e5, Unit::None);
    states("a quarter of the voters", 25.0, 25.0, Unit::Percent, Comparator::About);
    states("half of the voters", 50.0, 50.0, Unit::Percent, Comparator::About);
    assert!(quantities("No one knows one of them, и один из них", None).is_empty());
}

#[test]
fn comparators_and_ranges() {
    states("more than 50 people", 50.0, 50.0, Unit::None, Comparator::MoreThan);
    states("no more than $5", 5.0, 5.0, USD, Comparator::AtMost);
    states("at least 5%", 5.0, 5.0, Unit::Percent, Comparator::AtLeast);
    states("nearly 5,000 men", 5000.0, 5000.0, Unit::None, Comparator::About);
    states("до 100 человек", 100.0, 100.0, Unit::None, Comparator::AtMost);
    states("более 100 человек", 100.0, 100.0, Unit::None, Comparator::MoreThan);
    states("не менее 100 человек", 100.0, 100.0, Unit::None, Comparator::AtLeast);
    states("понад 100 осіб", 100.0, 100.0, Unit::None, Comparator::MoreThan);
    states("майже 100 осіб", 100.0, 100.0, Unit::None, Comparator::About);
    states("100 или более", 100.0, 100.0, Unit::None, Comparator::AtLeast);
    states("18+ only", 18.0, 18.0, Unit::None, Comparator::AtLeast);
    states("between 5 and 10 people", 5.0, 10.0, Unit::None, Comparator::Exact);
    states("5–10 %", 5.0, 10.0, Unit::Percent, Comparator::Exact);
    states("5–10 million km", 5e9, 1e10, Unit::Measure("m"), Comparator::Exact);
    states("$5-10bn", 5e9, 1e10, USD, Comparator::Exact);
    states("от 5 до 10 тысяч", 5000.0, 10_000.0, Unit::None, Comparator::Exact);
    let change = quantities("выросла с 5 % до 10 %", None);
    assert_eq!(
        change.iter().map(|q| (q.low, q.comparator)).collect::<Vec<_>>(),
        [(5.0, Comparator::Exact), (10.0, Comparator::Exact)]
    );
}

#[test]
fn dates_names_and_times_are_no_counts() {
    for text in ["on 17 May 2024", "17.05.2024", "at 15:30", "24 лютого 2022 року", "5 мая", "no digits"] {
        assert!(quantities(text, None).is_empty(), "{text}: {:?}", quantities(text, None));
    }
    exact("in 2020", 2020.0, Unit::Year);
    exact("в 1812 году", 1812.0, Unit::Year);
    for (text, value) in
        [("COVID-19", 19.0), ("F-16", 16.0), ("G7", 7.0), ("5G", 5.0), ("Article 5", 5.0), ("№ 12", 12.0)]
    {
        exact(text, value, Unit::Identifier);
    }
    exact("the 3rd president", 3.0, Unit::Ordinal);
    exact("третий президент", 3.0, Unit::Ordinal);
    exact("5-й канал", 5.0, Unit::Ordinal);
    exact("2000 people died", 2000.0, Unit::None);
}

#[test]
fn what_is_counted_and_the_last_digit() {
    let found = one("About 3.5 million refugees left");
    assert!(near(found.last_digit, 100_000.0));
    assert_eq!(found.counted, ["refuge", "left"]);
    assert_eq!(found.text, "3.5 million");
    assert_eq!(one("5 % of voters").counted, ["voter"]);
    assert_eq!(one("В Киеве погибли 20 человек").counted, ["человек", "погибнут", "киев"]);
    assert_eq!(one("Unemployment fell to 5 %").counted, ["fell", "unemploy"]);
    assert_eq!(one("он потратил 12 тыс. рублей").start, "он потратил ".len());
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "[0-9.,  %$€a-zа-яії'–-]{0,80}") {
        for quantity in quantities(&text, None) {
            prop_assert!(quantity.low <= quantity.high && quantity.low.is_finite());
            prop_assert!(text.get(quantity.start..).is_some_and(|rest| rest.starts_with(&quantity.text)));
        }
    }

    #[test]
    fn a_written_count_is_read_back(count in 100u32..10_000_000) {
        let digits = count.to_string();
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        let (english, russian) = (format!("{grouped} voters"), format!("{} избирателей", grouped.replace(',', " ")));
        prop_assert!(near(one(&english).low, f64::from(count)));
        prop_assert!(near(one(&russian).low, f64::from(count)));
    }
}

#[test]
fn figures_that_name_are_identifiers_and_figures_that_count_are_not() {
    for text in [
        "port 4711",
        "HTTP status code 503",
        "status 503",
        "order number 48213",
        "Order 48213 was shipped.",
        "version 3.15",
        "v 3.15",
        "flight 370",
        "room 12",
        "page 7",
        "postcode 4711",
        "line 5",
        "release 12",
        "порт 4711",
        "код 503",
        "номер 48213",
        "версия 3.15",
        "версія 3.15",
        "заказ 48213",
        "замовлення 48213",
        "статья 5",
        "стаття 5",
        "рейс 370",
        "кабинет 12",
        "part 2",
        "часть 3",
    ] {
        assert!(quantities(text, None).iter().all(|figure| figure.unit == Unit::Identifier), "{text}");
        assert_eq!(quantities(text, None).len(), 1, "{text}");
    }
    for text in [
        "The number of the dead is 37.",
        "They will release 50 hostages.",
        "They order 300 tanks.",
        "The line is 4 km long.",
        "The port has 4711 ships.",
        "12.6 million people",
        "In Odesa 37 people died.",
        "The bill is 300 dollars.",
        "1001 killed",
        "Из порта вышли 12 судов.",
        "В воинской части 12 солдат погибли.",
        "У військовій частині 12 солдатів загинули.",
        "Taking part 300 athletes ran.",
    ] {
        assert!(quantities(text, None).iter().all(|figure| figure.unit != Unit::Identifier), "{text}");
    }
}

#[test]
fn a_part_of_what_has_a_number_is_no_count() {
    for text in ["часть 2 статьи 105", "по части 1 пункта 3", "part 2 of section 4"] {
        let found = quantities(text, None);
        assert!(found.len() == 2 && found.iter().all(|one| one.unit == Unit::Identifier), "{text}: {found:?}");
    }
}

#[test]
fn spans_ranks_and_times_in_words() {
    exact("двухдневный визит", 172_800.0, Unit::Measure("s"));
    exact("семирічна дитина", 84.0, Unit::Measure("month"));
    exact("the twenty-first chapter", 21.0, Unit::Ordinal);
    exact("двадцать первая серия", 21.0, Unit::Ordinal);
    exact("на сімдесят п'ятому році", 75.0, Unit::Ordinal);
    exact("was filmed twice", 2.0, Unit::None);
    exact("в 24-х странах", 24.0, Unit::None);
    exact("четыре с половиной года", 54.0, Unit::Measure("month"));
    exact("four and a half years", 54.0, Unit::Measure("month"));
    exact("the first half of October", 1.0, Unit::Ordinal);
    states("более триллиона долларов", 1e12, 1e12, Unit::Currency("USD"), Comparator::MoreThan);
    exact("полчаса езды", 1_800.0, Unit::Measure("s"));
    exact("выросли до 111,2 миллиона фунтов", 111.2e6, Unit::Currency("GBP"));
    states("как минимум, четыре человека", 4.0, 4.0, Unit::None, Comparator::AtLeast);
    for silent in ["twice as many", "one day he left", "пята болит", "the others"] {
        assert!(quantities(silent, None).is_empty(), "{silent}: {:?}", quantities(silent, None));
    }
}

#[test]
fn a_change_and_two_sides_share_their_unit() {
    for (text, expected) in [
        ("fell from 10 to 8 hours", [36_000.0, 28_800.0]),
        ("rose from 5 to 10 million", [5e6, 1e7]),
        ("бег на 50 и 30 метров", [50.0, 30.0]),
        ("rose from -5 to 10 degrees", [-5.0, 10.0]),
    ] {
        let found = quantities(text, None);
        assert_eq!(found.len(), 2, "{text}: {found:#?}");
        assert!(found.iter().zip(expected).all(|(one, value)| near(one.low, value)), "{text}: {found:#?}");
    }
}

#[test]
fn comparator_applies_to_both_numbers_when_two_follow() {
    for one in quantities("about 50 and 30 metres", Some("en")) {
        assert_eq!(one.comparator, Comparator::About, "{one:?}");
    }
    states("-5 to 10 degrees", -5.0, 10.0, Unit::Measure("°C"), Comparator::Exact);
}

#[test]
fn shares_are_percent() {
    for (text, value) in [
        ("two-thirds of the members", 200.0 / 3.0),
        ("one third of the land", 100.0 / 3.0),
        ("three-quarters of pupils", 75.0),
        ("2/3 of voters", 200.0 / 3.0),
        ("1/3 депутатов", 100.0 / 3.0),
        ("две трети депутатов", 200.0 / 3.0),
        ("три чверті виборців", 75.0),
    ] {
        states(text, value, value, Unit::Percent, Comparator::About);
    }
    for text in [
        "1/4 финала",
        "В 1/8 финала",
        "1/4 фіналу",
        "two quarters of contraction",
        "three quarters of growth",
        "three quarters of negative growth",
    ] {
        let found = quantities(text, None);
        assert!(found.iter().all(|one| one.unit != Unit::Percent), "{text}: {found:?}");
    }
    for share in ["three quarters of pupils", "three quarters of sales"] {
        states(share, 75.0, 75.0, Unit::Percent, Comparator::About);
    }
    exact("two quarters of contraction", 2.0, Unit::None);
    exact("the last two quarters", 2.0, Unit::None);
    exact("the third man", 3.0, Unit::Ordinal);
}

#[test]
fn one_of_a_span_is_a_span_and_a_rate_is_none() {
    for (text, months) in
        [("half a year after the flood", 6.0), ("a one-year contract", 12.0), ("30-летие победы", 360.0)]
    {
        exact(text, months, Unit::Measure("month"));
    }
    exact("He earns $500 a week", 500.0, USD);
    for silent in ["впервые за год", "once a week", "the one year he had"] {
        assert!(quantities(silent, None).is_empty(), "{silent}: {:?}", quantities(silent, None));
    }
}

#[test]
fn ranges_share_a_unit_or_are_none() {
    let month = Unit::Measure("month");
    states("ranges from 5 to 10 dollars", 5.0, 10.0, USD, Comparator::Exact);
    states("could be from .5 to 2 billion years", 6e9, 24e9, month, Comparator::Exact);
    states("between the ages of 35 and 54", 35.0, 54.0, Unit::None, Comparator::Exact);
    states("5- to 10-year-olds", 60.0, 120.0, month, Comparator::Exact);
    states("one to two years", 12.0, 24.0, month, Comparator::Exact);
    states("один-два дня", 86_400.0, 172_800.0, Unit::Measure("s"), Comparator::Exact);
    states("around 30 to 40 years", 360.0, 480.0, month, Comparator::About);
    states("$1,000-$2,000", 1000.0, 2000.0, USD, Comparator::Exact);
    let apart = quantities("rose 3.5 per cent to £2.3bn", None);
    assert_eq!(apart.iter().map(|one| one.unit).collect::<Vec<_>>(), [Unit::Percent, Unit::Currency("GBP")]);
    let sides = quantities("1920x1080 pixels", None);
    assert_eq!(sides.iter().map(|one| one.low).collect::<Vec<_>>(), [1920.0, 1080.0]);
}

#[test]
fn scales_fractions_and_sizes_add_up() {
    exact("3½ years", 42.0, Unit::Measure("month"));
    exact("5 тыс. 200 рублей", 5200.0, Unit::Currency("RUB"));
    exact("2 млн 300 тыс. человек", 2.3e6, Unit::None);
    exact("две с половиной тысячи человек", 2500.0, Unit::None);
    states("свыше ста тысяч рублей", 1e5, 1e5, Unit::Currency("RUB"), Comparator::MoreThan);
    exact("250 KB", 250_000.0, Unit::Measure("B"));
    exact("990 kHz", 990_000.0, Unit::Measure("Hz"));
    exact("200 г сахара", 0.2, Unit::Measure("kg"));
    exact("a 5,000-square-foot home", 464.5152, Unit::Measure("m2"));
    exact("доля должна вырасти до 10%", 10.0, Unit::Percent);
}

#[test]
fn a_comparator_reaches_over_a_preposition() {
    states("более чем в 20 странах", 20.0, 20.0, Unit::None, Comparator::MoreThan);
    states("почти на 5 %", 5.0, 5.0, Unit::Percent, Comparator::About);
    states("выше на 5 %", 5.0, 5.0, Unit::Percent, Comparator::Exact);
    states("более, чем на 3600 км", 3.6e6, 3.6e6, Unit::Measure("m"), Comparator::MoreThan);
    exact("двадцатипятилетний мастер", 300.0, Unit::Measure("month"));
    exact("пятидесятипроцентный рост", 50.0, Unit::Percent);
    exact("destroyed in AD 79", 79.0, Unit::Year);
    assert_eq!(quantities("выиграла со счётом 4:5", None).iter().map(|one| one.low).collect::<Vec<_>>(), [4.0, 5.0]);
    assert!(quantities("начало в 19:30", None).is_empty());
    states("around 100 BC", -100.0, -100.0, Unit::Year, Comparator::About);
    exact("в 250 г. до н. э.", -250.0, Unit::Year);
    states("ca. 1860", 1860.0, 1860.0, Unit::Year, Comparator::About);
    states("около десятка заявок", 10.0, 10.0, Unit::None, Comparator::About);
    states("более сотни человек", 100.0, 100.0, Unit::None, Comparator::MoreThan);
    exact("a half-hour comedy", 1800.0, Unit::Measure("s"));
    states("waited over sixty years", 720.0, 720.0, Unit::Measure("month"), Comparator::MoreThan);
    states("более половины избирателей", 50.0, 50.0, Unit::Percent, Comparator::MoreThan);
    states("50 years earlier", 600.0, 600.0, Unit::Measure("month"), Comparator::Exact);
    exact("dates back to 1749", 1749.0, Unit::Year);
    let record = quantities("a 72–90 record", Some("en"));
    assert_eq!(record.iter().map(|one| (one.low, one.high)).collect::<Vec<_>>(), [(72.0, 72.0), (90.0, 90.0)]);
    exact("ребенку два года и восемь месяцев", 32.0, Unit::Measure("month"));
    exact("the last 25 kyr", 300_000.0, Unit::Measure("month"));
    states("не ранее, чем через два года", 24.0, 24.0, Unit::Measure("month"), Comparator::AtLeast);
    exact("перегрузки доходили до 8 единиц", 8.0, Unit::None);
    exact("в первом случае", 1.0, Unit::Ordinal);
    exact("приговорили к 10 суткам", 864_000.0, Unit::Measure("s"));
    states("по крайней мере 73 мигранта", 73.0, 73.0, Unit::None, Comparator::AtLeast);
    states("more than 40 years ago", 480.0, 480.0, Unit::Measure("month"), Comparator::MoreThan);
    states("three or four days a week", 259_200.0, 345_600.0, Unit::Measure("s"), Comparator::Exact);
    exact("десятиметровая стела", 10.0, Unit::Measure("m"));
    states("ниже -30 градусов", -30.0, -30.0, Unit::Measure("°C"), Comparator::LessThan);
    states("не більше за 20 днів", 1_728_000.0, 1_728_000.0, Unit::Measure("s"), Comparator::AtMost);
    exact("чотири десятки країн", 40.0, Unit::None);
    exact("пять сотен человек", 500.0, Unit::None);
    exact("много лет 20 человек", 20.0, Unit::None);
    exact("20 рокiв", 240.0, Unit::Measure("month"));
    exact("п\"ять років", 60.0, Unit::Measure("month"));
    exact("25-літній юнак", 300.0, Unit::Measure("month"));
    let family: Vec<f64> = quantities("two sons and one daughter", None).iter().map(|one| one.low).collect();
    assert_eq!(family, [2.0, 1.0]);
}

#[test]
fn scales_halves_and_eras_in_any_order() {
    states("two to three million people", 2e6, 3e6, Unit::None, Comparator::Exact);
    states("two or three million people", 2e6, 3e6, Unit::None, Comparator::Exact);
    states("пять-шесть тысяч человек", 5000.0, 6000.0, Unit::None, Comparator::Exact);
    exact("one and a half million people", 1.5e6, Unit::None);
    exact("one and a half hours", 5400.0, Unit::Measure("s"));
    exact("3 million and a half people", 3.5e6, Unit::None);
    exact("тысяча двести человек", 1200.0, Unit::None);
    states("более тысячи двухсот человек", 1200.0, 1200.0, Unit::None, Comparator::MoreThan);
    exact("30 метров в год", 30.0, Unit::Measure("m"));
    exact("36 км в час", 10.0, Unit::Measure("m/s"));
    exact("36 км на годину", 10.0, Unit::Measure("m/s"));
    exact("Погибших: 37.", 37.0, Unit::None);
    exact("exactly half of the voters", 50.0, Unit::Percent);
    exact("100 м2 земли", 100.0, Unit::Measure("m2"));
    exact("10 ч. 30 мин.", 37_800.0, Unit::Measure("s"));
    exact("destroyed in 79 AD", 79.0, Unit::Year);
    exact("built in 44 B.C. by Romans", -44.0, Unit::Year);
    exact("в 2000 году до н. э.", -2000.0, Unit::Year);
    let toll: Vec<f64> = quantities("Killed: 37. Wounded: 120.", None).iter().map(|one| one.low).collect();
    assert_eq!(toll, [37.0, 120.0]);
    let limit = quantities("Он пришёл с 5 друзьями. До 100 человек погибли.", Some("ru"));
    assert_eq!(limit.last().map(|one| one.comparator), Some(Comparator::AtMost));
    let change = quantities("Явка выросла с 5 тыс. до 10 тыс. человек.", Some("ru"));
    assert_eq!(change.last().map(|one| one.comparator), Some(Comparator::Exact), "{change:?}");
}

#[test]
fn the_second_is_no_friend() {
    assert!(quantities("Они обвиняют друг друга, с другой стороны", Some("ru")).is_empty());
    let second = quantities("закінчив другого класу", Some("uk"));
    assert!(second.iter().all(|one| one.unit == Unit::Ordinal) && second.len() == 1);
}

#[test]
fn figures_that_count_nothing_are_passed_over() {
    for text in [
        "around 11 AM",
        "at 11 p.m.",
        "около 7 вечера",
        "2. Оцінка потенціалу",
        "начинается в 12 часов 30 минут",
        "с десяти часов утра",
        "около двух часов дня",
        "4 апреля 00:58:23",
        "с 13 по 29 января 2006 года",
        "о 22 годині",
        "items: 1. Foo. 2. Bar.",
        "Пункты: 1) введение 2) выводы",
        "their own expense. 28.",
        "двадцать пятого мая",
    ] {
        let counts: Vec<Quantity> =
            quantities(text, Some("ru")).into_iter().filter(|one| one.unit != Unit::Identifier).collect();
        assert!(counts.is_empty(), "{text}: {counts:#?}");
    }
}
