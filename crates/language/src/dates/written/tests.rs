use proptest::prelude::*;

use super::*;

fn tuesday() -> DateTime<Utc> {
    NaiveDate::from_ymd_opt(2026, 11, 17).unwrap().and_hms_opt(12, 0, 0).unwrap().and_utc()
}

#[test]
fn a_statement_that_counts_from_its_day_says_that_day() {
    for (text, language, day) in [
        ("The council met yesterday.", Some("en"), " (written on 17 November 2026)"),
        ("Tesla opened the plant on Monday.", Some("en"), " (written on 17 November 2026)"),
        ("The court will rule on Thursday.", Some("en"), " (written on 17 November 2026)"),
        ("The treaty was signed on 3 May.", Some("en"), " (written on 17 November 2026)"),
        ("В прошлом году цены выросли на 5%.", Some("ru"), " (написано 17 ноября 2026 года)"),
        ("Учора Рада ухвалила закон.", Some("uk"), " (написано 17 листопада 2026 року)"),
        ("Вчера парламентът прие закона.", Some("bg"), " (written on 2026-11-17)"),
        ("The dam broke in June 2023.", Some("en"), ""),
        ("Water boils at 50C", None, ""),
        ("", None, ""),
    ] {
        let marked = with_written(text, language, tuesday());
        assert_eq!(marked, format!("{text}{day}"));
        assert_eq!(without_written(&marked), text);
        let day = written_on(&marked).map(|day| day.date_naive());
        assert_eq!(day, (marked != text).then(|| tuesday().date_naive()), "{marked}");
        assert_eq!(with_written(&marked, language, tuesday()), marked, "marked twice");
    }
    assert_eq!(without_written("He left (written on the wall)"), "He left (written on the wall)");
}

proptest! {
    #[test]
    fn what_was_added_comes_off_again(text in "\\PC{0,60}( yesterday| вчера)?\\PC{0,20}") {
        for language in [Some("en"), Some("ru"), Some("uk"), None] {
            let marked = with_written(&text, language, tuesday());
            prop_assert_eq!(without_written(&marked), without_written(&text));
        }
    }
}
