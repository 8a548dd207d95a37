// The overlay on a page of news, against a server that plays its faults: what is sent, what is shown, and what the page sees of it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { EVIL } from "../lib/answers.mjs";
import { chromiumPath, serious, watched } from "../lib/browser.mjs";
import { chooseInMenu, loaded, pressShortcut, within } from "../lib/extension.mjs";
import { checksIn, PATIENT_MS, simulator } from "../lib/simulator.mjs";
import { WORDS } from "../lib/words.mjs";

const skip = chromiumPath() ? false : "Chromium is not installed (apt install chromium, or CHROMIUM=program)";
const SELECTED = "Yesterday they said: the Riverside bridge opened in 1990.";
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

/** The page of news, with the extension set up; `seen` is empty from here. */
async function news(values = {}) {
  await extension.set({ server: server.base, token: "", language: "en", claimLanguage: "", button: false, silent: [], ...values });
  const page = await extension.context.newPage();
  const wrong = watched(page);
  await page.goto(`${server.base}/page`);
  server.seen.length = 0;
  return { page, wrong };
}

const select = (page, id = "claim") => page.evaluate((name) => getSelection().selectAllChildren(document.getElementById(name)), id);
const isSettled = (panel) => !panel.hasAttribute("aria-busy") && panel.querySelector(".card, .problem, .cancelled") !== null;
const answered = (page) => within(page, ".panel", isSettled);
const until = async (page, isTrue) => {
  for (let tries = 0; tries < 100 && !isTrue(); tries++) await page.waitForTimeout(50);
};

test("of a page the selection is sent and nothing else, to the configured server and nobody else", { skip }, async () => {
  const { page, wrong } = await news({ token: "t0ken", claimLanguage: "en" });
  const requested = [];
  extension.context.on("request", (request) => requested.push(request.url()));
  await select(page);
  await chooseInMenu(extension, page, SELECTED);
  const panel = await answered(page);
  assert.match(await panel.text(), /Refuted/);
  assert.deepEqual(server.seen.map((one) => `${one.method} ${one.url}`), ["POST /api/verify", "GET /api/domains"]);
  const [check, lists] = server.seen;
  assert.deepEqual(check.body, { claim: SELECTED, vocabulary: "ours", language: "en" });
  assert.equal(lists.text, "");
  for (const one of server.seen) {
    assert.equal(one.headers.authorization, "Bearer t0ken");
    assert.equal(one.headers.cookie, undefined);
    assert.doesNotMatch(JSON.stringify(one), /secret|4711|\/page|referer/i);
  }
  assert.deepEqual(requested.filter((url) => !url.startsWith(server.base) && !url.startsWith("chrome-extension:")), []);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("the card has its parts: sides, credibility with its reason, one story once, a link at the words, the whole answer", { skip }, async () => {
  const { page } = await news();
  await chooseInMenu(extension, page, SELECTED);
  const panel = await answered(page);
  const text = await panel.text();
  for (const part of [
    "Refuted", "conclusive", "About 8 in 10 answers with this confidence were right", "You asked", SELECTED, "What was checked", "The Riverside bridge opened in 1990.",
    "For the claim", "Against the claim", "riverside-gazette.example", "Nov 18, 2026", "on the allow list, news outlet (the town's paper of record)",
    "same story as 2 other outlets: they count once", "Fact-check of this claim", "Possible correction, for an editor to check", "sources disagree",
  ]) {
    assert.ok(text.toLowerCase().includes(part.toLowerCase()), `${part}\n${text}`);
  }
  const seen = await panel.evaluate((element) => ({
    links: [...element.querySelectorAll("a")].map((link) => [link.href, link.rel, link.target]),
    changed: [...element.querySelectorAll("del, ins")].map((part) => `${part.localName} ${part.textContent}`),
    beside: [...element.querySelectorAll(".side")].map((side) => side.getBoundingClientRect().top),
    first: element.querySelector(".card").firstElementChild.className,
  }));
  assert.ok(seen.links.some(([href]) => href.startsWith("https://www.riverside-gazette.example/1987/bridge#:~:text=The%20council%20opened")));
  assert.ok(seen.links.some(([href]) => href === `${server.base}/evidence/check%3A5d41402abc`));
  for (const [, rel, target] of seen.links) assert.ok(/noopener noreferrer/.test(rel) && target === "_blank");
  assert.deepEqual(seen.changed, ["del 1990.", "ins 1987."]);
  assert.equal(seen.beside[0], seen.beside[1], "the sides stand side by side");
  assert.match(seen.first, /verdict refuted/, "the answer comes first");
  await page.close();
});

test("a page sees an element and nothing in it, and its own style does not reach in", { skip }, async () => {
  const { page } = await news();
  await chooseInMenu(extension, page, SELECTED);
  const panel = await answered(page);
  const seen = await page.evaluate(() => ({ html: document.documentElement.outerHTML, open: [...document.querySelectorAll("*")].some((one) => one.shadowRoot) }));
  assert.doesNotMatch(seen.html, /Refuted|riverside-gazette/);
  assert.equal(seen.open, false);
  const looks = await panel.evaluate((element) => {
    const { x, y, width } = element.getBoundingClientRect();
    const style = getComputedStyle(element.querySelector(".word"));
    return { x, y, width, font: style.fontFamily, size: style.fontSize, visible: getComputedStyle(element).visibility };
  });
  assert.ok(looks.width > 300 && looks.x >= 0 && looks.y >= 0, JSON.stringify(looks));
  assert.deepEqual([looks.visible, looks.size, looks.font.includes("cursive")], ["visible", "20px", false]);
  // Neither settings nor token can be read where pages live.
  const worker = await extension.worker();
  const read = await worker.evaluate(async () => {
    const [tab] = await chrome.tabs.query({ active: true, url: "http://127.0.0.1/*" });
    const [{ result }] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, func: () => chrome.storage.local.get().then(() => "read", () => "refused") });
    return result;
  });
  assert.equal(read, "refused");
  await page.close();
});

