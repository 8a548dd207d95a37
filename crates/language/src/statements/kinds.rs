//! What kind of statement a sentence is, and the checkable part of a mixed one.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::clean::pattern;
use crate::entities::{EntityKind, entities};
use crate::tokens::{self, Token};
use crate::{has_cyrillic, numbers};
use corroborate_domain::ClaimKind;

/// "I think", "по-моему", "на мою думку": the speaker's own view follows.
static OWN_VIEW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?-u:\b)(?:i|we) (?:(?:really|strongly|personally|honestly|truly|still|just) )?(?:think|believe|feel|guess|suppose|hope|wish|love|like|hate|prefer|doubt|want)(?-u:\b)|(?-u:\b)in my (?:humble )?(?:opinion|view)(?-u:\b)|(?-u:\b)imh?o(?-u:\b)|(?-u:\b)to my mind(?-u:\b)|(?-u:\b)if you ask me(?-u:\b)|(?:^|[\s,])(?:я|мы) (?:\S+ )?(?:считаю|считаем|думаю|думаем|полагаю|полагаем|верю|надеюсь|уверен|уверена|уверены|люблю|ненавижу|хочу)(?:[\s,]|$)|по-моему|по моему мнению|на мой взгляд|мне кажется|как по мне|я вважаю|ми вважаємо|я думаю|я гадаю|я вірю|я сподіваюся|на мою думку|на мій погляд|мені здається|як на мене|по-моєму",
    )
});

/// How the speaker feels about what follows; it goes, and what follows is judged by itself.
static ATTITUDE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:honestly|personally|frankly|sadly|unfortunately|fortunately|luckily|thankfully|of course|obviously|clearly|needless to say|честно говоря|честно|к сожалению|к счастью|слава богу|увы|конечно|разумеется|очевидно|чесно кажучи|на жаль|на щастя|слава богу|звісно|звичайно|очевидно), (.+)$",
    )
});

/// "should", "нужно", "варто": what ought to be is no fact.
static OUGHT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?-u:\b)(?:should(?:n't)?|ought to|deserves?|let's|needs? to (?:stop|resign|act))(?-u:\b)|(?:^|\s)(?:следует|стоит|надо|нужно|пора|должен|должна|должны|варто|треба|слід|потрібно|повинен|повинна|повинні)(?:\s|$)",
    )
});

/// "The worst attack since 1994", "худший результат с 2014 года": what is the best or worst of a stretch of time is counted.
static MEASURED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:best|worst|greatest|лучш|худш|наихудш|наилучш|найкращ|найгірш)(?s:.){0,90}?(?:(?-u:\b)since (?:at least )?\d|in (?:more than |over |nearly |at least )?[\w-]+ (?:years|decades|months)|(?:^|\s)(?:с|з|із) \d{4}|за (?:последн|останн|всю историю|всю історію|\d))",
    )
});

/// Words that judge. Superlatives of size, age and number measure and are not among them.
const JUDGING: &str = "best worst greatest awesome amazing awful terrible horrible wonderful fantastic brilliant beautiful ugly boring interesting stupid \
    disgrace shame nonsense dumb smart great good bad nice lovely pathetic disgusting disgraceful shameful evil incredible magnificent ridiculous silly funny cool \
    overrated underrated perfect delicious tasty fun inspiring heroic cowardly wise foolish excellent superb \
    лучший лучшая лучшее лучшие лучшего лучшей лучшим лучших худший худшая худшее худшие худшего худшей наилучший прекрасный прекрасная прекрасное прекрасен \
    прекрасна ужасный ужасная ужасное ужасен ужасна отличный отличная отвратительный отвратительная замечательный замечательная красивый \
    красивая красивейший плохой плохая плохое плохие хороший хорошая хорошее хорошие глупый глупая скучный скучная интересный интересная великолепный \
    великолепная позорный позорная мерзкий гениальный гениальная великий великая идеальный идеальная вкусный вкусная позор безобразие кошмар \
    найкращий найкраща найкраще найкращі найкращого найкращої найгірший найгірша найгірше найгірші чудовий чудова чудове жахливий жахлива жахливе гарний гарна гарне \
    поганий погана погане огидний огидна прекрасний прекрасна ганебний геніальний геніальна ідеальний цікавий цікава нудний нудна ганьба жах неподобство";

static JUDGING_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| JUDGING.split_whitespace().collect());

/// Words that only make a judgement stronger or set its frame.
const FRAMES: &str = "most very really so too extremely absolutely truly ever all time times world history earth planet today now самый самая самое самые самого самой \
    очень всех времен мире в истории свете найбільш дуже всіх часів світі історії";

static FRAME_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| FRAMES.split_whitespace().collect());

