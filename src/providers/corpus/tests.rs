use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::contract_own::{OwnSubject, gate};
use super::*;
use crate::outbound::AskMeter;

fn settings(folder: &Path) -> FolderSettings {
    FolderSettings {
        name: "docs".to_owned(),
        folder: folder.to_path_buf(),
        include: Vec::new(),
        exclude: Vec::new(),
        credibility: 0.9,
        max_file_bytes: 64 * 1024,
        max_bytes: 1024 * 1024,
    }
}

fn over(settings: FolderSettings) -> Corpus {
    let settings = CorpusSettings { folders: vec![settings], rescan: Duration::ZERO };
    new(settings, gate(gate_settings(Duration::from_mins(10)))).unwrap()
}

fn question(text: &str) -> Query {
    Query { text: text.to_owned(), ..super::super::contract::query() }
}

async fn ask(corpus: &Corpus, query: &Query) -> Vec<Hit> {
    let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &AskMeter::default() };
    corpus.ask(query, asker).await.unwrap().hits
}

fn write(folder: &TempDir, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn urls(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.url.as_str()).collect()
}

const SEAPORT: &str = "# Ports\n\nCustoms granted approval to the Vizhinjam International Seaport in June.\n";

pub(in crate::providers) async fn own_subject() -> Option<OwnSubject> {
    let (full, empty) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&full, "ports.md", SEAPORT);
    write(&full, "more/ports.txt", "The approval of customs for Vizhinjam International Seaport came late.\n");
    let slow = over(settings(full.path()));
    // A scan that runs and does not end.
    std::mem::forget(Arc::clone(&slow.folders[0].looked).lock_owned().await);
    Some(OwnSubject {
        kind: ProviderKind::Own,
        query: super::super::contract::query(),
        full: Box::new(over(settings(full.path()))),
        empty: Box::new(over(settings(empty.path()))),
        broken: Box::new(over(settings(Path::new("/nowhere/at/all")))),
        slow: Box::new(slow),
        content: Some(Origin::Corpus),
        clear: Box::pin(async { drop((full, empty)) }),
    })
}

#[tokio::test]
async fn a_hit_names_its_lines_and_no_path_of_the_machine() {
    let folder = TempDir::new().unwrap();
    write(&folder, "docs/a guide.md", "# Limits\n\n## Fetching\n\nA page fetch waits at most fifteen\nseconds.\n");
    let hits = ask(&over(settings(folder.path())), &question("A page fetch waits fifteen seconds")).await;
    assert_eq!(urls(&hits), ["corpus://docs/docs/a%20guide.md#L5-L6"]);
    assert_eq!(hits[0].title, "docs/a guide.md: Limits › Fetching");
    let content = hits[0].content.as_ref().unwrap();
    assert_eq!(content.text, "A page fetch waits at most fifteen seconds.");
    assert_eq!(content.publisher.as_deref(), Some("docs"));
    assert_eq!(hits[0].published_at, None, "when a file was copied says nothing");
    let machine = folder.path().display().to_string();
    assert!(!format!("{hits:?}").contains(&machine));
    let gone = over(settings(&folder.path().join("gone")));
    let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &AskMeter::default() };
    let error = gone.ask(&question("a page fetch"), asker).await.unwrap_err();
    assert!(error.to_string().contains("folder docs") && !error.to_string().contains(&machine), "{error}");
}

#[tokio::test]
async fn a_title_without_marks_is_no_part_of_the_first_sentence() {
    let folder = TempDir::new().unwrap();
    let claim = "The Orrin Bridge in Larkhaven was opened by mayor Helen Drummond on 4 May 2026.";
    for (name, text) in [
        (
            "a.txt",
            format!("New bridge in Larkhaven\n{claim} It took\nseven years to build and cost 41 million pounds.\n"),
        ),
        ("b.txt", format!("New bridge in Larkhaven\n\n{claim}\n")),
        ("c.md", format!("---\ntitle: Bridge\ndate: 2026-05-05\n---\n\nA bridge for the whole town\n\n{claim}\n")),
        ("2026-05-05-d.txt", format!("NEW BRIDGE IN LARKHAVEN\nBy our reporter\n{claim}\n")),
        ("e.txt", format!("Opened in 2026: the new bridge\n{claim}\n")),
    ] {
        write(&folder, name, text);
    }
    let hits = ask(&over(settings(folder.path())), &question(claim)).await;
    assert_eq!(hits.len(), 5, "{hits:#?}");
    for hit in &hits {
        let text = &hit.content.as_ref().unwrap().text;
        assert!(text.split("\n\n").any(|paragraph| paragraph.starts_with(claim)), "{}: {text}", hit.url);
        assert!(!text.contains("title: Bridge"), "{text}");
        let dated = hit.url.contains("/c.md") || hit.url.contains("/2026-");
        let day = hit.published_at.map(|day| day.date_naive().to_string());
        assert_eq!(day.as_deref(), dated.then_some("2026-05-05"), "{}", hit.url);
    }
}

