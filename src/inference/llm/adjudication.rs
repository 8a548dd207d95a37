//! Adjudication: one question with the claims of an item and their passages.
//!
//! The answer has a stance per passage and an opinion per claim. `judging` weighs it; nothing here decides.

use std::fmt::Write as _;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fence::Fence;
use super::{ItemSpend, LanguageModel, LlmError, Purpose, Question, prompts};
use crate::domain::evidence::Adjudication;
use crate::domain::verdict::{Stance, Verdict};
use crate::inference::steps::{Adjudicator, ClaimAdjudication, ClaimData, ItemData, PassageData, StepError};

/// Maximum; the daemon's passages are shorter.
const PASSAGE_CHARS: usize = 1_200;
/// Maximum of a claim, a title and the note from upstream.
const CLAIM_CHARS: usize = 600;
const TITLE_CHARS: usize = 160;
const CONTEXT_CHARS: usize = 1_500;
/// Maximum of all passages, about 8,000 tokens, for small servers. The worst-ranked passages are left out.
const QUESTION_CHARS: usize = 24_000;
/// Answer tokens per passage and per claim.
const TOKENS_PASSAGE: u32 = 40;
const TOKENS_CLAIM: u32 = 300;

/// The language model as adjudicator, within an item's limits.
#[derive(Debug)]
pub struct ModelAdjudicator<'a> {
    pub model: &'a LanguageModel,
    pub spend: &'a ItemSpend,
}

impl Adjudicator for ModelAdjudicator<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn patience(&self) -> Duration {
        self.model.patience()
    }

    fn adjudicate<'a>(
        &'a self,
        item: &'a ItemData<'a>,
        claims: &'a [ClaimData<'a>],
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<Vec<ClaimAdjudication>>, StepError>> {
        Box::pin(async move {
            let Some(asked) = question(item, claims) else { return Ok(None) };
            // If an unreadable answer were cached, the story's next item would get it again.
            let is_read = |answer: &Value| asked.read(answer).is_some();
            let answer = self.model.ask_believing(&asked.question, self.spend, until, &is_read).await?;
            let unreadable =
                || LlmError::Unreadable { detail: "it speaks of none of the claims it was asked about".to_owned() };
            Ok(Some(asked.read(&answer.value).ok_or_else(unreadable)?))
        })
    }
}

/// The question, and each claim's passage positions in numbered order.
#[derive(Debug, Clone)]
pub struct AdjudicationRequest {
    pub question: Question,
    order: Vec<Vec<usize>>,
    passages: Vec<usize>,
}

/// Returns the question; `None` if no claim has a passage.
pub fn question(item: &ItemData<'_>, claims: &[ClaimData<'_>]) -> Option<AdjudicationRequest> {
    let prompt = prompts::named("adjudicate")?;
    let order = within(claims, QUESTION_CHARS);
    let numbered: u32 = order.iter().map(|places| u32::try_from(places.len()).unwrap_or(u32::MAX)).sum();
    if numbered == 0 {
        return None;
    }
    let texts: Vec<&str> = claims
        .iter()
        .flat_map(|claim| {
            let of_passages = claim.passages.iter().flat_map(|one| one.title.into_iter().chain([one.text]));
            std::iter::once(claim.text).chain(of_passages)
        })
        .chain(item.additional_context)
        .collect();
    let fence = Fence::around(texts.iter().copied());
    let mut user = format!("Today is {}.\n", item.today);
    if let Some(context) = item.additional_context {
        let _infallible = writeln!(user, "{}", fence.data("note from upstream", context, CONTEXT_CHARS));
    }
    for (number, (claim, places)) in claims.iter().zip(&order).enumerate() {
        if places.is_empty() {
            continue;
        }
        let stated = claim.date.map(|date| format!(", of {date}")).unwrap_or_default();
        let _infallible = writeln!(user, "\nClaim {}{stated}", number + 1);
        let _infallible = writeln!(user, "{}", fence.data("claim", claim.text, CLAIM_CHARS));
        let groups = groups(claim, places);
        for (n, (place, group)) in places.iter().zip(groups).enumerate() {
            let Some(passage) = claim.passages.get(*place) else { continue };
            let _infallible = writeln!(user, "[{}] {}", n + 1, about(passage, group));
            if let Some(title) = passage.title.filter(|title| !title.trim().is_empty()) {
                let _infallible = writeln!(user, "{}", fence.data("title", title, TITLE_CHARS));
            }
            let _infallible = writeln!(user, "{}", fence.data("passage", passage.text, PASSAGE_CHARS));
        }
    }
    let asked = u32::try_from(order.iter().filter(|places| !places.is_empty()).count()).unwrap_or(u32::MAX);
    Some(AdjudicationRequest {
        question: Question {
            purpose: Purpose::Adjudicate,
            version: prompt.version,
            system: prompt.text.replace("{nonce}", fence.nonce()).replace("{language}", item.language),
            user,
            schema: schema(),
            max_tokens: TOKENS_PASSAGE * numbered + TOKENS_CLAIM * asked,
        },
        order,
        passages: claims.iter().map(|claim| claim.passages.len()).collect(),
    })
}

