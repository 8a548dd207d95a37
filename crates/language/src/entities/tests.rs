use proptest::prelude::*;

use super::*;
use corroborate_labelled as labelled;

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
    has("Он работает в компании «Рога и копыта».", "Рога и копыта", Org);
    has("Зеленский подписал закон.", "Зеленский", Person);
    has("Владимир Зеленский 23 февраля 2022 года подписал закон.", "Владимир Зеленский", Person);
    has("У Харкові пролунали вибухи, повідомив Ігор Терехов.", "Ігор Терехов", Person);
    has("У Харкові пролунали вибухи.", "Харкові", Loc);
    has("Минобороны РФ сообщило.", "Минобороны", Org);
    has("Alan Trammell is a MLB GM for the Detroit Tigers.", "MLB GM", EntityKind::Misc);
    has("He said that Angela Merkel won.", "Angela Merkel", Person);
    has("Иск рассмотрел Верховный суд.", "Верховный суд", Org);
    has("Об этом заявила Палата представителей.", "Палата представителей", Org);
    has("Вчера Комитет внутренних органов собрался.", "Комитет внутренних органов", Org);
    has("Взрыв произошёл в Свердловской области.", "Свердловской области", Loc);
    has("Он родился в Детройте.", "Детройте", Loc);
    has("Помощник Хиллари Клинтон ушёл.", "Хиллари Клинтон", Person);
    has("По словам Овечкина, матч был трудным.", "Овечкина", Person);
    has("Ранее Украина заявила об этом.", "Украина", Loc);
    has("Против были США.", "США", Loc);
    has("Премию вручил Фонд Бориса Немцова.", "Фонд Бориса Немцова", Org);
    has("Её купила созданная Дуровым компания.", "Дуровым", Person);
    has("Nadiya Savchenko (Надія Савченко) spoke.", "Nadiya Savchenko", Person);
    has("Акции купила компания Hewlett-Packard.", "Hewlett-Packard", Org);
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
        "В XIX веке так не делали.",
        "Били его долго.",
        "Об этом пишут СМИ.",
        "BREAKING",
    ] {
        assert!(named(text).is_empty(), "{text}: {:?}", named(text));
    }
}

/// The network is trained on Russian news; other Cyrillic languages use rules.
#[test]
fn the_network_reads_russian_and_ukrainian_alone() {
    let read = |language| cyrillic::is_read(language);
    assert!(["ru", "uk", "en", "de", "el"].iter().all(|code| read(Some(code))) && read(None));
    assert!(["bg", "sr", "mk", "be", "kk", "ky", "tt", "uz", "mn", "tg"].iter().all(|code| !read(Some(code))));
    let kinds = |text: &str, language| -> Vec<(String, EntityKind)> {
        entities(text, language, &[]).into_iter().map(|entity| (entity.text, entity.kind)).collect()
    };
    for (text, name, language) in [
        ("Судът оправда Делян Пеевски вчера.", "Делян Пеевски", "bg"),
        ("Суд је ослободио Дарка Шарића јуче.", "Дарка Шарића", "sr"),
    ] {
        let found = kinds(text, Some(language));
        assert!(found.iter().any(|(text, _)| text == name), "{text}: {found:?}");
    }
}

