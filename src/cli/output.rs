//! Standard output: text with colour for people on a terminal, JSON for machines, nothing after a closed pipe.

use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;

use super::failure::Failure;
use super::render::plain;

/// How to print.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) colour: bool,
}

#[expect(
    clippy::unused_self,
    reason = "what is printed where is the output's business, also where its settings do not matter"
)]
impl Output {
    pub(super) fn new(json: bool, quiet: bool, no_colour: bool) -> Self {
        Self { json, quiet, colour: !json && !no_colour && std::io::stdout().is_terminal() }
    }

    pub(super) fn text(self, text: &str) -> Result<(), Failure> {
        write_stdout(text.as_bytes())
    }

    /// Pretty JSON.
    pub(super) fn value(self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        write_stdout(&text)
    }

    /// A line on standard error that is no error; left out with `--quiet`.
    pub(super) fn hint(self, text: &str) {
        if !self.quiet {
            // Nowhere is left to say that standard error is closed.
            drop(writeln!(std::io::stderr(), "{text}"));
        }
    }

    /// A problem with one of many inputs, in one line: always said. The inputs' own words may be in it.
    pub(super) fn problem(self, text: &str) {
        drop(writeln!(std::io::stderr(), "{}", plain(text)));
    }

    pub(super) fn paint(self, text: &str, colour: Colour) -> String {
        if self.colour { format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()) } else { text.to_owned() }
    }

    /// Whether a person watches standard error, where progress is drawn.
    pub(super) fn is_watched(self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// A bar of bytes on standard error; of unknown length for `None`.
    pub(super) fn byte_bar(self, name: &str, length: Option<u64>) -> indicatif::ProgressBar {
        let bar = length.map_or_else(indicatif::ProgressBar::no_length, indicatif::ProgressBar::new);
        if let Ok(style) =
            indicatif::ProgressStyle::with_template("{msg} {bar:32} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
        {
            bar.set_style(style);
        }
        bar.with_message(name.to_owned())
    }

    /// A bar on standard error, where that is a terminal; `None` otherwise.
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

pub(super) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(())
}
