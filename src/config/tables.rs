//! Lists of tables: `[[providers.api.endpoints]]` in a file, a JSON array in the environment.
//!
//! A table's secrets come from variables that contain its name.

use figment::value::{Dict, Value};

use super::kind::{Fault, Kind, Shape, fault};
use super::problem::{Problem, sounds_secret};
use super::value::{scalar_text, trimmed};

impl Kind {
    pub fn read_value(self, value: &Value) -> Result<Value, Fault> {
        match self {
            Self::Tables(shape) => read(shape, value).map_err(|faults| in_one(&faults)),
            _ => self.read_plain_value(value),
        }
    }

    /// Lists are separated by commas; lists of tables are JSON.
    pub fn read_text(self, text: &str) -> Result<Value, Fault> {
        match self {
            Self::Tables(_) => self.read_value(&from_json(text)?),
            _ => self.read_plain_text(text),
        }
    }
}

#[derive(Debug)]
pub(super) struct TableFault {
    /// Such as `[0].keywords`; empty for the list.
    place: String,
    /// Only if it is single and cannot be secret.
    value: Option<String>,
    fault: Fault,
}

impl TableFault {
    /// Returns the problem of `key` as the user wrote it.
    pub(super) fn problem(self, key: &str) -> Problem {
        let problem = Problem::new(format!("{key}{}", self.place), self.fault.what, self.fault.fix);
        match self.value {
            Some(value) => problem.with_value(&value),
            None => problem,
        }
    }
}

/// Joins problems for callers that report only one.
pub(super) fn in_one(faults: &[TableFault]) -> Fault {
    let what: Vec<String> = faults.iter().map(|fault| format!("{} {}", fault.place, fault.fault.what)).collect();
    let fix = faults.first().map(|fault| fault.fault.fix.clone()).unwrap_or_default();
    Fault { what: what.join("; ").trim().to_owned(), fix }
}

pub(super) fn read(shape: &Shape, given: &Value) -> Result<Value, Vec<TableFault>> {
    let Value::Array(_, elements) = given else {
        let what = format!("is not a list of {}s", shape.what);
        let fix = "write each as a table of its own, with its line in double brackets: [[…]]".to_owned();
        return Err(vec![TableFault { place: String::new(), value: None, fault: Fault { what, fix } }]);
    };
    let (mut tables, mut faults) = (Vec::with_capacity(elements.len()), Vec::new());
    let mut names: Vec<String> = Vec::new();
    for (position, element) in elements.iter().enumerate() {
        let place = format!("[{position}]");
        let Value::Dict(_, table) = element else {
            let fault = Fault { what: "is not a table".to_owned(), fix: format!("give it {}", shape.names()) };
            faults.push(TableFault { place, value: None, fault });
            continue;
        };
        let read = read_one(shape, table, &place, &mut faults);
        if let Some(name) = read.get("name").map(scalar_text) {
            // `a-b` and `a_b` would share a variable.
            let key = name.replace('-', "_");
            if names.contains(&key) {
                let what = format!("is the name of another {} too", shape.what);
                let fault = Fault { what, fix: "give each a name of its own".to_owned() };
                faults.push(TableFault { place: format!("{place}.name"), value: Some(name), fault });
            }
            names.push(key);
        }
        tables.push(Value::from(read));
    }
    if faults.is_empty() { Ok(Value::from(tables)) } else { Err(faults) }
}

fn read_one(shape: &Shape, table: &Dict, place: &str, faults: &mut Vec<TableFault>) -> Dict {
    let mut read = Dict::new();
    let own_name = table.get("name").map(scalar_text).unwrap_or_default();
    let mut add = |field: &str, value: Option<String>, fault: Fault| {
        faults.push(TableFault { place: format!("{place}.{field}"), value, fault });
    };
    for (name, value) in table {
        match shape.field(name) {
            Some(field) if field.is_secret() => {
                let env = shape.secret_env(&own_name, field);
                let what = "is a secret, and secrets stay out of this list".to_owned();
                let fix = format!("take it out; set {env}, or {env}_FILE with the path of a file that holds it");
                add(name, None, Fault { what, fix });
            }
            Some(field) => match field.kind.read_plain_value(value) {
                Ok(value) => {
                    read.insert(name.clone(), value);
                }
                Err(fault) => add(name, shown(name, value), fault),
            },
            None => {
                let fault = Fault {
                    what: "is not a known key".to_owned(),
                    fix: format!("one {} has {}", shape.what, shape.names()),
                };
                add(name, shown(name, value), fault);
            }
        }
    }
    for field in shape.fields.iter().filter(|field| field.required && !table.contains_key(field.name)) {
        add(field.name, None, Fault { what: "is missing".to_owned(), fix: format!("add it: {}", field.help) });
    }
    read
}

/// Returns `None` if the value may be secret.
fn shown(name: &str, value: &Value) -> Option<String> {
    (!matches!(value, Value::Dict(..) | Value::Array(..)) && !sounds_secret(name)).then(|| scalar_text(value))
}

pub(super) fn from_json(text: &str) -> Result<Value, Fault> {
    let fix = "write a JSON array of objects, or use a configuration file";
    // The parser's message quotes only single characters.
    let json: serde_json::Value = match serde_json::from_str(trimmed(text)?) {
        Ok(json) => json,
        Err(error) => return fault(format!("is not JSON ({error})"), fix),
    };
    Value::serialize(json).or_else(|_error| fault("holds what no setting can be", fix))
}

#[cfg(test)]
mod tests {
    use super::super::kind::{Field, SecretKind};
    use super::*;

    static FIELDS: [Field; 4] = [
        Field::required("name", Kind::Slug, "a name"),
        Field::required("url", Kind::Url, "an address"),
        Field::optional("rpm", Kind::Integer { min: 1, max: 9 }, "requests a minute"),
        Field::optional("api_key", Kind::Secret(SecretKind::Header), "key"),
    ];
    static SHAPE: Shape = Shape { what: "thing", secret_prefix: "THING", fields: &FIELDS };

    fn problems(json: &str) -> Vec<String> {
        let faults = read(&SHAPE, &from_json(json).unwrap()).unwrap_err();
        faults.into_iter().map(|fault| fault.problem("things").to_string()).collect()
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
        assert!(from_json("[{").is_err());
        let read = read(&SHAPE, &from_json(r#"[{"name":"My-Thing","url":"http://x"}]"#).unwrap()).unwrap();
        assert_eq!(read.find_ref("0").map(scalar_text), None);
        assert_eq!(SHAPE.secret_env("my-thing", &FIELDS[3]), "THING_MY_THING_API_KEY");
    }
}
