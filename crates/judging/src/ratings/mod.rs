//! Maps a fact-checker's rating to a class: "Mostly False", "Pants on Fire!", "Манипуляция".
//!
//! Uses labels, because numeric scales are often inverted, constant or missing. Unknown texts are `Unknown`. To add a
//! label, extend `ratings.tsv` of its language in the lexicon; languages may differ ("impreciso").

#[cfg(test)]
mod test_data;

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

use corroborate_domain::verdict::RatingClass;

use corroborate_language::lexicon::{self, Parts, Words};
use corroborate_language::{is_emoji, stopwords};

/// Words that take a label back: "however", "за исключением".
static CONCESSIONS: Words = Words::of("ratings.but");
/// Answers to a headline's question ("No, this is real"). They are labels only alone.
static ANSWER: Words = Words::of("ratings.answer");
/// Words before a speaker: "says the ministry".
static ATTRIBUTION: Words = Words::of("ratings.attribution");
static ARTICLE: Words = Words::of("statements.frames.article");

/// Language tried second. Publishers everywhere write "Fake", and the tag is often the site's.
const FALLBACK_LANGUAGE: &str = "en";

/// Labels by language, and for all languages; `None` if they disagree.
struct Labels {
    by_language: HashMap<(&'static str, &'static str), RatingClass>,
    anywhere: HashMap<&'static str, Option<RatingClass>>,
    longest: usize,
}

fn class_named(name: &str) -> Option<RatingClass> {
    Some(match name {
        "true" => RatingClass::True,
        "mostly_true" => RatingClass::MostlyTrue,
        "mixed" => RatingClass::Mixed,
        "misleading" => RatingClass::Misleading,
        "false" => RatingClass::False,
        "unproven" => RatingClass::Unproven,
        "satire" => RatingClass::Satire,
        "none" => RatingClass::None,
        _ => return None,
    })
}

static LABELS: LazyLock<Labels> = LazyLock::new(|| {
    let mut labels = Labels { by_language: HashMap::new(), anywhere: HashMap::new(), longest: 0 };
    for entry in lexicon::entries("ratings.label") {
        let (label, Some(class)) = (entry.form, class_named(entry.value)) else { continue };
        labels.by_language.insert((entry.language, label), class);
        labels.longest = labels.longest.max(label.split(' ').count());
        labels
            .anywhere
            .entry(label)
            .and_modify(|known| {
                if *known != Some(class) {
                    *known = None;
                }
            })
            .or_insert(Some(class));
    }
    labels
});

/// Classifies a rating. `language` is ISO 639-1, optionally with a region.
///
/// Tries the whole label, then its parts around `/`, `,`, `&` or "and" without a prefix, then its first words, longest
/// first. A label with a remark that may take it back is `Unknown`.
pub fn classify(rating: &str, language: Option<&str>) -> RatingClass {
    classify_without(rating, language, None)
}

/// [`classify`] without one normalised label, to measure the rules alone.
fn classify_without(rating: &str, language: Option<&str>, held_out: Option<&str>) -> RatingClass {
    let label = normalise(rating);
    if label.is_empty() {
        return RatingClass::Unknown;
    }
    let primary = language.and_then(|tag| tag.split(['-', '_']).next()).map(str::to_lowercase);
    let context = LookupContext { language: primary.as_deref(), held_out };
    let stripped = without_prefix(&label);
    for candidate in [label.as_str(), stripped, without_article(stripped)] {
        if let Some(class) = look_up(candidate, context) {
            return class;
        }
    }
    if let Some(class) = composite(stripped, context) {
        return class;
    }
    if let Some(class) = graded(stripped) {
        return class;
    }
    if let Some(class) = opening(stripped, context) {
        return class;
    }
    // Turkish KISMEN is kısmen, not kismen.
    if matches!(context.language, Some("tr" | "az")) && rating.contains('I') {
        return classify_without(&rating.replace('I', "ı"), language, held_out);
    }
    RatingClass::Unknown
}

/// Applies NFKC, lower case, single spaces, straight apostrophes and `ё` as `е`; removes emoji, outer quotation marks
/// and a final `.!…:`.
fn normalise(rating: &str) -> String {
    let folded: String = rating
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '’' | '‘' | 'ʼ' | '`' | '´' => '\'',
            'ё' => 'е',
            '–' | '—' | '‑' => '-',
            c if is_emoji(c) => ' ',
            c => c,
        })
        // The dot above is from a Turkish İ.
        .filter(|c| !matches!(c, '\u{0307}' | '\u{feff}' | '\u{00ad}' | '\u{200b}'))
        .collect();
    let spaced = folded.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut label = spaced.as_str();
    loop {
        let trimmed = label.trim_matches(|c: char| matches!(c, '"' | '“' | '”' | '«' | '»' | '„' | '*' | ' '));
        let trimmed = trimmed.trim_end_matches(['.', '!', '…', ':', ';', ',']).trim_end();
        let inner = |open: char, close: char| trimmed.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        let trimmed = inner('[', ']').or_else(|| inner('\'', '\'')).unwrap_or(trimmed);
        if trimmed == label {
            return label.replace("half-", "half ").replace("mostly-", "mostly ").replace(" / ", "/");
        }
        label = trimmed;
    }
}

