//! The demo: the main job on a bare machine.
#![cfg(all(test, feature = "embedded"))]

use crate::support::daemon::finish;

/// Whether a text holds a letter only the other one of the two alphabets lacks.
fn has_any(text: &str, letters: &str) -> bool {
    text.chars().any(|character| letters.contains(character))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_demo_shows_the_main_job_whatever_the_environment_says_and_reuses_what_it_stored() {
    let folder = tempfile::tempdir().unwrap();
    let environment: Vec<(String, String)> = [
        ("CORROBORATE_DATA_DIR", folder.path().to_str().unwrap()),
        // Nobody listens at any of these: whatever asked them would fail or degrade.
        ("DATABASE_URL", "postgres://nobody:x@127.0.0.1:1/none"),
        ("AMQP_URL", "amqp://nobody:x@127.0.0.1:1"),
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let first = finish(&environment, &["demo", "--full"], "").await;
    let text = first.ok();
    let shown = text.lines().filter(|line| line.starts_with("── ")).count();
    assert!(shown >= 24, "{shown} items:\n{text}");
    assert!(has_any(text, "ыэъ"), "Russian text");
    assert!(has_any(text, "їєґ"), "Ukrainian text");
    for part in
        ["supported", "refuted", "not verifiable", "corroboration: ", "http", "How to go on", "corroborate serve"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(text.contains("Evidence: ") && text.contains("Related fact-check: "), "digest lines:\n{text}");
    assert!(text.contains("0 stored by an earlier run"), "{text}");
    // Ids, channels, addresses, quoted passages and where an item comes from are others' words.
    let others = ["── ", "   Where this item comes from: "];
    let own = text.lines().take_while(|line| *line != "Summary").filter(|line| {
        !others.iter().any(|start| line.starts_with(start))
            && !line.contains("://")
            && !line.contains(['\u{201c}', '@'])
    });
    for line in own {
        let leaks = ["xn--", "corpus:", "\\u{", "\u{200e}", "· tier ", " e 0."].iter().any(|part| line.contains(part));
        assert!(!leaks && !line.contains('_'), "a name of ours: {line}");
    }

    let second = finish(&environment, &["demo"], "").await;
    let text = second.ok();
    assert!(text.lines().count() <= 80, "two screens:\n{text}");
    let kinds = [
        "A finding for the claim",
        "A lean against the claim",
        "Misleading",
        "Not enough evidence",
        "Nothing to check",
    ];
    for part in kinds.into_iter().chain(["Nothing found", "Not everything could be asked", "corroborate ui --demo"]) {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(text.contains(&format!(": 0 judged now, {shown} stored by an earlier run")), "{}", second.stdout);
}
