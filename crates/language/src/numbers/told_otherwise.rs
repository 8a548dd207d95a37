//! Quantities other than a figure with a unit: rules, with examples they must not change.

use super::misread::all_told;
use super::*;
use crate::dates::dates;

#[test]
fn centuries_last_where_they_have_no_rank() {
    all_told(&[
        ("lasting over 4 centuries", ">4800:month"),
        ("It took three centuries", "3600:month"),
        ("a five-century history", "6000:month"),
        ("half a century later", "600:month"),
        ("more than a century ago", ">1200:month"),
        ("two millennia of history", "24000:month"),
        ("более трёх веков", ">3600:month"),
        ("на протяжении 5 веков", "6000:month"),
        ("2 тысячелетия назад", "24000:month"),
        ("два столетия", "2400:month"),
        ("три десятилетия", "360:month"),
        ("полвека назад", "600:month"),
        ("через столетие", "1200:month"),
        ("понад чотири століття", ">4800:month"),
        ("протягом двох століть", "2400:month"),
        ("три десятиріччя", "360:month"),
        ("in the 19th century", "19:ord"),
        ("the 18 and 19 centuries", "18 19"),
        ("in the 18 century", "18"),
        ("в начале 18 века", "18"),
        ("во 2 тысячелетии", "2"),
        ("памятник 17-18 веков", "17..18"),
        ("у 19 столітті", "19"),
        ("на початку 20 століття", "20"),
        ("в двадцатом веке", "20:ord"),
        ("scored six centuries", "6"),
        ("It has stood for three centuries", "3600:month"),
        ("pottery made two centuries ago", "2400:month"),
        ("has 51 centuries", "51"),
        ("hit a century before lunch", ""),
        ("крем наносят ниже века", ""),
    ]);
}

#[test]
fn a_span_in_several_units_is_one() {
    all_told(&[
        ("за три часа 11 минут и 48 секунд", "11508:s"),
        ("in 3 hours, 11 minutes and 48 seconds", "11508:s"),
        ("in 2h 11m 48s", "7908:s"),
        ("за 2 ч 11 мин 48 с", "7908:s"),
        ("за 2 ч. 11 мин.", "7860:s"),
        ("тривало дві години 15 хвилин", "8100:s"),
        ("lasted 2 days and 5 hours", "190800:s"),
        ("2 года 8 месяцев", "32:month"),
        ("more than 2 hours 30 minutes", ">9000:s"),
        ("3 hours or 20 minutes", "10800:s 1200:s"),
        ("3 часа за 20 минут", "10800:s 1200:s"),
        ("between 2 hours and 30 minutes", "7200:s 1800:s"),
        ("30 minutes and 2 hours", "1800:s 7200:s"),
        ("24 hours a day, 7 days a week", "86400:s 604800:s"),
        ("an 11 m wall", "11:m"),
        ("for a century and a half", "1800:month"),
        ("через год с половиной", "18:month"),
        ("within 48 h of onset", "172800:s"),
        ("à 7h15", "7:id 15:id"),
    ]);
}

#[test]
fn ranks_that_rank_nothing_are_passed_over() {
    all_told(&[
        ("First Lieutenant Sharon Lane", ""),
        ("будучи первым секретарём обкома", ""),
        ("першого секретаря райкому", ""),
        ("First Lady Abigail Adams", ""),
        ("первый министр Шотландии", ""),
        ("оказали первую помощь", ""),
        ("надали першу медичну допомогу", ""),
        ("a first-aid kit", ""),
        ("А во-вторых, дорого", ""),
        ("По-перше, дорого", ""),
        ("после Второй мировой войны", ""),
        ("во время Первой мировой", ""),
        ("під час Другої світової війни", ""),
        ("the outbreak of the First World War", ""),
        ("в первую очередь", ""),
        ("the first minister to resign", "1:ord"),
        ("was the first minister in the country's history", "1:ord"),
        ("gave first aid to the injured", ""),
        ("его первый помощник", "1:ord"),
        ("стала второй мировой державой", "2:ord"),
        ("второй мировой рекорд", "2:ord"),
        ("her third world title", "3:ord"),
        ("the second minister", "2:ord"),
        ("the first Secretary of State", "1:ord"),
        ("First Minister of Scotland", ""),
        ("the first minister of finance", "1:ord"),
        ("the first secretary of the city committee", ""),
        ("before the First World War 3 men left", "3"),
        ("after the world war 5 million people", "5000000"),
        ("in World War Two Poland lost", "2:id"),
    ]);
    assert_eq!(quantities("World War 2", None).first().map(|war| war.unit), Some(Unit::Identifier));
}

#[test]
fn number_one_is_a_rank_in_a_chart_only() {
    all_told(&[
        ("was ranked number one once", "1:ord"),
        ("peaked at No. one", "1:ord"),
        ("ракетка номер один в мире", "1:ord"),
        ("номер один у рейтингу", "1:ord"),
        ("No one in the world knows", ""),
        ("problem number one", ""),
        ("дом номер один в деревне", ""),
    ]);
}

