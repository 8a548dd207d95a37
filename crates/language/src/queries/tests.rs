use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::*;
use crate::dates::dates;

const DAY: &str = "2026-11-20T09:00:00Z";

fn asked(text: &str, language: &str, tags: &str, channel: Option<&str>) -> Vec<String> {
    let moment: DateTime<Utc> = DAY.parse().unwrap();
    let (names, dates, tags) = (entities(text, None, &[]), dates(text, Some(moment)), identifying_tags(tags));
    let about = QuerySubject {
        text,
        lead: None,
        language: Some(language),
        entities: &names,
        dates: &dates,
        tags: &tags,
        published: Some(moment.date_naive()),
        summary: None,
        channel,
    };
    wordings(&about, 4)
}

#[test]
fn a_claim_is_asked_in_itself_by_its_deed_by_place_and_date_and_by_topic() {
    for (text, language, expected) in [
        (
            "Greece and Cyprus signed a deal on the undersea power cable yesterday.",
            "en",
            ["Greece Cyprus 19 November 2026", "Greece Cyprus signed deal undersea"].as_slice(),
        ),
        ("Elon Musk bought Twitter for $44 billion in October 2022.", "en", &["Elon Musk Twitter October 2022"]),
        (
            "Владимир Зеленский подписал закон о мобилизации в Киеве 16 апреля 2024 года.",
            "ru",
            &["Владимир Зеленский Киеве 16 апреля 2024", "Владимир Зеленский подписал закон мобилизации Киеве"],
        ),
        (
            "Во вторник в Брюсселе министры ЕС согласовали 15-й пакет санкций против России.",
            "ru",
            &["ЕС согласовали пакет санкций против", "ЕС Брюсселе 17 ноября 2026"],
        ),
        (
            "Вчора Володимир Зеленський зустрівся з Дональдом Трампом у Вашингтоні.",
            "uk",
            &["Володимир Зеленський Вашингтоні 19 листопада 2026"],
        ),
    ] {
        let found = asked(text, language, "", None);
        assert_eq!(found.first().map(|first| first.trim_end_matches('.')), Some(text.trim_end_matches('.')));
        assert!((2..=4).contains(&found.len()), "{found:#?}");
        for query_text in expected {
            assert!(found.iter().any(|query| query == query_text), "{query_text:?} is not among {found:#?}");
        }
    }
}

#[test]
fn without_a_name_the_strongest_words_and_the_channel_are_asked() {
    let found = asked("взрывы слышны в центре города, работает пво", "ru", "", Some("@kiev1"));
    assert!(found.len() >= 2 && found[1].ends_with("kiev1") && found[1].contains("взрывы"), "{found:#?}");
    let found = asked("people say the new tax on cars doubled overnight", "en", "", Some("@autonews"));
    assert!(found.iter().any(|query| query.ends_with("autonews")), "{found:#?}");
}

#[test]
fn a_tag_that_names_a_place_says_where_and_another_says_nothing() {
    let names = |text: &str| identifying_tags(text).into_iter().map(|name| name.text).collect::<Vec<_>>();
    assert_eq!(names("#Киев #война Взрывы слышны в центре города @kiev1"), ["Киев"]);
    assert_eq!(names("Explosions in the centre #Kyiv #breaking"), ["Kyiv"]);
    assert_eq!(names("Вибухи в центрі міста #Харків #новини"), ["Харків"]);
    assert!(names("Like and share #love #instagood").is_empty());
    let found = asked("Взрывы слышны в центре города", "ru", "#Киев #война", Some("@news"));
    assert!(found.iter().any(|query| query.contains("Киев") && query.contains("ноябрь 2026")), "{found:#?}");
    assert!(found.iter().all(|query| !query.contains("война") && !query.contains('#')), "{found:#?}");
}

#[test]
fn operators_are_no_part_of_a_query() {
    assert_eq!(plain("Zelensky: \"We have lost 31,000 soldiers\""), "Zelensky We have lost 31,000 soldiers");
    assert_eq!(plain("«Газпром» -реклама — снизил цены"), "Газпром реклама снизил цены");
    assert_eq!(plain("temperature of 5 °C"), "temperature of 5 °C");
}

#[test]
fn the_most_distinct_are_kept_in_their_order() {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let all = texts(&["Kyiv opened a bridge", "a bridge opened Kyiv", "Kyiv bridge 2024", ""]);
    assert_eq!(distinct(&all, 4, None), ["Kyiv opened a bridge", "Kyiv bridge 2024"]);
    let all = texts(&["Kyiv opened a long bridge", "Kyiv opened a bridge 2024", "Dnipro crossing traffic"]);
    assert_eq!(distinct(&all, 2, None), ["Kyiv opened a long bridge", "Dnipro crossing traffic"]);
    assert_eq!(distinct(&texts(&["Water boils", "boils water"]), 4, None), ["Water boils"]);
}

#[test]
fn span_of_days_is_written_in_words() {
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    for (start, end, language, expected) in [
        ("2024-05-03", "2024-05-03", "en", Some("3 May 2024")),
        ("2024-05-03", "2024-05-03", "uk", Some("3 травня 2024")),
        ("2024-05-01", "2024-05-31", "ru", Some("май 2024")),
        ("2024-01-01", "2024-12-31", "ru", Some("2024")),
        ("2024-05-03", "2024-05-03", "el", Some("2024")),
        ("1990-01-01", "1999-12-31", "en", None),
    ] {
        assert_eq!(in_words(day(start), day(end), Some(language)).as_deref(), expected, "{start} {end} {language}");
    }
}

proptest! {
    #[test]
    fn any_text_gives_few_and_short_queries(text in "[A-Za-zа-яІіЇї0-9 .,\"#@-]{1,300}", most in 1usize..5) {
        let names = entities(&text, None, &[]);
        let about = QuerySubject {
            text: &text, lead: Some("Ann met Bob."), language: None, entities: &names, dates: &[], tags: &[], published: None, summary: Some(&text),
            channel: Some("@c"),
        };
        let found = wordings(&about, most);
        prop_assert!(found.len() <= most);
        prop_assert!(found.iter().all(|query| query.chars().count() <= MAX_CHARS && !query.contains('"')));
    }
}
