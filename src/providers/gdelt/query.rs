//! Builds queries that GDELT accepts. One short phrase, illegal character or extra parenthesis makes it refuse the
//! whole query. So only letters, digits and the syntax of this file are sent.

use std::collections::HashSet;

use crate::cache::{joined, normalise_query};
use crate::providers::{Query, wire};

/// The limit is about 250: 213 was accepted and 290 refused. Before encoding.
const LONGEST: usize = 230;
/// Shorter phrases are refused.
const SHORTEST_PHRASE: usize = 5;
/// Shorter words are refused as too short or too common.
const SHORTEST_WORD: usize = 3;
/// A longer term is a sentence, which no article contains as a phrase.
const LONGEST_PHRASE_WORDS: usize = 5;
/// An article must contain all pieces, so fewer find more.
const MOST_PIECES: usize = 4;
/// Below this number plain words of the text are added, because too much is found.
const FEWEST_PIECES: usize = 2;
/// Minimum letters of a search word that is neither a name nor a number.
const CONTENT_WORD: usize = 4;

/// ISO 639-1 and GDELT's name.
const LANGUAGES: [(&str, &str); 45] = [
    ("ar", "Arabic"),
    ("az", "Azerbaijani"),
    ("be", "Belarusian"),
    ("bg", "Bulgarian"),
    ("bn", "Bengali"),
    ("ca", "Catalan"),
    ("cs", "Czech"),
    ("da", "Danish"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("es", "Spanish"),
    ("et", "Estonian"),
    ("fa", "Persian"),
    ("fi", "Finnish"),
    ("fr", "French"),
    ("he", "Hebrew"),
    ("hi", "Hindi"),
    ("hr", "Croatian"),
    ("hu", "Hungarian"),
    ("hy", "Armenian"),
    ("id", "Indonesian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("ka", "Georgian"),
    ("kk", "Kazakh"),
    ("ko", "Korean"),
    ("lt", "Lithuanian"),
    ("lv", "Latvian"),
    ("ml", "Malayalam"),
    ("nl", "Dutch"),
    ("no", "Norwegian"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("sk", "Slovak"),
    ("sl", "Slovenian"),
    ("sr", "Serbian"),
    ("sv", "Swedish"),
    ("th", "Thai"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("vi", "Vietnamese"),
    ("zh", "Chinese"),
];

pub(super) const CODES: &[&str] = &{
    let mut codes = [""; LANGUAGES.len()];
    let mut at = 0;
    while at < codes.len() {
        codes[at] = LANGUAGES[at].0;
        at += 1;
    }
    codes
};

pub(super) fn language_name(iso: &str) -> Option<&'static str> {
    LANGUAGES.iter().find(|(code, _)| *code == iso).map(|(_, name)| *name)
}

pub(super) fn language_code(name: &str) -> Option<&'static str> {
    LANGUAGES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name.trim())).map(|(code, _)| *code)
}

/// Returns ` sourcelang:…` for a known language. Countries are not sent, because GDELT uses FIPS codes that differ from
/// ISO's (`CH` is China).
fn language_clause(query: &Query) -> String {
    let language = query.language.as_deref().and_then(language_name);
    language.map(|name| format!(" sourcelang:{}", name.to_lowercase())).unwrap_or_default()
}

/// Returns the query after a refusal: two plain words without phrases, punctuation or domains. Other domains are
/// removed from the results.
pub(super) fn build_simple(query: &Query, refused: &HashSet<String>) -> Option<String> {
    const WORDS: usize = 2;
    const LONGEST_WORD: usize = 40;
    let mut taken: Vec<String> = Vec::new();
    for piece in pieces(query) {
        for word in piece.text.split(|character: char| !character.is_alphanumeric()) {
            let length = word.chars().count();
            let is_fit = (CONTENT_WORD..=LONGEST_WORD).contains(&length) && !refused.contains(&word.to_lowercase());
            if is_fit && taken.len() < WORDS && !taken.iter().any(|known| known.eq_ignore_ascii_case(word)) {
                taken.push(word.to_owned());
            }
        }
    }
    (!taken.is_empty()).then(|| format!("{}{}", taken.join(" "), language_clause(query)))
}

