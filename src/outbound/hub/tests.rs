//! Downloads from a hub that misbehaves.

use std::path::PathBuf;
use std::sync::Mutex;

use super::test_hub::{COMMIT, Faults, TestHub, sha256};
use super::*;
use crate::outbound::test_server::{TestServer, answer};

const MODEL: HubFile<'static> = HubFile { repository: "acme/model", revision: "main", path: "onnx/model.onnx" };

/// Weights without a pattern, so that a wrong part is detected.
fn weights() -> Vec<u8> {
    (0..100_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

async fn hub(faults: Faults) -> TestHub {
    TestHub::start(&[("onnx/model.onnx", weights(), true), ("config.json", b"{}".to_vec(), false)], faults).await
}

fn client(url: Url) -> HubClient {
    let token = Some(SecretString::from("s3cret-token"));
    HubClient { idle: Duration::from_secs(2), ..HubClient::new("test", url, token).unwrap() }
}

struct Bed {
    hub: TestHub,
    client: HubClient,
    folder: tempfile::TempDir,
    facts: FileFacts,
}

impl Bed {
    async fn new(faults: Faults) -> Self {
        let hub = hub(faults).await;
        let client = client(hub.url());
        let facts = client.facts(MODEL).await.unwrap();
        Self { hub, client, folder: tempfile::tempdir().unwrap(), facts }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("model.onnx")
    }

    async fn download(&self) -> Result<String, HubError> {
        self.client.download(MODEL, &self.facts, &self.target(), &|_| {}).await
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn leave(&self, bytes: &[u8]) {
        let part = format!("model.onnx.{}.part", self.facts.sha256.as_ref().unwrap().get(..12).unwrap());
        std::fs::write(self.folder.path().join(part), bytes).unwrap();
    }
}

#[tokio::test]
async fn a_file_comes_whole_from_where_the_hub_sends() {
    let bed = Bed::new(Faults::default()).await;
    assert_eq!((bed.facts.size, bed.facts.commit.as_deref()), (Some(100_000), Some(COMMIT)));
    let heard = Mutex::new(Vec::new());
    let hears = |bytes| heard.lock().unwrap().push(bytes);
    let sum = bed.client.download(MODEL, &bed.facts, &bed.target(), &hears).await.unwrap();
    assert_eq!((sum, std::fs::read(bed.target()).unwrap()), (sha256(&weights()), weights()));
    assert_eq!(bed.names(), ["model.onnx"], "nothing is left beside it");
    let heard = heard.into_inner().unwrap();
    assert!(heard.is_sorted() && heard.first() == Some(&0) && heard.last() == Some(&100_000), "{heard:?}");
    let small = bed.client.read(HubFile { path: "config.json", ..MODEL }).await.unwrap();
    assert_eq!(small, b"{}");
    let asked = bed.hub.server.seen();
    assert!(asked.iter().all(|seen| seen.header("accept-encoding") == Some("identity")));
}

#[tokio::test]
async fn a_cut_connection_costs_what_is_missing_and_no_more() {
    let bed = Bed::new(Faults { cut_after: Some(30_000), cuts: 2, ..Faults::default() }).await;
    bed.download().await.unwrap();
    assert_eq!(std::fs::read(bed.target()).unwrap(), weights());
    assert_eq!(bed.hub.ranges(), ["-", "bytes=30000-", "bytes=60000-"]);
    let seen = bed.hub.server.seen();
    assert_eq!(seen.last().unwrap().header("if-range"), Some("\"store-1\""), "not without the tag of what is here");
}

#[tokio::test]
async fn another_run_goes_on_where_the_last_one_stopped() {
    let bed = Bed::new(Faults::default()).await;
    bed.leave(&weights()[..99_000]);
    bed.download().await.unwrap();
    assert_eq!(std::fs::read(bed.target()).unwrap(), weights());
    assert_eq!(bed.hub.ranges(), ["bytes=99000-"]);
    // Complete, with or without its final name.
    bed.download().await.unwrap();
    std::fs::remove_file(bed.target()).unwrap();
    bed.leave(&weights());
    bed.download().await.unwrap();
    assert_eq!(std::fs::read(bed.target()).unwrap(), weights());
    assert_eq!(bed.hub.ranges().len(), 1, "nothing was asked for");
}

#[tokio::test]
async fn a_store_without_ranges_sends_the_whole_file_again() {
    let bed = Bed::new(Faults { no_ranges: true, ..Faults::default() }).await;
    bed.leave(&weights()[..50_000]);
    bed.download().await.unwrap();
    assert_eq!(std::fs::read(bed.target()).unwrap(), weights());
}

#[tokio::test]
async fn wrong_bytes_never_get_the_files_name_and_are_not_kept() {
    let bed = Bed::new(Faults { wrong_bytes: true, ..Faults::default() }).await;
    let error = bed.download().await.unwrap_err();
    assert!(matches!(error, HubError::Checksum { .. }) && error.to_string().contains("was deleted"), "{error}");
    assert_eq!(bed.names(), Vec::<String>::new());
    // The existing data is wrong: the next run must not resume it.
    let right = Bed::new(Faults::default()).await;
    right.leave(&vec![7; 50_000]);
    assert!(matches!(right.download().await, Err(HubError::Checksum { .. })));
    right.download().await.unwrap();
    assert_eq!(right.hub.ranges(), ["bytes=50000-", "-"]);
}

#[tokio::test]
async fn more_than_was_promised_is_not_written() {
    let bed = Bed::new(Faults::default()).await;
    let facts = FileFacts::known(Some(60_000), Some(sha256(b"other")));
    let error = bed.client.download(MODEL, &facts, &bed.target(), &|_| {}).await.unwrap_err();
    assert!(matches!(error, HubError::Size { expected: 60_000, .. }), "{error}");
    // The expected file is longer than the existing one, but the store has no further bytes.
    let longer = FileFacts::known(Some(200_000), bed.facts.sha256.clone());
    bed.leave(&weights());
    let error = bed.client.download(MODEL, &longer, &bed.target(), &|_| {}).await.unwrap_err();
    assert!(matches!(error, HubError::Size { found: Some(100_000), .. }), "{error}");
    assert_eq!(bed.hub.ranges()[1..], ["bytes=100000-", "-"]);
    assert_eq!(bed.names(), Vec::<String>::new());
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let gated = hub(Faults { refuse: Some(401), ..Faults::default() }).await;
    let error = client(gated.url()).facts(MODEL).await.unwrap_err().to_string();
    assert!(
        error.contains("acme/model") && error.contains("accept its terms") && error.contains("GatedRepo"),
        "{error}"
    );
    let open = hub(Faults::default()).await;
    let missing = HubFile { path: "onnx/other.onnx", ..MODEL };
    let error = client(open.url()).facts(missing).await.unwrap_err().to_string();
    assert!(error.contains("/acme/model/resolve/main/onnx/other.onnx") && error.contains("--revision"), "{error}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = client(Url::parse(&format!("http://{free}")).unwrap());
    let error = nobody.head(MODEL).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1 cannot be reached") && error.contains("--hub"), "{error}");
}

#[tokio::test]
async fn the_token_goes_to_the_hub_alone_and_redirects_end() {
    let store = TestServer::start([answer(200, &[], "file")]).await;
    let place = store.url.join("/file").unwrap();
    let hub = TestServer::answering(move |_number, seen| match seen.path() {
        "/acme/model/resolve/main/onnx/model.onnx" => answer(307, &[("location", "/renamed")], ""),
        "/renamed" => answer(302, &[("location", place.as_str())], ""),
        "/acme/model/resolve/main/loop" => answer(302, &[("location", "loop")], ""),
        _ => answer(302, &[("location", "ftp://elsewhere/file")], ""),
    })
    .await;
    let client = client(hub.url.clone());
    assert_eq!(client.read(MODEL).await.unwrap(), b"file");
    assert!(hub.seen().iter().all(|seen| seen.header("authorization") == Some("Bearer s3cret-token")));
    assert_eq!(store.seen()[0].header("authorization"), None);
    for path in ["loop", "strange"] {
        assert!(matches!(client.read(HubFile { path, ..MODEL }).await, Err(HubError::Redirects { .. })), "{path}");
    }
    assert!(!format!("{client:?}").contains("s3cret"));
}

#[test]
fn a_full_disk_is_told_from_a_broken_one() {
    let path = Path::new("/models/.pull/model.onnx.part");
    let full = HubError::of_disk(path, &std::io::ErrorKind::StorageFull.into(), Some(12_300_001)).to_string();
    assert!(full.contains("no space is left in /models/.pull for 13 MB more"), "{full}");
    let denied = HubError::of_disk(path, &std::io::ErrorKind::PermissionDenied.into(), None);
    assert!(matches!(denied, HubError::Disk { .. }));
}
