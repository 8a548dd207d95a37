//! Translation by a `DeepL` or `LibreTranslate` server, a language model, or pairs from a file.
//!
//! Texts are untrusted, so a model receives them as fenced data ([`super::llm::fence`]). An answer must be one line of
//! the same figures, about as long as the text. It is used for search and as a text to judge; the translator never
//! judges. Results are cached in the process, so retries and items with the same claim send no request.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::future::BoxFuture;
use moka::future::Cache;
use regex::Regex;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::llm::fence::Message;
use super::llm::{self, ItemSpend, LanguageModel, LlmError, Purpose, Question, object};
use crate::config::{ApiKey, TranslateConfig};
use crate::language::detect;
use crate::outbound::{ApiRequest, ApiResponse, AskError, AskMeter, Asker, Gate, GateSettings, header};

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
/// Answer tokens of a language model for a query or a part of a passage.
const MAX_TOKENS: usize = 400;
const ENGLISH: &str = "en";

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
    let translator: Arc<dyn Translator> = match (&translate.base_url, language_model) {
        (Some(base), _) => Arc::new(TranslationServer {
            protocol: Protocol::of(base),
            base: base.clone(),
            key: translate.api_key.clone(),
            gate: gate(GateSettings {
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
            }),
        }),
        (None, Some(model)) if model.is_for(Purpose::Translate) => {
            Arc::new(LanguageModelTranslator { model: Arc::clone(model) })
        }
        _ => return None,
    };
    let known = Cache::builder().max_capacity(KEPT).time_to_live(KEPT_FOR).build();
    Some(Arc::new(CachingTranslator { translator, known }))
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
                (None, Err(_)) => Translation::free(Err(AskError::Deadline)),
                (None, Ok(outcome)) => Translation::free(outcome.map_err(|error| AskError::clone(&error))),
            }
        })
    }
}

/// What a translation server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    DeepL,
    LibreTranslate,
}

impl Protocol {
    /// Returns `DeepL` for its own addresses and for a substitute's under `/v2`.
    fn of(base: &Url) -> Self {
        let is_own = base.host_str().is_some_and(|host| host == "deepl.com" || host.ends_with(".deepl.com"));
        if is_own || base.path().trim_end_matches('/').ends_with("/v2") { Self::DeepL } else { Self::LibreTranslate }
    }
}

#[derive(Debug)]
struct TranslationServer {
    protocol: Protocol,
    base: Url,
    key: Option<ApiKey>,
    gate: Gate,
}

impl TranslationServer {
    fn request(&self, text: &str, from: Option<&str>, into: &str) -> Result<ApiRequest, AskError> {
        let mut url = self.base.clone();
        let prefix = url.path().trim_end_matches('/').to_owned();
        let is_versioned = self.protocol == Protocol::LibreTranslate || prefix.contains("/v2");
        url.set_path(&format!("{prefix}/{}", if is_versioned { "translate" } else { "v2/translate" }));
        match self.protocol {
            Protocol::DeepL => {
                let mut body = json!({ "text": [text], "target_lang": deepl_target(into) });
                if let (Some(from), Some(fields)) = (from, body.as_object_mut()) {
                    fields.insert("source_lang".to_owned(), json!(from.to_uppercase()));
                }
                let request = ApiRequest::post_json(url, &body);
                match &self.key {
                    Some(key) => request.secret_header_after(header::AUTHORIZATION, "DeepL-Auth-Key ", key),
                    None => Ok(request),
                }
            }
            Protocol::LibreTranslate => {
                let body = json!({"q": text, "source": from.unwrap_or("auto"), "target": into, "format": "text"});
                let request = ApiRequest::post_json(url, &body);
                Ok(match &self.key {
                    Some(key) => request.secret_field("api_key", key),
                    None => request,
                })
            }
        }
    }
}

/// `DeepL` refuses English and Portuguese targets without a country.
fn deepl_target(into: &str) -> String {
    match into {
        "en" => "EN-US".to_owned(),
        "pt" => "PT-PT".to_owned(),
        other => other.to_uppercase(),
    }
}

