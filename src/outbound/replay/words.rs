//! The words a search is found by: enough of language to compare a query with the claim it was made from, no more.

/// Words that say nothing of the matter, English, Russian, Ukrainian. They are left out of queries now and kept then, so
/// they must not count.
const STOP_WORDS: &[&str] = &[
    "the", "an", "of", "in", "on", "at", "to", "for", "and", "or", "but", "was", "were", "is", "are", "be", "been",
    "by", "with", "from", "as", "that", "this", "it", "its", "his", "her", "he", "she", "they", "their", "had", "has",
    "have", "also", "who", "which", "when", "while", "into", "than", "after", "before", "there", "these", "those",
    "did", "does", "и", "во", "на", "не", "что", "как", "по", "из", "за", "от", "до", "для", "это", "этот", "его",
    "ее", "их", "он", "она", "они", "был", "была", "было", "были", "при", "же", "бы", "со", "об", "но", "или", "та",
    "це", "цей", "що", "як", "від", "його", "її", "їх", "він", "вона", "вони", "був", "була", "було", "були", "із",
    "зі", "але", "або", "у",
];

/// Prefixes of the operators providers put into a query (GDELT, SearxNG): they narrow it and are not words of the claim.
const OPERATORS: &[&str] =
    &["sourcelang:", "sourcecountry:", "domain:", "domainis:", "site:", "theme:", "near", "repeat", "imagetag:"];

/// The query without `sourcelang:english` and its like, and without `OR`.
pub(super) fn without_operators(query: &str) -> String {
    let is_word = |token: &&str| {
        let bare = token.trim_start_matches(['-', '(']).to_lowercase();
        let operator = bare.contains(':') && OPERATORS.iter().any(|prefix| bare.starts_with(prefix));
        !operator && *token != "OR"
    };
    query.split_whitespace().filter(is_word).collect::<Vec<_>>().join(" ")
}

/// The distinct words of a text in order of first appearance: lower case, `ё` as `е`, apostrophes dropped, without stop
/// words and single letters.
pub(super) fn content_words(text: &str) -> Vec<String> {
    let folded: String = text
        .chars()
        .filter(|c| !matches!(c, '\'' | '’' | 'ʼ'))
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ё' { 'е' } else { c })
        .collect();
    let mut words: Vec<String> = Vec::new();
    for word in folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let says_something = word.chars().nth(1).is_some() || word.chars().all(char::is_numeric);
        if says_something && !STOP_WORDS.contains(&word) && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// How many of the query's words the others hold.
pub(super) fn overlap(query: &[String], words: &[String]) -> usize {
    query.iter().filter(|wanted| words.iter().any(|word| related(wanted, word))).count()
}

/// Equal, or two forms of one word: a shared beginning of at least 4 letters and 70 % of the longer one. Inflection and
/// stemming change endings in all three languages. Numbers are only equal.
fn related(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    if one.chars().chain(other.chars()).any(char::is_numeric) {
        return false;
    }
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    shared >= 4 && shared * 10 >= longer * 7
}
