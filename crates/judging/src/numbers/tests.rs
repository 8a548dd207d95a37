//! Figures that agree, disagree or cannot be compared.

use chrono::{DateTime, TimeZone, Utc};
use proptest::prelude::*;

use super::*;

fn profile(text: &str) -> TextProfile {
    TextProfile::new(text, None, None, &[])
}

fn compared(claim: &str, passage: &str) -> NumberCheck {
    compare(&profile(claim), &profile(passage))
}

#[test]
fn figures_agree_disagree_or_cannot_be_compared() {
    let rows = [
        // The same: rounded, in words, in other units, within an open range.
        ("The fire killed 37 people in Odesa.", "37 people were killed by the fire in Odesa.", Some(true)),
        ("The company sold 10,000 cars last year.", "The company sold 10,150 cars last year.", Some(true)),
        ("The company sold 3.5 million cars.", "The company sold 3,520,000 cars.", Some(true)),
        ("More than 9,000 spacecraft orbit the Earth.", "9,210 spacecraft orbit the Earth.", Some(true)),
        ("The bridge is 2 km long.", "The bridge is 2,000 metres long.", Some(true)),
        ("В пожаре погибли 20 человек.", "Двадцать человек погибли в пожаре.", Some(true)),
        // Small counts are exact, large ones are not.
        ("The fire killed 37 people in Odesa.", "38 people were killed by the fire in Odesa.", Some(false)),
        ("The company sold 10,000 cars last year.", "The company sold 12,000 cars last year.", Some(false)),
        ("More than 9,000 spacecraft orbit the Earth.", "Some 4,000 spacecraft orbit the Earth.", Some(false)),
        ("The bridge is 2 km long.", "The bridge is 900 metres long.", Some(false)),
        ("Unemployment in Spain fell to 12 %.", "Unemployment in Spain fell to 20 %.", Some(false)),
        // "Exactly" allows no rounding.
        ("Exactly 41,000 people live in Larn.", "41,207 people live in Larn.", Some(false)),
        ("The road is exactly 2 miles long.", "The road is 3.2 km long.", Some(true)),
        ("Light travels at exactly 299,792,458 m/s.", "Light travels at about 300,000 km/s.", None),
        ("В Ларне живут ровно 41 000 человек.", "В Ларне живут 41 207 человек.", Some(false)),
        ("У Ларні живе рівно 41 000 людей.", "У Ларні живе 41 000 людей.", Some(true)),
        // Another counted thing, another subject, or an open range.
        ("The fire killed 37 people.", "The company sold 38 cars.", None),
        ("The company sold 340 aircraft.", "The company took 12 orders for aircraft engines in May.", None),
        ("The company sold 100 cars.", "The company sold more than 90 cars.", None),
        ("The film was praised.", "The film was seen by 300 people.", None),
        // Spans that count back differ in a later text.
        ("The bridge in Nepal collapsed about 3 days ago.", "The bridge in Nepal collapsed about 5 days ago.", None),
        ("Мост в Непале рухнул около трёх лет назад.", "Мост в Непале рухнул около пяти лет назад.", None),
        ("The siege in Nepal lasted about 3 days.", "The siege in Nepal lasted about 5 days.", Some(false)),
    ];
    for (claim, passage, expected) in rows {
        let found = compared(claim, passage);
        assert_eq!(found.num_ok, expected, "{claim} / {passage}: {found:?}");
        assert_eq!(found.mismatch.is_some(), expected == Some(false), "{claim} / {passage}: {found:?}");
        assert!(!found.newer_total, "no dates are known");
    }
}

#[test]
fn dates_agree_by_overlap_and_disagree_about_one_event() {
    let rows = [
        ("The bridge was opened in 1932.", "The bridge was opened on 19 March 1932.", Some(true)),
        ("The bridge was opened in 1932.", "The bridge was opened in 1934.", Some(false)),
        ("The bridge was opened in 1932.", "The mayor was born in 1934.", None),
    ];
    for (claim, passage, expected) in rows {
        assert_eq!(compared(claim, passage).num_ok, expected, "{claim} / {passage}");
    }
    let mismatch = compared("The bridge was opened in 1932.", "The bridge was opened in 1934.").mismatch.unwrap();
    assert_eq!((mismatch.0.as_str(), mismatch.1.as_str()), ("1932", "1934"));
}

