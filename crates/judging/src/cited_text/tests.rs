use chrono::NaiveDate;
use proptest::prelude::*;

use super::*;

fn day(day: u32) -> Option<DateTime<Utc>> {
    NaiveDate::from_ymd_opt(2026, 5, day).and_then(midnight)
}

fn page<'a>(text: &'a str, language: &'a str) -> Source<'a> {
    Source { text, title: None, domain: "news.example", language: Some(language), day: day(10) }
}

/// Dead of a fire, in three languages, and the reaction to it.
fn pages() -> [Source<'static>; 4] {
    [
        page(
            "Police in Kyiv said 12 people died in the fire on Monday. Mayor Vitali Klitschko called it “a tragedy for the \
             whole city”. About 1.2 thousand residents were evacuated, and damage reached $3.5 million.",
            "en",
        ),
        page(
            "В Киеве при пожаре погибли двенадцать человек, сообщил Виталий Кличко. Эвакуировали 1200 жителей, цены выросли \
             на 7,2 %.",
            "ru",
        ),
        page("У Києві під час пожежі 3 травня загинули 12 людей, заявив мер Віталій Кличко.", "uk"),
        Source { title: Some("Reuters: Fire in Kyiv"), domain: "bbc.co.uk", ..page("The fire was put out.", "en") },
    ]
}

fn held(text: &str, claim: &str, language: &str) -> Result<Vec<usize>, CitedTextError> {
    hold(
        text,
        &pages(),
        &Source { text: claim, language: Some(language), day: day(10), ..Source::default() },
        Some(language),
    )
}

