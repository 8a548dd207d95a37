//! Tests of lists of tables.

use secrecy::ExposeSecret as _;

use super::super::kind::{Fault, KEY, SLUG, Shape, URL, count};
use super::super::*;
use super::{load_env, load_file};

const ENDPOINTS: &str = r#"
[[providers.api.endpoints]]
name = "rates"
url = "https://api.example.org/v1?c={entity}"
path = "/value"
statement = "The rate is {value}."
expected = "greater"
value = "{number}"
keywords = ["rate"]
key_header = "X-Api-Key"

[[providers.api.endpoints]]
name = "Air-Quality"
url = "https://air.example.org"
path = "aqi"
statement = "The index is {value}."
"#;

#[test]
fn tables_of_a_file_are_read_and_shown_by_their_names() {
    let secret = ("ENRICHMENT_API_AIR_QUALITY_API_KEY", "5ecret-of-some-length");
    let loaded = load_file(ENDPOINTS, &[secret]).unwrap();
    let endpoints = &loaded.config.providers.api.endpoints;
    assert_eq!(endpoints.len(), 2);
    assert_eq!((endpoints[0].expected, endpoints[0].rpm.get()), (Some(Expectation::Greater), 60));
    assert!(endpoints[0].api_key.is_none());
    assert_eq!(endpoints[1].api_key.as_ref().unwrap().current().expose_secret(), "5ecret-of-some-length");
    let shown = show(&loaded).into_iter().find(|key| key.key == "providers.api.endpoints").unwrap();
    assert_eq!(shown.value, "rates, air-quality");
    assert!(!format!("{loaded:?}").contains("5ecret"), "a secret of a table is shown");
}

#[test]
fn a_secret_of_a_table_comes_from_a_file_as_well() {
    let file = super::file_with("5ecret-from-a-file\n");
    let path = file.path().display().to_string();
    let loaded = load_file(ENDPOINTS, &[("ENRICHMENT_API_RATES_API_KEY_FILE", &path)]).unwrap();
    let key = loaded.config.providers.api.endpoints[0].api_key.clone().unwrap();
    assert_eq!(key.current().expose_secret(), "5ecret-from-a-file");
    let both = [("ENRICHMENT_API_RATES_API_KEY_FILE", path.as_str()), ("ENRICHMENT_API_RATES_API_KEY", "5ecret")];
    let text = load_file(ENDPOINTS, &both).unwrap_err().to_string();
    assert!(text.contains("set one of the two") && !text.contains("5ecret"), "{text}");
    let gone = load_file(ENDPOINTS, &[("ENRICHMENT_API_RATES_API_KEY_FILE", "/nowhere")]).unwrap_err().to_string();
    assert!(gone.contains("cannot be read"), "{gone}");
}

#[test]
fn a_secret_of_no_table_is_a_misspelt_name() {
    let text = load_file(ENDPOINTS, &[("ENRICHMENT_API_RATE_API_KEY", "5ecret")]).unwrap_err().to_string();
    assert!(text.contains("ENRICHMENT_API_RATE_API_KEY") && !text.contains("5ecret"), "{text}");
}

#[test]
fn load_fails_with_place_when_table_is_wrong() {
    let text = load_file(&ENDPOINTS.replace("keywords", "keywrods"), &[]).unwrap_err().to_string();
    assert!(text.contains("providers.api.endpoints[0].keywrods: is not a known key"), "{text}");
    assert!(text.contains("keywords"), "the advice names what is known: {text}");
    let text = load_file(&format!("{ENDPOINTS}api_key = \"5ecret\"\n"), &[]).unwrap_err().to_string();
    assert!(text.contains("ENRICHMENT_API_AIR_QUALITY_API_KEY") && !text.contains("5ecret"), "{text}");
    let single = ENDPOINTS.replace("[[", "[").replace("]]", "]").split("\n\n").next().unwrap().to_owned();
    let text = load_file(&single, &[]).unwrap_err().to_string();
    assert!(text.contains("double brackets"), "{text}");
}

#[test]
fn the_environment_gives_one_folder_and_lists_as_json() {
    let loaded = load_env(&[
        ("ENRICHMENT_CORPUS_FOLDER", "/srv/docs"),
        ("ENRICHMENT_CORPUS_NAME", "Docs"),
        ("CORROBORATE_PROVIDERS_CORPUS_FOLDERS", r#"[{"name": "code", "folder": "/srv/code", "include": ["*.rs"]}]"#),
    ])
    .unwrap();
    let folders = loaded.config.providers.corpus.folders();
    let names: Vec<&str> = folders.iter().map(|folder| folder.name.as_str()).collect();
    assert_eq!(names, ["docs", "code"]);
    assert_eq!(folders[1].include, ["*.rs"]);
    let text = load_env(&[("CORROBORATE_PROVIDERS_CORPUS_FOLDERS", "/srv/code")]).unwrap_err().to_string();
    assert!(text.contains("is not JSON"), "{text}");
}

#[test]
fn schema_has_fields_without_secrets_when_table_is_described() {
    let schema = json_schema();
    let items = &schema["properties"]["providers"]["properties"]["api"]["properties"]["endpoints"]["items"];
    assert_eq!(items["additionalProperties"], false);
    assert_eq!(items["required"], serde_json::json!(["name", "url", "path", "statement"]));
    assert!(items["properties"]["rpm"]["maximum"].is_u64() && items["properties"].get("api_key").is_none());
    assert_eq!(items["x-secrets"][0]["env"], "ENRICHMENT_API_<NAME>_API_KEY");
}

static SHAPE: Shape = Shape {
    what: "thing",
    secret_prefix: "THING",
    fields: &[("name", SLUG), ("url", URL), ("rpm", count(1, 9)), ("api_key", KEY)],
    required: &["name", "url"],
};

fn problems(json: &str) -> Vec<String> {
    let faults = Kind::Tables(&SHAPE).read(&json.into()).unwrap_err();
    let line = |fault: Fault| {
        let value = fault.value.map_or_else(String::new, |value| format!(" = {value:?}"));
        format!("things{}{value}: {}; {}", fault.place, fault.what, fault.fix)
    };
    faults.into_iter().map(line).collect()
}

#[test]
fn reader_names_place_of_each_problem_when_tables_are_wrong() {
    let lines = problems(
        r#"[{"name":"a","url":"ftp://x","rpm":10}, {"nmae":"b"}, 7, {"name":"A","url":"http://x"},
            {"name":"c","url":"http://x","api_key":"5ecret"}]"#,
    );
    let expected = [
        "things[0].rpm = \"10\": is more than 9",
        "things[0].url = \"ftp://x\": is neither http nor https",
        "things[1].nmae = \"b\": is not a known key; one thing has name, url, rpm",
        "things[1].name: is missing",
        "things[1].url: is missing",
        "things[2]: is not a table",
        "things[3].name = \"a\": is the name of another thing too",
        "things[4].api_key: is a secret",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(lines.last().unwrap().contains("THING_C_API_KEY_FILE") && !lines.concat().contains("5ecret"));
}

#[test]
fn error_shows_syntax_when_value_is_no_list_of_tables() {
    for json in [r#"{"name":"a"}"#, "7", "\"x\""] {
        assert!(problems(json).concat().contains("[[…]]"), "{json}");
    }
    assert!(problems("[{").concat().contains("is not JSON"));
    assert!(Kind::Tables(&SHAPE).read(&r#"[{"name":"My-Thing","url":"http://x"}]"#.into()).is_ok());
    assert_eq!(SHAPE.secret_env("my-thing", "api_key"), "THING_MY_THING_API_KEY");
}
