//! A language model as a translator.
//!
//! It keeps its own gate, prices and cache. The answers pass the same checks.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Translation, Translator, faithful, is_written_as};
use crate::inference::llm::fence::Fence;
use crate::inference::llm::{ItemSpend, LanguageModel, LlmError, Purpose, Question, prompts};
use crate::language::detect;
use crate::outbound::AskError;

/// Answer tokens for a query or a part of a passage.
const MAX_TOKENS: u32 = 400;

#[derive(Debug)]
pub(super) struct LanguageModelTranslator {
    model: Arc<LanguageModel>,
}

impl LanguageModelTranslator {
    pub(super) const fn new(model: Arc<LanguageModel>) -> Self {
        Self { model }
    }
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
            let Some(question) = question(text, into) else { return Translation::nothing(0) };
            // The caller limits an item's translations, and the cap limits the month.
            let spend = ItemSpend::new(u32::MAX, f64::MAX);
            let believed = |answer: &Value| translation(text, into, answer).is_some();
            let answer = self.model.ask_believing(&question, &spend, until, &believed).await;
            let spent = spend.spent();
            Translation {
                outcome: match answer {
                    Ok(answer) => Ok(translation(text, into, &answer.value)),
                    Err(LlmError::Ask(error)) => Err(error),
                    Err(
                        LlmError::Declined { .. }
                        | LlmError::Cut
                        | LlmError::Part(_)
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
pub(in crate::inference) fn question(text: &str, into: &str) -> Option<Question> {
    let prompt = prompts::named("translate")?;
    let fence = Fence::around([text]);
    let language = format!("{} ({into})", detect::english_name(Some(into)));
    Some(Question {
        purpose: Purpose::Translate,
        version: prompt.version,
        system: prompt.text.replace("{nonce}", fence.nonce()).replace("{language}", &language),
        user: fence.data("text", text, usize::MAX),
        schema: json!({
            "type": "object", "additionalProperties": false, "required": ["translation"],
            "properties": {"translation": {"type": "string"}},
        }),
        max_tokens: MAX_TOKENS,
    })
}

/// Returns the answer if it can be a translation.
fn translation(text: &str, into: &str, answer: &Value) -> Option<String> {
    let output = answer.get("translation").and_then(Value::as_str)?;
    faithful(text, output).filter(|output| is_written_as(into, output))
}
