//! A model at a server: how a question goes out, and what an answer costs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use super::form::{Form, Manners};
use super::places::Places;
use super::prices::{Prices, Usage, tokens};
use super::refusal::{Refusal, refusal};
use super::reply::{self, Read};
use super::{Answer, ItemSpend, LlmError, Purpose, Question, SearchAnswer, Spent, Until, Uses, responses};
use crate::cache::{self, AnswerCache};
use crate::config::ApiKey;
use crate::domain::ids;
use crate::outbound::{ApiRequest, ApiResponse, AskError, AskMeter, Asker, Gate, GateStatus, excerpt, header};
use crate::telemetry::metrics;

/// The longest wait that a server may name and a question sits out; longer ones end it.
const LONGEST_SAT_OUT: Duration = Duration::from_secs(10);
/// Between two looks whether the server may be asked again: while another question tries, nobody knows when.
const LOOK: Duration = Duration::from_millis(250);
/// The name its answers are kept under.
const PROVIDER: &str = "llm";

/// What a model is made of.
#[derive(Debug)]
pub struct ModelSettings<'a> {
    /// `/v1` included.
    pub base: &'a Url,
    pub key: Option<ApiKey>,
    pub model: &'a str,
    pub uses: Uses,
    pub prices: Prices,
    /// Tokens an answer may have, where its question does not need more: a model that thinks aloud uses them for that.
    pub max_tokens: u32,
    /// Calls at the same time.
    pub concurrency: usize,
}

/// A model at a server. Share it, do not build two.
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
    places: Places,
    manners: Manners,
    /// The server said that it has no Responses API, or no search in it.
    has_no_search: AtomicBool,
    answers: AnswerCache<Value>,
}

/// Makes sense of an answer's body.
type Reading<'a, T> = dyn Fn(&Value, &ApiResponse) -> Result<Read<T>, AskError> + Sync + 'a;

/// What one question goes out as, and how its answer is read.
struct Exchange<'a, T> {
    question: &'a Question,
    url: &'a Url,
    body: &'a (dyn Fn(Form) -> Value + Sync),
    read: &'a Reading<'a, T>,
    /// US dollars it may cost, as far as is known before.
    estimate: f64,
}

/// What the gate brings back: all of these are a server that is well.
enum Heard<T> {
    Read(Read<T>),
    Refused(Refusal),
}

/// What an item's means were taken for. Where the question is given up before its answer came, what went out is settled and
/// counted all the same.
struct Taken<'a> {
    spend: &'a ItemSpend,
    purpose: Purpose,
    meter: &'a AskMeter,
    estimate: f64,
    is_settled: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            let really = Spent { calls: self.meter.attempts(), usd: self.meter.usd(), ..Spent::default() };
            self.spend.settle(self.estimate, really);
            if really.calls > 0 {
                metrics::llm_call(self.purpose.as_str(), "dropped");
            }
        }
    }
}