/// Removes "Rating by Fact Crescendo:", "Verdict:", "Үкім:".
fn without_prefix(label: &str) -> &str {
    static PREFIX_WORDS: Words = Words::of("ratings.prefix");
    let Some((head, rest)) = label.split_once([':', '|']) else {
        return label;
    };
    let named = PREFIX_WORDS.has(head) || head.split(' ').any(|part| PREFIX_WORDS.has(part));
    // A prefix has few words.
    if named && head.split(' ').count() <= 5 { rest.trim() } else { label }
}

fn without_article(label: &str) -> &str {
    label.split_once(' ').filter(|(first, _)| ARTICLE.has(first)).map_or(label, |(_, rest)| rest)
}

#[derive(Clone, Copy)]
struct LookupContext<'a> {
    language: Option<&'a str>,
    held_out: Option<&'a str>,
}

/// Looks up a label in its language, the fallback, or all languages that agree.
fn look_up(label: &str, context: LookupContext<'_>) -> Option<RatingClass> {
    let labels = &*LABELS;
    if context.held_out == Some(label) {
        return None;
    }
    if let Some(language) = context.language {
        if let Some(class) = labels.by_language.get(&(language, label) as &(&str, &str)) {
            return Some(*class);
        }
        if let Some(class) = labels.by_language.get(&(FALLBACK_LANGUAGE, label) as &(&str, &str)) {
            return Some(*class);
        }
    }
    *labels.anywhere.get(label)?
}

/// Classifies a label of several parts, which must all be known and fit together.
fn composite(label: &str, context: LookupContext<'_>) -> Option<RatingClass> {
    let spaced =
        label.replace(" and ", "/").replace(" & ", "/").replace(" и ", "/").replace(" та ", "/").replace(" e ", "/");
    let parts: Vec<&str> =
        spaced.split(['/', ',', ';', '+', '|', '&']).map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 {
        return None;
    }
    let classes: Vec<RatingClass> = parts.iter().map(|part| look_up(part, context)).collect::<Option<_>>()?;
    let class = combined(&classes);
    // "No, it's true" answers a question; "true and false" is a label.
    let is_answer = class == RatingClass::Mixed && !classes.contains(&class) && label.contains([',', ';']);
    Some(if is_answer { RatingClass::Unknown } else { class })
}

fn combined(classes: &[RatingClass]) -> RatingClass {
    let has = |class| classes.contains(&class);
    let untrue = has(RatingClass::False);
    let holds = has(RatingClass::True) || has(RatingClass::MostlyTrue);
    if has(RatingClass::Satire) {
        RatingClass::Satire
    } else if untrue && holds {
        RatingClass::Mixed
    } else if has(RatingClass::Mixed) && has(RatingClass::Misleading) {
        RatingClass::Misleading
    } else if has(RatingClass::Mixed) {
        RatingClass::Mixed
    } else if untrue {
        RatingClass::False
    } else if has(RatingClass::Misleading) {
        RatingClass::Misleading
    } else if has(RatingClass::Unproven) {
        // "No verdict, technical error": a remark does not settle an open case.
        RatingClass::Unproven
    } else if !holds {
        classes.first().copied().unwrap_or(RatingClass::Unknown)
    } else if has(RatingClass::None) {
        // "True, opinion"
        RatingClass::Unknown
    } else if has(RatingClass::MostlyTrue) {
        RatingClass::MostlyTrue
    } else {
        RatingClass::True
    }
}

/// Counted labels: "4 Pinocchios".
fn graded(label: &str) -> Option<RatingClass> {
    let (count, rest) = label.split_once(' ')?;
    if !matches!(rest, "pinocchio" | "pinocchios") {
        return None;
    }
    match count {
        "1" => Some(RatingClass::MostlyTrue),
        "2" => Some(RatingClass::Mixed),
        "3" | "4" | "5" => Some(RatingClass::False),
        _ => None,
    }
}

