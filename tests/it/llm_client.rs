//! The language model's client against a server that does all that such servers do: what comes back is read, or the item
//! goes on without it and says so. Neither a crash nor a verdict comes of it.
#![cfg(all(test, feature = "embedded"))]

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::app::environment;
use crate::support::daemon::{Finished, finish, free_address};
use crate::support::simulator::{Fault, LLM_KEY, LLM_MODEL, MapWorld, Script, Simulator, Target, chat_answer, name_of};
use crate::support::stories::searched;

/// What an item that was not heard by the model says.
const UNHEARD: &str = "model_failed:llm";

/// Three sites tell what each of these ports shipped.
fn world(ports: &[String]) -> MapWorld {
    let mut world = MapWorld::default();
    for (at, port) in ports.iter().enumerate() {
        let first = at as u64 * 3;
        let fact =
            format!("The port of {port} shipped fully 4200 tonnes of grain in October 2026, the harbour master said.");
        let more = [
            "the silos stand empty again",
            "forty railway wagons brought barley",
            "the insurers lowered their premiums",
        ];
        for (page, more) in (first..).zip(more) {
            let told = (format!("Grain leaves {port}: {more}"), vec![fact.clone(), format!("At {port} {more}.")]);
            world.pages.insert(page, told);
        }
        world.searches.push((port.to_lowercase(), (first..first + 3).collect()));
    }
    world
}

fn claim(port: &str) -> String {
    format!("The port of {port} shipped 4200 tonnes of grain in October 2026, the harbour master said.")
}

/// A simulated world, with a folder of its own, and what the program is told of both.
struct Home {
    simulator: Simulator,
    environment: Vec<(String, String)>,
    _folder: tempfile::TempDir,
}

impl Home {
    async fn new(ports: &[String]) -> Self {
        let simulator = Simulator::start_on_hosts(world(ports), 4).await;
        let folder = tempfile::tempdir().unwrap();
        let mut environment = environment(&simulator);
        environment.push(("CORROBORATE_DATA_DIR".to_owned(), folder.path().display().to_string()));
        let mut home = Self { simulator, environment, _folder: folder };
        let base = home.simulator.base_url(Target::LanguageModel);
        home.set("LLM_BASE_URL", &base);
        home.set("LLM_API_KEY", LLM_KEY);
        home.set("LLM_MODEL", LLM_MODEL);
        home.set("LLM_ADJUDICATE_ENABLED", "true");
        home
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    async fn run(&self, arguments: &[&str], stdin: &str) -> Finished {
        finish(&self.environment, arguments, stdin).await
    }

    /// The results of items with these texts, by item.
    async fn enrich(&self, items: &[(&str, &str)]) -> HashMap<String, Value> {
        let lines: Vec<String> = items.iter().map(|(id, text)| searched(id, text).to_string()).collect();
        let done = self.run(&["enrich", "-"], &(lines.join("\n") + "\n")).await;
        let results = done.ok().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        results.map(|result| (result["item_id"].as_str().unwrap().to_owned(), result)).collect()
    }
}

fn ports(count: u64) -> Vec<String> {
    (1..=count).map(|number| name_of(number * 7_919)).collect()
}

/// A model that finds every passage to support its claim.
fn agrees(request: &Value) -> Value {
    let user = request.pointer("/messages/1/content").and_then(Value::as_str).unwrap_or_default();
    let numbered = user.lines().filter(|line| line.starts_with('[')).count();
    let passages: Vec<Value> =
        (1..=numbered).map(|n| json!({"n": n, "stance": "supports", "elsewhere": false})).collect();
    json!({"claims": [{
        "claim": 1, "passages": passages, "verdict": "supported", "confidence": 0.9, "justification": "So says [1].",
    }]})
}

fn is_heard(result: &Value) -> bool {
    result["claims"][0]["judge"].as_str().unwrap_or_default().contains("llm:")
}

fn is_degraded(result: &Value) -> bool {
    result["degraded"].as_array().unwrap().contains(&json!(UNHEARD))
}

/// How an answer can be spoilt.
fn spoilt(how: &str, right: &Value) -> Script {
    let text = right.to_string();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut answer = chat_answer(&json!(text), "stop");
        change(&mut answer);
        Script::Raw(200, answer)
    };
    match how {
        "fenced" => Script::Words(format!("```json\n{text}\n```")),
        "chatty" => Script::Words(format!("Sure! Here {{is}} my answer:\n{text}\nAnything else?")),
        "thoughts" => Script::Words(format!("<think>Is it {{\"claims\": []}}?</think>{text}")),
        "trailing commas" => Script::Words(text.replace("}]", "},]")),
        "strings for numbers" => Script::Words(text.replace("\"claim\":1", "\"claim\":\"1\"")),
        "wrapped" => Script::Object(json!({ "answer": right })),
        "no usage" => with(&|_| {}),
        "odd envelope" => with(&|answer| {
            (answer["id"], answer["created"]) = (json!(""), json!(1.5));
            answer["usage"] = json!({"prompt_tokens": 900.0, "completion_tokens": 90.0});
        }),
        "parts" => with(&|answer| answer["choices"][0]["message"]["content"] = json!([{"type": "text", "text": text}])),
        "cut in its last words" => {
            let end = text.len() - 1;
            Script::Cut(text.get(..end).unwrap_or_default().to_owned())
        }
        "cut" => Script::Cut(text.get(..text.len() / 3).unwrap_or_default().to_owned()),
        "prose" => Script::Words("The claim seems well supported by all passages.".to_owned()),
        "another object" => Script::Object(json!({"verdict": "supported"})),
        "of no claim" => Script::Object(json!({"claims": [{"claim": 99, "verdict": "refuted"}]})),
        "empty" => with(&|answer| answer["choices"][0]["message"]["content"] = Value::Null),
        "no choices" => with(&|answer| answer["choices"] = json!([])),
        "refusal" => Script::Refusal("I cannot help with that.".to_owned()),
        "filtered" => with(&|answer| answer["choices"][0]["finish_reason"] = json!("content_filter")),
        "200 with an error" => Script::Raw(200, json!({"error": {"message": "Provider returned error", "code": 502}})),
        "200 with a word" => Script::Raw(200, json!({"error": "out of memory"})),
        "context too long" => {
            Script::Raw(400, json!({"error": {"message": "too long", "code": "context_length_exceeded"}}))
        }
        other => panic!("{other} is not known"),
    }
}

