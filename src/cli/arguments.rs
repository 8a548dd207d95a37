//! The command line's shape and its help.

use std::path::PathBuf;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::judging::vocabularies::Vocabulary as Words;

pub(super) use actions::{
    DeadAction, DomainsAction, MessageSelection, ModelsAction, ProvidersAction, TokensAction, WebhooksAction,
};

mod actions;

/// Checks claims in news items against published sources and returns verdicts with citations.
#[derive(Debug, Parser)]
#[command(name = "corroborate", version, max_term_width = 110)]
#[command(
    after_help = "First steps:\n  corroborate demo                       38 recorded items through the whole pipeline, offline\n  corroborate check \"The Eiffel Tower is 330 metres tall\"\n  corroborate serve                      the daemon\n  corroborate doctor                     checks every dependency\n\nResults are signals with their sources, not certificates of truth.\nExit codes: 0 done, 1 failed, 2 usage, 78 configuration, 69 a required service is unavailable."
)]
pub struct Cli {
    /// Configuration file (TOML); its keys are described by `corroborate schema config`.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no progress and no hints.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon: workers, HTTP and jobs.
    #[command(
        after_help = "Examples:\n  corroborate serve\n  DATABASE_URL=postgres://… AMQP_URL=amqp://… corroborate serve\n  corroborate serve --no-http        only /healthz, /readyz and /metrics are served"
    )]
    Serve {
        /// Serve HTTP only; consume no queue.
        #[arg(long)]
        no_worker: bool,
        /// Serve only /healthz, /readyz and /metrics.
        #[arg(long)]
        no_http: bool,
        #[command(flatten)]
        exchanges: ExchangeArguments,
    },
    /// Open the web UI in a browser; start a daemon if none runs.
    #[command(
        after_help = "Examples:\n  corroborate ui\n  corroborate ui --demo              the recorded items of `corroborate demo`, offline\n  corroborate ui --no-open           print the address only\n\nThe web UI checks claims, lists stored items, and edits domain lists. Ctrl-C stops a daemon that this command started."
    )]
    Ui {
        /// Show the items of `corroborate demo`, with recorded responses; the demo runs first if needed.
        #[arg(long)]
        demo: bool,
        /// Open no browser.
        #[arg(long)]
        no_open: bool,
    },
    /// Run the whole pipeline on recorded items, offline, without keys or servers.
    #[command(
        after_help = "Examples:\n  corroborate demo\n  corroborate demo --full            every item with its passages\n\nResponses come from recordings in the program. The store is an embedded one of its own. A second run uses\nthe stored results of the first one."
    )]
    Demo {
        /// Print every item with all its evidence, not one of each kind.
        #[arg(long)]
        full: bool,
    },
    /// Check one claim and print its verdict with the evidence.
    #[command(
        after_help = "Examples:\n  corroborate check \"Water boils at 50 °C at sea level\"\n  corroborate check --record runs/ \"The Eiffel Tower is 330 metres tall\"\n  corroborate check --replay runs/ \"The Eiffel Tower is 330 metres tall\"\n  corroborate check --json --vocabulary rag \"Київ є столицею України\""
    )]
    Check {
        /// The claim, in a sentence.
        claim: String,
        /// Vocabulary of the verdict (docs/vocabularies.md).
        #[arg(long, value_enum, default_value_t = Vocabulary::Ours)]
        vocabulary: Vocabulary,
        /// ISO 639-1 code; detected when absent.
        #[arg(long)]
        language: Option<String>,
        /// Print all passages and numbers, not only the strongest.
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        exchanges: ExchangeArguments,
    },
    /// Enrich items from a file: NDJSON in, NDJSON out.
    #[command(
        after_help = "Examples:\n  corroborate enrich items.ndjson --out results.ndjson\n  cat items.ndjson | corroborate enrich - > results.ndjson\n\nEach result is written as soon as it is complete. A bad line is reported with its number; the others continue. If you\nrun it again with the same --out, finished items are skipped, and degraded results are repeated and replaced."
    )]
    Enrich {
        /// NDJSON file, or - for standard input.
        file: PathBuf,
        /// File for the results; standard output when absent.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        exchanges: ExchangeArguments,
    },
    /// Put items into the queue for a running daemon.
    #[command(
        after_help = "Example:\n  corroborate enqueue items.ndjson\n  corroborate enqueue - --queue factcheck < items.ndjson"
    )]
    Enqueue {
        /// NDJSON file, or - for standard input.
        file: PathBuf,
        /// Queue: the whole pipeline, or the fact-check lookup only.
        #[arg(long, value_enum, default_value_t = QueueChoice::Enrichment)]
        queue: QueueChoice,
    },
    /// Show the stored evidence of an item.
    #[command(after_help = "Example:\n  corroborate evidence tg:channel1:48211")]
    Evidence {
        /// The item's id as it was sent; `check --json` prints the id of a check.
        item_id: String,
    },
    /// Explain a verdict: the inputs of the decision, and the figures of each passage.
    #[command(
        after_help = "Examples:\n  corroborate why tg:channel1:48211\n  corroborate why clm_1f0c5a7e9b2d4c6f8a01\n\nReads the database only. docs/scoring.md defines the figures. `evidence` prints the texts of the passages."
    )]
    Why {
        /// An item's id, or one claim's as `evidence ITEM --json` prints it.
        id: String,
    },
    /// List and edit the allow and deny lists while the daemon runs.
    #[command(
        after_help = "Examples:\n  corroborate domains list\n  corroborate domains add suspilne.media --allow --why \"public broadcaster\"\n  corroborate domains remove spam.example"
    )]
    Domains {
        #[command(subcommand)]
        action: DomainsAction,
    },
    /// Show providers with their state and cost; close an open circuit breaker.
    #[command(
        after_help = "Examples:\n  corroborate providers\n  corroborate providers --json\n  corroborate providers reset brave        after a bill was paid or a key was repaired there"
    )]
    Providers {
        #[command(subcommand)]
        action: Option<ProvidersAction>,
    },
    /// Create, list and revoke API tokens.
    #[command(
        after_help = "Examples:\n  export ADMIN_TOKEN=$(corroborate tokens generate)\n  corroborate tokens add \"night desk\" --scope check --rate 60\n  corroborate tokens list\n  corroborate tokens revoke \"night desk\"\n\nTokens are valid if ADMIN_TOKEN is set. A token is shown once; only its digest is stored."
    )]
    Tokens {
        #[command(subcommand)]
        action: TokensAction,
    },
    /// List models and verify them.
    #[command(
        after_help = "Examples:\n  corroborate models\n  corroborate models verify\n\nModels for English, Russian and Ukrainian ship with the program. A folder in MODELS_DIR with an ONNX graph,\nits tokenizer.json and a model.toml is also a model."
    )]
    Models {
        #[command(subcommand)]
        action: Option<ModelsAction>,
    },
    /// List, show, requeue or delete dead letters.
    #[command(
        after_help = "Examples:\n  corroborate dead list\n  corroborate dead show ID\n  corroborate dead requeue --all\n  corroborate dead drop ID"
    )]
    Dead {
        #[command(subcommand)]
        action: DeadAction,
    },
    /// List webhooks and failed deliveries; send a test message.
    #[command(
        after_help = "Examples:\n  corroborate webhooks list\n  corroborate webhooks secret            a new key to sign with\n  corroborate webhooks test newsroom     post a signed message of the type ping now\n  corroborate webhooks retry --all"
    )]
    Webhooks {
        #[command(subcommand)]
        action: WebhooksAction,
    },
    /// Measure accuracy on a labelled file.
    #[command(
        after_help = "Examples:\n  corroborate eval pairs.jsonl\n  corroborate eval claims.jsonl --html report.html --predictions out.jsonl\n  corroborate eval claims.jsonl --decision decision.json\n\nEach line is a pair, {\"id\", \"claim\", \"evidence\": \"text\", \"label\": \"entail|neutral|contradict|not_entail\"},\nor a claim, {\"id\", \"claim\", \"claim_date\", \"evidence\": [{\"text\", \"url\", \"published_at\"}],\n\"label\": \"supported|refuted|contested|not_enough_evidence\"}. Nothing is fetched or stored.\nA claim may have \"english\", {\"claim\", \"evidence\": [\"text\"]}: a translation that replaces the translator.\nA claim may have a \"set\": sets have the same weight in a fitted decision model, and each is measured with a model\nfitted on the others. Macro-F1 is the mean over the labels of the file."
    )]
    Eval {
        /// The labelled rows, one JSON object a line.
        file: PathBuf,
        /// Write a page with the confusion matrix, the reliability diagram and the worst errors.
        #[arg(long, value_name = "OUT")]
        html: Option<PathBuf>,
        /// Judge: the agreement rule, the configured models, or the models with a language model (`LLM_BASE_URL`; one call a row).
        #[arg(long, value_enum, default_value_t = Judge::Model)]
        judge: Judge,
        /// Write one JSON line a row with the prediction and its probabilities.
        #[arg(long, value_name = "OUT")]
        predictions: Option<PathBuf>,
        /// Write calibration curves fitted on these claims, for `scoring.calibration`.
        #[arg(long, value_name = "OUT")]
        calibration: Option<PathBuf>,
        /// Write a decision model fitted on these claims, for `scoring.decision`.
        #[arg(long, value_name = "OUT")]
        decision: Option<PathBuf>,
    },
    /// Re-evaluate stored items with the current settings and lists, from the database only.
    #[command(
        after_help = "Examples:\n  corroborate rescore --dry-run\n  corroborate rescore --since 2026-11-01\n\nNo provider, page or model is used: stored passages keep their stances. Credibility, quality, verdict, confidence,\ntier, score, justification and correction are computed again, and passages of denied domains are left out. With\nunchanged settings nothing changes. If a verdict changes, a running daemon sends claim.changed and item.updated to\nthe results exchange and the webhooks; --dry-run sends nothing."
    )]
    Rescore {
        /// Only items judged since then: a date (2026-11-01) or a time (2026-11-01T08:00:00Z), UTC.
        #[arg(long, value_name = "DATE", value_parser = moment)]
        since: Option<DateTime<Utc>>,
        /// Print the changes without applying them.
        #[arg(long)]
        dry_run: bool,
    },
    /// Queue stored items for a full re-evaluation with providers, pages and models.
    #[command(
        after_help = "Examples:\n  corroborate rejudge --since 2026-11-01\n\nA running daemon re-evaluates the items while no new item waits, at most rejudge.asked_per_hour an hour. If a provider or\nthe language model costs money, it spends at most rejudge.monthly_share of the monthly cap, by default nothing. If a\nverdict changes, it sends claim.changed and item.updated."
    )]
    Rejudge {
        /// Only items judged since then: a date (2026-11-01) or a time (2026-11-01T08:00:00Z), UTC.
        #[arg(long, value_name = "DATE", value_parser = moment)]
        since: Option<DateTime<Utc>>,
    },
    /// Delete expired rows (the daemon does it daily).
    #[command(after_help = "Example:\n  corroborate cleanup --dry-run")]
    Cleanup {
        /// Count only.
        #[arg(long)]
        dry_run: bool,
    },
    /// Migrate the database schema to this version.
    #[command(after_help = "Example:\n  DATABASE_URL=postgres://… corroborate migrate")]
    Migrate,
    /// Check or show the configuration.
    #[command(
        after_help = "Examples:\n  corroborate config check\n  corroborate --config my.toml config check --json\n  corroborate config show"
    )]
    Config {
        #[command(subcommand)]
        action: ConfigAction,
    },
    /// Print a JSON Schema.
    #[command(after_help = "Example:\n  corroborate schema item > item.schema.json")]
    Schema {
        /// Which schema to print.
        #[arg(value_enum)]
        what: SchemaChoice,
    },
    /// Check every dependency and report what is missing.
    ///
    /// One request each: the store, the queue, the models, the translator and every provider.
    #[command(after_help = "Example:\n  corroborate doctor\n  corroborate doctor --offline")]
    Doctor {
        /// Contact no provider, translator or model server.
        #[arg(long)]
        offline: bool,
        /// Also send one real query to each paid provider. By default only their reachability is checked, not the key.
        #[arg(long, conflicts_with = "offline")]
        paid: bool,
    },
    /// Print the licences of the program and of the models, dictionaries, lists and texts in it.
    #[command(
        after_help = "Examples:\n  corroborate licenses           the data in the program: origin, licence, attribution, where it ships\n  corroborate licenses --json    the same as JSON, with the third-party crates\n  corroborate licenses --full    with the third-party crates and every licence text\n\nThe file NOTICE of the source has the same content."
    )]
    Licenses {
        /// Print the licence texts and the third-party crates too.
        #[arg(long)]
        full: bool,
    },
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  corroborate completions bash > /etc/bash_completion.d/corroborate")]
    Completions {
        /// Shell to generate completions for.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// Recording and replay of requests to providers and pages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct ExchangeArguments {
    /// Store every request and response of providers and pages in this folder, without keys. Caches and stored evidence are
    /// not used.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Also record responses of providers whose terms forbid storing them (Brave); for your own use.
    #[arg(long, requires = "record")]
    pub record_transient: bool,
    /// Use the recordings in this folder, offline, with the clock of the recording. The database is ephemeral: a temporary
    /// folder, or with `DATABASE_URL` a schema of its own. A missing recording degrades the result.
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,
}