fn on(day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, day, 0, 0, 0).unwrap()
}

#[test]
fn a_newer_and_larger_total_is_a_sign_of_outdated() {
    let at = |text: &str, day| TextProfile::new(text, Some("en"), Some(on(day)), &[]);
    let claim = at("The earthquake in Nepal killed 50 people.", 3);
    let check = |passage: &str, day| compare(&claim, &at(passage, day));
    assert!(check("The earthquake in Nepal killed 70 people.", 5).newer_total);
    assert!(!check("The earthquake in Nepal killed 70 people.", 3).newer_total, "not newer");
    assert!(!check("The earthquake in Nepal killed 30 people.", 5).newer_total, "not larger");
    assert_eq!(check("The earthquake in Nepal killed 30 people.", 5).num_ok, Some(false));
    let length = at("The bridge in Nepal is 50 metres long.", 3);
    assert!(!compare(&length, &at("The bridge in Nepal is 70 metres long.", 5)).newer_total, "no running total");
    for (claim, passage, language) in [
        ("The death toll in Gaza reached 40,000.", "The death toll in Gaza has reached 45,000.", "en"),
        ("Число погибших в секторе Газа достигло 40 тысяч.", "Число погибших в секторе Газа превысило 45 тысяч.", "ru"),
        ("Кількість загиблих у Газі досягла 40 тисяч.", "Кількість загиблих у Газі перевищила 45 тисяч.", "uk"),
    ] {
        let at = |text: &str, day| TextProfile::new(text, Some(language), Some(on(day)), &[]);
        let check = compare(&at(claim, 3), &at(passage, 20));
        assert!(check.newer_total && check.num_ok == Some(false), "{claim} / {passage}: {check:?}");
    }
}

#[test]
fn a_disagreement_moves_the_judgement_as_stated() {
    let p = StanceProbabilities { entail: 0.9, contradict: 0.05, neutral: 0.05 };
    let with = |num_ok, newer_total| apply(p, &NumberCheck { num_ok, newer_total, mismatch: None });
    assert_eq!(with(None, false), p);
    assert_eq!(with(Some(true), false), p);
    let disagrees = with(Some(false), false);
    assert_eq!((disagrees.entail, disagrees.contradict), (0.3, 0.7));
    let total = with(Some(false), true);
    assert!(
        total.contradict >= 0.6 && total.contradict < MIN_REFUTING_CONTRADICTION,
        "contradicts and does not refute"
    );
}

proptest! {
    #[test]
    fn a_figure_agrees_with_itself(count in 0u32..5_000_000, noun in "(people|cars|metres|%)") {
        let text = format!("The survey counted {count} {noun} in Lisbon.");
        let found = compared(&text, &text);
        prop_assert!(found.num_ok != Some(false), "{:?}", found);
    }

    #[test]
    fn agreement_never_names_a_mismatch(a in 0u32..3000, b in 0u32..3000) {
        let found = compared(&format!("The fire killed {a} people."), &format!("The fire killed {b} people."));
        prop_assert_eq!(found.mismatch.is_some(), found.num_ok == Some(false));
        if a <= 100 && a != b {
            prop_assert!(found.num_ok != Some(true), "{a} is not {b}");
        }
    }

    #[test]
    fn a_disagreement_never_leaves_support(e in 0.0..=1.0f64, share in 0.0..=1.0f64, total: bool) {
        let p = StanceProbabilities { entail: e, contradict: (1.0 - e) * share, neutral: (1.0 - e) * (1.0 - share) };
        let moved = apply(p, &NumberCheck { num_ok: Some(false), newer_total: total, mismatch: None });
        prop_assert!(moved.entail <= 0.3 && moved.contradict >= 0.6 && moved.contradict <= 1.0);
    }
}

#[test]
fn figures_of_another_name_do_not_disagree() {
    let check = compared(
        "Vladimir Guerrero played 20 seasons in Minor League Baseball.",
        "Vladimir Guerrero played 16 seasons in Major League Baseball.",
    );
    assert_ne!(check.num_ok, Some(false), "{check:?}");
}