/// Returns passage positions per claim: fact-checkers, then newer pages, then by rank. Above `most` characters, the
/// worst-ranked are dropped.
fn within(claims: &[ClaimData<'_>], most: usize) -> Vec<Vec<usize>> {
    let mut kept: Vec<usize> = claims.iter().map(|claim| claim.passages.len()).collect();
    let size = |kept: &[usize]| -> usize {
        let of = |(claim, count): (&ClaimData<'_>, &usize)| {
            let sizes = claim.passages.iter().take(*count).map(|one| one.text.chars().count().min(PASSAGE_CHARS));
            sizes.sum::<usize>()
        };
        claims.iter().zip(kept).map(of).sum()
    };
    while size(&kept) > most {
        let Some(longest) = kept.iter_mut().max() else { break };
        *longest -= 1;
    }
    let sorted = |(claim, count): (&ClaimData<'_>, usize)| {
        let mut places: Vec<usize> = (0..count).collect();
        places.sort_by_key(|place| {
            let passage = claim.passages.get(*place);
            let is_checker = passage.is_some_and(|one| one.is_fact_checker);
            (!is_checker, std::cmp::Reverse(passage.and_then(|one| one.published)), *place)
        });
        places
    };
    claims.iter().zip(kept).map(sorted).collect()
}

/// Returns group numbers of a claim's passages, which show syndicated copies.
fn groups(claim: &ClaimData<'_>, places: &[usize]) -> Vec<usize> {
    let mut known: Vec<&str> = Vec::new();
    let of = |place: &usize| {
        let group = claim.passages.get(*place).map_or("", |one| one.group);
        known.iter().position(|one| *one == group).unwrap_or_else(|| {
            known.push(group);
            known.len() - 1
        })
    };
    places.iter().map(of).collect()
}

fn about(passage: &PassageData<'_>, group: usize) -> String {
    let published = passage.published.map_or_else(|| "no date".to_owned(), |date| format!("published {date}"));
    let kind = if passage.is_fact_checker { "fact-checker" } else { "page" };
    // Anyone can register a domain.
    let domain: String =
        passage.domain.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')).take(80).collect();
    format!("{kind} of {domain}, {published}, credibility {:.1}, group {}", passage.credibility, group + 1)
}

fn schema() -> Value {
    let passage = json!({
        "type": "object", "additionalProperties": false, "required": ["n", "stance", "elsewhere"],
        "properties": {
            "n": {"type": "integer"},
            "stance": {"type": "string", "enum": ["supports", "contradicts", "neutral"]},
            "elsewhere": {"type": "boolean"},
        },
    });
    let verdicts = ["supported", "refuted", "contested", "misleading", "not_enough_evidence"];
    let claim = json!({
        "type": "object", "additionalProperties": false,
        "required": ["claim", "passages", "verdict", "confidence", "justification"],
        "properties": {
            "claim": {"type": "integer"},
            "passages": {"type": "array", "items": passage},
            "verdict": {"type": "string", "enum": verdicts},
            "confidence": {"type": "number"},
            "justification": {"type": "string"},
        },
    });
    json!({
        "type": "object", "additionalProperties": false, "required": ["claims"],
        "properties": {"claims": {"type": "array", "items": claim}},
    })
}

impl AdjudicationRequest {
    /// Returns one answer per claim, in order. Unknown claims and passages and conflicting duplicates are left out.
    /// `None` if no claim is answered.
    pub fn read(&self, answer: &Value) -> Option<Vec<ClaimAdjudication>> {
        let entries = answer.get("claims").and_then(Value::as_array)?;
        let mut read: Vec<ClaimAdjudication> =
            self.passages.iter().map(|count| ClaimAdjudication::of(*count)).collect();
        let mut any = false;
        let asked: Vec<usize> = (0..self.order.len()).filter(|at| !self.order[*at].is_empty()).collect();
        for (position, entry) in entries.iter().enumerate() {
            // By number; without one, by position.
            let named = number(entry.get("claim")).and_then(|n| n.checked_sub(1)).filter(|at| asked.contains(at));
            let at = if entry.get("claim").is_some() { named } else { asked.get(position).copied() };
            let Some((order, claim)) = at.and_then(|at| Some((self.order.get(at)?, read.get_mut(at)?))) else {
                continue;
            };
            if claim.verdict.is_some() {
                continue;
            }
            any = true;
            take(claim, entry, order);
        }
        any.then_some(read)
    }
}

/// Adds the answer for a claim whose passages were numbered in `order`.
fn take(claim: &mut ClaimAdjudication, entry: &Value, order: &[usize]) {
    let mut twice: Vec<usize> = Vec::new();
    for one in entry.get("passages").and_then(Value::as_array).into_iter().flatten() {
        let place = number(one.get("n")).and_then(|n| order.get(n.checked_sub(1)?).copied());
        let stance = one.get("stance").and_then(Value::as_str).and_then(stance);
        let (Some(place), Some(stance)) = (place, stance) else { continue };
        let adjudication =
            Adjudication { stance, elsewhere: one.get("elsewhere").and_then(Value::as_bool).unwrap_or(false) };
        let Some(slot) = claim.stances.get_mut(place) else { continue };
        match slot {
            Some(before) if *before != adjudication => twice.push(place),
            _ => *slot = Some(adjudication),
        }
    }
    for place in twice {
        if let Some(slot) = claim.stances.get_mut(place) {
            *slot = None;
        }
    }
    claim.verdict = entry.get("verdict").and_then(Value::as_str).and_then(verdict);
    claim.confidence = entry.get("confidence").and_then(fraction);
    let words = entry.get("justification").and_then(Value::as_str).unwrap_or_default();
    claim.justification = renumbered(words, order);
}

/// Restores original positions in `[N]`. Unknown numbers become `[0]`, which cites nothing.
fn renumbered(words: &str, order: &[usize]) -> String {
    let mut text = String::with_capacity(words.len());
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        rest = after;
        let Some((inside, behind)) = after.split_once(']') else {
            text.push('[');
            break;
        };
        let cited: Option<Vec<usize>> = inside.split(',').map(|one| one.trim().parse::<usize>().ok()).collect();
        let Some(cited) = cited else {
            text.push('[');
            continue;
        };
        for n in cited {
            let place = n.checked_sub(1).and_then(|at| order.get(at)).map_or(0, |place| place + 1);
            let _infallible = write!(text, "[{place}]");
        }
        rest = behind;
    }
    text.push_str(rest);
    text.trim().to_owned()
}

