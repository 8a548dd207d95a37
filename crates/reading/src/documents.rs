//! Cuts documents and source files into sections with line numbers.
//!
//! Sections follow headings and definitions; long ones are cut at blank lines. Text is plain: paragraphs are unwrapped,
//! emphasis and comment marks removed. Front matter is skipped.

use std::sync::LazyLock;

use regex::Regex;

/// Size that a reader or model can take in at once.
const MAX_LINES: usize = 40;
const MAX_CHARS: usize = 1600;
/// Characters.
const MAX_HEADING_CHARS: usize = 120;
/// Deeper headings are text.
const MAX_HEADING_LEVEL: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Prose,
    Markdown,
    Rst,
    Html,
    Code,
    /// Settings and records: TOML, YAML, JSON, INI.
    Data,
}

impl Format {
    /// Returns the format by file name; `None` for binary or generated files.
    pub fn of(file: &str) -> Option<Self> {
        let name = file.to_ascii_lowercase();
        if matches!(name.as_str(), "package-lock.json" | "pnpm-lock.yaml" | "composer.lock" | "go.sum")
            || name.ends_with(".min.js")
            || name.ends_with(".min.css")
            || name.rsplit('.').next() == Some("lock")
        {
            return None;
        }
        let Some((_, extension)) = name.rsplit_once('.') else {
            return match name.as_str() {
                "readme" | "license" | "notice" | "changelog" | "authors" | "copying" | "install" | "news" => {
                    Some(Self::Prose)
                }
                "makefile" | "dockerfile" | "containerfile" | "justfile" | "rakefile" | "gemfile" => Some(Self::Code),
                _ => None,
            };
        };
        Some(match extension {
            "md" | "markdown" | "mdx" | "mkd" | "adoc" | "asciidoc" => Self::Markdown,
            "rst" => Self::Rst,
            "txt" | "text" | "org" | "log" => Self::Prose,
            "html" | "htm" | "xhtml" => Self::Html,
            "toml" | "yaml" | "yml" | "json" | "json5" | "ini" | "cfg" | "conf" | "properties" | "env" | "csv"
            | "tsv" | "xml" => Self::Data,
            "rs" | "py" | "pyi" | "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "go" | "java" | "kt" | "kts" | "c"
            | "h" | "cc" | "cpp" | "cxx" | "hpp" | "cs" | "rb" | "php" | "swift" | "scala" | "sh" | "bash" | "zsh"
            | "sql" | "proto" | "graphql" | "tf" | "lua" | "ex" | "exs" | "erl" | "hs" | "ml" | "clj" | "dart"
            | "r" | "jl" | "pl" | "pm" | "vue" | "svelte" | "css" | "scss" | "nix" | "zig" | "vb" | "m" | "mm"
            | "gradle" => Self::Code,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The path of headings, outermost first, or the definition. May be empty.
    pub heading: String,
    /// First and last line, from 1.
    pub lines: (usize, usize),
    /// Paragraphs separated by blank lines; never blank.
    pub text: String,
}

struct Line {
    number: usize,
    text: String,
}

pub fn sections(text: &str, format: Format) -> Vec<Section> {
    let lines: Vec<Line> = match format {
        Format::Html => html_lines(text),
        _ => text.lines().enumerate().map(|(at, line)| Line { number: at + 1, text: line.to_owned() }).collect(),
    };
    let matter = front_matter(text).filter(|_| !matches!(format, Format::Code | Format::Data | Format::Html));
    let lines: Vec<Line> = lines.into_iter().skip(matter.map_or(0, |matter| matter.lines().count())).collect();
    let mut marks = match format {
        Format::Markdown | Format::Html => markdown_marks(&lines),
        Format::Rst => rst_marks(&lines),
        Format::Code => code_marks(&lines),
        Format::Prose | Format::Data => Vec::new(),
    };
    if marks.is_empty() && matches!(format, Format::Prose | Format::Markdown) {
        marks.extend(title_mark(&lines));
    }
    let mut sections = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let (mut start, mut heading) = (0, String::new());
    for mark in &marks {
        push_chunks(lines.get(start..mark.from).unwrap_or_default(), &heading, format, &mut sections);
        path.retain(|(level, _)| *level < mark.level);
        path.push((mark.level, mark.heading.clone()));
        let names: Vec<&str> = path.iter().map(|(_, heading)| heading.as_str()).collect();
        (start, heading) = (mark.body, names.join(" › "));
    }
    push_chunks(lines.get(start..).unwrap_or_default(), &heading, format, &mut sections);
    sections
}

struct Mark {
    /// Includes comments above a definition.
    from: usize,
    body: usize,
    level: usize,
    heading: String,
}

/// Returns the front matter with its fences: `---` of YAML, `+++` of TOML.
pub fn front_matter(text: &str) -> Option<&str> {
    let fence =
        ["---", "+++"].into_iter().find(|fence| text.lines().next().is_some_and(|line| line.trim_end() == *fence))?;
    let mut end = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        end += line.len();
        let is_setting =
            || line.trim().is_empty() || line.contains([':', '=']) || line.starts_with([' ', '-', '#', '[', ']']);
        match line.trim_end() {
            closing if at > 0 && closing == fence => return text.get(..end),
            _ if at > 0 && !is_setting() => return None,
            _ => {}
        }
    }
    None
}

/// The title of a document without headings: its first line, if prose follows. A line with a digit may be a statement
/// and stays text.
fn title_mark(lines: &[Line]) -> Option<Mark> {
    let written = |line: &Line| line.text.chars().any(char::is_alphanumeric);
    let at = lines.iter().position(written)?;
    let title = lines.get(at)?.text.trim();
    let rest = lines.get(at + 1..)?;
    let ends = |text: &str| text.trim_end_matches(['"', '»', '”', ')']).ends_with(['.', '!', '?', '…']);
    let is_title = title.starts_with(|c: char| c.is_uppercase() || matches!(c, '«' | '"' | '“'))
        && title.chars().count() <= MAX_HEADING_CHARS
        && !title.contains(|c: char| c.is_ascii_digit())
        && !ends(title)
        && !title.ends_with([',', ';', ':', '-', '—']);
    let next = rest.first()?;
    let apart = !written(next) || begins_paragraph(&lines.get(at)?.text, &next.text, width(lines));
    let prose = rest.iter().any(|line| ends(line.text.trim()));
    (is_title && apart && prose).then(|| Mark { from: at, body: at + 1, level: 1, heading: clipped(&inline(title)) })
}

fn width(lines: &[Line]) -> usize {
    lines.iter().map(|line| line.text.chars().count()).max().unwrap_or_default()
}

/// Lines of a file with longer lines are paragraphs.
const MAX_LINE_CHARS: usize = 120;

/// True if a line begins a paragraph. The line before is short, without trailing comma, dash or bracket; this one
/// begins with a capital or digit.
fn begins_paragraph(before: &str, line: &str, width: usize) -> bool {
    let first = line.trim_start().trim_start_matches(['«', '"', '“', '„', '(']).chars().next();
    let open = before.trim_end().ends_with([',', ';', '-', '—', '–', '(']);
    let room = width > MAX_LINE_CHARS || before.trim_end().chars().count() * 10 < width * 7;
    room && !open && first.is_some_and(|first| first.is_uppercase() || first.is_ascii_digit())
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

fn markdown_marks(lines: &[Line]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut fenced = false;
    for (at, line) in lines.iter().enumerate() {
        if is_fence(&line.text) {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let hashes = line.text.chars().take_while(|c| matches!(c, '#' | '=')).count();
        let rest = line.text.trim_start_matches(['#', '=']);
        if (1..=MAX_HEADING_LEVEL).contains(&hashes) && rest.starts_with(' ') && !rest.trim().is_empty() {
            let heading = clipped(&inline(rest.trim().trim_end_matches('#')));
            marks.push(Mark { from: at, body: at + 1, level: hashes, heading });
            continue;
        }
        let level = match line.text.trim_end() {
            under if under.len() >= 3 && under.chars().all(|c| c == '=') => 1,
            under if under.len() >= 3 && under.chars().all(|c| c == '-') => 2,
            _ => continue,
        };
        if let Some(title) = at.checked_sub(1).and_then(|before| lines.get(before))
            && title.text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '`' | '*' | '['))
            && marks.last().is_none_or(|mark: &Mark| mark.body < at)
        {
            marks.push(Mark { from: at - 1, body: at + 1, level, heading: clipped(&inline(&title.text)) });
        }
    }
    marks
}

/// Finds underlined titles. Each document assigns the marks to levels.
fn rst_marks(lines: &[Line]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut levels: Vec<char> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let under = line.text.trim_end();
        let Some(first) = under.chars().next() else { continue };
        let Some(title) = at.checked_sub(1).and_then(|before| lines.get(before)).map(|line| line.text.trim()) else {
            continue;
        };
        let is_title = first.is_ascii_punctuation()
            && under.chars().all(|c| c == first)
            && !title.is_empty()
            && title.chars().any(char::is_alphanumeric)
            && under.chars().count() + 1 >= title.chars().count();
        if !is_title {
            continue;
        }
        if !levels.contains(&first) {
            levels.push(first);
        }
        let level = levels.iter().position(|known| *known == first).unwrap_or(0) + 1;
        let over =
            at.checked_sub(2).is_some_and(|over| lines.get(over).is_some_and(|line| line.text.trim_end() == under));
        marks.push(Mark { from: at - 1 - usize::from(over), body: at + 1, level, heading: clipped(&inline(title)) });
    }
    marks
}

fn code_marks(lines: &[Line]) -> Vec<Mark> {
    static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^(?P<indent>\s{0,12})(?:(?:pub(?:\([^)]*\))?|export|default|public|private|protected|internal|static",
            r"|async|abstract|final|unsafe|extern|override|open|data|sealed|inline|virtual|const)\s+)*",
            r"(?:(?:fn|func|fun|function|def|class|struct|enum|trait|impl|interface|type|mod|module|namespace|object",
            r"|record|message|service|macro_rules!)\b\s*[\w<(*&\[]",
            r"|(?i:create\s+(?:or\s+replace\s+)?(?:table|view|function|index|type|procedure)\s))",
        ))
        .ok()
    });
    // A function of the C family: no indent, a type before the name, and not a statement.
    static C_FUNCTION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[A-Za-z_][\w\s*&:<>,\[\]]*\s[*&]*[\w:~]+\s*\([^;]*$").ok());
    let mut marks: Vec<Mark> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let indent = line.text.chars().take_while(|c| c.is_whitespace()).count();
        let is_definition = DEFINITION.as_ref().is_some_and(|found| found.is_match(&line.text))
            || (indent == 0 && C_FUNCTION.as_ref().is_some_and(|found| found.is_match(&line.text)));
        if !is_definition {
            continue;
        }
        let floor = marks.last().map_or(0, |mark| mark.body + 1);
        let above = (floor..at).rev().take_while(|above| lines.get(*above).is_some_and(|line| leads(&line.text)));
        let from = above.last().unwrap_or(at);
        let heading = clipped(line.text.trim().trim_end_matches(['{', ':', ' ']));
        marks.push(Mark { from, body: from, level: indent + 1, heading });
    }
    marks
}

