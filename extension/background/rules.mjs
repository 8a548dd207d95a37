// The server's domain lists, kept for a while: they change seldom, and every card asks for them.

import { domainRules } from "./server.mjs";

const KEPT_MS = 10 * 60_000;

let kept = null;

/** The rules of a server, or `null`. They are asked for again after ten minutes, for another server, or with another token. */
export async function rulesOf(server, signal) {
  const isKept = kept?.base === server.base && kept.token === server.token && Date.now() - kept.at < KEPT_MS;
  if (isKept) return kept.rules;
  const rules = await domainRules(server, signal);
  if (rules) kept = { ...server, rules, at: Date.now() };
  return rules;
}
