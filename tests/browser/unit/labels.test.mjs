// The words of the extension: complete in every language, and the same as the daemon's own.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import test from "node:test";

import { causeOf, firmness, notesOf, stanceKey } from "../../../extension/shared/labels.mjs";
import { LOCALES, pickLocale, Words } from "../../../extension/shared/words.mjs";
import { messagesOf, WORDS } from "../lib/words.mjs";

const ROOT = new URL("../../../", import.meta.url);

test("every language has the same messages, none of them empty, with the same places for values", async () => {
  const english = await messagesOf("en");
  const values = (text) => [...new Set(text.match(/\$\d/g) ?? [])].sort();
  for (const locale of LOCALES) {
    const messages = await messagesOf(locale);
    assert.deepEqual(Object.keys(messages), Object.keys(english), locale);
    for (const [key, { message }] of Object.entries(messages)) {
      assert.ok(message.trim(), `${locale}: ${key} is empty`);
      assert.deepEqual(values(message), values(english[key].message), `${locale}: ${key}`);
      assert.match(key, /^[A-Za-z0-9_]+$/, "a name that browsers take");
    }
  }
});

test("a word of results is the daemon's word, in all four languages", async () => {
  const source = await readFile(new URL("crates/judging/src/labels.rs", ROOT), "utf8");
  const places = await readFile(new URL("crates/judging/src/labels/places.rs", ROOT), "utf8");
  const four = /words\(\s*((?:"(?:[^"\\]|\\.)*",?\s*){4})\)/g;
  const rows = new Set();
  for (const [, list] of `${source}${places}`.matchAll(four)) rows.add(JSON.stringify(list.match(/"(?:[^"\\]|\\.)*"/g).map((text) => JSON.parse(text))));
  for (const [, name] of source.matchAll(/name\("([^"]+)"\)/g)) rows.add(JSON.stringify(Array(4).fill(name)));
  assert.ok(rows.size > 60, "the daemon's words could be read");
  const all = await Promise.all(LOCALES.map(messagesOf));
  const daemons = /^(verdict|tier|note|stance|review|correction|cause|asked)_|^(decisive|lean|confidence|support|out_of_100|no_date|gaps|also_reported_by|line|lines)$/;
  // "gatherer" is newer than some of the daemons that this extension talks to.
  for (const key of Object.keys(all[0]).filter((key) => daemons.test(key) && key !== "asked_gatherer")) {
    const row = all.map((messages) => messages[key].message);
    assert.ok(rows.has(JSON.stringify(row)), `${key}: ${row.join(" | ")} is not among the daemon's words`);
  }
});

test("what the server's own page says is said in the same words", async () => {
  const rows = (await readFile(new URL("src/http/ui/words.tsv", ROOT), "utf8")).split("\n").map((line) => line.split("\t"));
  const page = new Map(rows.map(([key, ...words]) => [key, words.map((text) => text.toLowerCase())]));
  const pairs = {
    ui_you_asked: "card.asked", ui_checked: "card.checked", ui_for: "card.for", ui_against: "card.against", ui_neutral: "card.beside", ui_none_for: "card.none_for",
    ui_none_against: "card.none_against", ui_said: "card.was", ui_corrected: "card.is", ui_how: "card.trace",
    ui_open_passage: "card.open", ui_kind: "card.kind", ui_copy: "share.text", ui_check: "check.go", ui_cancel: "check.cancel",
    ui_again: "check.again", ui_signal: "foot.promise", credibility: "card.credibility", believed_allow: "believed.allowed",
    believed_deny: "believed.denied", believed_none: "believed.no_rule",
  };
  const same = (key) => pairs[key] ?? (/^(stage|kind)_/.test(key) ? key.replace("_", ".") : null);
  const all = await Promise.all(LOCALES.map(messagesOf));
  const own = ["stage_start", "stage_unknown"];
  for (const key of Object.keys(all[0]).filter((name) => same(name) && !own.includes(name))) {
    assert.deepEqual(all.map((messages) => messages[key].message.toLowerCase()), page.get(same(key)), key);
  }
  for (const stage of [...page.keys()].filter((key) => key.startsWith("stage."))) assert.ok(WORDS.en.has(stage.replace(".", "_")), stage);
});

test("what would make an answer firm is said in the daemon's words", async () => {
  const source = await readFile(new URL("crates/judging/src/labels/firmness.rs", ROOT), "utf8");
  for (const locale of LOCALES) {
    for (const [key, { message }] of Object.entries(await messagesOf(locale))) {
      if (/^(firmer_|ui_firmer$|confidence_means$)/.test(key)) assert.ok(source.includes(message.replace("$1", "{n}")), `${locale}: ${key}`);
    }
  }
});

test("every message that the code names is there", async () => {
  const folder = new URL("extension/", ROOT);
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.(mjs|js|html|json)$/.test(name) && !name.startsWith("_locales"));
  for (const name of files) {
    const text = await readFile(new URL(name, folder), "utf8");
    const named = [...text.matchAll(/\.say\("(\w+)"|data-word="(\w+)"|__MSG_(\w+?)__/g)].map((found) => found[1] ?? found[2] ?? found[3]);
    const shown = [...text.matchAll(/\bwords\.([a-z_]+)\b(?!\()/g)].map((found) => `ui_${found[1]}`);
    const own = ["ui_locale", "ui_tag", "ui_lang", "ui_mjs"];
    for (const key of [...named, ...shown.filter((key) => !own.includes(key))]) assert.ok(WORDS.en.has(key), `${name} names ${key}`);
  }
});

test("no message is left that nothing says", async () => {
  const folder = new URL("extension/", ROOT);
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.(mjs|js|html|json)$/.test(name) && !name.startsWith("_locales"));
  const source = (await Promise.all(files.map((name) => readFile(new URL(name, folder), "utf8")))).join("\n");
  const unsaid = [];
  const made = /^(verdict|tier|note|stance|review|correction|kind|problem|advice|cause|asked|site|stage|same_story)_/;
  for (const key of Object.keys(await messagesOf("en")).filter((name) => !made.test(name))) {
    const named = key.startsWith("ui_") ? new RegExp(`\\bwords\\.${key.slice(3)}\\b|${key}`) : new RegExp(`"${key}"|__MSG_${key}__`);
    if (!named.test(source)) unsaid.push(key);
  }
  assert.deepEqual(unsaid, []);
});

test("the language is the one that was chosen, else the first of the browser's that is spoken", () => {
  assert.equal(pickLocale("uk", ["ru"]), "uk");
  assert.equal(pickLocale("", ["de-AT", "pt-PT", "en"]), "pt_BR");
  assert.equal(pickLocale("xx", ["uk-UA"]), "uk");
  assert.equal(pickLocale("", ["ja"]), "en");
});

test("numbers, days and plurals are written as the language writes them", () => {
  const { en, ru, uk, pt_BR: pt } = WORDS;
  assert.deepEqual([en, ru, uk, pt].map((words) => words.figure(0.857)), ["0.86", "0,86", "0,86", "0,86"]);
  assert.deepEqual([1, 3, 5, 21].map((number) => ru.count("same_story", number)), [
    "тот же текст ещё у 1 издания, учитывается один раз",
    "тот же текст ещё у 3 изданий, учитывается один раз",
    "тот же текст ещё у 5 изданий, учитывается один раз",
    "тот же текст ещё у 21 издания, учитывается один раз",
  ]);
  assert.equal(en.count("same_story", 1), "same story as 1 other outlet: they count once");
  assert.equal(en.day("2026-11-18T07:15:00Z"), "Nov 18, 2026");
  for (const bad of [null, undefined, "", "yesterday", {}]) assert.equal(en.day(bad), "no date", String(bad));
  assert.equal(new Words("en", {}).say("nothing_of_ours"), "nothing_of_ours");
});

test("what could not be asked is told in words, whatever is stored", () => {
  const said = (cause) => causeOf(cause, WORDS.en);
  assert.equal(said("provider_open:gdelt"), "GDELT: takes no requests at the moment");
  assert.equal(said("provider_failed:my:own"), "my:own: no usable answer");
  assert.equal(said("deadline"), "time ran out");
  for (const unknown of ["later_version", "provider_open", "deadline:x", "unknown", "", "constructor", "__proto__"]) {
    assert.equal(said(unknown), "another fault", unknown);
  }
});

test("notes say nothing against the verdict and nothing twice", () => {
  const of = (verdict, notes, evidence = []) => notesOf({ verdict, notes, evidence }, WORDS.en);
  assert.deepEqual(of("refuted", ["no_corroboration", "no_sources", "single_source"]), ["one source only"]);
  assert.deepEqual(of("not_enough_evidence", ["no_corroboration", "no_sources", "only_related"]), ["no sources found"]);
  assert.deepEqual(of("supported", ["conflicting_sources"], [{ stance: "supports" }, { stance: "contradicts" }]), ["sources disagree"]);
  assert.deepEqual(of("contested", ["conflicting_sources"], [{ stance: "supports" }, { stance: "contradicts" }]), []);
  assert.deepEqual(of("supported", ["of_a_later_version", null]), []);
});

test("only a verdict that takes a side is firm or a lean, and only true is firm", () => {
  assert.equal(firmness("supported", true), "decisive");
  assert.equal(firmness("refuted", false), "lean");
  assert.equal(firmness("refuted", "yes"), "lean");
  assert.equal(firmness("contested", true), null);
});

test("a passage that takes no side may still lean", () => {
  assert.equal(stanceKey({ stance: "neutral", contradict: 0.5, entail: 0.1 }), "stance_may_contradict");
  assert.equal(stanceKey({ stance: "neutral", contradict: 0.4, entail: 0.5 }), "stance_may_support");
  assert.equal(stanceKey({ stance: "neutral", contradict: 0.1, entail: 0.1 }), "stance_neutral");
  assert.equal(stanceKey({ stance: "of a later version" }), "stance_neutral");
});
