// The extension over a local page against a running daemon: the one that CORROBORATE_URL and CORROBORATE_TOKEN name, else the
// built program on the demo's recorded items.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { chromiumPath, watched } from "../lib/browser.mjs";
import { demo, isBuilt } from "../lib/daemon.mjs";
import { chooseInMenu, loaded, ORIGIN, within } from "../lib/extension.mjs";
import { simulator } from "../lib/simulator.mjs";

const URL_OF_DAEMON = process.env.CORROBORATE_URL;
const skip = !chromiumPath()
  ? "Chromium is not installed (apt install chromium, or CHROMIUM=program)"
  : !URL_OF_DAEMON && !isBuilt()
    ? "no daemon: build the program (cargo build), or name one with CORROBORATE_URL and CORROBORATE_TOKEN"
    : false;
// One of the demo's recorded items.
const CLAIM = process.env.CORROBORATE_CLAIM ?? "Five JetBlue pilots died from the COVID-19 vaccine.";
const TOKEN = URL_OF_DAEMON ? (process.env.CORROBORATE_TOKEN ?? "") : "a-token-of-the-tests";
let extension;
let daemon;
let site;

before(async () => {
  if (skip) return;
  const started = URL_OF_DAEMON ? { base: URL_OF_DAEMON.replace(/\/$/, ""), stop: async () => {} } : demo({ ADMIN_TOKEN: TOKEN, CORROBORATE_HTTP_CORS_ORIGINS: ORIGIN });
  [daemon, site, extension] = await Promise.all([started, simulator(), loaded({ granted: true })]);
});
after(async () => {
  await extension?.close();
  await site?.stop();
  await daemon?.stop();
});

test("a statement on a local page is checked by a running daemon, and the link leads to the whole answer", { skip, timeout: 240_000 }, async () => {
  await extension.set({ server: daemon.base, token: TOKEN, language: "en", plainAllowed: true });
  const page = await extension.context.newPage();
  const wrong = watched(page);
  await page.goto(`${site.base}/page`);
  await chooseInMenu(extension, page, CLAIM);
  const panel = await within(page, ".panel", (element) => element.querySelector(".working, .card, .problem") !== null);
  for (let tries = 0; tries < 600; tries++) {
    if (await panel.evaluate((element) => element.querySelector(".card, .problem") !== null)) break;
    await page.waitForTimeout(300);
  }
  const text = await panel.text();
  assert.match(text, /Supported|Refuted|Sources disagree|Misleading|Outdated|Not enough evidence|Not verifiable/, text);
  if (!process.env.CORROBORATE_CLAIM) assert.match(text, /Refuted[\s\S]*PolitiFact/, text);
  const href = await panel.evaluate((element) => element.querySelector("a.button").href);
  assert.ok(href.startsWith(`${daemon.base}/evidence/`), href);
  const whole = await fetch(href, { headers: TOKEN ? { authorization: `Bearer ${TOKEN}` } : {} });
  assert.equal(whole.status, 200, await whole.text());
  assert.deepEqual(wrong, []);
  assert.deepEqual(site.seen.map((one) => one.url), ["/page"], "the site learns nothing of it");
  await page.close();
});

test("a daemon that does not know the token, or the extension's origin, is understood", { skip: skip || (URL_OF_DAEMON ? "against a daemon of one's own only" : false), timeout: 240_000 }, async () => {
  const popup = async (values) => {
    await extension.set({ server: daemon.base, token: TOKEN, language: "en", plainAllowed: true, ...values });
    const page = await extension.context.newPage();
    await page.goto(extension.own("popup/popup.html"));
    await page.locator("label", { hasText: /\S/ }).first().waitFor();
    await page.fill("#claim", CLAIM);
    await page.click("#check");
    await page.locator("#panel :is(.card, .problem)").waitFor({ timeout: 60_000 });
    const text = await page.innerText("#panel");
    await page.close();
    return text;
  };
  assert.match(await popup({ token: "guessed" }), /does not accept the token/);
  assert.match(await popup({ token: "" }), /asks for a token/);
  const other = await demo({ ADMIN_TOKEN: TOKEN });
  try {
    assert.match(await popup({ server: other.base }), new RegExp(`refuses requests from this extension[\\s\\S]*${ORIGIN}`));
  } finally {
    await other.stop();
  }
});