#[test]
fn years_behind_a_decade_an_event_and_in_brackets() {
    all_told(&[
        ("From the 1040s to 1130, the country was at peace", "1130:y"),
        ("с 1840-х годов до 1905", "1905:y"),
        ("until the 1980s to 1200 members", "1200"),
        ("жюри «Новой волны-2009» ещё", "2009:y"),
        ("на Евро-2012", "2012:y"),
        ("Expo-67", "67:id"),
        ("Мираж-2000", "2000:id"),
        ("Космос-2014", "2014:id"),
        ("CVE-2014-0160", "2014:id 160"),
        ("nearly fifty years (633 to 680)", "~600:month 633..680:y"),
        ("during his reign (336–323)", "336 323"),
        ("the dynasty (618–907)", "618..907:y"),
        ("the patients (133 to 180)", "133..180"),
        ("in five years (300 to 350)", "60:month 300..350"),
        ("over five years (133 to 180)", ">60:month 133..180"),
        ("два века (618–807)", "2400:month 618..807:y"),
        ("composed c. 730–700 BC", "-730..-700:y"),
        ("composed c. 730 BC", "~-730:y"),
    ]);
}

#[test]
fn a_day_may_have_an_era() {
    let days = |text: &str| dates(text, None).into_iter().map(|day| day.start.to_string()).collect::<Vec<_>>();
    assert_eq!(days("born in Rome on 14 January 83 BC."), ["-0083-01-14"]);
    assert_eq!(days("15 марта 44 года до н. э."), ["-0044-03-15"]);
    assert_eq!(days("24 August AD 79"), ["0079-08-24"]);
    assert_eq!(days("March 44 BC"), ["-0044-03-01"]);
    assert_eq!(days("May 5 AD 79"), ["0079-05-05"]);
    assert!(days("On May 24 BC Ferries left").is_empty());
    assert!(days("On 14 January 83 BC residents left").is_empty());
    all_told(&[("on 14 January 83 BC.", ""), ("On 14 January 83 BC residents left", "83")]);
}

#[test]
fn one_whole_span_and_other_small_words() {
    all_told(&[
        ("Ровно год - с марта 2015 г. по март 2016 г.", "12:month"),
        ("ждал целый месяц", "1:month"),
        ("рівно рік", "12:month"),
        ("a whole year", "12:month"),
        ("весь год", ""),
        ("a consideration of c. £66 million", "~66000000:GBP"),
        ("rich in vitamin C. $30 more", "30:USD"),
        ("130-летиями", "1560:month"),
        ("fought Act 10 with all", "10:id"),
        ("They act 10 times", "10"),
        ("is 1 of the 7 books", "7"),
        ("Only 1 of the 7 came", "1 7"),
        ("На 14 часов общеевропейского времени", ""),
        ("14 годин за київським часом", ""),
        ("намечено на 19 часов", ""),
        ("14 часов рабочего времени", "50400:s"),
        ("перенесли на 2 часа", "7200:s"),
        ("contested over five, five-minute rounds", "5 300:s"),
        ("scored over five, mostly alone", ">5"),
    ]);
}

#[test]
fn more_may_be_told_behind_what_is_counted() {
    all_told(&[
        ("He won 20 games or more three times", ">=20 3"),
        ("5 people or fewer", "<=5"),
        ("12 home runs or more in a season", ">=12"),
        ("10 матчей или больше", ">=10"),
        ("в 5 странах и более.", ">=5"),
        ("3 людини або більше", ">=3"),
        ("5 cars or more than 10 bikes", "5 >10"),
        ("20 people died and more are missing", "20"),
        ("a record with 3 songs and more.", "3"),
        ("5 книг и более 10 тетрадей", "5 >10"),
        ("5 яблок или больше груш", "5"),
        ("5 people more or less", "5"),
    ]);
}

#[test]
fn a_series_has_its_year() {
    all_told(&[
        ("he did not pitch in the 1931 series", "1931:y"),
        ("the 2016 playoffs", "2016:y"),
        ("his 2014 House campaign", "2014:y"),
        ("the 2000 workers", "2000"),
        ("1950 soldiers", "1950"),
        ("the 2000 series", "2000"),
    ]);
}

#[test]
fn degrees_of_an_angle_are_no_heat() {
    all_told(&[
        ("a 180° phase shift", "180:°"),
        ("a 90-degree turn", "90:°"),
        ("at an angle of about 45°", "~45:°"),
        ("turned by 180 degrees", "180:°"),
        ("360° video", "360:°"),
        ("под углом 45 градусов", "45:°"),
        ("повернулся на 180 градусов", "180:°"),
        ("під кутом 30 градусів", "30:°"),
        ("Bake at 180°", "180:°C"),
        ("повернулся на сто восемьдесят градусов", "180:°"),
        ("a turn for the worse, 30 degrees", "30:°C"),
        ("похолодало на 5 градусов", "5:°C"),
        ("360 °C", "360:°C"),
        ("30 градусов мороза", "30:°C"),
        ("It turned colder by 5 degrees", "5:°C"),
        ("повернул ключ на 90 градусов", "90:°"),
        ("угол около 30 градусов", "~30:°"),
        ("на углу было 30 градусов", "30:°C"),
    ]);
}

