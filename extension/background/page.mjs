// Puts the overlay into a page. Only ever after a person asked for it there: the context menu, the keyboard shortcut or
// the button beside the selection.

import { api } from "../shared/api.mjs";

/** The files of the overlay, in the order that they need each other. */
export const OVERLAY = [
  "view/dom.js",
  "view/icons.js",
  "view/evidence.js",
  "view/card.js",
  "view/panel.js",
  "view/session.js",
  "content/overlay.js",
];
const LOOKS = ["view/view.css"];

let looks = null;

/**
 * Shows the overlay in a tab and starts the check. Without a claim the page's own selection is taken. Where no overlay can
 * be (the browser's own pages, its store, documents that are no pages) the check opens in a tab of its own.
 */
export async function showIn(tab, claim) {
  try {
    const target = { tabId: tab.id, frameIds: [0] };
    await api.scripting.executeScript({ target, files: OVERLAY });
    await api.tabs.sendMessage(tab.id, { kind: "show", claim, css: await css() }, { frameId: 0 });
  } catch {
    await showApart(claim ?? "");
  }
}

/** The check in a tab of its own. The text goes by the session's store: an address would stay in the history. */
async function showApart(claim) {
  await api.storage.session.set({ handed: claim });
  await api.tabs.create({ url: api.runtime.getURL("popup/popup.html#tab") });
}

async function css() {
  looks ??= await Promise.all(LOOKS.map(async (file) => (await fetch(api.runtime.getURL(file))).text()));
  return looks.join("\n");
}