#[test]
fn text_holds_when_the_cited_passages_have_its_words() {
    let claim = "Forty people died in a fire in Kyiv.";
    let mut wrong = Vec::new();
    for (language, text, cited) in [
        ("en", "Police say 12 people died in the fire [1].", vec![0]),
        ("en", "Police say 12 people died. [1]", vec![0]),
        ("en", "[1] reports twelve dead.", vec![0]),
        ("en", "Twelve people died in Kyiv [2][1].", vec![1, 0]),
        ("en", "Two sources report that 12 people died [1][2].", vec![0, 1]),
        ("en", "The claim says forty, but police counted 12 [1].", vec![0]),
        ("en", "The police counted 12 dead, not 40 [1].", vec![0]),
        ("en", "Police counted 12 dead instead of 40 [1].", vec![0]),
        ("ru", "Погибли 12 человек, а не 40, сообщила полиция Киева [1].", vec![0]),
        ("en", "The claim speaks of 40 dead. Police counted 12 [1].", vec![0]),
        ("en", "About 1,200 residents were evacuated [1].", vec![0]),
        ("en", "More than 1,000 residents were evacuated [1].", vec![0]),
        ("en", "Vitali Klitschko called it \"a tragedy for the whole city\" [1].", vec![0]),
        ("en", "Vitaliy Klychko spoke of 12 dead [3].", vec![2]),
        ("en", "The fire of 3 May killed 12 people [3].", vec![2]),
        ("en", "Twelve people died in May [3].", vec![2]),
        ("en", "The BBC says that the fire was put out [4].", vec![3]),
        ("en", "According to bbc.co.uk, the fire was put out [4].", vec![3]),
        ("en", "Damage reached $3.5 million [1].", vec![0]),
        ("ru", "Полиция Киева сообщила о 12 погибших [1].", vec![0]),
        ("ru", "В Киеве погибли двенадцать человек, сообщил мэр Виталий Кличко [3].", vec![2]),
        ("ru", "Эвакуировали около 1200 жителей [1][2].", vec![0, 1]),
        ("ru", "Утверждение говорит о сорока погибших, а источники называют 12 [2][3].", vec![1, 2]),
        ("ru", "Два источника сообщают о 12 погибших в Киеве [2][3].", vec![1, 2]),
        ("ru", "Цены выросли на 7,2% [2].", vec![1]),
        ("uk", "У Києві загинули 12 людей, повідомила поліція [1].", vec![0]),
        ("uk", "Віталій Кличко заявив, що загинули дванадцять людей [2].", vec![1]),
        ("uk", "Пожежа 3 травня забрала життя 12 людей [3].", vec![2]),
        ("uk", "Твердження називає 40 загиблих, натомість поліція — 12 [1].", vec![0]),
        ("uk", "Кличко назвав це «a tragedy for the whole city», загинули 12 людей [1].", vec![0]),
    ] {
        let result = held(text, claim, language);
        if result != Ok(cited) {
            wrong.push(format!("{text} {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_is_rejected_when_the_cited_passages_lack_its_words() {
    use CitedTextError::{
        Address, Figure, Language, Markup, Name, NoSuchPassage, Quotation, SelfReference, TooLong, Uncited,
    };
    let claim = "Forty people died in a fire in Kyiv.";
    let mut wrong = Vec::new();
    let long = format!("Police say 12 people died [1]. {}", "It was so. ".repeat(60));
    for (language, text, why) in [
        ("en", "Police say 12 people died.", Uncited),
        ("en", "", Uncited),
        ("en", "Police say 12 people died [9].", NoSuchPassage),
        ("en", "Police say 12 people died [0].", NoSuchPassage),
        ("en", "Police say 13 people died [1].", Figure),
        ("en", "Police say 40 people died [1].", Figure),
        ("en", "Police say thirteen people died [1].", Figure),
        ("en", "Police say not fewer than 40 people died [1].", Figure),
        ("ru", "Полиция сообщила, что погибли не менее 40 человек [1].", Figure),
        ("en", "The fire was put out, and 12 people died [4].", Figure),
        ("en", "Police say 12 people died [1]. Another 300 were hurt.", Figure),
        ("en", "The fire of 4 May killed 12 people [3].", Figure),
        ("en", "The fire killed 12 people in 2019 [1].", Figure),
        ("en", "It began at 12:30, and 12 people died [1].", Figure),
        ("en", "Damage reached $4.9 million [1].", Figure),
        ("en", "Police in Odesa say 12 people died [1].", Name),
        ("en", "Mayor Boris Johnson said 12 people died [1].", Name),
        ("en", "Klitschko called it “the fault of the owner” [1].", Quotation),
        ("en", "Klitschko spoke of “a tragedy [1].", Quotation),
        ("en", "Police say 12 people died [1], see https://x.example.", Address),
        ("en", "Police say 12 people died [1], write to a@b.example.", Address),
        ("en", "Police say 12 people died, says evil.com [1].", Address),
        ("en", "Полиция сообщила, что погибли 12 человек [1].", Language),
        ("en", "**Police** say 12 people died [1].", Markup),
        ("en", "Police say 12 people died [1] [see above].", Markup),
        ("en", "Police say 12 people died [1].\nThey do.", Markup),
        ("en", "As a language model I hold that 12 people died [1].", SelfReference),
        ("en", long.as_str(), TooLong),
        ("ru", "Полиция сообщила о 15 погибших [1].", Figure),
        ("ru", "В Киеве погибли пятнадцать человек [2].", Figure),
        ("ru", "Погибли 12 человек, сообщил Владимир Путин [2].", Name),
        ("ru", "У Києві загинули 12 людей, повідомила поліція міста [1].", Language),
        ("ru", "Кличко назвал это «виной хозяина дома» [1].", Quotation),
        ("uk", "В Киеве погибли двенадцать человек, сообщили власти города [2].", Language),
        ("uk", "У Харкові загинули 12 людей [3].", Name),
        ("uk", "У місті загинули 14 людей, заявив мер Віталій Кличко [3].", Figure),
        ("uk", "Пожежа сталася 5 травня, загинули 12 людей [3].", Figure),
    ] {
        let result = held(text, claim, language);
        if result != Err(why) {
            wrong.push(format!("{text} {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn marks_belong_to_their_sentences() {
    let cites = |text: &str| split(text).into_iter().map(|one| (one.text, one.cites)).collect::<Vec<_>>();
    assert_eq!(
        cites("It rained. [1] It snowed. [2]"),
        [("It rained.".into(), vec![0]), ("It snowed.".into(), vec![1])]
    );
    assert_eq!(
        cites("[1] It rained. [2] It snowed."),
        [("It rained.".into(), vec![0]), ("It snowed.".into(), vec![1])]
    );
    assert_eq!(cites("It rained [1]. [2] says so."), [("It rained.".into(), vec![0]), ("says so.".into(), vec![1])]);
}

#[test]
fn numbers_follow_their_passages_and_others_go() {
    assert_eq!(renumbered("So [4], so [2][7].", &[1, 3]), "So [2], so [1].");
    assert_eq!(renumbered("So [1] and [2].", &[1, 0]), "So [2] and [1].");
    assert_eq!(renumbered("So [7][2].", &[1]), "So [1].");
}

const SENTENCES: [(&str, &str, &str); 4] = [
    ("en", "Police said ", " people were hurt in the town."),
    ("en", "The company hired ", " workers last spring."),
    ("ru", "Полиция сообщила о ", " пострадавших в городе."),
    ("uk", "Поліція повідомила про ", " постраждалих у місті."),
];

proptest! {
    #[test]
    fn sentences_of_a_passage_with_its_number_always_hold(
        which in 0..SENTENCES.len(), others in prop::collection::vec((0..SENTENCES.len(), 1_u32..90_000), 0..3),
        figure in 1_u32..90_000, behind: bool,
    ) {
        let (language, head, tail) = SENTENCES[which];
        let mine = format!("{head}{figure}{tail}");
        let passage = others
            .iter()
            .filter(|(other, _)| SENTENCES[*other].0 == language)
            .fold(mine.clone(), |all, (other, n)| {
                format!("{}{n}{} {all}", SENTENCES[*other].1, SENTENCES[*other].2)
            });
        let text = if behind { format!("{mine} [1]") } else { mine.replace('.', " [1].") };
        let claim = Source { text: "Nobody was hurt.", ..Source::default() };
        prop_assert_eq!(hold(&text, &[page(&passage, language)], &claim, Some(language)), Ok(vec![0]));
    }

    #[test]
    fn a_changed_figure_never_holds(
        which in 0..SENTENCES.len(), figure in 1_u32..40_000, times in 2_u32..9, more in 1_u32..50,
    ) {
        let (language, head, tail) = SENTENCES[which];
        let passage = format!("{head}{figure}{tail}");
        let claim = Source { text: "Nobody was hurt.", ..Source::default() };
        let changed = format!("{head}{}{} [1]", figure * times + more, tail.replace(" last spring", ""));
        prop_assert!(hold(&changed, &[page(&passage, language)], &claim, Some(language)).is_err(), "{changed} {passage}");
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,80}", n in 0_usize..4) {
        let _answered = hold(&format!("{text} [{n}]"), &pages(), &Source::default(), Some("en"));
    }
}