#[test]
fn a_unit_may_be_inside_an_adjective() {
    all_told(&[
        ("1600-километрового кабеля", "1600000:m"),
        ("15-дневный отпуск", "1296000:s"),
        ("50-метровый бассейн", "50:m"),
        ("6-місячна дитина", "6:month"),
        ("20-тонный грузовик", "20000:kg"),
        ("двухлитровая бутылка", "2:l"),
        ("5 тоннелей", "5"),
        ("Календари охватывают примерно двухмесячный период", "~2:month"),
        ("приблизно двомісячний", "~2:month"),
        ("более чем двухлетний срок", ">24:month"),
        ("двухмесячный период", "2:month"),
        ("дети до двухлетнего возраста", "24:month"),
    ]);
}

#[test]
fn people_and_days_of_work_are_counted() {
    all_told(&[
        ("прийти в суд втроём", "3"),
        ("жили вдвоём", "2"),
        ("ми пішли втрьох", "3"),
        ("вдвоём минуту молчали", "2"),
        ("вдвое больше", ""),
        ("три выходных дня", "259200:s"),
        ("three working days", "259200:s"),
        ("10 business days", "864000:s"),
        ("два останні роки", "24:month"),
        ("п'ять робочих днів", "432000:s"),
        ("две учебные недели", "1209600:s"),
        ("пять рабочих мест", "5"),
        ("Предусмотрены три выходных дня — 18, 23 и 26 января.", "259200:s"),
        ("заняло 2 — 3 дня", "172800..259200:s"),
        ("three business plans", "3"),
        ("Предусмотрены дни — 18, 23 и 26 января.", ""),
        ("on 5, 12 and 19 May", ""),
        ("between 5 and 10 may be enough", "5..10"),
        ("18, 23 и 26 человек", "18 23 26"),
    ]);
}

#[test]
fn money_may_have_a_nation() {
    all_told(&[
        ("10 тысяч кипрских фунтов", "10000:CYP"),
        ("500 Egyptian pounds", "500:EGP"),
        ("200 канадских долларов", "200:CAD"),
        ("100 шведських крон", "100:SEK"),
        ("50 фунтов", "50:GBP"),
        ("50 US dollars", "50:USD"),
        ("5 египетских пирамид", "5"),
        ("три британских фунтовых", "3:GBP"),
        ("3 Canadian provinces", "3"),
        ("трёх немецких марок", "3"),
    ]);
}

#[test]
fn a_result_may_close_its_sentence() {
    all_told(&[
        ("закончил начатое партнером - 1:0.", "1 0"),
        ("and finished it off – 2:1", "2 1"),
        ("завершив атаку — 3:0!", "3 0"),
        ("Масштаб — 1:5.", ""),
        ("Шансы — 3:1.", ""),
        ("Начало — 19:30.", ""),
        ("прибытие - 1:05.", ""),
    ]);
}

#[test]
fn hours_and_rounds_are_passed_over() {
    all_told(&[
        ("Начало туров — 13 часов 30 минут", ""),
        ("Початок — 19 годин", ""),
        ("15 часов 30 минут московского времени", ""),
        ("К 15 часам дня планируется закончить", ""),
        ("за 13 часов 30 минут", "48600:s"),
        ("рейс длится — 13 часов", "46800:s"),
        ("время UTC+1", ""),
        ("GMT-5", ""),
        ("Thu 10.40 EDT", ""),
        ("by 2030 GMT", ""),
        ("at 9 GMT", ""),
        ("in 2030", "2030:y"),
        ("50 GMT employees", "50"),
        ("лекции — 18, 23 и 26 января", ""),
        ("Round of 32 dates confirmed", ""),
        ("in the round of 16", ""),
        ("a round of 16 votes", "16"),
        ("the first round of 8 bids", "1:ord 8"),
    ]);
}

#[test]
fn first_may_tell_of_time() {
    all_told(&[
        ("It was first released in the US", ""),
        ("Records first announced the news", ""),
        ("who first proposed it", ""),
        ("The chemist first used in Lyon", ""),
        ("First published in April", ""),
        ("written in May and first published in June", ""),
        ("after he first reached the final", ""),
        ("as it was believed to be at first.", ""),
        ("the reason I started playing guitar in the first place.", ""),
        ("the first recorded use", "1:ord"),
        ("her first published novel", "1:ord"),
        ("Carey's first released single", "1:ord"),
        ("the players' first planned game", "1:ord"),
        ("the first hundred days", "1:ord"),
        ("Lussac first used titre as a verb", ""),
        ("He came first followed by Smith", "1:ord"),
        ("The team is in the first place.", "1:ord"),
        ("in the first place of the league", "1:ord"),
        ("at first base", "1:ord"),
        ("He was first in the race", "1:ord"),
    ]);
}

#[test]
fn an_address_has_a_house() {
    all_told(&[
        ("Building Address:525 W.", "525:id"),
        ("525 W. Ottawa Street", "525:id"),
        ("Адрес: 12, строение", "12:id"),
        ("12 S. Korean soldiers", "12"),
        ("He addressed: 5 people came", "5"),
    ]);
}
