// The pages on the demo's recorded items: every page at two widths, in light and dark, in four languages, with and without a
// script; what goes wrong is said; nothing that others wrote is executed.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromiumPath, isTooWide, launch, serious, watched } from "./lib/browser.mjs";
import { demo } from "./lib/daemon.mjs";

const skip = chromiumPath() ? false : "Chromium is not installed";
const LANGUAGES = { en: "Check a claim", ru: "Проверить утверждение", uk: "Перевірити твердження", "pt-BR": "Verificar uma afirmação" };
const PAGES = [
  "/", "/items", "/evidence/demo:17:checked_by_two", "/evidence/demo:28:five_copies_of_one_wire", "/overview", "/domains",
  "/providers", "/queue", "/tokens", "/audit", "/docs", "/evidence/nobody",
];
const PICTURES = process.env.PICTURES;
let browser;
let daemon;

before(async () => {
  if (skip) return;
  [browser, daemon] = await Promise.all([launch(), demo()]);
});
after(async () => {
  await browser?.close();
  await daemon?.stop();
});

async function opened(options, path) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong = watched(page);
  await page.goto(daemon.base + path);
  return { page, wrong, close: () => context.close() };
}

for (const [locale, title] of Object.entries(LANGUAGES)) {
  for (const [width, colorScheme] of [[360, "dark"], [1440, "light"]]) {
    test(`every page in ${locale} at ${width} px, ${colorScheme}`, { skip }, async () => {
      for (const path of PAGES) {
        const { page, wrong, close } = await opened({ locale, colorScheme, viewport: { width, height: 800 } }, path);
        assert.equal(await page.getAttribute("html", "lang"), locale, path);
        if (path === "/") assert.equal(await page.textContent("h1"), title);
        const mended = wrong.filter((one) => !(path === "/evidence/nobody" && one.includes("404")));
        assert.deepEqual(mended, [], path);
        assert.equal(await isTooWide(page), false, `${path} is wider than ${width} px`);
        const size = (await page.content()).length;
        assert.ok(size < 100 * 1024, `${path}: ${size} characters`);
        if (PICTURES) {
          mkdirSync(PICTURES, { recursive: true });
          await page.screenshot({ path: join(PICTURES, `${path.replaceAll(/[/:]/g, "_")}-${locale}-${width}.png`), fullPage: true });
        }
        assert.deepEqual(await serious(page), [], path);
        await close();
      }
    });
  }
}

test("a claim is checked with its stages shown, and the answer takes the focus", { skip }, async () => {
  const { page, wrong, close } = await opened({ locale: "en" }, "/");
  const stages = [];
  await page.exposeFunction("noted", (text) => stages.push(text));
  await page.evaluate(() => {
    const list = document.getElementById("progress");
    new MutationObserver(() => globalThis.noted(list.innerText)).observe(list, { childList: true, subtree: true });
  });
  await page.fill("#claim", "Five JetBlue pilots died from the COVID-19 vaccine.");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#answer article.card");
  assert.match(await page.innerText("#answer"), /Refuted/);
  assert.ok(stages.some((text) => text.includes("finding the claim")), stages.join("\n"));
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H2");
  assert.equal(await page.isVisible("#progress"), false);
  assert.deepEqual(wrong, []);
  await page.getByRole("button", { name: "Copy as Markdown" }).click().catch(() => {});
  await page.getByRole("link", { name: "Link to this answer" }).click();
  await page.waitForURL("**/evidence/check*");
  assert.match(await page.innerText("main"), /Refuted/);
  await close();
});

test("an example is answered from stored facts", { skip }, async () => {
  const { page, close } = await opened({ locale: "en" }, "/");
  await page.getByRole("button", { name: "The Earth is flat." }).click();
  await page.waitForSelector("#answer article.card");
  assert.equal(await page.inputValue("#claim"), "The Earth is flat.");
  await close();
});

