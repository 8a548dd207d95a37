// Other people's text, links at the passage, and the names of places.

import assert from "node:assert/strict";
import test from "node:test";

import { inItsLetters, outletName, placeName } from "../../../extension/shared/domains.mjs";
import { atPassage, webAddress } from "../../../extension/shared/fragment.mjs";
import { plain, shorten } from "../../../extension/shared/plain.mjs";
import { WORDS } from "../lib/words.mjs";

const { en, ru } = WORDS;

test("other people's text stays in one line, in its direction and within its length", () => {
  assert.equal(plain("a\r\nb\tc\u2028d"), "a b c d");
  assert.equal(plain("safe\u202egnp.exe\u2066x\u200f"), "safegnp.exex");
  assert.equal(plain("a\u0000\u001b[2Jb"), "a\ufffd\ufffd[2Jb");
  assert.equal(plain("e" + "\u0301".repeat(1000)), "e" + "\u0301".repeat(4));
  assert.equal(plain("\ud800x"), "\ufffdx", "half a character");
  for (const value of [null, undefined, 3, {}, []]) assert.equal(plain(value), "");
  assert.equal(Array.from(plain("x".repeat(10_000), 100)).length, 101);
});

test("a text is cut between characters, never inside one", () => {
  assert.equal(shorten("😀😀😀", 2), "😀😀…");
  assert.equal(shorten("ab", 2), "ab");
  assert.equal(shorten("😀😀", 2), "😀😀");
  assert.equal(shorten("👩\u200d👧x", 2), "👩…", "no joiner is left hanging");
  assert.ok(plain("👨‍👩‍👧‍👦".repeat(2500), 50).isWellFormed());
});

test("only addresses of the web become links", () => {
  const others = ["javascript:alert(1)", " JavaScript:alert(1)", "data:text/html,x", "corpus://a/b.md", "api://x", "file:///etc/passwd", "", null, 5, "https://", "//a.example"];
  for (const address of others) assert.equal(webAddress(address), null, String(address));
  assert.equal(webAddress("HTTPS://A.example/b"), "https://a.example/b");
  assert.equal(webAddress("https://bank.example@evil.example/x"), "https://evil.example/x", "no user name in front");
  assert.equal(webAddress("https://a.example/x/#seed-fact"), "https://a.example/x/");
  assert.equal(webAddress('https://a.example/"><script>'), "https://a.example/%22%3E%3Cscript%3E");
});

test("a link opens at the passage", () => {
  assert.equal(atPassage("https://a.example/1", "It is not so."), "https://a.example/1#:~:text=It%20is%20not%20so");
  assert.equal(atPassage("https://a.example/1#top", "x"), "https://a.example/1#top:~:text=x");
  assert.equal(atPassage("https://a.example/", "“50-50, A & B”…"), "https://a.example/#:~:text=50%2D50%2C%20A%20%26%20B");
  assert.equal(atPassage("https://a.example/", "…"), "https://a.example/");
  assert.equal(atPassage("https://a.example/", null), "https://a.example/");
  assert.equal(atPassage("corpus://a/b", "x"), null);
});

test("of a long passage the beginning and the end are named", () => {
  const passage = "The Eiffel Tower is 330 metres tall, about the same height as an 81-storey building, and the tallest structure in Paris.";
  const [, directive] = atPassage("https://a.example/", passage).split("text=");
  assert.deepEqual(directive.split(",").map(decodeURIComponent), ["The Eiffel Tower is 330 metres", "the tallest structure in Paris"]);
  for (const hostile of ["\ud800".repeat(500), "漢字".repeat(5000), "a-b,c&d ".repeat(2000), " ".repeat(10_000)]) {
    const href = atPassage("https://a.example/", hostile);
    assert.ok(href.length < 2000 && new URL(href).host === "a.example");
  }
});

test("a domain is shown in its letters unless these pass for another name", () => {
  for (const [stored, shown] of [
    ["xn--e1afmkfd.xn--p1ai", "пример.рф"],
    ["news.xn--e1afmkfd.xn--p1ai", "news.пример.рф"],
    ["xn--bcher-kva.example", "bücher.example"],
    ["example.org", "example.org"],
    ["xn--80ak6aa92e.com", "xn--80ak6aa92e.com"],
    ["xn--pypal-4ve.com", "xn--pypal-4ve.com"],
    ["xn--zzzzzzzzzzz.com", "xn--zzzzzzzzzzz.com"],
    ["xn--.com", "xn--.com"],
    ["xn--wgv71a119e.jp", "日本語.jp"],
  ]) {
    assert.equal(inItsLetters(stored), shown, stored);
  }
});

test("an own document is named by what it is and its lines", () => {
  assert.equal(outletName("corpus:gazette", en), "gazette (own documents)");
  assert.equal(outletName("corpus:gazette", ru), "gazette (собственные документы)");
  assert.equal(placeName("corpus://gazette/bridge.md#L3-L3", en), "bridge.md, line 3");
  assert.equal(placeName("corpus://gazette/2026/%D0%BC%D1%96%D1%81%D1%82.md#L3-L5", ru), "2026/міст.md, строки 3–5");
  assert.equal(placeName("corpus://x/%E0%A4%A", en), "%E0%A4%A");
  assert.equal(placeName("database://harbours/ports", en), "harbours: ports");
  assert.equal(placeName("javascript:alert(1)", en), "javascript:alert(1)");
  assert.equal(outletName("evil\u202e.example", en), "evil.example");
});