const READ: [&str; 7] = ["fenced", "chatty", "thoughts", "wrapped", "no usage", "odd envelope", "parts"];
const DISCARDED: [&str; 14] = [
    "trailing commas",
    "strings for numbers",
    "cut in its last words",
    "cut",
    "prose",
    "another object",
    "of no claim",
    "empty",
    "no choices",
    "refusal",
    "filtered",
    "200 with an error",
    "200 with a word",
    "context too long",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_an_odd_answer_is_read_or_the_item_goes_on_without_it() {
    let ways: Vec<&str> = READ.into_iter().chain(DISCARDED).collect();
    let ports = ports(ways.len() as u64);
    let home = Home::new(&ports).await;
    let by_port: Vec<(String, &str)> = ports.iter().cloned().zip(ways.iter().copied()).collect();
    home.simulator.set_language_model(move |request| {
        let user = request.pointer("/messages/1/content").and_then(Value::as_str).unwrap_or_default();
        let (_, how) = by_port.iter().find(|(port, _)| user.contains(port.as_str())).expect("an item of this test");
        spoilt(how, &agrees(request))
    });
    let claims: Vec<String> = ports.iter().map(|port| claim(port)).collect();
    let items: Vec<(&str, &str)> = ways.iter().copied().zip(claims.iter().map(String::as_str)).collect();
    let results = home.enrich(&items).await;
    assert_eq!(results.len(), ways.len());
    for how in ways {
        let result = &results[how];
        assert_eq!(result["claims"][0]["verdict"], "supported", "{how}: what stands without it stands: {result:#}");
        let is_read = READ.contains(&how);
        assert_eq!((is_heard(result), is_degraded(result)), (is_read, !is_read), "{how}: {result:#}");
    }
    assert_eq!(results["odd envelope"]["cost"]["llm_tokens"], 990);
    assert!(results["no usage"]["cost"]["llm_tokens"].as_u64().unwrap() > 500, "estimated");
    assert_eq!(results["fenced"]["cost"]["llm_calls"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_server_that_fails_degrades_the_item_and_nothing_else() {
    let faults: [(&str, Fault); 6] = [
        ("outage", Fault::outage()),
        ("server error", Fault::status(503)),
        ("overloaded", Fault::status(529)),
        ("html", Fault::answer(200, "text/html", "<html>Welcome!</html>")),
        ("truncated", Fault::truncated("application/json", "{\"choices\": [{\"mess")),
        ("slow", Fault::slow(Duration::from_secs(20))),
    ];
    let ports = ports(faults.len() as u64 + 1);
    let mut home = Home::new(&ports).await;
    home.set("LLM_TIMEOUT", "2s");
    home.simulator.set_language_model(|request| Script::Object(agrees(request)));
    for ((name, fault), port) in faults.into_iter().zip(&ports) {
        home.simulator.set_fault(Target::LanguageModel, fault);
        let results = home.enrich(&[(name, &claim(port))]).await;
        assert!(is_degraded(&results[name]) && !is_heard(&results[name]), "{name}: {results:#?}");
        assert_eq!(results[name]["claims"][0]["verdict"], "supported", "{name}");
    }
    home.simulator.set_fault(Target::LanguageModel, None);
    let well = home.enrich(&[("well", &claim(&ports[6]))]).await;
    assert!(is_heard(&well["well"]) && !is_degraded(&well["well"]), "{well:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_the_same_question_is_asked_once_and_costs_once() {
    let ports = ports(1);
    let mut home = Home::new(&ports).await;
    home.set("LLM_INPUT_USD_PER_MILLION", "10");
    home.set("LLM_OUTPUT_USD_PER_MILLION", "30");
    home.simulator.set_language_model(|request| Script::Object(agrees(request)));
    let text = claim(&ports[0]);
    let first = home.enrich(&[("first", &text)]).await;
    assert_eq!(home.simulator.calls(Target::LanguageModel), 1, "{first:#?}");
    let cost = &first["first"]["cost"];
    let (usd, tokens) = (cost["usd"].as_f64().unwrap(), cost["llm_tokens"].as_f64().unwrap());
    assert!(usd > tokens * 10e-6 && usd < tokens * 30e-6, "settled by what was used: {cost}");
    let second = home.enrich(&[("second", &text)]).await;
    assert!(is_heard(&second["second"]), "{second:#?}");
    assert_eq!(home.simulator.calls(Target::LanguageModel), 1, "another process knows the answer");
    assert_eq!(second["second"]["cost"]["llm_calls"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_the_caps_of_the_month_and_of_an_item_stop_calls() {
    let ports = ports(2);
    let mut home = Home::new(&ports).await;
    home.set("LLM_COST_USD", "0.5");
    home.simulator.set_language_model(|request| Script::Object(agrees(request)));
    for (name, value, port) in
        [("ENRICHMENT_MONTHLY_CAP_USD", "0.4", &ports[0]), ("LLM_USD_PER_ITEM", "0.4", &ports[1])]
    {
        let before = home.environment.clone();
        home.set(name, value);
        if name == "LLM_USD_PER_ITEM" {
            home.set("ENRICHMENT_MONTHLY_CAP_USD", "10");
        }
        let results = home.enrich(&[(name, &claim(port))]).await;
        assert!(is_degraded(&results[name]), "{results:#?}");
        assert_eq!(home.simulator.calls(Target::LanguageModel), 0, "{name}");
        home.environment = before;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_doctor_says_what_is_wrong_with_the_language_model() {
    let mut home = Home::new(&[]).await;
    let line = |done: &Finished| {
        let found = done.stdout.lines().find(|line| line.contains("language model "));
        found.unwrap_or_else(|| panic!("no line in:\n{}", done.stdout)).to_owned()
    };
    home.simulator.set_language_model(|_| Script::Cut("y".to_owned()));
    let free = line(&home.run(&["doctor"], "").await);
    assert!(free.starts_with('-') && free.contains("--paid"), "{free}");
    let offline = line(&home.run(&["doctor", "--offline"], "").await);
    assert!(offline.starts_with('-') && offline.contains("--offline"), "{offline}");
    assert_eq!(home.simulator.calls(Target::LanguageModel), 0);
    let well = line(&home.run(&["doctor", "--paid"], "").await);
    assert!(well.starts_with("ok") && well.contains("answers") && well.contains("adjudicate"), "{well}");
    let asked = home.simulator.asked_language_model();
    assert_eq!(asked[0]["max_tokens"], 1, "{asked:#?}");

    let nobody = format!("http://{}/v1", free_address());
    let page = home.simulator.base_url(Target::LanguageModel).replace("/llm/v1", "/elsewhere");
    for (name, value, says) in [
        ("LLM_API_KEY", "wrong", "refuses the key"),
        ("LLM_MODEL", "no-such-model", "no model \"no-such-model\""),
        ("LLM_BASE_URL", nobody.as_str(), "could not be reached"),
        ("LLM_BASE_URL", page.as_str(), "LLM_BASE_URL"),
    ] {
        let before = home.environment.clone();
        home.set(name, value);
        let done = home.run(&["doctor", "--paid"], "").await;
        let said = line(&done);
        assert!(said.starts_with("FAIL") && said.contains(says), "{name}={value}: {said}");
        assert_ne!(done.code, 0);
        home.environment = before;
    }
}

#[tokio::test]
async fn the_prompts_can_be_read() {
    let listed = finish(&[], &["config", "prompts", "--json"], "").await.json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"adjudicate") && names.contains(&"translate"), "{names:?}");
    assert!(listed.as_array().unwrap().iter().all(|one| one["version"].as_u64() > Some(0)));
    let text = finish(&[], &["config", "prompts"], "").await;
    assert!(
        text.ok().contains("adjudicate (purpose adjudicate, version") && text.stdout.contains("You check news claims")
    );
}