impl Translator for TranslationServer {
    fn name(&self) -> &'static str {
        match self.protocol {
            Protocol::DeepL => "deepl",
            Protocol::LibreTranslate => "libretranslate",
        }
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
        let place = match self.protocol {
            Protocol::DeepL => "/translations/0/text",
            Protocol::LibreTranslate => "/translatedText",
        };
        let read = move |response: &ApiResponse| {
            if let Some(error) = response.status_error() {
                return Err(error);
            }
            let malformed = |detail| AskError::Malformed { detail };
            let answer: Value = serde_json::from_slice(&response.body).map_err(|error| malformed(error.to_string()))?;
            let output = answer.pointer(place).ok_or_else(|| malformed(format!("the answer has no {place}")))?;
            Ok(output.as_str().unwrap_or_default().to_owned())
        };
        Box::pin(async move {
            let meter = AskMeter::default();
            let outcome = match self.request(text, from, into) {
                Ok(request) => self.gate.ask(request, Asker { until, meter: &meter }, read).await,
                Err(error) => Err(error),
            };
            let outcome = outcome.map(|output| faithful(text, &output, into));
            Translation { attempts: meter.attempts(), ..Translation::free(outcome) }
        })
    }
}

/// A language model, which keeps its own gate, prices and cache.
#[derive(Debug)]
struct LanguageModelTranslator {
    model: Arc<LanguageModel>,
}

impl Translator for LanguageModelTranslator {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_language_model(&self) -> bool {
        true
    }

    fn translate<'a>(
        &'a self,
        text: &'a str,
        _from: Option<&'a str>,
        into: &'a str,
        until: Instant,
    ) -> BoxFuture<'a, Translation> {
        Box::pin(async move {
            let Some(question) = translation_question(text, into) else { return Translation::free(Ok(None)) };
            // The caller limits an item's translations, and the cap limits the month.
            let spend = ItemSpend::new(u32::MAX, f64::MAX);
            let read = |answer: &Value| faithful(text, answer.get("translation")?.as_str()?, into);
            let answer = self.model.ask(&question, read, &spend, until).await;
            let spent = spend.spent();
            Translation {
                outcome: match answer {
                    Ok(translation) => Ok(Some(translation)),
                    Err(LlmError::Ask(error)) => Err(error),
                    Err(
                        LlmError::Declined { .. }
                        | LlmError::Cut
                        | LlmError::Unreadable { .. }
                        | LlmError::Unsupported { .. },
                    ) => Ok(None),
                    Err(error @ (LlmError::NoSearch { .. } | LlmError::ItemLimit)) => {
                        Err(AskError::CouldNotAsk { detail: error.to_string() })
                    }
                },
                attempts: spent.calls,
                tokens: (spent.tokens_read, spent.tokens_written),
                usd: spent.usd,
            }
        })
    }
}

/// The text is never part of the instruction.
pub(super) fn translation_question(text: &str, into: &str) -> Option<Question> {
    let mut message = Message::default();
    message.data("text", text, usize::MAX);
    let language = format!("{} ({into})", detect::english_name(Some(into)));
    let schema = object([("translation", llm::text())]);
    Question::new("translate", &[("language", &language)], &message, schema, MAX_TOKENS)
}

/// English translations from a labelled set by text. They measure the gain of a translator without one.
#[derive(Debug, Default)]
pub struct WrittenTranslations(HashMap<String, String>);

impl WrittenTranslations {
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().map(|(text, english)| (written_key(&text), english)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Ignores the full stop, which a statement may lack.
fn written_key(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!', '?']).to_lowercase()
}

impl Translator for WrittenTranslations {
    fn name(&self) -> &'static str {
        "written"
    }

    fn is_language_model(&self) -> bool {
        false
    }

    fn translate<'a>(
        &'a self,
        text: &'a str,
        _from: Option<&'a str>,
        into: &'a str,
        _until: Instant,
    ) -> BoxFuture<'a, Translation> {
        let found = self.0.get(&written_key(text)).filter(|_| into == ENGLISH).cloned();
        Box::pin(std::future::ready(Translation::free(Ok(found))))
    }
}

/// Returns the answer if it can be a translation: one line in the language's script, not much longer, with all larger
/// figures.
fn faithful(text: &str, output: &str, into: &str) -> Option<String> {
    let output = output.trim().trim_matches(['"', '“', '”', '«', '»', '`']).trim();
    let is_line = output.lines().count() == 1 && output.chars().any(char::is_alphabetic);
    let is_long = output.chars().count() > LONGER * text.chars().count() + LONGER_BY;
    (is_line && !is_long && has_figures(text, output) && is_written_as(into, output)).then(|| output.to_owned())
}

impl Translation {
    /// Returns an outcome without a request.
    fn free(outcome: Result<Option<String>, AskError>) -> Self {
        Self { outcome, attempts: 0, tokens: (0, 0), usd: 0.0 }
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
