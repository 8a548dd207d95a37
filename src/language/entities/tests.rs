use proptest::prelude::*;

use super::*;
use crate::language::shared_data;

fn named(text: &str) -> Vec<(String, EntityKind)> {
    entities(text, None, &[]).into_iter().map(|entity| (entity.text, entity.kind)).collect()
}

fn keys(text: &str) -> Vec<String> {
    entities(text, None, &[]).into_iter().map(|entity| entity.key).collect()
}

#[test]
fn people_organisations_and_places() {
    use EntityKind::{Loc, Org, Person};
    let has = |text: &str, name: &str, kind: EntityKind| {
        let found = named(text);
        assert!(found.contains(&(name.to_owned(), kind)), "{text}: {found:?}");
    };
    has("President Joe Biden met Olaf Scholz in Berlin on Monday.", "Joe Biden", Person);
    has("President Joe Biden met Olaf Scholz in Berlin on Monday.", "Berlin", Loc);
    has("The U.S. sent aid to Kyiv.", "Kyiv", Loc);
    has("He works at the Bank of America today.", "Bank of America", Org);
    has("It was said by the World Health Organization.", "World Health Organization", Org);
    has("Shares of Acme Corp fell.", "Acme Corp", Org);
    has("Президент США Джо Байден прибыл в Киев.", "Джо Байден", Person);
    has("Президент США Джо Байден прибыл в Киев.", "США", Loc);
    has("Он работает в компании «Рога и копыта».", "Рога", Org);
    has("Зеленский подписал закон.", "Зеленский", Person);
    has("У Харкові пролунали вибухи, повідомив Ігор Терехов.", "Ігор Терехов", Person);
    has("У Харкові пролунали вибухи.", "Харкові", Loc);
    has("Минобороны РФ сообщило.", "Минобороны РФ", Org);
    has("Alan Trammell is a MLB GM for the Detroit Tigers.", "MLB GM", EntityKind::Misc);
    has("He said that Angela Merkel won.", "Angela Merkel", Person);
}

#[test]
fn what_is_no_name() {
    for text in [
        "Water boils at 50 degrees.",
        "Vaccines cause autism.",
        "On Monday it rained in May.",
        "Вакцины не вызывают аутизм.",
        "Who told us that it is so?",
        "Вчера в понедельник шёл дождь.",
        "I think so.",
        "Того человека видели.",
        "BREAKING",
    ] {
        assert!(named(text).is_empty(), "{text}: {:?}", named(text));
    }
}

#[test]
fn one_name_once_and_across_languages() {
    assert_eq!(
        keys("Joe Biden spoke. Biden left. He thanked Mr Biden."),
        ["io biden".to_owned()].map(|_| keys("Joe Biden spoke.")[0].clone())
    );
    assert_eq!(keys("Kyiv, Киев и Київ"), ["kyiv"]);
    let english = entities("Volodymyr Zelensky visited Washington.", Some("en"), &[]);
    let russian = entities("Владимир Зеленский посетил Вашингтон.", Some("ru"), &[]);
    assert!(overlap(&english, &russian).is_some_and(|share| share > 0.99), "{english:?} {russian:?}");
    let hint = EntityHint { text: "Rosatom".into(), kind: Some("ORG".into()) };
    let hinted = entities("Кириенко возглавлял Росатом", Some("ru"), &[hint]);
    assert_eq!((hinted[0].text.as_str(), hinted[0].kind), ("Rosatom", EntityKind::Org));
}

#[test]
fn overlap_weighs_kinds() {
    let entity = |text: &str, kind| Entity { text: text.into(), key: name_key(text), kind };
    let claim = [entity("Kyiv", EntityKind::Loc), entity("Oscar", EntityKind::Misc)];
    assert_eq!(overlap(&[], &claim), None);
    assert_eq!(overlap(&claim, &[]), Some(0.0));
    assert_eq!(overlap(&claim, &claim), Some(1.0));
    assert_eq!(overlap(&claim, &[entity("Киев", EntityKind::Loc)]), Some(2.0 / 3.0));
    assert_eq!(overlap(&claim[..1], &[entity("Kyiv", EntityKind::Loc), entity("Moscow", EntityKind::Loc)]), Some(0.5));
}

/// Rows of the `SlavicNER` files: surface, id, kind.
fn slavic(language: &str) -> Vec<(String, String)> {
    let folder = shared_data::folder().join("slavicner/ner");
    let Ok(topics) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = topics
        .flatten()
        .filter_map(|topic| std::fs::read_dir(topic.path().join(language)).ok())
        .flat_map(|files| files.flatten().map(|file| file.path()))
        .collect();
    files.sort();
    files
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| {
            text.lines()
                .filter_map(|line| {
                    let fields: Vec<&str> = line.split('\t').collect();
                    let kind = fields.get(4)?;
                    matches!(*kind, "PER" | "LOC")
                        .then(|| Some(((*fields.get(2)?).to_owned(), (*fields.get(5)?).to_owned())))?
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn real_slavic_mentions_meet_their_english_keys() {
    use crate::language::names::same_name;
    for language in ["ru", "uk"] {
        let rows = slavic(language);
        if rows.is_empty() {
            println!("skipped: slavicner is not in the folder of labelled sets");
            return;
        }
        let english = |id: &str| id.split_once('-').map_or(String::new(), |(_, name)| name.replace('-', " "));
        let mut pairs: Vec<(String, String)> = rows.into_iter().map(|(surface, id)| (surface, english(&id))).collect();
        pairs.sort();
        pairs.dedup();
        let met = pairs.iter().filter(|(surface, name)| same_name(surface, name)).count();
        let strangers = (0..pairs.len()).filter(|i| {
            let other = &pairs[(i + pairs.len() / 2) % pairs.len()];
            other.1 != pairs[*i].1 && same_name(&pairs[*i].0, &other.1)
        });
        let strangers = strangers.count();
        println!(
            "slavicner {language}: {met}/{} distinct mentions meet their key, {strangers} meet a stranger's",
            pairs.len()
        );
        assert!(met as f64 >= 0.7 * pairs.len() as f64 && strangers as f64 <= 0.02 * pairs.len() as f64);
    }
}

proptest! {
    #[test]
    fn any_text_gives_names_with_keys(text in "[A-ZА-Яa-zа-яіїє'’., «»-]{0,100}") {
        for entity in entities(&text, None, &[]) {
            prop_assert!(!entity.key.is_empty());
        }
    }
}
