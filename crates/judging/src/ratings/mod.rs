//! What a fact-checker's words mean: "Mostly False", "Pants on Fire!", "Манипуляция", "#NÃOÉBEMASSIM" → a class.
//!
//! Labels first, numbers never: scales are inverted, constant or missing too often to be believed. A text no rule knows
//! is `Unknown`, never a verdict by default. To add a label: `ratings.tsv` of its
//! language in the lexicon; a label may stand in several languages with different classes ("impreciso").

#[cfg(test)]
mod measured;

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

use corroborate_domain::verdict::RatingClass;

use corroborate_language::lexicon::{self, Parts, Words};

static BUT: Words = Words::of("ratings.but");

/// Languages whose labels are tried, in this order, when the rating's own language knows none: publishers everywhere
/// write "Fake", and a language tag is often the site's rather than the label's.
const FALLBACK: &str = "en";

/// Labels by language, and all languages' labels together; `None` there where languages disagree.
struct Labels {
    by_language: HashMap<(&'static str, &'static str), RatingClass>,
    anywhere: HashMap<&'static str, Option<RatingClass>>,
    /// Words in the longest label: no longer opening of a sentence need be tried.
    longest: usize,
}

/// The class that the lexicon writes behind a label.
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

/// The class of a rating as its publisher wrote it. `language` is an ISO 639-1 code, with or without a region.
///
/// The whole label is looked up first; then, after a publisher's prefix ("Rating by …:") is gone, its parts around
/// `/`, `,`, `&` or "and"; then its opening words, longest first, but never words from the middle of a sentence.
pub fn classify(rating: &str, language: Option<&str>) -> RatingClass {
    classify_without(rating, language, None)
}

/// The same as if one label (normalised) were not in the table: what the rules alone make of it.
fn classify_without(rating: &str, language: Option<&str>, held_out: Option<&str>) -> RatingClass {
    let label = normalise(rating);
    if label.is_empty() {
        return RatingClass::Unknown;
    }
    let primary = language.and_then(|tag| tag.split(['-', '_']).next()).map(str::to_lowercase);
    let known = Known { language: primary.as_deref(), held_out };
    let stripped = without_prefix(&label);
    for candidate in [label.as_str(), stripped] {
        if let Some(class) = look_up(candidate, known) {
            return class;
        }
    }
    if let Some(class) = composite(stripped, known) {
        return class;
    }
    if let Some(class) = graded(stripped) {
        return class;
    }
    if let Some(class) = opening(stripped, known) {
        return class;
    }
    // Capitals of Turkish have two i: KISMEN is kısmen, where lower-casing elsewhere says kismen.
    if matches!(known.language, Some("tr" | "az")) && rating.contains('I') {
        return classify_without(&rating.replace('I', "ı"), language, held_out);
    }
    RatingClass::Unknown
}

/// NFKC, lower case, single spaces, straight apostrophes, `ё` as `е`, no quotation marks around and no `.!…:` at the end.
fn normalise(rating: &str) -> String {
    let folded: String = rating
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '’' | '‘' | 'ʼ' | '`' | '´' => '\'',
            'ё' => 'е',
            '–' | '—' | '‑' => '-',
            // What lower-casing leaves of a Turkish İ.
            c => c,
        })
        .filter(|c| !matches!(c, '\u{0307}' | '\u{feff}' | '\u{00ad}' | '\u{200b}'))
        .collect();
    let spaced = folded.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut label = spaced.as_str();
    loop {
        let trimmed = label.trim_matches(|c: char| matches!(c, '"' | '“' | '”' | '«' | '»' | '„' | '*' | ' '));
        let trimmed = trimmed.trim_end_matches(['.', '!', '…', ':', ';', ',']).trim_end();
        let trimmed = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(trimmed);
        if trimmed == label {
            return label.replace("half-", "half ").replace("mostly-", "mostly ").replace(" / ", "/");
        }
        label = trimmed;
    }
}

/// The label behind "Rating by Fact Crescendo:", "Verdict:", "Үкім:" and the like.
fn without_prefix(label: &str) -> &str {
    static PREFIX_WORDS: Words = Words::of("ratings.prefix");
    let Some((head, rest)) = label.split_once([':', '|']) else {
        return label;
    };
    let named = PREFIX_WORDS.has(head) || head.split(' ').any(|part| PREFIX_WORDS.has(part));
    // A prefix is a few words; a colon after a sentence is punctuation.
    if named && head.split(' ').count() <= 5 { rest.trim() } else { label }
}

