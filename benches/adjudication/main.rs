//! What a language model beside the judge is worth, and what a bad one costs: labelled claims judged as the daemon judges
//! them, with a scripted model that knows people's stances and gives them right, wrong, lazily or against us.
//!
//! `cargo bench --bench adjudication` (a development build does as well: `--profile dev`). The model is an OpenAI-compatible
//! server on this machine, so that the whole way is gone: question, wire, reading, weighing, verdict. Its stances are people's
//! labels of `tests/data/news_claims.jsonl`, changed at random as often as a mode says; so it shows how the combination
//! handles errors that are independent of each other, and not how often a real model errs: `corroborate eval FILE --judge llm`
//! measures one.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "figures are this program's output")]

mod figures;
mod rows;
mod script;

use std::path::PathBuf;

use clap::Parser;
use corroborate::app;
use corroborate::config::{LoadOptions, load};
use corroborate::pipeline::given::judge_claim;

use figures::Figures;
use rows::Row;
use script::{Mode, Script};

/// Judges labelled claims with a scripted language model.
#[derive(Debug, Parser)]
struct Arguments {
    /// Claims with people's labels and a stance for each passage.
    #[arg(long, default_value = "tests/data/news_claims.jsonl")]
    data: PathBuf,
    /// Sets to take (`news_en`, `news_ru`, `news_uk`); all without it.
    #[arg(long)]
    set: Vec<String>,
    /// Modes to try: none, right:<share>, lazy, hostile, talkative, silent; all without it.
    #[arg(long)]
    mode: Vec<Mode>,
    /// Draws of each random mode; the figures are of all of them together.
    #[arg(long, default_value_t = 3)]
    draws: u64,
    /// How reliable the model is taken to be (`llm.reliability`); as configured without it.
    #[arg(long)]
    reliability: Option<f64>,
    /// Ignored: cargo gives it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let rows: Vec<Row> = rows::read(&arguments.data)?;
    let sets: Vec<String> = if arguments.set.is_empty() { rows::sets(&rows) } else { arguments.set.clone() };
    let modes = if arguments.mode.is_empty() { Mode::all() } else { arguments.mode.clone() };
    println!("{}", Figures::head());
    for mode in modes {
        let draws = if mode.is_random() { arguments.draws } else { 1 };
        for set in &sets {
            let mut figures = Figures::default();
            for draw in 0..draws {
                let rows: Vec<&Row> = rows.iter().filter(|row| row.set == *set).collect();
                figures.add(&judged(&rows, mode, draw, arguments.reliability).await?);
            }
            println!("{}", figures.line(&mode.to_string(), set));
        }
    }
    Ok(())
}

/// Every row judged with that model beside; parallel to the rows.
async fn judged(rows: &[&Row], mode: Mode, draw: u64, reliability: Option<f64>) -> anyhow::Result<Figures> {
    let script = Script::start(mode, draw).await?;
    let mut env: Vec<(String, String)> = Vec::new();
    if mode != Mode::None {
        env.push(("LLM_BASE_URL".to_owned(), script.base_url()));
        env.push(("LLM_MODEL".to_owned(), "scripted".to_owned()));
        env.push(("LLM_ADJUDICATE_ENABLED".to_owned(), "true".to_owned()));
        env.push(("LLM_RPM".to_owned(), "1000000".to_owned()));
    }
    if let Some(reliability) = reliability {
        env.push(("LLM_RELIABILITY".to_owned(), reliability.to_string()));
    }
    let config = load(LoadOptions { file: None, env })?.config;
    let services = app::judging(&config, None).await?;
    let mut figures = Figures::default();
    for row in rows {
        script.about(row);
        figures.count(&row.label, judge_claim(&services, &row.given).await?.as_ref());
    }
    Ok(figures)
}
