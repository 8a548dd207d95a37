//! `docs/providers.md`, made from the profiles, the built-in configuration and the contract suite, so that it cannot say
//! something else than the code does. Tests only: the program itself has no use for it.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::contract::cases::CASES;
use super::contract::{SUITES, Tested};
use super::contract_own::{OWN_CASES, OWN_SUITES};
use super::{Languages, NAMES, PROFILES, Profile, Storage};
use crate::config::{Config, ProviderConfig};

/// Set to `1`, the test writes the file instead of comparing it.
const REGENERATE: &str = "UPDATE_DOCS";

const HEAD: &str = "\
# Providers of evidence

<!-- Generated from the code by the test `docs_providers_is_what_the_code_says`. Do not edit: run
     `UPDATE_DOCS=1 cargo nextest run --lib docs_providers` and commit the result. -->

What corroborate can ask, what it costs, how often it may be asked, and what each provider was tried against. Limits and
prices are those of the built-in configuration; every figure has a key in [`config/default.toml`](../config/default.toml).
Published terms change: look at yours before you rely on them.

`corroborate doctor` shows which of them your configuration can use, `GET /api/providers` how each of them is right now.

";

const AFTER_TABLE: &str = "
An item's `source_types` selects providers by the source named above; without it, all that are configured are used.

**Calls a minute** are spaced evenly, not let through in bursts. A provider that throttles us, or whose quota is used up, is
left alone for as long as it says, else for the cool-down; a refused key is tried once a day, another one at once; failures in a
row (`providers.breaker_failures`) let it rest. What could not be asked is named in the result's `degraded` and never counts as
\"nothing found\".

**Storage**: *kept* means that titles and snippets may be stored with the evidence. *Transient* means that the provider's terms
forbid it: its words are dropped once the item is done, and only the address and what we read there ourselves is kept.

Google Custom Search is left out on purpose: it is closed to new customers and ends for all on 2027-01-01.
";

fn languages(profile: &Profile) -> String {
    match profile.languages {
        Languages::All => "any".to_owned(),
        Languages::Only(codes) => {
            let mut codes = codes.to_vec();
            codes.sort_unstable();
            format!("{}: {}", codes.len(), codes.join(" "))
        }
    }
}

/// The settings of a provider; some have none of this form.
fn settings<'a>(config: &'a Config, name: &str) -> Option<&'a ProviderConfig> {
    let name = name.strip_suffix("_factcheck").unwrap_or(name);
    config.providers.named().into_iter().find(|(known, _)| *known == name).map(|(_, settings)| settings)
}

fn price(settings: Option<&ProviderConfig>) -> String {
    match settings.map(|settings| settings.cost_usd) {
        Some(usd) if usd > 0.0 => format!("{usd} USD"),
        _ => "free".to_owned(),
    }
}

fn limits(settings: Option<&ProviderConfig>) -> (String, String, String) {
    let Some(settings) = settings else { return ("–".to_owned(), "–".to_owned(), "–".to_owned()) };
    let day = settings.daily_limit.map_or_else(|| "no limit of ours".to_owned(), |limit| limit.to_string());
    (settings.rpm.to_string(), day, humantime::format_duration(settings.timeout).to_string())
}

fn overview(config: &Config) -> String {
    let mut text = String::from(
        "| Provider | Name | Source | What it returns | Storage | Cost a call | Calls a minute | Calls a day | Time-out |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for profile in PROFILES {
        let settings = settings(config, profile.name);
        let (minute, day, timeout) = limits(settings);
        let source = serde_json::to_value(profile.source).unwrap();
        let storage = if profile.storage == Storage::Stored { "kept" } else { "transient" };
        writeln!(
            text,
            "| {} | `{}` | `{}` | {} | {storage} | {} | {minute} | {day} | {timeout} |",
            profile.title,
            profile.name,
            source.as_str().unwrap(),
            profile.returns,
            price(settings),
        )
        .unwrap();
    }
    text
}

fn details() -> String {
    let mut text = String::from("\n## What each needs\n");
    for profile in PROFILES {
        let domains = if profile.restricts_domains { "by itself" } else { "no" };
        write!(
            text,
            "\n### {}\n\n* To use it: {}.\n* Published terms: {}.\n* Languages: {}.\n* Keeps to given domains: {domains}.\n",
            profile.title,
            profile.configure,
            profile.terms,
            languages(profile),
        )
        .unwrap();
    }
    text
}

