//! `eval`: labelled files through the program, without a database, a provider or a network.
#![cfg(test)]

use std::path::Path;

use serde_json::Value;

use crate::support::daemon::{Finished, finish};

async fn eval(arguments: &[&str]) -> Finished {
    // Whatever is asked would have to go through an address that nobody listens at.
    let nobody = [("DATABASE_URL", "postgres://127.0.0.1:1/none"), ("HTTPS_PROXY", "http://127.0.0.1:1")];
    let nobody = nobody.map(|(name, value)| (name.to_owned(), value.to_owned()));
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

#[tokio::test]
async fn claims_get_a_verdict_from_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.jsonl");
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
    std::fs::write(&file, rows.join("\n")).unwrap();
    let found = eval(&[text(&file), "--json"]).await.json();
    assert_eq!((&found["rows"], &found["accuracy"]), (&3.into(), &1.0.into()), "{found:#}");
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
