// The extension, unpacked, in a Chromium of its own; and eyes and hands for its overlay, which pages cannot look into.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { launchWith } from "./browser.mjs";

const SOURCE = join(import.meta.dirname, "../../../extension");
// Whoever loads a folder gets an origin made of its place. With this key it is always the one below, which a daemon can be
// told before the test begins. The private half was thrown away.
const KEY =
  "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAznt6xseUZFnf38iyykoKpBOierD+zqF2r74M/9VGAZFBcHG8fEwmR5Uk6UJk8PW0se" +
  "AR6AXhXO83duCMX9Q0xjrNpAMyKGd8rBEC5cH8+lpRAgKaKCL2C4R6WGljRSYnzeehtxK8+GoFjmCg6GtcWJzvPrNHlvH8WvbdpjhCcWrCmUE6" +
  "d6npkmp9IrDx5dJe7x+MXzO2wAIM8ckd5rz7WN1ALlz4i2Cr7ecPsOeq+IvGqr1lXQ4/rVqxY3SSRf1TD4DSbOaE5feDnvX2ZdoBz7lty1JGtQ" +
  "uTrXQv22RPwEkfB37iAtWziXTN7OXxYVKdiVXG91e4NbIfO8cUuwXCzQIDAQAB";
/** Its origin, as a daemon sees it. */
export const ORIGIN = "chrome-extension://opjepjeclncndonfhacccbmjiecdnpph";

/**
 * Loads a copy. A person grants access by a dialog of the browser's own, which nothing can press here: with `granted` the
 * copy has that access from the start. Gives `{context, worker, own, set, stored, close}`.
 */
export async function loaded({ granted }) {
  const folder = mkdtempSync(join(tmpdir(), "corroborate-extension-"));
  const copy = join(folder, "extension");
  cpSync(SOURCE, copy, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(copy, "manifest.json"), "utf8"));
  manifest.key = KEY;
  if (granted) manifest.host_permissions = ["http://*/*", "https://*/*"];
  writeFileSync(join(copy, "manifest.json"), JSON.stringify(manifest));
  const { context, id } = await launchWith(copy, join(folder, "profile"));
  const own = (path) => `chrome-extension://${id}/${path}`;
  const worker = async () => {
    const found = context.serviceWorkers().find((one) => one.url().includes(id)) ?? (await context.waitForEvent("serviceworker"));
    // It is there a moment before its interface is.
    while (!(await found.evaluate(() => Boolean(globalThis.chrome?.storage)))) await new Promise((resolve) => setTimeout(resolve, 50));
    return found;
  };
  const set = async (values) => (await worker()).evaluate((all) => globalThis.chrome.storage.local.set(all), values);
  const stored = async (name) => (await worker()).evaluate(async (one) => (await globalThis.chrome.storage.local.get(one))[one], name);
  const close = async () => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { context, worker, own, set, stored, close };
}

/** What a press in the context menu does, which is the browser's own and cannot be pressed here. */
export async function chooseInMenu(extension, page, selectionText) {
  await dispatch(extension, page, (tab, text) => globalThis.chrome.contextMenus.onClicked.dispatch({ menuItemId: "check", selectionText: text }, tab), selectionText);
}

/** What the keyboard shortcut does. */
export async function pressShortcut(extension, page) {
  await dispatch(extension, page, (tab) => globalThis.chrome.commands.onCommand.dispatch("check-selection", tab));
}

/**
 * Presses the extension's button in the toolbar over a page, which gives it that page's access until it is left. Gives what
 * evaluates an expression in the real popup: playwright knows of no such windows.
 */