test("the keyboard is enough: shortcut, every control, Escape, and the focus comes back", { skip }, async () => {
  const { page } = await news();
  await page.focus("#link");
  await select(page);
  await pressShortcut(extension, page);
  const panel = await answered(page);
  assert.equal(checksIn(server.seen)[0].body.claim, SELECTED, "the shortcut takes the page's own selection");
  const names = new Set();
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press("Tab");
    const name = await panel.evaluate((element) => {
      const focused = element.getRootNode().activeElement;
      return focused ? (focused.getAttribute("aria-label") ?? focused.innerText) : null;
    });
    if (name) names.add(name.trim());
  }
  for (const name of ["Close", "Copy as text", "The whole answer on the server", "Check again", "Sources 1"]) assert.ok(names.has(name), `${name} among ${[...names].join(", ")}`);
  await panel.evaluate((element) => element.querySelector(".cite").focus());
  await page.keyboard.press("Enter");
  assert.equal(await panel.evaluate((element) => element.getRootNode().activeElement.dataset.n), "1", "a citation leads to its passage");
  assert.deepEqual(await page.evaluate(() => globalThis.seen.filter((one) => one.includes("Enter"))), [], "keys for the overlay are no shortcuts of the page's");
  await page.keyboard.press("Escape");
  assert.ok(await panel.gone());
  assert.equal(await page.evaluate(() => document.activeElement.id), "link");
  await page.close();
});

test("a check is cancelled by its button, by closing, and by leaving the page; the server sees its client leave", { skip }, async () => {
  for (const way of ["Cancel", "Close", "leave"]) {
    const { page } = await news();
    await chooseInMenu(extension, page, "A statement that takes long: case slow.");
    const panel = await within(page, ".panel", (element) => element.innerText.includes("takes no requests at the moment"));
    assert.match(await panel.text(), /searching/i);
    if (way === "leave") await page.goto(`${server.base}/elsewhere`);
    else await panel.press(way);
    await until(page, () => checksIn(server.seen)[0].ended !== null);
    assert.equal(checksIn(server.seen)[0].ended, "left", way);
    if (way === "Cancel") assert.match(await panel.text(), /Cancelled/);
    if (way === "Close") assert.ok(await panel.gone());
    await page.close();
  }
});

test("a server that takes its time is said to, and its answer is waited for", { skip, timeout: 90_000 }, async () => {
  const { page } = await news();
  const begun = Date.now();
  await chooseInMenu(extension, page, "A statement: case patient.");
  await within(page, ".panel", (element) => /\b5 s\b/.test(element.innerText));
  await page.waitForTimeout(20_500 - (Date.now() - begun));
  const slow = await within(page, ".panel", (element) => element.querySelector(".slow")?.textContent !== "");
  assert.match(await slow.text(), /This takes longer than usual; a source is slow to answer\. You can wait or cancel\./);
  await page.waitForTimeout(Math.max(0, PATIENT_MS - (Date.now() - begun)));
  assert.match(await (await answered(page)).text(), /Supported/);
  await page.close();
});