#[test]
fn a_figure_about_another_subject_neither_agrees_nor_differs() {
    let rows = [
        ("The universe is 13.8 billion years old.", "The Earth is about 4.54 billion years old.", None),
        ("Life on Earth is about 3.7 billion years old.", "The Earth is about 4.54 billion years old.", None),
        ("Life on Earth is about 4.54 billion years old.", "The Earth is about 4.54 billion years old.", None),
        ("Apollo 12 landed on the Moon in November 1969.", "Apollo 11 landed on the Moon in July 1969.", None),
        ("Возраст Вселенной — 13,8 миллиарда лет.", "Возраст Земли — 4,54 миллиарда лет.", None),
        ("Вік Всесвіту — 13,8 мільярда років.", "Вік Землі — 4,54 мільярда років.", None),
        (
            "The speed of light is 200,000 km per second.",
            "The speed of light in vacuum is exactly 299,792,458 metres per second.",
            Some(false),
        ),
        (
            "Скорость света — 200 000 км в секунду.",
            "Скорость света в вакууме — 299 792 458 метров в секунду.",
            Some(false),
        ),
        (
            "Швидкість світла — 300 000 кілометрів за секунду.",
            "Швидкість світла у вакуумі — 299 792 458 метрів на секунду.",
            Some(true),
        ),
        ("Возраст моста — 300 лет.", "Возраст моста — 90 лет.", Some(false)),
        ("Вік мосту — 300 років.", "Вік мосту — 90 років.", Some(false)),
    ];
    for (claim, passage, expected) in rows {
        assert_eq!(compared(claim, passage).num_ok, expected, "{claim} / {passage}");
    }
}

#[test]
fn before_and_after_leave_a_time_open() {
    let founded = "The bridge was opened on 24 October 1945.";
    let rows = [
        ("The bridge was opened before 1950.", founded, Some(true)),
        ("The bridge was opened before 1940.", founded, Some(false)),
        ("The bridge was opened after 1940.", founded, Some(true)),
        ("The bridge was opened after 1945.", founded, Some(false)),
        ("The bridge was opened by 1945.", founded, Some(true)),
        ("The bridge was open since 1945.", "The bridge was open in 1960.", None),
        ("The bridge was opened in 1945.", "The bridge was opened before 1950.", None),
        ("The bridge was opened in 1955.", "The bridge was opened before 1950.", Some(false)),
        ("Мост открыт до 1950 года.", "Мост открыт 24 октября 1945 года.", Some(true)),
        ("Мост открыт после 1950 года.", "Мост открыт 24 октября 1945 года.", Some(false)),
        ("Міст відкрито до 1950 року.", "Міст відкрито 24 жовтня 1945 року.", Some(true)),
        ("Міст відкрито після 1950 року.", "Міст відкрито 24 жовтня 1945 року.", Some(false)),
    ];
    for (claim, passage, expected) in rows {
        assert_eq!(compared(claim, passage).num_ok, expected, "{claim} / {passage}");
    }
}

