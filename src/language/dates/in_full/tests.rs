use super::*;

/// Told on Tuesday, 17 November 2026.
fn told(text: &str, language: &str) -> String {
    let written = NaiveDate::from_ymd_opt(2026, 11, 17).unwrap().and_hms_opt(12, 0, 0).unwrap().and_utc();
    in_full(text, Some(language), written)
}

#[test]
fn a_statement_says_when() {
    for (text, language, full) in [
        ("The council met yesterday.", "en", "The council met yesterday (16 November 2026)."),
        ("Tesla opened the plant on Monday.", "en", "Tesla opened the plant on Monday (16 November 2026)."),
        ("Last Friday a bridge fell.", "en", "Last Friday (13 November 2026) a bridge fell."),
        ("Prices rose 3% last month.", "en", "Prices rose 3% last month (October 2026)."),
        ("The law was passed last year.", "en", "The law was passed last year (2025)."),
        ("The ministry closed two years ago.", "en", "The ministry closed two years ago (2024)."),
        ("Суд вынес приговор вчера.", "ru", "Суд вынес приговор вчера (16 ноября 2026 года)."),
        ("В понедельник в Киеве закрыли мост.", "ru", "В понедельник (16 ноября 2026 года) в Киеве закрыли мост."),
        ("В прошлом году цены выросли на 5%.", "ru", "В прошлом году (2025 год) цены выросли на 5%."),
        ("Торік експорт зріс на 5%.", "uk", "Торік (2025 рік) експорт зріс на 5%."),
        ("Учора Рада ухвалила закон.", "uk", "Учора (16 листопада 2026 року) Рада ухвалила закон."),
    ] {
        assert_eq!(told(text, language), full);
        assert_eq!(told(full, language), full, "told again");
    }
}

#[test]
fn what_may_be_another_day_or_a_name_stays() {
    for text in [
        "The court will rule on Thursday.",
        "The vote is set for Friday.",
        "The shop is closed on Mondays.",
        "Black Friday sales fell by 4%.",
        "USA Today reported 40 deaths.",
        "A report in the Sunday Times named him.",
        "The Tonight Show was cancelled.",
        "Yesterday's vote failed in Oslo.",
        "The treaty was signed on 3 May.",
        "Sales fell in May.",
        "The bridge was built 40 years ago.",
        "On Monday, 16 November 2026, the plant opened.",
        "The dam broke in June 2023.",
        "Суд состоится в четверг.",
        "Засідання відбудеться у п'ятницю.",
        "No date at all.",
        "",
    ] {
        assert_eq!(told(text, "en"), text);
    }
}
