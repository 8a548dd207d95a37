use chrono::TimeDelta;

use super::*;

fn pages(storage: Storage, article: &Article) -> [PreparedPage; 2] {
    let url = Url::parse("https://a.example/1").unwrap();
    let hit = Hit {
        url: url.to_string(),
        title: "the provider's title".to_owned(),
        snippet: "the provider's words".to_owned(),
        published_at: Some(DateTime::UNIX_EPOCH),
        language: Some("uk".to_owned()),
        provider: "test",
        storage,
        content: None,
    };
    let candidate = Candidate { url: url.clone(), hit, domain: "a.example".to_owned(), about: true };
    let later = DateTime::UNIX_EPOCH + TimeDelta::days(1);
    [
        empty_page(&candidate, PageFailure::NotFound, later, later),
        from_article(article.clone(), &candidate, &url, later, later),
    ]
}

#[test]
fn row_omits_the_providers_data_when_its_storage_is_transient() {
    let silent = Article { paragraphs: vec!["A page of few words.".to_owned()], ..Article::default() };
    for page in pages(Storage::Stored, &silent) {
        assert_eq!(page.title.as_deref(), Some("the provider's title"));
        assert_eq!(page.published_at, Some(DateTime::UNIX_EPOCH));
    }
    for page in pages(Storage::Transient, &silent) {
        assert_eq!((page.title.as_deref(), page.published_at), (None, None));
        assert_ne!(page.language.as_deref(), Some("uk"));
        let row = format!("{:?}", page.row(&DomainRules::default(), DateTime::UNIX_EPOCH));
        assert!(!row.contains("the provider's"), "{row}");
    }
    let later = DateTime::UNIX_EPOCH + TimeDelta::hours(1);
    let eve = DateTime::UNIX_EPOCH - TimeDelta::seconds(1);
    for (date_is_guess, day, kept) in [(true, later, None), (false, later, Some(later)), (false, eve, Some(eve))] {
        let (published_at, published_day) = (Some(later), Some(day.date_naive()));
        let dated = Article { published_at, published_day, date_is_guess, ..silent.clone() };
        let [_, page] = pages(Storage::Transient, &dated);
        assert_eq!(page.published_at, kept, "a guessed day is none, a stated one stays as it is at its place");
    }
    let own = Article { title: Some("its own".to_owned()), ..silent };
    let [_, page] = pages(Storage::Transient, &own);
    assert_eq!(page.title.as_deref(), Some("its own"));
}

#[test]
fn page_keeps_its_last_change_when_it_is_of_a_reference_work() {
    let hour = |hours| Some(DateTime::UNIX_EPOCH + TimeDelta::hours(hours));
    for (is_reference_work, modified_at, kept) in
        [(true, hour(3), hour(3)), (false, hour(3), None), (true, hour(30), None), (true, None, None)]
    {
        let article = Article { is_reference_work, modified_at, published_at: hour(1), ..Article::default() };
        let [_, page] = pages(Storage::Transient, &article);
        assert_eq!((page.published_at, page.changed_at), (hour(1), kept), "{modified_at:?}");
    }
}

fn brought(url: &str, text: &str, credibility: Option<f64>) -> PreparedPage {
    titled("Valves", url, text, credibility)
}

fn titled(title: &str, url: &str, text: &str, credibility: Option<f64>) -> PreparedPage {
    let content =
        Content { text: text.to_owned(), origin: Origin::Corpus, publisher: Some("Handbook".to_owned()), credibility };
    let hit = Hit {
        url: url.to_owned(),
        title: title.to_owned(),
        snippet: String::new(),
        published_at: Some(DateTime::UNIX_EPOCH),
        language: None,
        provider: "corpus",
        storage: Storage::Stored,
        content: Some(content.clone()),
    };
    let url = Url::parse(url).unwrap();
    let candidate = Candidate { domain: "corpus:bbc.com".to_owned(), url, hit, about: true };
    let now = DateTime::UNIX_EPOCH + TimeDelta::days(9);
    from_content(&candidate, &content, now, now + TimeDelta::days(1))
}

