//! Judging: evidence in, assessment out. Pure: no I/O, no async, no clock, no model.
//!
//! The law is `docs/scoring.md`: each of its rules is one function here, with a table test and a property test. Files in the
//! order a claim meets them: [`profile`] (a text analysed once), [`credibility`], [`quality`], [`agreement`],
//! [`kindred`] (Russian and Ukrainian), [`grounding`] (of claims that a language model took from a text), [`numbers`],
//! [`stance`], [`independence`], [`ratings`], [`fact_checks`], [`features`], [`sufficiency`], [`adjudication`],
//! [`decision`], [`verdicts`], [`citations`], [`justification`], [`cited_text`], [`correction`], [`summaries`],
//! [`vocabularies`], [`labels`]; and [`evaluation`] and [`calibration`], which hold predictions against
//! labels.
//!
//! Nothing here searches, fetches, stores or asks what time it is; what a rule needs is an argument. To add a rule: a
//! pure function in the file of its subject, its constant with the reason and the source beside it, a row in that
//! file's table test, and a property it must never break.

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
pub mod profile;
pub mod quality;
pub mod ratings;
pub mod relations;
pub mod relevance;
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