impl LanguageModel {
    /// `answers` are those of this model, and others' under other names.
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
            places: Places::new(concurrency),
            manners: Manners::default(),
            has_no_search: AtomicBool::new(false),
            answers,
        }
    }

    /// As results name a judge: `llm:<model>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the operator switched that use on.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.uses.has(purpose)
    }

    /// The longest one call may take.
    pub fn patience(&self) -> Duration {
        self.gate.timeout()
    }

    /// How its server stands with us, as every provider's does.
    pub fn status(&self) -> GateStatus {
        self.gate.status()
    }

    /// Whether a question costs anything, as far as the operator said.
    pub fn is_paid(&self) -> bool {
        self.key.is_some() || self.prices.any()
    }

    /// Asks, within the item's means and before `until`. The answer's value is an object. The same question is asked once:
    /// its answer is kept, in the whole fleet, and an error never.
    pub async fn ask(&self, question: &Question, spend: &ItemSpend, until: Until) -> Result<Answer, LlmError> {
        self.ask_believing(question, spend, until, &|_| true).await
    }

    /// The same for whoever can tell an answer that is not to be believed: it is not kept, and counted as what it is.
    pub async fn ask_believing(
        &self,
        question: &Question,
        spend: &ItemSpend,
        until: Until,
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
            let told = self.paid(&exchange, spend, until).await;
            match &told {
                Ok(value) | Err(LlmError::Part(value)) if !is_believed(value) => {
                    Err(LlmError::Unsupported { detail: excerpt(&value.to_string()) })
                }
                _ => told,
            }
        };
        // On the heap: whoever asks waits in a stage of many others.
        match Box::pin(self.known_or(question, until, asking)).await {
            Ok((value, cached)) => Ok(Answer { value, cached, is_part: false }),
            Err(LlmError::Part(value)) => Ok(Answer { value, cached: false, is_part: true }),
            Err(error) => Err(error),
        }
    }

    /// Asks the model to search the web for that claim.
    pub async fn search(&self, question: &Question, spend: &ItemSpend, until: Until) -> Result<SearchAnswer, LlmError> {
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

    /// Asks for one token: whether the server can be reached, takes the key and knows the model.
    pub async fn probe(&self, until: Until) -> Result<(), LlmError> {
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
                Some(_) => Ok(Read { outcome: Ok(()), usage: reply::usage(body, 1, "") }),
                None => Err(AskError::Malformed { detail: "it has no choices".to_owned() }),
            },
            estimate: self.prices.estimate(Purpose::Explain, 1, 1),
        };
        match self.exchange(&exchange, &AskMeter::default(), until).await.and_then(|read| read.outcome) {
            // It would have said more, and was not let.
            Ok(()) | Err(LlmError::Cut) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The answer that is known to this question, or the one that `ask` gives; and whether it was known.
    async fn known_or<A>(
        &self,
        question: &Question,
        until: Until,
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
        let told = self.answers.get_or_ask(&wish, ask).await;
        let told = told.map(|(value, result)| (Value::clone(&value), result.spared()));
        let outcome = match &told {
            Ok((_, true)) => "cached",
            Ok((_, false)) => "ok",
            Err(error) => error.outcome(),
        };
        metrics::llm_call(question.purpose.as_str(), outcome);
        told
    }

    /// All that an answer hangs on. The limit of tokens is no part of it: an answer that was cut is not kept.
    fn key_of(&self, question: &Question) -> String {
        let Question { purpose, version, system, user, schema, .. } = question;
        let parts = [&self.name, purpose.as_str(), &version.to_string(), system, user, &schema.to_string()];
        ids::content_hash(&parts)
    }

    /// One question at its turn, reserved from the item's means before and settled after.
    async fn paid<T: Send>(&self, exchange: &Exchange<'_, T>, spend: &ItemSpend, until: Until) -> Result<T, LlmError> {
        spend.take(exchange.estimate)?;
        let purpose = exchange.question.purpose;
        let meter = AskMeter::paid_from(spend.purse());
        meter.hurry(purpose.patience());
        let mut taken = Taken { spend, purpose, meter: &meter, estimate: exchange.estimate, is_settled: false };
        let read = match self.places.take(purpose.priority(), until).await {
            Some(_place) => self.exchange(exchange, &meter, until).await,
            None => Err(LlmError::Ask(AskError::Deadline)),
        };
        let Usage { read: tokens_read, written: tokens_written, .. } =
            read.as_ref().map_or_else(|_| Usage::default(), |read| read.usage);
        metrics::llm_tokens(purpose.as_str(), tokens_read, tokens_written);
        taken.is_settled = true;
        let really = Spent { calls: meter.attempts(), tokens_read, tokens_written, usd: meter.usd() };
        spend.settle(exchange.estimate, really);
        read?.outcome
    }

    /// One answer, in the form that the server takes, and after the waits that it asks for.
    async fn exchange<T: Send>(
        &self,
        exchange: &Exchange<'_, T>,
        meter: &AskMeter,
        until: Until,
    ) -> Result<Read<T>, LlmError> {
        let mut form = self.manners.form();
        let mut others: Vec<Form> = Form::all().collect();
        let mut throttled = None;
        loop {
            meter.worth(exchange.estimate);
            let started = Instant::now();
            let heard = self.send(exchange, form, meter, until).await;
            if !matches!(heard, Err(AskError::Open { .. } | AskError::NoRecording(_))) {
                metrics::llm_call_took(exchange.question.purpose.as_str(), started.elapsed());
            }
            match heard {
                Ok(Heard::Read(read)) => return Ok(read),
                Ok(Heard::Refused(Refusal::Parameter(parameter, words))) => {
                    let Some(next) = form.without(parameter) else {
                        return Err(AskError::Refused { detail: words }.into());
                    };
                    tracing::info!(
                        model = self.model,
                        ?parameter,
                        words,
                        "the server does not take this; it is asked without"
                    );
                    self.manners.remember(next);
                    form = next;
                }
                Ok(Heard::Refused(Refusal::Declined(detail))) => return Err(LlmError::Declined { detail }),
                Ok(Heard::Refused(Refusal::Cut)) => return Err(LlmError::Cut),
                Ok(Heard::Refused(Refusal::NoSuchPlace(words))) => {
                    self.has_no_search.store(true, Ordering::Relaxed);
                    return Err(no_search(&words));
                }
                Ok(Heard::Refused(Refusal::Failed(error))) => return Err(error.into()),
                // Which form a recorded question had hangs on what was known by then.
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

    /// When a question that was told to wait tries again; `None` where that is too long.
    fn again(error: &AskError, since: Instant) -> Option<Instant> {
        let wait = match error {
            AskError::Throttled { retry_after } => (*retry_after)?,
            _ => LOOK,
        };
        let again = Instant::now() + wait.max(LOOK);
        (again <= since + LONGEST_SAT_OUT).then_some(again)
    }

    /// Through the gate: only what says something of the server is an error to it.
    async fn send<T: Send>(
        &self,
        exchange: &Exchange<'_, T>,
        form: Form,
        meter: &AskMeter,
        until: Until,
    ) -> Result<Heard<T>, AskError> {
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
                Ok(Heard::Refused(refused))
            }
            None => {
                let read = (exchange.read)(&reply::body(response)?, response)?;
                meter.worth(self.prices.of(read.usage));
                Ok(Heard::Read(read))
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

/// A model's name as a part of a judge's: `+` stands between parts, and no part has blanks.
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
