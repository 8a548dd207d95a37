// A real Chromium, driven by playwright-core: the distribution's package, found on the PATH or named by CHROMIUM.

import { accessSync, constants, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** The program, or `null` where there is none. */
export function chromiumPath() {
  const named = process.env.CHROMIUM ? [process.env.CHROMIUM] : [];
  const folders = (process.env.PATH ?? "").split(delimiter);
  const places = [...named, ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))];
  return places.find(isProgram) ?? null;
}

function isProgram(place) {
  try {
    accessSync(place, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// Containers have no user namespaces to make a sandbox of; what is opened here is our own.
const ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"];

export const launch = () => chromium.launch({ executablePath: chromiumPath(), args: ARGUMENTS });

/** A browser with an unpacked extension, in a profile of its own: `{context, id}`. */
export async function launchWith(extension, profile) {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath(),
    // Its own headless mode, which has extensions; playwright's has none.
    headless: false,
    ignoreDefaultArgs: ["--disable-extensions"],
    args: [...ARGUMENTS, "--headless=new", "--enable-unsafe-extension-debugging"],
  });
  // Over the pipe alone: the command line's switch is gone from today's browsers.
  const session = await context.browser().newBrowserCDPSession();
  const { id } = await session.send("Extensions.loadUnpacked", { path: extension });
  return { context, id };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds that is serious or critical, in a line each. */
export async function serious(page) {
  // Past the page's own policy, which lets no script of others in.
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  await session.send("Runtime.evaluate", { expression: AXE });
  const found = await page.evaluate(() => globalThis.axe.run());
  return found.violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

/** Collects what goes wrong on a page: errors, and whatever its policy refused. */
export function watched(page) {
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(message.text());
  });
  page.on("dialog", (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return wrong;
}

/** Whether the page is wider than the window. */
export const isTooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
