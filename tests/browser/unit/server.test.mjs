// The request itself, against a server that behaves in every way.

import assert from "node:assert/strict";
import test from "node:test";

import { ask, domainRules, probe } from "../../../extension/background/server.mjs";
import { simulator } from "../lib/simulator.mjs";

const calm = () => new AbortController().signal;
const put = (server, name, more = {}) =>
  ask({ base: server.base, token: more.token ?? "" }, { claim: `case ${name}`, language: more.language }, { signal: calm(), onEvent: () => {}, ...more });

async function withServer(run) {
  const server = await simulator();
  try {
    await run(server);
  } finally {
    await server.stop();
  }
}

test("a stream tells its stages and ends in the answer; whole JSON is an answer too", () =>
  withServer(async (server) => {
    const events = [];
    const answer = await put(server, "gaps", { onEvent: (event) => events.push(event) });
    assert.equal(answer.result.status, "degraded");
    const of = (name) => events.filter((event) => event.name === name).map((event) => event.data);
    assert.equal(of("stage")[0], '{"stage":"admit"}');
    assert.equal(of("degraded").length, 2);
    assert.equal(of("trace").length, 1);
    assert.equal((await put(server, "json")).result.claims.length, 2);
  }));

test("the request is what the wire asks for, and the token goes only where one is set", () =>
  withServer(async (server) => {
    await put(server, "json", { token: "s3cret", language: "pt" });
    await put(server, "json");
    const [first, second] = server.seen;
    assert.deepEqual(first.body, { claim: "case json", vocabulary: "ours", language: "pt" });
    assert.deepEqual(second.body, { claim: "case json", vocabulary: "ours" });
    assert.equal(first.headers.authorization, "Bearer s3cret");
    assert.equal(second.headers.authorization, undefined);
    assert.equal(first.headers.accept, "text/event-stream, application/json");
    assert.equal(first.headers["content-type"], "application/json");
  }));

test("everything that goes wrong has a name", () =>
  withServer(async (server) => {
    const rows = {
      cut: "broken_off",
      torn: "broken_off",
      midway: "unavailable",
      notoken: "no_token",
      wrongtoken: "wrong_token",
      maynot: "may_not",
      origin: "origin",
      proxy: "refused",
      many: "too_many",
      fault: "fault",
      away: "unavailable",
      gaveup: "gave_up",
      hangup: "away_network",
      html: "not_ours",
      half: "not_ours",
      other: "not_ours",
      moved: "moved",
    };
    for (const [name, fault] of Object.entries(rows)) {
      await assert.rejects(put(server, name), (error) => error.fault === fault, name);
    }
    await assert.rejects(put(server, "many"), (error) => error.seconds === 7);
  }));

test("a connection that goes silent is given up, and so is one that never speaks", () =>
  withServer(async (server) => {
    await assert.rejects(put(server, "mute", { silence: 150 }), (error) => error.fault === "slow");
    await assert.rejects(put(server, "late", { firstWord: 150 }), (error) => error.fault === "slow");
  }));

test("a heartbeat keeps a slow check alive until it is cancelled, and the server sees its client leave", () =>
  withServer(async (server) => {
    const stop = new AbortController();
    const checking = put(server, "slow", { silence: 400, signal: stop.signal });
    setTimeout(() => stop.abort(), 900);
    await assert.rejects(checking, (error) => error.name === "AbortError");
    for (let count = 0; count < 50 && server.seen[0].ended === null; count++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(server.seen[0].ended, "left");
  }));

test("a server that is not there is away, and one that takes claims says so to an empty one", async () => {
  let gone;
  await withServer(async (server) => {
    gone = server.base;
    await probe({ base: server.base, token: "" });
    await assert.rejects(probe({ base: `${server.base}/elsewhere`, token: "" }), (error) => error.fault === "not_ours");
  });
  await assert.rejects(ask({ base: gone, token: "" }, { claim: "x" }, { signal: calm(), onEvent: () => {} }), (error) => error.fault === "away_network");
  await assert.rejects(probe({ base: gone, token: "" }), (error) => error.fault === "away_network");
});

test("the domain lists are an addition: a server that has none to give is no fault", () =>
  withServer(async (server) => {
    const rules = await domainRules({ base: server.base, token: "s3cret" }, calm());
    assert.ok(rules.some((rule) => rule.domain === "news2.example"));
    const { headers, method, text } = server.seen[0];
    assert.deepEqual([headers.authorization, method, text], ["Bearer s3cret", "GET", ""]);
    assert.equal(await domainRules({ base: `${server.base}/page`, token: "" }, calm()), null);
    assert.equal(await domainRules({ base: "http://127.0.0.1:9", token: "" }, calm()), null);
  }));

/** The fault of a probe whose fetch fails, in a browser with these states of permissions. */
async function unreachedFault(base, states) {
  const query = async ({ name }) => {
    if (!(name in states)) throw new TypeError(`unknown permission ${name}`);
    return { state: states[name] };
  };
  const before = ["fetch", "navigator"].map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name) ?? { value: undefined, configurable: true }]);
  const value = { fetch: async () => Promise.reject(new TypeError("Failed to fetch")), navigator: { permissions: { query } } };
  for (const [name] of before) Object.defineProperty(globalThis, name, { value: value[name], configurable: true });
  try {
    const faults = [];
    const asked = [probe({ base, token: "" }), ask({ base, token: "" }, { claim: "x" }, { signal: calm(), onEvent: () => {} })];
    for (const failed of asked) await failed.catch((error) => faults.push(error.fault));
    assert.equal(faults[0], faults[1]);
    return faults[0];
  } finally {
    for (const [name, descriptor] of before) Object.defineProperty(globalThis, name, descriptor);
  }
}

test("an unreached server names the local-network permission when the address is local and the permission is not granted", async () => {
  const [loopback, local] = ["http://127.0.0.1:8080", "http://192.168.1.20:8080"];
  for (const [base, states, fault] of [
    [loopback, { "loopback-network": "denied", "local-network": "granted" }, "network_denied"],
    [loopback, { "local-network-access": "prompt" }, "network_prompt"],
    [loopback, { "loopback-network": "granted" }, "away"],
    [loopback, {}, "away_network"],
    [local, { "local-network": "denied", "loopback-network": "granted" }, "network_denied"],
    ["http://localhost:8080", { "local-network-access": "denied" }, "network_denied"],
    ["https://check.example", { "local-network-access": "denied" }, "away"],
  ]) {
    assert.equal(await unreachedFault(base, states), fault, `${base} ${JSON.stringify(states)}`);
  }
});
