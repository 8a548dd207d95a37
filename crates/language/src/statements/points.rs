//! Splits a text into wrapped prose and the points of a digest.
//!
//! Pronouns are resolved only within a part, because each point of a digest may be another story.

use std::collections::HashMap;

use super::clean::clean_line;
use super::{calls, markup};
use crate::{is_emoji, sentences};

#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    mark: Option<char>,
    /// After an empty line.
    after_blank: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    /// A point of a digest.
    pub(super) point: bool,
    /// The line that the points complete: "After the strike on Kharkiv:".
    pub(super) head: Option<String>,
}

/// Marked lines that make a digest: of one mark, of any.
const MIN_SAME_MARKS: usize = 2;
const MIN_MARKS: usize = 3;
/// Headlines that make a digest, if two thirds of the lines.
const MIN_HEADLINES: usize = 3;
/// Fewer are a heading, more are prose.
const HEADLINE_WORDS: std::ops::RangeInclusive<usize> = 3..=30;
/// Words of "Коротко", "The main news of this morning:".
const MAX_HEADING_WORDS: usize = 6;
/// Usual widths.
const WRAPPED_WIDTHS: std::ops::RangeInclusive<usize> = 40..=110;
/// Tenths of the width, and of the lines.
const MIN_FULL_TENTHS: usize = 7;

/// Returns the lines without markup, calls, links and signature, unwrapped.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let plain = markup::plain(text);
    let mut kept: Vec<Line> = Vec::new();
    let mut after_blank = false;
    for raw in unwrapped(&plain).iter().flat_map(|line| inline_points(line)) {
        if raw.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let signature = calls::is_signature(&raw) && !kept.is_empty();
        let (mark, rest) = marked(&raw);
        // Part of a sentence: "24. Februar 2022 begann der Krieg". A keycap number is a mark.
        let own = matches!(mark, Some('-' | '—' | '–')) || mark == Some('0') && !raw.contains(['\u{fe0f}', '\u{20e3}']);
        let content = if own { raw.as_str() } else { rest };
        if let (false, Some(text)) = (signature, clean_line(content)) {
            kept.push(Line { text, mark, after_blank });
            after_blank = false;
        }
    }
    // The channel's name at the end.
    let signed = kept.split_last().is_some_and(|(last, before)| {
        let ended = before.last().is_some_and(|line| line.text.ends_with(['.', '!', '?', '…', '»', '"']));
        (last.after_blank || ended) && !before.is_empty() && calls::is_sign_off(&last.text)
    });
    if signed {
        kept.pop();
    }
    kept
}

pub(super) fn parts(text: &str) -> Vec<Part> {
    let lines = lines(text);
    let mut marks: HashMap<char, usize> = HashMap::new();
    for mark in lines.iter().filter_map(|line| line.mark) {
        *marks.entry(mark).or_default() += 1;
    }
    let all: usize = marks.values().sum();
    // A dash, number or emoji must repeat; a bullet need not.
    let same =
        |mark: char| matches!(mark, '•' | '‣' | '⁃') || marks.get(&mark).is_some_and(|count| *count >= MIN_SAME_MARKS);
    let is_point = |line: &Line| line.mark.is_some_and(|mark| all >= MIN_MARKS || same(mark));
    let last = lines.iter().rposition(is_point);
    let headlines = lines.iter().filter(|line| is_headline(line)).count();
    let listed = last.is_none() && headlines >= MIN_HEADLINES && headlines * 3 >= lines.len() * 2;
    let mut parts: Vec<Part> = Vec::new();
    let mut head: Option<&str> = None;
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1);
        let opens = is_point(line) || listed && is_headline(line);
        let leads = !opens && next.is_some_and(|next| is_point(next) || listed);
        // "After the strike on Kharkiv:" and lower-case points.
        let completed = leads && line.text.ends_with(':') && next.is_some_and(Line::begins_small);
        if !opens {
            head = Some(line.text.as_str()).filter(|_| completed);
        }
        if completed || leads && is_heading(&line.text) && lines.len() > 2 {
            continue;
        }
        // A line without a mark belongs to the point above.
        let between = last.is_some_and(|last| at < last);
        let goes_on = |part: &Part| if part.point { between || !line.after_blank } else { true };
        if let Some(part) = parts.last_mut().filter(|part| !opens && !listed && goes_on(part)) {
            part.text.push('\n');
            part.text.push_str(&line.text);
        } else {
            let head = head.filter(|_| line.begins_small()).map(str::to_owned);
            let text = if opens { marked(&line.text).1.trim_start() } else { &line.text };
            parts.push(Part { text: text.to_owned(), point: opens || listed, head });
        }
    }
    parts
}

impl Line {
    fn begins_small(&self) -> bool {
        marked(&self.text).1.trim_start().starts_with(char::is_lowercase)
    }
}

