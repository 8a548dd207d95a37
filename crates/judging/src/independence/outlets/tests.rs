use super::*;

fn stated(text: &str) -> Option<String> {
    keys("site.example", text).into_iter().next()
}

#[test]
fn every_pattern_compiles() {
    assert!(OUTLET_NAMES.is_some() && UNLISTED_PAPERS.is_some() && QUOTED_NAMES.is_some() && SITES.is_some());
    assert!(FRAMES.iter().all(|frame| frame.matches("{name}").count() == 1));
    for site in OUTLETS.iter() {
        let stating = stating(site);
        assert!(stating.is_ok(), "{site}: {:?}", stating.err());
    }
    let known = |site: &str| OUTLETS.contains(&site);
    assert!(ALIAS_DOMAINS.iter().all(|(_, site)| known(site)) && known("nytimes.com"));
}

#[test]
fn origin_is_read_when_a_story_states_it() {
    for (text, key) in [
        ("Russia plans a new offensive, the New York Times reported on Monday.", Some("owner:new-york-times")),
        ("The bank will cut 400 jobs, according to The Financial Times.", Some("outlet:ft.com")),
        ("The bank will cut 400 jobs, the FT has learned.", Some("outlet:ft.com")),
        ("\"We will not sell\", the owner told the BBC.", Some("owner:bbc")),
        ("Citing the newspaper Le Monde, the minister resigned.", Some("outlet:lemonde.fr")),
        ("Об этом пишет The Washington Post.", Some("outlet:washingtonpost.com")),
        ("Как сообщает газета «Коммерсантъ», банк закрыт.", Some("outlet:kommersant.ru")),
        ("Суд отложен, пишет РБК со ссылкой на источники.", Some("outlet:rbc.ru")),
        ("Про це пише РБК-Україна.", Some("outlet:rbc.ua")),
        ("Про це повідомляє Українська правда.", Some("owner:ukrainska-pravda")),
        ("There were six of us, a fan told the \"Kommersant\" publication.", Some("outlet:kommersant.ru")),
        ("Згідно з London Gazette, міст знесли.", Some("publisher:london gazette")),
        ("Laut Spiegel tritt der Minister zurück.", Some("outlet:spiegel.de")),
        ("Wie die Süddeutsche Zeitung berichtet, fällt das Gesetz.", Some("outlet:sueddeutsche.de")),
        ("D’après Le Monde, le ministre est parti.", Some("outlet:lemonde.fr")),
        ("WASHINGTON (CNN) — The Senate voted.", Some("outlet:cnn.com")),
        ("The judge resigned, according to a New York Times investigation.", Some("owner:new-york-times")),
        ("The minister told CNN Monday that he would go.", Some("outlet:cnn.com")),
        ("Об этом рассказал РБК пресс-секретарь.", Some("outlet:rbc.ru")),
        ("Сообщает газета \"Ведомости\".", Some("outlet:vedomosti.ru")),
        ("Про це пише \"Українська правда\".", Some("owner:ukrainska-pravda")),
        ("Мост закрыт, пишет газета \"Заря Урала\".", Some("publisher:заря урала")),
        ("The Kyiv Independent reported it.", Some("outlet:kyivindependent.com")),
        ("The New York Times reported on Monday that it broke.", Some("owner:new-york-times")),
        ("Сообщает газета «The Guardian».", Some("outlet:theguardian.com")),
        ("As Axios first reported, he left.", Some("outlet:axios.com")),
        ("On Monday CNN reported it.", Some("outlet:cnn.com")),
        ("Издание Meduza сообщает об обыске.", Some("outlet:meduza.io")),
        ("Ранее РБК сообщил об обыске.", Some("outlet:rbc.ru")),
        ("She told the BBC of her ordeal.", Some("owner:bbc")),
        ("He told BBC Radio 4 that he would go.", Some("owner:bbc")),
        ("Об этом рассказал РБК Дмитрий Песков.", Some("outlet:rbc.ru")),
        ("It rained, according to abc.net.au.", Some("outlet:abc.net.au")),
        ("Según The Washington Post, cayó.", Some("outlet:washingtonpost.com")),
        ("The Independent reported it.", Some("outlet:independent.co.uk")),
        ("But The Calgary Herald reported it.", Some("publisher:calgary herald")),
        ("It rained, according to bbc.co.uk.", Some("owner:bbc")),
        ("Источник: https://lenta.ru/news/1", Some("owner:rambler")),
        ("Суд отложен, пишет tass.ru.", Some("wire:tass")),
        ("Segundo a Folha de S.Paulo, o ministro caiu.", Some("owner:folha")),
        ("The bridge was closed, the Calgary Herald reported.", Some("publisher:calgary herald")),
        ("Мост закрыт, сообщает газета «Заря Урала».", Some("publisher:заря урала")),
        ("Міст закрито, пише видання «Громада».", Some("publisher:громада")),
        ("Суд отложен, сообщает NEWSru.com.", Some("outlet:newsru.com")),
        ("The dam broke, according to www.example.org.", Some("outlet:example.org")),
    ] {
        assert_eq!(stated(text).as_deref(), key, "{text}");
    }
}

