// A server that speaks /api/verify, well and badly, and the page of news that the extension is used on. A claim that holds
// "case NAME" gets that case: one of the answers of answers.mjs, or one of the faults below.

import { once } from "node:events";
import { createServer } from "node:http";

import * as answers from "./answers.mjs";

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
/** How long the patient case takes: longer than the extension waits before it says that this is slow. */
export const PATIENT_MS = 23_000;

/**
 * Starts it on a free port of this machine: `{base, seen, stop}`. `seen` holds every request that came: `{url, method,
 * headers, text, body, ended}`, where `ended` becomes "answered", or "left" where the client did not wait.
 */
export async function simulator() {
  const seen = [];
  const server = createServer((request, response) => void serve(request, response, seen).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { base: `http://127.0.0.1:${server.address().port}`, seen, stop };
}

/** The requests for a check among those that were seen. */
export const checksIn = (seen) => seen.filter((one) => one.url === "/api/verify" && one.body?.claim);

async function serve(request, response, seen) {
  let text = "";
  for await (const piece of request) text += piece;
  const one = { url: request.url, method: request.method, headers: request.headers, text, body: parsed(text), ended: null };
  response.on("close", () => {
    one.ended = response.writableFinished ? "answered" : "left";
  });
  seen.push(one);
  const { pathname } = new URL(request.url, "http://simulator");
  if (request.method === "GET") return shown(pathname, response);
  if (pathname !== "/api/verify") return problem(response, 404, "not-found", "there is nothing at this path");
  if (one.body.claim === "") return problem(response, 422, "invalid", "the claim is empty; send the statement that is to be checked");
  const name = /case (\w+)/i.exec(one.body.claim)?.[1] ?? "firm";
  await (CASES[name] ?? ((to) => streamed(to, (answers[name] ?? answers.firm)())))(response);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const RULES = [
  { domain: "riverside-gazette.example", list: "allow", credibility: 0.9, source_type: "news", why: "the town's paper of record" },
  { domain: "news2.example", list: "allow", credibility: null, source_type: "news", why: "from the configuration" },
];

// What a page of news holds beside the statement: none of it may be sent anywhere.
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>The secret title</title><link rel="icon" href="data:,">
<style>body * , div { color: red !important; font: 20px/3 cursive !important; } div { visibility: hidden !important; transform: scale(0.1); }</style>
<h1>The secret headline</h1>
<p id="claim">Yesterday they said: the Riverside bridge opened in 1990.</p>
<p id="secret">The rest of the page is private: account 4711.</p>
<p><a id="link" href="#">A link</a> <input id="field" value="typed secret"></p>
<script>
  window.seen = [];
  for (const kind of ["keydown", "keyup", "copy"]) window.addEventListener(kind, (event) => seen.push(kind + ":" + event.key));
</script>`;

function shown(pathname, response) {
  if (pathname === "/api/domains") {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ items: RULES, next: null, version: 1, allowlist_only: false }));
  }
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  return response.end(pathname.startsWith("/page") ? PAGE : '<!doctype html><html lang="en"><title>The whole answer</title><link rel="icon" href="data:,">');
}

const send = (response, name, data) => response.write(`event: ${name}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
const open = (response) => response.writeHead(200, { "content-type": "text/event-stream" });

async function streamed(response, answer) {
  open(response);
  for (const stage of ["admit", "normalise", "claims", "fact_check", "retrieve"]) {
    send(response, "stage", { stage });
    await pause(15);
  }
  send(response, "trace", { line: "search: 5 page(s) to read" });
  response.write(": still here\n\n");
  for (const cause of answer.result.degraded.slice(0, 2)) send(response, "degraded", { cause });
  send(response, "stage", { stage: "a_later_one" });
  send(response, "of_a_later_version", "no json");
  const text = JSON.stringify(answer);
  // In two pieces: an answer need not come whole.
  response.write(`event: answer\ndata: ${text.slice(0, 700)}`);
  await pause(15);
  response.end(`${text.slice(700)}\n\n`);
}

function problem(response, status, label, detail, headers = {}) {
  response.writeHead(status, { "content-type": "application/problem+json", ...headers });
  response.end(JSON.stringify({ type: `urn:corroborate:problem:${label}`, title: "x", status, detail }));
}

/** A heartbeat, until the time is up or the client has left. */
async function beating(response, milliseconds) {
  for (let passed = 0; passed < milliseconds && !response.destroyed; passed += 100) {
    await pause(100);
    if (!response.destroyed) response.write(": still here\n\n");
  }
}

const untilLeft = (response) => once(response, "close");

const CASES = {
  json: (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answers.firm()));
  },
  // Works until its client leaves.
  slow: async (response) => {
    open(response);
    send(response, "stage", { stage: "retrieve" });
    send(response, "trace", { line: "search: 5 page(s) to read" });
    send(response, "degraded", { cause: "provider_open:gdelt" });
    await beating(response, Number.POSITIVE_INFINITY);
  },
  // Takes its time, and answers.
  patient: async (response) => {
    open(response);
    send(response, "stage", { stage: "read" });
    await beating(response, PATIENT_MS);
    send(response, "answer", answers.supported());
    response.end();
  },
  mute: async (response) => {
    open(response);
    send(response, "stage", { stage: "read" });
    await untilLeft(response);
  },
  late: untilLeft,
  cut: async (response) => {
    open(response);
    send(response, "stage", { stage: "read" });
    await pause(20);
    response.end(`event: answer\ndata: ${JSON.stringify(answers.firm()).slice(0, 500)}`);
  },
  torn: async (response) => {
    open(response);
    send(response, "stage", { stage: "read" });
    await pause(20);
    response.destroy();
  },
  midway: async (response) => {
    open(response);
    send(response, "stage", { stage: "read" });
    send(response, "problem", { type: "urn:corroborate:problem:store-away", status: 503, title: "x", detail: "the store cannot be reached at the moment" });
    response.end();
  },
  notoken: (response) => problem(response, 401, "no-token", "this needs the server's ADMIN_TOKEN"),
  wrongtoken: (response) => problem(response, 401, "wrong-token", "this server does not know the token, or it was revoked"),
  maynot: (response) => problem(response, 403, "forbidden", "this token may not do that: it is for read, and this needs check; ask an admin for another one"),
  origin: (response) => problem(response, 403, "forbidden", "requests from other web pages are refused; list the page's origin in http.cors_origins"),
  proxy: (response) => problem(response, 403, "forbidden", "a proxy passed this request on; set ADMIN_TOKEN and restart it"),
  many: (response) => problem(response, 429, "too-many-requests", "this address asks too often", { "retry-after": "7" }),
  fault: (response) => problem(response, 500, "internal", "something went wrong inside the server; its log says what"),
  away: (response) => problem(response, 503, "store-away", "the store cannot be reached", { "retry-after": "5" }),
  gaveup: (response) => problem(response, 504, "too-slow", "no answer was ready within 90 seconds"),
  hangup: (response) => response.destroy(),
  html: (response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<h1>Welcome to nginx</h1>");
  },
  half: (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"claim": "x", "result": {"cla');
  },
  other: (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"ok": true}');
  },
  moved: (response) => {
    response.writeHead(307, { location: "http://127.0.0.1:9/api/verify" });
    response.end();
  },
};
