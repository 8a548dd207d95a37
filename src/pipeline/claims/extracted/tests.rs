use chrono::NaiveDate;

use super::*;
use crate::domain::item::ItemSourceKind;

fn source<'a>(text: &'a str, language: &str) -> Source<'a> {
    let typed = TypedText { position: 0, kind: ItemSourceKind::OriginalText, url: None, text };
    Source { typed, title: None, language: Some(language.to_owned()) }
}

fn claim(text: &str, kind: ClaimKind) -> ExtractedClaim {
    ExtractedClaim { text: text.to_owned(), kind, entities: Vec::new(), why: None, worth: Some(0.8) }
}

fn by_rule(text: &str, language: &str) -> Vec<ItemStatement> {
    let found = statements::statements(text, None, Some(language), 5).into_iter();
    found.map(|statement| ItemStatement::by_rule(0, Some(language.to_owned()), statement)).collect()
}

fn kinds(found: &[ItemStatement]) -> Vec<(&str, ClaimKind)> {
    found.iter().map(|one| (one.statement.text.as_str(), one.statement.kind)).collect()
}

#[test]
fn a_text_that_is_called_an_opinion_is_looked_up_all_the_same_where_it_states_a_deed() {
    for (language, deed, view) in [
        ("en", "The ministry of defence of Ukraine lost 300 tanks in October.", "It is a disgrace."),
        ("ru", "Минобороны Украины потеряло 300 танков в октябре.", "Это позор."),
        ("uk", "Міноборони України втратило 300 танків у жовтні.", "Це ганьба."),
    ] {
        let text = format!("{deed} {view}");
        let source = source(&text, language);
        let none = source.of_kind(Some(ClaimKind::Opinion), Vec::new(), by_rule(&text, language));
        assert!(kinds(&none).contains(&(deed, ClaimKind::Factual)), "{none:#?}");
        let extracted = vec![claim(deed, ClaimKind::Opinion)];
        let called = source.of_kind(Some(ClaimKind::Opinion), extracted, Vec::new());
        assert_eq!(kinds(&called), [(deed, ClaimKind::Factual)], "whatever the model calls it");
    }
}

#[test]
fn a_text_that_is_an_opinion_has_claims_that_are_not_looked_up() {
    let text = "Pizza tastes better than burgers and always will.";
    let found = source(text, "en").of_kind(
        Some(ClaimKind::Opinion),
        vec![claim(text, ClaimKind::Factual)],
        by_rule(text, "en"),
    );
    assert_eq!(kinds(&found), [(text, ClaimKind::Opinion)]);
    assert!(found[0].statement.check_worthiness < 0.2);
    let silent = source(text, "en").of_kind(Some(ClaimKind::Ambiguous), Vec::new(), by_rule(text, "en"));
    assert!(silent.iter().all(|one| is_no_fact(one.statement.kind)), "{silent:#?}");
}

#[test]
fn name_is_kept_when_it_is_in_the_claim() {
    let extracted = ExtractedClaim {
        entities: ["Brana", "bridge", "Paris", "F-16"].map(str::to_owned).to_vec(),
        ..claim("An F-16 crashed on a bridge in Brana.", ClaimKind::Factual)
    };
    assert_eq!(source("x", "en").found(extracted, None).entities, ["Brana", "F-16"]);
}

#[test]
fn a_judge_that_reads_the_language_must_find_a_paraphrase_entailed_and_none_may_find_it_denied() {
    use crate::domain::evidence::StanceProbabilities;
    let judgement = |judge: &str, entail: f64, contradict: f64| {
        let probabilities = StanceProbabilities { entail, contradict, neutral: 1.0 - entail - contradict };
        Judgement { probabilities, judge: Arc::from(judge) }
    };
    let loose = Grounding { coverage: 0.7, verbatim: false };
    assert_eq!(objection(loose, &[judgement("model:x", 0.6, 0.1)]), None);
    assert!(objection(loose, &[judgement("model:x", 0.01, 0.1)]).is_some());
    assert_eq!(objection(loose, &[judgement(RULES, 0.01, 0.1)]), None, "rules do not read");
    assert!(objection(loose, &[judgement(RULES, 0.01, 0.7)]).is_some());
    assert_eq!(objection(loose, &[judgement("model:x", 0.1, 0.7), judgement("model:x", 0.9, 0.0)]), None);
    assert_eq!(objection(Grounding { verbatim: true, ..loose }, &[]), None);
}

#[cfg(feature = "models")]
#[tokio::test]
async fn extractor_rejects_inventions_and_keeps_paraphrases_of_the_labelled_cases() {
    use crate::config::Config;

    let services = crate::app::judging(&Config::built_in(), None).await.unwrap();
    let cases = include_str!("../../../../crates/judging/src/grounding/cases.tsv");
    let mut wrong = Vec::new();
    for line in cases.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [language, written, expected, text, words] = fields[..] else { panic!("{line}") };
        let day = written.parse::<NaiveDate>().unwrap().and_hms_opt(12, 0, 0).unwrap().and_utc();
        let item = Item { published_at: Some(day), ..Item::from_claim("a".to_owned(), text) };
        let journal = Journal::new(Instant::now(), std::time::Duration::from_mins(1), day);
        let normal = crate::pipeline::normalise::normalise(&services, &item, &journal).await.unwrap();
        let extracted = vec![claim(words, ClaimKind::Factual)];
        let supported = source(text, language).keep_supported(&services, &normal, extracted, &journal).await.unwrap();
        let why = journal.finish().0.into_iter().find(|line| line.contains("discarded"));
        println!("{expected}\t{}\t{}", if supported.is_empty() { "thrown" } else { "stands" }, why.unwrap_or_default());
        if supported.is_empty() == (expected == "kept") {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn one_harmless_claim_keeps_nothing_else_from_being_looked_up() {
    let harmless = "The city council of Odesa met on Monday.";
    let deed = "The ministry of defence of Ukraine lost 300 tanks in October.";
    let text = format!("{harmless} {deed}");
    let source = source(&text, "en");
    let extracted = || vec![claim(harmless, ClaimKind::Factual)];
    let found = source.of_kind(Some(ClaimKind::Factual), extracted(), by_rule(&text, "en"));
    assert_eq!(kinds(&found), [(harmless, ClaimKind::Factual), (deed, ClaimKind::Factual)]);
    let both = vec![claim(harmless, ClaimKind::Factual), claim(&format!("{deed} It was cold."), ClaimKind::Factual)];
    assert_eq!(source.of_kind(Some(ClaimKind::Factual), both, by_rule(&text, "en")).len(), 2, "each once");
}

#[test]
fn claim_is_an_opinion_when_model_and_rules_agree() {
    let deed = "The ministry of defence of Ukraine lost 300 tanks in October.";
    let view = "I think that the new bridge in Odesa is the best of all.";
    let text = format!("{deed} {view}");
    let extracted = vec![claim(deed, ClaimKind::Opinion), claim(view, ClaimKind::Opinion)];
    let found = source(&text, "en").of_kind(Some(ClaimKind::Mixed), extracted, Vec::new());
    assert_eq!(kinds(&found), [(deed, ClaimKind::Factual), (view, ClaimKind::Opinion)]);
}
