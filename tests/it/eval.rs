//! `eval`: labelled files through the program, without a database, a provider or a network.
#![cfg(test)]

use std::path::Path;

use serde_json::Value;

use crate::support::daemon::{Finished, finish};

async fn eval(arguments: &[&str]) -> Finished {
    eval_with(&[], arguments).await
}

async fn eval_with(settings: &[(&str, &str)], arguments: &[&str]) -> Finished {
    // Whatever is asked would have to go through an address that nobody listens at.
    let nobody = [("DATABASE_URL", "postgres://127.0.0.1:1/none"), ("HTTPS_PROXY", "http://127.0.0.1:1")];
    let nobody: Vec<(String, String)> =
        nobody.iter().chain(settings).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let arguments: Vec<&str> = ["eval"].iter().chain(arguments).copied().collect();
    finish(&nobody, &arguments, "").await
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn pairs_are_judged_and_the_figures_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out, page) =
        (folder.path().join("pairs.jsonl"), folder.path().join("out.jsonl"), folder.path().join("page.html"));
    let rows = "\u{feff}{\"id\":\"a\",\"claim\":\"The bridge was opened in 2019.\",\"evidence\":\"The bridge was opened in 2019.\",\"label\":\"entail\"}\n\
        \n{\"id\":\"b\",\"claim\":\"The bridge was opened in 2019.\",\"evidence\":\"The bridge was opened in 2017.\",\"label\":\"contradict\"}\n\
        {\"claim\":\"The bridge was opened in 2019.\",\"evidence\":\"Bread <b>is</b> baked of flour.\",\"label\":\"neutral\"}\n";
    std::fs::write(&file, rows).unwrap();
    let done = eval(&[text(&file), "--json", "--predictions", text(&out), "--html", text(&page)]).await;
    let found = done.json();
    assert_eq!((&found["rows"], &found["accuracy"]), (&3.into(), &1.0.into()), "{found:#}");
    assert_eq!(found["confusion"]["contradict"]["contradict"], 1, "a year that differs is a contradiction");
    assert!(found["judge"].as_str().is_some_and(|judge| !judge.is_empty()) && found["ms_per_row"].is_number());
    let lines: Vec<Value> =
        std::fs::read_to_string(&out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["id"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b", "4"]);
    assert!(lines.iter().all(|line| line["entail"].is_number() && line["predicted"] == line["label"]));
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("0 of 3 rows are wrong") && !page.contains("<script"));
    let shown = eval(&[text(&file)]).await;
    assert!(shown.ok().contains("3 row(s), judged by") && shown.stdout.contains("accuracy 1.000"), "{}", shown.stdout);
}

#[tokio::test]
async fn in_two_way_files_what_is_not_entailed_is_one_label() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.jsonl");
    let row = |evidence: &str, label: &str| {
        serde_json::json!({ "claim": "The bridge was opened in 2019.", "evidence": evidence, "label": label })
            .to_string()
    };
    let rows = [
        row("The bridge was opened in 2019.", "entail"),
        row("Bread is baked of flour.", "not_entail"),
        row("The bridge was opened in 2017.", "contradict"),
    ];
    std::fs::write(&file, rows.join("\n")).unwrap();
    let found = eval(&[text(&file), "--json"]).await.json();
    assert_eq!(found["confusion"]["not_entail"]["not_entail"], 2, "{found:#}");
    assert_eq!(found["confusion"].as_object().unwrap().len(), 2);
}

/// Three claims whose verdicts are people's.
fn claims() -> String {
    let said = "The parliament of Orlesk passed the budget for 2024 on Monday with 210 votes.";
    let claim = |id: &str, label: &str, evidence: &[&str]| {
        let evidence: Vec<Value> = evidence
            .iter()
            .enumerate()
            .map(|(place, text)| serde_json::json!({ "text": text, "url": format!("https://paper{place}.example/{id}") }))
            .collect();
        serde_json::json!({ "id": id, "claim": said, "claim_date": "2023-12-12", "evidence": evidence, "label": label })
            .to_string()
    };
    let rows = [
        claim(
            "two",
            "refuted",
            &[
                "The parliament of Orlesk rejected the budget for 2024 on Monday. Only 90 deputies voted for it, the speaker said.",
                "ORLESK. The budget for 2024 was not passed by the parliament of Orlesk on Monday, as only 90 deputies voted for it.",
            ],
        ),
        claim("none", "not_enough_evidence", &["Tomatoes like warm soil and much water in June and July."]),
        claim("empty", "not_enough_evidence", &[]),
    ];
    rows.join("\n")
}

