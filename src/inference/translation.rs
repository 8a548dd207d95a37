//! Translation by `LibreTranslate`, `DeepL` or a language model.
//!
//! Texts are untrusted, so a model receives them as fenced data ([`super::llm::fence`]). An answer must be one line of
//! the same figures, about as long as the text. It is used for search and as a text to judge; the translator never
//! judges. Results are cached in the process, so retries and items with the same claim send no request.

mod deepl;
mod model;
mod written;

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::future::BoxFuture;
use moka::future::Cache;
use regex::Regex;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::llm::{LanguageModel, Purpose};
use crate::config::{ApiKey, TranslateConfig};
use crate::outbound::{ApiRequest, ApiResponse, AskError, AskMeter, Asker, Gate, GateSettings};

#[cfg(test)]
pub(super) use model::question as translation_question;
pub use written::WrittenTranslations;

/// A sentence takes a small server 1 to 2 seconds, a language model 3. The timeout is below an item's translation time
/// (about 9 seconds), because an attempt that its caller cancels does not count for the circuit breaker.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Requests per minute; the server has its own limit.
const RATE: u32 = 600;
const MAX_ANSWER: usize = 256 * 1024;
/// The search does not wait for a third attempt.
const ATTEMPTS: u32 = 2;
/// Failures in a row that open the circuit breaker for [`REST`].
const FAILURES: u32 = 5;
const REST: Duration = Duration::from_mins(1);
/// Limit of a translation: characters per character of the text, and a constant. German and Greek are 1.5 times as long
/// as English.
const LONGER: usize = 3;
const LONGER_BY: usize = 60;
/// Time to pass on an answer that arrives at the deadline.
const MOMENT: Duration = Duration::from_millis(100);
/// Cached translations, about 1 KB each, and their lifetime.
const KEPT: u64 = 4096;
const KEPT_FOR: Duration = Duration::from_hours(24);

/// The zero digits of Arabic, Persian, Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada,
/// Malayalam, Thai, Lao, Tibetan, Burmese, Khmer and full width.
const ZEROS: [u32; 17] = [
    0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50, 0x0ED0, 0x0F20,
    0x1040, 0x17E0, 0xFF10,
];

/// A whole number with any thousands separator.
static FIGURE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\d{1,3}(?:[ \u{a0}\u{2009}\u{202f}.,'’٬]\d{3})+\b|\d+").ok());

#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    /// `None` if the answer cannot be a translation. An error if no request was possible.
    pub outcome: Result<Option<String>, AskError>,
    /// Requests sent; 0 for a cached answer.
    pub attempts: u32,
    /// Tokens that a language model read and wrote, also for a rejected answer.
    pub tokens: (u64, u64),
    /// US dollars.
    pub usd: f64,
}

pub trait Translator: Send + Sync + fmt::Debug {
    /// Returns the name in traces, such as `libretranslate` or `llm:<model>`.
    fn name(&self) -> &str;
    fn is_language_model(&self) -> bool;
    /// Translates into `into` (ISO 639-1) before `until`. `from` is `None` if unknown.
    fn translate<'a>(
        &'a self,
        text: &'a str,
        from: Option<&'a str>,
        into: &'a str,
        until: Instant,
    ) -> BoxFuture<'a, Translation>;
}

/// Returns the configured translator; a server goes before a language model, which costs more.
pub fn configured(
    translate: &TranslateConfig,
    language_model: Option<&Arc<LanguageModel>>,
    gate: &dyn Fn(GateSettings) -> Gate,
) -> Option<Arc<dyn Translator>> {
    let gate = || {
        gate(GateSettings {
            name: "translate",
            rpm: RATE,
            max_wait: TIMEOUT,
            timeout: TIMEOUT,
            max_bytes: MAX_ANSWER,
            max_attempts: ATTEMPTS,
            cooldown: REST,
            failures_to_open: FAILURES,
            daily_limit: None,
            cost_usd: 0.0,
        })
    };
    let translator: Arc<dyn Translator> = match (&translate.base_url, language_model) {
        (Some(url), _) if deepl::is_at(url) => {
            let path = if url.path().contains("/v2") { "translate" } else { "v2/translate" };
            let (url, key) = (at(url, path), translate.api_key.clone());
            Arc::new(deepl::DeepL { url, key, gate: gate() })
        }
        (Some(url), _) => {
            let (url, key) = (at(url, "translate"), translate.api_key.clone());
            Arc::new(LibreTranslate { url, key, gate: gate() })
        }
        (None, Some(model)) if model.is_for(Purpose::Translate) => {
            Arc::new(model::LanguageModelTranslator::new(Arc::clone(model)))
        }
        _ => return None,
    };
    let known = Cache::builder().max_capacity(KEPT).time_to_live(KEPT_FOR).build();
    Some(Arc::new(CachingTranslator { translator, known }))
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let prefix = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{prefix}/{path}"));
    url
}