#[tokio::test]
async fn only_texts_of_the_folder_itself_are_read() {
    let (folder, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&outside, "secret.md", SEAPORT);
    std::os::unix::fs::symlink(outside.path(), folder.path().join("linked")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.path().join("linked.md")).unwrap();
    write(&folder, ".hidden/ports.md", SEAPORT);
    write(&folder, "build/ports.md", SEAPORT);
    write(&folder, ".gitignore", "build/\n");
    write(&folder, "ports.lock", SEAPORT);
    write(&folder, "binary.txt", [SEAPORT.as_bytes(), b"\0\x01"].concat());
    write(&folder, "huge.md", format!("{SEAPORT}{}", "word ".repeat(20_000)));
    write(&folder, "kept.md", SEAPORT);
    let hits = ask(&over(settings(folder.path())), &super::super::contract::query()).await;
    assert_eq!(urls(&hits), ["corpus://docs/kept.md#L3-L3"]);
}

#[tokio::test]
async fn globs_choose_and_leave_out() {
    let folder = TempDir::new().unwrap();
    for path in ["a.md", "drafts/b.md", "docs/c.md", "docs/d.txt"] {
        write(&folder, path, SEAPORT);
    }
    let chosen =
        FolderSettings { include: vec!["*.md".into()], exclude: vec!["drafts/**".into()], ..settings(folder.path()) };
    let hits = ask(&over(chosen), &super::super::contract::query()).await;
    assert_eq!(urls(&hits), ["corpus://docs/a.md#L3-L3", "corpus://docs/docs/c.md#L3-L3"]);
    let wrong = FolderSettings { include: vec!["[".into()], ..settings(folder.path()) };
    let wrong = CorpusSettings { folders: vec![wrong], rescan: Duration::ZERO };
    let error = new(wrong, gate(gate_settings(Duration::ZERO))).unwrap_err().to_string();
    assert!(error.contains("docs/**/*.md"), "{error}");
}

#[tokio::test]
async fn the_document_a_claim_comes_from_is_no_evidence_for_it() {
    let folder = TempDir::new().unwrap();
    for path in ["README.md", "docs/README.md", "src/ports.rs"] {
        write(&folder, path, SEAPORT);
    }
    let corpus = over(settings(folder.path()));
    let left = async |document: &str| {
        let query = Query { source_document: Some(document.to_owned()), ..super::super::contract::query() };
        let hits = ask(&corpus, &query).await;
        let paths = hits.iter().map(|hit| Url::parse(&hit.url).unwrap().path().trim_start_matches('/').to_owned());
        let mut paths: Vec<String> = paths.collect();
        paths.sort();
        paths
    };
    assert_eq!(left("README.md").await, ["docs/README.md", "src/ports.rs"]);
    assert_eq!(left("./docs/README.md").await, ["README.md", "src/ports.rs"]);
    assert_eq!(left("/build/project/docs/README.md").await, ["README.md", "src/ports.rs"]);
    assert_eq!(left("corpus://docs/src/ports.rs#L1-L3").await, ["README.md", "docs/README.md"]);
    assert_eq!(left("ports.rs").await, ["README.md", "docs/README.md"]);
    assert_eq!(left("elsewhere.md").await.len(), 3);
    let own = Query { source_document: Some("README.md".into()), ..super::super::contract::query() };
    assert_ne!(corpus.cache_key(&own), corpus.cache_key(&super::super::contract::query()));
}

