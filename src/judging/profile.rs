//! A text with everything the judges look at taken from it once.

/// A claim or a passage, analysed. Cheap to share; never changed after it is built.
#[derive(Debug, Clone, Default)]
pub struct TextProfile {
    /// The text as it stands.
    pub text: String,
    /// ISO 639-1, where known.
    pub language: Option<String>,
    /// Unit-length embedding; empty until the embedder has run.
    pub embedding: Vec<f32>,
}