/// Splits off the mark; `0` is every number.
fn marked(line: &str) -> (Option<char>, &str) {
    let line = line.trim_start();
    let Some(first) = line.chars().next() else { return (None, line) };
    let rest = line.get(first.len_utf8()..).unwrap_or_default();
    if matches!(first, '•' | '‣' | '⁃')
        || matches!(first, '·' | '*' | '-' | '—' | '–') && rest.starts_with([' ', '\u{a0}', '\t'])
    {
        return (Some(first), rest);
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let behind = line.get(digits..).unwrap_or_default();
    let numbered = behind.starts_with(['.', ')']) && behind.chars().nth(1).is_some_and(|c| c == ' ' || c == '\u{a0}');
    if (1..=2).contains(&digits) && (numbered || behind.starts_with(['\u{fe0f}', '\u{20e3}'])) {
        return (Some('0'), behind.trim_start_matches(|c: char| matches!(c, '.' | ')') || is_emoji(c)));
    }
    if is_emoji(first) {
        return (Some(first), line.trim_start_matches(|c: char| is_emoji(c) || c.is_whitespace()));
    }
    (None, line)
}

/// Splits "• One thing • Another thing".
fn inline_points(line: &str) -> Vec<String> {
    const BULLETS: [char; 8] = ['•', '▪', '▫', '◦', '●', '■', '🔹', '🔸'];
    let bullet = BULLETS.into_iter().find(|bullet| line.matches(*bullet).count() >= 2);
    let pieces: Vec<&str> = bullet.map(|bullet| line.split(bullet).collect()).unwrap_or_default();
    let is_long = |piece: &&str| piece.split_whitespace().count() >= *HEADLINE_WORDS.start();
    match (bullet, pieces.split_first()) {
        (Some(bullet), Some((first, points))) if points.iter().all(is_long) => {
            let first = Some((*first).to_owned()).filter(|first| !first.trim().is_empty());
            first.into_iter().chain(points.iter().map(|point| format!("{bullet} {}", point.trim()))).collect()
        }
        _ => vec![line.to_owned()],
    }
}

/// Joins lines that are wrapped at a column.
fn unwrapped(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let width = lines.iter().map(|line| length(line)).max().unwrap_or_default();
    let wrapped = is_wrapped(&lines, width);
    let dashes = lines.iter().filter(|line| is_dash(line)).count();
    let numbers = lines.iter().filter(|line| marked(line).0 == Some('0')).count();
    let mut joined: Vec<String> = Vec::with_capacity(lines.len());
    let mut before = "";
    for line in lines {
        // The only dash before a lower-case letter, or one after a full unfinished line, is part of the sentence; so is
        // a single number.
        let aside = is_dash(line) && marked(line).1.trim_start().starts_with(char::is_lowercase);
        let full = wrapped && is_full(before, width) && !before.trim().is_empty();
        let stops = full && !before.ends_with(['.', '!', '?', '…', ':', ';']) && marked(before).0.is_none();
        let number = numbers == 1 && marked(line).0 == Some('0');
        let goes_on = full && follows(before, line)
            || stops && (aside || number)
            || dashes == 1 && aside && !before.trim().is_empty();
        match joined.last_mut().filter(|_| goes_on) {
            Some(paragraph) => {
                paragraph.push(' ');
                paragraph.push_str(line.trim_start());
            }
            None => joined.push(line.to_owned()),
        }
        before = line;
    }
    joined
}

/// Whether a text is wrapped: most lines are nearly full and some end mid-sentence, or all are full and a sentence ends
/// inside one.
fn is_wrapped(lines: &[&str], width: usize) -> bool {
    let (mut all, mut full, mut filled, mut middle) = (0, 0, 0, 0);
    for (line, next) in lines.iter().zip(lines.iter().skip(1)).filter(|(line, next)| follows(line, next)) {
        all += 1;
        full += usize::from(is_full(line, width));
        let first = next.split_whitespace().next().map_or(0, length);
        filled += usize::from(length(line) + 1 + first > width);
        middle += usize::from(next.trim_start().starts_with(char::is_lowercase) || sentences::goes_on(line));
    }
    let ends_within = || lines.iter().any(|line| sentences::sentences(line).len() > 1);
    let broken = middle > 0 && middle * 4 >= all || filled == all && all > 1 && ends_within();
    WRAPPED_WIDTHS.contains(&width) && full * 10 >= all * MIN_FULL_TENTHS && broken
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn is_full(line: &str, width: usize) -> bool {
    length(line) * 10 >= width * MIN_FULL_TENTHS
}

/// Whether a line can continue the previous one.
fn follows(before: &str, line: &str) -> bool {
    !before.trim().is_empty() && !line.trim().is_empty() && marked(line).0.is_none()
}

fn is_dash(line: &str) -> bool {
    matches!(marked(line).0, Some('-' | '—' | '–'))
}

/// Whether it begins with a capital or figure and has no end mark.
fn is_headline(line: &Line) -> bool {
    let first = line.text.trim_start_matches(['«', '"', '“', '„', '(']).chars().next();
    HEADLINE_WORDS.contains(&line.text.split_whitespace().count())
        && first.is_some_and(|first| first.is_uppercase() || first.is_ascii_digit())
        && !line.text.ends_with(['.', '!', '?', '…', ':', ';', ','])
}

/// Whether it introduces points: "Коротко:", "Главное за день". A figure or more words make a statement.
fn is_heading(line: &str) -> bool {
    let words = line.split_whitespace().count();
    let figure = line.contains(|c: char| c.is_ascii_digit());
    let most = if line.ends_with(':') { MAX_HEADING_WORDS } else { MAX_HEADING_WORDS / 2 };
    words <= most && !figure && !line.ends_with(['.', '!', '?', '…', ','])
}
