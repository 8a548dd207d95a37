use dom_query::Document;
use serde_json::json;

use crate::{json_ld, metadata, page};
use url::Url;

fn title(html: &str) -> String {
    title_at("https://news.paper.example/2024/rain", html)
}

fn title_at(url: &str, html: &str) -> String {
    let page = page::read(&Document::from(html));
    let markup = json_ld::read(&page.json_ld);
    let url = Url::parse(url).unwrap();
    metadata::read(&page, &markup.nodes(), &url).title.unwrap_or_default()
}

/// JSON-LD's headline, the shared title, the title tag and the page's body.
fn worded(headline: &str, shared: &str, tag: &str, body: &str) -> String {
    title(&format!(
        r#"<title>{tag}</title><meta property="og:title" content="{shared}"><script type="application/ld+json">
        {{"@type":"NewsArticle","headline":"{headline}"}}</script><body>{body}"#
    ))
}

#[test]
fn titles_lose_the_site_and_keep_their_length() {
    assert_eq!(
        title(r#"<meta property="og:site_name" content="The Paper"><title>Rain falls in Spain - The Paper</title>"#),
        "Rain falls in Spain"
    );
    assert_eq!(
        title("<title>Rain falls in Spain - and stays - for long</title>"),
        "Rain falls in Spain - and stays - for long"
    );
    assert_eq!(
        title(r#"<meta property="og:site_name" content="The Paper"><title>The Paper » Rain falls in Spain</title>"#),
        "Rain falls in Spain"
    );
    let banner = r#"<h1><a href="/">Weather - all of it</a></h1>"#;
    for tag in ["Rain falls in Spain - Weather - all of it", "Rain falls in Spain | Weather - all of it"] {
        assert_eq!(title(&format!("<title>{tag}</title><body>{banner}")), "Rain falls in Spain");
    }
    assert_eq!(
        title("<title>A Paper: Rain falls in Spain</title><body><h1>Rain falls in Spain</h1>"),
        "Rain falls in Spain"
    );
}

#[test]
fn headings_are_right_against_headlines_for_search_engines() {
    let (own, search) = ("Where the rain went", "Rain in Spain: all you must know");
    let heading = format!("<h1>{own}</h1>");
    for (headline, shared, tag, expected) in [
        (search, own, search, own),
        (search, "Third words for it", search, own),
        // Heading and shared title agree, and the title tag agrees with neither.
        (search, own, "A third title altogether", own),
        // The publisher's own wording.
        (search, own, own, search),
        (own, search, search, own),
        ("Where the rain…", search, search, own),
        ("Where the rain", search, search, "Where the rain"),
        ("", search, own, search),
    ] {
        assert_eq!(worded(headline, shared, tag, &heading), expected, "{headline} {shared} {tag}");
    }
}

#[test]
fn headings_of_the_site_are_no_titles() {
    let (own, tag) = ("Where the rain went", "Where the rain went | Where the nation reads");
    for banner in [
        "<nav><h1>Where the nation reads</h1></nav>",
        "<div role=banner><h1>Where the nation reads</h1></div>",
        r#"<h1><a href="/">Where the nation reads</a></h1>"#,
        r#"<a href="https://news.paper.example/index.html"><h1>Where the nation reads</h1></a>"#,
        r#"<h1><a href="https://archive.example/web/2014/http://paper.example/">Where the nation reads</a></h1>"#,
        r#"<meta property="og:site_name" content="Where the nation reads"><h1>Where the nation reads</h1>"#,
    ] {
        assert_eq!(title(&format!("<title>{tag}</title><body>{banner}<h1>{own}</h1>")), own, "{banner}");
    }
    let linked = r#"<h1><a href="/2024/rain">Where the rain went</a></h1>"#;
    assert_eq!(title(&format!("<title>{tag}</title><body>{linked}")), own, "a link to the article itself");
    let anchor = r##"<h1><a href="#top">Where the rain went</a></h1>"##;
    assert_eq!(title(&format!("<title>{tag}</title><body>{anchor}")), own);
}

#[test]
fn home_link_is_the_site_name_only_when_it_is_whole() {
    for (banner, tag, expected) in [
        ("Home", "Rain falls in Spain - at home and abroad", "Rain falls in Spain - at home and abroad"),
        ("Home", "Rain falls in Spain - Home", "Rain falls in Spain"),
        ("Home", "Home - Rain falls in Spain", "Rain falls in Spain"),
        ("Главная", "Почему растут цены - главная новость недели", "Почему растут цены - главная новость недели"),
        // A short word is not a name, in any alphabet.
        ("Мы", "Почему растут цены - мы", "Почему растут цены - мы"),
    ] {
        let banner = format!(r#"<h1><a href="/">{banner}</a></h1>"#);
        assert_eq!(title(&format!("<title>{tag}</title><body>{banner}")), expected, "{tag}");
    }
    for (site, tag, expected) in [
        ("The Daily Paper", "Rain falls in Spain - Daily Paper", "Rain falls in Spain"),
        ("Дом", "Почему растут цены - домой", "Почему растут цены - домой"),
        ("Дом", "Почему растут цены - Дом", "Почему растут цены"),
    ] {
        let site = format!(r#"<meta property="og:site_name" content="{site}">"#);
        assert_eq!(title(&format!("{site}<title>{tag}</title>")), expected, "{tag}");
    }
}

#[test]
fn the_domain_s_label_is_a_title_s_end_and_not_its_front() {
    let stated = r#"<meta property="og:site_name" content="Bitcoin">"#;
    for (host, site, tag, expected) in [
        ("bitcoin.example", "", "Bitcoin - Frequently asked questions", "Bitcoin - Frequently asked questions"),
        ("rain.example", "", "Rain - what we know of it so far", "Rain - what we know of it so far"),
        ("rain.example", "", "What we know so far - and all about rain", "What we know so far - and all about rain"),
        ("rain.example", "", "What we know so far - Rain News", "What we know so far"),
        ("www.bitcoin.example", "", "Frequently asked questions - Bitcoin", "Frequently asked questions"),
        ("bitcoin.example", stated, "Bitcoin - Frequently asked questions", "Frequently asked questions"),
        ("bitcoin.example", r#"<h1><a href="/">Bitcoin</a></h1>"#, "Bitcoin - All questions", "All questions"),
    ] {
        let page = format!("<title>{tag}</title><body>{site}");
        assert_eq!(title_at(&format!("https://{host}/2024/faq"), &page), expected, "{host} {tag}");
    }
}

#[test]
fn a_heading_that_leads_to_another_site_s_home_page_is_the_article_s() {
    let tag = "Acme Launches New Site | The Daily Paper";
    for (link, expected) in [
        ("https://acme.example/", "Acme Launches New Site"),
        ("//acme.example", "Acme Launches New Site"),
        ("https://archive.example/web/2014/http://acme.example/", "Acme Launches New Site"),
        // The page's own site, by another host name and in an archive.
        ("https://www.paper.example/", "The Daily Paper"),
        ("https://archive.example/web/2014/http://paper.example:80/", "The Daily Paper"),
    ] {
        let page = format!(r#"<title>{tag}</title><body><h1><a href="{link}">Acme Launches New Site</a></h1>"#);
        assert_eq!(title(&page), expected, "{link}");
    }
    let home = |page: &str, link: &str| super::leads_home(link, &Url::parse(page).unwrap());
    let archived = "https://archive.example/web/2014/http://paper.example/2024/rain";
    assert!(home(archived, "/web/2014/http://www.paper.example/") && home(archived, "http://paper.example/"));
    assert!(!home(archived, "/") && !home(archived, "/web/2014/http://acme.example/"));
}

#[test]
fn the_only_heading_is_right_against_a_title_tag_and_its_repeats() {
    let (own, heading) = ("Where the rain went", "<h1>Where the rain went</h1>");
    let stated_again = format!(r#"<meta name="twitter:title" content="Rain in Spain">{heading}"#);
    for (shared, tag, body, expected) in [
        ("", "Rain", heading, own),
        ("", "Rain in Spain: all you must know | Paper", heading, own),
        ("", "Rain in Spain", "<h1>Where the rain went</h1><h1>What we know of rain</h1>", "Rain in Spain"),
        ("Rain in Spain", "Rain in Spain | Paper", heading, own),
        // Words that differ from the title tag, or a title of something else.
        ("Rain in Spain", "Spain", heading, "Rain in Spain"),
        ("Storm over Spain", "Storm over Spain", heading, "Storm over Spain"),
        ("Rain in Spain", "Rain in Spain", "<h1>Weather: Rain in Spain</h1>", "Rain in Spain"),
        ("Rain in Spain", "Rain in Spain", &stated_again, "Rain in Spain"),
    ] {
        assert_eq!(worded("", shared, tag, body), expected, "{shared} {tag} {body}");
    }
}

#[test]
fn a_heading_marked_as_the_entry_s_title_is_it() {
    let entry = |rank: u8, text: &str| format!(r#"<h{rank} class="post entry-title">{text}</h{rank}>"#);
    let (own, shared) = ("Where the rain went", "Rain in Spain");
    for (body, expected) in [
        (entry(1, own), own),
        (entry(2, own), own),
        (entry(1, own) + &entry(2, "The next article"), own),
        (entry(1, "Emden"), "Emden"),
        (entry(1, own) + &entry(1, "The next article"), shared),
        ("<h1>All our articles</h1>".to_owned() + &entry(2, own), shared),
        (entry(1, "Weather: Rain in Spain"), shared),
        (entry(1, ""), shared),
        ("<aside>".to_owned() + &entry(1, own), shared),
    ] {
        assert_eq!(worded("", shared, "Spain", &body), expected, "{body}");
    }
    assert_eq!(worded(shared, shared, "Spain", &entry(1, own)), shared, "the publisher's own word");
    assert_eq!(worded(shared, shared, shared, &entry(1, own)), own, "a headline that repeats the title tag");
    let headline = |rank: u8| format!("<h{rank} itemprop=headline>{own}</h{rank}>");
    assert_eq!(worded(shared, shared, shared, &headline(1)), own);
    assert_eq!(worded(shared, shared, shared, &(headline(1) + &entry(1, "The next article"))), shared);
    assert_eq!(worded(shared, shared, "Spain", &headline(1)), shared);
    assert_eq!(worded("", shared, "Spain", &headline(1)), shared);
    assert_eq!(worded("", "", "Spain", &headline(2)), own, "nothing is shared");
}

#[test]
fn an_entry_s_mark_in_a_widget_is_not_the_article_s() {
    let own = "Rain falls in Spain";
    let widget = "<div class=popular><h3 class=entry-title>Ten ways to bake a cake</h3></div>";
    let headed = format!("<h2>{own}</h2>{widget}");
    for (headline, shared, tag, body) in [
        (own, own, own, headed.as_str()),
        ("", own, own, &headed),
        ("", "", own, &headed),
        ("", "", "Rain falls in Spain - The Paper", &headed),
        // The article's heading may be an image.
        (own, own, own, widget),
        ("", own, own, widget),
        // A widget's heading of the first rank, and one that shares a word.
        ("", own, own, "<h2>Rain falls in Spain</h2><h1 class=entry-title>Ten ways to bake a cake</h1>"),
        ("", own, own, "<h2>Rain falls in Spain</h2><h3 class=entry-title>Ten cakes of Spain</h3>"),
        (own, own, own, "<h1>Rain falls in Spain</h1><h1 itemprop=headline>Ten ways to bake a cake</h1>"),
    ] {
        assert_eq!(worded(headline, shared, tag, body), own, "{headline} {shared} {tag} {body}");
    }
}

#[test]
fn of_several_headings_the_one_that_a_title_repeats_is_right() {
    let several = "<h1>Navigation</h1><h1>Newsletters</h1><h1>Where the rain went</h1><h1>The next article</h1>";
    for (shared, tag) in [
        ("", "Newsletters - Where the rain went - Paper"),
        ("Where the rain went – in Spain", "Rain | Newsletters"),
        ("", "Paper: Where the rain went"),
    ] {
        assert_eq!(worded("", shared, tag, several), "Where the rain went", "{shared} {tag}");
    }
    assert_eq!(worded("Where the…", "Spain", "Spain", several), "Where the…", "the first long one is no better");
    assert_eq!(worded("Where the…", "Where the rain went", "", several), "Where the rain went");
}

#[test]
fn the_name_of_the_site_is_no_title_of_an_article() {
    let page = |site: &str, shared: &str, tag: &str, body: &str| {
        let site = format!(r#"<meta property="og:site_name" content="{site}">"#);
        worded("", shared, tag, &format!("{site}{body}"))
    };
    let (own, heading) = ("Where the rain went", "<h1>Where the rain went</h1>");
    assert_eq!(page("Rain and Wind", "Rain and Wind", own, ""), own);
    assert_eq!(page("Rain and Wind", "Rain and Wind", "Rain and Wind", heading), own);
    assert_eq!(page("Rain and Wind", "", "Rain and Wind", heading), own);
    assert_eq!(page("Rain and Wind", "Rain and Wind", "", ""), "Rain and Wind", "nothing else is said");
    assert_eq!(page("Rain and Wind", "Rain and Wind", "Rain and Wind", ""), "Rain and Wind", "nothing else is said");
}

#[test]
fn kickers_and_dates_inside_a_heading_are_left_out() {
    let (own, kicker) = ("Where the rain went", "<h1><span>In Spain</span> Where the rain went</h1>");
    for (shared, tag, heading) in [
        ("Spain: Where the rain went", "Rain", kicker),
        ("Where the rain went - Spain", "Rain", kicker),
        ("", "Where the rain went, where the sun went", kicker),
        ("Where the rain went (2024)", "Rain", "<h1><time>1 May 2024</time><div>Where the rain went</div></h1>"),
        ("Where the rain went", "Rain", "<h1>Spain <b>again</b><small>Where the rain went</small><i>1 May</i></h1>"),
    ] {
        assert_eq!(worded("", shared, tag, heading), own, "{shared} {tag} {heading}");
    }
    let lines = "<h1><span>Where the rain went</span> <span>in Spain</span></h1>";
    assert_eq!(worded("", "Where the rain went in Spain, by us", "", lines), "Where the rain went in Spain");
    let marked = "<h1>Where <span>the rain</span> went</h1>";
    assert_eq!(worded("", "Where the rain went in Spain", "", marked), own, "a part that is marked is no kicker");
}

#[test]
fn lower_headings_are_titles_where_the_first_rank_is_the_site_s() {
    let page = |tag: &str, heading: &str| {
        title(&format!(
            r#"<title>{tag}</title><body><h1><a href="/">Rain and Wind</a></h1><h2>All of it</h2><h2>{heading}</h2>"#
        ))
    };
    for (tag, heading, expected) in [
        ("Rain and Wind » Weather » Storm over us", "Storm over us", "Storm over us"),
        ("Storm over us : Rain and Wind | since 2005", "Storm over us", "Storm over us"),
        ("Rain and Wind: Storm – and how! – over us", "Storm – and how! – over us", "Storm – and how! – over us"),
        // Only a part of a title.
        ("Storm over us and them", "Storm over us", "Storm over us and them"),
        ("Re-entry storms - how to", "entry storms", "Re-entry storms - how to"),
    ] {
        assert_eq!(page(tag, heading), expected, "{tag}");
    }
    let other = "<h1>All our articles</h1><h2>Where it went</h2>";
    assert_eq!(title(&format!("<title>Where it went - Paper</title><body>{other}")), "Where it went");
    let headed = "<h1>How it went</h1><h2>What we all know</h2>";
    assert_eq!(title(&format!("<title>How it went - What we all know</title><body>{headed}")), "How it went");
}

#[test]
fn a_title_as_long_as_its_page_is_cheap() {
    let long = "rain - ".repeat(140_000);
    let heads = format!("<h1>{}</h1>", "<span>wind wind</span> ".repeat(30)).repeat(60);
    let html = format!(
        r#"<title>{long}</title><meta property="og:title" content="{long}"><script type="application/ld+json">
        {{"@type":"NewsArticle","headline":"{long}","name":"{long}"}}</script><body>{heads}"#
    );
    let page = page::read(&Document::from(html.as_str()));
    let article = json!({"@type": "NewsArticle", "headline": long, "name": long});
    let url = Url::parse("https://news.paper.example/2024/rain").unwrap();
    // Long titles may be read a few times, but not for each of 60 headings with 1,800 parts. One fast run of three
    // suffices, because the machine may be busy.
    let start = std::time::Instant::now();
    assert_eq!(super::super::text::letters(&long).len(), 560_000);
    let limit = start.elapsed() * 100;
    let is_cheap = (0..3).any(|_| {
        let start = std::time::Instant::now();
        assert!(super::read(&page, article.as_object(), &[&long], &url).is_some());
        start.elapsed() < limit
    });
    assert!(is_cheap, "more than {limit:?}");
}

#[test]
fn a_headline_as_long_as_a_text_is_the_title_of_a_page_without_another() {
    let long = "rain falls ".repeat(200);
    for (tag, body, expected) in [
        ("Rain in Spain", "", "Rain in Spain"),
        ("Rain in Spain", "<h1>Where the rain went</h1>", "Where the rain went"),
        ("", "<h1>Where the rain went</h1>", "Where the rain went"),
        ("", "", long.get(..1_000).unwrap().trim_end()),
    ] {
        assert_eq!(worded(&long, "", tag, body), expected, "{tag} {body}");
    }
}
