//! Detects pages that show a consent request or an offer instead of their text, by a logistic model of page features.
//!
//! 1. Lines outside links are cut into sentences. Each is searched for words of consent, of offers, for words that
//!    address the reader, and for prices (`barrier.tsv` in the lexicon).
//! 2. [`features`] returns shares of the text, counts of tariffs, answers and choices, and marks of the address, the
//!    forms and the markup.
//! 3. The weighted sum decides. A page without words of consent or offers, and a page with a long article that does not
//!    address the reader, is no barrier.
//!
//! No single word decides, so an article about prices or consent remains an article. Errors, logins and bot checks are in
//! `junk`.
//!
//! The weights were fitted to the training half of `tests/data/walls.jsonl` and to every second page of public sets of
//! article pages, with a Python copy of these features. `training/walls.py` fits the features that the test
//! `barrier_tests` writes. To add a language, add its `barrier.tsv`. To add a feature, add it to
//! [`features`], fit again, and replace [`WEIGHTS`].

use std::sync::LazyLock;

use corroborate_language::lexicon::Parts;
use regex::Regex;
use url::Url;

use super::junk::Junk;
use super::outline::Block;
use super::page::Page;
use super::text;

static CONSENT: Parts = Parts::of("barrier.consent");
static OFFER: Parts = Parts::of("barrier.offer");
static READER: Parts = Parts::of("barrier.reader");
static PERIOD: Parts = Parts::of("barrier.period");
static CHOICE: Parts = Parts::of("barrier.choice");

static PRICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:[€$£₴₽]|\b(?:chf|usd|eur|gbp|zł|kr)\b\.?)\s?\d|",
        r"\d[\d.,]*\s?(?:[€$£₴₽]|евро|руб|грн|гривен|гривн|euro|zł|pln|eur|usd|reais|pesos|dollar|доллар|долар|євро|pound|pence)"
    ))
    .ok()
});

/// Host labels and path segments of consent pages.
const CONSENT_PLACES: &str = "consent cmp gdpr dsgvo rgpd privacywall privacy-gate privacy cookiewall cookie cookies einwilligung \
    zustimmung consentement consentimiento consentimento consenso privacidad privacidade zgod zgody \
    zgoda toestemming soglasie choices tcf iab cookie-wall cookie-consent";
/// Query parameters with the address to return to.
const RETURNS: &str = "return returnurl return_url redirect redirecturl redirect_uri redirect_url url next target dest \
    destination back goto ret retour vuelta volver powrot ritorno terug siteurl from origin caller \
    callback u r ziel volta zurueck weiter continuar suite";

/// Bounds of the text's length, in characters.
const MIN_TEXT: f64 = 500.0;
const MAX_TEXT: f64 = 6_310.0;
/// Shares are of at least so many characters.
const MIN_WHOLE: f64 = 300.0;
const LONG_LINE: usize = 220;
const MAX_CHOICE: usize = 40;
const MAX_TARIFF: usize = 140;
/// A question before this character has its answer on the same line, if at least so many characters follow.
const MAX_QUESTION: usize = 90;
const MIN_ANSWER: usize = 25;
/// Main texts of more characters are articles.
const MAX_CHARS: usize = 8_000;
/// Main texts of other lengths are no barriers if their share of sentences to the reader is below [`MIN_ADDRESSED`].
/// Teasers have these lengths, and a barrier's own text may be left out of them.
const TEASER_CHARS: std::ops::Range<usize> = 80..300;
const MIN_ADDRESSED: f64 = 0.05;
/// Share of sentences with words of consent or offers; choices or tariffs. Barriers have more of one of them.
const MIN_WORDS: f64 = 0.1;
const MIN_CHOICES: f64 = 0.4;

