//! A language model on a server: sends questions, reads answers and settles costs.
//!
//! Steps: cache with single flight, the item's limits, a call slot, the provider gate. A rejected parameter is left
//! out, and short waits are waited out. Errors and truncated answers are never cached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use super::form::{RequestFeatures, ServerCapabilities};
use super::places::CallSlots;
use super::prices::{Prices, Usage, tokens};
use super::refusal::{Refusal, refusal};
use super::reply::{self, ParsedReply};
use super::{Answer, Deadline, ItemSpend, LlmError, Purpose, Question, SearchAnswer, Spending, Uses, responses};
use crate::cache::{self, AnswerCache};
use crate::config::ApiKey;
use crate::domain::ids;
use crate::outbound::{ApiRequest, ApiResponse, AskError, AskMeter, Asker, Gate, GateStatus, excerpt, header};
use crate::telemetry::metrics;

/// Longest wait for a throttled server; after it, the question fails.
const MAX_INLINE_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Interval of attempts while another question probes the server.
const LOOK: Duration = Duration::from_millis(250);
const PROVIDER: &str = "llm";

#[derive(Debug)]
pub struct ModelSettings<'a> {
    /// Includes `/v1`.
    pub base: &'a Url,
    pub key: Option<ApiKey>,
    pub model: &'a str,
    pub uses: Uses,
    pub prices: Prices,
    /// Minimum of every answer's token limit, because reasoning models need it.
    pub max_tokens: u32,
    pub concurrency: usize,
}

/// A language model on a server. Share one: it holds the limits.
#[derive(Debug)]
pub struct LanguageModel {
    chat: Url,
    responses: Url,
    key: Option<ApiKey>,
    model: String,
    name: String,
    uses: Uses,
    prices: Prices,
    max_tokens: u32,
    gate: Gate,
    slots: CallSlots,
    manners: ServerCapabilities,
    /// The server has no Responses API, or no search in it.
    has_no_search: AtomicBool,
    answers: AnswerCache<Value>,
}

type ReplyReader<'a, T> = dyn Fn(&Value, &ApiResponse) -> Result<ParsedReply<T>, AskError> + Sync + 'a;

/// A request and the reader of its answer.
struct Exchange<'a, T> {
    question: &'a Question,
    url: &'a Url,
    body: &'a (dyn Fn(RequestFeatures) -> Value + Sync),
    read: &'a ReplyReader<'a, T>,
    /// Expected US dollars.
    estimate: f64,
}

/// A result of a working server.
enum CallOutcome<T> {
    Read(ParsedReply<T>),
    Refused(Refusal),
}

/// A reservation. If the question is dropped, sent requests are still settled and counted.
struct Reservation<'a> {
    spend: &'a ItemSpend,
    purpose: Purpose,
    meter: &'a AskMeter,
    estimate: f64,
    is_settled: bool,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            let really = Spending { calls: self.meter.attempts(), usd: self.meter.usd(), ..Spending::default() };
            self.spend.settle(self.estimate, really);
            if really.calls > 0 {
                metrics::llm_call(self.purpose.as_str(), "dropped");
            }
        }
    }
}

impl LanguageModel {
    /// `answers` also holds other models' answers under their names.
    pub fn new(settings: ModelSettings<'_>, gate: Gate, answers: AnswerCache<Value>) -> Self {
        let ModelSettings { base, key, model, uses, prices, max_tokens, concurrency } = settings;
        Self {
            chat: at(base, "chat/completions"),
            responses: at(base, "responses"),
            key,
            model: model.to_owned(),
            name: format!("llm:{}", in_judges(model)),
            uses,
            prices,
            max_tokens,
            gate,
            slots: CallSlots::new(concurrency),
            manners: ServerCapabilities::default(),
            has_no_search: AtomicBool::new(false),
            answers,
        }
    }