/// Classifies by the first words, longest first, before punctuation or about the claim ("this is false …"); not "False
/// teeth were found".
fn opening(label: &str, context: LookupContext<'_>) -> Option<RatingClass> {
    const MARKS: [char; 7] = ['.', ',', '!', ':', ';', '-', '…'];
    let words: Vec<&str> = label.split(' ').collect();
    let longest = LABELS.longest.min(words.len().saturating_sub(1));
    for count in (1..=longest).rev() {
        let (head, rest) = words.split_at_checked(count)?;
        let (head, rest) = (head.join(" "), rest.join(" "));
        let bare = head.trim_end_matches(MARKS).trim_end();
        let ends = bare.len() < head.len() || rest.starts_with("- ") || rest.starts_with('(');
        let is_about_claim = count >= 2 && CLAIM_OPENINGS.begins(bare);
        if !(ends || is_about_claim) || ANSWER.has(bare) {
            continue;
        }
        let Some(class) = look_up(bare, context) else { continue };
        let stays = match class {
            RatingClass::True | RatingClass::MostlyTrue => confirms(&rest, head.ends_with(':'), context),
            _ => !takes_back(&rest, context),
        };
        return Some(if stays { class } else { RatingClass::Unknown });
    }
    None
}

/// The clauses of a remark, each as words.
fn clauses(rest: &str) -> impl Iterator<Item = Vec<&str>> {
    let clauses = rest.split([',', '.', '!', ':', ';', '…', '(', ')']).flat_map(|part| part.split(" - "));
    clauses
        .map(|clause| clause.split([' ', '"', '“', '”', '«', '»']).filter(|word| !matches!(*word, "" | "-")).collect())
        .filter(|words: &Vec<&str>| !words.is_empty())
}

fn opens_with(list: &Words, words: &[&str]) -> bool {
    list.has_this(words.first().copied()) || list.phrase_at(words) > 0
}

/// True if a remark after "false" or "misleading" may say the opposite: "however …", "it is true", a question.
fn takes_back(rest: &str, context: LookupContext<'_>) -> bool {
    let is_true = |words: &[&str]| {
        matches!(look_up(&words.join(" "), context), Some(RatingClass::True | RatingClass::MostlyTrue))
    };
    rest.contains('?') || clauses(rest).any(|words| opens_with(&CONCESSIONS, &words) || is_true(&words))
}

/// True if a remark after "true" takes nothing back: it repeats the label, names a speaker, or is the claim after a
/// colon. A figure, a condition or other words can limit the label to less than the claim.
fn confirms(rest: &str, is_after_colon: bool, context: LookupContext<'_>) -> bool {
    let limits =
        |words: &[&str]| (0..words.len()).any(|at| opens_with(&CONCESSIONS, words.get(at..).unwrap_or_default()));
    let has_figure = rest.contains(|letter: char| letter.is_numeric());
    if rest.contains('?') || has_figure || clauses(rest).any(|words| limits(&words)) {
        return false;
    }
    let repeats = |words: &[&str]| look_up(&words.join(" "), context) == Some(RatingClass::True);
    let names_speaker = |words: &[&str]| words.len() <= MAX_ATTRIBUTION && opens_with(&ATTRIBUTION, words);
    if clauses(rest).all(|words| repeats(&words) || names_speaker(&words)) {
        return true;
    }
    // "TRUE: the bridge fell", not "true: for men".
    is_after_colon
        && clauses(rest).all(|words| words.len() >= MIN_SENTENCE)
        && clauses(rest).take(1).flatten().take(1).all(|word| ARTICLE.has(word) || !stopwords::is_stop_word(word, None))
}

/// Words of "says the ministry of health of Larn".
const MAX_ATTRIBUTION: usize = 7;
/// Fewer words are no sentence.
const MIN_SENTENCE: usize = 3;