export async function openPopup(extension, page) {
  await page.bringToFront();
  const session = await extension.context.browser().newBrowserCDPSession();
  const targets = async () => (await session.send("Target.getTargets", { filter: [{}] })).targetInfos;
  const tab = (await targets()).find((one) => one.type === "tab" && one.url === page.url());
  await session.send("Extensions.triggerAction", { id: new URL(extension.own("")).host, targetId: tab.targetId });
  const isPopup = (one) => one.type === "page" && one.url === extension.own("popup/popup.html");
  let popup;
  for (let tries = 0; tries < 100 && !popup; tries++) {
    popup = (await targets()).find(isPopup);
    await page.waitForTimeout(50);
  }
  const { sessionId } = await session.send("Target.attachToTarget", { targetId: popup.targetId, flatten: false });
  let last = 0;
  const send = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      const hear = (event) => {
        const message = JSON.parse(event.message);
        if (event.sessionId !== sessionId || message.id !== id) return;
        session.off("Target.receivedMessageFromTarget", hear);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      };
      session.on("Target.receivedMessageFromTarget", hear);
      session.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id, method, params }) }).catch(reject);
    });
  const evaluate = async (expression) => {
    const answer = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? "the expression failed");
    return answer.result.value;
  };
  return { evaluate, send };
}

async function dispatch(extension, page, action, text = null) {
  await page.bringToFront();
  const worker = await extension.worker();
  await worker.evaluate(`(async () => {
    const [tab] = await chrome.tabs.query({ active: true, url: ${JSON.stringify(`${new URL(page.url()).protocol}//127.0.0.1/*`)} });
    (${action})(tab, ${JSON.stringify(text)});
  })()`);
}

/**
 * The closed shadow root of what the extension put into a page, by the selector of an element in it; waits until there is
 * one in which `ready` (a function of the element) is true. Gives `{evaluate, text, press, gone}`.
 */
export async function within(page, selector, ready = () => true) {
  const session = await page.context().newCDPSession(page);
  for (let tries = 0; tries < 150; tries++) {
    const found = await find(session, selector);
    if (found && (await call(session, found, ready))) return handle(page, session, found, selector);
    await page.waitForTimeout(100);
  }
  throw new Error(`nothing like ${selector} came into the page`);
}

/** Whether the extension has put something into the page that holds such an element. */
export async function isWithin(page, selector) {
  const session = await page.context().newCDPSession(page);
  const found = await find(session, selector);
  await session.detach();
  return found !== null;
}

async function find(session, selector) {
  const { root } = await session.send("DOM.getDocument", { depth: -1, pierce: true });
  const roots = [];
  const walk = (node) => {
    for (const shadow of node.shadowRoots ?? []) if (shadow.shadowRootType === "closed") roots.push(shadow);
    for (const child of [...(node.children ?? []), ...(node.shadowRoots ?? [])]) walk(child);
  };
  walk(root);
  for (const shadow of roots) {
    // What was there a moment ago may have gone: then it is not there.
    const { nodeId } = await session.send("DOM.querySelector", { nodeId: shadow.nodeId, selector }).catch(() => ({ nodeId: 0 }));
    const node = nodeId ? await session.send("DOM.resolveNode", { nodeId }).catch(() => null) : null;
    if (node) return node.object.objectId;
  }
  return null;
}

async function call(session, objectId, body, ...values) {
  const answer = await session.send("Runtime.callFunctionOn", {
    objectId,
    functionDeclaration: `function (...values) { return (${body})(this, ...values); }`,
    arguments: values.map((value) => ({ value })),
    returnByValue: true,
    awaitPromise: true,
  });
  if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? "the call failed");
  return answer.result.value;
}

function handle(page, session, objectId, selector) {
  const evaluate = (body, ...values) => call(session, objectId, body, ...values);
  const text = () => evaluate((element) => element.innerText);
  /** Presses the button with that label as a person does: with the mouse. */
  const press = async (label) => {
    const place = await evaluate((element, name) => {
      const buttons = [...element.querySelectorAll("button, a, summary")];
      const one = buttons.find((button) => (button.getAttribute("aria-label") ?? button.innerText).trim() === name);
      one?.scrollIntoView({ block: "nearest" });
      const box = one?.getBoundingClientRect();
      return box ? { x: box.x + box.width / 2, y: box.y + box.height / 2 } : null;
    }, label);
    if (!place) throw new Error(`there is no ${label} in ${await text()}`);
    await page.mouse.click(place.x, place.y);
  };
  const gone = async () => {
    for (let tries = 0; tries < 50; tries++) {
      if (!(await isWithin(page, selector))) return true;
      await page.waitForTimeout(50);
    }
    return false;
  };
  return { evaluate, text, press, gone };
}
