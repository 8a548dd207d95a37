// The browser's own interface. Firefox calls it `browser`, Chromium `chrome`; both answer with promises in Manifest V3.

export const api = globalThis.browser?.runtime ? globalThis.browser : globalThis.chrome;

/** This extension's origin, as a server sees it in `Origin`. */
export const origin = () => api.runtime.getURL("").replace(/\/$/, "");

/** Whether match patterns may carry a port: in Chromium they may. */
export const knowsPorts = () => origin().startsWith("chrome-extension:");