/// Judge of labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Judge {
    /// The agreement rule only.
    Rules,
    /// The configured models.
    Model,
    /// The configured models with a language model; for pairs, the language model only.
    Llm,
}

/// An action on the configuration.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigAction {
    /// Validate the configuration and print its errors.
    Check,
    /// Print every key with its value and origin, without secrets.
    Show,
    /// Print the prompts of the language model with names and versions.
    Prompts,
}

/// A JSON Schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SchemaChoice {
    /// An item that upstream sends.
    Item,
    /// A result that the daemon publishes.
    Result,
    /// The configuration file.
    Config,
}

/// A queue.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum QueueChoice {
    /// The whole pipeline, with priority.
    Important,
    /// The whole pipeline.
    Enrichment,
    /// The fact-check lookup only.
    Factcheck,
}

/// Words for verdicts.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Vocabulary {
    /// `supported`, `refuted`, `contested`, `misleading`, `outdated`, `not_enough_evidence`, `not_verifiable`
    Ours,
    /// Supported, Refuted, Contested, Not enough evidence
    Module,
    /// VERIFIED, CONTRADICTED, OUTDATED, PARTIAL, UNVERIFIABLE
    Loop,
    /// Verdadeiro, Falso, Fora de Contexto, …
    Pipeline,
    /// True, False, Partially True, Misleading, …
    Rag,
}