const COPULAS: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "isn't",
    "wasn't",
    "remains",
    "look",
    "looks",
    "looked",
    "seem",
    "seems",
    "sounds",
    "это",
    "це",
    "является",
    "являются",
    "был",
    "была",
    "было",
    "были",
    "есть",
    "є",
    "був",
    "була",
    "було",
    "були",
];

/// The kind of a sentence, and the text to check where that is not the sentence itself.
pub(super) struct Judged {
    pub(super) kind: ClaimKind,
    pub(super) factual_part: Option<String>,
}

/// Decides the kind. `resolved` tells that a leading pronoun was replaced by the name it stands for.
pub(super) fn judge(sentence: &str, language: Option<&str>, resolved: bool) -> Judged {
    let all = tokens::tokens(sentence, language);
    let plain = |kind| Judged { kind, factual_part: None };
    if let Some(rest) = ATTITUDE.captures(sentence).and_then(|found| found.get(1)) {
        let rest = super::capitalised(rest.as_str());
        let judged = judge(&rest, language, resolved);
        return Judged { factual_part: Some(judged.factual_part.unwrap_or(rest)), ..judged };
    }
    if let Some(rest) = without_aside(sentence) {
        return match judge(&rest, language, resolved) {
            Judged { kind: ClaimKind::Factual, factual_part } => {
                Judged { kind: ClaimKind::Mixed, factual_part: Some(factual_part.unwrap_or(rest)) }
            }
            judged => judged,
        };
    }
    if let Some(view) = OWN_VIEW.find(sentence) {
        // "I think it opened in 1991": the figure can be checked, and the frame goes.
        let rest = after_frame(sentence, view.end());
        let checkable = rest
            .as_deref()
            .is_some_and(|rest| states_something(rest, language) && !judges(rest, language) && !ought(rest));
        let wish = [" want", " hope", " wish", " love", " like", " hate", " prefer"]
            .iter()
            .any(|verb| view.as_str().contains(verb));
        return match rest.filter(|_| checkable && !wish && view.start() == 0) {
            Some(rest) => Judged { kind: ClaimKind::Mixed, factual_part: Some(rest) },
            None => plain(ClaimKind::Opinion),
        };
    }
    if let Some(split) = two_clauses(sentence, language) {
        return split;
    }
    if let Some(position) = judging_position(&all).filter(|_| !MEASURED.is_match(sentence)) {
        if let Some(factual) = without_judgement(sentence, &all, position) {
            return Judged { kind: ClaimKind::Mixed, factual_part: Some(factual) };
        }
        if is_predicate(sentence, &all, position) {
            return plain(ClaimKind::Opinion);
        }
    }
    if ought(sentence) && numbers::quantities(sentence, language).is_empty() {
        return plain(ClaimKind::Opinion);
    }
    if !resolved && is_vague(&all) {
        return plain(ClaimKind::Ambiguous);
    }
    plain(ClaimKind::Factual)
}

fn judges(text: &str, language: Option<&str>) -> bool {
    judging_position(&tokens::tokens(text, language)).is_some()
}

/// Views with a verb: what follows is what is thought, not a part of the sentence around it.
const VERBAL: &[&str] = &["i ", "we ", "я ", "мы ", "ми ", "мне ", "мені "];

/// Beginnings that need a clause behind them: "As president".
const OPENING: &str = "as in on at by for from with after before since during despite under while when if because although \
    в на по при после до с из как если когда хотя у після з із як якщо коли хоча";

/// "Elon Musk, in my opinion the greatest man alive, bought Twitter": the sentence without what stands between the commas.
/// Where a comma does not close the view itself, the view may have begun the clause ("As president, I believe the bill,
/// signed in May, failed").
fn without_aside(sentence: &str) -> Option<String> {
    let found = OWN_VIEW.find(sentence)?;
    let view = found.as_str().trim_end_matches([',', ' ']);
    let (before, behind) = (sentence.get(..found.start())?, sentence.get(found.start() + view.len()..)?);
    let opens = if view.starts_with(',') { before } else { before.trim_end().strip_suffix(',')? };
    let first = opens.split_whitespace().next()?.to_lowercase();
    let (aside, rest) = behind.split_once(',')?;
    let view = view.trim_start_matches([',', ' ']).to_lowercase();
    let goes_on = ["that ", "что ", "що "].iter().any(|word| rest.trim_start().starts_with(word));
    let begins_the_clause = goes_on
        || !aside.trim().is_empty()
            && (VERBAL.iter().any(|verb| view.starts_with(verb))
                || OPENING.split_whitespace().any(|word| word == first));
    (!begins_the_clause && rest.split_whitespace().count() >= 2).then(|| format!("{opens}{rest}"))
}