/// Adds a cache and single flight.
#[derive(Debug)]
struct CachingTranslator {
    translator: Arc<dyn Translator>,
    /// By both languages and the text. Rejected answers are cached too: a repeated request returns the same.
    known: Cache<[String; 3], Option<String>>,
}

impl Translator for CachingTranslator {
    fn name(&self) -> &str {
        self.translator.name()
    }

    fn is_language_model(&self) -> bool {
        self.translator.is_language_model()
    }

    fn translate<'a>(
        &'a self,
        text: &'a str,
        from: Option<&'a str>,
        into: &'a str,
        until: Instant,
    ) -> BoxFuture<'a, Translation> {
        Box::pin(async move {
            let mut asked = None;
            let ask = async {
                let translated = self.translator.translate(text, from, into, until).await;
                asked.insert(translated).outcome.clone()
            };
            // Single flight: concurrent callers wait for this answer and are not charged.
            let known = self.known.try_get_with([from.unwrap_or_default(), into, text].map(str::to_owned), ask);
            // A waiting caller keeps to its own deadline, not that of the other.
            let known = timeout_at(until + MOMENT, known).await;
            match (asked, known) {
                (Some(asked), _) => asked,
                (None, Err(_)) => {
                    Translation { outcome: Err(AskError::Deadline), attempts: 0, tokens: (0, 0), usd: 0.0 }
                }
                (None, Ok(Ok(outcome))) => Translation { outcome: Ok(outcome), attempts: 0, tokens: (0, 0), usd: 0.0 },
                // The other caller's deadline was earlier. A language model may have charged, so it is not asked again.
                (None, Ok(Err(error))) if *error == AskError::Deadline && !self.is_language_model() => {
                    self.translator.translate(text, from, into, until).await
                }
                (None, Ok(Err(error))) => {
                    Translation { outcome: Err(AskError::clone(&error)), attempts: 0, tokens: (0, 0), usd: 0.0 }
                }
            }
        })
    }
}

#[derive(Debug)]
struct LibreTranslate {
    url: Url,
    key: Option<ApiKey>,
    gate: Gate,
}

impl Translator for LibreTranslate {
    fn name(&self) -> &'static str {
        "libretranslate"
    }

    fn is_language_model(&self) -> bool {
        false
    }

    fn translate<'a>(
        &'a self,
        text: &'a str,
        from: Option<&'a str>,
        into: &'a str,
        until: Instant,
    ) -> BoxFuture<'a, Translation> {
        Box::pin(async move {
            let body = json!({"q": text, "source": from.unwrap_or("auto"), "target": into, "format": "text"});
            let request = ApiRequest::post_json(self.url.clone(), &body);
            let request = match &self.key {
                Some(key) => request.secret_field("api_key", key),
                None => request,
            };
            ask(&self.gate, Ok(request), text, "/translatedText", until).await.written_as(into)
        })
    }
}

