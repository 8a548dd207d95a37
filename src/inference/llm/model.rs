//! A language model on a server: sends questions, reads answers and settles costs.
//!
//! Steps: cache with single flight, the item's limits, a call slot, the provider gate. A rejected field is left out, an
//! answer that is no object of the schema is requested once more, and short waits are waited out. Errors are never
//! cached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use super::slots::CallSlots;
use super::spend::{ItemSpend, Prices, Spending, Usage, tokens};
use super::wire::{self, Field, Form, Refusal, refusal};
use super::{LlmError, Purpose, Question};
use crate::cache::{self, AnswerCache};
use crate::config::ApiKey;
use crate::domain::ids;
use crate::outbound::{ApiRequest, ApiResponse, AskError, AskMeter, Asker, Gate, GateStatus, excerpt, header};
use crate::telemetry::metrics;

/// Longest wait for a throttled server; after it, the question fails.
const MAX_INLINE_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Interval of attempts while another question probes the server.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
const PROVIDER: &str = "llm";

#[derive(Debug)]
pub struct ModelSettings<'a> {
    /// Includes `/v1`.
    pub base: &'a Url,
    pub key: Option<ApiKey>,
    pub model: &'a str,
    /// The enabled purposes.
    pub uses: Vec<Purpose>,
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
    uses: Vec<Purpose>,
    prices: Prices,
    max_tokens: u32,
    gate: Gate,
    slots: CallSlots,
    /// Fields that the server rejected.
    without_schema: AtomicBool,
    without_sampling: AtomicBool,
    /// The server has no Responses API, or no search in it.
    has_no_search: AtomicBool,
    answers: AnswerCache<Value>,
}

/// A request, and what it may cost.
struct Call<'a> {
    purpose: Purpose,
    url: &'a Url,
    body: &'a (dyn Fn(Form) -> Value + Sync),
    /// Estimates, for the reservation and for servers that do not count.
    read_tokens: u64,
    usd: f64,
}

/// A result of a working server.
enum CallOutcome {
    Answer(Value, Usage),
    Refused(Refusal),
}

/// A reservation. If the question is dropped, sent requests are still settled and counted.
struct Reservation<'a> {
    spend: &'a ItemSpend,
    purpose: Purpose,
    meter: AskMeter,
    usd: f64,
    is_settled: bool,
}