/// Where a label is looked for.
#[derive(Clone, Copy)]
struct Known<'a> {
    language: Option<&'a str>,
    held_out: Option<&'a str>,
}

/// A whole label in its own language, in the fallback's, or in whichever languages agree on it.
fn look_up(label: &str, known: Known<'_>) -> Option<RatingClass> {
    let labels = &*LABELS;
    if known.held_out == Some(label) {
        return None;
    }
    if let Some(language) = known.language {
        if let Some(class) = labels.by_language.get(&(language, label) as &(&str, &str)) {
            return Some(*class);
        }
        if let Some(class) = labels.by_language.get(&(FALLBACK, label) as &(&str, &str)) {
            return Some(*class);
        }
    }
    *labels.anywhere.get(label)?
}

/// A label of several parts: each must be known, and together they must make sense.
fn composite(label: &str, known: Known<'_>) -> Option<RatingClass> {
    let spaced =
        label.replace(" and ", "/").replace(" & ", "/").replace(" и ", "/").replace(" та ", "/").replace(" e ", "/");
    let parts: Vec<&str> =
        spaced.split(['/', ',', ';', '+', '|', '&']).map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 {
        return None;
    }
    let classes: Vec<Option<RatingClass>> = parts.iter().map(|part| look_up(part, known)).collect();
    // "фейк, … не делала такого заявления": a label, then words about the case. Only after a comma, and only if what
    // follows is no label that would change the first.
    if let [Some(first), rest @ ..] = classes.as_slice()
        && rest.iter().all(Option::is_none)
        && label.contains(',')
        && !turns(parts.get(1).copied().unwrap_or_default())
    {
        return Some(*first);
    }
    let classes: Vec<RatingClass> = classes.into_iter().collect::<Option<_>>()?;
    Some(combined(&classes))
}

/// Words after a comma that take the label before them back.
fn turns(rest: &str) -> bool {
    let first = rest.split(' ').next().unwrap_or_default();
    BUT.has(first)
}

/// Parts of one label together.
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
        // "No verdict, technical error": what was left open is not settled by a remark.
        RatingClass::Unproven
    } else if has(RatingClass::MostlyTrue) {
        RatingClass::MostlyTrue
    } else {
        classes.first().copied().unwrap_or(RatingClass::Unknown)
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

/// A sentence is known by its opening, longest first, and only where the opening stands for itself: followed by
/// punctuation, or spoken of the claim ("this is false …"). "False teeth were found" says nothing.
fn opening(label: &str, known: Known<'_>) -> Option<RatingClass> {
    let words: Vec<&str> = label.split(' ').collect();
    let longest = LABELS.longest.min(words.len().saturating_sub(1));
    for count in (1..=longest).rev() {
        let head = words.get(..count)?.join(" ");
        let bare = head.trim_end_matches(['.', ',', '!', ':', ';', '-', '…']).trim_end();
        let ends =
            bare.len() < head.len() || words.get(count).is_some_and(|next| *next == "-" || next.starts_with('('));
        let spoken = count >= 2 && SPOKEN.begins(bare);
        if !(ends || spoken) {
            continue;
        }
        let next = words.get(count).copied().unwrap_or_default();
        if turns(next) {
            // "True, but …" is a label of its own in several languages; elsewhere the rest takes it back.
            return look_up(&format!("{bare}, {next}"), known).or(Some(RatingClass::Unknown));
        }
        if let Some(class) = look_up(bare, known) {
            // "True (with inaccuracies)" is less than true.
            let is_qualified = class == RatingClass::True && next.starts_with('(');
            return Some(if is_qualified { RatingClass::Unknown } else { class });
        }
    }
    None
}

/// Openings that speak of the claim itself.
static SPOKEN: Parts = Parts::of("ratings.spoken");

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
            ("True, but exaggerated", Some("en"), RatingClass::MostlyTrue),
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
        // One word, two languages, two meanings.
        assert_eq!(classify("impreciso", None), RatingClass::Unknown);
    }

    #[test]
    fn no_label_stands_twice_in_one_language() {
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
