use chrono::TimeZone;
use proptest::prelude::*;

use super::*;

fn spans(text: &str) -> Vec<String> {
    show(dates(text, None))
}

/// As of Wednesday, 18 November 2026.
fn spans_then(text: &str) -> Vec<String> {
    show(dates(text, Utc.with_ymd_and_hms(2026, 11, 18, 7, 15, 0).single()))
}

fn show(found: Vec<DateMention>) -> Vec<String> {
    found
        .into_iter()
        .map(
            |date| {
                if date.start == date.end { date.start.to_string() } else { format!("{}..{}", date.start, date.end) }
            },
        )
        .collect()
}

#[test]
fn absolute_dates_in_three_languages() {
    for (text, expected) in [
        ("On 2024-05-17 it began", "2024-05-17"),
        ("17.05.2024 началось", "2024-05-17"),
        ("17.05.24", "2024-05-17"),
        ("Filed 05/17/2024", "2024-05-17"),
        ("Filed 5/6/2024", "2024-05-06"),
        ("Подано 5/6/2024", "2024-06-05"),
        ("on 17 May 2024", "2024-05-17"),
        ("the 17th of May, 2024", "2024-05-17"),
        ("May 17, 2024", "2024-05-17"),
        ("Sept. 3, 2001", "2001-09-03"),
        ("3–5 May 2024", "2024-05-03..2024-05-05"),
        ("17 мая 2024 года", "2024-05-17"),
        ("17 травня 2024 р.", "2024-05-17"),
        ("24 лютого 2022 року", "2022-02-24"),
        ("в мае 2024 года", "2024-05-01..2024-05-31"),
        ("in February 2024", "2024-02-01..2024-02-29"),
        ("in 2020", "2020-01-01..2020-12-31"),
        ("The 2016 referendum", "2016-01-01..2016-12-31"),
        ("(1952)", "1952-01-01..1952-12-31"),
        ("в 1812 году", "1812-01-01..1812-12-31"),
        ("1990s music", "1990-01-01..1999-12-31"),
        ("в 1990-х годах", "1990-01-01..1999-12-31"),
        ("2019–2021", "2019-01-01..2021-12-31"),
        ("season 2023/24", "2023-01-01..2024-12-31"),
        ("mid-2005", "2005-01-01..2005-12-31"),
        ("born c. 1850", "1850-01-01..1850-12-31"),
        ("the 1787 constitution", "1787-01-01..1787-12-31"),
        ("Paris, 1789.", "1789-01-01..1789-12-31"),
        ("2011.03.14 14:34", "2011-03-14"),
        ("к 1-му января 2004 года", "2004-01-01"),
        ("in the 1980's", "1980-01-01..1989-12-31"),
        ("Q3 2024", "2024-07-01..2024-09-30"),
        ("в первом квартале 2024 года", "2024-01-01..2024-03-31"),
    ] {
        assert_eq!(spans(text), [expected], "{text}");
    }
}

#[test]
fn counts_and_nonsense_are_no_dates() {
    for text in [
        "2000 people died",
        "1999 soldiers",
        "2000 человек",
        "2000 км",
        "1920x1080",
        "the 1453 votes",
        "version 1.2",
        "32.05.2024",
        "44 BC",
        "1500 до н. э.",
        "you may 5",
        "COVID-2019",
        "yesterday",
        "5 мая",
        "on Monday",
        "$2000",
        "3000",
    ] {
        assert!(spans(text).is_empty(), "{text}: {:?}", spans(text));
    }
}

#[test]
fn span_has_the_year_of_its_end() {
    for (text, expected) in [
        ("с января по май 2012 года", ["2012-01-01..2012-01-31", "2012-05-01..2012-05-31"]),
        ("с 15 марта по 14 апреля 2010 года", ["2010-03-15", "2010-04-14"]),
        ("from November to February 2011", ["2010-11-01..2010-11-30", "2011-02-01..2011-02-28"]),
        ("between March and May 2010", ["2010-03-01..2010-03-31", "2010-05-01..2010-05-31"]),
    ] {
        assert_eq!(spans(text), expected, "{text}");
    }
}

#[test]
fn what_only_looks_like_a_year_or_a_century_is_none() {
    for text in [
        "between 1500 and 1600 Palestinians were killed",
        "between 1500 and 1600 %",
        "part C1999x",
        "part C1850",
        "The index fell back to 1850.",
        "In Washington, D.C. 1500 protesters gathered",
    ] {
        assert!(spans(text).is_empty(), "{text}: {:?}", spans(text));
    }
    assert_eq!(spans("written between 1599 and 1601."), ["1599-01-01..1599-12-31", "1601-01-01..1601-12-31"]);
    for text in [
        "It dates back to 1850.",
        "traced back to 1850.",
        "traces its roots back to 1850.",
        "copyright c1850",
        "c. 1850",
        "ca. 1850",
    ] {
        assert_eq!(spans(text), ["1850-01-01..1850-12-31"], "{text}");
    }
}

