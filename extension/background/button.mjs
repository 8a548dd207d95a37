// The button beside selected text: on which pages it is, and what it is told. It is off until a person switches it on in
// the options, which is when the browser is asked for access to all sites.

import { api } from "../shared/api.mjs";
import { isAmong } from "../shared/address.mjs";
import { keep, settings } from "../shared/settings.mjs";
import { wordsIn } from "../shared/words.mjs";
import { showIn } from "./page.mjs";

const ID = "button";
/** The access that the button needs. */
export const ALL_SITES = { origins: ["https://*/*", "http://*/*"] };

let last = Promise.resolve();

/** Makes the registered script match what is set: there or not, and not on silent sites. One call after the other. */
export function applyButton() {
  last = last.then(apply, apply);
  return last;
}

async function apply() {
  const set = await settings();
  const registered = await api.scripting.getRegisteredContentScripts({ ids: [ID] });
  const wanted = set.button && (await api.permissions.contains(ALL_SITES));
  if (registered.length) await api.scripting.unregisterContentScripts({ ids: [ID] });
  if (!wanted) return;
  await api.scripting.registerContentScripts([
    {
      id: ID,
      js: ["content/button.js"],
      matches: ALL_SITES.origins,
      excludeMatches: set.silent.flatMap(patternsOf),
      runAt: "document_idle",
      allFrames: false,
    },
  ]);
}

// An address in brackets or digits has no subdomains, and a pattern with some would be refused.
function patternsOf(domain) {
  return /^[\d.]+$|^\[/.test(domain) ? [`*://${domain}/*`] : [`*://*.${domain}/*`];
}

/**
 * What the button says, for a page that has a selection: `{check, silence_here, lang}`, or `null` where it should stay away. Pages
 * that were open before a change ask here, and so do those of a script that is no longer registered.
 */
export async function buttonFor(sender) {
  const set = await settings();
  if (!set.button || isAmong(hostOf(sender), set.silent)) return null;
  const words = (await wordsIn(set.language)).forView();
  return { check: words.check, silence_here: words.silence_here, lang: words.lang };
}

/** The button was pressed: the check opens in that page. */
export async function pressed(sender, claim) {
  if (typeof claim === "string") await showIn(sender.tab, claim);
}

/** The button was sent away on this site. */
export async function silence(sender) {
  const host = hostOf(sender);
  const { silent } = await settings();
  if (!host || isAmong(host, silent)) return;
  await keep({ silent: [...silent, host] });
}

// The browser says which page a message comes from. What the page's script says of itself counts for nothing.
function hostOf(sender) {
  try {
    return new URL(sender.url).hostname;
  } catch {
    return "";
  }
}
