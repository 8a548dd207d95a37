// One question to the server: the request, the answer whole or as a stream, and everything that can go wrong on the way.
// Uses fetch of the browser, and its state of the local-network permission.

import { networkOf } from "../shared/address.mjs";
import { isAnswer } from "../shared/card.mjs";
import { Fault, faultOf } from "../shared/problems.mjs";
import { EventStream } from "../shared/sse.mjs";

/** The longest text that the server takes as one claim, characters. */
export const MOST_CHARACTERS = 5000;
// Twice the server's own limit for a check, and a little: it has said by then what went wrong.
const FIRST_WORD_MS = 200_000;
// A stream sends a comment every 10 s. Three in a row do not get lost: the connection is dead.
const SILENCE_MS = 35_000;
const MOST_BYTES = 8 * 1024 * 1024;
// An answer is worth more than the reason why an outlet is believed: it does not wait longer for it.
const RULES_MS = 3000;
// The token is for this server. Whoever it would send us on to is another.
const PRIVATELY = { redirect: "manual", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };

/**
 * Asks for one check and resolves to the answer. `server` is `{base, token}`, `question` `{claim, language}`; `onEvent` gets
 * `{name, data}` for each stage, trace and degraded event. Rejects with a Fault, or with the signal's reason when it is
 * aborted.
 */
export async function ask(server, question, { signal, onEvent, firstWord = FIRST_WORD_MS, silence = SILENCE_MS }) {
  const watch = new Watch(signal);
  try {
    watch.allow(firstWord);
    const response = await send(server, question, watch.signal);
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) throw new Fault("moved");
    if (!response.ok) throw faultOf(response.status, await problemIn(response), response.headers.get("retry-after"));
    const type = (response.headers.get("content-type") ?? "").toLowerCase();
    if (type.startsWith("text/event-stream")) return await streamed(response, onEvent, () => watch.allow(silence));
    if (!type.includes("json")) throw new Fault("not_ours");
    return whole(await textOf(response));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (watch.over) throw new Fault("slow", { seconds: Math.round(watch.allowed / 1000) });
    throw error instanceof Fault ? error : await unreached(server);
  } finally {
    watch.stop();
  }
}

/** Whether the server takes questions from here. An empty claim is refused only after token and origin were looked at. */
export async function probe(server) {
  const signal = AbortSignal.timeout(15_000);
  let response;
  try {
    response = await send(server, { claim: "" }, signal);
  } catch {
    throw await unreached(server);
  }
  if (response.type === "opaqueredirect") throw new Fault("moved");
  const problem = await problemIn(response);
  if (response.status === 422 && String(problem?.type).endsWith(":invalid")) return;
  throw response.ok ? new Fault("not_ours") : faultOf(response.status, problem, response.headers.get("retry-after"));
}

/** The server's domain lists, which say why an outlet is believed so far; `null` where they cannot be had in time. */
export async function domainRules({ base, token }, signal) {
  try {
    const response = await fetch(`${base}/api/domains`, {
      ...PRIVATELY,
      headers: { accept: "application/json", ...bearer(token) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(RULES_MS)]),
    });
    const { items } = response.ok ? (parsed(await textOf(response)) ?? {}) : {};
    return Array.isArray(items) ? items.filter((rule) => rule !== null && typeof rule === "object") : null;
  } catch {
    return null;
  }
}

// The names of one permission: Chrome from 145 and Firefox have one for each network, Chrome from 142 has one for both.
const PERMISSIONS = { loopback: ["loopback-network", "local-network-access"], local: ["local-network", "local-network-access"] };

/** The fault of a request that reached no server. A browser that withholds the local network gives the same error of fetch. */
async function unreached({ base }) {
  const network = networkOf(new URL(base).hostname);
  const state = network ? await permissionState(PERMISSIONS[network]) : "granted";
  return new Fault({ granted: "away", prompt: "network_prompt", denied: "network_denied" }[state] ?? "away_network");
}

/** The state of the first permission that the browser knows; `null` if it knows none. */
async function permissionState(names) {
  for (const name of names) {
    try {
      return (await navigator.permissions.query({ name })).state;
    } catch {
      // A browser rejects names that it does not know.
    }
  }
  return null;
}

const bearer = (token) => (token ? { authorization: `Bearer ${token}` } : {});

function send({ base, token }, { claim, language }, signal) {
  const body = { claim, vocabulary: "ours", ...(language ? { language } : {}) };
  return fetch(`${base}/api/verify`, {
    ...PRIVATELY,
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      ...bearer(token),
    },
    body: JSON.stringify(body),
    signal,
  });
}

async function streamed(response, onEvent, heard) {
  const events = new EventStream();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  heard();
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      // A connection that breaks in the middle is no server that is away. Giving up is told apart by `ask`.
      throw error.name === "AbortError" ? error : new Fault("broken_off");
    });
    if (done) throw new Fault("broken_off");
    heard();
    for (const event of eventsIn(events, decoder.decode(value, { stream: true }))) {
      if (event.name === "answer" || event.name === "problem") void reader.cancel().catch(() => {});
      if (event.name === "answer") return whole(event.data);
      if (event.name === "problem") throw faultIn(event.data);
      onEvent(event);
    }
  }
}

function eventsIn(stream, text) {
  try {
    return stream.push(text);
  } catch {
    throw new Fault("not_ours");
  }
}

function whole(text) {
  const answer = parsed(text);
  if (!isAnswer(answer)) throw new Fault("not_ours");
  return answer;
}

function faultIn(data) {
  const problem = parsed(data);
  return faultOf(Number(problem?.status) || 500, problem, problem?.retry_after);
}

async function problemIn(response) {
  return parsed(await textOf(response).catch(() => ""));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The body as text, up to the size that an answer may have. */
async function textOf(response) {
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_BYTES) throw new Fault("not_ours");
  }
}

/** Ends a request that says nothing for too long, and passes on the end that its owner asks for. */
class Watch {
  #controller = new AbortController();
  #timer = null;
  /** Whether the time was up. */
  over = false;
  allowed = 0;

  constructor(outer) {
    this.signal = AbortSignal.any([outer, this.#controller.signal]);
  }

  /** From now on, so many milliseconds of silence. */
  allow(milliseconds) {
    clearTimeout(this.#timer);
    this.allowed = milliseconds;
    this.#timer = setTimeout(() => {
      this.over = true;
      this.#controller.abort();
    }, milliseconds);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
