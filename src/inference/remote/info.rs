//! The `/info` of a text-embeddings-inference server.
//!
//! Reads only the fields used here.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Info {
    pub(super) model: String,
    pub(super) kind: Kind,
    /// Texts or pairs per request.
    pub(super) max_batch: usize,
    /// Tokens per input.
    pub(super) max_tokens: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Embedding,
    Reranker,
    Classifier { id2label: BTreeMap<String, String> },
}

/// The fields of `/info`. Other fields change between server versions.
#[derive(Debug, Deserialize)]
struct InfoWire {
    model_id: String,
    model_type: ModelType,
    max_client_batch_size: Option<usize>,
    max_input_length: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModelType {
    Embedding(serde::de::IgnoredAny),
    Reranker(serde::de::IgnoredAny),
    Classifier(Classes),
}

#[derive(Debug, Deserialize)]
struct Classes {
    id2label: BTreeMap<String, String>,
}

/// The server's default.
const DEFAULT_BATCH: usize = 32;
/// The input length of most encoders.
const DEFAULT_TOKENS: usize = 512;

/// Reads `/info`; `None` if the server is not text-embeddings-inference.
pub(super) fn read(body: &[u8]) -> Option<Info> {
    let wire: InfoWire = serde_json::from_slice(body).ok()?;
    let kind = match wire.model_type {
        ModelType::Embedding(_) => Kind::Embedding,
        ModelType::Reranker(_) => Kind::Reranker,
        ModelType::Classifier(classes) => Kind::Classifier { id2label: classes.id2label },
    };
    Some(Info {
        model: wire.model_id,
        kind,
        max_batch: wire.max_client_batch_size.filter(|size| *size > 0).unwrap_or(DEFAULT_BATCH),
        max_tokens: wire.max_input_length.filter(|length| *length > 0).unwrap_or(DEFAULT_TOKENS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_of_every_kind_is_read_and_of_others_is_not() {
        let embedder = read(br#"{"model_id":"a/b","model_sha":null,"model_dtype":"float16","model_type":{"embedding":{"pooling":"mean"}},"max_concurrent_requests":512,"max_input_length":384,"max_batch_tokens":16384,"max_client_batch_size":8,"auto_truncate":true,"version":"1.9.3"}"#);
        assert_eq!(embedder, Some(Info { model: "a/b".into(), kind: Kind::Embedding, max_batch: 8, max_tokens: 384 }));
        let reranker = read(
            br#"{"model_id":"a/b","model_type":{"reranker":{"id2label":{"0":"LABEL_0"},"label2id":{"LABEL_0":0}}}}"#,
        )
        .unwrap();
        assert_eq!((reranker.kind, reranker.max_batch, reranker.max_tokens), (Kind::Reranker, 32, 512));
        let classifier = read(br#"{"model_id":"a/b","model_type":{"classifier":{"id2label":{"0":"entailment"},"label2id":{"entailment":0}}}}"#).unwrap();
        assert_eq!(classifier.kind, Kind::Classifier { id2label: [("0".to_owned(), "entailment".to_owned())].into() });
        for other in [&b"<html>"[..], b"{}", br#"{"model_id":"a","model_type":{"poet":{}}}"#, br#"{"status":"ok"}"#] {
            assert_eq!(read(other), None);
        }
    }
}
