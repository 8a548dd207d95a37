// The popup and the options: what is asked, what is kept, what is said when it goes wrong; in four languages.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { chromiumPath, isTooWide, serious, watched } from "../lib/browser.mjs";
import { EVIL } from "../lib/answers.mjs";
import { loaded, openPopup } from "../lib/extension.mjs";
import { checksIn, simulator } from "../lib/simulator.mjs";
import { WORDS } from "../lib/words.mjs";

const skip = chromiumPath() ? false : "Chromium is not installed (apt install chromium, or CHROMIUM=program)";
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

async function opened(path, values = {}, of = extension) {
  await of.set({ server: server.base, token: "", language: "en", claimLanguage: "", plainAllowed: false, button: false, silent: [], ...values });
  server.seen.length = 0;
  const page = await of.context.newPage();
  const wrong = watched(page);
  await page.setViewportSize({ width: 360, height: 600 });
  await page.goto(of.own(path));
  await page.locator("label").first().filter({ hasText: /\S/ }).waitFor();
  return { page, wrong };
}

async function asked(claim, values, of) {
  const { page, wrong } = await opened("popup/popup.html", values, of);
  await page.fill("#claim", claim);
  await page.keyboard.press("Control+Enter");
  await page.locator("#panel :is(.card, .problem)").waitFor();
  return { page, wrong, panel: page.locator("#panel") };
}

const FAULTS = {
  notoken: /asks for a token.*Enter a token in the options/s,
  wrongtoken: /does not accept the token/,
  maynot: /Your token does not allow checking claims.*“check”/s,
  origin: /CORROBORATE_HTTP_CORS_ORIGINS=chrome-extension:\/\/[a-p]{32}/,
  proxy: /refuses this request.*a proxy passed this request on/s,
  many: /Too many requests.*wait 7 seconds/s,
  fault: /Something went wrong inside the server/,
  away: /cannot answer at the moment.*in 5 seconds/s,
  gaveup: /took longer than the server allows/,
  hangup: /cannot be reached|local network/,
  cut: /broke off before its end.*Nothing is lost/s,
  torn: /broke off before its end/,
  midway: /cannot answer at the moment/,
  html: /is not a corroborate server/,
  half: /is not a corroborate server/,
  moved: /redirects to another address.*Neither the text nor the token was sent there/s,
};

test("every fault of a server is said in words that tell what to do", { skip }, async () => {
  for (const [name, said] of Object.entries(FAULTS)) {
    const { page, wrong, panel } = await asked(`A statement: case ${name}.`);
    assert.match(await panel.innerText(), said, name);
    // Chromium itself logs what a server answered with; that is no fault of ours.
    assert.deepEqual(wrong.filter((line) => !line.startsWith("Failed to load resource")), [], name);
    await page.close();
  }
});

test("a server that is away, and one that was never set", { skip }, async () => {
  const gone = await simulator();
  await gone.stop();
  const away = await asked("A statement.", { server: gone.base });
  assert.match(await away.panel.innerText(), /(cannot be reached|local network).*(is running|site settings)/s);
  await away.page.close();
  const unset = await asked("A statement.", { server: "" });
  assert.match(await unset.panel.innerText(), /No server is set/);
  assert.deepEqual(server.seen, []);
  await unset.page.close();
});

test("hostile texts are text in the popup too, where they would run with the extension's rights", { skip }, async () => {
  const { page, wrong } = await asked(`${EVIL.markup} ${EVIL.tower} case hostile`);
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  assert.equal(await page.locator("#panel :is(img, script, iframe, [onerror], [onload])").count(), 0);
  assert.equal(await page.evaluate(() => globalThis.owned), undefined);
  assert.equal(await isTooWide(page), false);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("popup and options speak four languages, fit into 360 px, and axe finds nothing serious", { skip }, async () => {
  for (const [at, [locale, words]] of Object.entries(WORDS).entries()) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, panel } = await asked(`A statement: case ${at % 2 ? "gaps" : "firm"}.`, { language: locale });
      await page.emulateMedia({ colorScheme });
      assert.equal(await page.getAttribute("html", "lang"), words.tag);
      assert.ok((await panel.innerText()).includes(words.say("ui_firmer").slice(0, at % 2 ? undefined : 0)), locale);
      assert.equal(await isTooWide(page), false, locale);
      assert.deepEqual(await serious(page), [], `popup, ${locale}, ${colorScheme}`);
      await page.goto(extension.own("options/options.html"));
      await page.locator("h2", { hasText: words.say("options_server_heading") }).first().waitFor();
      assert.equal(await isTooWide(page), false, locale);
      assert.deepEqual(await serious(page), [], `options, ${locale}, ${colorScheme}`);
      await page.close();
    }
  }
});

