//! Words that tell what kind of name stands beside them.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::EntityKind;

type Words = LazyLock<HashSet<&'static str>>;

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

static FIRST_NAMES: Words = LazyLock::new(|| {
    set(
        "james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark donald steven paul andrew \
        joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott \
        brandon benjamin samuel gregory frank alexander raymond patrick jack dennis jerry tyler aaron jose adam nathan henry peter kyle walter \
        harold jeremy ethan carl keith roger arthur sean barack joe bill hillary bernie boris emmanuel angela vladimir volodymyr elon mary \
        patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty margaret sandra ashley kimberly emily donna \
        michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy shirley anna helen kamala nikki jeff narendra \
        viktor mohammed muhammad ahmed ali hassan recep benjamin leonardo albert isaac winston theresa rishi keir ursula olaf \
        владимир владимира владимиру владимиром дмитрий дмитрия сергей сергея сергею андрей андрея алексей алексея александр александра иван ивана михаил \
        михаила николай николая виктор виктора юрий юрия павел павла игорь игоря олег олега антон антона максим максима евгений евгения петр \
        петра борис бориса анатолий анатолия константин константина василий василия валерий валерия роман романа денис дениса артем кирилл \
        никита илья егор мария анна елена ольга татьяна наталья ирина светлана юлия екатерина людмила галина дональд дональда джо джон джона \
        джордж барак эммануэль ангела ангелы тереза терезы борисом илон илона реджеп жан макс пол майкл дэвид роберт \
        володимир володимира дмитро сергій сергія андрій андрія олексій олексія олександр іван івана михайло микола миколи віктор юрій павло петро \
        ігор олег євген євгена василь тарас богдан ярослав марія олена наталія ірина оксана юлія дональд джо ілон",
    )
});

static TITLES: Words = LazyLock::new(|| {
    set(
        "mr mrs ms dr prof professor president senator governor minister sir lord lady king queen prince princess pope chancellor general colonel captain \
        judge justice secretary congressman congresswoman mayor ambassador premier chairman ceo actor actress singer director author writer \
        президент президента президенту президентом президенте премьер премьера министр министра министру министром глава главы главу главой \
        сенатор депутат депутата губернатор мэр генерал профессор доктор господин госпожа канцлер король королева принц папа директор лидер \
        лидера режиссер актер актриса певец певица писатель журналист пресс-секретарь секретарь посол адвокат \
        прем'єр міністр міністра голова голови очільник очільника керівник депутат сенатор канцлер пан пані речник лідер",
    )
});

static BEFORE_ORGANISATION: Words = LazyLock::new(|| {
    set(
        "компания компании компанию компанией корпорация корпорации банк банка партия партии газета газеты агентство агентства агентству издание издания \
        издании издательство телеканал телеканала канал концерн холдинг фонд клуб клуба авиакомпания авиакомпании университет завод группа \
        ооо пао зао оао ао компанія компанії компанію корпорація банк партія агентство агентства агенція видання телеканал холдинг фонд клуб \
        авіакомпанія завод тов company",
    )
});

static BEFORE_PLACE: Words = LazyLock::new(|| {
    set(
        "город города городе городу село села селе поселок поселке деревня деревне остров острова острове река реки озеро гора улица улице площадь \
        район области область республика штат штате провинция г ул місто міста місті селище вулиця вулиці річка острів область провінція штат м \
        city town village river lake mount island",
    )
});

static ORGANISATION_WORDS: Words = LazyLock::new(|| {
    set(
        "inc ltd llc corp corporation company co plc gmbh ag university college institute academy school bank ministry party agency association committee \
        council commission court police federation foundation union organization organisation club group department office bureau service center \
        centre hospital museum church army navy force forces times post news tribune airlines airways parliament senate assembly fund league \
        alliance authority board society network studios records press studio команда министерство министерства минобороны минздрав минфин мид \
        университет университета институт института академия банк партия агентство комитет комиссия совет суд суда полиция федерация фонд союз \
        организация клуб департамент служба служб центр больница музей армия парламент ассамблея лига прокуратура генпрокуратура следком росстат \
        міністерство міністерства міноборони моз мзс мвс університет університету інститут академія партія агентство комітет комісія рада суд \
        поліція фонд союз організація служба центр лікарня музей парламент прокуратура укрзалізниця",
    )
});

static PLACE_WORDS: Words = LazyLock::new(|| {
    set(
        "street avenue road river mount mountain mountains lake sea ocean island islands bay valley desert beach city county province state region park \
        square bridge airport peninsula улица площадь река озеро море океан остров острова гора горы область области край район республика аэропорт \
        вулиця площа річка озеро море острів гора область області район аеропорт",
    )
});

static OTHER_WORDS: Words = LazyLock::new(|| {
    set(
        "prize award awards cup act war wars day games championship theory treaty agreement festival revolution battle series season carol protocol \
        constitution medal trophy bowl open affair scandal circle wonders hurricane storm премия премии кубок кубка война войны договор договора \
        фестиваль фестиваля чемпионат чемпионата олимпиада соглашение конституция революция битва премія премії війна війни договір угода революція \
        чемпіонат конституція битва",
    )
});

