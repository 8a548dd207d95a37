//! Logs: text or JSON lines on standard error, and the one canonical line of an item.
//!
//! Never payloads, keys or personal data: an item is named by its id, and what was found is given in figures.

use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use super::trace_context::TraceParent;
use crate::config::{LogConfig, LogFormat};

/// Who reads the log, where `RUST_LOG` does not say what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The daemon's operator: what happens, `info`.
    Operator,
    /// A person at a command: what goes wrong, `warn`; a progress bar and results have the screen.
    Person,
}

impl Audience {
    /// Libraries are heard from `warn` on: their `info` repeats per statement and frame what our own lines say per item.
    const fn directives(self) -> &'static str {
        match self {
            Self::Operator => "info,lapin=warn,sqlx=warn,hyper=warn,reqwest=warn,html5ever=error",
            Self::Person => "warn,lapin=error,sqlx=error,html5ever=error",
        }
    }
}

/// Installs the log for the whole process. Where one is installed already (tests), that one stays.
pub fn install(config: &LogConfig, audience: Audience) {
    let directives = config.filter.as_deref().unwrap_or_else(|| audience.directives());
    // The configuration has checked the directives; should they fail here all the same, a log is better than none.
    let filter = EnvFilter::try_new(directives).unwrap_or_else(|_unreadable| EnvFilter::new(audience.directives()));
    let lines = lines(config.format, stderr, stderr().is_terminal());
    if tracing_subscriber::registry().with(lines.with_filter(filter)).try_init().is_err() {
        tracing::debug!("a log is installed already");
    }
}

/// The layer that writes lines.
fn lines<S, W>(format: LogFormat, writer: W, on_terminal: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed(),
        // On a terminal the library's own default stands, which minds NO_COLOR.
        LogFormat::Text if on_terminal => layer.boxed(),
        LogFormat::Text => layer.with_ansi(false).boxed(),
    }
}

/// The span of one item's work. Everything logged inside carries the item's id and, where upstream sent one, its trace.
pub fn item_span(item_id: &str, queue: &'static str, trace: Option<&TraceParent>) -> tracing::Span {
    let span = tracing::info_span!(
        "item",
        item.id = item_id,
        item.queue = queue,
        trace.id = tracing::field::Empty,
        trace.parent = tracing::field::Empty
    );
    if let Some(trace) = trace {
        span.record("trace.id", trace.trace_id());
        span.record("trace.parent", trace.parent_id());
    }
    span
}

/// The canonical line of one item: everything an operator asks about it, once, when it is done.
#[derive(Debug, Clone, Copy, Default)]
pub struct ItemLine<'a> {
    pub item_id: &'a str,
    /// One of the catalogue's queues.
    pub queue: &'a str,
    pub phase: &'a str,
    /// One of the catalogue's outcomes.
    pub outcome: &'a str,
    pub tier: Option<&'a str>,
    /// 0–100.
    pub score: Option<u32>,
    pub claims: usize,
    pub evidence: usize,
    pub fact_checks: usize,
    pub provider_calls: u32,
    pub usd: f64,
    /// `provider_open:gdelt` and the like.
    pub degraded: &'a [String],
    /// A bounded word, for items that did not end well.
    pub reason: Option<&'a str>,
    pub attempt: u32,
    pub took: Duration,
}

impl ItemLine<'_> {
    /// Writes the line: `info` for an item that is done, `warn` for one that failed or is tried again.
    pub fn write(&self) {
        let millis = self.took.as_secs_f64() * 1000.0;
        let degraded = self.degraded.join(",");
        macro_rules! line {
            ($level:ident) => {
                // The braces: a dotted name right after a target is ambiguous to the macro.
                tracing::$level!(
                    target: "corroborate::item",
                    {
                        item.id = self.item_id,
                        item.queue = self.queue,
                        item.phase = self.phase,
                        item.outcome = self.outcome,
                        item.attempt = self.attempt,
                        result.tier = self.tier,
                        result.score = self.score,
                        result.claims = self.claims,
                        result.evidence = self.evidence,
                        result.fact_checks = self.fact_checks,
                        result.degraded = (!degraded.is_empty()).then_some(degraded.as_str()),
                        cost.provider_calls = self.provider_calls,
                        cost.usd = self.usd,
                        reason = self.reason,
                        took.ms = (millis * 10.0).round() / 10.0,
                    },
                    "item {}",
                    self.outcome
                )
            };
        }
        match self.outcome {
            "retried" | "dead" | "failed" | "dropped" => line!(warn),
            _ => line!(info),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, write: impl FnOnce()) -> String {
        let paper = Paper::default();
        let writer = paper.clone();
        let layer = lines(format, move || writer.clone(), false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), write);
        let bytes = paper.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn line(outcome: &'static str) -> ItemLine<'static> {
        ItemLine {
            item_id: "tg:one:1",
            queue: "enrichment",
            phase: "phase2",
            outcome,
            tier: Some("high"),
            score: Some(88),
            took: Duration::from_micros(12_345),
            ..ItemLine::default()
        }
    }

    #[test]
    fn one_json_line_per_item_with_its_trace() {
        let trace = TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        let text = logged(LogFormat::Json, || {
            item_span("tg:one:1", "enrichment", Some(&trace)).in_scope(|| line("complete").write());
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let field = |name: &str| json.get(name).unwrap_or_else(|| panic!("{name} is missing in {text}")).clone();
        assert_eq!(field("level"), "INFO");
        assert_eq!(field("item.id"), "tg:one:1");
        assert_eq!(field("result.score"), 88);
        assert_eq!(field("took.ms"), 12.3);
        assert_eq!(field("message"), "item complete");
        assert!(json.get("reason").is_none() && json.get("result.degraded").is_none());
        assert_eq!(field("span").get("trace.id").unwrap(), "0af7651916cd43dd8448eb211c80319c");
    }

    #[test]
    fn text_has_no_colour_codes_beside_a_terminal_and_failures_warn() {
        let degraded = ["provider_open:gdelt".to_owned()];
        let text = logged(LogFormat::Text, || {
            ItemLine { reason: Some("not_json"), degraded: &degraded, ..line("dead") }.write();
        });
        assert!(text.contains("WARN") && text.contains("reason=\"not_json\""), "{text}");
        assert!(text.contains("result.degraded=\"provider_open:gdelt\"") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn installing_never_fails_twice_nor_for_a_bad_filter() {
        let mut config = crate::config::Config::built_in().log;
        install(&config, Audience::Operator);
        config.filter = Some("corroborate=loud".into());
        install(&config, Audience::Person);
        for audience in [Audience::Operator, Audience::Person] {
            assert!(EnvFilter::try_new(audience.directives()).is_ok());
        }
    }
}