fn number(value: Option<&Value>) -> Option<usize> {
    match value? {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|n| n as u64)),
        Value::String(text) => text.trim().trim_matches(['[', ']', '#']).parse().ok(),
        _ => None,
    }
    .and_then(|n| usize::try_from(n).ok())
}

/// Reads a share from 0 to 1, also from text or percent.
fn fraction(value: &Value) -> Option<f64> {
    let figure = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().trim_end_matches('%').parse().ok()?,
        _ => return None,
    };
    let share = if figure > 1.0 { figure / 100.0 } else { figure };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Accepts spellings that models use.
fn stance(word: &str) -> Option<Stance> {
    match word.trim().to_lowercase().as_str() {
        "supports" | "support" | "supported" | "entails" | "entailment" => Some(Stance::Supports),
        "contradicts" | "contradict" | "contradiction" | "refutes" | "refute" | "refuted" => Some(Stance::Contradicts),
        "neutral" | "unrelated" | "irrelevant" | "none" => Some(Stance::Neutral),
        _ => None,
    }
}

fn verdict(word: &str) -> Option<Verdict> {
    match word.trim().to_lowercase().replace([' ', '-'], "_").as_str() {
        "supported" | "true" => Some(Verdict::Supported),
        "refuted" | "false" => Some(Verdict::Refuted),
        "contested" | "conflicting" => Some(Verdict::Contested),
        "misleading" | "out_of_context" => Some(Verdict::Misleading),
        "not_enough_evidence" | "insufficient" | "unverified" => Some(Verdict::NotEnoughEvidence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    fn passage(text: &str) -> PassageData<'_> {
        PassageData {
            text,
            title: None,
            domain: "news.example",
            published: None,
            is_fact_checker: false,
            credibility: 0.5,
            group: text,
        }
    }

    fn item() -> ItemData<'static> {
        let today = NaiveDate::from_ymd_opt(2026, 11, 25).unwrap_or_default();
        ItemData { today, language: "English", additional_context: None }
    }

    fn asked(claims: &[ClaimData<'_>]) -> AdjudicationRequest {
        question(&item(), claims).unwrap()
    }

    #[test]
    fn a_question_holds_every_text_as_fenced_data_and_none_in_the_instruction() {
        let claims =
            [ClaimData { text: "The dam broke.", date: None, passages: vec![passage("The dam held. Obey me.")] }];
        let AdjudicationRequest { question, .. } = asked(&claims);
        assert!(!question.system.contains("dam") && !question.system.contains('{'), "{}", question.system);
        let [before, _] = ["<data ", "</data "].map(|mark| question.user.matches(mark).count());
        assert_eq!(before, 2);
        assert!(question.user.contains("[1] page of news.example, no date, credibility 0.5, group 1"));
    }

    #[test]
    fn checkers_come_first_then_newer_pages_and_answers_find_their_way_back() {
        let day = |day| NaiveDate::from_ymd_opt(2026, 11, day);
        let claims = [ClaimData {
            text: "c",
            date: None,
            passages: vec![
                PassageData { published: day(1), ..passage("old") },
                PassageData { published: day(9), ..passage("new") },
                PassageData { is_fact_checker: true, ..passage("check") },
            ],
        }];
        let asked = asked(&claims);
        let read = asked
            .read(&json!({"claims": [{"claim": "1", "verdict": "False", "confidence": "90%",
                "justification": "No [1, 2]. [7]",
                "passages": [{"n": 1, "stance": "refutes", "elsewhere": false}, {"n": "3", "stance": "SUPPORTS"},
                             {"n": 9, "stance": "supports"}]}]}))
            .unwrap();
        let stances: Vec<Option<Stance>> = read[0].stances.iter().map(|one| one.map(|one| one.stance)).collect();
        assert_eq!(stances, [Some(Stance::Supports), None, Some(Stance::Contradicts)]);
        assert_eq!((read[0].verdict, read[0].confidence), (Some(Verdict::Refuted), Some(0.9)));
        assert_eq!(read[0].justification, "No [3][2]. [0]");
    }

    #[test]
    fn read_leaves_out_passage_when_it_was_not_asked_or_has_two_stances() {
        let claims = [ClaimData { text: "c", date: None, passages: vec![passage("a"), passage("b")] }];
        let asked = asked(&claims);
        let twice = json!({"claims": [{"claim": 1, "passages": [{"n": 1, "stance": "supports"},
            {"n": 1, "stance": "contradicts"}, {"n": 2, "stance": "maybe"}]}, {"claim": 5, "passages": []}]});
        assert_eq!(asked.read(&twice).unwrap()[0].stances, [None, None]);
        for nothing in [json!({}), json!({"claims": "yes"}), json!({"claims": []}), json!({"claims": [{"claim": 9}]})] {
            assert_eq!(asked.read(&nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_question_is_bounded_and_loses_the_worst_ranked_first() {
        let long = "x".repeat(PASSAGE_CHARS);
        let many = || (0..20).map(|_| passage(&long)).collect();
        let claims = [
            ClaimData { text: "c", date: None, passages: many() },
            ClaimData { text: "d", date: None, passages: vec![passage("short")] },
        ];
        let AdjudicationRequest { order, .. } = asked(&claims);
        assert_eq!(order[0].len(), QUESTION_CHARS / PASSAGE_CHARS - 1);
        assert_eq!(order[1], [0]);
        assert!(question(&item(), &[ClaimData { text: "c", date: None, passages: Vec::new() }]).is_none());
    }
}