/// True for a comment or attribute above a definition.
fn leads(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "@", "--"].iter().any(|mark| line.starts_with(mark))
}

/// Returns the lines of an HTML page, with headings in Markdown.
fn html_lines(html: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut current = String::new();
    let (mut number, mut began) = (1, 1);
    let mut rest = html;
    let flush = |current: &mut String, began: usize, lines: &mut Vec<Line>| {
        let text = super::text::collapse(&html_escape::decode_html_entities(current.as_str()));
        current.clear();
        lines.push(Line { number: began, text });
    };
    while let Some((before, after)) = rest.split_once('<') {
        current.push_str(before);
        number += before.matches('\n').count();
        let name: String = after.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let end = match name.as_str() {
            "script" | "style" if !after.starts_with('/') => format!("</{name}"),
            _ if after.starts_with("!--") => "-->".to_owned(),
            _ => ">".to_owned(),
        };
        let (tag, tail) = after.split_once(end.as_str()).unwrap_or((after, ""));
        if super::text::is_block(&name) || (name.len() == 2 && name.starts_with('h')) {
            if !current.trim().is_empty() {
                flush(&mut current, began, &mut lines);
                lines.push(Line { number, text: String::new() });
            }
            if let (false, Some(level)) = (after.starts_with('/'), heading_level(&name)) {
                current.push_str(&"#".repeat(level));
                current.push(' ');
            }
            began = number;
        }
        if current.trim().is_empty() {
            began = number + tag.matches('\n').count();
        }
        number += tag.matches('\n').count();
        rest = tail;
    }
    current.push_str(rest);
    flush(&mut current, began, &mut lines);
    lines
}

