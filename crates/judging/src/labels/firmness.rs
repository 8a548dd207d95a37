//! What a figure of confidence means, and what would make a lean a finding.

use corroborate_domain::result::ClaimResult;
use corroborate_domain::verdict::{Note, Stance, Verdict};

use super::{ReaderLanguage, Words, words};

/// Over what a lean lacks.
pub const FIRMER: Words = words(
    "What would make it firm",
    "Что сделало бы вывод уверенным",
    "Що зробило б висновок упевненим",
    "O que a tornaria firme",
);

const OF_ANSWERS: Words = words(
    "Of answers stated as surely as this, about {n} in 10 were right.",
    "Из ответов с такой уверенностью верны были около {n} из 10.",
    "З відповідей із такою впевненістю правильними були близько {n} з 10.",
    "De respostas com esta segurança, cerca de {n} em 10 estavam certas.",
);

const MORE_SOURCES: Words = words(
    "a second, independent source that says the same",
    "второй независимый источник, который говорит то же",
    "друге незалежне джерело, яке каже те саме",
    "uma segunda fonte independente que diga o mesmo",
);

const MORE_DENIALS: Words = words(
    "a second, independent source that says it is not so",
    "второй независимый источник, где тоже сказано, что это не так",
    "друге незалежне джерело, де теж сказано, що це не так",
    "uma segunda fonte independente que também diga que não é assim",
);

const PLAIN_WORDS: Words = words(
    "a source that says plainly whether it is so",
    "источник, где прямо сказано, так ли это",
    "джерело, де прямо сказано, чи це так",
    "uma fonte que diga claramente se é assim",
);

const ONE_READING: Words = words(
    "sources that say it more plainly and do not disagree",
    "источники, которые говорят об этом прямее и не расходятся между собой",
    "джерела, які кажуть про це пряміше й не розходяться між собою",
    "fontes que o digam mais claramente e não divirjam entre si",
);

const ASK_AGAIN: Words = words(
    "asking those who could not be asked this time",
    "ответ тех, кого не удалось спросить",
    "відповідь тих, кого не вдалося запитати",
    "consultar quem não pôde ser consultado desta vez",
);

const A_MODEL: Words = words(
    "a model that reads this language: here only words were compared",
    "модель, которая читает этот язык: сравнивались только слова",
    "модель, яка читає цю мову: порівнювалися лише слова",
    "um modelo que leia este idioma: aqui só palavras foram comparadas",
);

/// A share of answers in words that an editor can hold a figure against. Never more than eight in ten: of those stated most
/// surely on labelled claims one in ten was wrong (`http/ui/reliability.tsv`), and an editor's own claims are others.
pub fn confidence(share: f64, reader: ReaderLanguage) -> String {
    let n = (share * 10.0).round().clamp(0.0, 8.0);
    OF_ANSWERS.of(reader).replace("{n}", &format!("{n:.0}"))
}

/// What would make the answer firm, by what keeps it from being so; empty where it is firm, or cannot be.
pub fn firmer(claim: &ClaimResult, reader: ReaderLanguage) -> String {
    if claim.decisive || claim.verdict == Verdict::NotVerifiable {
        return String::new();
    }
    let has = |note| claim.notes.contains(&note);
    let is_alone =
        has(Note::SingleSource) || has(Note::NoCorroboration) || has(Note::SocialOnly) || has(Note::NoSources);
    let is_said = |side: Stance| claim.evidence.iter().any(|row| row.stance == side);
    let (supports, contradicts) = (is_said(Stance::Supports), is_said(Stance::Contradicts));
    let sources = match (supports, contradicts) {
        (false, false) => PLAIN_WORDS,
        (true, false) if is_alone => MORE_SOURCES,
        (false, true) if is_alone => MORE_DENIALS,
        _ => ONE_READING,
    };
    let missing = [(true, sources), (has(Note::WordsOnly), A_MODEL), (has(Note::Degraded), ASK_AGAIN)];
    let said: Vec<&str> =
        missing.iter().filter(|(is_missing, _)| *is_missing).map(|(_, words)| words.of(reader)).collect();
    format!("{}.", said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_promises_more_than_was_measured() {
        assert!(confidence(1.0, ReaderLanguage::English).contains("about 8 in 10"));
        assert!(confidence(0.64, ReaderLanguage::Russian).contains("около 6 из 10"));
    }

    fn lean(notes: &[&str], stances: &[&str]) -> ClaimResult {
        let row = |(at, stance): (usize, &&str)| {
            serde_json::json!({"n": at + 1, "evidence_id": format!("ev_{at}"), "url": "https://a.example/a", "domain": "a.example",
                "title": null, "published_at": null, "language": "en", "passage": "It rained.", "stance": stance,
                "llm_stance": null, "entail": 0.0, "contradict": 0.9, "neutral": 0.1, "agreement": 0.5, "relevance": 0.9,
                "quality": 0.8, "credibility": 0.8, "origin": "web", "provider": "test", "independent_group": "a",
                "extraction_failed": false})
        };
        let evidence: Vec<serde_json::Value> = stances.iter().enumerate().map(row).collect();
        serde_json::from_value(
            serde_json::json!({"claim_id": "c", "text": "It rained.", "kind": "factual", "source": 0,
            "judge": "rules", "verdict": "not_enough_evidence", "decisive": false, "confidence": 0.6, "score": null,
            "tier": "low", "agreement": 0.0, "contradiction": false, "notes": notes,
            "features": {"e_max": 0.0, "e_mean3": 0.0, "c_max": 0.0, "agree_dom": 0, "rel_avg": 0.0, "rec_max": 0.0,
                "num_ok": null},
            "justification": "", "citations": [], "evidence": evidence, "correction": null}),
        )
        .unwrap()
    }

    #[test]
    fn what_is_asked_for_goes_by_what_was_found() {
        for (notes, stances, wanted) in [
            (&["single_source"][..], &["supports"][..], MORE_SOURCES),
            (&["single_source"], &["contradicts"], MORE_DENIALS),
            (&["single_source"], &["supports", "contradicts"], ONE_READING),
            (&["no_sources"], &[], PLAIN_WORDS),
            (&["single_source"], &["neutral"], PLAIN_WORDS),
            (&[], &["supports", "supports"], ONE_READING),
        ] {
            for reader in ReaderLanguage::ALL {
                let said = firmer(&lean(notes, stances), reader);
                assert_eq!(said, format!("{}.", wanted.of(reader)), "{notes:?} {stances:?}");
            }
        }
        let all = firmer(&lean(&["words_only", "degraded"], &[]), ReaderLanguage::English);
        assert_eq!(all.matches("; ").count(), 2, "{all}");
        let firm = ClaimResult { decisive: true, ..lean(&[], &["supports"]) };
        assert_eq!(firmer(&firm, ReaderLanguage::English), "");
    }
}
