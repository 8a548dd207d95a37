//! Generates `docs/providers.md` from the profiles, the built-in configuration and the contract tests, so that it
//! matches the code. Only for tests.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::contract::cases::CASES;
use super::contract::{SUITES, TestedProvider};
use super::contract_own::{OWN_CASES, OWN_SUITES};
use super::{Languages, NAMES, PROFILES, Profile, Storage};
use crate::config::{Config, ProviderConfig};
use crate::domain::item::SourceKind;

/// If this is `1`, the test writes the file instead of comparing it.
const REGENERATE: &str = "UPDATE_DOCS";

const HEAD: &str = "\
# Providers of evidence

<!-- Generated from the code by the test `docs_providers_is_what_the_code_says`. Do not edit: run
     `UPDATE_DOCS=1 cargo nextest run --lib docs_providers` and commit the result. -->

The providers with their costs, limits and tests. Limits and prices are the defaults of
[`config/default.toml`](../config/default.toml). Published terms change; check yours.

`corroborate doctor` shows which providers your configuration can use. `GET /api/providers` shows their current state.

";

const AFTER_TABLE: &str = "
An item's `source_types` selects providers by the column *Source*; without it, all configured ones are used. A dash means the own
store or disk, or separate settings under `providers.<name>`.

**Limits** hold for all processes on one database. Calls are spaced evenly. The circuit breaker opens

* if a provider rate-limits us or its quota is used up: for the time that it states, otherwise for the cool-down;
* if a key is refused: until another key is set or `corroborate providers reset` runs, with one probe a day;
* after `providers.breaker_failures` failures in a row: for the cool-down.

A provider that could not be queried is in the result's `degraded`. It never counts as \"nothing found\".

**Storage**: *kept* means that titles and snippets may be stored with the evidence. *Transient* means that the provider's terms
forbid it: its texts are deleted after the item, and only the URL and the page that we read ourselves are kept.

Google Custom Search is not supported, because it is closed to new customers and ends on 2027-01-01.
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
        "| Provider | Name | Source | What it returns | Storage | Cost a call | Calls a minute | Calls a day | Time-out | Languages |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for profile in PROFILES {
        let settings = settings(config, profile.name);
        let (minute, day, timeout) = limits(settings);
        let source = serde_json::to_value(profile.source).unwrap();
        let storage = if profile.storage == Storage::Stored { "kept" } else { "transient" };
        writeln!(
            text,
            "| {} | `{}` | `{}` | {} | {storage} | {} | {minute} | {day} | {timeout} | {} |",
            profile.title,
            profile.name,
            source.as_str().unwrap(),
            profile.returns,
            price(settings),
            match profile.languages {
                Languages::All => "any".to_owned(),
                Languages::Only(codes) => format!("{}, see below", codes.len()),
            },
        )
        .unwrap();
    }
    text
}

fn details() -> String {
    let mut text = String::from("\n## Setup and terms\n");
    for profile in PROFILES {
        let domains = if profile.restricts_domains { "yes" } else { "no" };
        write!(
            text,
            "\n### {}\n\n* Setup: {}.\n* Published terms: {}.\n* Languages: {}.\n* Can be limited to domains: {domains}.\n",
            profile.title,
            profile.configure,
            profile.terms,
            languages(profile),
        )
        .unwrap();
    }
    text
}

fn order(config: &Config) -> String {
    let mut text = String::from(
        "\n## Query order\n\nStored evidence is first, and free providers are before paid ones, independent of the order in the \
         configuration. The next provider is queried only while independent evidence is missing.\n\n",
    );
    let mut profiles: Vec<&Profile> = NAMES.iter().filter_map(|name| super::profile(name)).collect();
    // As in the stages of the search: within a stage, paid providers come last.
    let costs = |profile: &Profile| settings(config, profile.name).is_some_and(|settings| settings.cost_usd > 0.0);
    profiles.sort_by_key(|profile| (profile.source == SourceKind::Web, costs(profile)));
    for (at, profile) in profiles.into_iter().enumerate() {
        writeln!(text, "{}. {} (`{}`)", at + 1, profile.title, profile.name).unwrap();
    }
    text
}

/// A short title for a narrow column. Several titles begin with "Own"; these use the name.
fn short(name: &str) -> String {
    let title = super::profile(name).map_or(name, |profile| profile.title).split(['(', ' ']).next().unwrap_or(name);
    if title == "Own" { format!("`{name}`") } else { title.to_owned() }
}

/// A table of cases by provider, with a note for each reason why a case does not apply.
fn matrix() -> String {
    let tested: Vec<(&str, TestedProvider)> = SUITES.iter().map(|(name, tested)| (*name, tested())).collect();
    let mut text = format!(
        "\n## Tests\n\nThe {} cases of the contract suite (`src/providers/contract`) run for every HTTP provider, against a server that \
         misbehaves. ✓: passed.\n",
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
    text.push_str("\nCases that do not apply:\n\n");
    for (at, reason) in reasons.iter().enumerate() {
        writeln!(text, "{}. {reason}.", at + 1).unwrap();
    }
    text
}

/// The table for providers of a store, a folder or a database; every case applies to all.
fn own_matrix() -> String {
    let heads: Vec<String> = OWN_SUITES.iter().map(|name| short(name)).collect();
    let mut text = format!(
        "\n### Without HTTP\n\nThe {} cases of `src/providers/contract_own.rs` run for every provider of a store, a folder or a \
         database: with a result, without one, unavailable, and slow.\n\n| own sources | {} |\n|---|{}\n",
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
        [HEAD.to_owned(), overview(&config), AFTER_TABLE.to_owned(), order(&config), details(), matrix(), own_matrix()];
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