test("what others wrote is text, in its place, and executes nothing", { skip }, async () => {
  const { page, wrong } = await news();
  await chooseInMenu(extension, page, `${EVIL.markup} ${EVIL.bidi} ${EVIL.quoted} case hostile`);
  const panel = await answered(page);
  await panel.evaluate((element) => element.querySelectorAll("details").forEach((one) => (one.open = true)));
  const seen = await panel.evaluate((element) => ({
    text: element.innerText,
    made: element.querySelectorAll("img, script, iframe, object, style, [onerror], [onload], svg:not(.icon)").length,
    links: [...element.querySelectorAll("a")].map((link) => link.href),
    wide: element.querySelector(".body").scrollWidth - element.querySelector(".body").clientWidth,
    right: element.getBoundingClientRect().right - innerWidth,
  }));
  assert.equal(seen.made, 0);
  assert.doesNotMatch(seen.text, /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/);
  assert.ok(seen.links.every((link) => /^https?:/.test(link)), seen.links.join("\n"));
  assert.ok(seen.wide <= 0 && seen.right <= 0, `${seen.wide} ${seen.right}`);
  assert.equal(await page.evaluate(() => globalThis.owned), undefined);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("a selection that is too long is not sent, nor is an empty one", { skip }, async () => {
  const { page } = await news();
  await chooseInMenu(extension, page, EVIL.long);
  assert.match(await (await answered(page)).text(), /longer than 5,000 characters/);
  await page.evaluate(() => getSelection().removeAllRanges());
  await pressShortcut(extension, page);
  assert.match(await (await within(page, ".panel", (element) => element.innerText.includes("Nothing is selected"))).text(), /Select the statement/);
  assert.deepEqual(server.seen, []);
  await page.close();
});

test("after a fault it can be asked again, in the same overlay", { skip }, async () => {
  const { page } = await news();
  await chooseInMenu(extension, page, "A statement: case cut.");
  const panel = await answered(page);
  assert.match(await panel.text(), /The answer broke off before its end/);
  await panel.press("Check again");
  await until(page, () => checksIn(server.seen).length === 2);
  assert.equal(checksIn(server.seen).length, 2);
  await page.close();
});

test("the overlay speaks four languages, in light and dark, on narrow windows too, and axe finds nothing serious", { skip }, async () => {
  for (const [at, [locale, words]] of Object.entries(WORDS).entries()) {
    const { page } = await news({ language: locale });
    await page.emulateMedia({ colorScheme: at % 2 ? "dark" : "light" });
    await page.setViewportSize({ width: at % 2 ? 360 : 1280, height: 800 });
    for (const name of ["firm", "gaps", "cut"]) {
      await chooseInMenu(extension, page, `A statement: case ${name}.`);
      const panel = await within(page, ".panel", name === "cut" ? (element) => element.querySelector(".problem") !== null : isSettled);
      const said = { firm: "verdict_refuted", gaps: "gaps", cut: "problem_broken_off" }[name];
      assert.ok((await panel.text()).includes(words.say(said)), `${locale}: ${name}`);
      const html = await panel.evaluate((element) => {
        const { left, right, bottom } = element.getBoundingClientRect();
        if (left < 0 || right > innerWidth || bottom > innerHeight) throw new Error(`beyond the window: ${left} ${right} ${bottom}`);
        return element.getRootNode().innerHTML;
      });
      // A closed root is closed to axe too: it looks at the same nodes on a page of their own.
      const copy = await extension.context.newPage();
      await copy.emulateMedia({ colorScheme: at % 2 ? "dark" : "light" });
      await copy.goto(`${server.base}/elsewhere`);
      await copy.evaluate((markup) => {
        document.documentElement.lang = "en";
        document.body.innerHTML = `<main>${markup}</main>`;
      }, html);
      assert.deepEqual(await serious(copy), [], `${locale}: ${name}`);
      await copy.close();
      await panel.press(words.say("ui_close"));
      assert.ok(await panel.gone());
    }
    await page.close();
  }
});