impl Reservation<'_> {
    fn settle(&mut self, usage: Usage) {
        self.is_settled = true;
        let Usage { read: tokens_read, written: tokens_written, .. } = usage;
        let calls = self.meter.attempts();
        self.spend.settle(self.usd, Spending { calls, tokens_read, tokens_written, usd: self.meter.usd() });
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.settle(Usage::default());
            if self.meter.attempts() > 0 {
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
            without_schema: AtomicBool::new(false),
            without_sampling: AtomicBool::new(false),
            has_no_search: AtomicBool::new(false),
            answers,
        }
    }

    /// Returns the judge in results: `llm:<model>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.uses.contains(&purpose)
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

    /// Asks within the item's limits and before `until`. `read` gets an object with the schema's properties and checks
    /// the rest, because servers may ignore the schema. A rejected answer counts as `unsupported`. Accepted answers are
    /// cached for all processes.
    pub async fn ask<T>(
        &self,
        question: &Question,
        read: impl Fn(&Value) -> Option<T> + Send + Sync,
        spend: &ItemSpend,
        until: Instant,
    ) -> Result<T, LlmError> {
        let unsupported = |value: &Value| LlmError::Unsupported { detail: excerpt(&value.to_string()) };
        let asking = || async {
            let answer = match self.object(question, false, spend, until).await {
                Err(LlmError::Unreadable { .. }) => self.object(question, true, spend, until).await,
                answer => answer,
            }?;
            if read(&answer).is_some() { Ok(answer) } else { Err(unsupported(&answer)) }
        };
        // Boxed without its type, because callers nest deep futures.
        let answer = self.known_or(question, until, asking).boxed().await?;
        read(&answer).ok_or_else(|| unsupported(&answer))
    }

    /// Returns the addresses that the model's web search cites. They are no evidence.
    pub async fn search(
        &self,
        question: &Question,
        spend: &ItemSpend,
        until: Instant,
    ) -> Result<Vec<String>, LlmError> {
        let max_tokens = self.max_tokens.max(question.max_tokens);
        let body = |_: Form| wire::search(&self.model, question, max_tokens);
        let call = self.call(question, &self.responses, max_tokens, &body);
        let asking = || async {
            if self.has_no_search.load(Ordering::Relaxed) {
                return Err(no_search("it said so before"));
            }
            let answer = self.paid(&call, spend, until).await?;
            Ok(json!({"urls": wire::citations(&answer)?}))
        };
        let found = self.known_or(question, until, asking).boxed().await?;
        let urls = found.get("urls").and_then(Value::as_array);
        Ok(urls.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Asks for one token, to check the connection, the key and the model.
    pub async fn probe(&self, until: Instant) -> Result<(), LlmError> {
        let body = |form: Form| form.one_token(&self.model);
        let usd = self.prices.of(Usage { read: 1, written: 1, searches: 0 });
        let call = Call { purpose: Purpose::Explain, url: &self.chat, body: &body, read_tokens: 1, usd };
        match self.exchange(&call, &AskMeter::default(), until).await {
            // Reasoning models refuse so small a limit, and so they answer.
            Err(LlmError::Ask(AskError::Refused { detail })) if detail.contains("output limit") => Ok(()),
            done => done.map(|_| ()),
        }
    }

    /// Asks for an object of the question's schema.
    async fn object(
        &self,
        question: &Question,
        is_reminder: bool,
        spend: &ItemSpend,
        until: Instant,
    ) -> Result<Value, LlmError> {
        let max_tokens = self.max_tokens.max(question.max_tokens);
        let body = |form: Form| form.chat(&self.model, question, max_tokens, is_reminder);
        let call = self.call(question, &self.chat, max_tokens, &body);
        wire::object(&self.paid(&call, spend, until).await?, &question.schema)
    }

    fn call<'a>(
        &self,
        question: &Question,
        url: &'a Url,
        max_tokens: u32,
        body: &'a (dyn Fn(Form) -> Value + Sync),
    ) -> Call<'a> {
        let read_tokens = tokens(&question.system) + tokens(&question.user) + tokens(&question.schema.to_string());
        let searches = u64::from(question.purpose == Purpose::Search);
        let usd = self.prices.of(Usage { read: read_tokens, written: u64::from(max_tokens), searches });
        Call { purpose: question.purpose, url, body, read_tokens, usd }
    }

    /// Returns the cached answer or that of `ask`.
    async fn known_or<A>(
        &self,
        question: &Question,
        until: Instant,
        ask: impl Fn() -> A + Send + Sync,
    ) -> Result<Value, LlmError>
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
        let outcome = match &answer {
            Ok((_, result)) if result.spared() => "cached",
            Ok(_) => "ok",
            Err(error) => LlmError::outcome(error),
        };
        metrics::llm_call(question.purpose.as_str(), outcome);
        answer.map(|(value, _)| Value::clone(&value))
    }

    /// Returns a key of all that an answer depends on. The token limit is left out, because truncated answers are not
    /// cached.
    fn key_of(&self, question: &Question) -> String {
        let Question { purpose, system, user, schema, .. } = question;
        let parts = [&self.name, purpose.as_str(), system, user, &schema.to_string()];
        ids::content_hash(&parts)
    }

    /// Waits for a call slot, and reserves and settles the cost.
    async fn paid(&self, call: &Call<'_>, spend: &ItemSpend, until: Instant) -> Result<Value, LlmError> {
        spend.take(call.usd)?;
        let meter = AskMeter::default();
        meter.hurry(call.purpose.patience());
        let mut reservation = Reservation { spend, purpose: call.purpose, meter, usd: call.usd, is_settled: false };
        let answer = match self.slots.take(call.purpose.priority(), until).await {
            Some(_slot) => self.exchange(call, &reservation.meter, until).await,
            None => Err(AskError::Deadline.into()),
        };
        let usage = answer.as_ref().map_or_else(|_| Usage::default(), |(_, usage)| *usage);
        metrics::llm_tokens(call.purpose.as_str(), usage.read, usage.written);
        reservation.settle(usage);
        answer.map(|(body, _)| body)
    }

    /// Sends without the rejected fields, after the server's waits.
    async fn exchange(&self, call: &Call<'_>, meter: &AskMeter, until: Instant) -> Result<(Value, Usage), LlmError> {
        let mut form = Form {
            without_schema: self.without_schema.load(Ordering::Relaxed),
            without_sampling: self.without_sampling.load(Ordering::Relaxed),
        };
        let mut others = Form::ALL.to_vec();
        let mut give_up = None;
        loop {
            meter.worth(call.usd);
            let started = Instant::now();
            let outcome = self.send(call, form, meter, until).await;
            if !matches!(outcome, Err(AskError::Open { .. } | AskError::NoRecording(_))) {
                metrics::llm_call_took(call.purpose.as_str(), started.elapsed());
            }
            match outcome {
                Ok(CallOutcome::Answer(body, usage)) => return Ok((body, usage)),
                Ok(CallOutcome::Refused(Refusal::Field(field, detail))) => {
                    let next = form.without(field);
                    if next == form {
                        return Err(AskError::Refused { detail }.into());
                    }
                    tracing::info!(
                        model = self.model,
                        ?field,
                        detail,
                        "model server rejects a parameter; continuing without it"
                    );
                    form = next;
                    match field {
                        Field::Schema => self.without_schema.store(true, Ordering::Relaxed),
                        Field::Sampling => self.without_sampling.store(true, Ordering::Relaxed),
                    }
                }
                Ok(CallOutcome::Refused(Refusal::Declined(detail))) => return Err(LlmError::Declined { detail }),
                Ok(CallOutcome::Refused(Refusal::NoEndpoint(detail))) => {
                    self.has_no_search.store(true, Ordering::Relaxed);
                    return Err(no_search(&detail));
                }
                Ok(CallOutcome::Refused(Refusal::Failed(error))) => return Err(error.into()),
                // A recording's fields depend on earlier answers, so all forms are tried.
                Err(AskError::NoRecording(missing)) => {
                    others.retain(|other| *other != form);
                    form = others.pop().ok_or(AskError::NoRecording(missing))?;
                }
                Err(error) => {
                    let wait = match &error {
                        AskError::Throttled { retry_after: Some(wait) } => (*wait).max(PROBE_INTERVAL),
                        AskError::Open { .. } if give_up.is_some() => PROBE_INTERVAL,
                        _ => return Err(error.into()),
                    };
                    let give_up = *give_up.get_or_insert_with(|| Instant::now() + MAX_INLINE_RETRY_AFTER);
                    if Instant::now() + wait > give_up.min(until) {
                        return Err(error.into());
                    }
                    sleep(wait).await;
                }
            }
        }
    }

    /// Sends through the gate, for which only server failures are errors.
    async fn send(
        &self,
        call: &Call<'_>,
        form: Form,
        meter: &AskMeter,
        until: Instant,
    ) -> Result<CallOutcome, AskError> {
        let request = self.request(call.url, &(call.body)(form))?;
        let is_chat = *call.url == self.chat;
        let read = |response: &ApiResponse| match refusal(response, &self.model) {
            Some(Refusal::Failed(error)) => Err(error),
            Some(Refusal::NoEndpoint(detail)) if is_chat && matches!(response.status, 400 | 422) => {
                Err(AskError::Refused { detail })
            }
            Some(Refusal::NoEndpoint(detail)) if is_chat => Err(AskError::Disabled {
                detail: format!(
                    "nothing answers chat completions there: {detail}; check llm.base_url (LLM_BASE_URL), with its /v1"
                ),
            }),
            Some(refused) => {
                meter.worth(0.0);
                Ok(CallOutcome::Refused(refused))
            }
            None => {
                let (body, usage) = wire::body(response, call.read_tokens)?;
                meter.worth(self.prices.of(usage));
                Ok(CallOutcome::Answer(body, usage))
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

fn no_search(detail: &str) -> LlmError {
    LlmError::NoSearch { detail: detail.to_owned() }
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
