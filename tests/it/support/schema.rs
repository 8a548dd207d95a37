//! A small JSON Schema validator: the keywords our published schemas use, and an error for any other, so that it cannot
//! pass over what it does not know.

use serde_json::Value;

/// What is wrong with a value, as paths and reasons; empty when it fits.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, schema, value, "$", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        if schema == &Value::Bool(false) {
            faults.push(format!("{path}: nothing is allowed here"));
        }
        return;
    };
    for (keyword, rule) in object {
        match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "examples" | "format"
            | "components" => {}
            "$ref" => {
                let target = rule.as_str().and_then(|reference| root.pointer(reference.trim_start_matches('#')));
                check(root, target.unwrap_or_else(|| panic!("{rule} leads nowhere")), value, path, faults);
            }
            "type" => {
                let types = rule.as_array().map_or_else(|| vec![rule.clone()], Clone::clone);
                if !types.iter().any(|kind| is_of(kind.as_str().unwrap_or_default(), value)) {
                    faults.push(format!("{path}: {value} is not {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().is_some_and(|allowed| allowed.contains(value)) {
                    faults.push(format!("{path}: {value} is not one of {rule}"));
                }
            }
            "const" => {
                if rule != value {
                    faults.push(format!("{path}: {value} is not {rule}"));
                }
            }
            "allOf" => rule.as_array().into_iter().flatten().for_each(|part| check(root, part, value, path, faults)),
            "pattern" => faults.extend(mismatch(rule, value).map(|what| format!("{path}: {value} {what}"))),
            "anyOf" | "oneOf" => alternatives(root, rule, value, path, faults),
            "required" => {
                let rule = value.is_object().then_some(rule);
                let names = rule.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                let missing = names.filter(|name| value.get(name).is_none());
                faults.extend(missing.map(|name| format!("{path}: {name} is missing")));
            }
            "properties" => {
                for (name, part) in rule.as_object().into_iter().flatten() {
                    if let Some(inner) = value.get(name) {
                        check(root, part, inner, &format!("{path}.{name}"), faults);
                    }
                }
            }
            "additionalProperties" => {
                let known = object.get("properties").and_then(Value::as_object);
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if !known.is_some_and(|known| known.contains_key(name)) {
                        check(root, rule, inner, &format!("{path}.{name}"), faults);
                    }
                }
            }
            "items" => {
                for (position, inner) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, inner, &format!("{path}[{position}]"), faults);
                }
            }
            "minimum" | "maximum" => {
                let bound = rule.as_f64().unwrap();
                let outside = |number: f64| if keyword == "minimum" { number < bound } else { number > bound };
                if value.as_f64().is_some_and(outside) {
                    faults.push(format!("{path}: {value} is beyond the {keyword} {bound}"));
                }
            }
            "minLength" | "maxLength" => {
                let length = value.as_str().map(|text| text.chars().count());
                faults.extend(bounded(keyword, rule, length).map(|broken| format!("{path}: {value} breaks {broken}")));
            }
            "minItems" | "maxItems" => {
                let length = value.as_array().map(Vec::len);
                faults.extend(bounded(keyword, rule, length).map(|broken| format!("{path}: {value} breaks {broken}")));
            }
            other => panic!("{path}: this validator does not know {other:?}; teach it"),
        }
    }
}

/// Of a text that does not match.
fn mismatch(rule: &Value, value: &Value) -> Option<String> {
    let pattern = regex::Regex::new(rule.as_str().unwrap()).unwrap();
    value.as_str().filter(|text| !pattern.is_match(text)).map(|_| format!("does not match {rule}"))
}

/// The bound that a length breaks.
fn bounded(keyword: &str, rule: &Value, length: Option<usize>) -> Option<String> {
    let bound = rule.as_u64().unwrap() as usize;
    let outside = |length: &usize| if keyword.starts_with("min") { *length < bound } else { *length > bound };
    length.filter(outside).map(|_| format!("{keyword} {bound}"))
}

fn alternatives(root: &Value, rule: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let tries = rule.as_array().unwrap().iter().map(|one| {
        let mut own = Vec::new();
        check(root, one, value, path, &mut own);
        own
    });
    let tries: Vec<Vec<String>> = tries.collect();
    if !tries.iter().any(Vec::is_empty) {
        faults.push(format!("{path}: fits none of the alternatives: {tries:?}"));
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{other:?} is no type of JSON Schema"),
    }
}
