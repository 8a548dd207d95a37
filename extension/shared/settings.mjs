// What a person set in the options. Only the background and the extension's own pages load this: the token is in it, and
// content scripts live in pages.

import { api } from "./api.mjs";

const DEFAULTS = {
  /** Address without a slash at its end; empty until it is set. */
  server: "",
  token: "",
  /** Whether an unencrypted connection to another machine was agreed to. */
  plainAllowed: false,
  /** en, ru, uk or pt_BR; empty: as the browser. */
  language: "",
  /** ISO 639-1; empty: the server finds it out. */
  claimLanguage: "",
  /** Whether the button beside selected text is on. */
  button: false,
  /** Domains where it stays silent. */
  silent: [],
};

/** Everything that is set, defaults in place of the rest. */
export async function settings() {
  return api.storage.local.get(DEFAULTS);
}

/** Keeps these values; the others stay as they are. */
export async function keep(values) {
  await api.storage.local.set(values);
}

/** Keeps content scripts out of the store where the browser can do that. Ours never look; this holds for injected ones. */
export async function closeStore() {
  await api.storage.local.setAccessLevel?.({ accessLevel: "TRUSTED_CONTEXTS" });
}
