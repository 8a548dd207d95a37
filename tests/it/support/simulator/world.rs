//! What exists: which pages answer a query, and what they say.

use std::collections::HashMap;

/// A published review, as Google Fact Check lists it.
#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) claim: String,
    pub(crate) url: String,
    pub(crate) publisher: String,
    pub(crate) rating: String,
    pub(crate) language: String,
}

/// The facts of the simulated world.
pub(crate) trait World: Send + Sync + 'static {
    /// Pages that answer a query, best first.
    fn search(&self, query: &str) -> Vec<u64>;
    /// A page's headline.
    fn title(&self, page: u64) -> String;
    /// The sentences of a page that are about something; filler is put around them.
    fn facts(&self, page: u64) -> Vec<String>;
    /// Reviews that answer a query.
    fn reviews(&self, query: &str) -> Vec<Review>;
}

/// A world given page by page: for tests that ask about a handful of claims.
#[derive(Debug, Default)]
pub(crate) struct MapWorld {
    /// A query holding the key (any case) finds these pages.
    pub(crate) searches: Vec<(String, Vec<u64>)>,
    /// Headline and sentences by page.
    pub(crate) pages: HashMap<u64, (String, Vec<String>)>,
    /// A query holding the key (any case) finds these reviews.
    pub(crate) reviews: Vec<(String, Review)>,
}

impl World for MapWorld {
    fn search(&self, query: &str) -> Vec<u64> {
        let query = query.to_lowercase();
        let hits = self.searches.iter().filter(|(key, _)| query.contains(&key.to_lowercase()));
        let mut pages: Vec<u64> = hits.flat_map(|(_, pages)| pages.iter().copied()).collect();
        let mut seen = std::collections::HashSet::new();
        pages.retain(|page| seen.insert(*page));
        pages
    }

    fn title(&self, page: u64) -> String {
        self.pages.get(&page).map_or_else(|| format!("Page {page}"), |(title, _)| title.clone())
    }

    fn facts(&self, page: u64) -> Vec<String> {
        self.pages.get(&page).map(|(_, facts)| facts.clone()).unwrap_or_default()
    }

    fn reviews(&self, query: &str) -> Vec<Review> {
        let query = query.to_lowercase();
        let hits = self.reviews.iter().filter(|(key, _)| query.contains(&key.to_lowercase()));
        hits.map(|(_, review)| review.clone()).collect()
    }
}

/// Pages of an item: two that its event shares and one of its own, or three of its own.
const PAGES_PER_ITEM: u64 = 3;

/// An endless world of shipments, for measurements: item `k` belongs to event `k / items_per_event`, and is told by two
/// pages every item of the event shares and one page of its own. With one item per event every page is new.
///
/// Items are recognised in a query by their names, words made from their numbers ([`name_of`]): names survive whatever
/// the daemon does to turn a claim into keywords.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventWorld {
    pub(crate) items_per_event: u64,
    /// Added to every number, so that a second measurement on the same store meets nothing known.
    pub(crate) offset: u64,
}

impl EventWorld {
    /// The name an item's claim carries.
    fn item_name(self, item: u64) -> String {
        name_of((self.offset + item) * 2)
    }

    /// The name an event's claims carry.
    fn event_name(self, event: u64) -> String {
        name_of((self.offset + event) * 2 + 1)
    }

    fn event_of(self, item: u64) -> u64 {
        item / self.items_per_event
    }

    /// The claim of an item: one sentence with a place, a quantity and a date.
    pub(crate) fn claim(self, item: u64) -> String {
        let event = self.event_of(item);
        format!(
            "The port of {} shipped {} tonnes of grain in October 2026, the harbour master {} said.",
            self.event_name(event),
            Self::tonnes(event),
            self.item_name(item),
        )
    }