/// Both texts of 21 May 2024.
#[test]
fn texts_that_may_both_be_true_do_not_disagree() {
    for (claim, passage, language) in [
        (
            "Unemployment in Greece rose to 12 percent.",
            "Unemployment in Greece rose from 9 percent to 12 percent.",
            "en",
        ),
        ("НБУ снизил ставку до 13 %.", "НБУ снизил ставку с 14,5 до 13 %.", "ru"),
        ("The death toll in Turkey rose to 500.", "The death toll in Turkey rose from 300 to 500.", "en"),
        ("Merkel governed Germany in 2010.", "Merkel governed Germany from 2005 to 2021.", "en"),
        ("Меркель правила Германией в 2010 году.", "Меркель правила Германией с 2005 по 2021 год.", "ru"),
        ("The lab in Bonn worked in 2016.", "The lab in Bonn worked between 2014 and 2020.", "en"),
        ("The concert in Lviv took place on 9 May 2024.", "The concert in Lviv took place on 9 and 12 May 2024.", "en"),
        ("The forum in Davos was held on 10 May 2024.", "The forum in Davos was held between 9 and 12 May 2024.", "en"),
        (
            "The summit in Bern will be held on 15 December.",
            "The summit in Bern will be held on 15 December 2024.",
            "en",
        ),
        ("The vote in Georgia will be held on Saturday.", "The vote in Georgia will be held on 25 May 2024.", "en"),
        ("The mayor of Odesa resigned on Monday.", "The mayor of Odesa resigned on 19 May 2024.", "en"),
        (
            "The unemployment rate in Spain is 12 percent.",
            "In 2013 the unemployment rate in Spain was 26 percent.",
            "en",
        ),
        ("Apple earned $97 billion in 2023.", "In the first quarter of 2023 Apple earned $24 billion.", "en"),
        ("Mozambique reported 25 000 cases of cholera.", "Mozambique reported 25,000 cases of cholera.", "en"),
        ("The police in Rome arrested 12 of 20 suspects.", "The police in Rome arrested 12 suspects.", "en"),
    ] {
        let at = |text: &str| TextProfile::new(text, Some(language), "2024-05-21T12:00:00Z".parse().ok(), &[]);
        let check = compare(&at(claim), &at(passage));
        assert_ne!(check.num_ok, Some(false), "{claim} / {passage}: {check:?}");
    }
}

#[test]
fn what_had_been_counted_before_refutes_no_later_toll() {
    let at = |text: &str, day| TextProfile::new(text, Some("en"), Some(on(day)), &[]);
    let check = compare(
        &at("The earthquake in Kandahar killed 2,040 people.", 11),
        &at("The earthquake in Kandahar killed 120 people.", 7),
    );
    assert_eq!(check.num_ok, None);
}

#[test]
fn what_plainly_differs_still_does() {
    let check = |claim: &str, passage: &str, language: &str| {
        let at = |text: &str, day: &str| TextProfile::new(text, Some(language), day.parse().ok(), &[]);
        compare(&at(claim, "2024-05-10T12:00:00Z"), &at(passage, "2024-05-09T12:00:00Z")).num_ok
    };
    for (claim, passage, language) in [
        ("The mayor of Odesa resigned on Monday.", "The mayor of Odesa resigned on Wednesday.", "en"),
        ("The Titanic sank in April 1912 with 500 dead.", "The Titanic sank on 15 April 1912 with 1,500 dead.", "en"),
        ("Суд осудил 12 из 20 обвиняемых.", "Суд осудил 8 из 20 обвиняемых.", "ru"),
        ("Queen Elizabeth died on 8 May 2023.", "Queen Elizabeth died on 8 May.", "en"),
    ] {
        assert_eq!(check(claim, passage, language), Some(false), "{claim} / {passage}");
    }
    let wall = check("The Berlin Wall was built in 1975.", "The Berlin Wall stood from 1961 to 1989.", "en");
    assert_ne!(wall, Some(true), "it may have been built at either end");
}

#[test]
fn figure_agrees_when_it_rounds_to_the_other() {
    let ok = |claim: &str, passage: &str| {
        let profile = |text: &str| TextProfile::new(text, Some("en"), None, &[]);
        compare(&profile(claim), &profile(passage)).num_ok
    };
    let town = |count: &str| format!("The city of Kharkiv has {count} inhabitants.");
    assert_eq!(ok(&town("1.9 million"), &town("2 million")), Some(true));
    assert_eq!(ok(&town("1.2 million"), &town("2 million")), Some(false));
    assert_eq!(ok(&town("1.9 million"), &town("1 million")), Some(false));
    assert_eq!(ok(&town("1,421,000"), &town("1.4 million")), Some(true));
    let turnout = |share: &str| format!("Turnout in Kharkiv was {share}.");
    assert_eq!(ok(&turnout("61 %"), &turnout("61.37 %")), Some(true));
    assert_eq!(ok(&turnout("62 %"), &turnout("61.37 %")), None);
    assert_eq!(ok(&turnout("61.8 %"), &turnout("61.37 %")), None);
    assert_eq!(ok(&turnout("66 %"), &turnout("61.37 %")), Some(false));
}
