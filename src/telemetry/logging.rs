//! Logs as text or JSON lines on standard error. The canonical line of an item is written by the pipeline at commit, or
//! by the worker if there is no commit.
//!
//! Logs never contain payloads, keys or personal data: they name an item by its id and give findings as figures.

use std::fmt::{self, Write as _};
use std::io::{IsTerminal as _, stderr};

use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use super::traces::{self, INNER};
use crate::config::{LogConfig, LogFormat};

/// The reader of the log, which decides the default level without `RUST_LOG`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// `info`.
    Operator,
    /// `warn`, because results and a progress bar use the screen.
    Person,
}

impl Audience {
    /// Libraries log from `warn`, because their `info` lines repeat our own.
    const fn directives(self) -> &'static str {
        match self {
            Self::Operator => "info,lapin=warn,sqlx=warn,hyper=warn,reqwest=warn,html5ever=error",
            Self::Person => "warn,lapin=error,sqlx=error,html5ever=error",
        }
    }
}

/// The broker's library logs returned messages with their whole text, which must not be in a log.
const RETURNED_MESSAGES: &str = "lapin::returned_messages";

/// Adds directives: [`RETURNED_MESSAGES`] is off unless the operator names it. Trace-only spans are off, because a line
/// shows the innermost span, which must be the item's.
fn without_payloads(directives: &str) -> String {
    let silent = if directives.contains(RETURNED_MESSAGES) { "" } else { ",lapin::returned_messages=off" };
    format!("{directives}{silent},{INNER}=off")
}

/// Installs the log for the process, and the recorder of `spans` if there is one. An existing log (in tests) remains.
pub fn install(config: &LogConfig, audience: Audience, spans: Option<&SdkTracerProvider>) {
    let directives = config.filter.as_deref().unwrap_or_else(|| audience.directives());
    // The configuration checked the directives; if they fail here, the default log is better than none.
    let filter = EnvFilter::try_new(without_payloads(directives))
        .unwrap_or_else(|_unreadable| EnvFilter::new(without_payloads(audience.directives())));
    let lines = lines(config.format, stderr, stderr().is_terminal());
    let installed =
        tracing_subscriber::registry().with(spans.map(traces::layer)).with(lines.with_filter(filter)).try_init();
    match installed {
        Ok(()) if config.format == LogFormat::Json => log_panics(),
        Ok(()) => {}
        Err(_installed) => tracing::debug!("another log subscriber is installed"),
    }
}

/// Logs panics as log lines, because JSON readers parse nothing else.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        tracing::error!(
            panic.thread = thread.name(),
            panic.place = panic.location().map(tracing::field::display),
            panic.message = panic.payload_as_str(),
            "task panicked"
        );
    }));
}

fn lines<S, W>(format: LogFormat, writer: W, on_terminal: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed(),
        // On a terminal the library's default for colours applies, which respects `NO_COLOR`.
        LogFormat::Text if on_terminal => layer.fmt_fields(one_line_fields()).boxed(),
        LogFormat::Text => layer.fmt_fields(one_line_fields()).with_ansi(false).boxed(),
    }
}

/// Formats text fields like the library, but escapes all control characters. Values come from outside: a line break
/// could fake a log line, and an escape sequence would reach the terminal.
fn one_line_fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    let field = |writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug| {
        let name = field.name();
        if name != "message" {
            let (italic, dim, plain) =
                if writer.has_ansi_escapes() { ("\u{1b}[3m", "\u{1b}[2m", "\u{1b}[0m") } else { ("", "", "") };
            write!(writer, "{italic}{}{plain}{dim}={plain}", name.strip_prefix("r#").unwrap_or(name))?;
        }
        write!(EscapingWriter(writer), "{value:?}")
    };
    debug_fn(field).delimited(" ")
}

struct EscapingWriter<'a, 'writer>(&'a mut Writer<'writer>);

impl fmt::Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, control)) = rest.char_indices().find(|(_, character)| character.is_control()) {
            let (before, after) = rest.split_at(at);
            self.0.write_str(before)?;
            write!(self.0, "{}", control.escape_default())?;
            rest = after.strip_prefix(control).unwrap_or_default();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::telemetry::{item_span, remote_parent};

