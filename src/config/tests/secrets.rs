//! Tests that secrets come from the right places and are never shown.

use proptest::prelude::*;
use secrecy::ExposeSecret as _;

use super::super::*;
use super::{error, file_with, load_env, load_file};

#[test]
fn a_secret_may_come_from_a_file_and_only_from_one_place() {
    let secret = file_with("amqp://u:pw@mq/%2f\n");
    let path = secret.path().display().to_string();
    let loaded = load_env(&[("AMQP_URL_FILE", &path)]).unwrap();
    assert_eq!(loaded.config.amqp.url.as_ref().unwrap().expose_secret(), "amqp://u:pw@mq/%2f");
    let shown = show(&loaded).into_iter().find(|shown| shown.key == "amqp.url").unwrap();
    assert_eq!((shown.value.as_str(), shown.from), ("set", Source::SecretFile("AMQP_URL_FILE".into())));
    for key in KEYS.iter().filter(|key| key.is_secret()) {
        let (name, twin) = (key.env().to_owned(), format!("{}_FILE", key.env()));
        let text = error(&[(&name, "amqp://x/"), (&twin, &path)]);
        assert_eq!(text, format!("{name}: is set, and {twin} too; set one of the two"));
    }
    assert!(
        error(&[("ADMIN_TOKEN_FILE", "/nowhere/token")]).starts_with("ADMIN_TOKEN_FILE = \"/nowhere/token\": cannot")
    );
    let empty = file_with("\n");
    assert!(error(&[("LLM_API_KEY_FILE", &empty.path().display().to_string())]).contains("names an empty file"));
    assert!(error(&[("FETCH_TIMEOUT_FILE", "/x")]).contains("is not a known name"), "only secrets have twins");
}

#[test]
fn guessable_token_stops_the_start_on_an_open_address_and_is_warned_of_on_loopback() {
    const RANDOM: &str = "cor_0f3a9b71c2d84e5566f7a08b19c2d3e4";
    for name in ["ADMIN_TOKEN", "CORROBORATE_HTTP_READ_TOKEN"] {
        for guessable in ["corroborate2026admin", "change-me-change-me-change-me-change-me"] {
            for bind in ["0.0.0.0:8080", "[::]:8080", "10.0.0.7:80"] {
                let text = error(&[("HTTP_BIND", bind), (name, guessable)]);
                assert!(text.starts_with(&format!("{name}: ")) && text.contains("tokens generate"), "{text}");
                assert!(text.lines().count() == 1 && !text.contains(guessable), "{text}");
                load_env(&[("HTTP_BIND", bind), (name, RANDOM)]).unwrap();
            }
            let warnings = load_env(&[("HTTP_BIND", "127.0.0.1:1"), (name, guessable)]).unwrap().warnings;
            assert!(
                warnings.iter().any(|one| one.starts_with(name) && one.contains("tokens generate")),
                "{warnings:?}"
            );
        }
        assert_eq!(load_env(&[(name, RANDOM)]).unwrap().warnings, Vec::<String>::new());
    }
}

#[test]
fn error_names_line_without_text_when_file_is_broken() {
    let text = load_file("[http]\nbind = \"127.0.0.1:1\"\napi_key = sk-5ecret5ecret\n", &[]).unwrap_err().to_string();
    assert!(text.contains("line 3") && !text.contains("5ecret"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

/// Every place for a secret, right or wrong.
#[test]
fn no_secret_is_ever_shown() {
    const SECRET: &str = "5ecretVALUE77xyz";
    for key in KEYS.iter().filter(|key| key.is_secret()) {
        let value = match key.kind {
            Kind::Secret { schemes: [scheme, ..] } => format!("{scheme}://u:{SECRET}@h/d"),
            _ => SECRET.to_owned(),
        };
        let loaded = load_env(&[(key.env(), &value)]).unwrap();
        let shown = format!("{loaded:?} {:?} {:?}", loaded.config, show(&loaded));
        assert!(!shown.contains(SECRET), "{} shows itself", key.path);
        assert!(show(&loaded).iter().any(|shown| shown.key == key.path && shown.value == "set"));

        // In a file, misspelt, malformed, and with a similar name.
        let (table, last) = key.path.rsplit_once('.').unwrap();
        let misspelt = format!("{}S", key.env());
        let missing = key.env().replacen('_', "", 1);
        let errors = [
            load_file(&format!("[{table}]\n{last} = \"{value}\"\n"), &[]).map(|_| ()),
            load_file(&format!("[{table}]\n{last}x = \"{value}\"\n"), &[]).map(|_| ()),
            load_env(&[(&misspelt, &value)]).map(|_| ()),
            load_env(&[(key.env(), &format!("{SECRET} \u{7f}"))]).map(|_| ()),
            load_env(&[("ENRICHMENT_MY_PASSWORD", &value), (&missing, &value)]).map(|_| ()),
        ];
        for result in errors {
            let error = result.unwrap_err();
            assert!(!format!("{error} {error:?}").contains(SECRET), "{}: {error}", key.path);
        }
    }
    let text = error(&[("LLM_BASE_URL", &format!("https://u:{SECRET}@h/v1"))]);
    assert!(text.contains("user name or password") && !text.contains(SECRET), "{text}");
    let text = error(&[("ENRICHMENT_FEEDS_URLS", &format!("https://h/rss?a=b&private_token={SECRET}"))]);
    assert!(text.contains("holds a key or token") && !text.contains(SECRET), "{text}");
    let text = error(&[("ENRICHMENT_GDELT_BASE_URL", &format!("https://h/?key={SECRET}"))]);
    assert!(!text.contains(SECRET), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// No header secret is shown, whether it is accepted or refused.
    #[test]
    fn error_has_no_secret_when_value_is_random(secret in "[a-zA-Z0-9 ]{12,40}") {
        let text = match load_env(&[("ENRICHMENT_BRAVE_API_KEY", &secret)]) {
            Ok(loaded) => format!("{loaded:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!text.contains(secret.trim()) || secret.trim().len() < 6);
    }
}