test("what is set is kept and tried at once; what cannot be kept is said", { skip }, async () => {
  const { page, wrong } = await opened("options/options.html", { server: "" });
  const outcome = page.locator("#outcome");
  const save = async (fields) => {
    for (const [id, text] of Object.entries(fields)) await page.fill(`#${id}`, text);
    await page.getByRole("button", { name: "Save" }).click();
  };
  for (const [address, said] of [
    ["ftp://a.example", /must begin with https/], ["https://me:secret@a.example", /leave user name and password out/],
    ["two words", /not a web address/], ["http://192.0.2.7:8080", /not encrypted/],
  ]) {
    await save({ server: address });
    await outcome.getByText(said).waitFor();
    assert.equal(await extension.stored("server"), "", address);
  }
  await save({ server: server.base, silent: "not a domain" });
  await outcome.getByText(/is not a domain/).waitFor();
  await save({ token: "t0ken", silent: "https://Bank.example/login\n*.mail.example" });
  await outcome.getByText("Saved. The server answers and accepts claims.").waitFor();
  assert.deepEqual(await extension.stored("silent"), ["bank.example", "mail.example"]);
  assert.equal(server.seen.at(-1).headers.authorization, "Bearer t0ken");
  assert.equal(server.seen.at(-1).body.claim, "", "the trial asks for nothing to be checked");
  await page.selectOption("#language", "uk");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("h2", { hasText: "Мова" }).waitFor();
  await save({ server: `${server.base}/elsewhere` }).catch(() => {});
  await page.close();
  assert.deepEqual(wrong.filter((line) => !line.startsWith("Failed to load resource")), []);
});

test("as it is installed it may talk to nobody: it asks for the one server that was set", { skip }, async () => {
  const fresh = await loaded({ granted: false });
  try {
    const granted = await (await fresh.worker()).evaluate(() => chrome.permissions.getAll());
    assert.deepEqual(granted.origins, []);
    assert.deepEqual(granted.permissions.sort(), ["activeTab", "contextMenus", "scripting", "storage"]);
    const { page, panel } = await asked("A statement.", {}, fresh);
    assert.match(await panel.innerText(), /not allowed to contact http:\/\/127\.0\.0\.1:\d+ yet/);
    assert.deepEqual(server.seen, []);
    await page.goto(fresh.own("options/options.html"));
    await page.locator("h2", { hasText: "Server" }).first().waitFor();
    await page.evaluate(() => {
      globalThis.requested = [];
      globalThis.chrome.permissions.request = async (wanted) => (globalThis.requested.push(wanted), false);
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("#outcome").getByText(/did not allow access/).waitFor();
    assert.deepEqual(await page.evaluate(() => globalThis.requested), [{ origins: [`${server.base}/*`] }]);
    await page.close();
  } finally {
    await fresh.close();
  }
});

test("where no overlay can be, the check opens in a tab of its own", { skip }, async () => {
  await extension.set({ server: server.base, language: "en" });
  server.seen.length = 0;
  const page = await extension.context.newPage();
  await page.goto("chrome://version");
  const [tab] = await Promise.all([
    extension.context.waitForEvent("page"),
    (await extension.worker()).evaluate(async () => {
      const [active] = await chrome.tabs.query({ active: true });
      chrome.contextMenus.onClicked.dispatch({ menuItemId: "check", selectionText: "A statement on a page of the browser's." }, active);
    }),
  ]);
  await tab.locator("#panel .card").waitFor();
  assert.equal(new URL(tab.url()).hash, "#tab", "the text is in no address, and so in no history");
  assert.equal(checksIn(server.seen)[0].body.claim, "A statement on a page of the browser's.");
  await tab.close();
  await page.close();
});

test("the popup takes over what is selected on the page, and sends nothing before it is asked to", { skip }, async () => {
  const fresh = await loaded({ granted: false });
  try {
    await fresh.set({ server: server.base, language: "en" });
    const page = await fresh.context.newPage();
    await page.goto(`${server.base}/page`);
    await page.evaluate(() => getSelection().selectAllChildren(document.getElementById("claim")));
    server.seen.length = 0;
    const popup = await openPopup(fresh, page);
    // It loads, takes the selection over, and grows to its size.
    const isReady = () => popup.evaluate('(document.getElementById("claim")?.value ?? "") !== "" && innerWidth >= 360');
    for (let tries = 0; tries < 100 && !(await isReady()); tries++) await page.waitForTimeout(50);
    const seen = await popup.evaluate('({ claim: document.getElementById("claim").value, focused: document.activeElement.id, width: innerWidth, wide: document.documentElement.scrollWidth })');
    assert.deepEqual([seen.claim, seen.focused], ["Yesterday they said: the Riverside bridge opened in 1990.", "claim"]);
    assert.ok(seen.width >= 360 && seen.wide <= seen.width, JSON.stringify(seen));
    assert.deepEqual(server.seen, []);
    await page.close();
  } finally {
    await fresh.close();
  }
});