#[test]
fn outlet_is_no_origin_when_it_is_only_mentioned() {
    for text in [
        "The Guardian is cutting jobs.",
        "The New York Times building was evacuated.",
        "A study published in the New England Journal of Medicine found it.",
        "Журналист газеты «Заря Урала» задержан.",
        "Photo: CNN",
        "The Times reported it.",
        "Secondo il politico italiano, piove.",
        "Mr. Spiegel wrote to the staff.",
        "ASML Holding NV reported orders.",
        "Об этом сообщает УП «Мингаз».",
        "Independent reports suggest that it broke.",
        "According to the Independent Electoral and Boundaries Commission, he won.",
        "The Guardian Council told the Economist Intelligence Unit.",
        "Evan Spiegel wrote to the staff.",
        "According to CNN affiliate KTLA, it burnt.",
        "Belfast Telegraph reported it.",
        "The Cook County Medical Examiner reported 40 deaths.",
        "Canada Post reported a loss.",
        "A study published in the British Medical Journal found it.",
        "Amazon.com reported a profit.",
        "Источник: youtube.com",
        "Read more at example.org",
        "An independent report said so. The economist wrote a book.",
        "He told the guardian of the estate.",
        "",
    ] {
        assert_eq!(stated(text), None, "{text}");
    }
}

#[test]
fn a_papers_own_page_and_those_that_retell_it_share_a_key() {
    assert_eq!(keys("nytimes.com", "We found the documents."), ["owner:new-york-times"]);
    assert_eq!(keys("ft.com", "According to the FT, shares fell."), ["outlet:ft.com"]);
    assert_eq!(keys("bbc.co.uk", "Axios reported it."), ["owner:bbc"]);
    // The first stated origin; others are quoted.
    assert_eq!(
        keys("site.example", "According to the New York Times. An official told CNN the same."),
        ["owner:new-york-times"]
    );
}

#[test]
fn outlet_is_no_origin_when_a_long_story_quotes_it_in_its_middle() {
    let padding = "Our reporter asked the minister about it once more. ".repeat(40);
    assert_eq!(stated(&format!("{padding} CNN reported it in May. {padding}")), None);
    assert_eq!(stated(&format!("{padding} Source: CNN")).as_deref(), Some("outlet:cnn.com"));
}

/// Checked by hand: all ten of `FactRuEval`'s 122 documents are right, one is missed.
#[test]
fn what_real_documents_state() {
    let Some(folder) = corroborate_labelled::at("factrueval2016/devset") else { return };
    let files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    let mut found: Vec<String> = files
        .iter()
        .flat_map(|file| keys("site.example", &std::fs::read_to_string(file).unwrap()))
        .filter(|key| !key.starts_with("domain:"))
        .collect();
    found.sort();
    println!("outlets stated in {} documents: {found:?}", files.len());
    let right = ["outlet:baltinfo.ru", "owner:rambler", "outlet:newsru.com", "outlet:vedomosti.ru"];
    assert!(!found.is_empty() && found.iter().all(|key| right.contains(&key.as_str())), "{found:?}");
    if files.len() == 122 {
        assert_eq!(found.len(), 10, "{found:?}");
    }
}