    /// Returns the judge in results: `llm:<model>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.uses.has(purpose)
    }

    /// Returns the timeout of one call.
    pub fn patience(&self) -> Duration {
        self.gate.timeout()
    }

    pub fn status(&self) -> GateStatus {
        self.gate.status()
    }

    /// Whether a question may cost money, by the configuration.
    pub fn is_paid(&self) -> bool {
        self.key.is_some() || self.prices.any()
    }

    /// Asks within the item's limits and before `until`. The value is an object. Answers are cached for all processes,
    /// errors never.
    pub async fn ask(&self, question: &Question, spend: &ItemSpend, until: Deadline) -> Result<Answer, LlmError> {
        self.ask_believing(question, spend, until, &|_| true).await
    }

    /// [`Self::ask`] with a check: a rejected answer is not cached and counts as `unsupported`.
    pub async fn ask_believing(
        &self,
        question: &Question,
        spend: &ItemSpend,
        until: Deadline,
        is_believed: &(dyn Fn(&Value) -> bool + Sync),
    ) -> Result<Answer, LlmError> {
        let max_tokens = self.max_tokens.max(question.max_tokens);
        let read_tokens = tokens(&question.system) + tokens(&question.user) + tokens(&question.schema.to_string());
        let exchange = Exchange {
            question,
            url: &self.chat,
            body: &|form| form.chat(&self.model, question, max_tokens),
            read: &|body, response| reply::chat(body, response, &self.model, question, read_tokens),
            estimate: self.prices.estimate(question.purpose, read_tokens, max_tokens),
        };
        let asking = || async {
            let answer = self.paid(&exchange, spend, until).await;
            match &answer {
                Ok(value) | Err(LlmError::Part(value)) if !is_believed(value) => {
                    Err(LlmError::Unsupported { detail: excerpt(&value.to_string()) })
                }
                _ => answer,
            }
        };
        // Boxed, because callers hold large futures.
        match Box::pin(self.known_or(question, until, asking)).await {
            Ok((value, cached)) => Ok(Answer { value, cached, is_part: false }),
            Err(LlmError::Part(value)) => Ok(Answer { value, cached: false, is_part: true }),
            Err(error) => Err(error),
        }
    }

    pub async fn search(
        &self,
        question: &Question,
        spend: &ItemSpend,
        until: Deadline,
    ) -> Result<SearchAnswer, LlmError> {
        let max_tokens = self.max_tokens.max(question.max_tokens);
        let read_tokens = tokens(&question.system) + tokens(&question.user);
        let exchange = Exchange {
            question,
            url: &self.responses,
            body: &|form| form.search(&self.model, question, max_tokens),
            read: &|body, _| Ok(responses::cited(body, read_tokens)),
            estimate: self.prices.estimate(Purpose::Search, read_tokens, max_tokens),
        };
        let asking = || async {
            if self.has_no_search.load(Ordering::Relaxed) {
                return Err(no_search("it said so before"));
            }
            self.paid(&exchange, spend, until).await.map(|urls| json!({ "urls": urls }))
        };
        let (value, cached) = Box::pin(self.known_or(question, until, asking)).await?;
        let urls = value.get("urls").and_then(Value::as_array).into_iter().flatten();
        Ok(SearchAnswer { urls: urls.filter_map(Value::as_str).map(str::to_owned).collect(), cached })
    }

    /// Asks for one token, to check the connection, the key and the model.
    pub async fn probe(&self, until: Deadline) -> Result<(), LlmError> {
        let question = Question {
            purpose: Purpose::Explain,
            version: 0,
            system: String::new(),
            user: String::new(),
            schema: Value::Null,
            max_tokens: 1,
        };
        let exchange = Exchange {
            question: &question,
            url: &self.chat,
            body: &|form| form.one_token(&self.model),
            read: &|body, _| match body.get("choices") {
                Some(_) => Ok(ParsedReply { outcome: Ok(()), usage: reply::usage(body, 1, "") }),
                None => Err(AskError::Malformed { detail: "it has no choices".to_owned() }),
            },
            estimate: self.prices.estimate(Purpose::Explain, 1, 1),
        };
        match self.exchange(&exchange, &AskMeter::default(), until).await.and_then(|read| read.outcome) {
            // A truncated answer is expected.
            Ok(()) | Err(LlmError::Cut) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the cached answer or that of `ask`, and whether it was cached.
    async fn known_or<A>(
        &self,
        question: &Question,
        until: Deadline,
        ask: impl Fn() -> A + Send + Sync,
    ) -> Result<(Value, bool), LlmError>
    where
        A: Future<Output = Result<Value, LlmError>> + Send,
    {
        let key = self.key_of(question);
        let wish = cache::Question {
            provider: PROVIDER,
            key: &key,
            claim: None,
            shared: true,
            until,
            keep_at_least: Duration::ZERO,
        };
        let answer = self.answers.get_or_ask(&wish, ask).await;
        let answer = answer.map(|(value, result)| (Value::clone(&value), result.spared()));
        let outcome = match &answer {
            Ok((_, true)) => "cached",
            Ok((_, false)) => "ok",
            Err(error) => error.outcome(),
        };
        metrics::llm_call(question.purpose.as_str(), outcome);
        answer
    }

    /// Returns a key of all that an answer depends on. The token limit is left out, because truncated answers are not
    /// cached.
    fn key_of(&self, question: &Question) -> String {
        let Question { purpose, version, system, user, schema, .. } = question;
        let parts = [&self.name, purpose.as_str(), &version.to_string(), system, user, &schema.to_string()];
        ids::content_hash(&parts)
    }

    /// Waits for a call slot, and reserves and settles the cost.
    async fn paid<T: Send>(
        &self,
        exchange: &Exchange<'_, T>,
        spend: &ItemSpend,
        until: Deadline,
    ) -> Result<T, LlmError> {
        spend.take(exchange.estimate)?;
        let purpose = exchange.question.purpose;
        let meter = AskMeter::default();
        meter.hurry(purpose.patience());
        let mut reservation =
            Reservation { spend, purpose, meter: &meter, estimate: exchange.estimate, is_settled: false };
        let read = match self.slots.take(purpose.priority(), until).await {
            Some(_slot) => self.exchange(exchange, &meter, until).await,
            None => Err(LlmError::Ask(AskError::Deadline)),
        };
        let Usage { read: tokens_read, written: tokens_written, .. } =
            read.as_ref().map_or_else(|_| Usage::default(), |read| read.usage);
        metrics::llm_tokens(purpose.as_str(), tokens_read, tokens_written);
        reservation.is_settled = true;
        let really = Spending { calls: meter.attempts(), tokens_read, tokens_written, usd: meter.usd() };
        spend.settle(exchange.estimate, really);
        read?.outcome
    }

    /// Sends with the accepted parameters, after the server's waits.
    async fn exchange<T: Send>(
        &self,
        exchange: &Exchange<'_, T>,
        meter: &AskMeter,
        until: Deadline,
    ) -> Result<ParsedReply<T>, LlmError> {
        let mut form = self.manners.form();
        let mut others: Vec<RequestFeatures> = RequestFeatures::all().collect();
        let mut throttled = None;
        loop {
            meter.worth(exchange.estimate);
            let started = Instant::now();
            let outcome = self.send(exchange, form, meter, until).await;
            if !matches!(outcome, Err(AskError::Open { .. } | AskError::NoRecording(_))) {
                metrics::llm_call_took(exchange.question.purpose.as_str(), started.elapsed());
            }
            match outcome {
                Ok(CallOutcome::Read(read)) => return Ok(read),
                Ok(CallOutcome::Refused(Refusal::Parameter(parameter, words))) => {
                    let Some(next) = form.without(parameter) else {
                        return Err(AskError::Refused { detail: words }.into());
                    };
                    tracing::info!(
                        model = self.model,
                        ?parameter,
                        words,
                        "model server rejects a parameter; continuing without it"
                    );
                    self.manners.remember(next);
                    form = next;
                }
                Ok(CallOutcome::Refused(Refusal::Declined(detail))) => return Err(LlmError::Declined { detail }),
                Ok(CallOutcome::Refused(Refusal::Cut)) => return Err(LlmError::Cut),
                Ok(CallOutcome::Refused(Refusal::NoSuchPlace(words))) => {
                    self.has_no_search.store(true, Ordering::Relaxed);
                    return Err(no_search(&words));
                }
                Ok(CallOutcome::Refused(Refusal::Failed(error))) => return Err(error.into()),
                // A recording's parameters depend on earlier answers, so all forms are tried.
                Err(AskError::NoRecording(missing)) => {
                    others.retain(|other| *other != form);
                    form = others.pop().ok_or(AskError::NoRecording(missing))?;
                }
                Err(error) => {
                    let since = match &error {
                        AskError::Throttled { retry_after: Some(_) } => *throttled.get_or_insert_with(Instant::now),
                        AskError::Open { .. } if throttled.is_some() => throttled.unwrap_or(started),
                        _ => return Err(error.into()),
                    };
                    let Some(again) = Self::again(&error, since).filter(|again| *again < until) else {
                        return Err(error.into());
                    };
                    sleep(again - Instant::now()).await;
                }
            }
        }
    }

    /// Returns the time of the next attempt; `None` if the wait is too long.
    fn again(error: &AskError, since: Instant) -> Option<Instant> {
        let wait = match error {
            AskError::Throttled { retry_after } => (*retry_after)?,
            _ => LOOK,
        };
        let again = Instant::now() + wait.max(LOOK);
        (again <= since + MAX_INLINE_RETRY_AFTER).then_some(again)
    }

    /// Sends through the gate, for which only server failures are errors.
    async fn send<T: Send>(
        &self,
        exchange: &Exchange<'_, T>,
        form: RequestFeatures,
        meter: &AskMeter,
        until: Deadline,
    ) -> Result<CallOutcome<T>, AskError> {
        let request = self.request(exchange.url, &(exchange.body)(form))?;
        let is_chat = *exchange.url == self.chat;
        let read = |response: &ApiResponse| match refusal(response, &self.model) {
            Some(Refusal::Failed(error)) => Err(error),
            Some(Refusal::NoSuchPlace(detail)) if is_chat && matches!(response.status, 400 | 422) => {
                Err(AskError::Refused { detail })
            }
            Some(Refusal::NoSuchPlace(words)) if is_chat => Err(AskError::Disabled {
                detail: format!(
                    "nothing answers chat completions there: {words}; check llm.base_url (LLM_BASE_URL), with its /v1"
                ),
            }),
            Some(refused) => {
                meter.worth(0.0);
                Ok(CallOutcome::Refused(refused))
            }
            None => {
                let read = (exchange.read)(&reply::body(response)?, response)?;
                meter.worth(self.prices.of(read.usage));
                Ok(CallOutcome::Read(read))
            }
        };
        self.gate.ask(request, Asker { until, meter }, read).await
    }

    fn request(&self, url: &Url, body: &Value) -> Result<ApiRequest, AskError> {
        let request = ApiRequest::post_json(url.clone(), body);
        match &self.key {
            Some(key) => request.secret_header_after(header::AUTHORIZATION, "Bearer ", key),
            None => Ok(request),
        }
    }
}

/// Makes a model name part of a judge name, in which `+` separates parts without blanks.
pub fn in_judges(name: &str) -> String {
    name.chars().map(|c| if c == '+' || c.is_whitespace() || c.is_control() { '-' } else { c }).collect()
}

fn no_search(words: &str) -> LlmError {
    LlmError::NoSearch { detail: words.to_owned() }
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let prefix = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{prefix}/{path}"));
    url
}

#[cfg(test)]
#[path = "model/tests.rs"]
mod tests;