#[test]
fn a_century_takes_what_is_there() {
    for (text, expected, written) in [
        ("в 90-е годы XVIII", "1990-01-01..1999-12-31", "90-е годы"),
        ("50-е годы XX съезд", "1950-01-01..1959-12-31", "50-е годы"),
        ("в 90-е годы XVIII века было", "1790-01-01..1799-12-31", "90-е годы XVIII века"),
        ("в 90-х годах XVIII в. было", "1790-01-01..1799-12-31", "90-х годах XVIII в."),
        ("90-ті роки XVIII століття", "1790-01-01..1799-12-31", "90-ті роки XVIII століття"),
    ] {
        let found = dates(text, None);
        assert_eq!(show(found.clone()), [expected], "{text}");
        assert_eq!(found[0].text, written);
    }
}

#[test]
fn a_day_may_have_an_era() {
    for (text, expected) in [
        ("In September 2020 B.C. Premier John Horgan called", "2020-09-01..2020-09-30"),
        ("In 2019 BC Ferries raised fares", "2019-01-01..2019-12-31"),
        ("born on 14 January 83 BC.", "-0083-01-14"),
        ("On 14 January 83 BC Antony was born", "-0083-01-14"),
        ("15 июня 1200 года до н. э. пал", "-1200-06-15"),
    ] {
        assert_eq!(spans(text), [expected], "{text}");
    }
    assert!(spans("In 1274 BC Ramesses ruled").is_empty());
}

#[test]
fn two_months_that_are_listed_are_of_one_year() {
    for (text, expected) in [
        ("in June and May 2010", ["2010-06-01..2010-06-30", "2010-05-01..2010-05-31"]),
        ("in November and February 2011", ["2010-11-01..2010-11-30", "2011-02-01..2011-02-28"]),
        ("from June to May 2010", ["2009-06-01..2009-06-30", "2010-05-01..2010-05-31"]),
    ] {
        assert_eq!(spans(text), expected, "{text}");
    }
}

#[test]
fn relative_dates_need_a_reference() {
    for (text, expected) in [
        ("yesterday", "2026-11-17"),
        ("Вчера в Киеве", "2026-11-17"),
        ("позавчора", "2026-11-16"),
        ("last year", "2025-01-01..2025-12-31"),
        ("в прошлом году", "2025-01-01..2025-12-31"),
        ("торік", "2025-01-01..2025-12-31"),
        ("минулого місяця", "2026-10-01..2026-10-31"),
        ("last week", "2026-11-09..2026-11-15"),
        ("three days ago", "2026-11-15"),
        ("2 года назад", "2024-01-01..2024-12-31"),
        ("п'ять днів тому", "2026-11-13"),
        ("on Monday", "2026-11-16"),
        ("в понедельник", "2026-11-16"),
        ("last Friday", "2026-11-13"),
        ("5 мая", "2026-05-05"),
        ("on 20 December", "2026-12-20"),
        ("on 3 January", "2027-01-03"),
        ("in October", "2026-10-01..2026-10-31"),
    ] {
        assert_eq!(spans_then(text), [expected], "{text}");
    }
    assert!(spans_then("You may go. Среда обитания. Неделя прошла").is_empty());
}

#[test]
fn two_digits_are_a_decade_when_they_are_written_as_one() {
    for text in ["the 80s", "the early 80s", "in the '80s", "80-х годов", "рок 80-х"] {
        assert_eq!(spans(text), ["1980-01-01..1989-12-31"], "{text}");
    }
    assert_eq!(spans("у 30-40-ві роки"), ["1930-01-01..1939-12-31", "1940-01-01..1949-12-31"]);
    for text in ["a man in his 80s", "ran for 30s", "her late 60s"] {
        assert!(spans(text).is_empty(), "{text}");
    }
}

#[test]
fn days_of_one_month_are_a_period_only_where_nothing_lies_between() {
    assert_eq!(spans("5 and 6 May 2024"), ["2024-05-05..2024-05-06"]);
    assert_eq!(spans("с 13 по 29 января 2006 года"), ["2006-01-13..2006-01-29"]);
    assert_eq!(spans("5 and 10 May 2024"), ["2024-05-10"], "not the days between");
}

#[test]
fn the_words_of_a_date_are_kept() {
    let found = dates("Он умер 5 марта 1953 года в Москве", None);
    assert_eq!(found[0].text, "5 марта 1953 года");
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "[0-9./ а-яA-Za-z,–-]{0,80}") {
        for date in dates(&text, Utc.with_ymd_and_hms(2026, 2, 28, 0, 0, 0).single()) {
            prop_assert!(date.start <= date.end);
            prop_assert!(text.contains(&date.text));
        }
    }

    #[test]
    fn a_written_day_is_read_back(year in 1900i32..2100, month in 1u32..=12, day in 1u32..=28) {
        let date = NaiveDate::from_ymd_opt(year, month, day).unwrap();
        prop_assert_eq!(spans(&date.format("on %Y-%m-%d").to_string()), [date.to_string()]);
        prop_assert_eq!(spans(&date.format("on %-d %B %Y").to_string()), [date.to_string()]);
        prop_assert_eq!(spans(&date.format("%B %-d, %Y").to_string()), [date.to_string()]);
    }
}
