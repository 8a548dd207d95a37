//! Parses what model servers send: errors of three shapes, vectors, scores.
//!
//! Sends nothing.

use serde::Deserialize;
use serde_json::Value;

use crate::outbound::excerpt;

/// Characters. No model refuses a shorter input for its length.
const SENTENCE: usize = 200;

pub(super) fn first_chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// Counts the characters of a text or pair.
pub(super) fn chars(input: &Value) -> usize {
    match input {
        Value::String(text) => text.chars().count(),
        Value::Array(parts) => parts.iter().map(chars).sum(),
        _ => 0,
    }
}

/// Halves an input: a text, or the passage (first text) of a pair. False if it is too short to cut.
pub(super) fn shorten(input: &mut Value) -> bool {
    let text = match input {
        Value::String(text) => Some(text),
        Value::Array(parts) => match parts.first_mut() {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    let Some(text) = text else { return false };
    let length = text.chars().count();
    if length <= SENTENCE {
        return false;
    }
    *text = first_chars(text, length / 2).to_owned();
    true
}

/// Returns the message from `{"error": "…"}`, `{"error": {"message": "…"}}`, `{"message": "…"}` or plain text.
pub(super) fn error_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let message = parsed.as_ref().and_then(|value| {
        let error = value.get("error").unwrap_or(value);
        error.as_str().or_else(|| error.get("message")?.as_str())
    });
    excerpt(message.unwrap_or(&text))
}

/// Whether the error is about an input's length.
pub(super) fn concerns_length(message: &str) -> bool {
    let message = message.to_lowercase();
    ["must have less than", "context length", "maximum context", "too long", "too many tokens"]
        .iter()
        .any(|words| message.contains(words))
}

/// Whether the error is about the number of inputs.
pub(super) fn concerns_batch(message: &str) -> bool {
    message.to_lowercase().contains("batch size")
}

/// Returns the last number in an error: `batch size 64 > maximum allowed batch size 32`.
pub(super) fn last_number(message: &str) -> Option<usize> {
    message.split(|letter: char| !letter.is_ascii_digit()).rfind(|part| !part.is_empty())?.parse().ok()
}

/// A class or text with its score. Servers send null for NaN.
#[derive(Debug, Deserialize)]
pub(super) struct ScoredRow {
    pub(super) score: Option<f64>,
    #[serde(default)]
    pub(super) label: String,
    #[serde(default)]
    pub(super) index: Option<usize>,
}

pub(super) type Numbers = Vec<Option<f32>>;

/// An answer in the `OpenAI` format.
#[derive(Debug, Deserialize)]
pub(super) struct Embeddings {
    pub(super) data: Vec<EmbeddingRow>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddingRow {
    pub(super) index: usize,
    pub(super) embedding: Numbers,
}

/// Orders rows by index; each of `count` must occur once.
pub(super) fn by_index<T>(rows: Vec<(usize, T)>, count: usize) -> Result<Vec<T>, String> {
    let mut places: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for (index, row) in rows {
        let place = places.get_mut(index).ok_or_else(|| format!("row {index} of {count}"))?;
        if place.replace(row).is_some() {
            return Err(format!("row {index} twice"));
        }
    }
    let given = places.iter().flatten().count();
    places.into_iter().collect::<Option<Vec<T>>>().ok_or_else(|| format!("{given} of {count} rows"))
}

/// Scales to unit length; an error unless all numbers are finite.
pub(super) fn unit(numbers: &Numbers) -> Result<Vec<f32>, String> {
    let vector: Option<Vec<f32>> = numbers.iter().map(|number| number.filter(|number| number.is_finite())).collect();
    let mut vector = vector.ok_or_else(|| "a vector that holds no numbers (NaN or infinite)".to_owned())?;
    let length = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum::<f64>().sqrt();
    if length <= f64::from(f32::EPSILON) {
        return Err("a vector of length zero".to_owned());
    }
    for number in &mut vector {
        *number = (f64::from(*number) / length) as f32;
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_of_every_shape_give_their_words() {
        assert_eq!(error_text(br#"{"error":"Model is overloaded","error_type":"Overloaded"}"#), "Model is overloaded");
        assert_eq!(error_text(br#"{"error":{"message":"bad key","code":null}}"#), "bad key");
        assert_eq!(error_text(br#"{"message":"too long","code":422,"type":"Validation"}"#), "too long");
        assert_eq!(error_text(b"Failed to\n deserialize"), "Failed to deserialize");
        assert_eq!(error_text(b""), "");
        let batch = "batch size 64 > maximum allowed batch size 32";
        assert!(concerns_batch(batch) && last_number(batch) == Some(32) && !concerns_length(batch));
        assert!(concerns_length("Input validation error: `inputs` must have less than 512 tokens. Given: 700"));
        assert!(concerns_length("the input length exceeds the context length"));
        assert_eq!(last_number("none"), None);
    }

    #[test]
    fn rows_come_back_in_the_order_of_the_question() {
        assert_eq!(by_index(vec![(1, 'b'), (0, 'a')], 2), Ok(vec!['a', 'b']));
        assert!(by_index(vec![(0, 'a'), (0, 'b')], 2).is_err());
        assert!(by_index(vec![(2, 'a'), (0, 'b')], 2).is_err());
        assert!(by_index(vec![(0, 'a')], 2).unwrap_err().contains("1 of 2"));
    }

    #[test]
    fn a_vector_is_finite_and_of_unit_length_or_refused() {
        assert_eq!(unit(&vec![Some(3.0), Some(4.0)]), Ok(vec![0.6, 0.8]));
        for bad in [vec![Some(1.0), None], vec![Some(f32::INFINITY)], vec![Some(0.0), Some(0.0)], vec![]] {
            assert!(unit(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_long_passage_is_halved_and_a_claim_left_whole() {
        let mut pair = json!(["я".repeat(500), "c".repeat(500)]);
        assert!(shorten(&mut pair) && chars(&pair) == 750);
        assert!(shorten(&mut pair) && !shorten(&mut pair), "a sentence is not cut");
        let mut text = json!("b".repeat(300));
        assert!(shorten(&mut text) && chars(&text) == 150 && !shorten(&mut text));
        assert!(!shorten(&mut json!([1])) && first_chars("яблоко", 3) == "ябл");
    }
}
