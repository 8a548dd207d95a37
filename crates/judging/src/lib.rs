//! Judging: evidence in, assessment out. Pure: no I/O, no async, no clock, no model.
//!
//! `docs/scoring.md` defines the rules. Each is one function here, with a table test and a property test. A claim
//! passes through these modules:
//!
//! * Texts: [`profile`], [`credibility`], [`quality`], [`agreement`], [`kindred`] (Russian and Ukrainian),
//!   [`grounding`] (claims that a language model extracted).
//! * Passages: [`stance`], [`caps`], [`numbers`], `polarity`, `roles`, [`independence`], [`ratings`], [`fact_checks`],
//!   [`features`], [`sufficiency`], [`adjudication`].
//! * Verdict: [`decision`], [`verdicts`], [`citations`].
//! * Output: [`justification`], [`cited_text`], [`correction`], [`summaries`], [`vocabularies`], [`labels`].
//! * Measuring: [`evaluation`] and [`calibration`].
//!
//! All inputs are arguments; nothing here searches, fetches or stores. To add a rule, write a pure function in the file
//! of its subject. Add its constant with reason and source, a row in the table test, and a property.

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
pub mod kindred;
pub mod labels;
pub mod names;
pub mod numbers;
pub mod out_of_context;
pub mod plain;
mod polarity;
pub mod profile;
pub mod quality;
pub mod ratings;
pub mod relevance;
mod roles;
pub mod scoring;
pub mod stance;
pub mod sufficiency;
pub mod summaries;
pub mod verdicts;
pub mod vocabularies;

#[cfg(test)]
mod inflected;
#[cfg(test)]
mod measured;
#[cfg(test)]
mod needed;
#[doc(hidden)]
pub mod samples;
#[cfg(test)]
mod worked_examples;