fn heading_level(name: &str) -> Option<usize> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=MAX_HEADING_LEVEL).contains(&level).then_some(level)
}

/// Cuts at blank lines if possible.
fn push_chunks(lines: &[Line], heading: &str, format: Format, out: &mut Vec<Section>) {
    let mut start = 0;
    while start < lines.len() {
        let (mut chars, mut end, mut last_blank) = (0, start, None);
        while let Some(line) = lines.get(end) {
            chars += line.text.chars().count() + 1;
            if end > start && (end - start >= MAX_LINES || chars > MAX_CHARS) {
                break;
            }
            if line.text.trim().is_empty() && end > start {
                last_blank = Some(end);
            }
            end += 1;
        }
        if end < lines.len() {
            end = last_blank.map_or(end, |blank| blank + 1);
        }
        push(lines.get(start..end).unwrap_or_default(), heading, format, out);
        start = end;
    }
}

fn push(lines: &[Line], heading: &str, format: Format, out: &mut Vec<Section>) {
    let written = |line: &&Line| line.text.chars().any(char::is_alphanumeric);
    let (Some(first), Some(last)) = (lines.iter().find(written), lines.iter().rfind(written)) else { return };
    let text = match format {
        Format::Code => code_text(lines),
        Format::Data => lines.iter().map(|line| line.text.trim_end()).collect::<Vec<_>>().join("\n").trim().to_owned(),
        Format::Prose => prose_text(lines, Some(width(lines))),
        Format::Markdown | Format::Rst | Format::Html => prose_text(lines, None),
    };
    if !text.trim().is_empty() {
        out.push(Section { heading: heading.to_owned(), lines: (first.number, last.number), text });
    }
}

