// A server that plays one check and its faults: what a daemon says, and what one says that is slow, refuses or breaks off.

import { createServer } from "node:http";

const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e\u2066"'\`${"🙂long".repeat(2000)}`;

/** An answer as `/api/verify` gives it, with others' words wherever others' words stand. */
export function answer(words = "Five JetBlue pilots died.", asked = words) {
  const row = (n, stance) => ({
    n, evidence_id: `e${n}`, url: `https://news${n}.example/story`, domain: `news${n}.example`, title: words,
    published_at: "2026-11-20T12:00:00Z", language: "en", passage: words, stance, entail: 0.1, contradict: 0.9,
    neutral: 0, agreement: 0.5, relevance: 0.9, quality: 0.6, credibility: 0.8, origin: "web", provider: "x",
    independent_group: "g", extraction_failed: false,
  });
  const claim = {
    claim_id: "clm_1", text: words, kind: "factual", source: 0, judge: "model:x", verdict: "refuted", decisive: false,
    confidence: 0.7, score: 5, tier: "low", agreement: 0.4, contradiction: true, notes: ["single_source"],
    features: {}, justification: `${words} [1]`, citations: [1], evidence: [row(1, "contradicts"), row(2, "contradicts")],
    correction: null, decision: null,
  };
  const result = {
    schema: 1, item_id: "check:1", message_id: null, enriched_at: "2026-11-20T12:00:00Z", status: "degraded",
    degraded: ["provider_open:gdelt"], language: "en", tier: "low", score: 5, agreement: 0.4, contradiction: true,
    notes: [], also_reported_by: [], explanation: null, overall_summary: null, sources_checked: [], fact_checks: [],
    claims: [claim], main_claim: "clm_1", context: { evidence: [], background: [], digest_lines: [] },
    cost: { usd: 0, provider_calls: {}, llm_calls: 0, llm_tokens: 0, millis: 1 }, trace: [],
  };
  return {
    claim: words, verdict: "refuted", confidence: 0.7, reasoning: words, evidence: [], steps: [], claim_type: "FACTUAL",
    original_claim: asked, session_id: "00000000-0000-4000-8000-000000000000", result,
  };
}

const event = (name, data) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Starts it. `play.way` says what it does; `seen` holds the bodies and headers that came. */
export async function simulator() {
  const play = { way: "whole" };
  const seen = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      if (request.url === "/page") {
        response.setHeader("content-type", "text/html; charset=utf-8");
        response.end(`<!doctype html><title>News</title><p id="secret">The rest of the page is private.</p>
          <p id="claim">Five JetBlue pilots died from the vaccine.</p>`);
        return;
      }
      seen.push({ url: request.url, method: request.method, body, headers: request.headers });
      respond(play.way, JSON.parse(body || "{}").claim ?? "", response);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { base, play, seen, stop };
}

function respond(way, claim, response) {
  const problem = (status, label, detail, headers = {}) => {
    response.writeHead(status, { "content-type": "application/problem+json", ...headers });
    response.end(JSON.stringify({ type: `urn:corroborate:problem:${label}`, title: "", status, detail }));
  };
  if (way === "token") return problem(401, "wrong-token", "this server does not know the token");
  if (way === "busy") return problem(429, "too-many-requests", "this address asks too often", { "retry-after": "7" });
  if (way === "html") {
    response.writeHead(200, { "content-type": "text/html" });
    return response.end("<h1>A router</h1>");
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event("stage", { stage: "claims" }));
  response.write(event("degraded", { cause: "provider_open:gdelt" }));
  if (way === "cut") return setTimeout(() => response.destroy(), 100);
  if (way === "hang") return undefined;
  const words = way === "hostile" ? HOSTILE : claim;
  response.write(event("answer", answer(words, claim)));
  return response.end();
}
