// The extension, unpacked, in a real Chromium: on a page of news, against a server that plays its faults, and against the program.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromiumPath, launchWith, serious } from "./lib/browser.mjs";
import { demo } from "./lib/daemon.mjs";
import { simulator } from "./lib/simulator.mjs";

const skip = chromiumPath() ? false : "Chromium is not installed";
const SOURCE = join(import.meta.dirname, "../../extension");
let folder;
let browser;
let server;
let id;

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corroborate-extension-"));
  const copy = join(folder, "extension");
  cpSync(SOURCE, copy, { recursive: true });
  // A person grants access to the server by a dialog of the browser's, which nothing can press here. The two tests of what is
  // not granted take it away again by asking another server.
  const manifest = JSON.parse(readFileSync(join(copy, "manifest.json"), "utf8"));
  manifest.host_permissions = ["http://127.0.0.1/*"];
  writeFileSync(join(copy, "manifest.json"), JSON.stringify(manifest));
  server = await simulator();
  ({ context: browser, id } = await launchWith(copy, join(folder, "profile")));
});
after(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const own = (path) => `chrome-extension://${id}/${path}`;

async function set(values) {
  const page = await browser.newPage();
  await page.goto(own("options/options.html"));
  await page.evaluate((values) => globalThis.chrome.storage.local.set(values), values);
  await page.close();
}

/** Asks in the popup's page, which holds the same panel as the overlay. */
async function asked(claim, way, more = {}) {
  server.play.way = way;
  await set({ server: server.base, plainAllowed: true, token: "", language: "en", ...more });
  const page = await browser.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => (wrong.push(dialog.message()), dialog.dismiss()));
  await page.goto(own("popup/popup.html"));
  await page.fill("#claim", claim);
  await page.click("form button");
  return { page, wrong };
}

const text = (page) => page.locator("#panel");

test("an answer comes with its sides, its gaps and a link to all of it", { skip }, async () => {
  server.seen.length = 0;
  const { page, wrong } = await asked("Five JetBlue pilots died from the vaccine.", "whole", { token: "t0ken" });
  await text(page).getByText("Refuted").first().waitFor();
  const shown = await text(page).innerText();
  assert.match(shown, /a lean, not a finding/);
  assert.match(shown, /news1\.example/);
  const links = await page.locator("#panel a").evaluateAll((all) => all.map((one) => one.href));
  assert.ok(links.some((link) => link.startsWith(`${server.base}/evidence/check`)), links.join(" "));
  assert.ok(links.some((link) => link.includes("#:~:text=")), links.join(" "));
  assert.equal(server.seen.length, 1);
  assert.equal(server.seen[0].headers.authorization, "Bearer t0ken");
  assert.deepEqual(JSON.parse(server.seen[0].body), { claim: "Five JetBlue pilots died from the vaccine.", vocabulary: "ours" });
  assert.deepEqual(wrong, []);
  assert.deepEqual(await serious(page), []);
  await page.close();
});

