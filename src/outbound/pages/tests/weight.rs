//! Bodies that are larger or slower than they look.

use std::io::Write as _;

use super::*;

/// Peak memory of this process, bytes.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

fn packed_head(coding: &str) -> Vec<u8> {
    // The announced length is false.
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: {coding}\r\n\r\n").into_bytes()
}

/// One megabyte of blanks as a repeatable piece of a deflate stream.
fn deflated_megabyte() -> Vec<u8> {
    let mut compress = flate2::Compress::new(flate2::Compression::best(), false);
    let mut piece = Vec::with_capacity(64 * 1024);
    compress.compress_vec(&vec![b' '; 1 << 20], &mut piece, flate2::FlushCompress::Full).unwrap();
    piece
}

#[tokio::test]
async fn ten_gigabytes_in_ten_megabytes_take_no_memory() {
    let gzip = [packed_head("gzip"), vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]].concat();
    let frame = zstd::encode_all(vec![b' '; 1 << 20].as_slice(), 3).unwrap();
    let mut brotli = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut brotli, 1 << 16, 3, 24);
    (0..256).for_each(|_| encoder.write_all(&vec![b' '; 1 << 20]).unwrap());
    drop(encoder);
    let piece = deflated_megabyte();
    assert!(piece.len() < 2_000 && frame.len() < 200 && brotli.len() < 4_000);
    let before = peak_memory();
    let fetcher = fetcher(PageSettings { max_bytes: 3 << 20, ..settings() });
    for (coding, reply) in [
        ("gzip", Reply::Repeat(gzip, piece, 10_240)),
        ("zstd", Reply::Repeat(packed_head("zstd"), frame, 10_240)),
        ("br", Reply::Raw([packed_head("br"), brotli].concat())),
    ] {
        let server = TestServer::start([reply]).await;
        assert_eq!(fetch_with(&fetcher, server.url.as_str()).await, Err(FetchError::TooLarge), "{coding}");
    }
    // Other systems check the error only.
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        assert!(after - before < 48 << 20, "{} MB more", (after - before) >> 20);
    }
}

#[tokio::test]
async fn a_compressed_page_is_read_whatever_it_was_packed_with() {
    let page = "<p>Проверка фактов: ложь.</p>".repeat(100);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(page.as_bytes()).unwrap();
    let zstd = zstd::encode_all(page.as_bytes(), 3).unwrap();
    for (coding, body) in [("gzip", gzip.finish().unwrap()), ("zstd", zstd)] {
        let got = fetch_reply(answer(200, &[HTML, ("content-encoding", coding)], body)).await.unwrap();
        assert_eq!(got.body, page.as_bytes(), "{coding}");
    }
}

#[tokio::test]
async fn a_length_that_is_promised_is_believed_only_where_it_is_too_large() {
    assert_eq!(fetch_reply(Reply::Raw(head_promising(1 << 40, "text/html"))).await, Err(FetchError::TooLarge));
    // The announced length of a compressed body is right and small.
    let blanks = zstd::encode_all(vec![b' '; 25_000].as_slice(), 3).unwrap();
    let bomb = answer(200, &[HTML, ("content-encoding", "zstd")], blanks);
    assert_eq!(fetch_reply(bomb).await, Err(FetchError::TooLarge));
}

#[tokio::test]
async fn a_body_that_trickles_is_not_waited_for_to_its_end() {
    // One byte in 100 ms is never idle, but would hold the place for a minute.
    let trickle = Reply::Trickle(head_promising(10_000, "text/html"), Duration::from_millis(100));
    let server = TestServer::start([trickle]).await;
    let patient = fetcher(PageSettings { timeout: Duration::from_mins(1), ..settings() });
    let start = Instant::now();
    assert_eq!(fetch_with(&patient, server.url.as_str()).await, Err(FetchError::TooSlow));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let server =
        TestServer::start([Reply::Trickle(head_promising(10_000, "text/html"), Duration::from_secs(59))]).await;
    let start = Instant::now();
    assert_eq!(fetch_with(&patient, server.url.as_str()).await, Err(FetchError::Timeout));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