fn order() -> String {
    let mut text = String::from(
        "\n## The order in which they are asked\n\nWhatever order the configuration names them in: what is already known \
         first, free before paid wherever two could serve. The next one is asked only while independent evidence is \
         missing.\n\n",
    );
    for (at, profile) in NAMES.iter().filter_map(|name| super::profile(name)).enumerate() {
        writeln!(text, "{}. {} (`{}`)", at + 1, profile.title, profile.name).unwrap();
    }
    text
}

/// For a narrow column. Several are called "Own …": they go by their names.
fn short(name: &str) -> String {
    let title = super::profile(name).map_or(name, |profile| profile.title).split(['(', ' ']).next().unwrap_or(name);
    if title == "Own" { format!("`{name}`") } else { title.to_owned() }
}

/// Case by provider, from the suite itself, with a note per reason why one does not apply.
fn matrix() -> String {
    let tested: Vec<(&str, Tested)> = SUITES.iter().map(|(name, tested)| (*name, tested())).collect();
    let mut text = format!(
        "\n## What they were tried against\n\nThe {} cases of the contract suite (`src/providers/contract`) run for every \
         provider that is asked over HTTP, against a server that misbehaves. ✓: it keeps the promise.\n",
        CASES.len()
    );
    let mut reasons: Vec<&str> = Vec::new();
    let mut about = "";
    for case in &CASES {
        if case.about != about {
            about = case.about;
            let heads: Vec<String> = tested.iter().map(|(name, _)| short(name)).collect();
            write!(text, "\n| {about} | {} |\n|---|{}\n", heads.join(" | "), ":-:|".repeat(heads.len())).unwrap();
        }
        let cells: Vec<String> = tested
            .iter()
            .map(|(_, tested)| match (case.excused)(tested) {
                None => "✓".to_owned(),
                Some(reason) => {
                    let known = reasons.iter().position(|known| *known == reason);
                    let at = known.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                    format!("– ({})", at + 1)
                }
            })
            .collect();
        writeln!(text, "| {} | {} |", case.name.replace('_', " "), cells.join(" | ")).unwrap();
    }
    text.push_str("\nWhere a case does not apply:\n\n");
    for (at, reason) in reasons.iter().enumerate() {
        writeln!(text, "{}. {reason}.", at + 1).unwrap();
    }
    text
}

/// The same for providers that look in a store, a folder or a database; every case is for all of them.
fn own_matrix() -> String {
    let heads: Vec<String> = OWN_SUITES.iter().map(|name| short(name)).collect();
    let mut text = format!(
        "\n### Without HTTP\n\nThe {} cases of `src/providers/contract_own.rs` run for every provider that looks in a store, a \
         folder or a database: with the answer in it, without it, where it cannot be looked at, and where a look takes \
         too long.\n\n| our own material | {} |\n|---|{}\n",
        OWN_CASES.len(),
        heads.join(" | "),
        ":-:|".repeat(heads.len())
    );
    for case in &OWN_CASES {
        writeln!(text, "| {} |{}", case.name.replace('_', " "), " ✓ |".repeat(heads.len())).unwrap();
    }
    text
}

#[test]
fn every_provider_is_tried_by_one_of_the_suites() {
    let mut tried: Vec<&str> = SUITES.iter().map(|(name, _)| *name).chain(OWN_SUITES.iter().copied()).collect();
    tried.sort_unstable();
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(tried, names);
}

fn manual() -> String {
    let config = Config::built_in();
    let parts =
        [HEAD.to_owned(), overview(&config), AFTER_TABLE.to_owned(), order(), details(), matrix(), own_matrix()];
    parts.concat()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch, no configuration of the product")]
fn docs_providers_is_what_the_code_says() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/providers.md");
    let made = manual();
    if std::env::var(REGENERATE).is_ok_and(|wanted| wanted == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &made).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "docs/providers.md differs from the code (first at line {}); write it anew with {REGENERATE}=1 cargo nextest run \
         --lib docs_providers",
        differs.map_or(kept.lines().count().min(made.lines().count()), |at| at) + 1
    );
}