static EVERYDAY: Words = LazyLock::new(|| {
    // Words of the gazetteer that open sentences as what they also are.
    set(
        "turkey chad jordan apple meta amazon fed congress senate is ap того суми суммы рада ради газ газу газом мали мир луна земля земли земле землю вена вены \
        буча мета сбер тесла модерна вагнер rada earth moon mars nice orange",
    )
});

static SHOUTED: Words = LazyLock::new(|| {
    set(
        "breaking urgent update live video photo watch exclusive alert news срочно внимание молния обновлено видео фото терміново увага оновлено відео new ok ps",
    )
});

static OPENERS: Words = LazyLock::new(|| {
    set(
        "yesterday today tomorrow former ex earlier later recently currently meanwhile according two three four five many several some new old local         sources police officials scientists researchers doctors experts photo video shares actor actress singer director author both         вчера сегодня завтра бывший ранее позже также источники полиция ученые врачи эксперты новый новая вчора сьогодні колишній раніше пізніше         джерела поліція вчені лікарі експерти новий нова російські українські",
    )
});

/// Whether the word often opens a sentence right before a name and is no part of it.
pub(super) fn is_opener(word: &str) -> bool {
    OPENERS.contains(word)
}

/// Whether the word goes before a person's name.
pub(super) fn is_title(word: &str) -> bool {
    TITLES.contains(word)
}

/// Whether the word is a common given name.
pub(super) fn is_first_name(word: &str) -> bool {
    FIRST_NAMES.contains(word) || super::cyrillic::is_given_name(word)
}

/// The given names themselves.
pub(super) fn first_names() -> impl Iterator<Item = &'static str> {
    FIRST_NAMES.iter().copied()
}

pub(super) fn precedes_organisation(word: &str) -> bool {
    BEFORE_ORGANISATION.contains(word)
}

pub(super) fn precedes_place(word: &str) -> bool {
    BEFORE_PLACE.contains(word)
}

/// Words that are names of the gazetteer and everyday words both; alone they need a capital inside a sentence's middle to
/// count, and there the caller asks for more.
pub(super) fn is_everyday(word: &str) -> bool {
    EVERYDAY.contains(word)
        && !matches!(
            word,
            "turkey"
                | "chad"
                | "jordan"
                | "apple"
                | "meta"
                | "amazon"
                | "congress"
                | "senate"
                | "earth"
                | "moon"
                | "mars"
                | "rada"
                | "земля"
                | "земли"
                | "земле"
                | "землю"
                | "луна"
                | "мали"
                | "рада"
                | "вена"
                | "буча"
                | "тесла"
        )
}

/// Acronyms whose small letters spell a word.
pub(super) fn needs_capitals(word: &str) -> bool {
    matches!(
        word,
        "us" | "who" | "is" | "un" | "ap" | "fed" | "it" | "eu" | "цар" | "иг" | "сот" | "мок" | "мус" | "цб" | "вк"
    )
}

/// Capitals that shout: "BREAKING", "СРОЧНО".
pub(super) fn is_shouted(word: &str) -> bool {
    SHOUTED.contains(word)
}

/// The kind a capitalised institution word gives to the name it ends.
pub(super) fn institution(word: &str) -> Option<EntityKind> {
    if ORGANISATION_WORDS.contains(word) {
        Some(EntityKind::Org)
    } else if PLACE_WORDS.contains(word) {
        Some(EntityKind::Loc)
    } else if OTHER_WORDS.contains(word) {
        Some(EntityKind::Misc)
    } else {
        None
    }
}

/// The kind the words of a run tell: its last marker in English ("Bank of America"), its first in Cyrillic.
pub(super) fn run_kind(words: &[&str]) -> Option<EntityKind> {
    if words.len() < 2 {
        return words.first().and_then(|word| match *word {
            word if super::super::has_cyrillic(word)
                && word.starts_with("мин")
                && ORGANISATION_WORDS.contains(word) =>
            {
                Some(EntityKind::Org)
            }
            "мид" | "мзс" | "моз" | "мвд" | "мвс" | "росстат" | "генпрокуратура" | "следком" => {
                Some(EntityKind::Org)
            }
            _ => None,
        });
    }
    words.iter().rev().find_map(|word| institution(word))
}

/// Whether the word ends like an East Slavic (or Caucasian) surname.
pub(super) fn is_surname(word: &str) -> bool {
    const CYRILLIC: &[&str] = &[
        "енко",
        "ський",
        "ського",
        "ському",
        "цький",
        "цького",
        "швили",
        "швілі",
        "дзе",
        "чук",
        "чука",
        "ович",
        "евич",
        "овский",
        "овского",
        "овским",
        "евский",
        "инский",
        "енский",
        "енского",
        "енским",
        "енскому",
        "янц",
        "нян",
    ];
    const LATIN: &[&str] = &["enko", "sky", "skyi", "skiy", "skyy", "shvili", "vich", "dze"];
    let letters = word.chars().count();
    let endings = if super::super::has_cyrillic(word) { CYRILLIC } else { LATIN };
    letters >= 6 && endings.iter().any(|ending| word.ends_with(ending))
}
