//! The commands, against a real database and a simulated world.
#![cfg(test)]

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::{finish, program};
use crate::support::schema;
use crate::support::stories::{self, ONCE, TOLD, UNTOLD, item};
use crate::support::upstream::broker_url;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_answers_a_person_and_a_machine() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let result = app.run(&["check", "--json", TOLD]).await.json();
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    let schema = app.run(&["schema", "result"]).await.json();
    assert_eq!(schema::faults(&schema, &result), Vec::<String>::new());
    let calls = app.calls();
    let text = app.run(&["check", TOLD]).await;
    assert!(text.ok().contains("✓ Supported") && text.ok().contains("http://127.0.0."), "{}", text.stdout);
    assert!(!text.stdout.contains('\u{1b}'), "no colour where there is no terminal");
    assert_eq!(app.calls(), calls, "asked again, it is answered from the store");
    // A person's own question has no minimum length.
    let short = app.run(&["check", "--json", "Orlesk sold its hall."]).await.json();
    assert_eq!(short["cost"]["provider_calls"]["google_factcheck"], 1, "{short:#}");
    let words = app.run(&["check", "--json", "--vocabulary", "rag", UNTOLD]).await.json();
    assert_eq!(words["claims"][0]["verdict"], "Not Enough Evidence");
    assert_eq!(app.run(&["check", "   "]).await.code, 2);
    assert_eq!(app.run(&["check"]).await.code, 2);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enrich_does_the_good_lines_names_the_bad_ones_and_goes_on_where_it_stopped() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("items.ndjson"), folder.path().join("results.ndjson"));
    let lines =
        format!("{}\n{{\"schema\": 1, \"item_id\": \n{}\n{}\n", item("a", TOLD), item("b", ONCE), item("c", UNTOLD));
    std::fs::write(&file, &lines).unwrap();
    let arguments = ["enrich", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let done = app.run(&arguments).await;
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("line 2"), "{}", done.stderr);
    let results = |path: &std::path::Path| -> Vec<Value> {
        std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let first = results(&out);
    let mut ids: Vec<&str> = first.iter().map(|result| result["item_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["a", "b", "c"]);

    let calls = app.calls();
    let again = app.run(&arguments).await;
    assert!(again.stderr.contains("3 result(s)"), "{}", again.stderr);
    assert_eq!((results(&out).len(), app.calls()), (3, calls), "nothing is done twice");

    // Cut off in the middle of a line, as by a kill: that item is written again, the others stay.
    let text = std::fs::read_to_string(&out).unwrap();
    let kept: String = text.chars().take(text.chars().count() - 40).collect();
    std::fs::write(&out, kept).unwrap();
    std::fs::write(&file, lines.replace("{\"schema\": 1, \"item_id\": \n", "")).unwrap();
    app.run(&arguments).await.ok();
    let text = std::fs::read_to_string(&out).unwrap();
    let whole = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert_eq!((whole, app.calls()), (3, calls));

    let piped = app.run_with(&["enrich", "-"], &format!("{}\n", item("a", TOLD))).await;
    assert_eq!(serde_json::from_str::<Value>(piped.ok().trim()).unwrap()["item_id"], "a");
    assert_eq!(app.run(&["enrich", "/nowhere/items.ndjson"]).await.code, 1);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enqueue_puts_items_into_the_queue_for_a_daemon() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let lines = format!("{}\n{}\n", item("q1", TOLD), item("q2", ONCE));
    app.run_with(&["enqueue", "-"], &lines).await.ok();
    app.run_with(&["enqueue", "-", "--queue", "factcheck"], &item("q3", stories::REVIEWED).to_string()).await.ok();
    assert_eq!(app.upstream.result("q1", 1).await["claims"][0]["verdict"], "supported");
    app.upstream.result("q2", 1).await;
    assert!(app.upstream.result("q3", 1).await["notes"].to_string().contains("phase1_only"));
    let shown = app.run(&["evidence", "q1"]).await;
    assert!(shown.ok().contains("Velmora"), "{}", shown.stdout);
    let json = app.run(&["evidence", "q1", "--json"]).await.json();
    let sites: std::collections::BTreeSet<&str> =
        json["evidence"].as_array().unwrap().iter().map(|row| row["domain"].as_str().unwrap()).collect();
    assert_eq!(sites.len(), 3, "{json:#}");
    let claim = json["result"]["claims"][0]["claim_id"].as_str().unwrap().to_owned();
    for id in ["q1", &claim] {
        let shown = app.run(&["why", id]).await;
        let why = shown.ok();
        let tells = ["posterior", "support ", "source ", claim.as_str(), "supported"];
        assert!(tells.iter().all(|told| why.contains(told)), "{why}");
    }
    let told = app.run(&["why", &claim, "--json"]).await.json();
    assert_eq!((told["item_id"].as_str(), told["claims"].as_array().unwrap().len()), (Some("q1"), 1), "{told:#}");
    assert!(told["claims"][0]["passages"].as_array().unwrap().len() >= 3, "{told:#}");
    assert_eq!(app.run(&["why", "clm_none"]).await.code, 1);
    // Upstream names its items as it likes.
    app.run_with(&["enqueue", "-"], &item("clm_q4", ONCE).to_string()).await.ok();
    app.upstream.result("clm_q4", 1).await;
    let named = app.run(&["why", "clm_q4", "--json"]).await.json();
    assert_eq!(named["item_id"], "clm_q4", "{named:#}");
    let nobody = app.run(&["evidence", "nobody"]).await;
    let errors = nobody.stderr.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!((nobody.code, errors), (1, 1), "{}", nobody.stderr);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn domains_are_listed_added_and_removed_and_a_dry_run_changes_nothing() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let list = async || app.run(&["domains", "list", "--json"]).await.json()["items"].as_array().unwrap().clone();
    let has = |rules: &[Value], domain: &str| rules.iter().any(|rule| rule["domain"] == domain);
    assert!(has(&list().await, "reuters.com"), "the seed list is there before the first edit");
    let dry = app.run(&["domains", "add", "https://www.New.Example/page", "--deny", "--dry-run"]).await;
    assert!(dry.ok().contains("would add"), "{}", dry.stdout);
    assert!(!has(&list().await, "new.example"));
    app.run(&["domains", "add", "https://www.New.Example/page", "--allow", "--credibility", "0.9", "--why", "a test"])
        .await
        .ok();
    let rules = list().await;
    let rule = rules.iter().find(|rule| rule["domain"] == "new.example").unwrap();
    assert_eq!((&rule["list"], &rule["credibility"], &rule["why"]), (&json!("allow"), &json!(0.9), &json!("a test")));
    assert!(app.run(&["domains", "remove", "new.example", "--dry-run"]).await.ok().contains("would remove"));
    assert!(has(&list().await, "new.example"));
    app.run(&["domains", "remove", "new.example"]).await.ok();
    assert!(!has(&list().await, "new.example"));
    assert_eq!(app.run(&["domains", "remove", "new.example"]).await.code, 1);
    assert_eq!(app.run(&["domains", "add", "no dots", "--deny"]).await.code, 2);
    assert_eq!(app.run(&["domains", "add", "a.example", "--allow", "--credibility", "7"]).await.code, 2);
    assert_eq!(app.count("domain_rule_changes WHERE domain = 'new.example'").await, 2);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrate_twice_and_cleanup_say_what_they_did() {
    let Some(broker) = broker_url() else { return };
    let Some(app) = TestApp::unmigrated(&broker, stories::world()).await else { return };
    app.run(&["migrate"]).await.ok();
    app.run(&["migrate"]).await.ok();
    app.run(&["check", TOLD]).await.ok();
    sqlx::query("UPDATE evidence_sources SET expires_at = now() - interval '1 day'")
        .execute(&app.database)
        .await
        .unwrap();
    sqlx::query("UPDATE fact_check_cache SET expires_at = now() - interval '1 day'")
        .execute(&app.database)
        .await
        .unwrap();
    let before = app.count("fact_check_cache").await;
    assert!(before > 0);
    let dry = app.run(&["cleanup", "--dry-run", "--json"]).await.json();
    assert_eq!(app.count("fact_check_cache").await, before, "a dry run removes nothing");
    let done = app.run(&["cleanup", "--json"]).await.json();
    assert_eq!(dry["fact_check_cache"], done["fact_check_cache"]);
    assert_eq!(app.count("fact_check_cache").await, 0);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_says_what_is_reachable_and_what_is_missing() {
    let Some(broker) = broker_url() else { return };
    let Some(mut app) = TestApp::unmigrated(&broker, stories::world()).await else { return };
    app.unset("FACTCHECK_GOOGLE_API_KEY");
    let before = app.run(&["doctor"]).await;
    assert!(before.ok().contains("corroborate migrate"), "{}", before.stdout);
    assert_eq!(app.count("pg_tables WHERE tablename = 'items'").await, 0, "a check-up changes nothing");
    app.run(&["migrate"]).await.ok();
    let done = app.run(&["doctor"]).await;
    let text = done.ok();
    for part in ["Postgres", "RabbitMQ", "FACTCHECK_GOOGLE_API_KEY", "searxng answers", "vector"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(!text.contains("simulated-key"));
    let mut wrong = app.database_url.clone();
    wrong.set_path("/no_such_database");
    let failed = app.run_set(&[("DATABASE_URL", wrong.as_str())], &["doctor"]).await;
    assert_eq!(failed.code, 69, "{}{}", failed.stdout, failed.stderr);
    assert!(failed.stdout.contains("searxng answers"), "the store hides nobody: {}", failed.stdout);
    app.clear().await;
}

/// Without any service.
async fn alone(environment: &[(&str, &str)], arguments: &[&str]) -> crate::support::daemon::Finished {
    let environment: Vec<(String, String)> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    finish(&environment, arguments, "").await
}

#[tokio::test]
async fn the_configuration_is_checked_and_shown_without_its_secrets() {
    let secrets = [
        ("DATABASE_URL", "postgres://user:hidden-one@db.example/x"),
        ("AMQP_URL", "amqp://user:hidden-two@mq.example"),
        ("FACTCHECK_GOOGLE_API_KEY", "hidden-three"),
        ("ADMIN_TOKEN", "hidden-four-which-is-long"),
        ("WORKER_CONCURRENCY", "7"),
    ];
    alone(&secrets, &["config", "check"]).await.ok();
    for arguments in [&["config", "show"][..], &["config", "show", "--json"]] {
        let shown = alone(&secrets, arguments).await;
        assert!(!shown.ok().contains("hidden-"), "{}", shown.stdout);
        assert!(shown.stdout.contains("WORKER_CONCURRENCY") && shown.stdout.contains('7'));
    }
    let wrong = alone(&[("ENRICHMENT_MAXSECONDS", "1"), ("WORKER_CONCURRENCY", "many")], &["config", "check"]).await;
    assert_eq!(wrong.code, 78, "{}", wrong.stderr);
    for part in ["ENRICHMENT_MAXSECONDS", "ENRICHMENT_MAX_SECONDS", "WORKER_CONCURRENCY", "many"] {
        assert!(wrong.stderr.contains(part), "{part} is not in {}", wrong.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    std::fs::write(&file, "[worker]\nconcurency = 3\n").unwrap();
    let wrong = alone(&[], &["--config", file.to_str().unwrap(), "config", "check"]).await;
    assert_eq!(wrong.code, 78);
    assert!(wrong.stderr.contains("concurency") && wrong.stderr.contains("concurrency"), "{}", wrong.stderr);
}

#[tokio::test]
async fn tokens_generate_prints_a_token_that_an_open_address_takes() {
    let wrong = [("WORKER_NONSENSE", "1"), ("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")];
    let (one, other) = (alone(&wrong, &["tokens", "generate"]).await, alone(&wrong, &["tokens", "generate"]).await);
    let token = one.ok().strip_suffix('\n').unwrap();
    assert!(token.len() >= 64 && !token.contains(char::is_whitespace), "256 bits: {token}");
    assert_ne!(token, other.ok().trim());
    let shown = alone(&wrong, &["tokens", "generate", "--json"]).await.json();
    assert_eq!(shown["token"].as_str().unwrap().len(), token.len());
    let help = alone(&[], &["tokens", "generate", "--help"]).await;
    assert!(help.ok().contains("ADMIN_TOKEN_FILE") && help.stdout.contains("http.read_token"), "{}", help.stdout);

    let open =
        |token: &str| [("HTTP_BIND".to_owned(), "0.0.0.0:0".to_owned()), ("ADMIN_TOKEN".to_owned(), token.to_owned())];
    finish(&open(token), &["config", "check"], "").await.ok();
    let configuration = alone(&[("WORKER_CONCURRENCY", "many")], &["config", "check"]).await.code;
    for arguments in [&["config", "check"][..], &["serve"]] {
        let refused = finish(&open("corroborate2026admin"), arguments, "").await;
        assert_eq!(refused.code, configuration, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("corroborate tokens generate"), "{}", refused.stderr);
        assert!(!refused.stderr.contains("2026"), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn schemas_and_completions_need_no_configuration() {
    for what in ["item", "result", "config"] {
        let schema = alone(&[("WORKER_NONSENSE", "1")], &["schema", what]).await.json();
        assert!(schema.get("$schema").is_some() && schema["properties"].is_object(), "{what}");
    }
    let schema = alone(&[], &["schema", "item"]).await.json();
    assert_eq!(schema::faults(&schema, &item("fits", TOLD)), Vec::<String>::new());
    assert!(!schema::faults(&schema, &json!({"schema": 1, "item_id": 7})).is_empty());
    for shell in ["bash", "zsh", "fish"] {
        assert!(alone(&[], &["completions", shell]).await.ok().contains("corroborate"));
    }
    for command in [
        "serve", "demo", "check", "enrich", "enqueue", "evidence", "why", "eval", "rescore", "domains", "migrate",
        "config", "doctor",
    ] {
        assert!(alone(&[], &[command, "--help"]).await.ok().contains("Usage"), "{command}");
    }
    assert_eq!(alone(&[], &["nonsense"]).await.code, 2);
    // A reader that goes away early is no error.
    let mut child = program(&[], &["schema", "config"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