#[tokio::test]
async fn claims_get_a_verdict_from_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    let (file, page) = (folder.path().join("claims.jsonl"), folder.path().join("page.html"));
    std::fs::write(&file, claims()).unwrap();
    let found = eval(&[text(&file), "--json", "--html", text(&page)]).await.json();
    assert_eq!((&found["rows"], &found["accuracy"]), (&3.into(), &1.0.into()), "{found:#}");
    let tiers = &found["calibration"]["tiers"];
    assert_eq!((&tiers["low"]["rows"], &tiers["low"]["right"]), (&3.into(), &1.0.into()), "{found:#}");
    assert_eq!(found["calibration"]["confidence"]["rows"], 1, "one takes a side");
    let page = std::fs::read_to_string(&page).unwrap();
    for part in [
        "<h2>Confusion</h2>",
        "<h2>Reliability as shown</h2>",
        "<h2>Tiers</h2>",
        "Calibrated: confidence",
        "<h2>Mistakes",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[tokio::test]
async fn curves_fitted_on_claims_are_written_and_used_where_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (file, curves, out) = (at("claims.jsonl"), at("curves.json"), at("out.jsonl"));
    std::fs::write(&file, claims()).unwrap();
    let confidence = || {
        let lines = std::fs::read_to_string(&out).unwrap();
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        first["confidence"].as_f64().unwrap()
    };
    let done = eval(&[text(&file), "--calibration", text(&curves), "--predictions", text(&out)]).await;
    assert!(done.code == 0 && done.stderr.contains("the curve of refuted rests on 1 row(s)"), "{}", done.stderr);
    let before = confidence();
    let fitted: Value = serde_json::from_str(&std::fs::read_to_string(&curves).unwrap()).unwrap();
    assert_eq!((&fitted["data"], &fitted["rows"]), (&"claims.jsonl".into(), &3.into()), "{fitted:#}");
    let refuted = &fitted["curves"]["refuted"];
    let (slope, offset) = (refuted["slope"].as_f64().unwrap(), refuted["offset"].as_f64().unwrap());
    let expected = 1.0 / (1.0 + (-(slope * before + offset)).exp());

    std::fs::write(at("settings.toml"), format!("[scoring]\ncalibration = '{}'\n", text(&curves))).unwrap();
    let settings = at("settings.toml");
    let settings = [("CORROBORATE_CONFIG", text(&settings))];
    eval_with(&settings, &[text(&file), "--predictions", text(&out)]).await.ok();
    assert!((confidence() - expected).abs() < 1e-3 && (before - expected).abs() > 1e-3, "{before} {expected}");

    let again = eval_with(&settings, &[text(&file), "--calibration", text(&at("other.json"))]).await;
    assert!(again.code == 2 && again.stderr.contains("scoring.calibration is set"), "{}", again.stderr);
    std::fs::write(&curves, "{}").unwrap();
    let broken = eval_with(&settings, &[text(&file)]).await;
    assert!(broken.code == 78 && broken.stderr.contains("curves.json"), "{}", broken.stderr);
    let no_model = eval(&[text(&file), "--judge", "llm"]).await;
    assert!(no_model.code == 78 && no_model.stderr.contains("LLM_BASE_URL"), "{}", no_model.stderr);
    std::fs::write(&file, "{\"claim\":\"a\",\"evidence\":\"b\",\"label\":\"neutral\"}\n").unwrap();
    let pairs = eval(&[text(&file), "--calibration", text(&curves)]).await;
    assert!(pairs.code == 2 && pairs.stderr.contains("wants claims"), "{}", pairs.stderr);
}