/// Unwraps paragraphs. List items, table rows and code lines stay separate. In plain text with a `width`, a line break
/// may begin a paragraph.
fn prose_text(lines: &[Line], width: Option<usize>) -> String {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut before = "";
    let (mut open, mut fenced) = (false, false);
    for line in lines {
        let trimmed = line.text.trim();
        if is_fence(trimmed) {
            (fenced, open) = (!fenced, false);
            continue;
        }
        if trimmed.is_empty() || !trimmed.chars().any(char::is_alphanumeric) {
            open = false;
            continue;
        }
        let item = trimmed.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with(' ')).map(str::trim);
        let begins = width.is_some_and(|width| begins_paragraph(before, &line.text, width));
        let alone = fenced || item.is_some() || begins || trimmed.starts_with(['|', '>']);
        before = &line.text;
        let text = if fenced { trimmed.to_owned() } else { inline(item.unwrap_or(trimmed).trim_start_matches('>')) };
        match paragraphs.last_mut().filter(|_| open && !alone) {
            Some(paragraph) => {
                paragraph.push(' ');
                paragraph.push_str(text.trim());
            }
            None => paragraphs.push(text.trim().to_owned()),
        }
        open = !fenced;
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

fn code_text(lines: &[Line]) -> String {
    let mut paragraphs: Vec<(bool, String)> = Vec::new();
    for line in lines {
        let trimmed = line.text.trim();
        let comment = ["///", "//!", "//", "/**", "/*", "*/", "#:", "# ", "--", "* "]
            .iter()
            .find_map(|mark| trimmed.strip_prefix(mark))
            .or_else(|| trimmed.strip_suffix("*/"))
            .filter(|_| !trimmed.starts_with("#include"));
        let (is_comment, text) = comment.map_or((false, line.text.trim_end()), |text| (true, text.trim()));
        if text.trim().is_empty() {
            continue;
        }
        match paragraphs.last_mut() {
            Some((kind, paragraph)) if *kind == is_comment => {
                paragraph.push(if is_comment { ' ' } else { '\n' });
                paragraph.push_str(text);
            }
            _ => paragraphs.push((is_comment, text.to_owned())),
        }
    }
    paragraphs.into_iter().map(|(_, paragraph)| paragraph).collect::<Vec<_>>().join("\n\n")
}

/// Removes the marks of emphasis, code and links.
fn inline(text: &str) -> String {
    static LINK: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"!?\[(?P<text>[^\]\[]{0,300})\]\([^)\s]{0,1000}(?:\s[^)]{0,200})?\)").ok());
    let linked = match LINK.as_ref() {
        Some(link) if text.contains("](") => link.replace_all(text, "$text").into_owned(),
        _ => text.to_owned(),
    };
    linked.replace("**", "").replace("``", "").replace('`', "")
}

fn clipped(heading: &str) -> String {
    super::text::collapse(heading).chars().take(MAX_HEADING_CHARS).collect()
}

#[cfg(test)]
mod tests;
