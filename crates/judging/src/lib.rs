//! Judging: evidence in, assessment out. Pure: no I/O, no async, no clock, no model.
//!
//! `docs/scoring.md` defines the rules. From passage to verdict, each step is one file or folder:
//!
//! 1. [`profile`] analyses claim and passage: words, names, figures, dates, denials.
//! 2. [`coverage`] and [`agreement`] compare their words, names and meaning.
//! 3. The NLI model's probabilities come from outside. [`stance`] replaces them for languages that it does not read.
//! 4. [`caps`] limits them for another time; [`numbers`] compares figures and dates; [`adjudication`] adds a language
//!    model's stance.
//! 5. [`independence`] groups copies. [`credibility`], [`quality`] and [`out_of_context`] rate sources and passages.
//! 6. [`features`] and [`decision`] turn the groups into a posterior; [`fact_checks`] (with [`ratings`]) goes before it.
//! 7. [`verdicts`] states verdict, notes, score and tier; [`citations`] chooses the cited passages.
//!
//! Around it: [`sufficiency`] decides whether stored evidence is enough, [`grounding`] and [`cited_text`] check texts of a
//! language model, [`justification`], [`correction`], [`summaries`], [`explanations`], [`labels`] and [`vocabularies`]
//! write for readers, [`evaluation`] and [`calibration`] measure.
//!
//! All inputs are arguments; nothing here searches, fetches or stores. To add a rule, write a pure function in the file
//! of its subject, measure it on a set that it was not written for, and add a row to the table test, and a property.

pub mod adjudication;
pub mod agreement;
pub mod calibration;
pub mod caps;
pub mod citations;
pub mod cited_text;
pub mod correction;
pub mod coverage;
pub mod credibility;
pub mod decision;
pub mod evaluation;
pub mod explanations;
pub mod fact_checks;
pub mod features;
pub mod grounding;
pub mod independence;
pub mod justification;
pub mod labels;
pub mod names;
pub mod numbers;
pub mod out_of_context;
pub mod plain;
pub mod profile;
pub mod quality;
pub mod ratings;
mod roles;
pub mod scoring;
pub mod stance;
pub mod sufficiency;
pub mod summaries;
pub mod verdicts;
pub mod vocabularies;

#[doc(hidden)]
pub mod samples;
#[cfg(test)]
mod test_data;
#[cfg(test)]
mod test_worked_examples;