#[tokio::test]
async fn changed_added_and_removed_files_are_seen_at_the_next_look() {
    let folder = TempDir::new().unwrap();
    write(&folder, "a.md", "The harbour opened.\n");
    let corpus = over(settings(folder.path()));
    let query = super::super::contract::query();
    assert!(ask(&corpus, &query).await.is_empty());
    write(&folder, "a.md", SEAPORT);
    write(&folder, "b.md", SEAPORT);
    assert!(ask(&corpus, &query).await.is_empty(), "a question does not look again");
    corpus.keep_up().await.unwrap();
    assert_eq!(ask(&corpus, &query).await.len(), 2);
    let before = corpus.folders[0].seen().unwrap();
    corpus.keep_up().await.unwrap();
    assert!(Arc::ptr_eq(&before, &corpus.folders[0].seen().unwrap()), "nothing changed, nothing is built");
    fs::remove_file(folder.path().join("b.md")).unwrap();
    corpus.keep_up().await.unwrap();
    assert_eq!(ask(&corpus, &query).await.len(), 1);
}

#[tokio::test]
async fn a_folder_that_vanished_is_named_and_its_old_texts_are_not_served() {
    let (kept, gone) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&kept, "a.md", SEAPORT);
    write(&gone, "b.md", SEAPORT);
    let place = gone.path().to_owned();
    let folders = vec![FolderSettings { name: "gone".to_owned(), ..settings(&place) }, settings(kept.path())];
    let settings = CorpusSettings { folders, rescan: Duration::ZERO };
    let corpus = new(settings, gate(gate_settings(Duration::from_mins(10)))).unwrap();
    let query = super::super::contract::query();
    assert_eq!(ask(&corpus, &query).await.len(), 2);
    drop(gone);
    write(&kept, "c.md", SEAPORT);
    assert!(corpus.keep_up().await.unwrap_err().contains("folder gone"));
    let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &AskMeter::default() };
    let answer = corpus.ask(&query, asker).await.unwrap();
    assert_eq!(urls(&answer.hits), ["corpus://docs/a.md#L3-L3", "corpus://docs/c.md#L3-L3"]);
    assert_eq!(answer.failed, ["gone"]);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("b.md"), SEAPORT).unwrap();
    corpus.keep_up().await.unwrap();
    let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &AskMeter::default() };
    let answer = corpus.ask(&query, asker).await.unwrap();
    assert_eq!((answer.hits.len(), answer.is_whole()), (3, true), "what is there again is served again");
    fs::remove_dir_all(&place).unwrap();
}

#[tokio::test]
async fn memory_is_bounded_and_what_has_no_room_is_counted() {
    let folder = TempDir::new().unwrap();
    for number in 0..9 {
        write(&folder, &format!("{number}.md"), format!("{SEAPORT}{}", "filler words here. ".repeat(500)));
    }
    let corpus = over(FolderSettings { max_bytes: 40_000, ..settings(folder.path()) });
    let hits = ask(&corpus, &super::super::contract::query()).await;
    let seen = corpus.folders[0].seen().unwrap();
    assert!(!hits.is_empty() && hits.len() == seen.files.len().min(5));
    assert_eq!(seen.files.len() + seen.left_out, 9);
    assert!(seen.left_out > 0 && seen.files.iter().map(|file| file.passages.len()).sum::<usize>() == seen.passages());
}

#[tokio::test]
async fn ukrainian_and_old_encodings_are_found() {
    let folder = TempDir::new().unwrap();
    write(&folder, "uk.md", "# Порт\n\nМитниця надала дозвіл морському порту Візінджам.\n");
    let (cyrillic, _, _) = encoding_rs::WINDOWS_1251.encode("Таможня выдала разрешение морскому порту Визинджам.\n");
    write(&folder, "ru.txt", cyrillic);
    let corpus = over(settings(folder.path()));
    let hits = ask(&corpus, &question("Митниця дала дозвіл порту Візінджам")).await;
    assert_eq!(hits.first().map(|hit| hit.url.as_str()), Some("corpus://docs/uk.md#L3-L3"));
    let hits = ask(&corpus, &question("Порт Визинджам получил разрешение таможни")).await;
    assert_eq!(hits.first().map(|hit| hit.url.as_str()), Some("corpus://docs/ru.txt#L1-L1"));
}