#[tokio::test]
async fn a_decision_model_is_fitted_to_claims_and_used_where_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rows = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/verdicts.jsonl");
    let out = at("decision.json");
    eval(&[text(&rows), "--decision", text(&out)]).await.ok();
    let fitted: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(fitted["judge"], "model", "most of these claims are English");
    assert!(fitted["rows"].as_u64().unwrap() > 100 && fitted["without_the_claim"].as_object().unwrap().len() == 1);
    std::fs::write(at("settings.toml"), format!("[scoring]\ndecision = '{}'\n", text(&out))).unwrap();
    let settings = at("settings.toml");
    let settings = [("CORROBORATE_CONFIG", text(&settings))];
    std::fs::write(at("claims.jsonl"), claims()).unwrap();
    let told = |out: &Path| {
        let lines = std::fs::read_to_string(out).unwrap();
        serde_json::from_str::<Value>(lines.lines().next().unwrap()).unwrap()["decision"]["posterior"].clone()
    };
    let (shipped, own) = (at("shipped.jsonl"), at("own.jsonl"));
    eval(&[text(&at("claims.jsonl")), "--predictions", text(&shipped)]).await.ok();
    eval_with(&settings, &[text(&at("claims.jsonl")), "--predictions", text(&own)]).await.ok();
    assert_ne!(told(&shipped), told(&own), "another table, another posterior");
    std::fs::write(&out, "{}").unwrap();
    let broken = eval_with(&settings, &[text(&at("claims.jsonl"))]).await;
    assert!(broken.code == 78 && broken.stderr.contains("--decision OUT"), "{}", broken.stderr);
    let few = eval(&[text(&at("claims.jsonl")), "--decision", text(&out)]).await;
    assert!(few.code == 2 && few.stderr.contains("too few"), "{}", few.stderr);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "{}", "what stood there stands");
}

/// Claims written to be hard (`tests/data/README.md`). Measured: 52 of 57 decisive verdicts are right.
#[tokio::test]
async fn decisive_verdicts_on_hard_claims_are_right_nine_times_in_ten() {
    let rows = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/verdicts.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    let found = eval(&[text(&rows), "--json", "--predictions", text(&out)]).await.json();
    assert_eq!(found["rows"], 186);
    assert!(found["accuracy"].as_f64().unwrap() > 0.6, "{found:#}");
    let lines = std::fs::read_to_string(&out).unwrap();
    let decisive: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|prediction| prediction["decisive"] == true)
        .collect();
    let wrong: Vec<String> = decisive
        .iter()
        .filter(|prediction| prediction["predicted"] != prediction["label"])
        .map(|prediction| format!("{} {} for {}", prediction["id"], prediction["predicted"], prediction["label"]))
        .collect();
    assert!(
        decisive.len() >= 40 && 10 * wrong.len() <= decisive.len(),
        "{} decisive, wrong: {wrong:?}",
        decisive.len()
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    let good = "{\"claim\":\"a\",\"evidence\":\"b\",\"label\":\"neutral\"}\n";
    std::fs::write(&file, format!("{good}nonsense\n{{\"claim\":\"a\",\"evidence\":\"b\",\"label\":\"maybe\"}}\n"))
        .unwrap();
    let done = eval(&[text(&file), "--json"]).await;
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("line 2:") && done.stderr.contains("\"maybe\" is none of"), "{}", done.stderr);
    assert_eq!(serde_json::from_str::<Value>(&done.stdout).unwrap()["rows"], 1);
    let twice = "{\"id\":7,\"claim\":\"a\",\"evidence\":\"b\",\"label\":\"neutral\"}\n";
    std::fs::write(&file, twice.repeat(2)).unwrap();
    let done = eval(&[text(&file), "--json"]).await;
    assert!(done.code == 0 && done.stderr.contains("line 2: the id \"7\" stands on line 1 too"), "{}", done.stderr);
    assert_eq!(serde_json::from_str::<Value>(&done.stdout).unwrap()["rows"], 2);
    std::fs::write(&file, "\n").unwrap();
    let empty = eval(&[text(&file)]).await;
    assert!(empty.code == 1 && empty.stderr.contains("holds no labelled row"), "{}", empty.stderr);
    std::fs::write(&file, format!("{good}{{\"claim\":\"a\",\"evidence\":[],\"label\":\"refuted\"}}\n")).unwrap();
    assert!(eval(&[text(&file)]).await.stderr.contains("files of their own"));
    assert!(eval(&["/nowhere/at/all.jsonl"]).await.stderr.contains("cannot be read"));
    let unwritable = eval(&[text(&file), "--html", "/nowhere/at/all.html"]).await;
    assert_eq!(unwritable.code, 1);
    let early = folder.path().join("early.jsonl");
    std::fs::write(&file, good).unwrap();
    let unwritable = eval(&[text(&file), "--predictions", text(&early), "--html", "/nowhere/at/all.html"]).await;
    assert!(unwritable.code == 1 && !early.exists(), "an empty file would look like an answer");
    std::fs::write(&file, good).unwrap();
    let over = eval(&[text(&file), "--predictions", text(&file)]).await;
    assert!(over.code == 2 && over.stderr.contains("named twice"), "{}", over.stderr);
    let one = folder.path().join("out");
    assert_eq!(eval(&[text(&file), "--predictions", text(&one), "--html", text(&one)]).await.code, 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), good, "the labels are as they were");
}