const FEATURES: usize = 14;
/// Names of the features in the file that `training/walls.py` reads.
#[cfg(test)]
pub(super) const NAMES: [&str; FEATURES] = [
    "length",
    "consent",
    "reader",
    "reader_consent",
    "tariffs",
    "answers",
    "long_lines",
    "choices",
    "returns",
    "consent_address",
    "return_address",
    "other_heading",
    "dated",
    "partners",
];
const BIAS: f64 = -5.77;
const WEIGHTS: [f64; FEATURES] = [-7.75, 2.28, 6.12, 3.08, 6.76, 4.04, -2.42, 2.53, 2.4, 1.39, 1.39, 1.43, -1.37, 1.11];
/// The sum that a barrier exceeds. Of 2,060 public article pages, five are called barriers.
const THRESHOLD: f64 = 0.7;

#[derive(Debug)]
pub(super) struct Features {
    pub(super) values: [f64; FEATURES],
    /// Shares of sentences with words of consent and of offers.
    consent: f64,
    offer: f64,
    choices: f64,
    tariffs: f64,
    is_consent: bool,
}

/// Returns [`Junk::Consent`] or [`Junk::Paywall`]; `None` for any other page. `blocks` are all lines of the page.
pub(super) fn kind(page: &Page, blocks: &[Block], paragraphs: &[String], url: &Url) -> Option<Junk> {
    let chars: usize = paragraphs.iter().map(|paragraph| paragraph.chars().count()).sum();
    if chars > MAX_CHARS {
        return None;
    }
    let found = features(page, blocks, url);
    let has_words = found.consent + found.offer >= MIN_WORDS || found.choices.max(found.tariffs) >= MIN_CHOICES;
    if !has_words
        || found.sum() <= THRESHOLD
        || (!TEASER_CHARS.contains(&chars) && addressed(paragraphs) < MIN_ADDRESSED)
    {
        return None;
    }
    Some(if found.is_consent { Junk::Consent } else { Junk::Paywall })
}

impl Features {
    pub(super) fn sum(&self) -> f64 {
        BIAS + self.values.iter().zip(WEIGHTS).map(|(value, weight)| value * weight).sum::<f64>()
    }
}

/// Characters of the sentences with each kind of words.
#[derive(Debug, Default)]
struct Shares {
    all: usize,
    consent: usize,
    offer: usize,
    reader: usize,
    reader_consent: usize,
    tariffs: usize,
    has_partners: bool,
}

impl Shares {
    fn add(&mut self, sentence: &str) {
        let words = words(sentence);
        if words.chars().count() <= 3 {
            return;
        }
        let chars = sentence.chars().count();
        let count = |is_found: bool| if is_found { chars } else { 0 };
        let is_consent = CONSENT.occurs_in(&words);
        let is_addressed = READER.occurs_in(&words);
        self.all += chars;
        self.consent += count(is_consent);
        self.offer += count(OFFER.occurs_in(&words));
        self.reader += count(is_addressed);
        self.reader_consent += count(is_addressed && is_consent);
        self.tariffs += usize::from(chars <= MAX_TARIFF && has_price(sentence) && PERIOD.occurs_in(&words));
        self.has_partners |= is_addressed && is_consent && has_number(sentence);
    }
}

