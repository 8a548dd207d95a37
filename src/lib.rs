//! corroborate checks claims in news items against published sources and returns verdicts with citations.
//!
//! An item arrives by queue, HTTP, file or command line. The pipeline extracts its claims, queries fact-checkers and
//! search providers, reads the pages, judges each passage, and stores a verdict with its evidence.
//!
//! # Steps of an item
//!
//! ```text
//!  queue ─► worker ─► pipeline::run
//!                     admit       idempotency, kind of work                       store
//!                     expand      pages that the item links to, if enabled        outbound, reading
//!                     normalise   language, clean text, embedding                 language, inference
//!                     claims      self-contained statements with their kind       language, inference
//!                     fact_check  published fact-checks                           providers, cache, store
//!                     corroborate other channels with the same story              store
//!                     queries     two to four short queries a claim               language
//!                     retrieve    stored evidence, then providers until enough    providers, cache
//!                     read        pages: stored, or fetched and parsed            outbound, reading, store
//!                     rank        the passages most relevant to the claim         inference, judging
//!                     judge       stance of each passage                          inference, judging
//!                     adjudicate  stance by a language model, if configured       inference
//!                     decide      verdict, tier, score, correction                judging
//!                     explain     reasons if nothing could be checked             judging, inference
//!                     context     lines for digests and prompts
//!                     commit      result, evidence, idempotency key and outbox in one transaction
//!  outbox ─► broker    results and one signal per claim
//! ```
//!
//! # Modules
//!
//! Modules are listed below from the top to the bottom layer. A module uses only those below it (`tests/it/tidy.rs` checks
//! this). `domain`, `language`, `reading` and `judging` are packages under `crates`, so that their tests build without the
//! database, the broker and the models. They have no I/O, no async and no clock. SQL is in `store` only, AMQP in `broker`,
//! HTTP clients in `outbound`, metrics in `telemetry`, the environment in `config`, printing in `cli`.
//!
//! # Guarantees
//!
//! 1. A verdict with a side has a stored, relevant passage or fact-check with that stance: the database rejects others.
//! 2. Syndicated copies are one source: independence is counted by group, not by URL.
//! 3. A source that could not be queried is a [`domain::Degradation`]. It never looks like an absence of reports.

// The command line: one file per command; the only module that prints.
pub mod cli;

// Builds the concrete parts, runs them, and stops them in order.
pub mod app;

// The API, its access rules, and the web UI.
pub mod http;

// The work loop: a permit, a delivery, a disposition; overload.
pub mod worker;

// The steps above, one file each.
pub mod pipeline;

// Thirteen providers, a folder each, behind one trait; `docs/providers.md` is generated from here.
pub mod providers;

// Model traits and the rule-based backends behind them.
pub mod inference;

// Evidence to assessment: stance, numbers, independence, features, verdicts. No I/O.
pub use corroborate_judging as judging;

// Bytes to article: charset, metadata, main text, boilerplate. No I/O.
pub use corroborate_reading as reading;

// Text to structure: sentences, names, numbers, dates, claims. No I/O.
pub use corroborate_language as language;

// Threads for parsing untrusted input.
pub mod parsing;

// Provider responses in memory and in the store, pages in memory; single flight for the fleet.
pub mod cache;

// The only HTTP client: rate limit, breaker, retry, byte caps, SSRF guard, robots.txt, replay.
pub mod outbound;

// The only SQL; also the embedded server and the queue as a table.
pub mod store;

// The queue interface and the only AMQP client.
pub mod broker;

// Supervised background tasks: one that ends unexpectedly ends the process.
pub mod supervisor;

// Metrics catalogue, logs, traces.
pub mod telemetry;

// Three configuration layers to one typed tree, or a list of all errors.
pub mod config;

// Types and rules that all modules share.
pub use corroborate_domain as domain;