#[test]
fn a_text_that_was_brought_along_is_a_page_of_the_operators() {
    let text = "The safety valve of the boiler opens at a pressure of 4 bar.\n\nIt closes again by itself as soon as the pressure is below 3 bar.";
    let page = brought("corpus://bbc.com/Valves.md#Opening", text, Some(0.9));
    let denied = DomainRules::new([], true);
    assert_eq!(page.credibility(&denied), (0.9, SourceType::Unknown), "the operator's word, and no broadcaster's");
    assert_eq!(brought("corpus://t.me/x", text, None).credibility(&denied), (UNKNOWN_CREDIBILITY, SourceType::Unknown));
    assert!(!page.is_denied(&denied), "the lists speak of the web");
    assert_eq!(page.published_at, Some(DateTime::UNIX_EPOCH));
    assert_eq!(page.passages.len(), 2, "{:?}", page.passages);
    let row = page.row(&denied, DateTime::UNIX_EPOCH);
    assert_eq!((row.url.as_str(), row.domain.as_str()), ("corpus://bbc.com/Valves.md#Opening", "corpus:bbc.com"));
    assert_eq!(
        (row.origin, row.publisher.as_deref(), row.extraction_failed),
        (Origin::Corpus, Some("Handbook"), false)
    );
    assert_eq!(row.raw_text, text);
}

#[test]
fn short_line_is_kept_when_it_is_next_to_prose() {
    let text = "The Zandor service answers the questions of the whole department.\n\nThe Zandor port is 4711.";
    let page = brought("corpus://handbook/ports.md", text, None);
    assert!(page.passages.iter().any(|passage| passage.text == "The Zandor port is 4711."), "{:?}", page.passages);
}

#[test]
fn the_name_of_a_file_is_none_of_its_words() {
    let text = "The safety valve of the boiler opens at a pressure of 4 bar.";
    let name = "a.md: Larkhaven opens a bridge for the whole town";
    let page = titled(name, "corpus://handbook/a.md", text, None);
    let words: Vec<&str> = page.passages.iter().map(|passage| passage.text.as_str()).collect();
    assert_eq!((words.as_slice(), page.title.as_deref()), ([text].as_slice(), Some(name)));
}

#[test]
fn value_is_one_passage_when_it_is_not_prose() {
    let page = brought("database://stock/7", "stock of valves: 42", None);
    assert_eq!(page.passages.iter().map(|passage| passage.text.as_str()).collect::<Vec<_>>(), ["stock of valves: 42"]);
    let long = brought("database://stock/8", &"42 ".repeat(500), None);
    assert!(long.passages.iter().all(|passage| passage.text.chars().count() <= 600));
}

#[test]
fn only_articles_of_reference_works_count_one_by_one() {
    let page = |url: &str, origin: Origin| {
        let url = Url::parse(url).unwrap();
        let hit = crate::pipeline::retrieve::samples::hit("searxng", url.as_str(), "", None);
        let domain = registered_domain(url.host_str().unwrap());
        let candidate = Candidate { url, hit, domain, about: true };
        let now = DateTime::UNIX_EPOCH;
        PreparedPage { origin, ..empty_page(&candidate, PageFailure::ReaderCrashed, now, now) }
    };
    let rules = DomainRules::default();
    let fact = page("https://www.nasa.gov/mission/apollo-11/#seed-fact", Origin::Kb);
    let read = page("https://science.nasa.gov/moon/", Origin::Web);
    assert!(!fact.counts_by_article(&rules) && !read.counts_by_article(&rules));
    assert_eq!(fact.domain, read.domain, "so they are of one group");
    assert!(page("https://en.wikipedia.org/wiki/Moon", Origin::Web).counts_by_article(&rules));
    assert!(page("https://www.britannica.com/topic/Moon#seed-fact", Origin::Kb).counts_by_article(&rules));
}