pub(super) fn features(page: &Page, blocks: &[Block], url: &Url) -> Features {
    let mut shares = Shares::default();
    let (mut long, mut answers, mut choices) = (0, 0, 0);
    for block in blocks {
        choices += usize::from(block.chars <= MAX_CHOICE && CHOICE.occurs_in(&words(&block.text)));
        if block.linked * 2 > block.chars {
            continue;
        }
        if block.chars >= LONG_LINE {
            long += block.chars;
        }
        answers += usize::from(is_answered(&block.text, block.chars));
        for sentence in sentences(&block.text) {
            shares.add(sentence);
        }
    }
    choices += page.controls.iter().filter(|control| is_choice(control)).count();
    let whole = (shares.all as f64).max(MIN_WHOLE);
    let share = |chars: usize| chars as f64 / whole;
    let part = |count: usize| count.min(5) as f64 / 5.0;
    let mark = |is_set: bool| f64::from(is_set);
    let is_consent_address = is_consent_address(url);
    let is_consent = is_consent_address
        || shares.has_partners
        || (shares.consent >= shares.offer && shares.consent * 5 >= shares.all.max(1));
    Features {
        values: [
            ((shares.all as f64).clamp(MIN_TEXT, MAX_TEXT) / 1_000.0).log10(),
            share(shares.consent),
            share(shares.reader),
            share(shares.reader_consent),
            part(shares.tariffs),
            part(answers),
            share(long),
            part(choices),
            mark(page.returns_by_form),
            mark(is_consent_address),
            mark(returns_by_query(url)),
            mark(!is_titled_as_headed(page)),
            mark(is_dated(page)),
            mark(shares.has_partners),
        ],
        consent: share(shares.consent),
        offer: share(shares.offer),
        choices: part(choices),
        tariffs: part(shares.tariffs),
        is_consent,
    }
}

/// Share of the main text that addresses the reader.
fn addressed(paragraphs: &[String]) -> f64 {
    let mut shares = Shares::default();
    for sentence in paragraphs.iter().flat_map(|paragraph| sentences(paragraph)) {
        shares.add(sentence);
    }
    shares.reader as f64 / shares.all.max(1) as f64
}

/// Words in lower case with one space before and after each, as the lexicon's parts expect them.
fn words(text: &str) -> String {
    let mut out = String::from(" ");
    for character in text.chars() {
        if character.is_alphanumeric() {
            out.extend(character.to_lowercase());
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    if !out.ends_with(' ') {
        out.push(' ');
    }
    out
}

/// Splits at white space after a full stop, question mark, colon or the like.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    line.split(move |character: char| {
        let ends = character == ' ' && matches!(before, '.' | '!' | '?' | '…' | ':' | ';');
        before = character;
        ends
    })
}

fn has_price(text: &str) -> bool {
    PRICE.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// True for two digits in a row.
fn has_number(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair.iter().all(u8::is_ascii_digit))
}

fn is_choice(control: &str) -> bool {
    let words = words(control);
    [&CONSENT, &OFFER, &READER, &CHOICE].iter().any(|list| list.occurs_in(&words)) || has_price(control)
}

fn is_answered(line: &str, chars: usize) -> bool {
    let question = line.chars().position(|character| character == '?');
    question.is_some_and(|at| at <= MAX_QUESTION && chars > at + MIN_ANSWER)
}

fn is_consent_address(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let labels = host.rsplit_once('.').map_or("", |(labels, _)| labels).split('.');
    let mut places = labels.chain(url.path_segments().into_iter().flatten());
    places.any(|place| CONSENT_PLACES.split(' ').any(|known| place.eq_ignore_ascii_case(known)))
}

/// True for `continue=…`, and for another parameter that holds the address of a page.
fn returns_by_query(url: &Url) -> bool {
    url.query_pairs().any(|(key, value)| {
        let key = key.to_ascii_lowercase();
        key == "continue"
            || (RETURNS.split(' ').any(|known| key == known)
                && ["http:", "https:", "/"].iter().any(|start| value.starts_with(start)))
    })
}

/// True if a main heading and the title begin with the same letters.
fn is_titled_as_headed(page: &Page) -> bool {
    const LETTERS: usize = 24;
    let begins = |text: &str| text.chars().take(LETTERS).collect::<String>();
    let title = text::letters(page.title.as_deref().unwrap_or_default());
    page.headings
        .iter()
        .map(|heading| text::letters(heading))
        .filter(|heading| !heading.is_empty())
        .any(|heading| title.contains(&begins(&heading)) || heading.contains(&begins(&title)))
}

fn is_dated(page: &Page) -> bool {
    page.meta(&["article:published_time"]).is_some() || page.json_ld.iter().any(|data| data.contains("datePublished"))
}