/// The text's language decides, because one sentence in 25 has no Ukrainian letter.
#[test]
fn ukrainian_sentence_is_recognised_when_its_letters_are_ambiguous() {
    let text = "Про це сказав голова Верховного Суду Всеволод Князев.";
    assert!(!cyrillic::is_ukrainian(text, None) && !cyrillic::is_ukrainian(text, Some("ru")));
    assert!(cyrillic::is_ukrainian(text, Some("uk")));
    assert!(cyrillic::is_ukrainian("Її бачили у Львові.", Some("ru")), "letters stand above the language of the text");
    assert!(!cyrillic::is_ukrainian("Это сказал Путин.", Some("uk")));
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
    let Some(topics) = labelled::at("slavicner/ner").and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
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
    use crate::names::same_name;
    for language in ["ru", "uk"] {
        let rows = slavic(language);
        if rows.is_empty() {
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

/// Objects of `FactRuEval`, once per document. Political places count as places.
fn fact_ru_eval(stem: &std::path::Path) -> Option<(String, Vec<(String, EntityKind)>)> {
    let read = |end: &str| std::fs::read_to_string(stem.with_extension(end)).ok();
    let (text, objects, spans) = (read("txt")?, read("objects")?, read("spans")?);
    let mut named: Vec<(String, EntityKind)> = Vec::new();
    for line in objects.lines() {
        let (fields, words) = line.split_once('#')?;
        let mut fields = fields.split_whitespace().skip(1);
        let kind = match fields.next()? {
            "Person" => EntityKind::Person,
            "Org" => EntityKind::Org,
            "LocOrg" | "Location" => EntityKind::Loc,
            _ => continue,
        };
        let ids: Vec<&str> = fields.collect();
        // "депутат", "город": a description is not a name.
        let is_named =
            spans.lines().filter(|span| ids.contains(&span.split(' ').next().unwrap_or_default())).any(|span| {
                span.split(' ').nth(1).is_some_and(|tag| !tag.ends_with("descr") && tag != "job" && tag != "prj_descr")
            });
        let key = name_key(words);
        if is_named && !named.iter().any(|(known, of)| *of == kind && same_key(&name_key(known), &key)) {
            named.push((words.trim().to_owned(), kind));
        }
    }
    Some((text, named))
}

/// Whether two keys share a word, because the end of a name is a matter of taste ("мэрия Москвы", "Москва").
fn overlapping(a: &str, b: &str) -> bool {
    same_key(a, b) || a.split(' ').any(|word| word.len() > 3 && b.split(' ').any(|other| same_key(word, other)))
}

/// Whether a found name is the expected one, as written or by gazetteer key.
fn meets(key: &str, found: &Entity) -> bool {
    overlapping(key, &found.key) || overlapping(key, &name_key(&found.text))
}

#[test]
fn names_of_real_russian_news() {
    let Some(files) = labelled::at("factrueval2016/devset").and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return;
    };
    let mut stems: Vec<_> = files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .collect();
    stems.sort();
    let kinds = [EntityKind::Person, EntityKind::Loc, EntityKind::Org];
    let mut counts = [[0_usize; 4]; 3];
    for stem in &stems {
        let (text, named) = fact_ru_eval(stem).unwrap();
        let found = entities(&text, Some("ru"), &[]);
        for (kind, count) in kinds.iter().zip(&mut counts) {
            let gold: Vec<String> = named.iter().filter(|(_, of)| of == kind).map(|(text, _)| name_key(text)).collect();
            let own: Vec<&Entity> = found.iter().filter(|entity| entity.kind == *kind).collect();
            let right = own.iter().filter(|entity| gold.iter().any(|key| meets(key, entity)));
            count[0] += right.count();
            count[1] += own.len();
            count[2] += gold.iter().filter(|key| own.iter().any(|entity| meets(key, entity))).count();
            count[3] += gold.len();
            for entity in own.iter().filter(|entity| !gold.iter().any(|key| meets(key, entity))) {
                let other = named.iter().find(|(text, _)| meets(&name_key(text), entity));
                println!("wrong {kind:?} {:?}: {other:?}", entity.text);
            }
            for (text, _) in
                named.iter().filter(|(text, of)| of == kind && !own.iter().any(|entity| meets(&name_key(text), entity)))
            {
                let other = found.iter().find(|entity| meets(&name_key(text), entity));
                println!("missed {kind:?} {text:?}: {other:?}");
            }
        }
    }
    for ((kind, [right, own, met, gold]), floor) in kinds.iter().zip(counts).zip([0.94, 0.91, 0.74]) {
        let (precision, recall) = (right as f64 / own as f64, met as f64 / gold as f64);
        let f = 2.0 * precision * recall / (precision + recall);
        println!("factrueval {kind:?}: F1 {f:.3} (precision {precision:.3} of {own}, recall {recall:.3} of {gold})");
        assert!(f >= floor, "{kind:?}: {f:.3}");
    }
}

/// No Ukrainian documents are labelled, so the Russian translation is the reference.
#[test]
fn names_of_ukrainian_news_are_those_of_their_russian_translation() {
    let Some(text) = labelled::read("parallel_ru_uk/pairs.tsv.gz") else { return };
    let kinds = [EntityKind::Person, EntityKind::Loc, EntityKind::Org];
    let mut counts = [[0_usize; 4]; 3];
    let pairs = text.lines().filter_map(|line| line.strip_prefix("flores\t")?.split_once('\t'));
    for (russian, ukrainian) in pairs {
        let (expected, found) = (entities(russian, Some("ru"), &[]), entities(ukrainian, Some("uk"), &[]));
        for (kind, count) in kinds.iter().zip(&mut counts) {
            let of = |all: &[Entity]| all.iter().filter(|name| name.kind == *kind).cloned().collect::<Vec<_>>();
            let (expected, own) = (of(&expected), of(&found));
            let met = |name: &Entity, others: &[Entity]| others.iter().any(|other| meets(&name.key, other));
            count[0] += own.iter().filter(|name| met(name, &expected)).count();
            count[1] += own.len();
            count[2] += expected.iter().filter(|name| met(name, &own)).count();
            count[3] += expected.len();
        }
    }
    for ((kind, [right, own, met, all]), floor) in kinds.iter().zip(counts).zip([0.70, 0.77, 0.53]) {
        let (precision, recall) = (right as f64 / own as f64, met as f64 / all as f64);
        let f = 2.0 * precision * recall / (precision + recall);
        println!(
            "ukrainian beside russian {kind:?}: F1 {f:.3} (precision {precision:.3} of {own}, recall {recall:.3} of {all})"
        );
        assert!(f >= floor, "{kind:?}: {f:.3}");
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