for (const [way, said] of [
  ["token", /token/i], ["busy", /7/], ["html", /corroborate/i], ["cut", /broke|broken|middle|end/i],
]) {
  test(`a server that answers "${way}" is told in words`, { skip }, async () => {
    const { page, wrong } = await asked("Saturn has less mass.", way);
    await page.locator("#panel [role=alert], #panel .problem").first().waitFor();
    assert.match(await text(page).innerText(), said);
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

test("a server that is away is told, and so is one that was never set", { skip }, async () => {
  const gone = await simulator();
  await gone.stop();
  const { page } = await asked("Saturn has less mass.", "whole", { server: gone.base });
  await page.locator("#panel [role=alert], #panel .problem").first().waitFor();
  await page.close();
  const none = await asked("Saturn has less mass.", "whole", { server: "" });
  await none.page.locator("#panel [role=alert], #panel .problem").first().waitFor();
  assert.match(await text(none.page).innerText(), /options|settings/i);
  await none.page.close();
});

test("a check that hangs is cancelled, by the keyboard too", { skip }, async () => {
  const { page } = await asked("Saturn has less mass.", "hang");
  await text(page).getByRole("button", { name: /cancel/i }).waitFor();
  await text(page).getByRole("button", { name: /cancel/i }).focus();
  await page.keyboard.press("Enter");
  await text(page).getByText(/cancelled/i).first().waitFor();
  await page.close();
});

test("what others wrote is text and nothing else", { skip }, async () => {
  const { page, wrong } = await asked("Saturn has less mass.", "hostile");
  await text(page).getByText("Refuted").first().waitFor();
  assert.equal(await page.locator("#panel img[src=x], #panel script").count(), 0);
  assert.ok(!(await text(page).innerText()).includes("\u202e"));
  assert.deepEqual(wrong, []);
  await page.close();
});

test("over a page the selection is checked, and nothing else of the page is sent", { skip }, async () => {
  server.play.way = "whole";
  await set({ server: server.base, plainAllowed: true, language: "en" });
  server.seen.length = 0;
  const page = await browser.newPage();
  await page.goto(`${server.base}/page`);
  await page.evaluate(() => getSelection().selectAllChildren(document.getElementById("claim")));
  const worker = browser.serviceWorkers().find((one) => one.url().includes(id));
  await worker.evaluate(async () => {
    const [tab] = await chrome.tabs.query({ url: "http://127.0.0.1/page*" });
    const tabs = tab ? [tab] : await chrome.tabs.query({});
    const over = tabs.find((one) => one.url?.endsWith("/page"));
    chrome.contextMenus.onClicked.dispatch({ menuItemId: "check", selectionText: "Five JetBlue pilots died from the vaccine." }, over);
  });
  const sent = () => server.seen.filter((one) => one.method === "POST");
  for (let n = 0; n < 100 && sent().length === 0; n++) await page.waitForTimeout(100);
  assert.equal(sent().length, 1);
  assert.ok(!sent()[0].body.includes("private"), sent()[0].body);
  assert.equal(JSON.parse(sent()[0].body).claim, "Five JetBlue pilots died from the vaccine.");
  await page.waitForFunction(() => document.documentElement.lastElementChild !== document.body || document.querySelectorAll("body > *").length > 2);
  // The overlay is in a closed shadow: the page's own scripts see an element and nothing in it.
  const seen = await page.evaluate(() => document.documentElement.outerHTML);
  assert.ok(!seen.includes("Refuted"), "the page reads the answer");
  assert.ok((await page.title()) === "News");
  await page.close();
});

test("the options are kept, in four languages, and find nothing serious wrong with themselves", { skip }, async () => {
  for (const [language, words] of [["en", /Server/], ["ru", /Сервер/], ["uk", /Сервер/], ["pt_BR", /Servidor/]]) {
    await set({ server: "", token: "", language, silent: ["bank.example"] });
    const page = await browser.newPage();
    await page.goto(own("options/options.html"));
    await page.getByText(words).first().waitFor();
    assert.equal(await page.inputValue("#silent"), "bank.example");
    assert.deepEqual(await serious(page), [], language);
    await page.close();
  }
});

test("against the program itself", { skip }, async () => {
  const daemon = await demo({ CORROBORATE_HTTP_CORS_ORIGINS: `chrome-extension://${id}` });
  try {
    const { page, wrong } = await asked("Five JetBlue pilots died from the COVID-19 vaccine.", "whole", { server: daemon.base });
    await text(page).getByText("Refuted").first().waitFor({ timeout: 60_000 });
    assert.match(await text(page).innerText(), /PolitiFact/);
    assert.deepEqual(wrong, []);
    const link = await page.locator(`#panel a[href^="${daemon.base}/evidence/"]`).first().getAttribute("href");
    await page.goto(link);
    assert.match(await page.innerText("main"), /Refuted/);
    await page.close();
  } finally {
    await daemon.stop();
  }
});
