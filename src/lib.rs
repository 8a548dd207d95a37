//! corroborate: evidence beside the news.
//!
//! A news item comes in by queue, HTTP, file or command line. The pipeline takes its claims, asks fact-checkers and
//! search providers, reads the pages, judges what each passage says of each claim, and stores a verdict with all that
//! stands behind it. It gives confidence signals with their sources, never certificates of truth.
//!
//! # One item's way
//!
//! ```text
//!  queue ─► worker ─► pipeline::run
//!                     admit       done before? which phase?                    store
//!                     expand      pages it links to, where that is switched on    outbound, reading
//!                     normalise   language, clean text, vector                 language, inference
//!                     claims      self-contained statements with their kind    language, inference
//!                     fact_check  has somebody checked it?                     providers, cache, store
//!                     corroborate which other channels tell it?                store
//!                     queries     two to four short ones per claim             language
//!                     retrieve    own knowledge, then others until enough      providers, cache
//!                     read        pages: stored, or fetched safely and read    outbound, reading, store
//!                     rank        the passages most about the claim            inference, judging
//!                     judge       what does each passage say of it?            inference, judging
//!                     adjudicate  a language model's stance of each, where one is set  inference
//!                     decide      verdict, tier, score, correction             judging
//!                     explain     why nothing could be checked                    judging, inference
//!                     context     lines for digests and prompts
//!                     commit      result + evidence + idempotency key + outbox, one transaction
//!  outbox ─► broker    results and one signal per claim
//! ```
//!
//! # The house
//!
//! Modules stand below in reading order; a module uses only those below it (`tests/it/tidy` holds that). `domain`,
//! `language`, `reading` and `judging` are packages of their own under `crates`, so that their tests build without the
//! database, the broker and the models; they are pure: no I/O, no async, no clock. SQL lives in `store` alone, AMQP in `broker`, HTTP
//! clients in `outbound`, metrics in `telemetry`, the environment in `config`, printing in `cli`.
//!
//! # Three rules above every number
//!
//! 1. No decisive verdict without a stored, on-topic passage or fact-check of that stance: the database refuses it.
//! 2. Copies are one source: independence is counted by group, never by address.
//! 3. "We could not ask" is carried as [`domain::Degradation`] and never looks like "nobody reports it".

// The command line: one file per command, the only room that prints.
pub mod cli;

// Builds the concrete parts, runs them, stops them in order.
pub mod app;

// The API, its access rules, problem+json.
pub mod http;

// The loop: a permit, a delivery, a disposition; overload.
pub mod worker;

// The stages above, one file each.
pub mod pipeline;

// Thirteen providers, a folder each behind one trait; `docs/providers.md` is made from here.
pub mod providers;

// Model traits and the rule-based backends behind them.
pub mod inference;

// Evidence in, assessment out: stance, numbers, independence, features, verdicts. Pure.
pub use corroborate_judging as judging;

// Bytes in, article out: charset, metadata, main text, junk. Pure.
pub use corroborate_reading as reading;

// Text in, structure out: sentences, names, numbers, dates, claims. Pure.
pub use corroborate_language as language;

// Threads for parsing what strangers sent.
pub mod parsing;

// Answers in memory and in the store, pages in memory; one asker in the whole fleet.
pub mod cache;

// The only HTTP client: rate limit, breaker, retry, byte caps, SSRF guard, robots.txt, replay.
pub mod outbound;

// The only SQL; also the embedded server and the queue as a table.
pub mod store;

// The queue's seam and the only AMQP.
pub mod broker;

// Background tasks, watched: one that ends unasked ends the process.
pub mod supervisor;

// Metrics catalogue, logs, traces.
pub mod telemetry;

// Three layers in, one typed tree out, or a list of everything that is wrong.
pub mod config;

// Types and rules that every room shares.
pub use corroborate_domain as domain;