/// Returns the query without refused words; `None` if no word remains.
pub(super) fn build(query: &Query, refused: &HashSet<String>) -> Option<String> {
    let language = language_clause(query);
    let mut built = String::new();
    let mut taken: Vec<String> = Vec::new();
    for Piece { text: piece, is_plain } in pieces(query) {
        if is_plain && taken.len() >= FEWEST_PIECES {
            continue;
        }
        let separator = usize::from(!built.is_empty());
        if taken.len() >= MOST_PIECES || built.len() + separator + piece.len() + language.len() > LONGEST {
            continue;
        }
        let folded = piece.to_lowercase();
        if refused.contains(folded.trim_matches('"')) {
            continue;
        }
        if taken.iter().any(|earlier| earlier.contains(folded.trim_matches('"'))) {
            continue;
        }
        if separator > 0 {
            built.push(' ');
        }
        built.push_str(&piece);
        taken.push(folded);
    }
    if built.is_empty() {
        return None;
    }
    if let Some(domains) = domain_clause(&query.domains, LONGEST - built.len() - language.len()) {
        built.push_str(&domains);
    }
    built.push_str(&language);
    Some(built)
}

/// Returns the cache key: the built query, the domains that are filtered later, and the day of the window. Texts with
/// the same built query share a key.
pub(super) fn cache_key(query: &Query) -> String {
    let Some(built) = build(query, &HashSet::new()) else { return query.cache_key(super::NAME) };
    let mut domains: Vec<String> = query.domains.iter().map(|domain| domain.trim().to_lowercase()).collect();
    domains.sort_unstable();
    let day = query.around.map(|around| around.date_naive().to_string()).unwrap_or_default();
    joined([super::NAME, &built, &domains.join("|"), &day, &query.limit.to_string()])
}

/// Returns the words and phrases most likely to find the subject, best first, for services that search exact phrases.
pub(in crate::providers) fn key_phrases(query: &Query) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for Piece { text, is_plain } in pieces(query) {
        let phrase = text.trim_matches('"');
        let folded = phrase.to_lowercase();
        let is_new = !taken.iter().any(|earlier| earlier.to_lowercase().contains(&folded));
        if is_new && taken.len() < MOST_PIECES && !(is_plain && taken.len() >= FEWEST_PIECES) {
            taken.push(phrase.to_owned());
        }
    }
    taken
}

struct Piece {
    text: String,
    /// Neither a known term, a name nor a number.
    is_plain: bool,
}

