// What can go wrong between the extension and the server, and the words for it: what happened, and what to do.

import { plain } from "./plain.mjs";

/** A failure with a name of ours. `said` is the server's own text, `seconds` how long it asks to wait. */
export class Fault extends Error {
  constructor(name, { said = "", seconds = null } = {}) {
    super(name);
    this.name = "Fault";
    this.fault = name;
    this.said = said;
    this.seconds = seconds;
  }
}

// Asked for where a server names no time: as long as it forgets a burst, and about as long as a restart takes.
const USUAL_WAIT = { too_many: 60, unavailable: 5 };
/** Faults that are mended in the options. */
const IN_OPTIONS = ["no_server", "no_permission", "no_token", "wrong_token", "may_not", "origin", "not_ours", "moved", "away", "away_network", "network_prompt"];
/** Faults that the same text would meet again. */
const OF_THE_TEXT = ["unfit", "too_long", "empty"];

/** The fault that an error status and its problem document (RFC 9457) stand for. */
export function faultOf(status, problem, retryAfter) {
  const said = plain(problem?.detail, 600);
  const label = String(problem?.type ?? "").split(":").pop();
  const seconds = Number.parseInt(retryAfter ?? "", 10);
  const more = { said, seconds: Number.isFinite(seconds) ? Math.max(1, seconds) : null };
  return new Fault(nameOf(status, label, said), more);
}

function nameOf(status, label, said) {
  if (status === 401) return label === "wrong-token" ? "wrong_token" : "no_token";
  // The server calls all of these "forbidden"; what is to be done differs.
  if (status === 403 && said.includes("cors_origins")) return "origin";
  if (status === 403) return said.startsWith("this token may not") ? "may_not" : "refused";
  if (status === 429) return "too_many";
  if (status === 503) return "unavailable";
  if (status === 504 || status === 408) return "gave_up";
  if (status >= 500) return "fault";
  // Without a problem document it is some other server that does not know the path.
  if (status === 404 || status === 405 || label === "") return "not_ours";
  return "unfit";
}

/** The environment line that lets this extension in (`http.cors_origins` in config/default.toml). */
export const originLine = (origin) => `CORROBORATE_HTTP_CORS_ORIGINS=${origin}`;

/** A fault in words, as data for the view. */
export function problemOf(fault, { words, server, origin }) {
  const name = words.has(`problem_${fault?.fault}`) ? fault.fault : "restarted";
  const seconds = fault?.seconds ?? USUAL_WAIT[name] ?? 0;
  return {
    name,
    title: words.say(`problem_${name}`, server, seconds),
    advice: words.say(`advice_${name}`, server, seconds),
    line: name === "origin" ? originLine(origin) : null,
    // Our own words already say what these mean.
    said: ["no_token", "wrong_token", "may_not", "origin"].includes(name) ? "" : (fault?.said ?? ""),
    options: IN_OPTIONS.includes(name),
    again: !OF_THE_TEXT.includes(name),
  };
}