/// What may be, will be or would be.
const OPEN: &str = "will would could might may can won't going if better never always будет будут может могут мог если бы лучше \
    буде будуть може можуть якщо би краще";

/// A figure, or a person, an organisation or a place of which something is told that has happened or is so.
fn states_something(text: &str, language: Option<&str>) -> bool {
    let named = || entities(text, language, &[]).iter().any(|name| name.kind != EntityKind::Misc);
    let open =
        || tokens::tokens(text, language).iter().any(|token| OPEN.split_whitespace().any(|word| word == token.text));
    !numbers::quantities(text, language).is_empty() || (named() && !open())
}

/// What follows "I think (that)", with its first letter made a capital.
fn after_frame(sentence: &str, end: usize) -> Option<String> {
    let rest = sentence.get(end..)?.trim_start_matches([',', ' ']);
    let rest = ["that ", "что ", "що "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    (rest.split_whitespace().count() >= 3).then(|| super::capitalised(rest))
}

/// Index of the token that judges: one of the list, or "most beautiful" by its adjective. "best-selling", "best-known",
/// "Best Picture" and "at best" measure or name.
fn judging_position(all: &[Token]) -> Option<usize> {
    all.iter().enumerate().position(|(index, token)| {
        let next = all.get(index + 1);
        let previous = index.checked_sub(1).and_then(|before| all.get(before));
        let named = token.capitalised && index > 0 && next.is_some_and(|next| next.capitalised);
        let measured = next.is_some_and(|next| {
            matches!(next.text.as_str(), "selling" | "known" | "paid" | "practice" | "practices" | "friday")
        }) || previous
            .is_some_and(|previous| matches!(previous.text.as_str(), "at" | "common" | "not") && token.text == "best");
        JUDGING_WORDS.contains(token.text.as_str()) && !named && !measured
    })
}

/// Whether the main clause says what ought to be; "scientists say that we should" reports.
fn ought(sentence: &str) -> bool {
    const REPORTING: &[&str] = &[
        " that ",
        " if ",
        " because ",
        " whether ",
        " say",
        " said",
        " thinks",
        " что ",
        " если ",
        " заяв",
        " якщо ",
        " що ",
    ];
    OUGHT.find(sentence).is_some_and(|found| {
        let before = sentence.get(..found.start()).unwrap_or_default();
        let before = format!(" {}", before.to_lowercase());
        !REPORTING.iter().any(|word| before.contains(word))
    })
}

/// Whether the judging word is what the sentence says of its subject: after a copula or a dash, or with little else.
fn is_predicate(sentence: &str, all: &[Token], position: usize) -> bool {
    let before = all.get(..position).unwrap_or_default();
    let between = |token: &&Token| {
        !COPULAS.contains(&token.text.as_str()) && (token.stop || FRAME_WORDS.contains(token.text.as_str()))
    };
    let nearest = before.iter().rev().take(5).find(|token| !between(token));
    let copula = nearest.is_some_and(|token| COPULAS.contains(&token.text.as_str()));
    let dash =
        has_cyrillic(sentence) && (sentence.contains(" — ") || sentence.contains(" – ") || sentence.contains(" - "));
    let short = all.iter().filter(|token| !token.stop).count() <= 4;
    let exclaimed = sentence.trim_end().ends_with('!');
    copula || dash || (short && exclaimed) || (short && position + 1 == all.len())
}

/// "Minecraft is the best 2D game" → "Minecraft is a 2D game"; "Путин — лучший президент России" → "Путин — президент России".
/// `None` where nothing checkable is left: a bare noun, with or without "in the world".
fn without_judgement(sentence: &str, all: &[Token], position: usize) -> Option<String> {
    let judging = all.get(position)?;
    let rest: Vec<&Token> = all.get(position + 1..)?.iter().collect();
    let content = rest.iter().filter(|token| !token.stop && !FRAME_WORDS.contains(token.text.as_str())).count();
    let subject = all.get(..position)?.iter().any(|token| !token.stop);
    if content < 2 || !subject || !is_predicate(sentence, all, position) || judges_after(&rest) {
        return None;
    }
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let place = words.iter().position(|word| {
        let bare: String = word.chars().filter(|c| c.is_alphabetic()).collect();
        tokens::normalise_word(&bare) == judging.text
    })?;
    let mut head: Vec<String> = words.get(..place)?.iter().map(|word| (*word).to_owned()).collect();
    while head.last().is_some_and(|word| FRAME_WORDS.contains(word.to_lowercase().as_str()) && !word.is_empty()) {
        head.pop();
    }
    let tail = words.get(place + 1..)?;
    if !has_cyrillic(sentence) {
        let article = head.last().is_some_and(|word| matches!(word.as_str(), "the" | "a" | "an"));
        if article {
            head.pop();
        }
        let copula = head.last().is_some_and(|word| COPULAS.contains(&word.to_lowercase().as_str()));
        let plural = head.last().is_some_and(|word| matches!(word.to_lowercase().as_str(), "are" | "were"));
        // "is beautiful and old" holds no noun of the subject's.
        if !copula || !article {
            return None;
        }
        if !plural {
            let vowel =
                tail.first().is_some_and(|word| word.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O']));
            head.push(if vowel { "an" } else { "a" }.to_owned());
        }
    }
    head.extend(tail.iter().map(|word| (*word).to_owned()));
    Some(head.join(" "))
}

fn judges_after(rest: &[&Token]) -> bool {
    rest.iter().any(|token| JUDGING_WORDS.contains(token.text.as_str()))
}

/// "Born in 1952, and he is an awful president": one clause judges, the other can be checked.
fn two_clauses(sentence: &str, language: Option<&str>) -> Option<Judged> {
    const JOINTS: &[&str] = &[
        ", and ",
        ", but ",
        "; ",
        ", но ",
        ", а ",
        ", и ",
        ", але ",
        ", і ",
        ", та ",
        " and they ",
        " and it ",
        " and he ",
        " and she ",
        " and this ",
        " and that ",
        " — и ",
        " — і ",
        " — та ",
        " — но ",
        " — але ",
    ];
    let (joint, at) =
        JOINTS.iter().filter_map(|joint| sentence.find(joint).map(|at| (joint, at))).min_by_key(|pair| pair.1)?;
    // The pronoun that shows a clause begins is that clause's own.
    let length = if joint.starts_with(" and ") { " and ".len() } else { joint.len() };
    let (first, second) = (sentence.get(..at)?, sentence.get(at + length..)?);
    let words = |clause: &str| clause.split_whitespace().count();
    let opinion =
        |clause: &str| OWN_VIEW.is_match(clause) || (judges(clause, language) && clause_is_opinion(clause, language));
    let judged_second = opinion(second);
    if opinion(first) == judged_second {
        return None;
    }
    let (checkable, aside) = if judged_second { (first, second) } else { (second, first) };
    if words(checkable) < 3 || words(aside) < 2 {
        return None;
    }
    let checkable = if judged_second { first.to_owned() } else { super::capitalised(second) };
    let all = tokens::tokens(&checkable, language);
    if is_vague(&all) {
        return None;
    }
    let stop = if checkable.ends_with(['.', '!', '?']) { "" } else { "." };
    Some(Judged { kind: ClaimKind::Mixed, factual_part: Some(format!("{checkable}{stop}")) })
}

fn clause_is_opinion(clause: &str, language: Option<&str>) -> bool {
    let all = tokens::tokens(clause, language);
    judging_position(&all).is_some_and(|position| {
        is_predicate(clause, &all, position) && without_judgement(clause, &all, position).is_none()
    })
}

/// Pronouns that need to be known before anything can be checked.
const PRONOUNS: &str =
    "he she it they this that these those он она оно они это эта этот эти він вона воно вони це цей ця ці";

/// Whether the words a sentence begins with refer to something outside it.
pub(super) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.split_whitespace().any(|pronoun| pronoun == word)
}

/// Words that predicate something without saying what of.
const EMPTY: &str = "true false fake lie real right wrong happened happen works work did done said правда ложь фейк неправда так случилось произошло сделал сказал \
    брехня сталося сделала зробив сказала";

/// Too little to check: a pronoun for a subject and hardly a word of content, or hardly a word at all.
fn is_vague(all: &[Token]) -> bool {
    let content: Vec<&Token> = all.iter().filter(|token| !token.stop).collect();
    let telling = content.iter().filter(|token| !EMPTY.split_whitespace().any(|word| word == token.text)).count();
    let pronoun = all.first().is_some_and(|token| {
        is_pronoun(token.text.strip_suffix("'s").unwrap_or(&token.text))
            || matches!(token.text.as_str(), "he's" | "she's" | "they're")
    });
    let personal = all.first().is_some_and(|token| {
        matches!(
            token.text.as_str(),
            "he" | "she" | "they" | "he's" | "she's" | "they're" | "он" | "она" | "они" | "він" | "вона" | "вони"
        )
    });
    let names =
        all.iter().skip(1).filter(|token| token.capitalised).count() + all.iter().filter(|token| token.number).count();
    telling == 0
        || content.len() < 2 && all.len() < 4 && names == 0 && !all.first().is_some_and(|token| token.number)
        || (personal && telling < 5)
        || (pronoun && telling < 3 && names == 0)
}
