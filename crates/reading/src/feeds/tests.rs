use proptest::prelude::*;

use super::*;

fn url() -> Url {
    Url::parse("https://news.example/rss/all.xml").unwrap()
}

fn read(text: &str) -> Result<Feed, FeedError> {
    read_feed(text.as_bytes(), Some("text/xml"), &url())
}

fn rss(item: &str) -> String {
    format!("<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title>{item}</channel></rss>")
}

fn only(text: &str) -> FeedEntry {
    let feed = read(text).unwrap();
    assert_eq!(feed.entries.len(), 1, "{text}");
    feed.entries.into_iter().next().unwrap()
}

#[test]
fn what_real_feeds_get_wrong_is_read_all_the_same() {
    let cases = [
        ("undefined entities", rss("<item><title>A&nbsp;&laquo;b&raquo;</title><link>/a</link></item>"), "A «b»"),
        ("a bare ampersand", rss("<item><title>A & B &c</title><link>/a</link></item>"), "A & B &c"),
        ("what stands before it", format!("\u{feff}\n  {}", rss("<item><title>A</title><link>/a</link></item>")), "A"),
        ("an address in the guid", rss("<item><title>A</title><link/><guid>https://news.example/a</guid></item>"), "A"),
        ("markup in a title", rss("<item><title>&lt;b&gt;A&lt;/b&gt; b</title><link>/a</link></item>"), "A b"),
        ("a script", rss("<item><title>A&lt;script&gt;x()&lt;/script&gt; b</title><link>/a</link></item>"), "A b"),
        ("CDATA", rss("<item><title><![CDATA[A & <i>b</i>]]></title><link>/a</link></item>"), "A & b"),
        ("an end that never comes", "<rss><channel><item><title>A</title><link>/a</link>".to_owned(), "A"),
        ("a tag that is not closed", rss("<item><title>A</title><br><link>/a</link></item>"), "A"),
        ("a prefix without a namespace", rss("<item><title>A</title><link>/a</link><x:y>1</x:y></item>"), "A"),
        ("the same twice", rss(&"<item><title>A</title><link>/a</link></item>".repeat(2)), "A"),
    ];
    for (what, text, title) in cases {
        let entry = only(&text);
        assert_eq!((entry.title.as_str(), entry.url.as_str()), (title, "https://news.example/a"), "{what}");
    }
}

#[test]
fn atom_and_rdf_are_read_with_their_bases() {
    let atom = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="uk" xml:base="https://other.example/x/"><title>T</title>
        <entry><title type="html">A &amp;amp; b</title><link rel="self" href="s"/><link href="a"/>
        <updated>2026-11-18T10:00:00+02:00</updated><summary>Sum</summary></entry></feed>"#;
    let entry = only(atom);
    assert_eq!((entry.title.as_str(), entry.url.as_str()), ("A & b", "https://other.example/x/a"));
    assert_eq!(entry.published_at.unwrap().to_rfc3339(), "2026-11-18T08:00:00+00:00");
    let rdf = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
        xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>T</title></channel>
        <item><title>A</title><link>https://news.example/a</link><dc:date>2026-11-18</dc:date></item></rdf:RDF>"#;
    assert_eq!(only(rdf).published_at.unwrap().to_rfc3339(), "2026-11-18T00:00:00+00:00");
}

#[test]
fn dates_are_read_as_feeds_write_them() {
    for (text, expected) in [
        ("Wed, 18 Nov 2026 07:15:00 GMT", "2026-11-18T07:15:00"),
        ("Wed, 18 Nov 2026 10:15:00 MSK", "2026-11-18T07:15:00"),
        ("Ср, 18 Nov 2026 10:15:00 +0300", "2026-11-18T07:15:00"),
        ("Tue, 18 Nov 2026 09:15:00 EET", "2026-11-18T07:15:00"),
        ("18 Nov 26 07:15:00 GMT", "2026-11-18T07:15:00"),
        ("2026-11-18T07:15:00Z", "2026-11-18T07:15:00"),
        ("2026-11-18 07:15:00", "2026-11-18T07:15:00"),
        ("Wednesday, 18 November 2026 07:15", "2026-11-18T07:15:00"),
        ("mar. 3 nov. 2026 18:55:00 +0100", "2026-11-03T17:55:00"),
        ("mar 24 nov 2026 18:55:00 +0100", "2026-11-24T17:55:00"),
        ("Сер 18 Лис 2026 08:00:00 +0200", "2026-11-18T06:00:00"),
        ("ter, 3 nov 2026 08:00:00 -0300", "2026-11-03T11:00:00"),
        ("Tue, 03/11/2026 - 17:57", "2026-11-03T17:57:00"),
        ("Mon, May 25 2026 04:45:26 +0000", "2026-05-25T04:45:26"),
        ("Wed Nov 18 10:15:00 PST 2026", "2026-11-18T18:15:00"),
        ("Wed, 18 Nov 2026 10:15:00 IST", "2026-11-18T04:45:00"),
    ] {
        let read = date(text).map(|date| date.format("%Y-%m-%dT%H:%M:%S").to_string());
        assert_eq!(read.as_deref(), Some(expected), "{text}");
    }
    for text in ["", "now", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 03/11/2026 - 17:57", "mar. 3, 18:55"] {
        assert_eq!(date(text), None, "{text}");
    }
}

