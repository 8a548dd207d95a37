//! What can be done with lists, providers, tokens, models and dead letters: the second word of their commands.

use clap::{ArgGroup, Args, Subcommand};

/// What to do with the lists.
#[derive(Debug, Subcommand)]
pub enum DomainsAction {
    /// List the rules.
    List,
    /// Add or change a rule; every process takes it over within seconds.
    #[command(
        group(ArgGroup::new("list").required(true).args(["allow", "deny"])),
        after_help = "Examples:\n  corroborate domains add suspilne.media --allow --why \"public broadcaster\"\n  corroborate domains add spam.example --deny --dry-run\n\nWhere the domain stays on its list, what is not given stays as it is."
    )]
    Add {
        /// example.org covers every host below it; *.gov only what is below gov.
        domain: String,
        /// Trusted: searched first, credibility at least 0.7.
        #[arg(long)]
        allow: bool,
        /// Never fetched, never evidence.
        #[arg(long)]
        deny: bool,
        /// How far it is believed, 0 to 1; an allowed domain has at least 0.7.
        #[arg(long)]
        credibility: Option<f64>,
        /// `news`, `fact_checker`, `government`, `academic`, `reference`, `social`, `satire`, `blog` or `link_farm`.
        #[arg(long)]
        source_type: Option<String>,
        /// The reason, for the record of changes.
        #[arg(long)]
        why: Option<String>,
        /// Say what would change, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a rule; every process takes it over within seconds.
    #[command(
        after_help = "Examples:\n  corroborate domains remove spam.example --dry-run\n  corroborate domains remove spam.example --why \"it was sold\""
    )]
    Remove {
        /// As `domains list` shows it.
        domain: String,
        /// The reason, for the record of changes.
        #[arg(long)]
        why: Option<String>,
        /// Say what would change, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// What to do with the providers.
#[derive(Debug, Subcommand)]
pub enum ProvidersAction {
    /// List them (as without a word).
    List,
    /// Ask a paused provider again, in every process.
    #[command(
        after_help = "Example:\n  corroborate providers reset brave\n\nLimits of the configuration stay: a daily limit ends with the day."
    )]
    Reset {
        /// As `providers` shows it.
        name: String,
    },
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokensAction {
    /// Print a random token of 256 bits for the server itself; nothing is stored.
    #[command(
        after_help = "Examples:\n  export ADMIN_TOKEN=$(corroborate tokens generate)\n  corroborate tokens generate > /run/secrets/admin_token      then ADMIN_TOKEN_FILE=/run/secrets/admin_token\n\nFor ADMIN_TOKEN, and another one for http.read_token (CORROBORATE_HTTP_READ_TOKEN). Each may also be given as a file,\nby ADMIN_TOKEN_FILE and CORROBORATE_HTTP_READ_TOKEN_FILE. `tokens add` makes tokens for single people and programs."
    )]
    Generate,
    /// Those that were given out, the valid ones first.
    List,
    /// Make a token; it is printed once.
    Add {
        /// Who or what it is for.
        name: String,
        /// read: look at what is stored; check: have claims checked, too; admin: everything.
        #[arg(long, default_value = "read", value_parser = ["read", "check", "admin"])]
        scope: String,
        /// Requests a minute; as often as any client when absent.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        rate: Option<u32>,
        /// Days after which it ends by itself.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
    },
    /// End a token, and every session that began with it.
    Revoke {
        /// As `tokens list` shows it.
        name: String,
    },
}

/// What to do with the models.
#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// List those that ship, those in `MODELS_DIR` and those on servers, and say which are in use (as without a word).
    List,
    /// Check that files are there and unchanged, that models load, and that they answer.
    #[command(
        after_help = "Examples:\n  corroborate models verify\n  corroborate models verify multilingual-e5-small\n\nEach is asked about labelled pairs in the languages it reads: 100 in each of English, Russian and Ukrainian.\nEnds with 1 when one of them cannot be used, or is right on too few of them (WEAK)."
    )]
    Verify {
        /// Names as `models list` shows them; all when absent.
        names: Vec<String>,
    },
    /// Fetch a named set of models from a hub into `MODELS_DIR`.
    #[command(
        after_help = "Examples:\n  corroborate models pull                          the sets there are\n  corroborate models pull multilingual\n  corroborate models pull multilingual --hub https://mirror.example.org\n\nA download that was cut off goes on where it stopped when the command is run again. Checksums are held against what\ncame, and written to model.toml, where `models verify` and the daemon's start look at them."
    )]
    Pull {
        /// Which set; without one they are listed.
        set: Option<String>,
        /// The hub's address; a mirror has the same paths.
        #[arg(long, value_name = "URL", default_value = crate::outbound::hub::DEFAULT_HUB)]
        hub: url::Url,
        /// A branch, tag or commit of the repositories instead of the one that was tried. The hub is believed for the
        /// checksums then.
        #[arg(long)]
        revision: Option<String>,
    },
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadAction {
    /// List them, oldest first.
    #[command(after_help = "Example:\n  corroborate dead list --limit 200")]
    List {
        /// How many at most.
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Show one with its message.
    #[command(after_help = "Example:\n  corroborate dead show ID        ids are listed by `corroborate dead list`")]
    Show {
        /// As `dead list` shows it.
        id: String,
    },
    /// Send messages back to the queue they came from.
    #[command(
        after_help = "Examples:\n  corroborate dead requeue ID ID\n  corroborate dead requeue --all\n\nIds are listed by `corroborate dead list`."
    )]
    Requeue {
        #[command(flatten)]
        which: Which,
    },
    /// Throw messages away.
    #[command(
        after_help = "Examples:\n  corroborate dead drop ID\n  corroborate dead drop --all\n\nIds are listed by `corroborate dead list`."
    )]
    Drop {
        #[command(flatten)]
        which: Which,
    },
}

/// Messages that were given up: some of them, or all.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Which {
    /// Which ones.
    pub ids: Vec<String>,
    /// All of them.
    #[arg(long)]
    pub all: bool,
}

impl Which {
    /// As the daemon is told.
    pub fn body(&self) -> serde_json::Value {
        if self.all { serde_json::json!({ "all": true }) } else { serde_json::json!({ "ids": self.ids }) }
    }
}

/// What to do with webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhooksAction {
    /// Every webhook with what waits for it and what was given up.
    #[command(after_help = "Example:\n  corroborate webhooks list")]
    List,
    /// Messages that were given up, oldest first; with `--json`, their bodies, too.
    #[command(after_help = "Example:\n  corroborate webhooks dead --limit 200")]
    Dead {
        /// How many at most.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=200))]
        limit: i64,
    },
    /// Send messages that were given up again.
    #[command(
        after_help = "Examples:\n  corroborate webhooks retry 17 18\n  corroborate webhooks retry --all\n\nIds are listed by `corroborate webhooks dead`."
    )]
    Retry {
        #[command(flatten)]
        which: Which,
    },
    /// Throw messages that were given up away.
    #[command(
        after_help = "Examples:\n  corroborate webhooks drop 17\n  corroborate webhooks drop --all\n\nIds are listed by `corroborate webhooks dead`."
    )]
    Drop {
        #[command(flatten)]
        which: Which,
    },
    /// Post a signed message of the type `ping` now, and say what the receiver answered.
    #[command(after_help = "Example:\n  corroborate webhooks test newsroom")]
    Test {
        /// The webhook's name.
        name: String,
    },
    /// Make a key for messages to be signed with.
    #[command(after_help = "Example:\n  export CORROBORATE_WEBHOOK_NEWSROOM_SECRET=$(corroborate webhooks secret)")]
    Secret,
}