/// Openings about the claim itself.
static CLAIM_OPENINGS: Parts = Parts::of("ratings.spoken");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_mean_what_their_publishers_mean() {
        let cases = [
            ("False", Some("en"), RatingClass::False),
            ("  PANTS ON FIRE! ", Some("en"), RatingClass::False),
            ("Mostly False", Some("en"), RatingClass::False),
            ("Mostly-Correct", Some("en"), RatingClass::MostlyTrue),
            ("Half-True", Some("en-US"), RatingClass::Mixed),
            ("Not true", None, RatingClass::False),
            ("Rating by Fact Crescendo: False", Some("en"), RatingClass::False),
            ("4 Pinocchios", Some("en"), RatingClass::False),
            ("This is wrong. The figure is for 2019.", Some("en"), RatingClass::False),
            ("Неправда", Some("uk"), RatingClass::False),
            ("Правда", Some("uk"), RatingClass::True),
            ("полуправда", Some("ru"), RatingClass::Mixed),
            ("манипуляция и ложь", Some("ru"), RatingClass::False),
            ("Größtenteils falsch", Some("de"), RatingClass::False),
            ("inexact", Some("fr"), RatingClass::Mixed),
            ("INEXACTO", Some("es"), RatingClass::MostlyTrue),
            ("Impreciso", Some("pt-BR"), RatingClass::Mixed),
            ("Impreciso", Some("es"), RatingClass::Unproven),
            ("Fake", Some("xx"), RatingClass::False),
            ("Falso", None, RatingClass::False),
            ("YANLIŞ", Some("tr"), RatingClass::False),
            ("KISMEN DOĞRU", Some("tr"), RatingClass::Mixed),
            ("Misleading/Partly False", Some("en"), RatingClass::Misleading),
            ("True, but", Some("en"), RatingClass::MostlyTrue),
            ("✅ TRUE", Some("en"), RatingClass::True),
            ("A hoax", Some("en"), RatingClass::False),
            ("'False'", Some("en"), RatingClass::False),
            ("Explainer", Some("en"), RatingClass::None),
            ("Labeled Satire", Some("en"), RatingClass::Satire),
        ];
        for (rating, language, class) in cases {
            assert_eq!(classify(rating, language), class, "{rating}");
        }
    }

    #[test]
    fn what_no_rule_knows_is_unknown_and_never_a_verdict() {
        let cases = [
            "",
            "   ",
            "?",
            "5",
            "3/5",
            "false teeth were found in the lake",
            "impossible",
            "not false",
            "the true cost of the war",
            "nothing here is a rating true",
            "correctional facility",
            "true crime series returns",
            "unfalse",
            "no false claims were made",
        ];
        for rating in cases {
            assert_eq!(classify(rating, Some("en")), RatingClass::Unknown, "{rating:?}");
        }
        assert_eq!(classify("impreciso", None), RatingClass::Unknown);
    }

    #[test]
    fn a_true_label_is_unknown_when_a_remark_may_take_it_back() {
        let cases = [
            "True, although in 2014",
            "True, except for the date",
            "True, but exaggerated",
            "True; the figure is from 2014",
            "True - for 2014",
            "True: for men",
            "True: the bridge fell, however in Chile",
            "True, opinion",
            "True, says the ministry; the police deny it",
            "True, says only the ministry",
            "Correct. The video, however, is from Chile",
            "Correct, until last year",
            "Mostly true. The date is wrong.",
            "Yes, unless you count children",
            "This is true of men",
            "Правда, однако снято в 2014 году",
            "Правда. Видео при этом снято в Чили",
            "Верно, если считать только сельские участки",
            "Правда, за исключением даты",
            "Правда, хоча відео старе",
            "Правда, окрім дати",
            "Правда, проте це сталося 2014 року",
            "Prawda, ale w innym kraju",
        ];
        for rating in cases {
            for language in [None, Some("en"), Some("ru"), Some("uk")] {
                assert_eq!(classify(rating, language), RatingClass::Unknown, "{rating}");
            }
        }
    }

    #[test]
    fn a_false_label_is_unknown_when_a_remark_may_say_the_opposite() {
        let cases = [
            "No, it is real",
            "No, it's true",
            "Fake, or is it?",
            "False. However, the video is real",
            "Фейк. Это правда",
            "Ложь, если не считать видео",
            "Ні, це правда",
        ];
        for rating in cases {
            assert_eq!(classify(rating, None), RatingClass::Unknown, "{rating}");
        }
    }

    #[test]
    fn a_label_keeps_its_class_when_its_remark_takes_nothing_back() {
        let cases = [
            ("TRUE: the bridge fell", RatingClass::True),
            ("True. This is true.", RatingClass::True),
            ("True, says the ministry", RatingClass::True),
            ("Правда, сообщает полиция", RatingClass::True),
            ("Правда, підтверджують у міністерстві", RatingClass::True),
            ("False, says the ministry", RatingClass::False),
            ("Ложь, мост стоит", RatingClass::False),
            ("Фейк. Відео зняли у 2014 році", RatingClass::False),
            ("Misleading: the photo is from 2014", RatingClass::Misleading),
            ("True and false", RatingClass::Mixed),
        ];
        for (rating, class) in cases {
            assert_eq!(classify(rating, None), class, "{rating}");
        }
    }

    #[test]
    fn label_is_unique_in_its_language() {
        let mut seen = HashMap::new();
        for entry in lexicon::entries("ratings.label") {
            assert!(class_named(entry.value).is_some(), "{}: {} is no class", entry.form, entry.value);
            assert_eq!(normalise(entry.form), entry.form, "the table keeps normalised labels");
            let before = seen.insert((entry.language, entry.form), entry.value);
            assert_eq!(before, None, "{}: {}", entry.language, entry.form);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_class(rating in "\\PC{0,60}", language in prop::option::of("[a-z]{2}")) {
            let class = classify(&rating, language.as_deref());
            prop_assert_eq!(class, classify(&format!("  {rating} "), language.as_deref()));
        }
    }
}
