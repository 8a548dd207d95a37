//! Removes frames that only pass a claim on: "Breaking: Y", "Viral posts claim that Y".
//!
//! Words: `statements.frames.*` in the lexicon.

use super::capitalised;
use crate::lexicon::Parts;
use crate::patterns::Pattern;

/// Patterns in order; the last group is the claim.
static FRAMES: [Pattern; 5] = [
    // Labels. A subject before a dash is none: "Молния — это разряд".
    Pattern::of(r"^{statements.frames.label}\s*[:!]+\s*(?:{statements.frames.no}, )?(.+)$"),
    Pattern::of(r"^{statements.frames.urgent}\s+[—–-]+\s+(.+)$"),
    Pattern::of(r"^{statements.frames.reportedly},? (.+)$"),
    // "Viral posts claim that Y", "Social media users have claimed that Y", "A screenshot circulating online claims
    // that Y".
    Pattern::of(
        r"(?x)^(?:{statements.frames.some}\ )?(?:[\w-]+\ ){0,3}?{statements.frames.spreader}(?-u:\b)
            (?:[^.;:]{0,90}?[\ ,])(?:{statements.frames.has}\ )?(?:{statements.frames.falsely}\ )?
            {statements.frames.alleges}(?:\ {statements.frames.that@latin},?|:)\ (.+)$",
    ),
    Pattern::of(
        r"^{statements.frames.it_is_said}(?: {statements.frames.of_that})?,? {statements.frames.that@cyrillic} (.+)$",
    ),
];

/// Every frame has one; this search is much faster.
static FRAME_WORDS: Parts = Parts::of("statements.frames.sign");

/// "Breaking: viral posts claim that Y"
const MAX_DEPTH: usize = 3;

/// Returns the claim inside a frame, if any.
pub(super) fn unframed(sentence: &str) -> Option<String> {
    let mut claim: Option<String> = None;
    for _ in 0..MAX_DEPTH {
        let Some(inner) = inside(claim.as_deref().unwrap_or(sentence)) else { break };
        claim = Some(inner);
    }
    claim
}

fn inside(sentence: &str) -> Option<String> {
    let lower = sentence.to_lowercase();
    if !FRAME_WORDS.occurs_in(&lower) {
        return None;
    }
    let claim = unquoted(FRAMES.iter().find_map(|frame| Some(frame.captures(sentence)?.get(1)?.as_str()))?.trim());
    // A noun is no claim.
    (claim.split_whitespace().count() >= 3).then(|| capitalised(claim))
}

fn unquoted(claim: &str) -> &str {
    let bare = claim.trim_end_matches('.');
    [('«', '»'), ('"', '"'), ('“', '”'), ('„', '“')]
        .iter()
        .find_map(|(open, close)| bare.strip_prefix(*open)?.strip_suffix(*close))
        .filter(|inner| !inner.contains(['«', '"', '“']))
        .unwrap_or(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_goes_and_its_claim_stays() {
        for (sentence, claim) in [
            ("Viral posts claim that vaccines contain microchips.", "Vaccines contain microchips."),
            ("Breaking: the bridge over the Dnipro was blown up.", "The bridge over the Dnipro was blown up."),
            ("Молния: в Киеве взорван мост через Днепр.", "В Киеве взорван мост через Днепр."),
            ("Нібито у Львові заборонили російську мову.", "У Львові заборонили російську мову."),
            ("Утверждается, что вакцины содержат чипы.", "Вакцины содержат чипы."),
        ] {
            assert_eq!(unframed(sentence).as_deref(), Some(claim), "{sentence}");
        }
        for sentence in [
            "The photo was shared as a joke.",
            "Facebook said that it removed 3 million accounts in March.",
            "Claims for unemployment benefits rose to 240,000 last week.",
            "A message from Islamic State claims responsibility for the attack in Moscow.",
            "Молния — это электрический разряд между облаком и землёй.",
            "Зеленский сообщил, что Россия потеряла 700 тысяч солдат.",
        ] {
            assert_eq!(unframed(sentence), None, "{sentence}");
        }
    }
}