/// Requests a translation; `place` is a JSON pointer into the answer.
async fn ask(
    gate: &Gate,
    request: Result<ApiRequest, AskError>,
    text: &str,
    place: &str,
    until: Instant,
) -> Translation {
    let meter = AskMeter::default();
    let read = |response: &ApiResponse| {
        if let Some(error) = response.status_error() {
            return Err(error);
        }
        let malformed = |detail| AskError::Malformed { detail };
        let answer: Value = serde_json::from_slice(&response.body).map_err(|error| malformed(error.to_string()))?;
        let output = answer.pointer(place).ok_or_else(|| malformed(format!("the answer has no {place}")))?;
        Ok(output.as_str().unwrap_or_default().to_owned())
    };
    let asked = match request {
        Ok(request) => gate.ask(request, Asker { until, meter: &meter }, read).await,
        Err(error) => Err(error),
    };
    Translation { outcome: asked.map(|output| faithful(text, &output)), ..Translation::nothing(meter.attempts()) }
}

/// Returns the answer if it can be a translation: one line, not much longer, with all larger figures.
fn faithful(text: &str, output: &str) -> Option<String> {
    let output = output.trim().trim_matches(['"', '“', '”', '«', '»', '`']).trim();
    let is_line = output.lines().count() == 1 && output.chars().any(char::is_alphabetic);
    let is_long = output.chars().count() > LONGER * text.chars().count() + LONGER_BY;
    (is_line && !is_long && has_figures(text, output)).then(|| output.to_owned())
}

impl Translation {
    fn nothing(attempts: u32) -> Self {
        Self { outcome: Ok(None), attempts, tokens: (0, 0), usd: 0.0 }
    }

    /// Drops text in the wrong script, such as a refusal in English.
    fn written_as(self, into: &str) -> Self {
        Self { outcome: self.outcome.map(|output| output.filter(|output| is_written_as(into, output))), ..self }
    }
}

/// Whether at least a third of the letters are in the language's script. The rest can be names.
fn is_written_as(into: &str, output: &str) -> bool {
    let is_own: fn(char) -> bool = match into {
        "ru" | "uk" | "be" | "bg" | "mk" | "kk" => |c| matches!(c, '\u{400}'..='\u{52f}'),
        "el" => |c| matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}'),
        "ar" | "fa" | "ur" | "ps" => |c| matches!(c, '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}'),
        "he" | "yi" => |c| matches!(c, '\u{590}'..='\u{5ff}'),
        "ka" => |c| matches!(c, '\u{10a0}'..='\u{10ff}'),
        "hy" => |c| matches!(c, '\u{530}'..='\u{58f}'),
        "hi" | "mr" | "ne" => |c| matches!(c, '\u{900}'..='\u{97f}'),
        "th" => |c| matches!(c, '\u{e00}'..='\u{e7f}'),
        "ko" => |c| matches!(c, '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}'),
        "zh" | "ja" => |c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'),
        _ => return true,
    };
    let letters = output.chars().filter(|c| c.is_alphabetic()).count();
    3 * output.chars().filter(|c| is_own(*c)).count() >= letters
}

/// Whether the translation has the figures of the text, in any script and grouping. One or two digits may change
/// (`15:30` is 3:30 pm) or become words, and so may round figures (`2000`).
fn has_figures(text: &str, output: &str) -> bool {
    let text: String = text.chars().map(|letter| digit(letter).unwrap_or(letter)).collect();
    let kept: String = output.chars().filter_map(digit).collect();
    let digits = |figure: &str| figure.chars().filter(char::is_ascii_digit).collect::<String>();
    let figures = FIGURE.iter().flat_map(|pattern| pattern.find_iter(&text)).map(|figure| digits(figure.as_str()));
    figures.into_iter().all(|figure| {
        let value = figure.trim_start_matches('0');
        let significant = value.trim_end_matches('0');
        value.len() < 3
            || significant.len() < 2
            || kept.contains(value)
            // 31 000 can become 31 thousand. Years are never cut.
            || (value.len() > 4 && kept.contains(significant))
    })
}

/// Converts a digit of any script to ASCII.
fn digit(letter: char) -> Option<char> {
    let of_script = || {
        let past = |zero: &u32| u32::from(letter).checked_sub(*zero).and_then(|value| char::from_digit(value, 10));
        ZEROS.iter().find_map(past)
    };
    letter.is_ascii_digit().then_some(letter).or_else(of_script)
}

#[cfg(test)]
#[path = "translation/tests.rs"]
mod tests;
