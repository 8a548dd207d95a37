//! The words that a search is matched by: enough to compare a query with its claim.

/// English, Russian and Ukrainian words without a topic. Queries contain them only sometimes.
const STOP_WORDS: &[&str] = &[
    "the", "an", "of", "in", "on", "at", "to", "for", "and", "or", "but", "was", "were", "is", "are", "be", "been",
    "by", "with", "from", "as", "that", "this", "it", "its", "his", "her", "he", "she", "they", "their", "had", "has",
    "have", "also", "who", "which", "when", "while", "into", "than", "after", "before", "there", "these", "those",
    "did", "does", "и", "во", "на", "не", "что", "как", "по", "из", "за", "от", "до", "для", "это", "этот", "его",
    "ее", "их", "он", "она", "они", "был", "была", "было", "были", "при", "же", "бы", "со", "об", "но", "или", "та",
    "це", "цей", "що", "як", "від", "його", "її", "їх", "він", "вона", "вони", "був", "була", "було", "були", "із",
    "зі", "але", "або", "у",
];

/// Prefixes of query operators of GDELT and SearxNG.
const OPERATORS: &[&str] =
    &["sourcelang:", "sourcecountry:", "domain:", "domainis:", "site:", "theme:", "near", "repeat", "imagetag:"];

/// Removes `OR` and operators such as `sourcelang:english`.
pub(super) fn without_operators(query: &str) -> String {
    let is_word = |token: &&str| {
        let bare = token.trim_start_matches(['-', '(']).to_lowercase();
        let operator = bare.contains(':') && OPERATORS.iter().any(|prefix| bare.starts_with(prefix));
        !operator && *token != "OR"
    };
    query.split_whitespace().filter(is_word).collect::<Vec<_>>().join(" ")
}

/// Distinct words in order of appearance: lower case, `ё` as `е`, without apostrophes, stop words and single letters.
pub(super) fn content_words(text: &str) -> Vec<String> {
    let folded: String = text
        .chars()
        .filter(|c| !matches!(c, '\'' | '’' | 'ʼ'))
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ё' { 'е' } else { c })
        .collect();
    let mut words: Vec<String> = Vec::new();
    for word in folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let has_meaning = word.chars().nth(1).is_some() || word.chars().all(char::is_numeric);
        if has_meaning && !STOP_WORDS.contains(&word) && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

pub(super) fn overlap(query: &[String], words: &[String]) -> usize {
    query.iter().filter(|wanted| words.iter().any(|word| related(wanted, word))).count()
}

/// Whether two words are equal, or forms of one word: a common beginning of at least 4 letters and 70 % of the longer
/// one. Numbers must be equal.
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