#[test]
fn a_russian_feed_in_windows_1251_is_read_whatever_it_declares() {
    let text = rss("<item><title>Таможня выдала разрешение морскому порту</title><link>/a</link></item>");
    let declared = text.replace("?>", " encoding=\"windows-1251\"?>");
    for text in [declared, text.replace("?>", " encoding=\"utf-8\"?>")] {
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(&text);
        let feed = read_feed(&bytes, Some("application/rss+xml"), &url()).unwrap();
        assert_eq!(feed.entries[0].title, "Таможня выдала разрешение морскому порту");
    }
}

#[test]
fn a_page_and_an_empty_body_are_no_feed() {
    assert_eq!(read("<!doctype html><html><body>Sign in</body></html>"), Err(FeedError::WebPage));
    assert_eq!(read("  \n"), Err(FeedError::Empty));
    assert_eq!(read("nothing here"), Err(FeedError::Other));
    for (head, piece) in [("<rss><channel>", "<item>"), ("<rss><channel><item><title>", "<"), ("{\"items\":[", "{},")] {
        assert_eq!(read(&format!("{head}{}", piece.repeat(250_000))), Err(FeedError::TooCostly), "{piece}");
    }
    assert_eq!(read(r#"{"version":"1"}"#), Err(FeedError::Other));
    assert!(read(&rss("")).unwrap().entries.is_empty(), "a feed without entries is a feed");
}

#[test]
fn nothing_is_expanded() {
    let mut bomb = "<?xml version=\"1.0\"?><!DOCTYPE rss [<!ENTITY a0 \"lol\">".to_owned();
    for level in 1..12 {
        let inner = format!("&a{};", level - 1).repeat(10);
        bomb += &["<!ENTITY a", &level.to_string(), " \"", &inner, "\">"].concat();
    }
    bomb.push_str("<!ENTITY x SYSTEM \"file:///etc/passwd\">]><rss><channel><item><title>A &a11; &x;</title><link>/a</link></item></channel></rss>");
    assert_eq!(only(&bomb).title, "A &a11; &x;");
}

#[test]
fn a_feed_says_when_it_wants_to_be_read() {
    let feed = read(&rss("<ttl>60</ttl><skipHours><hour>1</hour><hour>24</hour></skipHours>")).unwrap();
    assert_eq!((feed.ttl, feed.skip_hours), (Some(Duration::from_hours(1)), vec![0, 1]));
    assert_eq!(read(&rss("<ttl>0</ttl>")).unwrap().ttl, None);
}

#[test]
fn a_page_names_its_feeds() {
    let html = r#"<link rel="alternate" type="application/rss+xml" href="/rss"><LINK TYPE='application/atom+xml' HREF='a?x=1&amp;y=2'>
        <link rel="stylesheet" href="x.css"><link type="application/rss+xml" href="/comments/feed"><link type=application/rss+xml href="javascript:1">
        <link rel="alternate" type="application/feed+json" href="/feed.json">"#;
    let found: Vec<String> = feeds_of_page(html, &url()).into_iter().map(String::from).collect();
    assert_eq!(
        found,
        ["https://news.example/rss", "https://news.example/rss/a?x=1&y=2", "https://news.example/feed.json"]
    );
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..300), tags in "[<>/&;a-z\\[\\]! =\"]{0,200}") {
        let mut feed = b"<rss><channel><item><title>".to_vec();
        feed.extend(bytes);
        feed.extend(tags.bytes());
        drop(read_feed(&feed, None, &url()));
    }
}

#[test]
fn a_json_feed_is_read_and_its_authors_are_not_copied() {
    let authors = vec![r#"{"name":"a"}"#; 2000].join(",");
    let items = vec!["{}"; 20_000].join(",");
    let text = format!(
        r#"{{"version":"https://jsonfeed.org/version/1","title":"News","authors":[{authors}],"items":[
        {{"id":"1","url":"https://news.example/a","title":"A","content_html":"<p>b</p>"}},{items}]}}"#
    );
    let kept = json_feed(&text).unwrap();
    assert!(!kept.contains("authors") && kept.matches("{}").count() < MAX_ENTRIES, "{} bytes", kept.len());
    let entry = only(&text);
    assert_eq!((entry.title.as_str(), entry.summary.as_str()), ("A", "b"));
    assert_eq!(read(r#"{"error":"<html><title>Sign in</title>"}"#), Err(FeedError::WebPage));
}

#[test]
fn tags_without_an_end_cost_no_more_than_their_length() {
    let started = std::time::Instant::now();
    for text in ["<title", "<", "<title<title/"] {
        let entries = read(&rss(&format!("<item><link>/a</link><title>A</title>{}", text.repeat(60_000))));
        assert!(entries.is_ok_and(|feed| feed.entries.len() <= 1), "{text}");
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
