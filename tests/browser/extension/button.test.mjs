// The button beside selected text: there when it was switched on, silent where it is to be, and reading nothing but the selection.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { chromiumPath, watched } from "../lib/browser.mjs";
import { isWithin, loaded, within } from "../lib/extension.mjs";
import { checksIn, simulator } from "../lib/simulator.mjs";
import { WORDS } from "../lib/words.mjs";

const skip = chromiumPath() ? false : "Chromium is not installed (apt install chromium, or CHROMIUM=program)";
const BAR = "div[lang]";
let extension;
let server;

before(async () => {
  if (skip) return;
  [server, extension] = await Promise.all([simulator(), loaded({ granted: true })]);
});
after(async () => {
  await extension?.close();
  await server?.stop();
});

async function news(values) {
  await extension.set({ server: server.base, token: "", language: "en", button: true, silent: [], ...values });
  const worker = await extension.worker();
  const registered = () => worker.evaluate(async () => (await chrome.scripting.getRegisteredContentScripts()).length);
  for (let tries = 0; tries < 40 && (await registered()) !== (values?.button === false ? 0 : 1); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  const page = await extension.context.newPage();
  const wrong = watched(page);
  await page.goto(`${server.base}/page`);
  server.seen.length = 0;
  return { page, wrong };
}

/** Selects a paragraph as people do: with three clicks. */
const selectByMouse = (page, id) => page.click(`#${id}`, { clickCount: 3 });
const staysAway = async (page) => {
  await page.waitForTimeout(600);
  assert.equal(await isWithin(page, BAR), false);
};

test("a selection is offered a button, nothing is sent before it is pressed, and then the selection alone is", { skip }, async () => {
  const { page, wrong } = await news();
  await selectByMouse(page, "claim");
  const bar = await within(page, BAR);
  assert.deepEqual(server.seen, []);
  await bar.press(WORDS.en.say("ui_check"));
  const panel = await within(page, ".panel", (element) => element.querySelector(".card") !== null);
  assert.match(await panel.text(), /Refuted/);
  assert.deepEqual(checksIn(server.seen).map((one) => one.body), [{ claim: "Yesterday they said: the Riverside bridge opened in 1990.", vocabulary: "ours" }]);
  assert.equal(await isWithin(page, BAR), false, "it is gone when it was pressed");
  assert.deepEqual(wrong, []);
  await page.close();
});

test("a page cannot press the button, and what is typed into a field is offered none", { skip }, async () => {
  const { page } = await news();
  await selectByMouse(page, "claim");
  const bar = await within(page, BAR);
  await bar.evaluate((element) => element.querySelector("button").click());
  await page.click("#field", { clickCount: 3 });
  await staysAway(page);
  assert.deepEqual(checksIn(server.seen), []);
  await page.close();
});

test("it can be sent away on a site, and is switched off for all", { skip }, async () => {
  const { page } = await news();
  await selectByMouse(page, "claim");
  await (await within(page, BAR)).press(WORDS.en.say("ui_silence_here"));
  await page.waitForTimeout(300);
  assert.deepEqual(await extension.stored("silent"), ["127.0.0.1"]);
  await page.click("#secret");
  await selectByMouse(page, "claim");
  await staysAway(page);
  await page.reload();
  await selectByMouse(page, "claim");
  await staysAway(page);
  await page.close();
  const off = await news({ button: false });
  await selectByMouse(off.page, "claim");
  await staysAway(off.page);
  await off.page.close();
});

test("it goes with Escape, and with the selection", { skip }, async () => {
  const { page } = await news();
  await selectByMouse(page, "claim");
  await within(page, BAR);
  await page.keyboard.press("Escape");
  await staysAway(page);
  await selectByMouse(page, "claim");
  await within(page, BAR);
  await page.mouse.click(5, 5);
  await staysAway(page);
  await page.close();
});
