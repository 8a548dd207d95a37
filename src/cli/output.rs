//! Standard output: coloured text on a terminal, or JSON.
//!
//! Output ends at a closed pipe. Hints and problems go to standard error.

use std::io::{IsTerminal as _, Write as _};

use chrono::SecondsFormat;
use serde::Serialize;

use super::failure::Failure;
use crate::config::LogFormat;
use crate::domain::{Clock as _, SystemClock};
use crate::judging::plain::plain;

#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) colour: bool,
    /// With `Json` every line on standard error must be JSON.
    pub(super) log: LogFormat,
}

#[expect(
    clippy::unused_self,
    reason = "what is printed where is the output's business, also where its settings do not matter"
)]
impl Output {
    pub(super) fn new(json: bool, quiet: bool, no_colour: bool) -> Self {
        Self { json, quiet, colour: !json && !no_colour && std::io::stdout().is_terminal(), log: LogFormat::Text }
    }

    pub(super) fn with_log(self, log: LogFormat) -> Self {
        Self { log, ..self }
    }

    /// Writes the last line on standard error.
    pub(super) fn failure(self, message: &str, code: u8) {
        if self.log == LogFormat::Json {
            log_line("ERROR", message, Some(code));
        } else {
            let text = message.lines().map(str::trim_end).collect::<Vec<_>>().join("\n       ");
            drop(writeln!(std::io::stderr(), "error: {text}"));
        }
    }

    pub(super) fn text(self, text: &str) -> Result<(), Failure> {
        write_stdout(text.as_bytes())
    }

    pub(super) fn value(self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        write_stdout(&text)
    }

    /// Prints one line a row, or `empty`. As JSON, prints the list as the API returns it.
    pub(super) fn list<T: Serialize>(
        self,
        rows: &[T],
        empty: &str,
        line: impl Fn(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            return self.value(&serde_json::json!({ "items": rows, "next": null }));
        }
        if rows.is_empty() {
            return self.text(empty);
        }
        self.text(&rows.iter().map(|row| line(row) + "\n").collect::<String>())
    }

    /// Writes to standard error; not with `--quiet` or a JSON log.
    pub(super) fn hint(self, text: &str) {
        if !self.quiet && self.log == LogFormat::Text {
            drop(writeln!(std::io::stderr(), "{text}"));
        }
    }

    /// Writes one line, also with `--quiet`. The text may quote the input.
    pub(super) fn problem(self, text: &str) {
        if self.log == LogFormat::Json {
            return log_line("WARN", &plain(text), None);
        }
        drop(writeln!(std::io::stderr(), "{}", plain(text)));
    }

    pub(super) fn paint(self, text: &str, colour: Colour) -> String {
        if self.colour { format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()) } else { text.to_owned() }
    }

    /// Hides the bar if standard error is no terminal.
    pub(super) fn progress(self, length: u64) -> indicatif::ProgressBar {
        if self.quiet {
            return indicatif::ProgressBar::hidden();
        }
        let bar = indicatif::ProgressBar::new(length);
        if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:32} {pos}/{len} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Colour {
    Green,
    Red,
    Yellow,
    Bold,
    Dim,
}

impl Colour {
    const fn code(self) -> &'static str {
        match self {
            Self::Green => "32",
            Self::Red => "31",
            Self::Yellow => "33",
            Self::Bold => "1",
            Self::Dim => "2",
        }
    }
}

/// Ignores `RUST_LOG`, and needs no installed log.
fn log_line(level: &str, message: &str, exit_code: Option<u8>) {
    let mut line = serde_json::json!({
        "timestamp": SystemClock.now().to_rfc3339_opts(SecondsFormat::Micros, true),
        "level": level,
        "message": message,
        "target": module_path!(),
    });
    if let (Some(code), Some(fields)) = (exit_code, line.as_object_mut()) {
        fields.insert("exit_code".to_owned(), code.into());
    }
    drop(writeln!(std::io::stderr(), "{line}"));
}

pub(super) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(())
}