    /// An item as upstream sends it: the claim, and a sentence that claims nothing.
    pub(crate) fn item(self, item: u64) -> serde_json::Value {
        serde_json::json!({
            "schema": 1,
            "item_id": format!("bench:{}:{item}", self.offset),
            "title": format!("Grain leaves {}", self.event_name(self.event_of(item))),
            "text": format!("{} I hope this will calm the market a little.", self.claim(item)),
            "channel": format!("@channel{}", item % 40),
            "published_at": "2026-11-18T07:15:00Z",
            "language": "en",
            "importance": 0.8,
        })
    }

    fn tonnes(event: u64) -> u64 {
        1200 + event * 37 % 8000
    }

    /// Pages are numbered three to an item; the event's shared ones have the numbers of its first item's.
    fn pages(self, item: u64) -> Vec<u64> {
        let first = self.event_of(item) * self.items_per_event;
        let base = self.offset * PAGES_PER_ITEM;
        vec![base + first * PAGES_PER_ITEM, base + first * PAGES_PER_ITEM + 1, base + item * PAGES_PER_ITEM + 2]
    }
}

impl World for EventWorld {
    fn search(&self, query: &str) -> Vec<u64> {
        let mut pages = Vec::new();
        for number in numbers_named_in(query) {
            let Some(own) = (number / 2).checked_sub(self.offset) else { continue };
            let found = if number % 2 == 0 {
                self.pages(own)
            } else {
                let mut shared = self.pages(own * self.items_per_event);
                shared.truncate(2);
                shared
            };
            for page in found {
                if !pages.contains(&page) {
                    pages.push(page);
                }
            }
        }
        pages.truncate(PAGES_PER_ITEM as usize);
        pages
    }

    fn title(&self, page: u64) -> String {
        let item = (page / PAGES_PER_ITEM).saturating_sub(self.offset);
        format!("Grain shipments from {} grow, dispatch {page}", self.event_name(self.event_of(item)))
    }

    fn facts(&self, page: u64) -> Vec<String> {
        let item = (page / PAGES_PER_ITEM).saturating_sub(self.offset);
        let event = self.event_of(item);
        let (place, tonnes) = (self.event_name(event), Self::tonnes(event));
        let said = format!("The port of {place} shipped {tonnes} tonnes of grain in October 2026.");
        let own = if page % PAGES_PER_ITEM == 2 {
            format!("The harbour master {} confirmed the figure for {place} on Monday.", self.item_name(item))
        } else {
            format!("It was the largest monthly volume that {place} has seen in years.")
        };
        vec![said, own]
    }

    fn reviews(&self, _query: &str) -> Vec<Review> {
        Vec::new()
    }
}

const CONSONANTS: [char; 16] = ['b', 'd', 'f', 'g', 'h', 'j', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'w', 'z'];
const VOWELS: [char; 4] = ['a', 'e', 'i', 'o'];

/// A capitalised word for a number, such as `Xanbodak`: syllables of six bits between a prefix and a final consonant that
/// no English stemmer touches.
pub(crate) fn name_of(number: u64) -> String {
    let mut syllables = Vec::new();
    let mut rest = number;
    loop {
        let six = (rest % 64) as usize;
        syllables.push([CONSONANTS[six / 4], VOWELS[six % 4]]);
        rest /= 64;
        if rest == 0 {
            break;
        }
    }
    let middle: String = syllables.into_iter().rev().flatten().collect();
    format!("Xan{middle}k")
}

/// The numbers whose names stand in a text, in the order they stand there.
fn numbers_named_in(text: &str) -> Vec<u64> {
    text.split(|character: char| !character.is_ascii_alphabetic()).filter_map(number_of).collect()
}

fn number_of(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let middle: Vec<char> = word.strip_prefix("xan")?.strip_suffix('k')?.chars().collect();
    if middle.is_empty() || middle.len() % 2 == 1 || middle.len() > 20 {
        return None;
    }
    let mut number = 0_u64;
    for syllable in middle.chunks_exact(2) {
        let consonant = CONSONANTS.iter().position(|letter| *letter == syllable[0])?;
        let vowel = VOWELS.iter().position(|letter| *letter == syllable[1])?;
        number = number * 64 + (consonant * 4 + vowel) as u64;
    }
    Some(number)
}