test("without a script every form works", { skip }, async () => {
  const { page, close } = await opened({ locale: "en", javaScriptEnabled: false }, "/");
  await page.fill("#claim", "Honus Wagner dropped out of school at age 14.");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.waitForURL("**/evidence/check*");
  assert.ok(await page.isVisible("article.card"));
  await page.goto(`${daemon.base}/items`);
  await page.selectOption("select[name=verdict]", "refuted");
  await page.getByRole("button", { name: "Show" }).click();
  assert.ok((await page.locator("ul.list > li").count()) >= 5);
  await page.goto(`${daemon.base}/domains`);
  await page.fill("input[name=domain]", "gazeta-3.example");
  await page.selectOption("select[name=list]", "deny");
  await page.getByRole("button", { name: "See what would change" }).click();
  assert.match(await page.innerText("main"), /Stored pages under this domain: \d/);
  await page.getByRole("button", { name: "Save" }).click();
  assert.match(await page.innerText("main"), /gazeta-3\.example/);
  await page.getByRole("button", { name: "Remove: gazeta-3.example" }).click();
  assert.equal(await page.locator("th", { hasText: "gazeta-3.example" }).count(), 0);
  await page.selectOption("select[name=to]", "uk");
  await page.getByRole("button", { name: "OK" }).click();
  assert.equal(await page.textContent("h1"), "Домени");
  await close();
});

test("an answer that breaks off, a server that is away and a slow one are said", { skip }, async () => {
  const { page, close } = await opened({ locale: "en" }, "/");
  const ask = async () => {
    await page.fill("#claim", "Saturn has less mass than Earth's elements.");
    await page.getByRole("button", { name: "Check", exact: true }).click();
  };
  const stage = 'event: stage\ndata: {"stage":"claims"}\n\n';
  await page.route("**/check/stream", (route) => route.fulfill({ contentType: "text/event-stream", body: stage }));
  await ask();
  await page.getByText("The connection broke before the answer was complete").waitFor();
  await page.unroute("**/check/stream");
  await page.route("**/check/stream", (route) => route.abort());
  await ask();
  await page.getByText("The server cannot be reached").waitFor();
  await page.unroute("**/check/stream");
  await page.clock.install();
  await page.route("**/check/stream", () => {});
  await ask();
  await page.clock.fastForward(25_000);
  await page.getByText("This takes longer than usual").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancelled.").waitFor();
  await close();
});

test("what others wrote is text", { skip }, async () => {
  const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e"'` + "🙂".repeat(3000);
  const { page, wrong, close } = await opened({ locale: "en" }, "/");
  await page.fill("#claim", hostile);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.waitForSelector("#answer :is(article.card, p)", { timeout: 30_000 });
  assert.equal(await page.locator("#answer img, #answer script").count(), 0);
  await page.goto(`${daemon.base}/items?q=${encodeURIComponent(hostile.slice(0, 150))}&channel=${encodeURIComponent("\"><b>")}`);
  assert.equal(await page.locator("main b").count(), await page.locator("main li b").count());
  assert.equal(await isTooWide(page), false);
  assert.deepEqual(wrong, []);
  await close();
});

test("a session begins with a token, and a reader may not change anything", { skip }, async () => {
  const own = await demo({ ADMIN_TOKEN: "an-admin", CORROBORATE_HTTP_READ_TOKEN: "a-reader" });
  try {
    const context = await browser.newContext({ locale: "en" });
    const page = await context.newPage();
    await page.goto(`${own.base}/items`);
    await page.fill("#token", "guessed");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Unknown token").waitFor();
    await page.fill("#token", "a-reader");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/items");
    await page.goto(`${own.base}/domains`);
    assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);
    await page.goto(`${own.base}/tokens`);
    assert.match(await page.innerText("main"), /Your token does not allow this/);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL("**/sign-in");
    assert.equal((await context.cookies()).filter((one) => one.name === "corroborate_session").length, 0);
    await context.close();
  } finally {
    await own.stop();
  }
});
