// One check, for whoever opened the port: the overlay in a page or the popup. The port's end is the check's end, so that
// closing the overlay, leaving the page or closing the popup cancels it.

import { api, knowsPorts, origin } from "../shared/api.mjs";
import { permissionFor, readAddress } from "../shared/address.mjs";
import { cardOf } from "../shared/card.mjs";
import { causeOf } from "../shared/labels.mjs";
import { plain } from "../shared/plain.mjs";
import { Fault, problemOf } from "../shared/problems.mjs";
import { settings } from "../shared/settings.mjs";
import { textOf } from "../shared/text.mjs";
import { wordsIn } from "../shared/words.mjs";
import { rulesOf } from "./rules.mjs";
import { ask, MOST_CHARACTERS } from "./server.mjs";

/** The name of the port that a check goes over. */
export const PORT = "check";
// Often enough that a browser does not put the background to sleep (Chromium does after 30 s without a message).
const TICK_MS = 5000;
const SLOW_MS = 20_000;

/** Serves one port: `{kind: "check", claim}` starts a check, `{kind: "cancel"}` ends it. */
export function serve(port) {
  let running = null;
  const stop = () => running?.abort();
  port.onDisconnect.addListener(stop);
  port.onMessage.addListener((message) => {
    if (message?.kind === "cancel") stop();
    if (message?.kind !== "check" || typeof message.claim !== "string") return;
    stop();
    const mine = new AbortController();
    running = mine;
    const post = (answer) => {
      if (!mine.signal.aborted) port.postMessage(answer);
    };
    void check(message.claim, mine.signal, post);
  });
}

async function check(claim, signal, post) {
  const set = await settings();
  const words = await wordsIn(set.language);
  const described = (fault) => problemOf(fault, { words, server: set.server, origin: origin() });
  // What the view says if the background goes away and can say nothing any more.
  post({ kind: "words", words: words.forView(), lost: described(new Fault("restarted")) });
  const begun = Date.now();
  const tick = () => {
    const passed = Date.now() - begun;
    const seconds = words.say("seconds", Math.round(passed / 1000));
    post({ kind: "tick", seconds, slow: passed >= SLOW_MS ? words.say("still_working") : null });
  };
  const ticking = setInterval(tick, TICK_MS);
  post({ kind: "stage", text: words.say("stage_start") });
  try {
    const server = await serverOf(set);
    const text = claimOf(claim);
    const onEvent = (event) => tell(event, words, post);
    const answer = await ask(server, { claim: text, language: set.claimLanguage }, { signal, onEvent });
    const card = cardOf(answer, { asked: text, words, server: server.base, rules: await rulesOf(server, signal) });
    post({ kind: "answer", card, text: textOf(card, words) });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Fault)) console.error(error);
    post({ kind: "problem", problem: described(error) });
  } finally {
    clearInterval(ticking);
  }
}

/** The server that was set, if it may be asked. */
async function serverOf(set) {
  if (!set.server) throw new Fault("no_server");
  const address = readAddress(set.server);
  if (address.error || !(address.encrypted || set.plainAllowed)) throw new Fault("no_server");
  const origins = [permissionFor(address.origin, knowsPorts())];
  if (!(await api.permissions.contains({ origins }))) throw new Fault("no_permission");
  return { base: address.base, token: set.token };
}

/** The text as it is sent: as it was selected, without the spaces around it. */
function claimOf(text) {
  const claim = text.replaceAll("\0", "").toWellFormed().trim();
  if (!claim) throw new Fault("empty");
  if (Array.from(claim).length > MOST_CHARACTERS) throw new Fault("too_long");
  return claim;
}

/** What the server is doing, in words. Events that a later version adds are passed over. */
function tell(event, words, post) {
  let data;
  try {
    data = JSON.parse(event.data);
  } catch {
    return;
  }
  if (event.name === "stage") {
    const key = `stage_${data?.stage}`;
    post({ kind: "stage", text: words.say(words.has(key) ? key : "stage_unknown") });
  }
  if (event.name === "trace") post({ kind: "line", text: plain(data?.line, 500) });
  if (event.name === "degraded") {
    post({ kind: "gap", text: `${words.say("gaps")}: ${causeOf(plain(data?.cause, 120), words)}` });
  }
}