/// Returns the pieces of the text, best first: known terms in it, names and numbers, other words. Other terms are the
/// same for all queries of a claim, so they only replace a text without usable words.
fn pieces(query: &Query) -> Vec<Piece> {
    let text: Vec<String> = words(&query.text).map(normalise_query).collect();
    let is_in_text = |term: &&String| {
        let term: Vec<String> = words(term).map(normalise_query).collect();
        !term.is_empty() && text.windows(term.len()).any(|window| window == term)
    };
    let term = |text| Piece { text, is_plain: false };
    let known = query.terms.iter().filter(is_in_text).flat_map(|term| term_pieces(term));
    let mut pieces: Vec<Piece> = known.map(term).collect();
    let has_terms = !pieces.is_empty();
    let rest = content_words(&query.text).into_iter();
    pieces.extend(rest.map(|(text, is_name)| Piece { text, is_plain: has_terms && !is_name }));
    if pieces.is_empty() {
        pieces = query.terms.iter().flat_map(|term| term_pieces(term)).map(term).collect();
    }
    pieces
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || matches!(character, '-' | '.' | '\'' | '’' | 'ʼ')))
        .map(|word| word.trim_matches(|character: char| !character.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// Returns the word, bare or quoted, as GDELT accepts it; `None` if it would be refused.
fn word_piece(word: &str) -> Option<String> {
    // "Ukraine's" becomes "Ukraine". A word with an inner apostrophe (п'ять) cannot be searched.
    let word = match word.split_once(['\'', '’', 'ʼ']) {
        Some((stem, ending)) if ending.chars().count() <= 2 && stem.chars().count() > 2 => stem,
        Some(_) => return None,
        None => word,
    };
    let length = word.chars().count();
    if word.contains(['-', '.']) {
        return (length >= SHORTEST_PHRASE).then(|| format!("\"{word}\""));
    }
    let is_operator = ["or", "and", "not"].iter().any(|operator| word.eq_ignore_ascii_case(operator));
    (length >= SHORTEST_WORD && !is_operator).then(|| word.to_owned())
}

fn term_pieces(term: &str) -> Vec<String> {
    let found: Vec<&str> = words(term).collect();
    let is_phrase = (2..=LONGEST_PHRASE_WORDS).contains(&found.len())
        && found.iter().any(|word| word.chars().count() >= SHORTEST_WORD)
        // Operators are excluded even in quotes.
        && !found.iter().any(|word| matches!(*word, "OR" | "AND" | "NOT"));
    if is_phrase && !term.contains(['\'', '’', 'ʼ']) {
        let phrase = found.join(" ");
        if phrase.chars().count() >= SHORTEST_PHRASE {
            return vec![format!("\"{phrase}\"")];
        }
    }
    found.into_iter().filter_map(word_piece).collect()
}

/// Returns the most specific words of a sentence: names and numbers first, then the longest. The flag marks a name or
/// number.
fn content_words(text: &str) -> Vec<(String, bool)> {
    let mut ranked: Vec<(usize, (String, bool))> = words(text)
        .enumerate()
        .filter_map(|(position, word)| {
            let length = word.chars().count();
            let first = word.chars().next()?;
            let is_name = position > 0 && first.is_uppercase() || first.is_numeric();
            let rank = if is_name { 100 + length } else { length };
            let piece = word_piece(word).filter(|_| is_name || length >= CONTENT_WORD)?;
            Some((rank, (piece, is_name)))
        })
        .collect();
    // A stable sort keeps equal words in text order.
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    ranked.into_iter().map(|(_, piece)| piece).collect()
}

/// Returns ` domainis:a.com` or ` (domainis:a.com OR …)` within `room` bytes.
fn domain_clause(domains: &[String], room: usize) -> Option<String> {
    let mut clauses: Vec<String> = Vec::new();
    let mut length = 3;
    for domain in domains.iter().map(|domain| domain.to_lowercase()).filter(|domain| wire::is_domain(domain)) {
        // Known fault: a domain with a dash finds nothing. The part after the dash works and is filtered later.
        let clause = match domain.rsplit_once('-') {
            Some((_, rest)) => format!("domain:{rest}"),
            None => format!("domainis:{domain}"),
        };
        let added = clause.len() + if clauses.is_empty() { 0 } else { " OR ".len() };
        if length + added <= room && !clauses.contains(&clause) {
            length += added;
            clauses.push(clause);
        }
    }
    // Parentheses are allowed only around OR.
    match clauses.as_slice() {
        [] => None,
        [only] => Some(format!(" {only}")),
        several => Some(format!(" ({})", several.join(" OR "))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(text: &str, terms: &[&str]) -> Query {
        Query {
            text: text.to_owned(),
            terms: terms.iter().map(|term| (*term).to_owned()).collect(),
            language: None,
            domains: Vec::new(),
            around: None,
            limit: 10,
            source_document: None,
        }
    }

    fn built(text: &str, terms: &[&str]) -> Option<String> {
        build(&query(text, terms), &HashSet::new())
    }

    #[test]
    fn terms_become_phrases_and_words() {
        let cases: [(&[&str], &str); 8] = [
            (&["Vizhinjam", "international seaport"], "Vizhinjam \"international seaport\""),
            (&["Bank of England", "rates"], "\"Bank of England\" rates"),
            (&["COVID-19", "OPEC"], "\"COVID-19\" OPEC"),
            (&["F-16", "Kyiv"], "Kyiv"),
            (&["(a OR b)", "to", "x > y", "Odesa!"], "Odesa"),
            (&["Україна", "п'ять", "Kyiv’s"], "Україна Kyiv"),
            (&["\"quoted\" near10:\"z\" tone<-5"], "\"quoted near10 z tone 5\""),
            (&["climate", "Climate"], "climate"),
        ];
        for (terms, expected) in cases {
            assert_eq!(built("", terms).as_deref(), Some(expected), "{terms:?}");
        }
    }

    #[test]
    fn queries_of_one_claim_ask_for_their_own_words() {
        let terms = ["Bank of England", "London", "interest", "rates", "inflation", "5.25"];
        let cases = [
            ("The Bank of England kept interest rates at 5.25 in London", "\"Bank of England\" London interest rates"),
            ("Bank of England London 21 September 2023", "\"Bank of England\" London September 2023"),
            ("inflation Bank of England rates", "\"Bank of England\" rates inflation"),
            // A plain word is added only without alternatives.
            ("Bank of England decided yesterday", "\"Bank of England\" yesterday"),
            ("LONDON, interest and so on", "London interest"),
        ];
        for (text, expected) in cases {
            assert_eq!(built(text, &terms).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_same_words_for_gdelt_are_the_same_question() {
        let terms = ["Vizhinjam", "International Seaport"];
        let key = |text: &str| cache_key(&query(text, &terms));
        let first = key("Customs grants approval to Vizhinjam International Seaport");
        assert_eq!(first, key("Customs grants approval Vizhinjam International Seaport"));
        assert_ne!(first, key("Vizhinjam International Seaport Kerala"));
        let asked = query("Vizhinjam International Seaport", &terms);
        assert_ne!(cache_key(&asked), cache_key(&Query { limit: 11, ..asked.clone() }));
        let others = |domain: &str| Query { domains: vec![domain.into()], ..asked.clone() };
        assert_ne!(cache_key(&others("bad domain")), cache_key(&asked), "what is filtered afterwards counts too");
        assert_ne!(cache_key(&query("!", &[])), first);
    }

    #[test]
    fn without_terms_names_and_numbers_of_the_sentence_are_asked_for() {
        let text = "The governor said on Monday that 1200 people left Mariupol for a while";
        assert_eq!(built(text, &[]).as_deref(), Some("Mariupol Monday 1200 governor"));
        assert_eq!(built("в Києві до неї", &[]).as_deref(), Some("Києві"));
    }

    #[test]
    fn a_text_without_words_is_not_asked() {
        for text in ["", "!!! ???", "a b c", "or and", "И я"] {
            assert_eq!(built(text, &["-", "x"]), None, "{text}");
        }
    }

    #[test]
    fn language_and_domains_come_last() {
        let mut asked = query("", &["election"]);
        asked.language = Some("uk".into());
        asked.domains = vec!["pravda.com.ua".into(), "my-site.org".into(), "bad domain".into()];
        assert_eq!(
            build(&asked, &HashSet::new()).as_deref(),
            Some("election (domainis:pravda.com.ua OR domain:site.org) sourcelang:ukrainian")
        );
        asked.domains.truncate(1);
        asked.language = Some("xx".into());
        assert_eq!(build(&asked, &HashSet::new()).as_deref(), Some("election domainis:pravda.com.ua"));
    }

    proptest! {
        /// For any input: within the length, balanced quotes, no short phrase or word, no refused character.
        #[test]
        fn every_query_built_is_one_gdelt_accepts(
            text in "\\PC{0,300}",
            terms in prop::collection::vec("[\\PC '\"()<>:.-]{0,40}", 0..8),
            language in prop::option::of(prop::sample::select(vec!["en", "uk", "xx"])),
            domains in prop::collection::vec("[a-z]{1,12}(-[a-z]{1,5})?\\.(com|org)", 0..12),
        ) {
            let language = language.map(str::to_owned);
            let asked = Query { text, terms, language, domains, around: None, limit: 5, source_document: None };
            let Some(built) = build(&asked, &HashSet::new()) else { return Ok(()) };
            prop_assert!(built.len() <= LONGEST, "{} bytes: {built}", built.len());
            prop_assert!(built.matches('"').count().is_multiple_of(2), "{built}");
            for (position, part) in built.split('"').enumerate() {
                if position % 2 == 1 {
                    prop_assert!(part.chars().count() >= SHORTEST_PHRASE, "{built}");
                    prop_assert!(part.chars().all(|c| c.is_alphanumeric() || " .-".contains(c)), "{built}");
                    continue;
                }
                let bare = part.split_whitespace().filter(|word| !word.contains("domain") && !word.starts_with("sourcelang:"));
                for word in bare.filter(|word| *word != "OR") {
                    prop_assert!(word.chars().count() >= SHORTEST_WORD && word.chars().all(char::is_alphanumeric), "{built}");
                }
            }
            prop_assert_eq!(built.contains(" OR "), built.contains('('), "{}", built);
        }
    }
}