    #[derive(Debug, Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, write: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let layer = lines(format, move || writer.clone(), false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), write);
        let bytes = buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_json_line_carries_its_item_and_its_trace() {
        let trace = remote_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        let text = logged(LogFormat::Json, || {
            item_span("tg:one:1", "phase2", Some(&trace))
                .in_scope(|| tracing::info!(result.score = 88, "item enriched"));
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let field = |name: &str| json.get(name).unwrap_or_else(|| panic!("{name} is missing in {text}")).clone();
        assert_eq!(field("level"), "INFO");
        assert_eq!(field("result.score"), 88);
        assert_eq!(field("message"), "item enriched");
        assert_eq!(field("span").get("item.id").unwrap(), "tg:one:1");
        assert_eq!(field("span").get("trace.id").unwrap(), "0af7651916cd43dd8448eb211c80319c");
    }

    #[test]
    fn a_line_shows_the_item_and_not_the_spans_of_traces() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let filter = EnvFilter::new(without_payloads("trace"));
        let layer = lines(LogFormat::Json, move || writer.clone(), false).with_filter(filter);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let item = item_span("tg:one:1", "phase2", None);
            let stage = item.in_scope(|| traces::stage_span("judge"));
            item.in_scope(|| stage.in_scope(|| tracing::warn!("a passage is left out")));
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("tg:one:1") && !text.contains("judge"), "{text}");
    }

    #[test]
    fn text_has_no_colour_codes_when_output_is_no_terminal() {
        let text = logged(LogFormat::Text, || tracing::warn!(reason = "not_json", "an item is given up"));
        assert!(text.contains("WARN") && text.contains("reason=\"not_json\"") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn text_line_escapes_control_characters_of_every_field() {
        let hostile = "not JSON\n2026-11-29T10:00:00Z  INFO corroborate: item enriched\r\u{1b}[31mred\u{9b}0m\u{7}";
        let error = std::io::Error::other(hostile);
        let write = || {
            tracing::info_span!("item", item.id = %hostile).in_scope(|| {
                tracing::warn!(%error, text = hostile, debug = ?hostile, "refused: {hostile}");
                tracing::warn!(error = &error as &dyn std::error::Error, r#type = %hostile, count = 3, "{hostile}");
            });
        };
        let text = logged(LogFormat::Text, write);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(|character: char| character.is_control() && character != '\n'), "{text:?}");
        let escaped =
            "not JSON\\n2026-11-29T10:00:00Z  INFO corroborate: item enriched\\r\\u{1b}[31mred\\u{9b}0m\\u{7}";
        for field in [format!("refused: {escaped}"), format!("error={escaped}"), format!("text=\"{escaped}\"")] {
            assert!(text.contains(&field), "{field} in {text}");
        }
        assert!(text.contains("count=3") && text.contains(&format!(" type={escaped}")), "{text}");
        // JSON lines contain the value unchanged.
        let json: serde_json::Value =
            serde_json::from_str(logged(LogFormat::Json, write).lines().next().unwrap()).unwrap();
        assert_eq!(json["error"], hostile);
    }

    #[test]
    fn text_line_keeps_the_librarys_form_and_colours() {
        let line = |ansi: bool, own: bool| {
            let buffer = Buffer::default();
            let writer = buffer.clone();
            let layer =
                tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).without_time().with_ansi(ansi);
            let write = || {
                item_span("tg:one:1", "phase2", None).in_scope(|| {
                    tracing::warn!(reason = "not_json", score = 0.5, failed = true, what = ?Some("x"), "an item is given up");
                });
            };
            if own {
                let layer = layer.fmt_fields(one_line_fields());
                tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), write);
            } else {
                tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), write);
            }
            let bytes = buffer.0.lock().unwrap().clone();
            String::from_utf8(bytes).unwrap()
        };
        for ansi in [false, true] {
            assert_eq!(line(ansi, true), line(ansi, false));
        }
    }

    #[test]
    fn returned_messages_are_silent_unless_they_are_asked_for() {
        let captured = |directives: &str| {
            let buffer = Buffer::default();
            let writer = buffer.clone();
            let filter = EnvFilter::new(without_payloads(directives));
            let layer = lines(LogFormat::Text, move || writer.clone(), false).with_filter(filter);
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                tracing::warn!(target: "lapin::returned_messages", "private words");
                tracing::warn!(target: "lapin::channel", "closed");
            });
            let bytes = buffer.0.lock().unwrap().clone();
            String::from_utf8(bytes).unwrap()
        };
        for directives in ["warn", "info,lapin=trace", Audience::Operator.directives()] {
            let text = captured(directives);
            assert!(text.contains("closed") && !text.contains("private"), "{directives}: {text}");
        }
        assert!(captured("warn,lapin::returned_messages=warn").contains("private"));
    }

    #[test]
    fn installing_never_fails_twice_nor_for_a_bad_filter() {
        let mut config = crate::config::Config::built_in().log;
        install(&config, Audience::Operator, None);
        config.filter = Some("corroborate=loud".into());
        install(&config, Audience::Person, None);
        for audience in [Audience::Operator, Audience::Person] {
            assert!(EnvFilter::try_new(audience.directives()).is_ok());
        }
    }
}
