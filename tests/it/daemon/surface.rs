//! The pages and what people do at them, on the real program with everything inside it.

use serde_json::{Value, json};

use super::embedded::{Home, stored};
use crate::support::app::TestApp;
use crate::support::daemon::{Answer, Daemon, finish, until};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, UNTOLD, item};

/// A page must be small enough for a phone on a bad line.
const MOST_BYTES: usize = 100 * 1024;

pub(super) const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// A page, which is whole, small, under the policy, and holds no script of others.
pub(super) async fn page(daemon: &Daemon, path: &str, headers: &[&str]) -> Answer {
    let answer = daemon.send("GET", path, headers, "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    assert!(answer.head.contains("content-security-policy: default-src 'none'; style-src 'self'"), "{path}");
    assert!(answer.body.trim_end().ends_with("</html>") && answer.body.len() < MOST_BYTES, "{path}");
    assert_eq!(answer.body.matches("<script").count(), 1, "{path}: our own alone");
    assert!(!answer.body.contains(" style=") && !answer.body.contains(" onclick="), "{path}");
    answer
}

/// The page's own token against forged forms.
pub(super) fn csrf(page: &Answer) -> String {
    let after = page.body.split("name=\"csrf\" value=\"").nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

fn cookie_of(answer: &Answer) -> String {
    let line = answer.head.lines().find(|line| line.starts_with("set-cookie: corroborate_session=")).unwrap();
    assert!(line.contains("httponly") && line.contains("samesite=lax"), "{line}");
    format!("Cookie: {}", line.trim_start_matches("set-cookie: ").split(';').next().unwrap())
}

/// Signs in: the cookie.
pub(super) async fn sign_in(daemon: &Daemon, token: &str) -> Option<String> {
    let answer = daemon.send("POST", "/sign-in", &[FORM], &format!("token={token}&back=%2Fitems")).await;
    match answer.status {
        303 => Some(cookie_of(&answer)),
        status => {
            assert_eq!(status, 401);
            assert!(answer.body.contains("Unknown token"), "{}", answer.body);
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_checked_by_a_form_and_its_answer_has_an_address() {
    let home = Home::new().await;
    let daemon = home.start().await;
    let form = page(&daemon, "/", &["Accept-Language: uk"]).await;
    assert!(form.body.contains("<html lang=\"uk\">") && form.body.contains("Перевірити твердження"));
    let claim = TOLD.replace(' ', "+").replace(',', "%2C");
    let sent = daemon.send("POST", "/check", &[FORM], &format!("claim={claim}&language=en&vocabulary=module")).await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    let address = sent.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned();
    assert!(address.starts_with("/evidence/check%3a") && address.ends_with("?vocabulary=module"), "{address}");
    let answer = page(&daemon, &address, &[]).await;
    for part in [
        "✓",
        "Supported",
        "For the claim",
        "No source found contradicts it",
        ":~:text=",
        "<mark>",
        "module: ",
        "similarity of the passages to the claim: ",
    ] {
        assert!(answer.body.contains(part), "{part} is missing in {}", answer.body);
    }
    let ours = daemon.send("POST", "/check", &[FORM], &format!("claim={claim}&language=en")).await;
    let address = ours.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    assert!(!address.contains("vocabulary"), "our vocabulary is the default: {address}");
    let empty = daemon.send("POST", "/check", &[FORM], "claim=+").await;
    assert_eq!(empty.status, 422);
    assert!(empty.body.contains("role=\"alert\"") && empty.body.contains("the claim is empty"));
    let unknown = daemon.send("GET", "/evidence/nobody", &["Accept: text/html", "Accept-Language: ru"], "").await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.contains("ещё не обработан"), "{}", unknown.body);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_tells_how_it_goes_and_ends_with_its_answer() {
    let home = Home::new().await;
    home.simulator.set_fault(Target::Gdelt, Fault::status(500));
    let daemon = home.start().await;
    let stream = ["Accept: text/event-stream, application/json"];
    let body = json!({ "claim": TOLD, "language": "en" }).to_string();
    let told = daemon.send("POST", "/api/verify", &stream, &body).await;
    assert!(told.head.contains("content-type: text/event-stream"), "{}", told.head);
    let events: Vec<(&str, Value)> = events(&told.body);
    let names: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.last(), Some(&"answer"), "{names:?}");
    let stages: Vec<&str> =
        events.iter().filter(|(name, _)| *name == "stage").filter_map(|(_, data)| data["stage"].as_str()).collect();
    let place =
        |stage: &str| stages.iter().position(|one| *one == stage).unwrap_or_else(|| panic!("{stage}: {stages:?}"));
    assert!(
        place("claims") < place("retrieve") && place("retrieve") < place("judge") && place("judge") < place("commit")
    );
    let answer = &events.last().unwrap().1;
    assert_eq!(answer["result"]["claims"][0]["verdict"], "supported", "{answer}");
    // A card for a page, with what could not be asked in the reader's words.
    let card =
        daemon.send("POST", "/check/stream", &[FORM, "Accept: text/event-stream"], "claim=Quelbar+burned+down.").await;
    let events: Vec<(&str, Value)> = self::events(&card.body);
    let (name, data) = events.last().unwrap();
    assert_eq!(*name, "card", "{}", card.body);
    assert!(data["html"].as_str().unwrap().contains("<article class=\"card"));
    let problem = daemon.send("POST", "/check/stream", &[FORM, "Accept: text/event-stream"], "claim=").await;
    assert_eq!((problem.status, &problem.json()["type"]), (422, &json!("urn:corroborate:problem:invalid")));
    daemon.stop().await;
}

fn events(body: &str) -> Vec<(&str, Value)> {
    let event = |text: &'static str| {
        move |block: &str| block.lines().find_map(|line| line.strip_prefix(text)).map(str::to_owned)
    };
    body.split("\n\n")
        .filter_map(|block| {
            let name = block.lines().find_map(|line| line.strip_prefix("event: "))?;
            Some((name, serde_json::from_str(&event("data: ")(block)?).unwrap()))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_do_what_is_told_by_tokens_and_written_down() {
    let mut home = Home::new().await;
    home.set("ADMIN_TOKEN", "the-admin-secret");
    home.set("CORROBORATE_HTTP_READ_TOKEN", "the-reader-secret");
    let daemon = home.start().await;
    let html = "Accept: text/html";
    let led = daemon.send("GET", "/items?q=a", &[html], "").await;
    assert_eq!(led.status, 303);
    assert!(led.head.contains("location: /sign-in?back=%2fitems%3fq%3da"), "{}", led.head);
    assert!(sign_in(&daemon, "guessed").await.is_none());

    let admin = sign_in(&daemon, "the-admin-secret").await.unwrap();
    let tokens = page(&daemon, "/tokens", &[&admin]).await;
    let forged = daemon.send("POST", "/tokens", &[FORM, &admin], "action=make&name=desk&scope=check").await;
    assert_eq!(forged.status, 403, "a form of another page");
    let form = format!("csrf={}&action=make&name=night+desk&scope=check&rate=8", csrf(&tokens));
    let made = daemon.send("POST", "/tokens", &[FORM, &admin], &form).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let token = made.body.split("<code>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    assert!(token.starts_with("cor_"), "{token}");
    assert!(!page(&daemon, "/tokens", &[&admin]).await.body.contains(&token), "it is shown once");

    let bearer = format!("Authorization: Bearer {token}");
    let asked = async |method: &str, path: &str, body: &str| daemon.send(method, path, &[&bearer], body).await.status;
    let rule = json!({ "domain": "a.example", "list": "deny" }).to_string();
    assert_eq!(asked("GET", "/api/items", "").await, 200);
    assert_eq!(asked("POST", "/api/verify", &json!({ "claim": UNTOLD }).to_string()).await, 200);
    assert_eq!(asked("POST", "/api/domains", &rule).await, 403, "not an admin's");
    let reader = ["Authorization: Bearer the-reader-secret"];
    assert_eq!(daemon.send("GET", "/api/overview", &reader, "").await.status, 200);
    assert_eq!(daemon.send("POST", "/api/verify", &reader, &json!({ "claim": UNTOLD }).to_string()).await.status, 403);
    until("its rate is used up", async || asked("GET", "/api/items", "").await == 429).await;

    let desk = sign_in(&daemon, &token).await.unwrap();
    let revoked = finish(&home.environment, &["tokens", "revoke", "night desk"], "").await;
    assert!(revoked.ok().contains("is revoked"));
    until("the token ended", async || asked("GET", "/api/items", "").await == 401).await;
    until("its session ended", async || daemon.send("GET", "/items", &[&desk, html], "").await.status == 303).await;
    let listed = finish(&home.environment, &["tokens", "list"], "").await;
    assert!(listed.ok().contains("night desk") && listed.stdout.contains("revoked") && !listed.stdout.contains(&token));

    let record = page(&daemon, "/audit", &[&admin]).await;
    for part in ["token.add", "token.revoke", "night desk", "ADMIN_TOKEN at 127.0.0.1"] {
        assert!(record.body.contains(part), "{part}");
    }
    let out = format!("csrf={}", csrf(&record));
    let left = daemon.send("POST", "/sign-out", &[FORM, &admin], &out).await;
    assert!(left.status == 303 && left.head.contains("corroborate_session=; path=/; httponly"), "{}", left.head);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_is_judged_again_and_its_earlier_answer_is_kept() {
    let home = Home::new().await;
    let daemon = home.start().await;
    daemon.post("/api/items", &item("again", DISPUTED)).await;
    let first = stored(&daemon, "again").await;
    assert_eq!(daemon.get("/api/items/again/history").await.json()["items"], json!([]));
    let again = daemon.post("/api/items/again/again", &json!({})).await;
    assert_eq!(again.status, 200, "{}", again.body);
    let again = again.json();
    assert_ne!(again["enriched_at"], first["enriched_at"], "it was judged, not read");
    assert_eq!(again["claims"][0]["verdict"], first["claims"][0]["verdict"]);
    assert_eq!(again["language"], "en", "the item is as it was sent");
    let history = daemon.get("/api/items/again/history").await.json();
    assert_eq!(history["items"][0]["verdict"], first["claims"][0]["verdict"], "{history}");
    assert_eq!(daemon.get("/api/items/nobody/history").await.status, 404);
    assert_eq!(daemon.post("/api/items/nobody/again", &json!({})).await.status, 404);
    let shown = page(&daemon, "/evidence/again", &[]).await;
    assert!(shown.body.contains("Earlier answers") && shown.body.contains("Re-evaluate"));
    let form = format!("csrf={}", csrf(&shown));
    assert_eq!(daemon.send("POST", "/evidence/again/again", &[FORM], &form).await.status, 303);
    assert_eq!(daemon.get("/api/items/again/history").await.json()["items"].as_array().unwrap().len(), 2);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_narrowed_and_taken_away() {
    let home = Home::new().await;
    let daemon = home.start().await;
    for (id, text) in [("told", TOLD), ("once", ONCE), ("disputed", DISPUTED), ("untold", UNTOLD)] {
        daemon.post("/api/items", &item(id, text)).await;
        stored(&daemon, id).await;
    }
    let ids = async |query: &str| {
        let found = daemon.get(&format!("/api/items?{query}")).await;
        assert_eq!(found.status, 200, "{query}: {}", found.body);
        let mut ids: Vec<String> = found.json()["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["item_id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("contradiction=true").await, ["disputed"]);
    assert_eq!(ids("verdict=not_enough_evidence").await, ["untold"]);
    assert_eq!(ids("verdict=supported&q=velmora").await, ["told"]);
    let (firm, leans) = (ids("firmness=firm").await, ids("firmness=lean").await);
    assert!(!firm.iter().any(|id| leans.contains(id)) && !firm.contains(&"untold".to_owned()), "{firm:?} {leans:?}");
    assert_eq!(
        ids("language=uk").await.len() + ids("channel=%40nobody").await.len() + ids("degraded=true").await.len(),
        0
    );
    assert_eq!(ids("since=2000-01-01&channel=%40own&language=en&degraded=false").await.len(), 4);
    assert_eq!(daemon.get("/api/items?since=yesterday").await.status, 400);
    let list = page(&daemon, "/items?verdict=supported&q=&since=&channel=", &[]).await;
    assert!(list.body.contains("/evidence/told") && !list.body.contains("/evidence/untold"));
    let wrong = page(&daemon, "/items?verdict=maybe", &["Accept: text/html"]).await;
    assert!(wrong.body.contains("role=\"alert\"") && wrong.body.contains("verdict is one of"));
    let export = daemon.get("/items/export?contradiction=true").await;
    let line: Value = serde_json::from_str(export.body.trim()).unwrap();
    assert_eq!(line["item_id"], "disputed");
    let overview = page(&daemon, "/overview", &[]).await;
    assert!(overview.body.contains("<svg class=\"chart\"") && overview.body.contains("comparison of words only"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn domain_preview_changes_nothing_and_a_table_is_imported() {
    let home = Home::new().await;
    let daemon = home.start().await;
    daemon.post("/api/items", &item("once", ONCE)).await;
    let verdict = stored(&daemon, "once").await["claims"][0]["verdict"].clone();
    assert_eq!(verdict, "supported");
    let source = daemon.get("/api/items/once/evidence").await.json()["items"][0]["url"].as_str().unwrap().to_owned();
    let host = source.split('/').nth(2).unwrap().split(':').next().unwrap().to_owned();
    let deny = json!({ "domain": host, "list": "deny", "why": "a test" });
    let preview = daemon.post("/api/domains/preview", &deny).await.json();
    assert_eq!((&preview["action"], &preview["stored_pages"]), (&json!("add"), &json!(1)), "{preview}");
    let rules = daemon.get("/api/domains").await.body;
    assert!(!rules.contains(&host), "{rules}");

    let lists = page(&daemon, "/domains", &[]).await;
    let form = format!("csrf={}&domain={host}&list=deny&why=a+test&action=preview", csrf(&lists));
    let planned = daemon.send("POST", "/domains/change", &[FORM], &form).await;
    assert!(planned.body.contains("Stored pages under this domain: 1"), "{}", planned.body);
    assert_eq!(daemon.post("/api/domains", &deny).await.status, 201);
    let audit = daemon.get("/api/audit").await.json();
    assert_eq!((&audit["items"][0]["subject"], &audit["items"][0]["action"]), (&json!(host), &json!("domain.add")));
    assert_eq!(audit["items"][0]["detail"]["why"], "a test");

    let csv = "domain,list,why\nnew.example,deny,=1+1\nbad line,allow,\nbbc.com,deny,turned\n";
    let tried = daemon.post("/api/domains/import", &json!({ "csv": csv, "dry_run": true })).await.json();
    let done = daemon.post("/api/domains/import", &json!({ "csv": csv })).await.json();
    assert_eq!(tried, done);
    assert_eq!((&done["added"], &done["changed"], &done["refused_count"]), (&json!(1), &json!(1), &json!(1)), "{done}");
    let export = daemon.get("/api/domains/export").await;
    assert!(export.head.contains("text/csv") && export.body.contains("new.example,deny,,,'=1+1"), "{}", export.body);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_wrote_is_text_and_nothing_else() {
    let home = Home::new().await;
    let daemon = home.start().await;
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\u{2066}\"'`</textarea></p>";
    let long = "🙂a".repeat(5_000);
    for (id, text) in [("a<b>&\"'", format!("{TOLD} {hostile}")), ("long", format!("{TOLD} {long}"))] {
        let mut sent = item(id, &text);
        sent["title"] = json!(hostile);
        sent["channel"] = json!(hostile);
        assert_eq!(daemon.post("/api/items", &sent).await.status, 202);
    }
    stored(&daemon, "long").await;
    stored(&daemon, "a%3Cb%3E%26%22%27").await;
    for path in [
        "/items",
        "/evidence/a%3Cb%3E%26%22%27",
        "/evidence/long",
        "/overview",
        "/items?q=%3Cscript%3E&channel=%22%3E%3Cb",
    ] {
        let shown = page(&daemon, path, &[]).await;
        assert!(!shown.body.contains("<img src=x") && !shown.body.contains('\u{202e}'), "{path}: {}", shown.body);
    }
    let token = "</code><script>alert(3)</script>";
    let named = daemon.post("/api/tokens", &json!({ "name": token, "scope": "read" })).await;
    assert_eq!(named.status, 201, "{}", named.body);
    let listed = page(&daemon, "/tokens", &[]).await;
    assert!(
        !listed.body.contains("<script>alert") && listed.body.contains("&#60;script&#62;alert(3)"),
        "{}",
        listed.body
    );
    let back = daemon.get("/language?to=ru&back=%2F%2Fevil.example").await;
    assert!(back.status == 303 && back.head.contains("location: /\r\n"), "{}", back.head);
    daemon.post("/api/items", &json!("<script>alert(4)</script>")).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_says_that_the_database_is_away() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.close_database().await;
    let html = ["Accept: text/html", "Accept-Language: en"];
    let shown = daemon.send("GET", "/items", &html, "").await;
    assert_eq!(shown.status, 503);
    assert!(shown.body.contains("<html") && shown.body.contains("the store cannot be reached"), "{}", shown.body);
    assert!(shown.head.contains("retry-after"));
    let check = daemon.send("GET", "/", &html, "").await;
    assert_eq!(check.status, 200, "the form needs no store");
    let stream = ["Accept: text/event-stream"];
    let told = daemon.send("POST", "/api/verify", &stream, &json!({ "claim": TOLD }).to_string()).await;
    assert!(told.body.contains("event: problem") && told.body.contains("store-away"), "{}", told.body);
    app.open_database().await;
    until("the page is back", async || daemon.send("GET", "/items", &html, "").await.status == 200).await;
    app.finish(daemon).await;
}
