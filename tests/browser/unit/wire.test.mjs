// The address, the stream and the words for what goes wrong.

import assert from "node:assert/strict";
import test from "node:test";

import { isAmong, networkOf, permissionFor, readAddress, readDomain } from "../../../extension/shared/address.mjs";
import { faultOf, problemOf } from "../../../extension/shared/problems.mjs";
import { EventStream } from "../../../extension/shared/sse.mjs";
import { WORDS } from "../lib/words.mjs";

test("an address is taken as people type it", () => {
  for (const [typed, base, encrypted] of [
    ["https://check.example/", "https://check.example", true],
    ["check.example", "https://check.example", true],
    ["localhost:8080", "http://localhost:8080", true],
    [" 127.0.0.1:8080/ ", "http://127.0.0.1:8080", true],
    ["http://[::1]:8080", "http://[::1]:8080", true],
    ["http://check.example:80/corroborate//", "http://check.example/corroborate", false],
    ["http://192.168.0.2:8080", "http://192.168.0.2:8080", false],
    ["http://127.0.0.1.evil.example", "http://127.0.0.1.evil.example", false],
    ["http://localhost.evil.example", "http://localhost.evil.example", false],
  ]) {
    const address = readAddress(typed);
    assert.deepEqual([address.base, address.encrypted], [base, encrypted], typed);
  }
});

test("a host is in the local network when its address or name is private", () => {
  const hosts = {
    loopback: ["localhost", "app.localhost", "127.0.0.1", "[::1]"],
    local: ["10.1.2.3", "172.31.0.1", "192.168.1.20", "169.254.1.1", "100.64.0.1", "[fd00::1]", "[fe80::1]", "nas", "nas.local", "box.home.arpa"],
    null: ["check.example", "10.example", "172.32.0.1", "100.128.0.1", "8.8.8.8", "[2001:db8::1]", "local.example"],
  };
  for (const [network, names] of Object.entries(hosts)) for (const host of names) assert.equal(String(networkOf(host)), network, host);
});

test("an address that cannot be used is refused with the reason", () => {
  for (const [typed, error] of [
    ["ftp://a.example", "address_scheme"],
    ["javascript://a.example/%0aalert(1)", "address_scheme"],
    ["https://me:secret@a.example", "address_credentials"],
    ["https://a.example/?x", "address_extra"],
    ["https://a.example/#", "address_extra"],
    ["https://", "address_unreadable"],
    ["two words", "address_unreadable"],
  ]) {
    assert.equal(readAddress(typed).error, error, typed);
    for (const words of Object.values(WORDS)) assert.ok(words.has(error));
  }
});

test("access is asked for the very origin, or the host where the browser knows no ports", () => {
  assert.equal(permissionFor("http://127.0.0.1:8080", true), "http://127.0.0.1:8080/*");
  assert.equal(permissionFor("http://127.0.0.1:8080", false), "http://127.0.0.1/*");
  assert.equal(permissionFor("https://check.example", true), "https://check.example/*");
});

test("a silent site is meant with its subdomains and nothing else", () => {
  assert.equal(readDomain("https://Bank.example/login"), "bank.example");
  assert.equal(readDomain("*.bank.example"), "bank.example");
  assert.equal(readDomain("пример.рф"), "xn--e1afmkfd.xn--p1ai");
  for (const bad of ["", "two words", "a@b", "*", "a*b.example"]) assert.equal(readDomain(bad), null, bad);
  assert.ok(isAmong("www.bank.example", ["bank.example"]));
  assert.ok(!isAmong("notbank.example", ["bank.example"]));
});

const STREAM = '\ufeff: hello\r\nevent: stage\r\ndata: {"stage":"read"}\r\n\r\n:\n\ndata: a\ndata:b\r\rid: 1\nretry: 5\nevent: answer\ndata: {}\n\nevent: problem\ndata: cut';

test("a stream means the same wherever its pieces break", () => {
  const expected = [
    { name: "stage", data: '{"stage":"read"}' },
    { name: "message", data: "a\nb" },
    { name: "answer", data: "{}" },
  ];
  for (let size = 1; size <= STREAM.length; size++) {
    const stream = new EventStream();
    const events = [];
    for (let at = 0; at < STREAM.length; at += size) events.push(...stream.push(STREAM.slice(at, at + size)));
    assert.deepEqual(events, expected, `pieces of ${size}; what is cut off is no event`);
  }
});

test("a stream without an end does not fill the memory", () => {
  const stream = new EventStream();
  const endless = () => {
    for (let count = 0; count < 20; count++) stream.push("x".repeat(1024 * 1024));
  };
  assert.throws(endless, RangeError);
  const many = new EventStream();
  const lines = () => {
    for (let count = 0; count < 20; count++) many.push(`data: ${"x".repeat(1024 * 1024)}\n`);
  };
  assert.throws(lines, RangeError);
});

test("every refusal has words that say what to do", () => {
  const type = (label) => ({ type: `urn:corroborate:problem:${label}` });
  const rows = [
    [401, { ...type("no-token") }, null, "no_token"],
    [401, { ...type("wrong-token") }, null, "wrong_token"],
    [403, { ...type("forbidden"), detail: "list the page's origin in http.cors_origins" }, null, "origin"],
    [403, { ...type("forbidden"), detail: "this token may not do that: it is for read" }, null, "may_not"],
    [403, { ...type("forbidden"), detail: "set ADMIN_TOKEN and restart it" }, null, "refused"],
    [403, null, null, "refused"],
    [429, { ...type("too-many-requests") }, "7", "too_many"],
    [500, { ...type("internal") }, null, "fault"],
    [502, null, null, "fault"],
    [503, { ...type("store-away") }, "5", "unavailable"],
    [504, { ...type("too-slow") }, null, "gave_up"],
    [404, null, null, "not_ours"],
    [405, { ...type("method-not-allowed") }, null, "not_ours"],
    [400, null, null, "not_ours"],
    [422, { ...type("invalid"), detail: "the claim is empty" }, null, "unfit"],
    [413, { ...type("too-large") }, null, "unfit"],
  ];
  for (const [status, problem, retryAfter, name] of rows) {
    const fault = faultOf(status, problem, retryAfter);
    assert.equal(fault.fault, name, `${status}`);
    for (const words of Object.values(WORDS)) {
      const shown = problemOf(fault, { words, server: "https://s.example", origin: "chrome-extension://abc" });
      assert.ok(shown.title && shown.advice && !`${shown.title}${shown.advice}`.match(/\$|problem_|advice_|undefined/), `${words.locale} ${name}`);
    }
  }
});

test("a wait is named in seconds, and an origin word for word", () => {
  const context = { words: WORDS.en, server: "https://s.example", origin: "chrome-extension://abc" };
  assert.match(problemOf(faultOf(429, null, "7"), context).advice, /7 seconds/);
  assert.match(problemOf(faultOf(429, null, null), context).advice, /60 seconds/);
  assert.match(problemOf(faultOf(429, null, "-3"), context).advice, /1 seconds/);
  const origin = problemOf(faultOf(403, { detail: "http.cors_origins" }, null), context);
  assert.equal(origin.line, "CORROBORATE_HTTP_CORS_ORIGINS=chrome-extension://abc");
  assert.equal(problemOf(new Error("a fault of ours"), context).name, "restarted");
});
