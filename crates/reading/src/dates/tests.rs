//! All forms of dates that were found on pages.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Option<String> {
    parse_date(text).map(|at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[test]
fn every_form_seen_on_pages() {
    for (text, expected) in [
        ("2026-11-18T07:15:00Z", "2026-11-18T07:15:00Z"),
        ("2026-11-18T07:15:00+03:00", "2026-11-18T04:15:00Z"),
        ("2026-11-18T07:15:00+0300", "2026-11-18T04:15:00Z"),
        ("2026-11-18T07:15:00+03", "2026-11-18T04:15:00Z"),
        ("2026-11-18T07:15:00-05:30", "2026-11-18T12:45:00Z"),
        ("2026-11-18T07:15:00.000Z", "2026-11-18T07:15:00Z"),
        ("2026-11-18T07:15:00.123456+03:00", "2026-11-18T04:15:00Z"),
        ("2026-11-18", "2026-11-18T00:00:00Z"),
        (" 2026-11-18 07:15:00 ", "2026-11-18T07:15:00Z"),
        ("2026-11-18 07:15:00 +0300", "2026-11-18T04:15:00Z"),
        ("2026-11-18 07:15:00 UTC", "2026-11-18T07:15:00Z"),
        ("2026-11-18T07:15", "2026-11-18T07:15:00Z"),
        ("2020-10-07 20:05", "2020-10-07T20:05:00Z"),
        ("2026/11/18", "2026-11-18T00:00:00Z"),
        ("2026-1-8", "2026-01-08T00:00:00Z"),
        ("2026-11-18T07:15:00+01:00[Europe/Berlin]", "2026-11-18T06:15:00Z"),
        ("Wed, 18 Nov 2026 07:15:00 GMT", "2026-11-18T07:15:00Z"),
        ("Wed, 18 Nov 2026 07:15:00 +0300", "2026-11-18T04:15:00Z"),
        ("Wed, 18 Nov 26 07:15:00 MSK", "2026-11-18T04:15:00Z"),
        ("18 Nov 2026 07:15 EST", "2026-11-18T12:15:00Z"),
        ("Wed Nov 18 07:15:00 2026", "2026-11-18T07:15:00Z"),
        ("Wed Nov 18 2026 07:15:00 GMT+0300 (MSK)", "2026-11-18T04:15:00Z"),
        ("18.11.2026 07:15", "2026-11-18T07:15:00Z"),
        ("18.11.2026, 07:15 Uhr", "2026-11-18T07:15:00Z"),
        ("18.11.2026", "2026-11-18T00:00:00Z"),
        ("11.12.2026", "2026-12-11T00:00:00Z"),
        ("25/12/2026", "2026-12-25T00:00:00Z"),
        ("12/25/2026", "2026-12-25T00:00:00Z"),
        ("11/11/2026", "2026-11-11T00:00:00Z"),
        ("1795000500", "2026-11-18T11:15:00Z"),
        ("1795000500000", "2026-11-18T11:15:00Z"),
        ("20261118", "2026-11-18T00:00:00Z"),
        ("20261118071500", "2026-11-18T07:15:00Z"),
        ("18 ноября 2026, 07:15", "2026-11-18T07:15:00Z"),
        ("18 листопада 2026 р.", "2026-11-18T00:00:00Z"),
        ("1 лютого 2026", "2026-02-01T00:00:00Z"),
        ("12 липня 2026", "2026-07-12T00:00:00Z"),
        ("5 мая 2026 года", "2026-05-05T00:00:00Z"),
        ("November 18, 2026 7:15 PM", "2026-11-18T19:15:00Z"),
        ("November 18th, 2026 at 12:05 a.m.", "2026-11-18T00:05:00Z"),
        ("Mittwoch, 18. November 2026", "2026-11-18T00:00:00Z"),
        ("3. März 2026", "2026-03-03T00:00:00Z"),
        ("18 de noviembre de 2026", "2026-11-18T00:00:00Z"),
        ("Publié le 1er août 2026 à 7h15", "2026-08-01T07:15:00Z"),
        ("Published: 18 Nov 2026", "2026-11-18T00:00:00Z"),
        ("2026年11月18日 07:15", "2026-11-18T07:15:00Z"),
        ("2036-11-18", "2036-11-18T00:00:00Z"),
    ] {
        assert_eq!(read(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_no_date_stays_none() {
    for text in [
        "",
        " ",
        "0",
        "null",
        "0000-00-00",
        "0000-00-00T00:00:00Z",
        "1970-01-01",
        "1970-01-01T00:00:00+03:00",
        "0001-01-01",
        "0001-01-01T00:00:00Z",
        "11/12/2026",
        "11-12-2026",
        "2026",
        "2026-11",
        "2026-13-01",
        "2026-02-30",
        "31.02.2026",
        "0000000000",
        "000000000",
        "yesterday",
        "2 hours ago",
        "18 Nov",
        "Nov 2026",
        "12345678901234567890",
        "99999999",
        "2026-11-181",
        "12 lipnja 2026",
        "9999-12-31",
        "The marketing team of 12 people met in 2026",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn missing_time_and_zone_stay_missing() {
    let precision = |text: &str| parse_dated(text).map(|parsed| (parsed.has_time, parsed.has_zone));
    assert_eq!(precision("2026-11-18"), Some((false, false)));
    assert_eq!(precision("2026-11-18T07:15"), Some((true, false)));
    assert_eq!(precision("2026-11-18T07:15Z"), Some((true, true)));
    assert_eq!(precision("18.11.2026 07:15 Uhr"), Some((true, false)));
}

#[test]
fn lines_hold_one_day() {
    for (line, day) in [
        ("Handball Schweiz • 02.02.2022", Some("2022-02-02")),
        ("Party, 30.10.23", Some("2023-10-30")),
        ("am 25.08.2015 22:30", Some("2015-08-25")),
        ("Peter Grimm / 07.11.2023 / 09:30 /", Some("2023-11-07")),
        ("Datum: 26. Januar 2022", Some("2022-01-26")),
        ("by Ann Lee, November 7th, 2023 in News", Some("2023-11-07")),
        ("Veröffentlicht am 18.11.2026, aktualisiert 20.11.2026", Some("2026-11-18")),
        ("Der Kurs ist am 18.11.2026 und am 20.11.2026", None),
        ("18.11.2026г. в 07:15", Some("2026-11-18")),
        ("10:15 May 3, 2026", Some("2026-05-03")),
        ("3 May, 10 comments", None),
        ("01.02.2022 – 05.02.2022, Wien", None),
        ("3–5 May 2024, Berlin", None),
        ("3. – 5. Mai 2024, Berlin", None),
        ("3-5.5.2024", None),
        ("Version 1.2.2022.4", None),
        ("IP 10.10.10.10", None),
        ("Tel. 030 12 34 56", None),
        ("doi 10.1257/app.6.1.38", None),
        ("a.example/2019/12/26/title", None),
        ("April 2015 (1)", None),
        ("Dec 21 st , 2018 2:00 pm", Some("2018-12-21")),
        ("(Larn, 14 Gennaio ’20)", Some("2020-01-14")),
    ] {
        assert_eq!(parse_dated(line).map(|found| found.day.to_string()).as_deref(), day, "{line}");
    }
}

#[test]
fn path_gives_the_day_unless_it_is_between_words() {
    for (path, expected) in [
        ("/world/2024/05/03/title", Some("2024-05-03")),
        ("/world/2024/05/03-title", Some("2024-05-03")),
        ("/news/title-2024-05-03", Some("2024-05-03")),
        ("/news/title-2024-05-03.html", Some("2024-05-03")),
        ("/news/2024-05-03-title", Some("2024-05-03")),
        ("/news/title-2024-05-03-123456/amp", Some("2024-05-03")),
        ("/20240503/title.html", Some("2024-05-03")),
        ("/news/29-10-2021", Some("2021-10-29")),
        ("/2026/11/05/larn-flood-1953-02-01-in-pictures", Some("2026-11-05")),
        ("/larn-flood-1953-02-01-in-pictures/2026/11/05/", Some("2026-11-05")),
        ("/analytics/larn-fire-2014-05-02-what-we-know", None),
        ("/longread/plane-crash-17-07-2014-what-the-court-found", None),
        ("/text/obrushenie-20100714-pochemu.html", None),
        ("/podii/%D0%BC-2014-02-20-%D1%89", None),
        ("/bericht_vom_02.04.2020_x", None),
        ("/blog/toolkit-2026-1-release", None),
        ("/2014/04/title", None),
        ("/news/02-04-2020", None),
        ("/doc/7715044", None),
        ("/2024/13/40/", None),
        ("/story/3000000218734/", None),
    ] {
        let day = date_in_path(path).map(|found| found.day.to_string());
        assert_eq!(day.as_deref(), expected, "{path}");
    }
}

#[test]
fn line_gives_its_day_when_other_words_are_months() {
    let words = "By Jane Whitlock,;By April Sanders,;May Thornton |;By Marcia Odell /;By Marcus Hale •;By Julie May,;\
        Julian Marsh –;Анна Бережная,;Мая Гончарова,;Феврония Лебедева |;Олег Сентюрин,;Марта Кравченко,;Ольга Квітка,;\
        Оксана Липницька,;Остап Вересай |;Іван Жовтобрюх,;mar.;mar;Mar 2 •;Сер;avr. :";
    let dates = "24 November 2026;24 nov. 2026;24 листопада 2026;24 ноя 2026 08:00;Nov 24, 2026;2026-11-24";
    for words in words.split(';') {
        for date in dates.split(';') {
            let line = format!("{words} {date}");
            assert_eq!(parse_dated(&line).map(|found| found.day.to_string()).as_deref(), Some("2026-11-24"), "{line}");
        }
        for date in ["24 Nov", "24", "2026"] {
            let line = format!("{words} {date}");
            assert_eq!(parse_dated(&line), None, "{line}");
        }
    }
}

#[test]
fn weekday_decides_when_the_date_has_two_readings() {
    for (line, expected) in [
        ("Thu, 07/06/2023 - 17:57", Some("2023-07-06")),
        ("Wed, 07/06/2023", Some("2023-06-07")),
        ("07/06/2023 (Thursday)", Some("2023-07-06")),
        ("Updated: Do, 07-06-2023", Some("2023-07-06")),
        ("Пн, 05/10/2026", Some("2026-10-05")),
        ("в четверг, 06/11/2026", Some("2026-06-11")),
        ("П’ятниця, 06/11/2026", Some("2026-11-06")),
        ("вівторок, 10/11/2026 | 09:12", Some("2026-11-10")),
        ("segunda-feira, 05/10/2026", Some("2026-10-05")),
        ("sob, 7 lis 2026", Some("2026-11-07")),
        ("Fri, 07/14/2023", Some("2023-07-14")),
        ("Tue, 07/14/2023", Some("2023-07-14")),
        ("Thu, 07.06.2023", Some("2023-06-07")),
        ("Tue, 07/06/2023", None),
        ("Ann Thursby, 07/06/2023", None),
        ("Thu | Larn | 07/06/2023", None),
        ("07/06/2023", None),
        ("7 lis 2026", None),
    ] {
        assert_eq!(parse_dated(line).map(|found| found.day.to_string()).as_deref(), expected, "{line}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC{0,60}") {
        let _date = parse_dated(&text);
        let _path = date_in_path(&text);
    }

    #[test]
    fn dates_made_of_date_parts_never_panic(text in "[0-9]{1,4}[-/. T:]{1,2}[0-9a-zA-Z.]{1,9}[-/. ,]{1,2}[0-9]{1,4}[T ]?[0-9:.+ -]{0,14}") {
        if let Some(at) = parse_date(&text) {
            prop_assert!((1800..2200).contains(&at.year()));
        }
    }

    #[test]
    fn weekday_confirms_every_day(days in 0_i32..40_000, names in 0_usize..3) {
        let day = NaiveDate::from_num_days_from_ce_opt(720_000 + days).unwrap();
        let weekday = [
            ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
            ["понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"],
            ["Пн", "Вт", "Ср", "Чт", "Пт", "Сб", "Нд"],
        ][names][day.weekday().num_days_from_monday() as usize];
        for order in ["%d/%m/%Y", "%m/%d/%Y"] {
            let read = parse_dated(&format!("{weekday}, {}", day.format(order))).map(|found| found.day);
            let other = NaiveDate::from_ymd_opt(day.year(), day.day(), day.month());
            let is_undecided = other.is_some_and(|other| other != day && other.weekday() == day.weekday());
            prop_assert_eq!(read, (!is_undecided).then_some(day));
        }
    }

    #[test]
    fn iso_round_trips(seconds in 100_000_000_i64..4_000_000_000) {
        let at = DateTime::from_timestamp(seconds, 0).unwrap();
        prop_assert_eq!(parse_date(&at.to_rfc3339()), Some(at));
        prop_assert_eq!(parse_date(&at.to_rfc2822()), Some(at));
        prop_assert_eq!(parse_date(&seconds.to_string()), Some(at));
    }
}
