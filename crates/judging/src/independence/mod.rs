//! Groups sources that are one source: reprints, copies of one wire story, pages of one owner.
//!
//! [`groups`] joins sources with a common key or near-identical text. All rules count groups, never URLs or domains. To
//! add a reason, add a key in `keys_of` and its rank in `priority`.

mod origin;
mod outlets;
mod sketch;
#[cfg(test)]
mod test_data;

use std::collections::{BTreeMap, HashMap};

use self::sketch::Sketch;

#[derive(Debug, Clone, Copy)]
pub struct SourceText<'a> {
    pub evidence_id: &'a str,
    pub url: &'a str,
    /// Registered domain (`example.co.uk`).
    pub domain: &'a str,
    /// The body, else the passage.
    pub text: &'a str,
    pub canonical: Option<&'a str>,
    /// URLs cited as basis or source.
    pub based_on: &'a [String],
    pub publisher: Option<&'a str>,
    /// Counts by article, not by owner.
    pub reference_work: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct ItemText<'a> {
    pub url: Option<&'a str>,
    /// E.g. `@channel1`.
    pub channel: Option<&'a str>,
    pub text: &'a str,
}

/// Returns one group id per source, in order. A group has near-identical texts, or a common origin, canonical address,
/// basis page or owner.
///
/// The id states the reason (`wire:tass`, `outlet:ft.com`, `owner:bbc`, `domain:example.org`, `page:…`), so later
/// evidence gets the same group. The input order has no effect.
pub fn groups(sources: &[SourceText<'_>]) -> Vec<String> {
    groups_with_item(sources, &[])
}

/// [`groups`] with an item: sources that repeat or cite it are one source. The item names no group.
pub fn groups_with_item(sources: &[SourceText<'_>], item: &[ItemText<'_>]) -> Vec<String> {
    let prints: Vec<Fingerprint> = sources.iter().map(Fingerprint::new).collect();
    let texts = sources.iter().map(|source| source.text);
    groups_of(&texts.zip(&prints).collect::<Vec<_>>(), item)
}

/// The origin keys of a source, computed from a whole page and stored with it.
#[derive(Debug)]
pub struct Fingerprint {
    keys: Vec<String>,
    sketch: Sketch,
}

impl Fingerprint {
    pub fn new(source: &SourceText<'_>) -> Self {
        Self { keys: keys_of(source), sketch: Sketch::new(source.text) }
    }
}

/// [`groups_with_item`] with known fingerprints.
pub fn groups_of(sources: &[(&str, &Fingerprint)], item: &[ItemText<'_>]) -> Vec<String> {
    let mut union = Union::new(sources.len() + item.len());
    let address_of = |text: &ItemText<'_>| text.url.map(|url| vec![format!("page:{}", address(url))]);
    let of_item: Vec<Vec<String>> = item.iter().map(|text| address_of(text).unwrap_or_default()).collect();
    let keys: Vec<&Vec<String>> = sources.iter().map(|(_, print)| &print.keys).chain(&of_item).collect();
    let mut first_with: HashMap<&str, usize> = HashMap::new();
    for (index, of_source) in keys.iter().enumerate() {
        for key in *of_source {
            match first_with.get(key.as_str()) {
                Some(other) => union.join(index, *other),
                None => {
                    first_with.insert(key, index);
                }
            }
        }
    }
    // Searches a page once per channel.
    let mut naming: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
    for (own, text) in (sources.len()..).zip(item) {
        let naming = naming.entry(text.channel).or_insert_with(|| {
            let sources = sources.iter().enumerate();
            sources.filter(|(_, (source, _))| names_channel(source, text.channel)).map(|(index, _)| index).collect()
        });
        for index in naming {
            union.join(*index, own);
        }
    }
    let own: Vec<Sketch> = item.iter().map(|text| Sketch::of_item(text.text)).collect();
    let sketches: Vec<&Sketch> = sources.iter().map(|(_, print)| &print.sketch).chain(&own).collect();
    for (index, sketch) in sketches.iter().enumerate() {
        for (other, earlier) in sketches.iter().enumerate().take(index) {
            if union.root(index) != union.root(other) && sketch.is_copy_of(earlier) {
                union.join(index, other);
            }
        }
    }
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    for (index, of_source) in keys.iter().enumerate().take(sources.len()) {
        let root = union.root(index);
        for key in of_source.iter().filter(|key| names_group(key)) {
            let better = names.get(&root).is_none_or(|name| (priority(key), key) < (priority(name), name));
            if better {
                names.insert(root, key.clone());
            }
        }
    }
    (0..sources.len()).map(|index| names.get(&union.root(index)).cloned().unwrap_or_default()).collect()
}

pub fn is_agency(name: &str) -> bool {
    origin::wire_named(name).is_some()
}

pub fn owner(domain: &str) -> Option<&'static str> {
    origin::owner_of_domain(domain)
}

fn keys_of(source: &SourceText<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    let page = address(source.canonical.filter(|url| !url.trim().is_empty()).unwrap_or(source.url));
    keys.push(format!("page:{page}"));
    let own = address(source.url);
    if own != page {
        keys.push(format!("page:{own}"));
    }
    // Pages made from a third are one source with it.
    keys.extend(source.based_on.iter().map(|url| format!("page:{}", address(url))));
    if source.reference_work {
        return keys;
    }
    let domain = source.domain.trim().trim_start_matches("www.").to_lowercase();
    let credited = || source.publisher.and_then(|names| names.split(['/', ',', ';']).find_map(origin::wire_named));
    match origin::wire_of(&domain, source.text).or_else(credited) {
        Some(wire) => keys.push(format!("wire:{wire}")),
        // A second origin would join sources that it only quotes.
        None => keys.extend(outlets::keys(&domain, source.text)),
    }
    let owner = origin::owner_of_domain(&domain);
    if let Some(owner) = owner {
        keys.push(format!("owner:{owner}"));
    }
    if let Some(publisher) = source.publisher.map(origin::publisher_key).filter(|key| !key.is_empty()) {
        keys.push(format!("publisher:{publisher}"));
    }
    if !domain.is_empty() {
        keys.push(format!("domain:{domain}"));
    }
    keys
}

/// Rank of a key as group name, best first. A wider reason is more stable.
fn priority(key: &str) -> u8 {
    match key.split_once(':').map(|(kind, _)| kind) {
        Some("wire") => 0,
        Some("outlet") => 1,
        Some("owner") => 2,
        Some("domain") => 3,
        _ => 4,
    }
}

/// A publisher's spelling varies; its domain does not.
fn names_group(key: &str) -> bool {
    !key.starts_with("publisher:")
}

/// The address without scheme, `www.`, `m.`, fragment, tracking and last slash.
fn address(url: &str) -> String {
    let lower = url.trim();
    let rest = lower.split_once("://").map_or(lower, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = path.split_once('/').unwrap_or((path, ""));
    let host = host.to_lowercase();
    let host = ["www.", "m.", "amp."].iter().find_map(|prefix| host.strip_prefix(prefix)).unwrap_or(&host);
    let mut kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect();
    kept.sort_unstable();
    let mut address = format!("{host}/{}", path.trim_end_matches('/'));
    if !kept.is_empty() {
        address.push('?');
        address.push_str(&kept.join("&"));
    }
    address
}

fn is_tracking(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    name.starts_with("utm_") || matches!(name, "fbclid" | "gclid" | "yclid" | "ref" | "amp" | "output")
}

struct Union {
    parent: Vec<usize>,
}

impl Union {
    fn new(size: usize) -> Self {
        Self { parent: (0..size).collect() }
    }

    fn root(&self, mut at: usize) -> usize {
        while let Some(up) = self.parent.get(at).copied().filter(|up| *up != at) {
            at = up;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if let Some(slot) = self.parent.get_mut(a.max(b)) {
            *slot = a.min(b);
        }
    }
}

/// A shorter handle is an ordinary word (Telegram's minimum is five characters).
const MIN_HANDLE_LETTERS: usize = 5;

/// Whether a text names the channel as `@channel1` or `t.me/channel1`.
fn names_channel(text: &str, channel: Option<&str>) -> bool {
    let Some(handle) = channel.and_then(|name| name.trim().strip_prefix('@')).map(str::to_lowercase) else {
        return false;
    };
    let is_of_handle = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if handle.len() < MIN_HANDLE_LETTERS || !handle.chars().all(is_of_handle) {
        return false;
    }
    let text = text.to_lowercase();
    text.match_indices(&handle).any(|(at, _)| {
        let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(at + handle.len()..).unwrap_or_default());
        let is_marked = before.ends_with('@') || before.ends_with("t.me/") || before.ends_with("t.me/s/");
        is_marked && !behind.starts_with(is_of_handle)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source<'a>(id: &'a str, url: &'a str, domain: &'a str, text: &'a str) -> SourceText<'a> {
        SourceText {
            evidence_id: id,
            url,
            domain,
            text,
            canonical: None,
            based_on: &[],
            publisher: None,
            reference_work: false,
        }
    }

    const STORY: &str = "A bridge over the river Dnipro reopened on Monday after two years of repairs, the city \
        council said. The mayor thanked the engineers and promised that tolls would not rise before the end of next \
        year. Traffic is expected to double within a month, according to the ministry of transport.";

    #[test]
    fn a_reprint_with_a_new_headline_is_the_same_source() {
        let reprint = format!("Good news for drivers! {STORY} Read more on our site.");
        let found = groups(&[
            source("1", "https://one.example/a", "one.example", STORY),
            source("2", "https://two.example/b", "two.example", &reprint),
            source(
                "3",
                "https://three.example/c",
                "three.example",
                "Our reporter saw the first cars cross the repaired bridge at dawn; drivers hooted and waved flags \
                 while officials watched from the bank and drank tea.",
            ),
        ]);
        assert_eq!(found[0], found[1]);
        assert_ne!(found[0], found[2]);
    }

    #[test]
    fn a_snippet_of_a_story_is_that_story() {
        let snippet =
            "The mayor thanked the engineers and promised that tolls would not rise before the end of next year.";
        let found = groups(&[
            source("1", "https://one.example/a", "one.example", STORY),
            source("2", "https://two.example/b", "two.example", snippet),
        ]);
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn a_stated_wire_makes_one_source_of_many() {
        let texts = [
            ("a.example", "МОСКВА, 3 мая. /ТАСС/. Суд вынес приговор по делу о хищении."),
            ("b.example", "Приговор по делу вынесен, по данным ТАСС. Подсудимый вину не признал."),
            ("c.example", "Как сообщает ТАСС, обвиняемый получил семь лет."),
            ("tass.ru", "Приговор объявили утром в понедельник."),
            ("d.example", "LONDON (Reuters) - A court sentenced the man on Monday."),
            ("e.example", "The court sentenced him to seven years, Reuters reported."),
            ("f.example", "Суд виніс вирок, повідомляє Інтерфакс-Україна."),
            ("g.example", "Our own correspondent watched the trial for the whole week."),
        ];
        let urls: Vec<String> = texts.iter().map(|(domain, _)| format!("https://{domain}/x")).collect();
        let sources: Vec<_> =
            texts.iter().zip(&urls).map(|((domain, text), url)| source(domain, url, domain, text)).collect();
        let found = groups(&sources);
        assert_eq!(found[..4], ["wire:tass", "wire:tass", "wire:tass", "wire:tass"]);
        assert_eq!(found[4..], ["wire:reuters", "wire:reuters", "wire:interfax-ukraine", "domain:g.example"]);
    }

    #[test]
    fn a_photo_credit_is_no_origin() {
        let found = groups(&[
            source(
                "1",
                "https://one.example/a",
                "one.example",
                "Photo: Reuters. The minister resigned, our reporter learned.",
            ),
            source(
                "2",
                "https://two.example/b",
                "two.example",
                "An official told this newspaper of the resignation on Friday.",
            ),
        ]);
        assert_eq!(found, ["domain:one.example", "domain:two.example"]);
    }

    #[test]
    fn a_name_within_another_and_a_spelt_out_acronym_are_no_agency() {
        let of = |text: &str| groups(&[source("1", "https://one.example/a", "one.example", text)]).remove(0);
        for text in [
            "GAP said sales had risen by a tenth.",
            "Об этом сообщает РИАМО со ссылкой на мэрию.",
            "The Australian Federal Police (AFP) arrested two men in Perth on Friday.",
            "Two men were arrested by the Australian Federal Police (AFP).",
            "The bridge was closed on Friday. [Jane Doe/AFP]",
            "The bridge on May 9 2026 (AFP)\nIt was closed for a week, and the mayor brought the drivers tea.",
            "Michael Bloomberg said that he would not run.",
            "Lorries wait at the border (Reuters)\nThe drivers said they had been there for days, and the mayor brought them tea.",
            "Cars queue at the bridge [Jane Doe/Reuters] as the rain goes on.",
        ] {
            assert_eq!(of(text), "domain:one.example", "{text}");
        }
        for (text, wire) in [
            ("Traffic stood for hours. The bridge was closed on Friday. (AFP).", "wire:afp"),
            ("Мост закрыли в пятницу. /ТАСС/", "wire:tass"),
            ("Geneva, May 9 (Reuters) The bridge was closed on Friday.", "wire:reuters"),
            ("By Jane Doe, Associated Press\nThe bridge was closed on Friday.", "wire:ap"),
            ("The bridge was closed on Friday.\n© 2025 The Associated Press", "wire:ap"),
            ("The bridge was closed, according to a statement seen by AFP.", "wire:afp"),
            ("The bridge was closed on Friday.\nWith inputs from Reuters", "wire:reuters"),
            ("Мост закрыли, пишет \"Интерфакс\".", "wire:interfax"),
            ("Мост закрыли, рассказал источник ТАСС в мэрии.", "wire:tass"),
            ("Міст закрили, повідомляє кореспондент Укрінформу.", "wire:ukrinform"),
            ("Міст закрили, посилаючись на Reuters пише видання.", "wire:reuters"),
        ] {
            assert_eq!(of(text), wire, "{text}");
        }
        let credited = SourceText {
            publisher: Some("Reuters"),
            ..source("1", "https://one.example/a", "one.example", "The bridge was closed on Friday.")
        };
        assert_eq!(groups(&[credited]), ["wire:reuters"]);
    }

    #[test]
    fn source_joins_the_item_when_it_names_its_channel_or_repeats_its_sentence() {
        let post = "The bridge over the Dnipro was closed this morning after a truck fell through its deck.";
        let pages = [
            source(
                "1",
                "https://one.example/a",
                "one.example",
                "As @dnipro_now wrote, the bridge is closed to all traffic today.",
            ),
            source(
                "2",
                "https://two.example/b",
                "two.example",
                "Readers ask whether it is so: \u{201c}The bridge over the Dnipro was closed this \
                morning after a truck fell through its deck.\u{201d} We asked the police.",
            ),
            source(
                "3",
                "https://three.example/c",
                "three.example",
                "Our reporter saw the closed bridge and the truck in the river.",
            ),
        ];
        let item = [ItemText { url: None, channel: Some("@dnipro_now"), text: post }];
        let found = groups_with_item(&pages, &item);
        assert_eq!(found[0], found[1]);
        assert_ne!(found[0], found[2]);
    }

    #[test]
    fn owners_canonicals_and_third_pages_tie_sources_together() {
        let based = ["https://origin.example/report?utm_source=x".to_owned()];
        let mut first = source("1", "https://one.example/a", "one.example", "First text of some sort.");
        first.based_on = &based;
        let origin =
            source("2", "https://www.origin.example/report/", "origin.example", "Second text, quite different.");
        let mut mirror = source("3", "https://mirror.example/z", "mirror.example", "Third text with other words.");
        mirror.canonical = Some("https://one.example/a#top");
        let bbc = source("4", "https://www.bbc.co.uk/n/1", "bbc.co.uk", "Fourth text on a subject.");
        let world = source("5", "https://bbc.com/n/2", "bbc.com", "Fifth text, elsewhere entirely.");
        let found = groups(&[first, origin, mirror, bbc, world]);
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0], found[2]);
        assert_eq!(found[3..], ["owner:bbc", "owner:bbc"]);
    }

    #[test]
    fn sources_are_one_when_they_repeat_the_item() {
        let post = "Breaking: the bridge over the Dnipro was closed this morning after a truck fell through the deck, \
            police say; two people are missing and divers are searching for them near the island.";
        let quoting = |by: &str| {
            format!("{by} Readers send us this: \u{201c}{post}\u{201d} We asked the police and wait for an answer.")
        };
        let (first, second) = (quoting("A post is going round."), quoting("Is it true?"));
        let links = ["https://t.me/channel1/482".to_owned()];
        let mut linking =
            source("3", "https://three.example/c", "three.example", "The channel told of a broken bridge.");
        linking.based_on = &links;
        let sources = [
            source("1", "https://one.example/a", "one.example", &first),
            source("2", "https://two.example/b", "two.example", &second),
            linking,
            source("4", "https://four.example/d", "four.example", "Our reporter saw divers near the bridge at noon."),
        ];
        let item = [ItemText {
            url: Some("https://t.me/channel1/482?utm_source=x"),
            channel: Some("@divers_news"),
            text: post,
        }];
        let found = groups_with_item(&sources, &item);
        assert_eq!(found, ["domain:one.example", "domain:one.example", "domain:one.example", "domain:four.example"]);
        let claim = [ItemText {
            url: None,
            channel: None,
            text: "Our reporter saw divers near the bridge at noon on Monday morning.",
        }];
        let apart = groups_with_item(&sources, &claim);
        assert_eq!(apart[3], "domain:four.example");
        assert_ne!(apart[0], apart[3], "a sentence is too short to be quoted from anywhere");
        assert_eq!(groups_with_item(&[], &item), Vec::<String>::new());
    }

    #[test]
    fn reference_works_count_by_article() {
        let article = |id, url| SourceText { reference_work: true, ..source(id, url, "wikipedia.org", "") };
        let found = groups(&[
            article("1", "https://en.wikipedia.org/wiki/Kyiv"),
            article("2", "https://en.wikipedia.org/wiki/Dnipro"),
            article("3", "https://en.m.wikipedia.org/wiki/Dnipro#History"),
        ]);
        assert_ne!(found[0], found[1]);
        assert_eq!(found[1], "page:en.wikipedia.org/wiki/Dnipro");
    }

    #[test]
    fn empty_texts_are_not_copies_of_each_other() {
        let found = groups(&[
            source("1", "https://one.example/a", "one.example", ""),
            source("2", "https://two.example/b", "two.example", ""),
        ]);
        assert_ne!(found[0], found[1]);
    }

    proptest! {
        #[test]
        fn the_order_of_sources_changes_no_group(
            rows in prop::collection::vec((0..4usize, 0..4usize, prop::option::of(0..3usize)), 0..8),
            turn in any::<prop::sample::Index>(),
        ) {
            let domains = ["one.example", "two.example", "bbc.com", "bbc.co.uk"];
            let texts = [STORY, "По данным ТАСС, суд вынес приговор.", "Something else altogether was said here today.", ""];
            let pages = ["https://one.example/0", "https://third.example/p", "https://two.example/1"];
            let urls: Vec<String> =
                rows.iter().enumerate().map(|(n, (domain, ..))| format!("https://{}/{n}", domains[*domain])).collect();
            let sources: Vec<SourceText<'_>> = rows
                .iter()
                .zip(&urls)
                .map(|((domain, text, canonical), url)| SourceText {
                    canonical: canonical.map(|page| pages[page]),
                    ..source(url, url, domains[*domain], texts[*text])
                })
                .collect();
            let by_id = |sources: &[SourceText<'_>]| -> BTreeMap<String, String> {
                sources.iter().map(|s| s.evidence_id.to_owned()).zip(groups(sources)).collect()
            };
            let straight = by_id(&sources);
            let mut turned = sources.clone();
            if !turned.is_empty() {
                let by = turn.index(turned.len());
                turned.rotate_left(by);
                turned.reverse();
            }
            prop_assert_eq!(straight, by_id(&turned));
        }
    }

    #[test]
    fn a_handle_names_a_channel_and_a_word_does_not() {
        let of = |text| names_channel(text, Some("@Zandor_News"));
        assert!(of("As @zandor_news wrote, the bridge fell."));
        assert!(of("Джерело: https://t.me/zandor_news/55."));
        assert!(!of("zandor_news fell"));
        assert!(!of("See @zandor_news_live."));
        assert!(!names_channel("@kyiv is a city", Some("@kyiv")));
        assert!(!names_channel("Zandor News", Some("Zandor News")));
        assert!(!names_channel("@x", None));
    }
}
