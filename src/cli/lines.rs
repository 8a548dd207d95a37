//! Reads NDJSON input, one item per line.
//!
//! Bad lines are reported; none is dropped silently.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use super::failure::Failure;
use super::output::Output;
use crate::domain::item::MAX_MESSAGE_BYTES;
use crate::domain::{Item, RejectReason};

/// Read limit of a line: a message and its line break.
const LONGEST_LINE: u64 = MAX_MESSAGE_BYTES as u64 + 2;

#[derive(Debug)]
pub(super) struct Line {
    /// From 1, with blank lines.
    pub(super) number: usize,
    pub(super) bytes: Vec<u8>,
    pub(super) item: Result<Box<Item>, RejectReason>,
}

/// Reads a file; `-` is standard input.
pub(super) fn read(file: &Path) -> Result<Vec<Line>, Failure> {
    if file == Path::new("-") {
        return split(std::io::stdin().lock());
    }
    let opened = std::fs::File::open(file)
        .map_err(|error| Failure::failed(format!("{} cannot be read: {error}", file.display())))?;
    split(opened)
}

fn split(input: impl Read) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    let mut reader = BufReader::new(input);
    let mut number = 0;
    loop {
        let mut bytes = Vec::new();
        if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(lines);
        }
        number += 1;
        if bytes.len() > MAX_MESSAGE_BYTES && bytes.last() != Some(&b'\n') {
            // Only its length is kept.
            let bytes = bytes.len() + reader.skip_until(b'\n')?;
            lines.push(Line { number, bytes: Vec::new(), item: Err(RejectReason::TooLarge { bytes }) });
            continue;
        }
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let item = Item::parse(&bytes).map(Box::new);
        if bytes.len() > MAX_MESSAGE_BYTES {
            bytes.clear();
        }
        lines.push(Line { number, bytes, item });
    }
}

/// Returns the number of bad lines.
pub(super) fn report_bad(lines: &[Line], output: Output) -> usize {
    let mut bad = 0;
    for line in lines {
        if let Err(reject) = &line.item {
            bad += 1;
            output.problem(&format!("line {}: {reject}", line.number));
        }
    }
    bad
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_keeps_its_number_and_spares_the_others() {
        let input = b"{\"schema\":1,\"item_id\":\"a\",\"text\":\"x\"}\r\n\n{broken\n{\"schema\":1,\"item_id\":\"b\",\"text\":\"y\"}";
        let lines = split(input.as_slice()).unwrap();
        let numbers: Vec<(usize, bool)> = lines.iter().map(|line| (line.number, line.item.is_ok())).collect();
        assert_eq!(numbers, [(1, true), (3, false), (4, true)]);
    }

    #[test]
    fn the_items_that_the_readme_names_can_be_enqueued() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        let named = readme.split_whitespace().filter(|word| word.ends_with(".ndjson")).collect::<Vec<_>>();
        assert_eq!(named, ["docs/items.ndjson"], "what README tells people to enqueue");
        let items: Vec<Item> =
            read(&root.join(named[0])).unwrap().into_iter().map(|line| *line.item.unwrap()).collect();
        let languages: std::collections::BTreeSet<&str> =
            items.iter().filter_map(|item| item.language.as_deref()).collect();
        assert_eq!(languages.into_iter().collect::<Vec<_>>(), ["en", "ru", "uk"]);
        let ids: std::collections::BTreeSet<&str> = items.iter().map(|item| item.item_id.as_str()).collect();
        assert!(ids.len() == items.len() && (6..=10).contains(&items.len()));
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_in_memory() {
        let good = b"\n{\"schema\":1,\"item_id\":\"a\",\"text\":\"x\"}\n";
        let long = std::io::repeat(b'x').take(5 * LONGEST_LINE);
        let lines = split(long.chain(good.as_slice())).unwrap();
        assert_eq!(lines[0].item.as_ref().unwrap_err().label(), "too_large");
        assert!(lines[0].bytes.capacity() == 0 && lines[1].number == 2 && lines[1].item.is_ok());
    }

    #[test]
    fn lines_that_are_not_text_are_reported_not_fatal() {
        let lines = split([0xff, 0xfe, b'\n'].as_slice()).unwrap();
        assert_eq!(lines[0].item.as_ref().unwrap_err().label(), "not_utf8");
    }
}
