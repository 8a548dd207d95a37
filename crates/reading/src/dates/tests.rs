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
fn what_was_not_said_is_kept() {
    let said = |text: &str| parse_dated(text).map(|parsed| (parsed.has_time, parsed.has_zone));
    assert_eq!(said("2026-11-18"), Some((false, false)));
    assert_eq!(said("2026-11-18T07:15"), Some((true, false)));
    assert_eq!(said("2026-11-18T07:15Z"), Some((true, true)));
    assert_eq!(said("18.11.2026 07:15 Uhr"), Some((true, false)));
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
        ("01.02.2022 – 05.02.2022, Wien", None),
        ("3–5 May 2024, Berlin", None),
        ("3. – 5. Mai 2024, Berlin", None),
        ("Version 1.2.2022.4", None),
        ("IP 10.10.10.10", None),
        ("Tel. 030 12 34 56", None),
    ] {
        assert_eq!(date_within(line).map(|found| found.day.to_string()).as_deref(), day, "{line}");
    }
}

#[test]
fn addresses_carry_the_day() {
    let day = |path: &str| date_in_path(path).map(|found| found.at.format("%Y-%m-%d").to_string());
    assert_eq!(day("/world/2024/05/03/title").as_deref(), Some("2024-05-03"));
    assert_eq!(day("/news/title-2024-05-03").as_deref(), Some("2024-05-03"));
    assert_eq!(day("/20240503/title.html").as_deref(), Some("2024-05-03"));
    assert_eq!(day("/news/29-10-2021").as_deref(), Some("2021-10-29"));
    assert_eq!(day("/bericht_vom_02.04.2020_x").as_deref(), Some("2020-04-02"));
    assert_eq!(day("/news/02-04-2020"), None, "either order");
    assert_eq!(day("/doc/7715044"), None);
    assert_eq!(day("/2024/13/40/"), None);
    assert_eq!(day("/story/3000000218734/"), None);
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
    fn iso_round_trips(seconds in 100_000_000_i64..4_000_000_000) {
        let at = DateTime::from_timestamp(seconds, 0).unwrap();
        prop_assert_eq!(parse_date(&at.to_rfc3339()), Some(at));
        prop_assert_eq!(parse_date(&at.to_rfc2822()), Some(at));
        prop_assert_eq!(parse_date(&seconds.to_string()), Some(at));
    }
}