impl From<Vocabulary> for Words {
    fn from(choice: Vocabulary) -> Self {
        match choice {
            Vocabulary::Ours => Self::Ours,
            Vocabulary::Module => Self::Module,
            Vocabulary::Loop => Self::Loop,
            Vocabulary::Pipeline => Self::Pipeline,
            Vocabulary::Rag => Self::Rag,
        }
    }
}

/// Parses a time, or a day, which begins at midnight UTC.
pub(super) fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let text = text.trim();
    let moment = DateTime::parse_from_rfc3339(text).map(|moment| moment.to_utc());
    let day = || text.parse::<NaiveDate>().map(|day| day.and_time(NaiveTime::MIN).and_utc());
    let problem = format!("{text:?} is no date; write it as 2026-11-20 or 2026-11-20T08:00:00Z");
    moment.or_else(|_no_moment| day()).map_err(|_no_day| problem)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_argument_teaches_by_help() {
        fn teaches(command: &clap::Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} has no help");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} of {name} has no help", argument.get_id());
            }
            command.get_subcommands().for_each(teaches);
        }
        teaches(&Cli::command());
    }

    /// Returns the error of a wrong call.
    fn refused(arguments: &[&str]) -> String {
        Cli::try_parse_from(["corroborate"].iter().chain(arguments)).unwrap_err().to_string()
    }

    #[test]
    fn a_choice_that_is_missing_is_named_whole() {
        let text = refused(&["domains", "add", "a.example"]);
        assert!(text.contains("--allow") && text.contains("--deny"), "{text}");
        for verb in ["requeue", "drop"] {
            let text = refused(&["dead", verb]);
            assert!(text.contains("IDS") && text.contains("--all"), "{text}");
            refused(&["dead", verb, "7", "--all"]);
            for good in [&["7", "8"][..], &["--all"]] {
                assert!(Cli::try_parse_from(["corroborate", "dead", verb].iter().chain(good)).is_ok(), "{good:?}");
            }
        }
    }

    #[test]
    fn a_rule_is_allowed_or_denied_not_both_and_not_neither() {
        let parse =
            |more: &[&str]| Cli::try_parse_from(["corroborate", "domains", "add", "a.example"].iter().chain(more));
        assert!(parse(&["--allow"]).is_ok());
        assert!(parse(&["--allow", "--deny"]).is_err());
        assert!(parse(&[]).is_err());
    }

    #[test]
    fn a_day_is_its_midnight_and_a_moment_has_its_zone() {
        let read = |text: &str| moment(text).map(|moment| moment.to_rfc3339());
        assert_eq!(read("2020-05-01").unwrap(), "2020-05-01T00:00:00+00:00");
        assert_eq!(read(" 2020-05-02T03:04:05+02:00 ").unwrap(), "2020-05-02T01:04:05+00:00");
        assert!(read("May").unwrap_err().contains("no date"));
    }
}
