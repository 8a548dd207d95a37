//! Words for a confidence, and for what a provisional verdict lacks.

use corroborate_domain::result::ClaimResult;
use corroborate_domain::verdict::{Note, Stance, Verdict};

use super::{ReaderLanguage, Words, words};

pub const FIRMER: Words = words(
    "Missing for a conclusive verdict",
    "Чего не хватает для уверенного вывода",
    "Чого бракує для впевненого висновку",
    "O que falta para um veredito conclusivo",
);

const CONFIDENCE_SENTENCE: Words = words(
    "About {n} in 10 answers with this confidence were right.",
    "Верными оказались около {n} из 10 ответов с такой уверенностью.",
    "Правильними виявилися близько {n} з 10 відповідей із такою впевненістю.",
    "Cerca de {n} em cada 10 respostas com esta confiança estavam certas.",
);

const MORE_SOURCES: Words = words(
    "a second, independent source that says the same",
    "второго независимого источника, который говорит то же самое",
    "другого незалежного джерела, яке каже те саме",
    "uma segunda fonte independente que diga o mesmo",
);

const MORE_DENIALS: Words = words(
    "a second, independent source that denies it",
    "второго независимого источника, который тоже это отрицает",
    "другого незалежного джерела, яке теж це заперечує",
    "uma segunda fonte independente que também negue a afirmação",
);

const PLAIN_SOURCE: Words = words(
    "a source that says plainly whether it is so",
    "источника, в котором прямо сказано, так ли это",
    "джерела, у якому прямо сказано, чи це так",
    "uma fonte que diga claramente se a afirmação procede",
);

const PLAINER_SOURCES: Words = words(
    "sources that say it more plainly and do not disagree",
    "источников, которые говорят об этом яснее и не расходятся между собой",
    "джерел, які кажуть про це чіткіше й не розходяться між собою",
    "fontes que falem disso com mais clareza e não divirjam entre si",
);

const MISSING_ANSWERS: Words = words(
    "answers from the sources that could not be asked",
    "ответов от источников, которые не удалось опросить",
    "відповідей від джерел, які не вдалося опитати",
    "a resposta das fontes que não puderam ser consultadas",
);

const LANGUAGE_COVERAGE: Words = words(
    "a model that reads this language: here only words were compared",
    "модели, которая работает с этим языком (здесь сравнивались только слова)",
    "моделі, яка працює з цією мовою (тут порівнювали лише слова)",
    "um modelo que leia este idioma: aqui foram comparadas só palavras",
);

/// Words for a confidence, at most eight of ten. Even the surest labelled claims had one error in ten
/// (`http/ui/reliability.tsv`), and an editor's claims differ.
pub fn confidence(share: f64, reader: ReaderLanguage) -> String {
    let n = (share * 10.0).round().clamp(0.0, 8.0);
    CONFIDENCE_SENTENCE.of(reader).replace("{n}", &format!("{n:.0}"))
}

/// The missing requirements; empty if the verdict is conclusive or cannot be.
pub fn firmer(claim: &ClaimResult, reader: ReaderLanguage) -> String {
    if claim.decisive || claim.verdict == Verdict::NotVerifiable {
        return String::new();
    }
    let has = |note| claim.notes.contains(&note);
    let is_alone =
        has(Note::SingleSource) || has(Note::NoCorroboration) || has(Note::SocialOnly) || has(Note::NoSources);
    let has_stance = |side: Stance| claim.evidence.iter().any(|row| row.stance == side);
    let (supports, contradicts) = (has_stance(Stance::Supports), has_stance(Stance::Contradicts));
    let sources = match (supports, contradicts) {
        (false, false) => PLAIN_SOURCE,
        (true, false) if is_alone => MORE_SOURCES,
        (false, true) if is_alone => MORE_DENIALS,
        _ => PLAINER_SOURCES,
    };
    let missing = [(true, sources), (has(Note::WordsOnly), LANGUAGE_COVERAGE), (has(Note::Degraded), MISSING_ANSWERS)];
    let parts: Vec<&str> =
        missing.iter().filter(|(is_missing, _)| *is_missing).map(|(_, words)| words.of(reader)).collect();
    format!("{}.", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_promises_more_than_was_measured() {
        assert!(confidence(1.0, ReaderLanguage::English).contains("About 8 in 10"));
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
        for (notes, stances, expected) in [
            (&["single_source"][..], &["supports"][..], MORE_SOURCES),
            (&["single_source"], &["contradicts"], MORE_DENIALS),
            (&["single_source"], &["supports", "contradicts"], PLAINER_SOURCES),
            (&["no_sources"], &[], PLAIN_SOURCE),
            (&["single_source"], &["neutral"], PLAIN_SOURCE),
            (&[], &["supports", "supports"], PLAINER_SOURCES),
        ] {
            for reader in ReaderLanguage::ALL {
                let text = firmer(&lean(notes, stances), reader);
                assert_eq!(text, format!("{}.", expected.of(reader)), "{notes:?} {stances:?}");
            }
        }
        let all = firmer(&lean(&["words_only", "degraded"], &[]), ReaderLanguage::English);
        assert_eq!(all.matches("; ").count(), 2, "{all}");
        let firm = ClaimResult { decisive: true, ..lean(&[], &["supports"]) };
        assert_eq!(firmer(&firm, ReaderLanguage::English), "");
    }
}
